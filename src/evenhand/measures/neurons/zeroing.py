"""What happens to unfairness and accuracy when biased neurons are held at zero."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from evenhand.arrays import Labels, Rows
from evenhand.contract import Layered, Model, labels_of
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import InvalidArgument, MissingAbility
from evenhand.measures.neurons.bias import LayerBias
from evenhand.models.meter import Meter
from evenhand.statistics.intervals import Interval, clopper_pearson


@runtime_checkable
class Prunable(Layered, Protocol):
    """A model that can be had without some of its hidden units."""

    def without(self, layer: str, units: Sequence[int], keep: float = 0.0) -> Model:
        """The same model with these units of the layer held at zero, or at the share `keep` of their value."""


@dataclass(frozen=True)
class Effect:
    """Shares before and after, each with its exact interval; accuracy only where labels were given."""

    layer: str
    units: tuple[int, ...]
    unfair_before: Interval
    unfair_after: Interval
    accuracy_before: Interval | None = None
    accuracy_after: Interval | None = None

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        parts = {name: getattr(self, name) for name in ("unfair_before", "unfair_after", "accuracy_before", "accuracy_after")}
        return {"layer": self.layer, "units": list(self.units)} | {name: part.as_dict() if part else None for name, part in parts.items()}


def zeroing_effect(model: Model, domain: TabularDomain, layer: LayerBias, rows: Rows, labels: Labels | None = None) -> Effect:
    """Unfairness among `rows`, and accuracy against `labels`, with and without the layer's biased neurons."""
    if not isinstance(model, Prunable):
        raise MissingAbility(f"{type(model).__name__} cannot be had without some of its units; give a torch module or a dense net")
    if labels is not None and len(labels) != len(rows):
        raise InvalidArgument(f"labels has {len(labels)} entries for {len(rows)} rows")
    units = tuple(int(unit) for unit in np.flatnonzero(layer.biased))
    both = (model, model.without(layer.name, units) if units else model)
    unfair = [unfair_share(each, domain, rows) for each in both]
    right = [None, None] if labels is None else [_accuracy(each, rows, labels) for each in both]
    return Effect(layer.name, units, unfair[0], unfair[1], right[0], right[1])


def unfair_share(model: Model, domain: TabularDomain, rows: Rows, confidence: float = 0.95) -> Interval:
    """The share of rows of which two possible twins get different labels."""
    unfair, meter = 0, Meter(model)
    step = max(1, model.batch_rows // len(domain.combinations))
    for at in range(0, len(rows), step):
        twins = domain.twins(rows[at : at + step])
        labels = labels_of(meter.scores(twins.rows.reshape(-1, rows.shape[1]))).reshape(twins.valid.shape)
        highest = np.where(twins.valid, labels, -1).max(axis=0)
        lowest = np.where(twins.valid, labels, len(model.classes)).min(axis=0)
        unfair += int((highest > lowest).sum())
    return clopper_pearson(unfair, len(rows), confidence)


def _accuracy(model: Model, rows: Rows, labels: Labels) -> Interval:
    return clopper_pearson(int((labels_of(Meter(model).scores(rows)) == labels).sum()), len(rows))
