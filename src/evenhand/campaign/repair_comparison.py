"""Repairs side by side over several seeds, each with a verdict that is not given away.

A repair is called better only where fewer real people are treated unfairly, and fewer beyond them (in the whole domain or among another
method's candidates), more surely than chance allows after correction for the number of tests, and accuracy is shown to be kept.  Trivial
baselines are named as such, and a model with one answer for everybody raises an alarm.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from evenhand.arrays import Reals
from evenhand.campaign.paired_differences import Change, Design, PairedMean, Range, change_of, mean_of
from evenhand.campaign.repair_goals import GOALS, PRIMARY, FigureFall, RepairGoal, goal_for
from evenhand.campaign.repair_trial import BEFORE, SeedOutcome, figure_over_seeds
from evenhand.claims import Claim
from evenhand.contract import Model, Outcome
from evenhand.engine.gate import Gate, checks_of
from evenhand.engine.header import Header
from evenhand.engine.result import Telling, result_dict
from evenhand.errors import UnknownName
from evenhand.limits import Positive, Share, check_limits
from evenhand.measures.repair_measures import AS_GIVEN, LABELS, Measure, Scorecard
from evenhand.repairs.parts.case import Role
from evenhand.report.rendered import Rendered
from evenhand.statistics.multiplicity import holm

if TYPE_CHECKING:
    import pandas as pd

Verdict = Literal["better", "better, at a price", "no evidence of improvement", "worse", "trivial", "control", "alarm", "not possible"]
ALARM = 0.995
"""A model that gives this share of people one and the same answer, though their true labels differ more, decides nothing."""

FEWEST_SEEDS = 3
"""With two, the spread between seeds rests on a single difference."""

AGAIN, RANDOM = "refit_again", "add_random_rows"


@dataclass(frozen=True)
class RepairLine:
    """One repair in the comparison."""

    name: str
    role: Role
    reference: str
    means: dict[str, PairedMean]
    changes: dict[str, Change]
    adjusted: dict[str, float]  # corrected p-values: of an improvement, and of a rise of each primary figure
    verdict: Verdict
    reason: str
    notes: tuple[str, ...] = ()
    on_front: bool = False

    @property
    def claim(self) -> Claim:
        """That the repair is better."""
        told = f"{self.verdict}: {self.reason}"
        return Claim(self.name, told if self.verdict in ("worse", "alarm") else "", told if self.verdict != "better" else "", told)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "name": self.name,
            "role": self.role,
            "reference": self.reference,
            "verdict": self.verdict,
            "reason": self.reason,
            "notes": list(self.notes),
            "on_front": self.on_front,
            "means": {name: mean.as_dict() for name, mean in self.means.items()},
            "changes": {name: change.as_dict() for name, change in self.changes.items()},
            "p_adjusted": self.adjusted,
        }


@dataclass(frozen=True)
class RepairTerms:
    """What counts as shown: the goal, the confidence, how much accuracy may be lost, and below what it may not fall.

    goal: flips, groups or worst_case.  floor: the accuracy that must be kept; None for the loss alone.
    Of amounts, accuracy is the share of their variance that is explained; most_error: the mean error that is allowed, in the label's unit.
    """

    confidence: float = 0.95
    tolerance: float = 0.01
    goal: str = "flips"
    floor: Share | None = None
    most_error: Positive | None = None

    def __post_init__(self) -> None:
        check_limits(self)
        if self.goal not in GOALS:
            raise UnknownName("goal of a repair", self.goal, GOALS)


@dataclass(frozen=True)
class RepairRole:
    """What a repair is in the comparison, and whether it fits a new model."""

    role: Role
    refits: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class RepairComparison(Rendered):
    """All lines, and the models of the first seed."""

    header: Header
    outcomes: tuple[SeedOutcome, ...]
    lines: tuple[RepairLine, ...]
    refused: Mapping[str, str]
    terms: RepairTerms
    notes: tuple[str, ...] = ()
    models: Mapping[str, Model] = field(default_factory=dict)
    card: Scorecard = LABELS

    def __getitem__(self, name: str) -> RepairLine:
        return next(line for line in self.lines if line.name == name)

    @cached_property
    def best(self) -> RepairLine | None:
        """Of the repairs that are shown to be better, the one with the fewest unfairly treated real people; None where there is none."""
        better = [line for line in self.lines if line.verdict == "better"]
        first, kept = self._first, self.card.kept
        return min(better, key=lambda line: (line.means[first].estimate, -line.means[kept].estimate), default=None)

    @property
    def _first(self) -> str:
        """The figure that the goal is about."""
        return goal_for(self.terms.goal, self.card).first

    @property
    def sentence(self) -> str:
        """The whole comparison in one sentence."""
        if self.best is None:
            return self._price or "No repair is shown to be better than what was there."
        return f"{self.best.name} is better: {self._effect(self.best)}."

    def _effect(self, line: RepairLine) -> str:
        """What a repair does to the figure that the goal is about, and to accuracy."""
        card, kept = self.card, _moved(line.changes[self.card.kept].mean.estimate, self.card, self.card.kept)
        error = "" if card is LABELS else f", and the mean error by {_moved(line.changes['mean_error'].mean.estimate, card, 'mean_error')}"
        return f"{self._gain(line)}, and {_kept_words(card)} by {kept}{error}"

    def _gain(self, line: RepairLine) -> str:
        """What a repair does to the figure that the goal is about."""
        first, card = self._first, self.card
        meaning = card[first].meaning
        what = "among held-out real people the share who are treated unfairly" if first == "if_o" else f"the {meaning.removeprefix('the ')}"
        return f"{what} changes by {_moved(line.changes[first].mean.estimate, card, first)}"

    @property
    def _price(self) -> str:
        """Of the repairs that reach the goal, but not at a price that is shown to be tolerated, the cheapest; empty without any."""
        costly = [line for line in self.lines if line.verdict == "better, at a price"]
        if not costly:
            return ""
        least = max(costly, key=lambda line: line.changes[self.card.kept].mean.estimate)
        return f"{least.name} is better, at a price: {self._gain(least)}; {least.reason}."

    @property
    def outcome(self) -> Outcome:
        """A pass where a repair is shown to be better; nothing is shown otherwise."""
        return Gate.rule(Claim("repairs", open="" if self.best else self.reason, holds=self.reason)).outcome

    @property
    def reason(self) -> str:
        """The whole comparison in one sentence, without its full stop."""
        return self.sentence.removesuffix(".")

    def as_dict(self) -> dict[str, Any]:
        """The versioned JSON that every rendering reads."""
        told = {
            "best": self.best.name if self.best else None,
            "measures": [measure.as_dict() for measure in self.card.measures],
            "unit": self.card.unit,
            "lines": [line.as_dict() for line in self.lines],
            "refused": dict(self.refused),
            "facts": self.outcomes[0].facts if self.outcomes else {},
        }
        return result_dict(self, Telling([self.sentence], self._checks(), (), {"repairs": told, "notes": list(self.notes)}))

    def _checks(self) -> list[dict[str, Any]]:
        """What each repair is worth; one that could not be made decides nothing."""
        refused = [Claim(name, open=f"not possible: {why}") for name, why in self.refused.items()]
        return checks_of([*(each.claim for each in self.lines if each.role == "repair"), *refused])

    def frame(self) -> pd.DataFrame:
        """One row per seed, repair and figure."""
        import pandas as pd

        rows = [
            (place, name, measure, value)
            for place, outcome in enumerate(self.outcomes)
            for name, figures in outcome.figures.items()
            for measure, value in figures.items()
        ]
        return pd.DataFrame(rows, columns=["seed", "repair", "measure", "value"])

    def save(self, name: str, folder: str | Path) -> Path:
        """Write the first seed's mended model, which is one of those that were judged; the path to give to `evenhand.wrap`."""
        from evenhand.models.saving import save

        if name not in self.models:
            raise UnknownName("repair in this comparison", name, self.models)
        return save(self.models[name], Path(folder))

    def summary(self) -> str:
        """A few lines for a person."""
        width = max(len(line.name) for line in self.lines)
        text = [self.sentence]
        for line in self.lines:
            figures = " ".join(
                f"{self.card.title(n)} {_shown(line.means[n], n, self.card)}" for n in dict.fromkeys((*self.card.shown, self._first))
            )
            text.append(f"{line.name:{width}}  {figures}  {line.verdict.upper()}: {line.reason}")
            text += [f"{'':{width}}  {note}" for note in line.notes]
        text += [f"{name:{width}}  not possible: {why}" for name, why in self.refused.items()]
        return "\n".join([*text, *self.notes])


