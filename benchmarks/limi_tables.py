"""Tables 1 to 3 and 5 to 7 of the LIMI paper, redone for every method that is present, beside the published figures.

`python benchmarks/limi_tables.py --page docs/limi-tables.md`.  Every cell is noted in the user's cache folder ($EVENHAND_CACHE) as
soon as it is known, seed by seed, so that an interrupted run goes on where it stopped; a method whose file has changed is run
anew.  `--show` writes the page from what is noted, and runs nothing.
"""

# ruff: noqa: I001  (common comes first: it fixes the number of threads)

from __future__ import annotations

import argparse
import hashlib
import inspect
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from parts import common

import numpy as np
from parts.limi_data import EXPGA_RANKS, SHIPPED, table, trained
from parts.limi_published import COMBINED, PAIRS, STEPS

from evenhand.methods import METHODS, working_on
from evenhand.datasets.dataset import Dataset
from evenhand.engine.run import Plan, Run, Subject, check_ability, run
from evenhand.errors import EvenhandError, MissingAbility
from evenhand.methods.parts.latent_at_hand import quiet_first
from evenhand.measures.naturalness import atn
from evenhand.models import zoo
from evenhand.contract import Model
from evenhand.models.budget import Budget
from evenhand.contract import Population
from evenhand.synthesis.ctgan import Ctgan
from evenhand.synthesis.learning import cache_folder
from evenhand.synthesis.chained_trees import ChainedTrees

FAMILIES = {"mlp": "DNN", "forest": "random forest", "svm": "SVM"}
EPOCHS = {"adult": 300, "credit": 300, "bank": 25, "meps": 25}
"""Of the CTGANs; those of the two large tables are cut short."""
LATENTS = 10_000
"""LIMI labels so many latents and then probes them; the paper's million would outlast the budget many times."""
PUBLISHED_STEP = 0.3
LONGER = {"expga": 5.0, "aitest": 5.0}
"""So many times the CPU-seconds for methods that spend the usual ones on their preparation (a thousand explanations)."""

Cell = dict[str, Any]


@dataclass(frozen=True)
class Effort:
    """How much is run: seeds counted from zero, CPU-seconds of each run, which tables of data, and how many of the protected columns."""

    seeds: int = 5
    cpu_seconds: float = 0.5
    tables: tuple[str, ...] = ("adult", "credit", "bank", "meps")
    most_protected: int = 3

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Tables with one protected column each."""
        return [pair for name in self.tables for pair in [each for each in PAIRS if each[0] == name][: self.most_protected]]

    @property
    def combined(self) -> list[tuple[str, tuple[str, ...]]]:
        """Tables with several protected columns."""
        every = [(data, tuple(rest)) for data, *rest in COMBINED]
        return [each for name in self.tables for each in [one for one in every if one[0] == name][: self.most_protected]]


QUICK = Effort(1, 0.5, ("adult",), 1)
"""In a tenth of this time some methods would still be learning, and have found nothing."""


@dataclass(frozen=True)
class Case:
    """One method against one model; LIMI in two spaces counts as two."""

    data: str
    protected: tuple[str, ...]
    family: str
    method: str
    space: str = ""
    step: float = PUBLISHED_STEP

    @property
    def label(self) -> str:
        """The method as a table calls it."""
        return f"{self.method}, {self.space}" if self.space else self.method

    def seconds(self, effort: Effort) -> float:
        """CPU-seconds of one run."""
        return effort.cpu_seconds * LONGER.get(self.method, 1.0)

    def key(self, effort: Effort, seed: int) -> str:
        """What the cell is noted under."""
        parts = (self.data, "+".join(self.protected), self.family, self.label, self.step, self.seconds(effort), edition(self.method), seed)
        return " / ".join(str(part) for part in parts)


@dataclass
class Notes:
    """Cells that are known already, one JSON line each."""

    path: Path
    known: dict[str, Cell] = field(default_factory=dict)

    @classmethod
    def read(cls) -> Notes:
        """Those in the cache folder."""
        path = cache_folder() / "limi" / "tables.jsonl"
        lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
        return cls(path, dict(map(json.loads, lines)))

    def add(self, key: str, cell: Cell) -> None:
        """Note one more."""
        self.known[key] = cell
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps([key, cell]) + "\n")


@cache
def edition(method: str) -> str:
    """Changes when the method's own file does."""
    return hashlib.sha256(Path(inspect.getfile(METHODS.entries()[method].make)).read_bytes()).hexdigest()[:8]


@cache
def model_of(name: str, family: str) -> Model:
    """A trained model of a table, kept between runs."""
    data = table(name, PAIRS[[pair[0] for pair in PAIRS].index(name)][1])
    return zoo.load_or_train(family, data.rows, data.labels, data.domain, seed=0)


@cache
def data_of(name: str, protected: tuple[str, ...]) -> Dataset:
    """A table with these columns protected."""
    return table(name, *protected)


@cache
def trees_of(name: str, protected: tuple[str, ...]) -> Population:
    """Chained trees of a table, fitted before the clock starts, as the paper's GAN is trained before it."""
    data = data_of(name, protected)
    return ChainedTrees.fit(data.rows, data.domain, np.random.default_rng(0), first=quiet_first(data.rows, data.domain))


