"""How well a synthesiser fits a table: it learns one half of the rows, and what it makes up is compared with the other half.

Told apart by boosted trees, columns and pairs that are worst, gaps between protected groups, relations kept, copies of rows, the
distance to the nearest row, and how well a model learns from made-up rows.  Only gaps are
those of the learnt rows: they are what a synthesiser can keep.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from evenhand.arrays import Index, Labels, Mask, Reals, Rows
from evenhand.domain.columns import Column
from evenhand.domain.relations import find_relations
from evenhand.domain.tabular import TabularDomain
from evenhand.measures.naturalness import neighbour_distances, pair_scores, shape_scores, two_sample_auc

MOST_ROWS = 20_000
"""Rows that are learnt from at most; as many are held out."""
MOST_COMPARED = 4_000
FEWEST_IN_GROUP = 100
GAP_ROWS = 40_000
"""Rows that are made up for the gaps at least, so that their own chance counts little."""
COMPARED_GAP_ROWS = 1_000_000
"""The same where synthesisers are set beside each other: the smallest groups are a hundredth of a table, and with 200,000 rows
the chance of what is drawn alone moves a gap of 15 points between two of them by 6 % (one standard deviation)."""
MOST_GROUPS = 8
NOTABLE_GAP = 0.03
KEPT = 0.9
WORST = 5
_95 = 1.959964

Fit = Callable[[Rows, TabularDomain, np.random.Generator], Any]


@dataclass(frozen=True)
class GroupGap:
    """How far the shares of a label are apart in two groups: in the rows learnt from and in made-up ones, with intervals."""

    column: str
    groups: tuple[str, str]
    label: str
    real: float
    low: float
    high: float
    synthetic: float
    synthetic_low: float
    synthetic_high: float

    @property
    def kept(self) -> float:
        """The part of the real gap that made-up rows show."""
        return self.synthetic / self.real if self.real else 1.0

    @property
    def is_lost(self) -> bool:
        """Whether made-up rows hide a notable gap: less than nine tenths of it, and outside its interval."""
        return self.real > NOTABLE_GAP and self.kept < KEPT and not self.low <= self.synthetic <= self.high


@dataclass(frozen=True)
class SynthesisQuality:
    """The figures of a fit."""

    auc: float
    auc_low: float
    auc_high: float
    columns: tuple[tuple[str, float, float], ...]  # the worst, 1 being equal, beside what two halves of the real rows have
    pairs: tuple[tuple[str, str, float, float], ...]
    gaps: tuple[GroupGap, ...]
    relations: tuple[tuple[str, float], ...]  # with the share of made-up rows that keep each
    copies: float  # share of made-up rows that equal a row that was learnt from
    copies_holdout: float  # the same of held-out rows
    distance: float  # median distance of made-up rows to the nearest row that was learnt from
    distance_holdout: float
    accuracy_real: float | None
    accuracy_synthetic: float | None
    rows: int

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a person must know before using the rows."""
        return tuple(
            f"the gap by {gap.column} ({' against '.join(gap.groups)}) is {gap.real:.1%} in real, {gap.synthetic:.1%} in synthetic rows"
            for gap in self.gaps
            if gap.is_lost
        )

    def sentence(self) -> str:
        """One line for a person."""
        parts = [f"told from real rows with an AUC of {self.auc:.3f} ({self.auc_low:.3f} to {self.auc_high:.3f}; 0.5 is guessing)"]
        if self.gaps:
            lost = [gap.column for gap in self.gaps if gap.is_lost]
            parts.append(
                f"gaps shrunk by {', '.join(lost)}" if lost else "gaps between protected groups as in the data, within their intervals"
            )
        if self.relations:
            parts.append(f"{len(self.relations)} relations kept in {min(share for _, share in self.relations):.1%} of rows")
        parts.append(f"{self.copies:.1%} copies (held-out rows: {self.copies_holdout:.1%})")
        return "; ".join(parts)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        told = asdict(self) | {"warnings": list(self.warnings), "sentence": self.sentence()}
        told["gaps"] = [asdict(gap) | {"kept": gap.kept, "is_lost": gap.is_lost} for gap in self.gaps]
        return told


@dataclass(frozen=True)
class Likeness:
    """What is cheap to say of a fit: enough to set several synthesisers beside each other."""

    auc: float
    gaps: tuple[GroupGap, ...]
    relations: tuple[tuple[str, float], ...]  # that every learnt row keeps, with the share of made-up rows that do
    copies: float
    copies_holdout: float


