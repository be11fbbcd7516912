"""Right answers by skin tone read from the pixels: within the same true label and the same light, allowing for tones that are misread.

A picture that is read as darker because it was taken in the dark is harder to classify too; so groups are compared within dimmer and
within brighter pictures.  Tones that are misread mix the groups and make gaps look smaller than they are: with shares e and f of the two
groups on the wrong side, a gap shows as (1 - e - f) of itself, and is divided by that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from evenhand.arrays import Labels, Mask, Reals
from evenhand.claims import Claim, Span
from evenhand.contract import StudyCase, StudySection, labels_of
from evenhand.measures.groups import Grouping
from evenhand.measures.standardised_shares import Lost, added_parts, standardised, stratum_of
from evenhand.media.skin_tone import TONE, SkinTones, skin_tones
from evenhand.statistics.contrasts import Contrasts, reaches

FEWEST = 20
"""Pictures that each tone needs, in strata where both are."""


@dataclass(frozen=True)
class ToneGaps:
    """The gap in right answers between lighter and darker, within label and light.  For pictures whose tone was read from the pixels."""

    media: ClassVar[tuple[str, ...]] = ("album",)
    needs_protected: ClassVar[str] = TONE

    def study(self, case: StudyCase, rng: np.random.Generator) -> StudySection:
        """One gap, with bounds."""
        if case.labels is None or not (case.labels >= 0).any():
            return _unsaid("true labels are needed to count right answers by skin tone")
        tones = skin_tones(case.medium.show(case.rows))
        darker = case.rows[:, case.domain.place(TONE)].astype(np.intp)
        strata = case.labels * 2 + (tones.light < np.median(tones.light))
        kept = (case.labels >= 0) & _shared(strata, darker)
        if min(np.bincount(darker[kept], minlength=2)) < FEWEST:
            return _unsaid(f"fewer than {FEWEST} pictures of one skin tone have others of the same label and light beside them")
        wrong = labels_of(case.model.scores(case.rows)) != case.labels
        return _section(_gap(wrong[kept], strata[kept], darker[kept], case, rng), tones, darker, case)


def _unsaid(reason: str) -> StudySection:
    return StudySection({"reason": reason}, (reason,), (Claim("right answers by skin tone", open=reason),))


def _shared(strata: Labels, darker: Labels) -> Mask:
    """Rows of strata in which both tones are."""
    both = set(strata[darker == 0].tolist()) & set(strata[darker == 1].tolist())
    return np.isin(strata, list(both))


@dataclass(frozen=True)
class ToneGap:
    """How much more often the darker are answered wrongly, as it shows."""

    wrong: Reals  # of lighter and darker, standardised
    gap: float
    around: float
    pictures: int


def _gap(wrong: Mask, strata: Labels, darker: Labels, case: StudyCase, rng: np.random.Generator) -> ToneGap:
    lost, grouping = Lost("tone", "", wrong, strata), Grouping(TONE, darker, ("lighter", "darker"))
    counted = [stratum_of(lost, grouping, label) for label in lost.strata]
    weights = np.array([each.sizes.sum() for each in counted], dtype=np.float64)
    shares, errors = standardised(counted, weights / weights.sum(), np.ones(2, dtype=bool))
    pair = Contrasts.of_pairs(shares, errors, added_parts(lost, grouping, counted, weights / weights.sum()))
    reach = reaches(pair, case.tolerance, case.confidence, rng)
    return ToneGap(shares, -float(pair.estimate[0]), float(reach[0] * pair.error[0]), len(wrong))


def _section(found: ToneGap, tones: SkinTones, darker: Labels, case: StudyCase) -> StudySection:
    mixed = float(1 - tones.misread.sum())
    gap, around = found.gap / mixed, found.around / mixed
    together = float(np.corrcoef(darker, tones.light)[0, 1]) if tones.light.std() > 0 else 0.0
    figures: dict[str, Any] = {
        "gap": {"estimate": gap, "low": gap - around, "high": gap + around, "n": found.pictures},
        "tolerated_share": case.tolerance,
        "light_and_tone": together,
        "wrong_share": dict(zip(("lighter", "darker"), found.wrong.tolist(), strict=True)),
        "misread_share": dict(zip(("lighter", "darker"), tones.misread.tolist(), strict=True)),
    }
    sentence = (
        f"within the same label and light, {found.wrong[1]:.1%} of the answers about darker and {found.wrong[0]:.1%} of those about "
        f"lighter people are wrong: a gap of {gap:+.1%} ({gap - around:+.1%} to {gap + around:+.1%}, {found.pictures:,} pictures), "
        f"allowing for {tones.misread.mean():.1%} of the tones being misread; darker pictures are "
        f"{'dimmer' if together < 0 else 'brighter'} (correlation {together:+.2f})"
    )
    return StudySection(figures, (sentence,), (_claim(sentence, gap, around, case.tolerance),))


def _claim(sentence: str, gap: float, around: float, tolerance: float) -> Claim:
    spans = (Span(gap - around, gap + around, tolerance), Span(-gap - around, -gap + around, tolerance))
    told = f"{sentence}; {tolerance:.1%} is tolerated"
    return Claim(
        "right answers by skin tone", f"one skin tone is answered wrongly more often: {told}", f"too few pictures: {told}", told, spans
    )
