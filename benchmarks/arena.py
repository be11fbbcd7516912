"""Every method on reported grounds, judged alike by judges that no method has seen; see docs/arena.md.

Grounds are split by name: on those for development constants may be chosen, on the reported ones they are judged.  A ground's runs are
remembered in the folder, so that an interrupted matrix goes on.  --keep writes docs/arena.json and the tables of docs/arena.md and
README.md; --quick makes a part of it, with seeds that no full run uses.
"""

# ruff: noqa: I001  (common comes first: it fixes the number of threads)

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from parts import common

from parts.arena_grounds import DEVELOPMENT, FAMILIES, REPORTED, GroundName, names, opened
from parts.arena_judged import fought
from parts.arena_tables import compact, keep

from evenhand import datasets
from evenhand.campaign.arena_ground import Ground
from evenhand.campaign.bench_records import Arena
from evenhand.campaign.contest import ContestCell, Entrant, Terms, contend
from evenhand.campaign.standings import Standings
from evenhand.checks import Trial, power_table
from evenhand.methods import METHODS, working_on
from evenhand.models import zoo
from evenhand.models.budget import Budget
from evenhand.models.dense import DenseNet
from evenhand.report import write

QUICK_SEED = 900_000
"""Quick runs begin here; full ones stay below."""
QUICK_GROUNDS, QUICK_CPU_SECONDS = 4, 3.0
"""As long as `search.py` takes for its figures beside `chains`: in half a second hardly anything is learnt of the population."""
QUICK_METHODS = ("evenhand", "chains", "fairsift_batched", "aft", "grft", "aitest", "themis")
TIMED = {"aequitas": "aequitas", "sg": "symbgen", "expga": "expga", "aft": "aft", "grft": "grft", "fairsift": "fairsift_batched"}
"""The figures' names of the methods whose speed is stated, and their names here."""
TIMED_BUDGET = Budget(candidates=500_000, cpu_seconds=3.0)
UNPUBLISHED = ("chains", "proof_boxes")
"""Methods of this package that no paper describes, `evenhand` aside."""
VARIANTS = (Entrant("limi", (("latents", 20_000),)), Entrant("aft", (("growth", 0.0),)), Entrant("fairsift_batched", (("recall", 0.0),)))
"""What single parts are worth: LIMI with a shorter set-up, AFT with a tree for every round, FairSIFT without its memory."""
WITHOUT = ("aequitas", "aequitas_semi")
"""Two of AEQUITAS' three modes are left out: its own paper and ours find the third ahead of them."""


@dataclass(frozen=True)
class Matrix:
    """What is run."""

    entrants: tuple[Entrant, ...]
    grounds: tuple[GroundName, ...]
    seeds: tuple[int, ...]
    terms: Terms


def run_matrix(matrix: Matrix, folder: Path | None) -> list[dict[str, Any]]:
    """The records of all runs, ground by ground; those that the folder has are not made again."""
    records, began = [], time.process_time()
    for at, name in enumerate(matrix.grounds):
        kept = _kept(folder, name, matrix)
        if kept is None:
            place = opened(name, matrix.terms.pool_rows)
            cells = [ContestCell(entrant, seed) for entrant, seed in product(matrix.entrants, matrix.seeds)]
            kept = [fought(cell, place, matrix.terms) for cell in cells]
            _keep(folder, name, matrix, kept)
        records += kept
        print(f"[{at + 1} of {len(matrix.grounds)}] {name}: {time.process_time() - began:.0f} CPU-seconds", file=sys.stderr, flush=True)
    return records


def _file(folder: Path, name: GroundName, matrix: Matrix) -> Path:
    return folder / f"{str(name).replace(' ', '-')}-{'-'.join(map(str, matrix.seeds))}.json"


def _kept(folder: Path | None, name: GroundName, matrix: Matrix) -> list[dict[str, Any]] | None:
    if folder is None or not _file(folder, name, matrix).exists():
        return None
    kept: list[dict[str, Any]] = json.loads(_file(folder, name, matrix).read_text())
    return kept if {each["method"] for each in kept} == {each.name for each in matrix.entrants} else None


def _keep(folder: Path | None, name: GroundName, matrix: Matrix, records: Sequence[dict[str, Any]]) -> None:
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        _file(folder, name, matrix).write_text(json.dumps(records, default=str))


def print_matrix(records: Sequence[dict[str, Any]], figure: str) -> None:
    """Grounds down, methods across; the best of each row is starred."""
    standings = Standings(tuple(records))
    print(" " * 28 + "".join(f"{name[:11]:>12}" for name in standings.methods))
    for ground in standings.grounds:
        means = [standings.mean(ground, name, figure) for name in standings.methods]
        best = max((mean for mean in means if mean is not None), default=None)
        shown = ["-" if mean is None else (f"{mean:,.2f}" if mean < 100 else f"{mean:,.0f}") + "*" * (mean == best) for mean in means]
        print(f"{' '.join(ground):28}" + "".join(f"{cell:>12}" for cell in shown))


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
    counted = {"evenhand_mass_wins": "mass_covered", "evenhand_natural_wins": "natural_valid_per_cpu_second", "evenhand_rule_wins": "rules"}
    figures = {name: sum(standings.margin(g, "evenhand", f) > 0 for g in standings.grounds) for name, f in counted.items()}
    return {**figures, "pairs_total": len(standings.grounds)}