def likeness(fit: Fit, rows: Rows, labels: Labels | None, domain: TabularDomain, rng: np.random.Generator) -> Likeness:
    """Learn a random half of the rows, with their labels where there are any, and compare; the same seed gives the same halves."""
    table, wide = _with_label(rows, labels, domain)
    order = rng.permutation(len(table))[: 2 * MOST_ROWS]
    learnt, held = table[order[::2]], table[order[1::2]]
    looking = rng.spawn(1)[0]  # so that the same relations are looked for, whichever synthesiser comes before
    source = fit(learnt, wide, rng)
    made = source.sample(len(held), rng)
    has_gaps = labels is not None and domain.has_classes and bool(domain.protected)
    gaps = tuple(_gaps(learnt, source.sample(COMPARED_GAP_ROWS, rng), wide)) if has_gaps else ()
    found = [each for each in find_relations(learnt, wide, looking) if each.support == 1.0]
    kept = tuple((each.text, float(each.rule.holds(made).mean())) for each in found)
    return Likeness(two_sample_auc(held, made, rng), gaps, kept, _copied(made, learnt), _copied(held, learnt))


def synthesis_quality(fit: Fit, rows: Rows, labels: Labels | None, domain: TabularDomain, rng: np.random.Generator) -> SynthesisQuality:
    """Learn a random half of the rows, with their labels where there are any, and compare."""
    table, wide = _with_label(rows, labels, domain)
    order = rng.permutation(len(table))[: 2 * MOST_ROWS]
    learnt, held = table[order[::2]], table[order[1::2]]
    source = fit(learnt, wide, rng)
    made = source.sample(len(held), rng)
    more = source.sample(max(GAP_ROWS, len(held)), rng) if domain.protected else made
    auc = two_sample_auc(held, made, rng)
    error = _auc_error(auc, len(held))
    few = slice(0, MOST_COMPARED)
    real, real_made = (neighbour_distances(part[few], learnt[few], wide, 1) for part in (held, made))
    has_label = labels is not None and domain.has_classes
    accuracies = _accuracies(learnt, made, held) if has_label else (None, None)
    return SynthesisQuality(
        auc,
        max(0.0, auc - _95 * error),
        min(1.0, auc + _95 * error),
        _worst_columns(Compared(held, made, learnt), wide),
        _worst_pairs(Compared(held, made, learnt), wide),
        tuple(_gaps(learnt, more, wide)) if has_label else (),
        tuple((each.text, float(each.rule.holds(made).mean())) for each in find_relations(learnt, wide, rng)),
        _copied(made, learnt),
        _copied(held, learnt),
        float(np.median(real_made)),
        float(np.median(real)),
        accuracies[0],
        accuracies[1],
        len(learnt),
    )


def _with_label(rows: Rows, labels: Labels | None, domain: TabularDomain) -> tuple[Rows, TabularDomain]:
    plain = replace(domain, constraints=(), comparisons={}, implied=())
    if labels is None or domain.label is None or domain.label.is_amount:
        return rows, plain
    column = Column(domain.label.column, "category", domain.label.values)
    return np.column_stack([rows, labels]).astype(np.float64), replace(plain, columns=(*domain.columns, column), label=None)


def _auc_error(auc: float, n: int) -> float:
    """The standard error of an AUC of two samples of n rows (Hanley and McNeil)."""
    first, second = auc / (2 - auc), 2 * auc**2 / (1 + auc)
    return float(np.sqrt((auc * (1 - auc) + (n - 1) * (first - auc**2 + second - auc**2)) / n**2))


@dataclass(frozen=True, eq=False)
class Compared:
    """Held-out rows, the made-up rows that should be like them, and the learnt rows that are."""

    held: Rows
    made: Rows
    learnt: Rows


def _worst_columns(rows: Compared, domain: TabularDomain) -> tuple[tuple[str, float, float], ...]:
    """The columns that fall farthest below what two halves of the real rows show: chance alone makes fine columns differ."""
    scores, own = (np.asarray(shape_scores(rows.held, part, domain)) for part in (rows.made, rows.learnt))
    chosen = np.argsort(scores - own)[:WORST]
    return tuple((domain.names[at], float(scores[at]), float(own[at])) for at in chosen)


