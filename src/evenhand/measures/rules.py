"""Where unfair treatment concentrates: readable rules mined on one half of judged rows and tested on the other.

A rule is a conjunction of at most three conditions on cells that are not protected.  Rules are found by a beam search for the largest
likelihood ratio; each further rule must explain findings that the ones before do not.  What is reported of a rule (share, interval,
corrected p-value) comes from the held-out half alone, so that chance patterns of the first half do not pass for findings.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Mask, Reals, Rows
from evenhand.deadline import Deadline, TimeOver, stopping
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import InvalidArgument
from evenhand.limits import ConfidenceLevel, Count, check_limits
from evenhand.measures.rule_conditions import RuleCondition, bin_starts, conditions
from evenhand.statistics.intervals import Interval, clopper_pearson
from evenhand.statistics.multiplicity import holm
from evenhand.statistics.shares import above_others

FIRST_TIMED_ROWS = 1000
"""Where time is short, rules are looked for among so many rows first."""

FEWEST_ROWS = 40
FEWEST_FINDINGS = 8
FINE_BINS = 48
Matrix = NDArray[np.float32]  # (conditions, rows): 1 where a condition holds


@dataclass(frozen=True)
class RuleSettings:
    """How rules are mined and tested.

    longest: conditions in a rule.  most: rules.  beam: rules that a search goes on with.  support: fewest rows of the mining half in
    a rule, as a share.  confidence: of all intervals together.  depth: of the tree picture.
    """

    longest: Count = 3
    most: Count = 6
    beam: Count = 24
    support: float = 0.01
    confidence: ConfidenceLevel = 0.95
    depth: Count = 3

    def __post_init__(self) -> None:
        check_limits(self)


@dataclass(frozen=True)
class Rule:
    """A part of the population, how often it is treated unfairly there, and how sure that is."""

    conditions: tuple[str, ...]
    share: Interval  # on held-out rows; all rules' intervals hold together
    others: float  # the share among held-out rows outside the rule
    support: float  # the share of held-out rows inside the rule
    unfair: int
    p_value: float  # that the rule's share is not above that of the others, corrected for all rules

    @property
    def text(self) -> str:
        """The rule in words."""
        return ", ".join(self.conditions)

    @property
    def sentence(self) -> str:
        """The rule with its figures."""
        return f"{self.text}: {self.share.estimate:.0%} flip, n = {self.share.n:,}"

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        shown = {"text": self.text, "sentence": self.sentence, "conditions": list(self.conditions)}
        return shown | {
            **asdict(self.share),
            "others": self.others,
            "support": self.support,
            "unfair": self.unfair,
            "p_value": self.p_value,
        }


@dataclass(frozen=True)
class Influence:
    """How much of the uncertainty about unfair treatment one column takes away by itself, and a corrected p-value."""

    column: str
    explained: float
    p_value: float


@dataclass(frozen=True)
class Branch:
    """A node of the tree picture; figures are from held-out rows."""

    unfair: int
    n: int
    question: str = ""
    yes: Branch | None = None
    no: Branch | None = None

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        shown: dict[str, Any] = {"unfair": self.unfair, "n": self.n, "question": self.question}
        if self.yes is not None and self.no is not None:
            shown |= {"yes": self.yes.as_dict(), "no": self.no.as_dict()}
        return shown


@dataclass(frozen=True)
class Rules:
    """What was learnt about where it happens, in a named population."""

    population: str
    judged: int
    unfair: int
    note: str
    rules: tuple[Rule, ...] = ()
    influences: tuple[Influence, ...] = ()
    tree: Branch | None = None
    worst: dict[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "population": self.population,
            "judged": self.judged,
            "unfair": self.unfair,
            "note": self.note,
            "rules": [rule.as_dict() for rule in self.rules],
            "influences": [asdict(each) for each in self.influences],
            "tree": self.tree.as_dict() if self.tree is not None else None,
            "worst": dict(self.worst),
        }


@dataclass(frozen=True)
class JudgedRows:
    """Judged rows of a named population."""

    rows: Rows
    unfair: Mask
    population: str

    def __post_init__(self) -> None:
        if len(self.rows) != len(self.unfair):
            raise InvalidArgument(f"rows has {len(self.rows)} rows and unfair {len(self.unfair)} entries; expected one verdict per row")


@dataclass(frozen=True, eq=False)
class _Half:
    """Half of the judged rows: one half suggests rules, the other tests them."""

    rows: Rows
    unfair: Mask


def mine_rules(judged: JudgedRows, domain: TabularDomain, rng: np.random.Generator, settings: RuleSettings | None = None) -> Rules:
    """Rules for where the unfair rows are, tested on rows that the search for rules never saw."""
    settings = settings or RuleSettings()
    unfair = np.asarray(judged.unfair, dtype=bool)
    found = Rules(judged.population, len(unfair), int(unfair.sum()), _too_little(unfair))
    if found.note:
        return found
    order = rng.permutation(len(unfair))
    first, second = order[: len(order) // 2], order[len(order) // 2 :]
    if not 0 < unfair[first].sum() < len(first):
        return Rules(judged.population, len(unfair), int(unfair.sum()), "one half of the rows shows nothing to tell apart")
    tried = conditions(judged.rows[first], unfair[first], domain)
    mined = _Miner(judged.rows[first], unfair[first], tried, settings).rules()
    seen, held = (_Half(judged.rows[half], unfair[half]) for half in (first, second))
    sharpened = _distinct([_sharpened([tried[at] for at in rule], seen, domain, settings) for rule in mined], seen)
    rules = _tested(sharpened, held, domain, settings)
    tree = _tree(tried, seen, held, domain, settings)
    sure = tuple(rule for rule in rules if rule.p_value <= 1 - settings.confidence)
    return Rules(
        judged.population, len(unfair), int(unfair.sum()), _said(len(sharpened), len(sure)), sure, influences(judged, domain), tree
    )


def mine_in_time(judged: JudgedRows, domain: TabularDomain, rng: np.random.Generator, deadline: Deadline) -> Rules:
    """Rules from as many rows as there is time for: from a few first, then from all of them or as many as will do."""
    if not deadline.is_set:
        return mine_rules(judged, domain, rng)
    note = "time was short, so that no rules were looked for"
    best = Rules(judged.population, len(judged.unfair), int(judged.unfair.sum()), note)
    order, n = rng.permutation(len(judged.unfair)), min(FIRST_TIMED_ROWS, len(judged.unfair))
    try:
        with stopping(deadline):
            while n:
                started, part = time.perf_counter(), order[:n]
                best = mine_rules(JudgedRows(judged.rows[part], judged.unfair[part], judged.population), domain, rng)
                each = (time.perf_counter() - started) / n
                most = min(len(order), int(deadline.seconds_left / 1.5 / max(each, 1e-9)))
                n = most if most >= min(len(order), 2 * n) and n < len(order) else 0
    except TimeOver:
        pass
    if best.judged < len(order) and not best.note:
        return replace(best, note=f"time was short: these are from {best.judged:,} of {len(order):,} judged rows")
    return best


def _said(mined: int, sure: int) -> str:
    """What became of the rules that the first half suggested."""
    if not mined:
        return "no rule describes the affected people better than chance"
    if sure < mined:
        return f"{mined - sure} of {mined} rules that one half of the rows suggested did not hold on the other half and are left out"
    return ""


def _too_little(unfair: Mask) -> str:
    hits = int(unfair.sum())
    if not len(unfair):
        return "nobody was judged"
    if hits == 0:
        return "nobody who was judged is treated differently, so there is nothing to describe"
    if hits == len(unfair):
        return "everybody who was judged is treated differently, so that no part of them stands out"
    if hits < FEWEST_FINDINGS or len(unfair) < FEWEST_ROWS or len(unfair) - hits < FEWEST_FINDINGS:
        return (
            f"{hits} of {len(unfair)} judged are too few on one side for rules that could be tested; at least {FEWEST_FINDINGS} "
            f"affected and {FEWEST_FINDINGS} others among {FEWEST_ROWS} are needed"
        )
    return ""


class _Miner:
    """Beam search on one half of the rows."""

    def __init__(self, rows: Rows, unfair: Mask, tried: Sequence[RuleCondition], settings: RuleSettings) -> None:
        self.tried, self.settings = tried, settings
        self.holds: Matrix = np.array([c.holds(rows) for c in tried], dtype=np.float32).reshape(len(tried), len(rows))
        self.places = np.array([condition.place for condition in tried], dtype=np.intp)
        self.unfair = unfair.astype(np.float32)
        self.fewest = max(10.0, settings.support * len(rows))

    def rules(self) -> list[tuple[int, ...]]:
        """Rules as tuples of conditions; each explains findings that those before it leave."""
        found: list[tuple[int, ...]] = []
        left = np.ones_like(self.unfair)
        for _ in range(self.settings.most):
            if (left * self.unfair).sum() < FEWEST_FINDINGS / 2 or not len(self.tried):
                break
            best = self._best(left)
            if best is None or best in found:
                break
            found.append(best)
            left = left * (1 - self._mask(best))
        return found

    def _mask(self, rule: tuple[int, ...]) -> Matrix:
        return np.asarray(self.holds[list(rule)].prod(axis=0))

    def _best(self, left: Matrix) -> tuple[int, ...] | None:
        """The rule with the largest likelihood ratio on the rows that are left, as short as it can be."""
        total = float(left.sum())
        rate = float((left * self.unfair).sum()) / total if total else 0.0
        if not 0 < rate < 1:
            return None
        beam: list[tuple[int, ...]] = [()]
        best: tuple[float, tuple[int, ...]] = (6.0, ())  # below this, chance does as well
        for _ in range(self.settings.longest):
            scored = self._extended(beam, left, rate)
            if not scored:
                break
            beam = [rule for _, rule in scored[: self.settings.beam]]
            # A longer rule must be clearly better: every condition costs its reader something.
            if scored[0][0] > 1.1 * best[0] + 4.0:
                best = scored[0]
        return best[1] or None

    def _extended(self, beam: list[tuple[int, ...]], left: Matrix, rate: float) -> list[tuple[float, tuple[int, ...]]]:
        masks = np.array([self._mask(rule) if rule else np.ones_like(left) for rule in beam], dtype=np.float32) * left
        counts, hits = masks @ self.holds.T, (masks * self.unfair) @ self.holds.T  # (beam, conditions)
        quality = _likelihood(hits, counts, rate)
        quality[counts < self.fewest] = 0.0
        for at, rule in enumerate(beam):
            quality[at, np.isin(self.places, self.places[list(rule)])] = 0.0
        order = np.argsort(-quality, axis=None)[: 8 * self.settings.beam]
        found: dict[tuple[int, ...], float] = {}
        for flat in order:
            at, condition = divmod(int(flat), quality.shape[1])
            if quality[at, condition] > 0:
                found.setdefault(tuple(sorted((*beam[at], condition))), float(quality[at, condition]))
        return sorted(((score, rule) for rule, score in found.items()), key=lambda pair: (-pair[0], pair[1]))


def _sharpened(rule: list[RuleCondition], mined: _Half, domain: TabularDomain, settings: RuleSettings) -> list[RuleCondition]:
    """The rule with every range moved to the best borders, given the other conditions; the search itself only knows coarse bins."""
    rows, unfair = mined.rows, mined.unfair
    rate = float(unfair.mean())
    fewest = max(10.0, settings.support * len(rows))
    for at, condition in enumerate(rule):
        column = domain.columns[condition.place]
        if condition.is_missing or condition.codes:
            continue
        others = np.logical_and.reduce([np.ones(len(rows), dtype=bool)] + [c.holds(rows) for c in rule if c is not condition])
        here = others & ~np.isnan(rows[:, condition.place])
        starts = bin_starts(rows[:, condition.place][~np.isnan(rows[:, condition.place])], column, FINE_BINS)
        place = np.searchsorted(starts, rows[here, condition.place], side="right") - 1
        counts = np.append(0.0, np.cumsum(np.bincount(place, minlength=len(starts))))
        hits = np.append(0.0, np.cumsum(np.bincount(place, weights=unfair[here], minlength=len(starts))))
        inside, found = counts[None, 1:] - counts[:-1, None], hits[None, 1:] - hits[:-1, None]  # (first bin, last bin)
        quality = np.where(np.triu(np.ones_like(inside)) * (inside >= fewest) > 0, _likelihood(found, inside, rate), 0.0)
        low, high = np.unravel_index(int(np.argmax(quality)), quality.shape)
        if quality[low, high] > 0:
            rule = [*rule[:at], _range(condition.place, starts, (int(low), int(high)), domain), *rule[at + 1 :]]
    return rule


def _distinct(rules: list[list[RuleCondition]], mined: _Half) -> list[list[RuleCondition]]:
    """The rules that describe different people: two that began apart can end at the same borders."""
    described = {np.packbits(np.logical_and.reduce([each.holds(mined.rows) for each in rule])).tobytes(): rule for rule in reversed(rules)}
    return list(described.values())[::-1]


def _range(place: int, starts: Reals, bins: tuple[int, int], domain: TabularDomain) -> RuleCondition:
    column = domain.columns[place]
    if bins[1] + 1 >= len(starts):
        return RuleCondition(place, low=float(starts[bins[0]]), high=column.highest)
    after = float(starts[bins[1] + 1])
    return RuleCondition(place, low=float(starts[bins[0]]), high=after - 1 if column.is_integral else float(np.nextafter(after, -np.inf)))


def _likelihood(hits: NDArray[Any], counts: NDArray[Any], rate: float) -> NDArray[Any]:
    """Twice the log likelihood ratio of the part's own share against the overall one; 0 where it is lower."""
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(counts > 0, hits / counts, 0.0).clip(0.0, 1.0)
        gained = np.where(share > 0, hits * np.log(np.maximum(share, 1e-12) / rate), 0.0)
        lost = np.where(share < 1, (counts - hits) * np.log(np.maximum(1 - share, 1e-12) / (1 - rate)), 0.0)
    return np.where(share > rate, 2 * (gained + lost), 0.0)


