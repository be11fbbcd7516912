"""How natural the search's findings are on grounds that nothing was chosen on, beside `chains`; its constants and ablations.

Methods see one half of the real rows, the judges learn from the other.  Natural is what both judges that are no kin of chained trees
call so.  The shares are those of the list.  Paces count all who were found, for `evenhand` also those whom it has set aside because their
twins are hardly plausible: `chains` does not look at twins.  The same in pairs, where both must be natural, and of the list alone, is told
beside it.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from types import ModuleType
from typing import Any

import numpy as np

from evenhand.arrays import Mask, Rows
from evenhand.contract import Method
from evenhand.engine.findings import Findings
from evenhand.engine.run import Plan, Run, run
from evenhand.methods import evenhand as search
from evenhand.methods import method
from evenhand.methods.parts import move_shares, plausible_walks, roaming, screen, walk_groups
from evenhand.models.budget import Budget
from evenhand.models.meter import Meter
from parts.arena_grounds import DEVELOPMENT, FAMILIES, REPORTED, GroundName, JudgedGround, names, opened
from parts.natural_judges import KIN, sample_auc

JUDGED_ROWS = 3_000
MODULES = (search, move_shares, plausible_walks, roaming, screen, walk_groups)
"""Where the constants of the method stand."""


BESIDE_BEFORE = {"mlp": (78_478, 139_175), "boosting": (10_530, 14_450), "forest": (15_072, 15_422)}
"""Natural findings per CPU-second on adult, protected sex, of the method of commit c0c68e5 and of the one that took its place: one run of
3 CPU-seconds each, seed 11, both at the same time on one machine, 2026-11-17."""


@dataclass(frozen=True)
class Judged:
    """One run, judged: what both strangers call natural for each CPU-second, their shares of the list, and the two-sample AUC."""

    listed_pace: float  # natural people of the list
    natural_pace: float  # natural people, those set aside included
    pair_pace: float  # natural people with natural twins, likewise
    lowest: float  # the lower of the strangers' shares
    lowest_twin: float
    auc: float | None


def judged(done: Run, place: JudgedGround, seed: int) -> Judged:
    """What the judges say of a run's findings."""
    rng, found = np.random.default_rng([seed, 3]), done.findings
    if not len(found):
        return Judged(0.0, 0.0, 0.0, 0.0, 0.0, None)
    listed = Votes.of(found, place, rng)
    aside = Votes.of(done.aside, place, rng) if done.aside is not None and len(done.aside) else None
    both = [each for each in (listed, aside) if each is not None]
    sample = done.sample if done.sample is not None else found.rows
    places = list(place.ground.subject.domain.free_places)
    auc = sample_auc(sample, _real_findings(place), places, rng)
    paces = [sum(told) / done.cpu_seconds for told in ([listed.natural], [each.natural for each in both], [each.pairs for each in both])]
    return Judged(*paces, listed.lowest, listed.lowest_twin, auc)


@dataclass(frozen=True)
class Votes:
    """What both strangers say of some findings, from a sample of them."""

    natural: float  # how many findings
    pairs: float  # how many, with their twins
    lowest: float
    lowest_twin: float

    @classmethod
    def of(cls, found: Findings, place: JudgedGround, rng: np.random.Generator) -> Votes:
        """Ask them."""
        some = rng.permutation(len(found))[:JUDGED_ROWS]
        people, twins = _votes(found.rows[some], place), _votes(found.twins[some], place)
        person, twin = (np.logical_and.reduce(list(votes.values())) for votes in (people, twins))
        lowest = [min(float(mask.mean()) for mask in votes.values()) for votes in (people, twins)]
        return cls(len(found) * float(person.mean()), len(found) * float((person & twin).mean()), *lowest)


def _votes(rows: Rows, place: JudgedGround) -> dict[str, Mask]:
    return {name: judge.natural(rows) for name, judge in place.judges.items() if name not in KIN}