def _worst_pairs(rows: Compared, domain: TabularDomain) -> tuple[tuple[str, str, float, float], ...]:
    scores, own = (np.asarray(pair_scores(rows.held, part, domain)) for part in (rows.made, rows.learnt))
    upper = np.argwhere(np.triu(np.ones(scores.shape, dtype=bool), 1) & ~np.isnan(scores - own))
    chosen = upper[np.argsort([scores[a, b] - own[a, b] for a, b in upper])[:WORST]]
    return tuple((domain.names[a], domain.names[b], float(scores[a, b]), float(own[a, b])) for a, b in chosen)


def _gaps(real: Rows, made: Rows, domain: TabularDomain) -> Iterator[GroupGap]:
    """For every protected column the label whose shares are farthest apart in two groups of the learnt rows."""
    outcome = domain.columns[-1]
    for place in domain.protected_places:
        borders, names = group_borders(real[:, place], domain.columns[place])
        here, there = (GroupedLabels(part[:, -1], np.searchsorted(borders, part[:, place], side="left")) for part in (real, made))
        found = [gap for value in range(len(outcome.values)) if (gap := _gap(here, there, value)) is not None]
        if found:
            widest = max(found, key=lambda gap: gap.figures[0])
            label = str(outcome.values[widest.value])
            yield GroupGap(domain.names[place], (names[widest.first], names[widest.second]), label, *widest.figures)


def group_borders(cells: Reals, column: Column) -> tuple[Reals, list[str]]:
    """Where groups of a protected column end, and what they are called: its values where they are few, else above and below the middle."""
    distinct = np.unique(cells[~np.isnan(cells)])
    if len(distinct) <= MOST_GROUPS:
        return distinct[:-1], [str(column.value(code)) for code in distinct]
    middle = float(np.nanmedian(cells))
    return np.array([middle]), [f"up to {column.value(middle)}", f"above {column.value(middle)}"]


@dataclass(frozen=True, eq=False)
class GroupedLabels:
    """The label and the group of every row."""

    labels: Reals
    groups: Index

    def having(self, value: int, group: int) -> Mask:
        """Who of a group has a label."""
        return np.asarray(self.labels[self.groups == group] == value)


@dataclass(frozen=True)
class FoundGap:
    """Which two groups are farthest apart in a label, and how far: real with bounds, then made up with bounds."""

    value: int
    first: int
    second: int
    figures: tuple[float, ...]


def _gap(real: GroupedLabels, made: GroupedLabels, value: int) -> FoundGap | None:
    sizes = np.bincount(real.groups)
    shares = np.bincount(real.groups, real.labels == value) / np.maximum(sizes, 1)
    enough = np.flatnonzero(sizes >= FEWEST_IN_GROUP)
    if len(enough) < 2:
        return None
    first, second = int(enough[shares[enough].argmax()]), int(enough[shares[enough].argmin()])
    figures = [_apart(part.having(value, first), part.having(value, second)) for part in (real, made)]
    return FoundGap(value, first, second, (*figures[0], *figures[1]))


def _apart(first: Mask, second: Mask) -> tuple[float, float, float]:
    """How much larger the first share is, and between what; a group that nobody is in has a share of nothing."""
    shares = [float(group.mean()) if group.size else 0.0 for group in (first, second)]
    error = float(np.sqrt(sum(share * (1 - share) / max(1, group.size) for share, group in zip(shares, (first, second), strict=True))))
    gap = shares[0] - shares[1]
    return gap, gap - _95 * error, gap + _95 * error


def _copied(rows: Rows, known: Rows) -> float:
    """The share of rows that equal a known one in every cell."""
    filled = [np.ascontiguousarray(np.nan_to_num(part, nan=1e300)) for part in (rows, known)]
    mine, theirs = (part.view(np.dtype((np.void, part.dtype.itemsize * part.shape[1]))).ravel() for part in filled)
    return float(np.isin(mine, theirs).mean())


def _accuracies(learnt: Rows, made: Rows, held: Rows) -> tuple[float, float]:
    """How often boosted trees are right about held-out labels, learning from real rows and from made-up ones."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    found: Sequence[float] = [
        float(
            (
                HistGradientBoostingClassifier(max_iter=60, random_state=0).fit(part[:, :-1], part[:, -1]).predict(held[:, :-1])
                == held[:, -1]
            ).mean()
        )
        for part in (learnt, made)
        if len(np.unique(part[:, -1])) > 1
    ]
    return (found[0], found[1]) if len(found) == 2 else (0.0, 0.0)
