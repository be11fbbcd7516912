"""What a measurement brings before the gate: a claim over individuals and groups, or one that studies of what rows show decide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from evenhand.claims import Claim
from evenhand.contract import StudySection
from evenhand.engine.gate import Gate
from evenhand.measures.border_shares import SMALLEST
from evenhand.measures.group_figures import Figure, GroupPart
from evenhand.measures.rates import Rate
from evenhand.measures.studies.classes import ALL_CLASSES
from evenhand.verbs.measure_result import IndividualRate, MeasureOptions

if TYPE_CHECKING:
    pass


def whole_claim(individual: Sequence[IndividualRate], figures: Sequence[Figure], options: MeasureOptions) -> Claim:
    """That no real person and no group is treated differently beyond what is tolerated."""
    real = individual[0].rate if individual else None
    unclear = [each for each in figures if _is_open(each, options.max_gap)]
    return Claim(
        "measure",
        "; ".join(filter(None, (_beyond(real, options.max_rate) if real else "", _groups_beyond(figures, options.max_gap)))),
        f"no difference is proven, but {len(unclear)} of {len(figures)} figures cannot be judged from so few rows"
        if unclear or not figures
        else "",
        f"{'no person and no group' if real else 'no group'} was seen to be treated differently beyond what is tolerated",
    )


def _beyond(real: Rate, tolerated: float) -> str:
    is_beyond = real.interval.low > tolerated if tolerated else real.unfair > 0
    limit = f"at most {tolerated:.2%} is" if tolerated else "none is"
    return f"{real.interval.estimate:.2%} of the real rows {real.words}, and {limit} tolerated" if is_beyond else ""


def _groups_beyond(figures: Sequence[Figure], tolerated: float) -> str:
    worst = [each for each in figures if _exceeds(each, tolerated)]
    named = ", ".join(f"{each.title} by {each.attribute}" for each in worst[:3])
    more = f" and {len(worst) - 3} more" if len(worst) > 3 else ""
    return f"groups differ{_widest(worst)}; figures that differ ({len(worst)} of {len(figures)}): {named}{more}" if worst else ""


def _widest(figures: Sequence[Figure]) -> str:
    """The widest of these gaps in plain words: the two groups and what is said of them; shares first, else the first amounts."""
    known = [(each, [part for part in each.groups if part.estimate is not None]) for each in figures if each.unit != "ratio"]
    ends = [(each, min(parts, key=_estimate), max(parts, key=_estimate)) for each, parts in known if len(parts) > 1]
    if not ends:
        return ""
    shares = [found for found in ends if found[0].unit == "share"]
    each, low, high = max(shares, key=lambda found: _estimate(found[2]) - _estimate(found[1])) if shares else ends[0]
    of = each.title.partition(": ")[2]  # the class or label that the figure is about
    what = f"{each.meaning} ({of})" if of else each.meaning
    if not shares:
        return f" in {what}: {_estimate(low):.3g} for {low.name}, {_estimate(high):.3g} for {high.name}"
    return f", most in the {what}: {_estimate(low):.1%} of {low.name}, {_estimate(high):.1%} of {high.name}"


def _estimate(part: GroupPart) -> float:
    return part.estimate or 0.0


def claim_by_studies(
    studies: Mapping[str, StudySection], individual: Sequence[IndividualRate], figures: Sequence[Figure], options: MeasureOptions
) -> Claim:
    """Where studies judge what rows show, they decide about individuals: single flips near a border are no bias by themselves.

    A leaning counts only where every other check holds: twins that are not what they claim prove nothing.
    """
    claims = [claim for section in studies.values() for claim in section.claims]
    overall = next((claim for claim in claims if claim.name == ALL_CLASSES and not claim.failed), None)
    if overall is not None:  # of scenes, the classes of objects decide, and whatever else was studied of the same objects
        return _with_others(overall, [section for section in studies.values() if overall not in section.claims])
    checks = [Gate.check(claim) for claim in claims]
    worst = next((check.message for check in checks if check.outcome == "violation"), "")
    doubtful = next((check.message for check in checks if check.outcome in ("inconclusive", "failed")), "")
    if worst:
        jury = [Gate.check(claim) for claim in studies["jury"].claims] if "jury" in studies else []
        unproven = next((check.message for check in jury if check.outcome != "pass"), "")
        groups = "" if "leaning" in studies else _groups_beyond(figures, options.max_gap).partition("; figures")[0]
        return Claim("measure", "" if unproven else "; ".join(filter(None, (worst, groups))), unproven)
    if checks and not (individual or figures):  # nothing but studies was asked for
        rest = Claim("measure", holds=checks[0].message)
    else:
        rest = whole_claim(individual, figures, replace(options, max_rate=options.max_rate or 0.999))
    return replace(rest, open=doubtful or rest.open or _too_few_confirmed(studies))  # a doubt about the twins explains what leads the page


CONFIRMED_TO_PASS = 0.8
"""Twins that do not show the other value hide a leaning: where fewer are surely confirmed, a learned editor's prove no fairness."""