def _real_findings(place: JudgedGround) -> Rows:
    """Real people whom no method saw, and whom the model treats unfairly."""
    subject, rows = place.ground.subject, place.unseen.rows
    return rows[place.ground.oracle.judge(rows, subject.domain, Meter(subject.model)).unfair]


def fought(searcher: Method, place: JudgedGround, seed: int, seconds: float) -> Judged:
    """One run and what is thought of it."""
    done = run(searcher, place.ground.subject, Plan(seed, Budget(cpu_seconds=seconds), place.ground.oracle))
    return judged(done, place, seed)


def natural_figures(seed: int, quick: bool) -> dict[str, Any]:
    """On every reported pair: with every family, or in a quick run with one family each."""
    chosen = _quick_names() if quick else names(REPORTED, FAMILIES)
    print(f"  natural/s before and after on adult sex, 2026-11-17: {BESIDE_BEFORE}", file=sys.stderr)
    ours, theirs = [], []
    for name in chosen:
        place = opened(name, 2_000)
        for each in ("evenhand", "chains"):  # what a process loads once is no part of the pace
            run(method(each), place.ground.subject, Plan(seed + 99, Budget(cpu_seconds=0.2), place.ground.oracle))
        ours.append(fought(method("evenhand"), place, seed, 3.0))
        theirs.append(fought(method("chains"), place, seed, 3.0))
        print(f"  {name!s:28} evenhand {_told(ours[-1])}  chains {_told(theirs[-1])}", file=sys.stderr, flush=True)
    ratios, listed, pairs = (
        [getattr(mine, name) / max(getattr(other, name), 1e-9) for mine, other in zip(ours, theirs, strict=True)]
        for name in ("natural_pace", "listed_pace", "pair_pace")
    )
    return {
        "natural_share_min": round(min(each.lowest for each in ours), 3),
        "twin_natural_share_min": round(min(each.lowest_twin for each in ours), 3),
        "sample_auc_max": round(max(each.auc for each in ours if each.auc is not None), 3),
        "natural_over_chains_median": round(float(np.median(ratios)), 2),
        "natural_over_chains_min": round(min(ratios), 2),
        "listed_natural_over_chains_median": round(float(np.median(listed)), 2),
        "listed_natural_over_chains_min": round(min(listed), 2),
        "natural_pairs_over_chains_median": round(float(np.median(pairs)), 2),
        "natural_pairs_over_chains_min": round(min(pairs), 2),
    }


def _quick_names() -> list[GroundName]:
    return [GroundName(table, column, FAMILIES[at % len(FAMILIES)]) for at, (table, column) in enumerate(REPORTED)]


def _told(each: Judged) -> str:
    auc = "-" if each.auc is None else f"{each.auc:.3f}"
    paces = f"{each.natural_pace:9,.0f} natural/s, {each.pair_pace:,.0f} in pairs, {each.listed_pace:,.0f} listed"
    return f"{paces} (shares {each.lowest:.3f}, twins {each.lowest_twin:.3f}, AUC {auc})"


# -- constants and ablations ---------------------------------------------------------------------------------------------------


def constants() -> dict[str, float]:
    """Every number that the method's files give a name: parameters and constants."""
    found = {each.name: float(getattr(search.Evenhand(), each.name)) for each in fields(search.Evenhand) if each.type != "bool"}
    for module in MODULES:
        found |= _named_numbers(module)
    return found


def _named_numbers(module: ModuleType) -> dict[str, float]:
    tree = ast.parse(inspect.getsource(module))
    named = [each.targets[0].id for each in tree.body if isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name)]
    return {name: float(getattr(module, name)) for name in named if name.isupper() and isinstance(getattr(module, name), int | float)}


SET_OUT = walk_groups.WalkGroup.set_out

