"""Every method on eight data-set/attribute pairs and four model families, judged alike; see docs/arena.md.

compare() runs a small matrix and prints it.  The script runs the whole one in a folder that it can be continued from, and with --keep
writes the tables of docs/arena.md and README.md; --quick runs a part of it in about four CPU-minutes.
"""

# ruff: noqa: I001  (common comes first: it fixes the number of threads)

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from parts import common

from parts.arena_tables import compact, keep

from evenhand import datasets
from evenhand.methods import METHODS, working_on
from evenhand.campaign.bench_records import Arena
from evenhand.campaign.conduct import RUNS, Settings, conduct
from evenhand.contract import Headway, Watch
from evenhand.campaign.contest import ContestCell, Entrant, Terms, contend
from evenhand.campaign.arena_ground import Ground
from evenhand.campaign.sources import Named
from evenhand.campaign.standings import Standings
from evenhand.checks import Trial, power_table
from evenhand.models import zoo
from evenhand.models.budget import Budget
from evenhand.models.dense import DenseNet
from evenhand.report import write

PAIRS = (
    ("adult", "sex"), ("adult", "race"), ("adult", "age"), ("credit", "sex"), ("credit", "age"), ("bank", "age"), ("compas", "race"),
    ("meps", "SEX"),
)  # fmt: skip
FAMILIES = ("mlp", "forest", "boosting", "svm")
QUICK_GROUNDS = tuple((table, column, FAMILIES[at % len(FAMILIES)]) for at, (table, column) in enumerate(PAIRS))
"""Every pair once, the families in turn."""
QUICK_TERMS = Terms(Budget(cpu_seconds=1.0), pool_rows=16_000)
QUICK_WITHOUT = ("aequitas", "aequitas_semi", "limi")
"""Left out of the quick matrix to save time: two of AEQUITAS' three, and LIMI with a set-up that takes longer than a quick run."""
TIMED = {"aequitas": "aequitas", "sg": "symbgen", "expga": "expga", "aft": "aft", "grft": "grft"}
"""The figures' names of the methods whose speed is stated, and their names here."""
TIMED_BUDGET = Budget(candidates=500_000, cpu_seconds=3.0)
UNPUBLISHED = ("chains",)
"""Methods of this package that no paper describes, `evenhand` aside."""
SHORTER_LIMI = Entrant("limi", (("latents", 20_000),))
"""LIMI as published labels a million latents before its first candidate; within a second or two only a shorter one shows what it can do."""


@dataclass(frozen=True)
class Matrix:
    """What is run."""

    methods: tuple[str | Entrant, ...]
    sources: tuple[Named, ...]
    seeds: tuple[int, ...]
    terms: Terms


def grounds(pairs: Sequence[tuple[str, str]], families: Sequence[str]) -> tuple[Named, ...]:
    """Every pair with every family."""
    return tuple(Named(table, (column,), family) for table, column in pairs for family in families)


def compare(
    methods: Sequence[str | Entrant],
    pairs: Sequence[tuple[str, str]] = PAIRS,
    families: Sequence[str] = FAMILIES,
    seeds: Sequence[int] = (0,),
    cpu_seconds: float = 1.0,
) -> list[dict[str, Any]]:
    """Run a matrix in this process and print natural valid findings per CPU-second and rules, per method; returns the records."""
    matrix = Matrix(tuple(methods), grounds(pairs, families), tuple(seeds), Terms(Budget(cpu_seconds=cpu_seconds)))
    records = run_matrix(matrix, Settings(watch=now_and_then(0.0)))
    for figure in ("natural_valid_per_cpu_second", "rules"):
        print(f"\n{figure}, mean over seeds")
        print_matrix(records, figure)
    return records


def run_matrix(matrix: Matrix, settings: Settings) -> list[dict[str, Any]]:
    """The records of all runs."""
    started, clock = time.process_time(), time.monotonic()
    records = conduct(matrix.methods, matrix.sources, matrix.seeds, matrix.terms, settings)
    spent = f"{time.monotonic() - clock:.0f} seconds, {time.process_time() - started:.0f} CPU-seconds in this process"
    print(f"{len(records)} runs, {spent}", file=sys.stderr)
    return records


def print_matrix(records: Sequence[dict[str, Any]], figure: str) -> None:
    """Grounds down, methods across; the best of each row is starred."""
    standings = Standings(tuple(records))
    print(" " * 24 + "".join(f"{name[:11]:>12}" for name in standings.methods))
    for ground in standings.grounds:
        means = [standings.mean(ground, name, figure) for name in standings.methods]
        best = max((mean for mean in means if mean is not None), default=None)
        shown = ["-" if mean is None else (f"{mean:,.1f}" if mean < 100 else f"{mean:,.0f}") + "*" * (mean == best) for mean in means]
        print(f"{' '.join(ground):24}" + "".join(f"{cell:>12}" for cell in shown))


def now_and_then(seconds: float = 20.0) -> Watch:
    """Says how far a long matrix is, and every run that is not done."""
    shown = time.monotonic()

    def advance(headway: Headway) -> None:
        nonlocal shown
        if headway.what == RUNS and (": " in headway.note or time.monotonic() - shown > seconds or headway.done == headway.total):
            shown = time.monotonic()
            print(f"[{headway.done} of {headway.total}] {headway.note}", file=sys.stderr, flush=True)

    return advance


# -- speed -------------------------------------------------------------------------------------------------------------------