def _too_few_confirmed(studies: Mapping[str, StudySection]) -> str:
    """Why twins of a learned editor, under which a classifier stands still, prove nothing; empty where they do."""
    leanings = [each for each in studies["leaning"].figures["leanings"] if each["weighed"]] if "leaning" in studies else []
    if "jury" not in studies or not leanings:
        return ""
    for each in studies["jury"].figures["editors"]:
        name, low = each["attribute"], each["confirmed"]["low"] if "confirmed" in each else 1.0
        if low < CONFIRMED_TO_PASS:
            return f"surely only {low:.1%} of the twins in {name} show the other value, and a pass needs {CONFIRMED_TO_PASS:.0%}"
        mine = [one for one in leanings if one["along"].startswith(f"{name} goes")]
        near = min((one["weighed"]["near"] for one in mine), default=1.0)
        hidden = max((_most(one) / low / max(near, SMALLEST) for one in mine), default=0.0)
        if hidden > leanings[0]["tolerance"]:
            near_too = "" if near == 1.0 else f", and {near:.0%} as many as of the pictures as they came lie near the classifier's border"
            shown = f"surely {low:.1%} of the twins in {name} show the other value{near_too}"
            return f"{shown}: what this hides allows a change of up to {hidden:.1%}"
    return ""


def _most(leaning: Mapping[str, Any]) -> float:
    """How far a class may have moved, by itself or beside the readers."""
    weighed = leaning["weighed"]
    bounds = [*leaning["low"].values(), *leaning["high"].values(), *weighed["low"].values(), *weighed["high"].values()]
    return max(abs(float(bound)) for bound in bounds)


def _with_others(overall: Claim, sections: Sequence[StudySection]) -> Claim:
    """The claim over all classes, broken or left open by what other studies claim."""
    others = [claim for section in sections for claim in section.claims]
    broken = next((claim.broken for claim in others if claim.broken), "")
    unsettled = next((claim.open for claim in others if claim.open), "")
    return replace(overall, broken=overall.broken or broken, open=overall.open or unsettled)


def _exceeds(each: Figure, tolerated: float) -> bool:
    if tolerated == 0.0 or each.unit == "amount":
        return each.verdict == "different"
    if each.size.low is None or each.size.high is None:
        return False
    return (1 - each.size.high if each.unit == "ratio" else each.size.low) > tolerated


def _is_open(each: Figure, tolerated: float) -> bool:
    """Whether a figure leaves open what it should settle."""
    if tolerated == 0.0 or each.unit == "amount":
        return each.verdict == "insufficient"
    bound = each.size.low if each.unit == "ratio" else each.size.high
    return bound is None or (1 - bound if each.unit == "ratio" else bound) > tolerated