def _tested(rules: list[list[RuleCondition]], held: _Half, domain: TabularDomain, settings: RuleSettings) -> tuple[Rule, ...]:
    """The rules' figures on held-out rows, the surest first; a rule that nobody there fits is left out."""
    rows, unfair = held.rows, held.unfair
    masks = [np.logical_and.reduce([c.holds(rows) for c in rule]) for rule in rules]
    kept = [(rule, mask) for rule, mask in zip(rules, masks, strict=True) if mask.any()]
    if not kept:
        return ()
    counts = [(int(unfair[m].sum()), int(m.sum()), int(unfair[~m].sum()), int((~m).sum())) for _, m in kept]
    p_values = holm([float(above_others([k, other], [n, rest])[0]) for k, n, other, rest in counts])
    each = 1 - (1 - settings.confidence) / len(kept)
    tested = [
        Rule(
            tuple(c.text(domain) for c in sorted(rule, key=lambda c: c.place)),
            clopper_pearson(k, n, each),
            other / rest if rest else float("nan"),
            n / len(rows),
            k,
            float(p),
        )
        for (rule, _), (k, n, other, rest), p in zip(kept, counts, p_values, strict=True)
    ]
    return tuple(sorted(tested, key=lambda rule: (rule.p_value, -rule.share.low)))