def _shown(mean: PairedMean, name: str, card: Scorecard) -> str:
    return card.text(name, mean.estimate) if np.isfinite(mean.estimate) else "-"


def _moved(change: float, card: Scorecard, name: str) -> str:
    """A change in points or in the label's unit."""
    return f"{100 * change:+.2f} points" if card[name].is_share else f"{change:+,.4g}{f' {card.unit}' if card.unit else ''}"


def _kept_words(card: Scorecard) -> str:
    return "accuracy" if card.kept == "accuracy" else "the explained share of the variance"


def compare(
    outcomes: Sequence[SeedOutcome], roles: Mapping[str, RepairRole], header: Header, terms: RepairTerms, card: Scorecard = LABELS
) -> RepairComparison:
    """Lines with verdicts.  `roles` says what each repair is, `card` which figures it is judged by."""
    refused = {name: why for outcome in outcomes for name, why in outcome.refused.items()}
    names = [name for name in roles if any(name in outcome.figures for outcome in outcomes)]
    facts = [outcome.facts["seed"] for outcome in outcomes]
    ratio, people = (float(np.mean(each)) for each in ([f["held_out"] / f["rows_to_train"] for f in facts], [f["held_out"] for f in facts]))
    design = Design(ratio, terms.confidence, people)
    desk = _Desk(list(outcomes), roles, design, terms, names, card)
    lines = _with_front([desk.given(), *desk.lines()], desk.goal.first, card.kept)
    notes = tuple(dict.fromkeys(note for outcome in outcomes for note in outcome.notes)) + desk.warnings(lines)
    return RepairComparison(header, tuple(outcomes), tuple(lines), refused, terms, notes, outcomes[0].models, card)


