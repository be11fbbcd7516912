"""The redone tables of the LIMI paper as one page, each figure beside the published one, and why the two differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from evenhand.statistics.ranking import mean_interval
from limi_tables import EPOCHS, FAMILIES, LATENTS, LONGER, PUBLISHED_STEP, Case, Cell, Effort, Notes, known, methods_for, model_of
from parts.limi_published import ATN, AUC, BY_STEP, FOUND, PAIRS, PER_SECOND, STEPS, TOGETHER

Values = Sequence[float | None]
Take = Callable[[Cell], float | None]

DATE = "16 November 2026"
NAMES = {"SEX": "sex"}

HOW = """\
`python benchmarks/limi_tables.py --page docs/limi-tables.md`, seeds 0 to {last}, {date}, one core of a busy two-core machine.
Every figure is a mean over the seeds with its 95 % interval (Student's t); *slanted* lines below a method are the paper's.

What is compared. Ours are findings in {seconds:g} CPU-seconds ({longer:g} for ExpGA and AITEST, which need about one
for their explanations and for inferring constraints), the paper's in an hour: the lines to compare are those per
second. A finding counts once per distinct non-protected part, here and there. The models are this package's: nets of
[64, 32, 16, 8, 4], forests of 100 trees and SVMs with a Nystroem kernel, one of each per table of data, trained on all
of its rows. The seeds are those of the search; the model stays the same, so the intervals say nothing about other
models. Generators are fitted before the clock starts, as in the paper: chained trees take about a second, a CTGAN
minutes.

`limi` works in chained trees, `limi, ctgan` in the published space ({epochs}). Both label {latents:,} latents instead of a
million and end when these are probed; the million would outlast the budget. Against a dear model the budget ends first. Methods
that need gradients are absent below forests and SVMs. `chains`,
`evenhand`, `limi` and the yardstick of naturalness all rest on the data; the paper's ATN favours them for that.
"""

WHY = {
    1: """\
Why ours differ. Every method is thousands of times faster than published, since batches of thousands of rows are asked where
the authors' codes ask, differentiate and search (through scipy's basinhopping) row by row; the gain is largest for those that
were slowest. That changes the order: in the paper LIMI leads by far; here the walks from finding to finding (aequitas, adf,
eidig, maft, chains, evenhand) find ten times as many per second as LIMI, whose labelling and decoding cost more than the
answers of a small net. Counts alone are therefore the wrong measure against a cheap model: Table 3 shows what they are worth.
ExpGA on MEPS hardly begins within its budget (40 columns to explain). LIMI in the published space and in chained trees find
alike.
""",
    2: """\
Why ours differ. A forest's answers take most of the time (about six microseconds a row), so that the gain over the published
rates is hundreds instead of thousands. Here, where questions are dear, LIMI is ahead of aequitas, symbgen, maft and random
search on Adult and level with them on Credit, as in the paper; ExpGA and AFT, which sample anywhere in the domain, find more,
at half the naturalness. On Bank and MEPS rows from anywhere are unfair so often that random search (themis) is hard to beat by
number. On MEPS the CTGAN of few epochs makes hardly anybody whom forest or SVM favours: there is no boundary, and LIMI falls
back to plain samples, which find next to nothing; in chained trees it has a boundary. That is the weakness that successors of
LIMI report.
""",
    3: """\
Why ours differ. Methods that walk from real rows (adf, eidig, neuronfair) come within a few points of the published figures, on
Adult a little lower. Those that sample the whole domain (aequitas, expga) are five to ten points below the published ones,
level with plain uniform sampling (themis): what made the published ones more natural is not known. LIMI in a CTGAN's space is
at 60 to 74 where the paper has 80; the authors' own code reaches .69 on ADF's census net with its 300 epochs. A decoded latent
has the likeliest cell of every column, and a plane's neighbourhood is not the whole population. In chained trees LIMI is at 74
to 93 (forests and SVMs: 68 to 91), chains and evenhand about as high. ATN compares findings with everybody: real findings
themselves score .82 on ADF's census net. A few dozen findings score low for want of rows.
""",
    5: """\