def _tree(
    tried: Sequence[RuleCondition],
    mined: _Half,
    held: _Half,
    domain: TabularDomain,
    settings: RuleSettings,
) -> Branch:
    """A tree of yes-no questions, grown on mined rows; its figures are those of held-out rows."""
    holds = np.array([c.holds(mined.rows) for c in tried], dtype=np.float32).reshape(len(tried), len(mined.rows))
    tested = np.array([c.holds(held.rows) for c in tried], dtype=bool).reshape(len(tried), len(held.rows))
    fewest = max(10.0, 2 * settings.support * len(mined.rows))

    def grow(here: Mask, there: Mask, depth: int) -> Branch:
        unfair, n = int(held.unfair[there].sum()), int(there.sum())
        best = _question(holds, mined.unfair, here, fewest) if depth else None
        if best is None:
            return Branch(unfair, n)
        passed, tested_passed = holds[best] > 0, tested[best]
        yes = grow(here & passed, there & tested_passed, depth - 1)
        no = grow(here & ~passed, there & ~tested_passed, depth - 1)
        return Branch(unfair, n, tried[best].text(domain), yes, no)

    return grow(np.ones(len(mined.rows), dtype=bool), np.ones(len(held.rows), dtype=bool), settings.depth)


def _question(holds: Matrix, unfair: Mask, here: Mask, fewest: float) -> int | None:
    """The condition that tells the unfair rows here apart best; None where none does better than chance."""
    n, hits = float(here.sum()), float(unfair[here].sum())
    if not len(holds) or not 0 < hits < n:
        return None
    inside = holds @ here.astype(np.float32)
    found = holds @ (here & unfair).astype(np.float32)
    gain = _both_ways(found, inside, hits / n) + _both_ways(hits - found, n - inside, hits / n)
    gain[(inside < fewest) | (n - inside < fewest)] = 0.0
    best = int(np.argmax(gain))
    return best if gain[best] > 15.0 else None