@dataclass(frozen=True, eq=False)
class _Desk:
    """Where verdicts are written."""

    outcomes: list[SeedOutcome]
    roles: Mapping[str, RepairRole]
    design: Design
    terms: RepairTerms
    names: list[str]
    card: Scorecard = LABELS

    @property
    def goal(self) -> RepairGoal:
        """The figures that must fall, and those that must not rise."""
        return goal_for(self.terms.goal, self.card)

    def over_seeds(self, name: str, measure: str) -> Any:
        """One figure of one repair for each seed."""
        return figure_over_seeds(self.outcomes, name, measure)

    def reference(self, name: str) -> str:
        """What a repair is held against: fitting again by chance where it fits a new model, else the model before."""
        refits = self.roles[name].refits
        return AGAIN if refits and name != AGAIN and AGAIN in self.names else BEFORE

    def changes(self, name: str, reference: str) -> dict[str, Change]:
        """Every figure's paired change."""
        return {m.name: self.change(m, self.over_seeds(reference, m.name), self.over_seeds(name, m.name)) for m in self.card.measures}

    def change(self, measure: Measure, before: Reals, after: Reals) -> Change:
        """One figure's paired change."""
        return change_of(before, after, self.design, measure.name in PRIMARY, Range(measure.least, measure.most))

    def means(self, name: str) -> dict[str, PairedMean]:
        """Every figure's mean."""
        return {m.name: mean_of(self.over_seeds(name, m.name), self.design, Range(m.least, m.most)) for m in self.card.measures}

    def given(self) -> RepairLine:
        """The user's own model, which may know the held-out rows: shown, not judged."""
        reason = "the model as it was given; it may have learned from the rows that judge here"
        return RepairLine(AS_GIVEN, "control", BEFORE, self.means(AS_GIVEN), self.changes(AS_GIVEN, BEFORE), {}, "control", reason)

    def lines(self) -> list[RepairLine]:
        """All repairs, with p-values corrected over all of them together.

        A repair is better only if every condition is shown, so that the largest of their one-sided p-values tests that at its level, and
        only the number of repairs is corrected for; it is worse if any primary figure rises: the number of figures counts too.
        """
        changes = {name: self.changes(name, self.reference(name)) for name in self.names}
        repairs = [name for name in self.names if self.roles[name].role == "repair"]
        rises = [(name, measure) for name in repairs for measure in self.goal.guarded]
        corrected: dict[str, dict[str, float]] = {name: {} for name in self.names}
        better = [max((each.chance(changes[name]) for each in self.conditions(name)), default=1.0) for name in repairs]
        for name, value in zip(repairs, holm(better), strict=True):
            corrected[name]["improvement"] = float(value)
        for (name, measure), value in zip(rises, holm([changes[n][m].rises for n, m in rises]), strict=True):
            corrected[name][f"rise_{measure}"] = float(value)
        return [self.line(name, changes[name], corrected[name]) for name in self.names]

    def conditions(self, name: str) -> list[FigureFall]:
        """What must be shown, of the figures that were above zero before."""
        stood = [m for m in (*self.goal.needed, *self.goal.beyond) if np.nansum(self.over_seeds(self.reference(name), m)) > 0]
        needed = [FigureFall((m,)) for m in self.goal.needed if m in stood]
        beyond = tuple(m for m in self.goal.beyond if m in stood)
        return [*needed, *([FigureFall(beyond)] if beyond else [])]

    def line(self, name: str, changes: dict[str, Change], adjusted: dict[str, float]) -> RepairLine:
        """One repair with its verdict."""
        role, means = self.roles[name].role, self.means(name)
        verdict, reason = self.settled(role, name, means) or self.judged(name, changes, adjusted)
        notes = self.notes(name, changes) if role == "repair" else ()
        return RepairLine(name, role, self.reference(name), means, changes, adjusted, verdict, reason, notes)

    def settled(self, role: Role, name: str, means: dict[str, PairedMean]) -> tuple[Verdict, str] | None:
        """What may be said without looking at the tests; None where they decide."""
        if self.is_constant(name):
            most = means["one_answer"].estimate
            return "alarm", f"gives {most:.1%} of people the same answer: it passes every test of fairness because it decides nothing"
        if role == "control":
            return "control", "shows what chance does"
        if role == "baseline":
            return "trivial", "fair to twins by construction; what other columns tell about protected values still works"
        return None

    def is_constant(self, name: str) -> bool:
        """Whether some seed's model gives nearly everybody the same answer, and the data do not."""
        own, before = self.over_seeds(name, "one_answer"), self.over_seeds(BEFORE, "one_answer")
        return bool(((own >= ALARM) & (before < ALARM)).any() or (own >= 1.0 - 1e-12).any())

    def judged(self, name: str, changes: dict[str, Change], adjusted: dict[str, float]) -> tuple[Verdict, str]:
        """Better, worse, or nothing shown."""
        alpha, reference = 1 - self.terms.confidence, self.reference(name)
        if (seeds := len(self.outcomes)) < FEWEST_SEEDS:
            told = "one seed cannot" if seeds == 1 else f"{seeds} seeds cannot"
            return "no evidence of improvement", f"{told} tell a repair from chance; give at least {FEWEST_SEEDS}"
        worse = [m for m in self.goal.guarded if adjusted[f"rise_{m}"] <= alpha]
        conditions = self.conditions(name)
        if worse:
            return "worse", f"{_listed(worse, self.card)} rose"
        if not conditions:
            return "no evidence of improvement", "nothing unfair was found before, so that nothing could improve"
        if adjusted["improvement"] > alpha:
            missing = [each for each in conditions if each.chance(changes) > alpha]
            least = missing or [max(conditions, key=lambda each: each.chance(changes))]
            fell = " and ".join(each.words(self.card) for each in least)
            what = f"a fall of {fell} is not shown against {reference} over {len(self.outcomes)} seeds"
            chance = f" (p = {adjusted['improvement']:.2g}, corrected for all repairs)"
            # What would be shown of this repair alone is lost among the others: the reader can do something about that.
            cure = "" if missing else "; by itself it would be: try fewer repairs (--repair), or allow more seeds (--seeds)"
            return "no evidence of improvement", what + chance + cure
        improved = _listed([m for m in self.goal.guarded if changes[m].falls <= alpha], self.card)
        return self.price(changes, improved, self.means(name))

    def price(self, changes: Mapping[str, Change], improved: str, means: Mapping[str, PairedMean]) -> tuple[Verdict, str]:
        """Whether accuracy is shown to be kept, and nothing that counts beside the goal rose."""
        change = changes[self.card.kept]
        low, kept, accuracy = change.mean.at_least(self.terms.confidence), _kept_words(self.card), means[self.card.kept]
        lost = -change.mean.estimate
        floor = self.terms.floor
        if floor is not None and (accuracy.low if accuracy.low is not None else accuracy.estimate) < floor:
            what = "an accuracy" if self.card is LABELS else "an explained share"
            return "better, at a price", f"{improved} fell, but {what} of at least {floor:.2%} is not shown"
        if self.terms.most_error is not None and (error := means.get("mean_error")) is not None:
            most = error.high if error.high is not None else error.estimate
            if most > self.terms.most_error:
                allowed = self.card.text("mean_error", self.terms.most_error)
                return "better, at a price", f"{improved} fell, but a mean error of at most {allowed} is not shown"
        if harmed := self.risen(self.goal.paid, changes):
            return "better, at a price", f"{improved} fell, but {_listed(harmed, self.card)} rose"
        if low is not None and -low <= self.terms.tolerance:
            return "better", f"{improved} fell, and {kept} falls by at most {max(0.0, -low):.2%}"
        bound = "" if low is None else f" and may fall by {-low:.2%}"
        return "better, at a price", (
            f"{improved} fell, but {kept} changes by {-lost:+.2%}{bound}: a loss within {self.terms.tolerance:.2%} is not shown"
        )

    def notes(self, name: str, changes: dict[str, Change]) -> tuple[str, ...]:
        """What a reader should hold against a good figure."""
        told = []
        if RANDOM in self.names and self.roles[name].refits:
            figure = self.goal.first
            by_chance, mended = (self.over_seeds(each, figure) for each in (RANDOM, name))
            against = self.change(self.card[figure], by_chance, mended)
            if against.falls > 1 - self.terms.confidence:
                told.append("not shown to be better than as many random rows in place of findings")
        if rose := self.risen((*self.card.groups, "worst_gap"), changes):
            told.append(f"{_listed(rose, self.card)} rose")
        return tuple(told)

    def risen(self, figures: Sequence[str], changes: Mapping[str, Change]) -> list[str]:
        """Those of these figures that are shown to have risen."""
        return [m for m in figures if changes[m].p_value <= 1 - self.terms.confidence and changes[m].mean.estimate > 0]

    def warnings(self, lines: Sequence[RepairLine]) -> tuple[str, ...]:
        """What concerns the whole comparison."""
        told = []
        given, again = (self.over_seeds(name, self.card.kept) for name in (AS_GIVEN, BEFORE))
        if np.isfinite(given - again).all() and float((given - again).mean()) > 0.02:
            told.append(
                f"Fitted again, the model {self._less(float((given - again).mean()))} on the held-out rows than the one given, "
                "which may have learned from them, or was trained longer than `refit` trains."
            )
        trivial, figure = [line for line in lines if line.verdict == "trivial"], self.goal.first
        of_goal = "for held-out people" if figure == "if_o" else f"in {_listed([figure], self.card)}"
        for line in lines:
            if line.verdict.startswith("better") and (beaten := [t.name for t in trivial if _beats(t, line, figure, self.card.kept)]):
                told.append(
                    f"{line.name} is no better than the trivial {_listed(beaten, self.card)}, in {_kept_words(self.card)} and {of_goal}."
                )
        return tuple(told)

    def _less(self, lost: float) -> str:
        return f"is {lost:.1%} less accurate" if self.card is LABELS else f"explains {lost:.1%} less of the variance"


def _beats(first: RepairLine, second: RepairLine, figure: str, kept: str) -> bool:
    at_least = first.means[kept].estimate >= second.means[kept].estimate
    return bool(at_least and first.means[figure].estimate <= second.means[figure].estimate)


def _with_front(lines: Sequence[RepairLine], figure: str, kept: str) -> list[RepairLine]:
    """Marks the lines that no other one beats in both accuracy and unfairness."""
    from dataclasses import replace

    judged = [line for line in lines if line.name != AS_GIVEN]
    return [replace(line, on_front=line in judged and not any(_dominates(o, line, figure, kept) for o in judged)) for line in lines]


def _dominates(first: RepairLine, second: RepairLine, figure: str, kept: str) -> bool:
    a, b = ((line.means[kept].estimate, -line.means[figure].estimate) for line in (first, second))
    return a[0] >= b[0] and a[1] >= b[1] and a != b


def _listed(names: Sequence[str], card: Scorecard) -> str:
    titles = [card.title(name) for name in names]
    return " and ".join([", ".join(titles[:-1]), titles[-1]]) if len(titles) > 1 else "".join(titles)