WITHOUT: Mapping[str, Mapping[str, Any]] = {
    "as it is": {},
    "walks 2,048": {"walks": 2_048},
    "seeds 200": {"seeds": 200},
    "seed_share 0.05": {"seed_share": 0.05},
    "learnt_cells 42,000": {"learnt_cells": 42_000},
    "nobody too rare": {"too_rare": 0.0},
    "never screened": {"EXPENSIVE_SECONDS": 1.0},
    "always screened": {"EXPENSIVE_SECONDS": 0.0},
    "ROUNDS 5": {"ROUNDS": 5},
    "decoding for nothing": {"COLUMN_SECONDS": 1e-12},
    "moves made evenly": {"EVEN_SHARE": 1.0},
    "in proportion": {"FAVOUR": 1.0},
    "far moves only": {"NEAR": 1.0},
    "2 screening trees": {"TREES": 2},
    "nobody ordinary": {"ORDINARY": 0.0},
    "screen rules out nearly all": {"LEAST": 0.2},
    "pairs are left when nearly all are known": {"FindingPace.falls_behind": lambda *_told: False},
    "pairs are left at once": {"Walking._is_time_for_others": True},
    "half of what is spent for walks over pairs": {"Walking._shares": {"pairs": 5.0, "wide": 4.0, "fresh": 1.0}},
    "a sixth for walks over pairs": {"Walking._shares": {"pairs": 1.0, "wide": 4.0, "fresh": 1.0}},
    "a third for fresh draws": {"Walking._shares": {"pairs": 1.0, "wide": 1.0, "fresh": 1.0}},
    "no walks over pairs": {"Walking._shares": {"wide": 4.0, "fresh": 1.0}},
    "one crew of walks": {"WalkGroup.set_out": lambda group, seeds, count: SET_OUT(group, group.around.dealt(seeds, count), count)},
    "people found last are not set out from": {"Walking._remember": lambda walking, found: walking.latest.append(found[:0])},
}
"""Each constant changed by itself, and rules left out; `Class.name` is a part of a class."""


@contextmanager
def changed(values: Mapping[str, Any]) -> Iterator[search.Evenhand]:
    """The method with some of its numbers or parts changed for a while."""
    own = {name: value for name, value in values.items() if name in {each.name for each in fields(search.Evenhand)}}
    places = [place for name in values if name not in own for place in _places(name)]
    kept = [(owner, name, getattr(owner, name), values[told]) for owner, name, told in places]
    for owner, name, _, value in kept:
        setattr(owner, name, value)
    try:
        yield replace(search.Evenhand(), **own)
    finally:
        for owner, name, value, _ in kept:
            setattr(owner, name, value)


def _places(told: str) -> list[tuple[Any, str, str]]:
    """Every module or class that has such a name, its last part, and what was told."""
    *above, name = told.split(".")
    owners = list(MODULES) if not above else {getattr(module, above[0]) for module in MODULES if hasattr(module, above[0])}
    found = [(owner, name, told) for owner in owners if hasattr(owner, name)]
    assert found, f"nothing is called {told!r}"
    return found


def ablation(seed: int, quick: bool) -> list[dict[str, Any]]:
    """The method without each of its parts, on development grounds."""
    chosen = (
        [GroundName("bank", "age", "mlp")] if quick else [GroundName(*pair, family) for pair in DEVELOPMENT[2:3] for family in FAMILIES]
    )
    rows = []
    for label, values in WITHOUT.items():
        with changed(values) as searcher:
            told = [fought(searcher, opened(name, 2_000), seed, 1.0 if quick else 4.0) for name in chosen]
        paces = {f"{name.family}": round(each.natural_pace) for name, each in zip(chosen, told, strict=True)}
        lowest, aucs = min(each.lowest for each in told), [each.auc for each in told if each.auc is not None]
        rows.append({"changed": label, **paces, "natural": round(lowest, 3), "auc": round(max(aucs), 3) if aucs else None})
        print(f"  {rows[-1]}", file=sys.stderr, flush=True)
    return rows


def search_constants(seed: int, quick: bool) -> dict[str, Any]:
    """How many there are, and how many rows the table of ablations has."""
    return {"constants": len(constants()), "ablation_rows": len(ablation(seed, quick)) - 1}