def print_families(standings: Standings) -> None:
    """First places by family, alone and shared, against everybody and against the published methods."""
    for figure, family, aside in product(("mass_covered", "rules", "natural_valid_per_cpu_second"), standings.groups, ((), UNPUBLISHED)):
        margins = [standings.margin(ground, "evenhand", figure, aside) for ground in standings.within(family)]
        alone, shared = sum(m > 0 for m in margins), sum(m == 0 for m in margins)
        against = "the published methods" if aside else "every other method"
        print(f"  {figure}, {family}: evenhand ahead of {against} on {alone}, level on {shared}, of {len(margins)}", file=sys.stderr)


def options() -> argparse.Namespace:
    """What can be chosen."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="four grounds, seven methods, short runs: about five CPU-minutes")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures as one flat object")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--seeds", type=int, default=2, help="how many seeds")
    parser.add_argument("--cpu-seconds", type=float, default=1.0, help="budget of each run")
    parser.add_argument("--folder", type=Path, default=Path("bench-results/arena"), help="where records are kept; continues what is there")
    parser.add_argument("--methods", nargs="+", default=[], help="default: every one")
    parser.add_argument("--families", nargs="+", default=list(FAMILIES), choices=(*FAMILIES, "svm"))
    parser.add_argument("--development", action="store_true", help="the grounds for development instead of the reported ones")
    parser.add_argument("--every", type=int, default=1, help="take every n-th ground only")
    parser.add_argument("--html", type=Path, help="write the page")
    parser.add_argument("--keep", action="store_true", help="write docs/arena.json and the tables of docs/arena.md and README.md")
    return parser.parse_args()


def chosen_matrix(given: argparse.Namespace) -> Matrix:
    """The matrix of the options."""
    if not given.quick and given.seed + given.seeds > QUICK_SEED:
        raise SystemExit(f"--seed: seeds from {QUICK_SEED:,} on belong to quick runs")
    every = names(DEVELOPMENT if given.development else REPORTED, tuple(given.families))
    entrants = tuple(Entrant(name) for name in given.methods) or all_entrants()
    terms = Terms(Budget(cpu_seconds=given.cpu_seconds), pool_rows=16_000)
    if given.quick:
        chosen = tuple(Entrant(name) for name in QUICK_METHODS if not given.methods) or entrants
        grounds = tuple(every[:: len(every) // QUICK_GROUNDS][:QUICK_GROUNDS])
        return Matrix(chosen, grounds, (QUICK_SEED + given.seed,), replace(terms, budget=Budget(cpu_seconds=QUICK_CPU_SECONDS)))
    seeds = tuple(range(given.seed, given.seed + given.seeds))
    return Matrix(entrants, tuple(every[:: given.every]), seeds, terms)


def all_entrants() -> tuple[Entrant, ...]:
    """Every method of tables, and some with a part changed."""
    return (*(Entrant(name) for name in working_on("table") if name not in WITHOUT), *VARIANTS)


def shown_command(given: Sequence[str]) -> str:
    """The command for a page: without the files that it writes, which are somebody's own.

    >>> shown_command(["--quick", "--keep", "--json", "here.json", "--seed", "3"])
    'python benchmarks/arena.py --quick --seed 3'
    """
    files = {place + 1 for place, word in enumerate(given) if word in ("--json", "--html", "--folder")}
    words = [word for place, word in enumerate(given) if place not in files and word not in ("--keep", "--json", "--html", "--folder")]
    return " ".join(["python", "benchmarks/arena.py", *words])


def main() -> int:
    """The whole benchmark, or the quick part of it."""
    given = options()
    matrix = chosen_matrix(given)
    standings = Standings(tuple(run_matrix(matrix, None if given.quick else given.folder)))
    told = standings.as_dict()
    if given.html:
        print(f"page: {write(told, given.html)}", file=sys.stderr)
    if given.keep:
        keep(compact(told, {"command": shown_command(sys.argv[1:])}, standings.records))
    for figure in ("mass_covered", "rules", "natural_valid_per_cpu_second"):
        print(figure)
        print_matrix(standings.records, figure)  # type: ignore[arg-type]
    print_families(standings)
    figures: dict[str, Any] = {name: round(value, 2) for name, value in speeds(given.seed, 1 if given.quick else 3).items()}
    common.write_figures({**figures, **wins(standings), "evenhand_below_random": below_random(given.seed)}, given.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