def speeds(seed: int, times: int) -> dict[str, float]:
    """Findings per CPU-second of the methods whose speed is stated, the best of several runs; says on which net."""
    arena = timed_arena()
    print(f"speed on {arena.model_name}, {arena.data.name} in the papers' coding, protected {arena.protected[0]}", file=sys.stderr)
    ground, terms = Ground(arena, pool_rows=2_000), Terms(TIMED_BUDGET, pool_rows=2_000)
    figures = {}
    for name, method in TIMED.items():
        if method not in METHODS.entries():
            continue
        records = [contend(ContestCell(Entrant(method), seed + at), ground, terms)[0] for at in range(times)]
        figures[f"{name}_findings_per_cpu_s"] = max((r.get("findings_per_cpu_second") or 0.0 for r in records), default=0.0)
    return figures


def timed_arena() -> Arena:
    """ADF's published census net where the papers' data is at hand, else the network of the zoo."""
    adult = datasets.adult("papers").protect("sex")
    folder = common.papers_data()
    if folder is not None:
        return Arena(adult, ("sex",), DenseNet.from_npz(folder / "models" / "ADF_census.npz"), "ADF's census net")
    model = zoo.load_or_train("mlp", adult.rows, adult.labels, adult.domain, seed=0)
    return Arena(adult, ("sex",), model, "a net of the zoo (the papers' data is not at hand)")


def below_random(seed: int) -> int:
    """On how many planted shapes `evenhand` finds fewer than random search."""
    table = power_table(["evenhand"], Trial(seeds=(seed, seed + 1, seed + 2)))
    for row in table:
        print(f"  {row.shape:14} evenhand {row.mean:9,.1f}  random {row.random_mean:9,.1f}  {row.failure}", file=sys.stderr)
    return sum(bool(row.failure) or row.mean < row.random_mean for row in table)


# -- the figures -------------------------------------------------------------------------------------------------------------


def wins(standings: Standings) -> dict[str, int]:
    """On how many grounds `evenhand` is ahead of every other method alone."""
    counted = {"evenhand_natural_wins": "natural_valid_per_cpu_second", "evenhand_rule_wins": "rules"}
    figures = {name: sum(standings.margin(g, "evenhand", f) > 0 for g in standings.grounds) for name, f in counted.items()}
    return {**figures, "pairs_total": len(standings.grounds)}


def print_families(standings: Standings) -> None:
    """First places by family, alone and shared, against everybody and against the published methods."""
    for figure, family, aside in product(("natural_valid_per_cpu_second", "rules"), standings.groups, ((), UNPUBLISHED)):
        margins = [standings.margin(ground, "evenhand", figure, aside) for ground in standings.within(family)]
        alone, shared = sum(m > 0 for m in margins), sum(m == 0 for m in margins)
        against = "the published methods" if aside else "every other method"
        print(f"  {figure}, {family}: evenhand ahead of {against} on {alone}, level on {shared}, of {len(margins)}", file=sys.stderr)


def options() -> argparse.Namespace:
    """What can be chosen."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="eight grounds, one seed, short runs: about four CPU-minutes")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures as one flat object")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--seeds", type=int, default=5, help="how many seeds")
    parser.add_argument("--cpu-seconds", type=float, default=1.5, help="budget of each run")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--folder", type=Path, default=Path("bench-results/arena"), help="where records are kept; continues what is there")
    parser.add_argument("--methods", nargs="+", default=[], help="default: every one")
    parser.add_argument("--families", nargs="+", default=list(FAMILIES), choices=FAMILIES)
    parser.add_argument("--pairs", nargs="+", default=[f"{t}:{c}" for t, c in PAIRS], metavar="TABLE:COLUMN")
    parser.add_argument("--html", type=Path, help="write the page")
    parser.add_argument("--keep", action="store_true", help="write docs/arena.json and the tables of docs/arena.md and README.md")
    return parser.parse_args()


def chosen_matrix(given: argparse.Namespace) -> Matrix:
    """The matrix of the options."""
    methods: tuple[str | Entrant, ...] = tuple(given.methods) or (*working_on("table"), SHORTER_LIMI)
    if given.quick:
        sources = tuple(Named(table, (column,), family) for table, column, family in QUICK_GROUNDS)
        return Matrix(tuple(m for m in methods if m not in QUICK_WITHOUT), sources, (given.seed,), QUICK_TERMS)
    pairs = [(table, column) for table, _, column in (text.partition(":") for text in given.pairs)]
    seeds = tuple(range(given.seed, given.seed + given.seeds))
    return Matrix(methods, grounds(pairs, given.families), seeds, Terms(Budget(cpu_seconds=given.cpu_seconds)))


def main() -> int:
    """The whole benchmark, or the quick part of it."""
    given = options()
    matrix = chosen_matrix(given)
    for source in {(each.dataset, each.model): each for each in matrix.sources}.values():
        source.open()  # trained once, before several processes would do it at the same time
    settings = Settings(1 if given.quick else given.processes, None if given.quick else given.folder, watch=now_and_then())
    standings = Standings(tuple(run_matrix(matrix, settings)))
    told = standings.as_dict()
    if given.html:
        print(f"page: {write(told, given.html)}", file=sys.stderr)
    if given.keep:
        keep(compact(told, {"command": " ".join(["python", "benchmarks/arena.py", *(a for a in sys.argv[1:] if a != "--keep")])}))
    for figure in ("natural_valid_per_cpu_second", "rules"):
        print_matrix(standings.records, figure)  # type: ignore[arg-type]
    print_families(standings)
    figures: dict[str, Any] = {name: round(value, 2) for name, value in speeds(given.seed, 1 if given.quick else 3).items()}
    common.write_figures({**figures, **wins(standings), "evenhand_below_random": below_random(given.seed)}, given.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
