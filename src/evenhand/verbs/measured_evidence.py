"""What a measurement shows beside its figures: pairs of real rows, where they concentrate, how severe it is, and the model as a tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from evenhand.contract import JuryReaders, Oracle
from evenhand.engine import witness
from evenhand.engine.exhibits import SIDES, decoded
from evenhand.engine.inner_view import inner_view
from evenhand.engine.samples import JudgedSample
from evenhand.engine.shrunk_findings import Hearing
from evenhand.engine.subject import Subject
from evenhand.measures.rules import Rules
from evenhand.measures.severity import Severity
from evenhand.media.scenes import Scenes
from evenhand.verbs.scan import where

MOST_PAIRS = 12


@dataclass(frozen=True)
class MeasuredEvidence:
    """Pairs, rules, and what a page shows of the model itself."""

    witnesses: tuple[witness.Witness, ...] = ()
    rules: Rules | None = None
    inner: Mapping[str, Any] = field(default_factory=dict)
    severity: Severity | None = None

    @property
    def pairs(self) -> list[dict[str, Any]]:
        """The pairs for JSON."""
        return [asdict(each) for each in self.witnesses]

    def read_by(self, readers: Sequence[JuryReaders]) -> MeasuredEvidence:
        """With what readers see in both pictures of the pairs that they have not learnt from."""
        return replace(self, witnesses=tuple(_read(each, readers) for each in self.witnesses))

    @property
    def body(self) -> dict[str, Any]:
        """What it adds to the body of a result."""
        told = None if self.severity is None else self.severity.as_dict()
        return {"where": None if self.rules is None else self.rules.as_dict(), "severity": told, **self.inner}


NOT_ASKED = ("learnt from it", "not asked")
"""What stands in place of both readings where a reader knows the picture."""


def _read(pair: witness.Witness, readers: Sequence[JuryReaders]) -> witness.Witness:
    if pair.real_row is None or pair.changed or set(SIDES) - set(pair.pictures):
        return pair
    heard = [each for each in readers if np.isin(pair.real_row, each.unseen)]
    if not heard:
        names = [name for each in readers for name in each.by_name]
        return replace(pair, readings={**{name: list(NOT_ASKED) for name in names}, **pair.readings})
    shown = np.stack([decoded(pair.pictures[side]) for side in SIDES])
    said = {
        name: [str(reader.classes[code]) for code in reader.scores(shown).argmax(axis=1)]
        for each in heard
        for name, reader in each.by_name.items()
    }
    return replace(pair, readings={**said, **pair.readings})


def evidence_of(subject: Subject, sample: JudgedSample, oracle: Oracle, rng: np.random.Generator) -> MeasuredEvidence:
    """Of the real rows that were judged: the pairs with the widest gaps, rules about them, and the paths that they take."""
    chosen = sample.unfair[witness.select(sample.unfair, subject.domain, MOST_PAIRS)]
    hearing = Hearing(subject.domain, subject.model, oracle, subject.medium)
    view = inner_view(subject, sample, rng)
    return MeasuredEvidence(
        tuple(witness.witnesses_of(chosen, subject.rows, hearing)),
        where([sample], subject, rng),
        view.as_dict(view.paths(sample.unfair, rng)),
        None if isinstance(subject.medium, Scenes) else sample.severity,
    )