def _both_ways(hits: NDArray[Any], counts: NDArray[Any], rate: float) -> NDArray[Any]:
    both: NDArray[Any] = _likelihood(hits, counts, rate) + _likelihood(counts - hits, counts, 1 - rate)
    return both


def influences(judged: JudgedRows, domain: TabularDomain, most: int = 8) -> tuple[Influence, ...]:
    """The columns that alone say most about who is treated unfairly, with chi-square p-values corrected for all columns.

    Numbers count by bins that do not depend on the verdicts, so that all rows can serve.
    """
    from scipy.stats import chi2

    told = []
    for place in domain.free_places:
        groups = _groups(judged.rows[:, place], domain, place)
        explained, statistic, freedom = _explained(groups, np.asarray(judged.unfair, dtype=bool))
        p_value = float(chi2.sf(statistic, freedom)) if freedom else 1.0
        told.append((domain.names[place], explained, p_value))
    if not told:
        return ()
    adjusted = holm([p for _, _, p in told])
    found = [Influence(name, float(explained), float(p)) for (name, explained, _), p in zip(told, adjusted, strict=True)]
    return tuple(sorted((each for each in found if each.explained > 0), key=lambda each: -each.explained)[:most])


def _groups(cells: Reals, domain: TabularDomain, place: int) -> NDArray[np.intp]:
    """Every cell's category or bin; a missing cell is a group too."""
    column, missing = domain.columns[place], np.isnan(cells)
    if column.is_listed or missing.all():
        groups = np.nan_to_num(cells, nan=-1.0)
    else:
        groups = np.searchsorted(bin_starts(cells[~missing], column), np.where(missing, 0.0, cells), side="right").astype(np.float64)
        groups[missing] = -1.0
    return np.asarray(np.unique(groups, return_inverse=True)[1]).ravel()


def _explained(groups: NDArray[np.intp], unfair: Mask) -> tuple[float, float, int]:
    """The share of entropy that groups take away, beyond what as many random groups would; the G statistic; its freedom."""
    counts = np.bincount(groups).astype(np.float64)
    hits = np.bincount(groups, weights=unfair)
    n, rate = float(counts.sum()), float(unfair.mean())
    with np.errstate(divide="ignore", invalid="ignore"):
        share = hits / counts
        terms = np.where(hits > 0, hits * np.log(share / rate), 0.0) + np.where(
            hits < counts, (counts - hits) * np.log((1 - share) / (1 - rate)), 0.0
        )
    statistic, freedom = 2 * float(terms.sum()), len(counts) - 1
    entropy = -2 * n * (rate * np.log(rate) + (1 - rate) * np.log(1 - rate))
    return max(0.0, statistic - freedom) / entropy, statistic, freedom
