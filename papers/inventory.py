"""Every table and figure of the five papers that holds a result, the command that redoes it, and how much of it that command redoes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["whole", "part", "missing"]


@dataclass(frozen=True)
class PaperItem:
    """A table or a figure.

    command: what redoes it, without `--quick`.  quick: what is added for the short form.  note: what differs, or what is missing.
    """

    paper: str
    name: str
    title: str
    state: State
    command: tuple[str, ...] = ()
    quick: tuple[str, ...] = ("--quick",)
    note: str = ""

    @property
    def line(self) -> str:
        """How it is asked for."""
        return f"python -m papers {self.paper} {self.name}" if self.command else ""


LIMI_TABLES = ("benchmarks/limi_tables.py",)
FACES = ("benchmarks/faces.py",)
SCENES = ("benchmarks/scenes.py", "--part", "real")
WHITEBOX = ("benchmarks/whitebox.py",)


AITEST = ("papers/aitest.py", "--table")


def aitest(number: int, title: str, note: str = "") -> PaperItem:
    """A table of AITEST's; in short on one small data set and one seed."""
    quick = ("--data", "credit", "--seeds", "1", *(("--net-seeds", "0") if number == 2 else ()))
    return PaperItem(
        "aitest", f"table-{number}", title, "whole" if not note else "part", ("papers/aitest.py", "--table", str(number)), quick, note
    )


ITEMS = (
    PaperItem("limi", "table-1", "effectiveness, DNN", "part", LIMI_TABLES, note="equal CPU-seconds, not a million tests each"),
    PaperItem("limi", "table-2", "effectiveness, forest and SVM", "part", LIMI_TABLES, note="as Table 1"),
    PaperItem("limi", "table-3", "naturalness, ATN", "whole", LIMI_TABLES),
    PaperItem("limi", "table-4", "retraining", "whole", ("benchmarks/repair.py",), note="rows are held out"),
    PaperItem("limi", "table-5", "fitness of the surrogate boundary, AUC", "whole", LIMI_TABLES),
    PaperItem("limi", "table-6", "stability, by lambda", "whole", LIMI_TABLES),
    PaperItem("limi", "table-7", "several protected attributes", "whole", LIMI_TABLES),
    PaperItem("limi", "figure-2", "distribution of generated instances", "missing", note="drawn for given findings by `measures.likeness`"),
    PaperItem("limi", "figure-3", "scalability: combined with other methods", "missing", note="`Limi(local=...)` does the combination"),
    PaperItem("limi", "figure-4", "discriminatory pictures", "part", FACES, note="drawn portraits instead of CelebA"),
    PaperItem("neuronfair", "areas", "AS-curve areas of the census net", "whole", WHITEBOX),
    PaperItem("neuronfair", "generation", "discriminatory instances by method", "whole", WHITEBOX, note="equal budgets, equal counting"),
    PaperItem("neuronfair", "phases", "global and local phase (its Table 6)", "part", WHITEBOX, note="one of the two set-ups"),
    PaperItem("neuronfair", "equal-time", "symbolic generation in equal time (its Table 5)", "missing"),
    PaperItem("neuronfair", "retrained", "AUC against DM-RS of one net and its retrained versions (its Table 9)", "missing"),
    PaperItem("neuronfair", "diversity", "generation diversity", "whole", WHITEBOX),
    PaperItem("neuronfair", "pictures", "global phase on pictures", "part", FACES, note="drawn portraits"),
    aitest(2, "realism of synthetic data"),
    aitest(3, "accuracy of models trained on synthetic data"),
    aitest(4, "property testing with data constraints"),
    aitest(5, "property testing with users' constraints"),
    aitest(6, "effectiveness of TREPAN"),
    aitest(7, "path coverage"),
    PaperItem("deepfait", "table-1", "accuracies of the models", "whole", FACES, note="drawn portraits"),
    PaperItem("deepfait", "table-3", "fairness-related neurons", "whole", FACES, note="drawn portraits"),
    PaperItem("deepfait", "table-4", "coverage by layer", "whole", FACES, note="drawn portraits"),
    PaperItem("deepfait", "table-5", "adequacy by data setting", "part", FACES, note="without the paper's validation sets"),
    PaperItem("deepfait", "figure-3", "activation differences, cumulative", "whole", FACES),
    PaperItem("deepfait", "figure-4", "distribution of H", "whole", FACES),
    PaperItem("deepfait", "figure-5", "coverage against fairness score", "whole", FACES),
    PaperItem("deepfait", "figure-6", "improvement by selection strategy", "whole", FACES),
    PaperItem("distrofair", "table-6", "class-level violations", "whole", SCENES, note="local detectors instead of paid services"),
    PaperItem("distrofair", "table-7", "violations by setting", "whole", SCENES, note="as Table 6"),
    PaperItem("distrofair", "table-8", "beside in-distribution mutation", "whole", SCENES, note="as Table 6"),
    PaperItem("distrofair", "table-9", "test generation time", "whole", SCENES),
    PaperItem("distrofair", "table-10", "realism, by people", "missing", note="`evenhand study` collects answers; nobody has been asked"),
    PaperItem("distrofair", "table-11", "accuracy beside real pictures", "whole", SCENES, note="as Table 6"),
    PaperItem("distrofair", "table-12", "accuracy on classes that were not changed", "missing"),
    PaperItem("distrofair", "figure-2", "classes above the mean error, overlaps", "missing"),
    PaperItem("distrofair", "figure-3", "effectiveness, overlaps", "missing"),
)  # fmt: skip


def find(paper: str, name: str) -> PaperItem | None:
    """The item of that name."""
    return next((item for item in ITEMS if (item.paper, item.name) == (paper, name)), None)


def _row(item: PaperItem) -> str:
    cells = (item.paper, item.name, item.title, f"`{item.line}`" if item.line else "-", item.state, item.note)
    return f"| {' | '.join(cells)} |"


def coverage_page() -> str:
    """The coverage as a page."""
    rows = "\n".join(map(_row, ITEMS))
    told, whole = sum(bool(item.command) for item in ITEMS), sum(item.state == "whole" for item in ITEMS)
    return (
        "# The papers redone\n\n"
        f"{len(ITEMS)} tables and figures of five papers hold results; {told} have a command here, {whole} are "
        "redone whole. `--quick` runs the short form of a command. NeuronFair's items are named by what they show: the "
        "numbering of its tables did not survive in the text that they were taken from.\n\n"
        "| paper | item | what it shows | command | state | what differs, or is missing |\n| --- | --- | --- | --- | --- | --- |\n"
        + rows
        + "\n"
    )