Why ours differ. In the published space ours are within a few points of the paper's on Adult, Credit and Bank. Chained trees
have one coordinate per column, and a plane through 13 to 40 of them separates less than one through a CTGAN's two hundred; both
are measured on the latents that they were fitted to, as published, which flatters the larger space by up to .06 at 10,000
latents (a run's facts have it as `auc_of_noise`). On Bank and MEPS, where the CTGAN was cut short, it makes so few people whom
the model favours that the boundary hangs on a handful of them (AUC 100, or a wide interval); a dash is a model that gives every
sample the same side: no boundary.
""",
    6: """\
Why ours differ. As in the paper any step beats none. In the CTGAN's space the best step is 0.2 to 0.3 on Adult, as published,
and twice as good as none. In chained trees, where a unit is a whole standard deviation of a column, more is better up to 0.5;
the same on Credit, whose CTGAN was trained on 600 rows. Counts are of {latents:,} latents, not of an hour.
""",
    7: """\
Why ours differ. As in Tables 1 and 3. Every candidate is asked under every combination, which costs all methods alike; LIMI
loses less by it than walks do, since decoding is most of its cost. Published figures are those of the table's printed average.
""",
}


def told(values: Values, digits: int = 0, scale: float = 1.0) -> str:
    """Mean and interval."""
    present = [scale * value for value in values if value is not None and np.isfinite(value)]
    if not present:
        return "-"
    found = mean_interval(present)
    if found.low is None or found.high is None:
        return f"{found.mean:,.{digits}f}"
    return f"{found.mean:,.{digits}f} ± {(found.high - found.low) / 2:,.{digits}f}"


def grid(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"


def slanted(cells: Sequence[float], form: str = ",") -> list[str]:
    """A published line."""
    return [f"*{cell:{form}}*" for cell in cells]


def rate(cell: Cell) -> float:
    """Findings per CPU-second."""
    return float(cell["findings"] / cell["cpu_seconds"])


def itemgetter_or_none(name: str) -> Take:
    """Takes one figure of a cell, where it is there."""
    return lambda cell: cell.get(name)


def labels(data: str, family: str) -> list[tuple[str, str]]:
    """Method and space of every line."""
    names = list(methods_for(model_of(data, family)))
    return [(name, space) for name in names for space in (("", "ctgan") if name == "limi" else ("",))]


class Page:
    """What is noted, as tables."""

    def __init__(self, effort: Effort, notes: Notes) -> None:
        self.effort, self.notes = effort, notes
        self.pairs = effort.pairs
        self.places = [PAIRS.index(pair) for pair in self.pairs]
        self.head = ["method", *(f"{data} {NAMES.get(protected, protected)}" for data, protected in self.pairs)]

    def values(self, case: Case, take: Take) -> Values:
        """One figure of a case for every seed."""
        return [take(cell) for cell in known(case, self.effort, self.notes)]

    def seeds(self, last: Case) -> int:
        """How many seeds a table has, by its last case."""
        return len(known(last, self.effort, self.notes))

    def by_method(self, family: str, take: Take, published: Mapping[str, Sequence[float]], form: tuple[int, str]) -> str:
        """A line per method, a column per table of data and protected attribute, the published line below."""
        lines = []
        for method, space in labels(self.pairs[0][0], family):
            cases = [Case(data, (protected,), family, method, space) for data, protected in self.pairs]
            lines.append([cases[0].label, *(told(self.values(case, take), form[0]) for case in cases)])
            is_published = method in published and (method != "limi" or space)
            if is_published:
                lines.append(["*published*", *slanted([published[method][at] for at in self.places], form[1])])
        return grid(self.head, lines)

    def effectiveness(self, table: str, family: str) -> str:
        """Findings and findings per CPU-second."""
        found = self.by_method(family, lambda cell: cell["findings"], FOUND[family], (0, ","))
        rates = self.by_method(family, rate, PER_SECOND[family], (0, ".2f"))
        return f"## {table}, {FAMILIES[family]}: findings\n\n{found}\n## {table}, {FAMILIES[family]}: findings per CPU-second\n\n{rates}"

    def naturalness(self, family: str) -> str:
        """ATN in percent."""
        table = self.by_method(family, lambda cell: cell["atn"], ATN if family == "mlp" else {}, (1, ".1f"))
        return f"## Table 3, {FAMILIES[family]}: ATN in percent\n\n{table}"

    def fitness(self) -> str:
        """Table 5."""
        lines = []
        firsts = {data: next(pair for pair in self.pairs if pair[0] == data) for data in dict(self.pairs)}
        for data, protected in firsts.values():
            for family, title in FAMILIES.items():
                cells = []
                for space in ("", "ctgan"):
                    case = Case(data, (protected,), family, "limi", space)
                    cells += [told(self.values(case, itemgetter_or_none(key)), 1, 100) for key in ("auc_train", "auc_all")]
                lines.append([data, title, *cells, *slanted(AUC[data, family], ".1f")])
        head = ["data", "model", "trees: confident", "trees: all", "ctgan: confident", "ctgan: all", "*published: confident*", "*all*"]
        return f"## Table 5: AUC of the boundary in percent\n\n{grid(head, lines)}"

    def stability(self) -> str:
        """Table 6."""
        lines = []
        for data, protected in self.pairs:
            for space in ("", "ctgan"):
                cases = [Case(data, (protected,), "mlp", "limi", space, step) for step in STEPS]
                cells = [told(self.values(case, lambda cell: cell["findings"])) for case in cases]
                lines.append([f"{data} {NAMES.get(protected, protected)}, {space or 'trees'}", *cells])
            lines.append(["*published*", *slanted(BY_STEP[data, protected])])
        first = Case(*self.pairs[-1][:1], (self.pairs[-1][1],), "mlp", "limi", "ctgan", STEPS[-1])
        title = f"## Table 6: findings by lambda, DNN, {self.seeds(first)} seeds"
        return f"{title}\n\n{grid(['data', *(f'{step:g}' for step in STEPS)], lines)}"

    def together(self) -> str:
        """Table 7: for each seed the mean over the combinations."""
        combinations = self.effort.combined
        if not combinations:
            return "## Table 7: several protected attributes\n\nNone of the paper's combinations is of these tables."
        lines = []
        for method, space in labels(combinations[0][0], "mlp"):
            cases = [Case(data, protected, "mlp", method, space) for data, protected in combinations]
            cells = []
            for take, digits in ((lambda cell: cell["findings"], 0), (rate, 0), (lambda cell: cell["atn"], 1)):
                columns = zip(*(self.values(case, take) for case in cases), strict=False)
                present = [[value for value in column if value is not None] for column in columns]
                cells.append(told([float(np.mean(column)) if column else None for column in present], digits))
            published = slanted(TOGETHER[method]) if method in TOGETHER and (method != "limi" or space) else ["-"] * 3
            lines.append([cases[0].label, *cells, *published])
        head = ["method", "findings", "per CPU-second", "ATN %", "*published findings*", "*per second*", "*ATN %*"]
        data, protected = combinations[-1]
        seeds = self.seeds(Case(data, protected, "mlp", "themis"))
        return f"## Table 7: several protected attributes, DNN, {seeds} seeds\n\n{grid(head, lines)}"

    def failures(self) -> str:
        """What did not run."""
        failed = sorted({f"{key.rsplit(' / ', 4)[0]}: {cell['failed']}" for key, cell in self.notes.known.items() if "failed" in cell})
        return "## What failed\n\n" + ("\n".join(f"- {line}" for line in failed) if failed else "Nothing.") + "\n"


def written(effort: Effort, notes: Notes) -> str:
    """The whole page."""
    page = Page(effort, notes)
    epochs = ", ".join(f"{data} {epochs} epochs" for data, epochs in EPOCHS.items())
    how = HOW.format(
        last=effort.seeds - 1,
        date=DATE,
        seconds=effort.cpu_seconds,
        longer=effort.cpu_seconds * LONGER["expga"],
        epochs=epochs,
        latents=LATENTS,
    )
    parts = ["# Tables 1 to 3 and 5 to 7 of the LIMI paper, redone", how]
    parts += [page.effectiveness("Table 1", "mlp"), WHY[1], page.effectiveness("Table 2", "forest"), WHY[2]]
    parts += [page.effectiveness("The same", "svm"), "The paper has no printed figures for SVMs.\n"]
    parts += [page.naturalness("mlp"), WHY[3], page.naturalness("forest"), page.naturalness("svm"), "Published for nets only.\n"]
    parts += [
        page.fitness(),
        WHY[5],
        page.stability(),
        WHY[6].format(latents=LATENTS),
        f"The published default is {PUBLISHED_STEP:g}.\n",
        page.together(),
        WHY[7],
    ]
    return "\n".join([*parts, page.failures()])
