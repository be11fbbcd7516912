"""A recogniser loses or invents objects that the change of a scene has not touched, by its own counts before the change.

Paper: Rajan, Nair, Soremekun, Chattopadhyay, "Distribution-aware Fairness Test Generation", Journal of Systems and Software 2024
(DistroFair): the metamorphic exclusion and inclusion oracles of Algorithm 3, for one scene and one change.

Differs: what is left out is the whole set of labels that a changed object answers to, and objects that the change itself covered are
not expected any more (`expect_hidden` expects them, as the paper does).  A null change is judged, but never unfair: it is the control.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.arrays import Reals, Rows
from evenhand.contract import Model, Verdict
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import InvalidArgument
from evenhand.media.scenes import ChangeFacts
from evenhand.oracles.parts.changed_scenes import NOTHING, ChangedPairs, scenes_behind, side_effects

ERRORS = ("lost", "gained", "both")


@dataclass(frozen=True)
class Counts:
    """Unfair when the change costs or brings an object of a class that it has not touched.

    errors: which errors count: lost, gained, or both.
    expect_hidden: whether an object that the change covers is still expected, as in the paper.
    """

    errors: str = "lost"
    expect_hidden: bool = False

    def __post_init__(self) -> None:
        if self.errors not in ERRORS:
            raise InvalidArgument(f"errors={self.errors!r} of the oracle counts must be one of {', '.join(ERRORS)}")

    @property
    def words(self) -> str:
        """For a sentence."""
        verb = {"lost": "loses", "gained": "invents", "both": "loses or invents"}[self.errors]
        return f"show a change after which the recogniser {verb} an object that the change has not touched"

    def outcomes(self, model: Model) -> tuple[str, ...]:
        """What the labels stand for: nothing lost, then the class with the most lost objects, then with the most gained ones."""
        return (NOTHING, *(f"lost: {name}" for name in model.classes), *(f"gained: {name}" for name in model.classes))

    def judge(self, rows: Rows, domain: TabularDomain, model: Model) -> Verdict:
        """One entry per scene and change; the gap is the number of objects."""
        medium = scenes_behind(model, "counts")
        pairs = ChangedPairs.of(rows, domain, medium)
        wrong = np.zeros((len(rows), 2 * len(model.classes)))
        if pairs.possible.any():
            wrong[pairs.possible] = self._wrong(pairs, pairs.facts(medium), model)
        return pairs.verdict(wrong)

    def _wrong(self, pairs: ChangedPairs, facts: list[ChangeFacts | None], model: Model) -> Reals:
        """Lost and gained objects, (possible pairs, 2 * classes)."""
        possible = pairs.possible
        n = int(possible.sum())
        before, after = np.split(model.scores(np.vstack([pairs.before[possible], pairs.after[possible]])), [n])
        hidden, touched = side_effects([one for one, can in zip(facts, possible, strict=True) if can], model.classes)
        lost = np.maximum(before - (0.0 if self.expect_hidden else hidden) - after, 0.0)
        gained = np.maximum(after - before, 0.0)
        kept = [part * (self.errors in (name, "both")) for name, part in (("lost", lost), ("gained", gained))]
        return np.hstack([np.where(touched, 0.0, part) for part in kept])

    def rows_per_candidate(self, domain: TabularDomain) -> int:
        """The scene before and after."""
        return len(domain.combinations)
