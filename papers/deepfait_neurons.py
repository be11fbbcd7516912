"""Layers under study: which of their neurons have to do with fairness, and what sets of pairs cover of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from importance import ImportanceCoverage, by_activation, by_relevance
from numpy.typing import NDArray
from picture_pairs import JudgedPairs, PicturePairs

from evenhand.arrays import Mask
from evenhand.contract import Activations, TransparentPictureModel
from evenhand.measures.neurons.adequacy import TOP, Adequacy, Ruler, adequacy, joined
from evenhand.measures.neurons.kruskal import KruskalWallis, Rule, differences, kruskal_wallis
from evenhand.models.torch_pictures import TorchClassifier

LEAST_NEURONS = 3


@dataclass(frozen=True, eq=False)
class LayerStudy:
    """One layer: the test of every neuron, the chosen ones, the ranges of the measures, and the baselines' neurons."""

    layer: str
    test: KruskalWallis
    related: NDArray[np.intp]  # the neurons that the measures look at
    top: NDArray[np.intp]  # places in `related` of the strongest ones
    ruler: Ruler
    importance: ImportanceCoverage
    by_activation: NDArray[np.intp]

    @property
    def neurons(self) -> int:
        """How many neurons the layer has."""
        return len(self.test.corrected)

    def measured(self, first: Activations, second: Activations) -> Adequacy:
        """The five measures of pairs with these activations."""
        return adequacy(first[:, self.related], second[:, self.related], self.top)


def study_layers(
    model: TorchClassifier, judged: JudgedPairs, layers: Sequence[str], alpha: float = 0.05, rule: Rule = "alpha"
) -> dict[str, LayerStudy]:
    """Study layers on judged training pairs, some of which are fair and some unfair."""
    first, second = model.activations(judged.pairs.first, layers), model.activations(judged.pairs.second, layers)
    studies = {}
    for layer in layers:
        test = kruskal_wallis(differences(first[layer], second[layer]), judged.unfair)
        related = np.flatnonzero(chosen(test, alpha, rule))
        top = np.argsort(-test.corrected[related], kind="stable")[:TOP]
        found = adequacy(first[layer][:, related], second[layer][:, related], top)
        relevant = by_relevance(model.relevance(judged.pairs.first[:300], layer))[:TOP]
        importance = ImportanceCoverage.of(first[layer], relevant)
        studies[layer] = LayerStudy(layer, test, related, top, Ruler.of(found), importance, by_activation(first[layer]))
    return studies


def chosen(test: KruskalWallis, alpha: float, rule: Rule) -> Mask:
    """The related neurons; where hardly any is, the strongest few, so that the measures stay defined."""
    related = test.related(alpha, rule)
    related[test.strongest(LEAST_NEURONS)] = True
    return related


Coverages = dict[str, dict[str, float]]
"""Measure to share, by the name of the set of pairs."""


def coverage_table(study: LayerStudy, model: TransparentPictureModel, sets: Mapping[str, Sequence[PicturePairs]]) -> Coverages:
    """Coverage of sets of pairs, each a union of batches; DeepImportance's own coverage of both pictures beside it."""
    seen: dict[int, tuple[Adequacy, Activations]] = {}
    table: Coverages = {}
    for name, parts in sets.items():
        for part in parts:
            if id(part) not in seen:
                seen[id(part)] = _measured(study, model, part)
        found = joined(*(seen[id(part)][0] for part in parts))
        table[name] = study.ruler.coverages(found)
        table[name]["deepimportance"] = study.importance.coverage(np.concatenate([seen[id(part)][1] for part in parts]))
    return table


def _measured(study: LayerStudy, model: TransparentPictureModel, pairs: PicturePairs) -> tuple[Adequacy, Activations]:
    first = model.activations(pairs.first, [study.layer])[study.layer]
    second = model.activations(pairs.second, [study.layer])[study.layer]
    return study.measured(first, second), np.concatenate([first, second])


def pair_measures(study: LayerStudy, model: TransparentPictureModel, pairs: PicturePairs) -> Adequacy:
    """The measures of every pair on the study's layer."""
    return _measured(study, model, pairs)[0]
