"""Two ways to rank neurons that know nothing of pairs: the baselines that fairness-related neurons are compared with.

Papers: S. Gerasimou et al., "Importance-Driven Deep Learning System Testing" (DeepImportance), ICSE 2020; activation importance as
in DeepFAIT, 2021.

DeepImportance ranks neurons by layer-wise relevance propagation.  For a network of ReLU layers its basic rule equals the gradient of the
winning logit times the activation, which is what is used here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import InvalidArgument

MOST_CLUSTERS = 3
SAMPLE = 600


def by_activation(activations: NDArray[np.floating[Any]]) -> NDArray[np.intp]:
    """Neurons by mean activation, largest first."""
    return np.argsort(-activations.mean(axis=0), kind="stable")


def by_relevance(relevance: NDArray[np.floating[Any]]) -> NDArray[np.intp]:
    """Neurons by mean absolute relevance for the decision, largest first."""
    return np.argsort(-np.abs(relevance).mean(axis=0), kind="stable")


@dataclass(frozen=True)
class ImportanceCoverage:
    """Importance-driven coverage: the important neurons' activations are clustered, every combination of clusters is a goal."""

    neurons: NDArray[np.intp]
    borders: tuple[NDArray[np.float64], ...]  # per neuron, the borders between its clusters

    @classmethod
    def of(cls, activations: NDArray[np.floating[Any]], neurons: NDArray[np.intp]) -> ImportanceCoverage:
        """Clusters of each neuron's training activations; their number by silhouette, 2 to 3."""
        if not len(neurons):
            raise InvalidArgument("neurons is empty: importance coverage needs at least one important neuron")
        return cls(neurons, tuple(_borders(activations[:SAMPLE, neuron]) for neuron in neurons))

    @property
    def goals(self) -> int:
        """How many combinations of clusters there are."""
        return int(np.prod([len(border) + 1 for border in self.borders], dtype=np.int64))

    def coverage(self, activations: NDArray[np.floating[Any]]) -> float:
        """The share of combinations that some picture reaches."""
        code = np.zeros(len(activations), dtype=np.int64)
        for neuron, border in zip(self.neurons, self.borders, strict=True):
            code = code * (len(border) + 1) + np.searchsorted(border, activations[:, neuron].astype(np.float64))
        return len(np.unique(code)) / self.goals


def _borders(values: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    from sklearn.cluster import KMeans
    from sklearn.metrics import silhouette_score

    column = np.asarray(values, dtype=np.float64)[:, None]
    distinct = len(np.unique(column))
    best, borders = -1.0, np.empty(0)
    for clusters in range(2, min(MOST_CLUSTERS, distinct - 1) + 1):
        fitted = KMeans(clusters, n_init=2, random_state=0).fit(column)
        score = silhouette_score(column, fitted.labels_)
        if score > best:
            centres = np.sort(fitted.cluster_centers_[:, 0])
            best, borders = score, (centres[1:] + centres[:-1]) / 2.0
    return borders