@cache
def gan_of(name: str, protected: tuple[str, ...]) -> Population:
    """The CTGAN of a table: the one in this folder, or one trained once and kept."""
    data = data_of(name, protected)
    return Ctgan.load(SHIPPED, data.domain) if name == "adult" and SHIPPED.exists() else trained(data, EPOCHS[name], 0)


def methods_for(model: Model) -> Iterator[str]:
    """Every method present that this model lends itself to."""
    for name in working_on("table"):
        try:
            check_ability(METHODS.make(name), model)
        except MissingAbility:
            continue
        yield name


def against(data: str, protected: tuple[str, ...], family: str) -> Iterator[Case]:
    """Every method against one model, and LIMI in the published space too."""
    for method in methods_for(model_of(data, family)):
        yield Case(data, protected, family, method)
        if method == "limi":
            yield Case(data, protected, family, method, "ctgan")


def main_cases(effort: Effort) -> Iterator[Case]:
    """Tables 1 to 3 and 5."""
    for family in FAMILIES:
        for data, protected in effort.pairs:
            yield from against(data, (protected,), family)


def combined_cases(effort: Effort) -> Iterator[Case]:
    """Table 7."""
    for data, protected in effort.combined:
        yield from against(data, protected, "mlp")


def step_cases(effort: Effort) -> Iterator[Case]:
    """Table 6."""
    for data, protected in effort.pairs:
        for step in STEPS:
            yield Case(data, (protected,), "mlp", "limi", step=step)
            yield Case(data, (protected,), "mlp", "limi", "ctgan", step)


def measure(case: Case, effort: Effort, seed: int) -> Cell:
    """One run; a method that fails says so."""
    data = data_of(case.data, case.protected)
    population = gan_of(case.data, case.protected) if case.space else trees_of(case.data, case.protected)
    tested = Subject(data.domain, model_of(case.data, case.family), data.rows, data.labels, population)
    parameters = {"latents": LATENTS, "step": case.step, **({"space": case.space} if case.space else {})} if case.method == "limi" else {}
    if case.method == "expga" and case.data in EXPGA_RANKS:
        parameters = {"rank": EXPGA_RANKS[case.data]}
    try:
        done = run(METHODS.make(case.method, parameters), tested, Plan(seed, Budget(cpu_seconds=case.seconds(effort))))
    except EvenhandError as fault:
        return {"failed": f"{type(fault).__name__}: {fault}"}
    boundary = done.facts.get("boundary", {})
    return {
        "findings": done.ledger.findings,
        "candidates": done.ledger.candidates,
        "cpu_seconds": done.cpu_seconds,
        "atn": naturalness(done, tested, seed),
        "ended": done.ended,
        **{name: boundary[name] for name in ("auc_train", "auc_all", "verdict") if name in boundary},
    }


def naturalness(done: Run, tested: Subject, seed: int) -> float | None:
    """ATN in percent of at most as many findings as there are rows; nothing of nothing."""
    assert tested.rows is not None
    found = done.findings.rows[np.random.default_rng(seed).permutation(len(done.findings))[: len(tested.rows)]]
    return 100 * float(atn(tested.rows, found, tested.domain)) if len(found) else None


def compute(effort: Effort, notes: Notes) -> None:
    """Every cell that is not noted yet, seed by seed, so that early stops leave whole tables of fewer seeds."""
    for part in (main_cases, combined_cases, step_cases):
        for seed in range(effort.seeds):
            for case in part(effort):
                key = case.key(effort, seed)
                if key not in notes.known:
                    cell = measure(case, effort, seed)
                    notes.add(key, cell)
                    print(f"  {key}: {cell.get('failed') or cell['findings']}", flush=True)


def known(case: Case, effort: Effort, notes: Notes) -> list[Cell]:
    """The cells of a case, those of failed runs left out."""
    cells = [notes.known.get(case.key(effort, seed), {}) for seed in range(effort.seeds)]
    return [cell for cell in cells if "findings" in cell]


def every_table(effort: Effort | None = None, page: Path | None = None, show: bool = False) -> None:
    """Run what is missing, then print the tables, or write them as a page."""
    from parts.limi_page import written

    effort, notes = effort or Effort(), Notes.read()
    if not show:
        compute(effort, notes)
    text = written(effort, notes)
    if page is None:
        print(text)
    else:
        page.write_text(text, encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    """From the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one table, one protected column, one seed")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write how much every method found as one flat object")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--cpu-seconds", type=float, default=0.5, help="of each run")
    parser.add_argument("--tables", default="adult,credit,bank,meps")
    parser.add_argument("--page", type=Path, metavar="FILE", help="write the tables here")
    parser.add_argument("--show", action="store_true", help="only what is noted already")
    given = parser.parse_args(arguments)
    effort = QUICK if given.quick else Effort(given.seeds, given.cpu_seconds, tuple(given.tables.split(",")))
    every_table(effort, given.page, given.show)
    if given.json:
        common.write_figures(found_by_method(effort, Notes.read()), given.json)


def found_by_method(effort: Effort, notes: Notes) -> dict[str, float]:
    """Findings per run of every method against the nets, averaged over tables and seeds."""
    found: dict[str, list[float]] = {}
    for case in main_cases(effort):
        if case.family == "mlp":
            name = f"{case.label.replace(', ', '_')}_findings"
            found.setdefault(name, []).extend(cell["findings"] for cell in known(case, effort, notes))
    return {name: float(np.mean(counts)) for name, counts in found.items() if counts}


if __name__ == "__main__":
    main()
