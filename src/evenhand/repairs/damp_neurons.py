"""Neuron repair: hidden neurons that react to the protected value are damped, one after another, as long as accuracy keeps up.

Paper: Zheng et al., "NeuronFair", ICSE 2022, whose reaction of a neuron (mean activation difference between twins) ranks them.
Beyond the paper, which damps nothing: a neuron stays damped only where unfairness among the training rows falls and their
accuracy falls by no more than `tolerance` in all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.arrays import Labels, Rows
from evenhand.contract import Model, labels_of
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import MissingAbility
from evenhand.limits import Count, NotNegative, ShareBelowOne, check_limits
from evenhand.measures.neurons.bias import measure_bias
from evenhand.measures.neurons.zeroing import Prunable, unfair_share
from evenhand.repairs.parts.case import Case, Mended, Role


@dataclass(frozen=True)
class DampNeurons:
    """A copy of the network.  keep: the share of a damped neuron's value that remains; most: neurons tried; rows: training rows asked."""

    keep: ShareBelowOne = 0.0
    most: Count = 48
    tolerance: NotNegative = 0.005
    rows: Count = 2_000

    needs: ClassVar[type] = Prunable
    role: ClassVar[Role] = "repair"

    def __post_init__(self) -> None:
        check_limits(self)

    def mend(self, case: Case, rng: np.random.Generator) -> Mended:
        """Try the neurons that react most, in that order."""
        case.check_classes("neurons are damped as long as the labels of training rows stay right")
        if not isinstance(case.model, Prunable):
            raise MissingAbility(f"{type(case.model).__name__} has no neurons to damp; give a torch module or a dense net")
        some = rng.permutation(len(case.rows))[: self.rows]
        sample = _Sample(case.domain, case.rows[some], case.labels[some])
        model: Prunable = case.model
        unfair, accuracy = sample.judge(model)
        least, damped = accuracy - self.tolerance, []
        ranked = self._ranked(case, sample.rows)
        for layer, unit in ranked:
            tried = model.without(layer, [unit], self.keep)
            now, right = sample.judge(tried)
            if now < unfair and right >= least and isinstance(tried, Prunable):
                model, unfair = tried, now
                damped.append(f"{layer}[{unit}]")
        return Mended(model, {"damped": damped, "tried": len(ranked)})

    def _ranked(self, case: Case, rows: Rows) -> list[tuple[str, int]]:
        """Neurons by their reaction, the strongest first; none that does not react."""
        assert isinstance(case.model, Prunable)
        found = measure_bias(case.model, case.domain, rows)
        ranked = sorted(
            ((float(r), layer.name, unit) for layer in found.layers for unit, r in enumerate(layer.reactions) if r > 0), reverse=True
        )
        return [(name, unit) for _, name, unit in ranked[: self.most]]


@dataclass(frozen=True)
class _Sample:
    """Training rows that decide which neurons stay damped."""

    domain: TabularDomain
    rows: Rows
    labels: Labels

    def judge(self, model: Model) -> tuple[float, float]:
        """The share of unfair rows, and the accuracy."""
        unfair = unfair_share(model, self.domain, self.rows).estimate
        return unfair, float((labels_of(model.scores(self.rows)) == self.labels).mean())
