"""Oracles side by side: direct flip, flip with implied changes, flip with descendants resampled, nearest real neighbour; side by side.

What the later ones find and the first one does not is the proxy effect.  A learned or a nearest other person differs from the row also
by chance, so that the figure comes with its null: the same with the protected cells shuffled among the people.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from evenhand.arrays import Mask, Rows
from evenhand.contract import Executor, Model, Oracle, Verdict, labels_of
from evenhand.domain.causal_graph import CausalGraph
from evenhand.domain.tabular import TabularDomain
from evenhand.limits import Limit
from evenhand.measures.rates import Rate, judge_all, rate_of
from evenhand.oracles.amounts import AmountGap
from evenhand.oracles.direct import DirectFlip
from evenhand.oracles.flip import LabelFlip
from evenhand.oracles.neighbour import NearestNeighbour, Neighbours
from evenhand.oracles.parts.learned import LearnedOracle
from evenhand.oracles.resampled import ResampledDescendants
from evenhand.shared_work import Sharing
from evenhand.statistics.intervals import Interval, clopper_pearson

QUESTIONS = {
    "direct flip": "only the protected cells are changed",
    "implied flip": "and what is declared to follow from them",
    "descendants resampled": "and everything that descends from them is drawn again for the other group",
    "nearest real neighbour": "the most alike real person of the other group",
}


@dataclass(frozen=True)
class CompareSettings:
    """How many rows are judged, how many the other persons are learned from, and how often the null is drawn."""

    rows: int = 2_000
    learned_from: int = 5_000
    null_draws: int = 19
    confidence: float = 0.95
    graph: CausalGraph | None = None
    tolerance: float | None = None  # for amounts and scores: flips are answers further apart than this
    executor: Executor | None = None  # who shares the draws of the null; None for this process


@dataclass(frozen=True)
class Null:
    """What chance alone gives: the same share with the protected cells shuffled, several times."""

    shares: tuple[float, ...]

    @property
    def mean(self) -> float:
        """What to expect when the protected cells say nothing about the others."""
        return float(np.mean(self.shares))

    def p_value(self, share: float) -> float:
        """How often chance alone gives as much."""
        return (1 + sum(each >= share - 1e-12 for each in self.shares)) / (1 + len(self.shares))


@dataclass(frozen=True)
class View:
    """One question: the rate of flips, and the share that flips here and not directly (the proxy effect) with its null."""

    name: str
    question: str
    rate: Rate
    proxy: Interval | None = None
    null: Null | None = None

    @property
    def excess(self) -> float | None:
        """The proxy effect beyond chance."""
        return None if self.proxy is None or self.null is None else self.proxy.estimate - self.null.mean

    @property
    def p_value(self) -> float | None:
        """Of the proxy effect."""
        return None if self.proxy is None or self.null is None else self.null.p_value(self.proxy.estimate)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        proxy = None if self.proxy is None else asdict(self.proxy)
        null = None if self.null is None else {"mean": self.null.mean, "largest": max(self.null.shares), "draws": len(self.null.shares)}
        return {
            "name": self.name, "question": self.question, "rate": self.rate.as_dict(), "proxy": proxy, "null": null,
            "excess": self.excess, "p_value": self.p_value,
        }  # fmt: skip


@dataclass(frozen=True)
class OracleComparison:
    """All views, and what a reader must be told about the model."""

    views: tuple[View, ...]
    alarms: tuple[str, ...]
    notes: tuple[str, ...]
    descendants: tuple[str, ...] | None = field(default=None)

    def __getitem__(self, name: str) -> View:
        return next(view for view in self.views if view.name == name)

    @property
    def is_constant(self) -> bool:
        """Whether the model says one label to everybody."""
        return any("one answer" in alarm for alarm in self.alarms)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"views": [view.as_dict() for view in self.views], "alarms": list(self.alarms), "notes": list(self.notes)}


def compare_oracles(
    rows: Rows, domain: TabularDomain, model: Model, rng: np.random.Generator, settings: CompareSettings | None = None
) -> OracleComparison:
    """Judge the same people by every view."""
    settings = settings or CompareSettings()
    Limit(least=2, whole=True).check("rows", len(rows), hint=": oracles are compared on real rows")
    order = rng.permutation(len(rows))
    # People are judged whom nothing was learned from, as far as there are enough.
    judged = rows[order[: min(settings.rows, max(1, len(rows) // 2))]]
    source = rows[order[len(judged) :][: settings.learned_from]]
    court = _Court(judged, source, domain, model, settings)
    direct, implied = (judge_all(judged, domain, model, oracle) for oracle in (court.direct, court.implied))
    declared = clopper_pearson(int((implied.unfair & ~direct.unfair).sum()), len(judged), settings.confidence)
    views = [court.plain("direct flip", direct), replace(court.plain("implied flip", implied), proxy=declared)]
    views += [
        court.against_null("descendants resampled", rng),
        court.against_null("nearest real neighbour", rng),
    ]
    alarms = _alarms(judged, model)
    descendants = settings.graph.descendants(domain) if settings.graph else None
    return OracleComparison(tuple(views), tuple(alarms), tuple(_notes(views, direct, domain, bool(alarms))), descendants)


@dataclass(frozen=True)
class _Court:
    """The people, what other persons are learned from, and the model."""

    rows: Rows
    source: Rows
    domain: TabularDomain
    model: Model
    settings: CompareSettings

    @property
    def direct(self) -> Oracle:
        return DirectFlip(self.settings.tolerance)

    @property
    def implied(self) -> Oracle:
        return LabelFlip() if self.settings.tolerance is None else AmountGap(self.settings.tolerance)

    def plain(self, name: str, verdict: Verdict) -> View:
        return View(name, QUESTIONS[name], rate_of(verdict, "data", self.settings.confidence))

    def resampled(self, source: Rows, rng: np.random.Generator) -> Oracle:
        settings = ResampledDescendants(self.settings.tolerance, graph=self.settings.graph)
        return LearnedOracle(settings, settings.fitted(source, self.domain, rng))

    def neighbour(self, source: Rows) -> Oracle:
        return LearnedOracle(NearestNeighbour(self.settings.tolerance), Neighbours(source, self.domain))

    def against_null(self, name: str, rng: np.random.Generator) -> View:
        """The rate, the share that flips here and not directly, and the same under shuffled protected cells."""
        seen = judge_all(self.rows, self.domain, self.model, self._other(name, self.source, rng))
        proxy = seen.unfair & ~self._direct(self.rows)
        shares = Sharing(self.settings.executor).answers(NullWork(self, name), rng.spawn(self.settings.null_draws))
        interval = clopper_pearson(int(proxy.sum()), len(proxy), self.settings.confidence)
        return View(
            name, QUESTIONS[name], rate_of(seen, "data", self.settings.confidence), interval, Null(tuple(shares)) if shares else None
        )  # fmt: skip

    def _other(self, name: str, source: Rows, rng: np.random.Generator) -> Oracle:
        return self.resampled(source, rng) if name == "descendants resampled" else self.neighbour(source)

    def null_share(self, name: str, rng: np.random.Generator) -> float:
        """The share that flips so and not directly, with the protected cells shuffled once."""
        rows, source = self._shuffled(self.rows, rng), self._shuffled(self.source, rng)
        verdict = judge_all(rows, self.domain, self.model, self._other(name, source, rng))
        return float((verdict.unfair & ~self._direct(rows)).mean())

    def _direct(self, rows: Rows) -> Mask:
        return judge_all(rows, self.domain, self.model, self.direct).unfair

    def _shuffled(self, rows: Rows, rng: np.random.Generator) -> Rows:
        places = list(self.domain.protected_places)
        mixed = rows.copy()
        mixed[:, places] = rows[rng.permutation(len(rows))][:, places]
        return mixed


@dataclass(frozen=True)
class NullWork:
    """What every worker needs to shuffle the protected cells and look again."""

    court: _Court
    name: str

    def open(self) -> Callable[[np.random.Generator], float]:
        """One draw after the other."""
        return lambda rng: self.court.null_share(self.name, rng)


def _alarms(rows: Rows, model: Model) -> list[str]:
    """A model that says one label to everybody passes every oracle, which says nothing for it."""
    scores = model.scores(rows)
    labels = labels_of(scores)
    is_flat = bool(np.ptp(scores, axis=0).max() <= 1e-12)
    if len(np.unique(labels)) > 1 or (len(model.classes) == 1 and not is_flat):
        return []
    said = model.classes[int(labels[0])] if len(model.classes) > 1 else float(scores[0, 0])
    varies = "" if is_flat else "; its scores do vary, so look at them instead"
    people = f"to all {len(rows):,} people who were asked"
    return [f"the model gives one answer, {said!r}, {people}: it passes every oracle here, and that is no sign of fairness{varies}"]


def _notes(views: list[View], direct: Verdict, domain: TabularDomain, is_constant: bool) -> list[str]:
    if is_constant or direct.unfair.any() or direct.gap.max() > 1e-9:
        return []
    columns = " and ".join(repr(name) for name in domain.protected)
    found = "; ".join(_found(view) for view in views[2:])
    passes = f"changing {columns} alone never moves the model's answer: it does not read it, and so passes the direct flip by construction"
    return [f"{passes}. {found}"]


def _found(view: View) -> str:
    if view.proxy is None or view.null is None:
        return f"{view.name}: {view.rate.interval.estimate:.1%} flip"
    return (
        f"{view.name}: {view.proxy.estimate:.1%} flip, where chance alone gives {view.null.mean:.1%} "
        f"(p = {view.p_value:.3g}, {len(view.null.shares)} shuffles)"
    )
