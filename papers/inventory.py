"""Every table and figure of the five papers that holds a result, how much of it is redone here, and by what."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Literal

State = Literal["whole", "part"]
TITLES = {"limi": "LIMI", "neuronfair": "NeuronFair", "aitest": "AITEST", "deepfait": "DeepFAIT", "distrofair": "DistroFair"}


@dataclass(frozen=True)
class PaperItem:
    """A table or a figure, or a result that a paper gives in its text.

    state: whether all of it is redone.  note: what differs in the set-up.
    It is made by the function of its name in the module of its paper.
    """

    paper: str
    name: str
    title: str
    state: State = "whole"
    note: str = ""

    @property
    def line(self) -> str:
        """How it is asked for."""
        return f"python -m papers {self.paper} {self.name}"

    @property
    def stem(self) -> str:
        """The name of its page."""
        return f"{self.paper}-{self.name}"

    @property
    def heading(self) -> str:
        """What its page is called."""
        return f"{TITLES[self.paper]}, {self.name.replace('-', ' ')}: {self.title}" if self.paper in TITLES else self.title

    def make(self) -> Callable[[Any], Any]:
        """What redoes it."""
        maker: Callable[[Any], Any] = getattr(importlib.import_module(f"{self.paper}_items"), self.name.replace("-", "_"))
        return maker


PORTRAITS = "drawn portraits instead of photographs"
DETECTORS = "local detectors instead of paid services, street frames and coco128 instead of CityScapes and MS-COCO"

ITEMS = (
    PaperItem("limi", "table-1", "effectiveness, DNN", note="equal numbers of tests instead of equal time"),
    PaperItem("limi", "table-2", "effectiveness, forest", note="as Table 1"),
    PaperItem("limi", "table-3", "naturalness, ATN"),
    PaperItem("limi", "table-4", "retraining", note="judged on held-out rows"),
    PaperItem("limi", "table-5", "fitness of the surrogate boundary, AUC"),
    PaperItem("limi", "table-6", "stability, by lambda"),
    PaperItem("limi", "table-7", "several protected attributes"),
    PaperItem("limi", "figure-2", "distribution of generated instances"),
    PaperItem("limi", "figure-3", "scalability: combined with other methods"),
    PaperItem("limi", "figure-4", "discriminatory pictures", note=PORTRAITS),
    PaperItem("limi", "random-boundary", "a random plane instead of the fitted one (in the text)"),
    PaperItem("limi", "naturalness", "detection by LR and SVC, nearest neighbours (in the text)"),
    PaperItem("limi", "correlations", "attributes that go with the protected one (in the text)"),
    PaperItem("neuronfair", "table-3", "accuracies of the nets", note="detectors of drawn faces"),
    PaperItem("neuronfair", "table-4", "total number of findings", note="equal numbers of tests, equal counting"),
    PaperItem("neuronfair", "table-5", "SG in equal time"),
    PaperItem("neuronfair", "table-6", "global and local phase, each in its fair set-up"),
    PaperItem("neuronfair", "table-7", "DM-RS after retraining", note="with a net that is only fitted again as the control"),
    PaperItem("neuronfair", "table-8", "time for a thousand findings"),
    PaperItem("neuronfair", "table-9", "AUC against DM-RS, one net and its retrained versions"),
    PaperItem("neuronfair", "t-test", "significance of the counts (in the text)"),
    PaperItem("neuronfair", "as-curve", "areas under the AS curves of the census net (drawn in a figure)"),
    PaperItem("neuronfair", "figure-5", "generation diversity from common seeds"),
    PaperItem("neuronfair", "figure-6", "biased neurons that findings activate"),
    PaperItem("neuronfair", "table-10", "global phase on pictures, findings and GSR", note=PORTRAITS),
    PaperItem("neuronfair", "table-11", "fairness and detection rate of retrained face detectors", note=PORTRAITS),
    PaperItem("neuronfair", "perturbation-norms", "how large the changes of pictures are (in the text)", note=PORTRAITS),
    PaperItem("aitest", "table-2", "realism of synthetic data"),
    PaperItem("aitest", "table-3", "accuracy of models trained on synthetic data"),
    PaperItem("aitest", "table-4", "property testing with data constraints"),
    PaperItem("aitest", "table-5", "property testing with users' constraints"),
    PaperItem("aitest", "table-6", "effectiveness of TREPAN"),
    PaperItem("aitest", "table-7", "path coverage"),
    PaperItem("deepfait", "table-1", "accuracies of the models", note=PORTRAITS),
    PaperItem("deepfait", "table-3", "fairness-related neurons", note=PORTRAITS),
    PaperItem("deepfait", "table-4", "coverage by layer", note=PORTRAITS),
    PaperItem("deepfait", "table-5", "adequacy by data setting", note=PORTRAITS),
    PaperItem("deepfait", "figure-3", "activation differences, cumulative", note=PORTRAITS),
    PaperItem("deepfait", "figure-4", "distribution of H", note=PORTRAITS),
    PaperItem("deepfait", "figure-5", "coverage against fairness score", note=PORTRAITS),
    PaperItem("deepfait", "figure-6", "improvement by selection strategy, with the validation sets", note=PORTRAITS),
    PaperItem("distrofair", "table-6", "class-level violations, ground truth", note=DETECTORS),
    PaperItem("distrofair", "table-7", "class-level violations, metamorphic", note=DETECTORS),
    PaperItem("distrofair", "table-8", "beside in-distribution mutation", note=DETECTORS),
    PaperItem("distrofair", "table-9", "test generation time", note=DETECTORS),
    PaperItem("distrofair", "table-10", "realism", "part", "told by a classifier; nobody has been asked yet"),
    PaperItem("distrofair", "table-11", "accuracy beside real pictures", note=DETECTORS),
    PaperItem("distrofair", "table-12", "accuracy on classes that were not changed", note=DETECTORS),
    PaperItem("distrofair", "figure-2", "classes above the mean error, originals beside changed pictures", note=DETECTORS),
    PaperItem("distrofair", "figure-3", "unfair classes by oracle and on originals, overlaps", note=DETECTORS),
    PaperItem("distrofair", "figure-4", "scores of realism", "part", "told by a classifier; nobody has been asked yet"),
)

NOTES = (
    PaperItem("notes", "equal-counting", "What survives equal counting"),
    PaperItem("notes", "three-judges", "Naturalness by three judges"),
    PaperItem("notes", "above-the-mean", "The rule 'above the mean'"),
    PaperItem("notes", "findings-against-twins", "Retraining on findings, on twins, and on nothing"),
    PaperItem("notes", "uniform-rates", "Uniform inputs against real people"),
)
"""Results that go beyond one table, each a short page."""


def find(paper: str, name: str) -> PaperItem | None:
    """The item of that name."""
    return next((item for item in (*ITEMS, *NOTES) if (item.paper, item.name) == (paper, name)), None)


def _row(item: PaperItem, is_linked: bool) -> str:
    shown = f"[{item.name}](papers/{item.stem}.md)" if is_linked else item.name
    return f"| {' | '.join((TITLES[item.paper], shown, item.title, f'`{item.line}`', item.state, item.note))} |"


def _note_line(note: PaperItem, is_linked: bool) -> str:
    shown = f"[{note.title}](papers/{note.stem}.md)" if is_linked else note.title
    return f"- {shown}: `{note.line}`"


def coverage_page(written: Collection[str] = ()) -> str:
    """The coverage as a page; `written` are the stems of the pages that there are."""
    rows = "\n".join(_row(item, item.stem in written) for item in ITEMS)
    whole = sum(item.state == "whole" for item in ITEMS)
    return (
        "# The papers redone\n\n"
        f"{len(ITEMS)} tables, figures and results of five papers, each with one command; {whole} are redone whole, the others in part, "
        "and the last column says what differs. Every command writes the page that its name links to: published figures, ours with seeds "
        "and intervals, the cost, what agrees and what does not. `--quick` runs the short form (under 90 CPU-seconds each); `make "
        "papers` runs all of them in short. An interrupted run goes on where it stopped.\n\n"
        "NeuronFair's tables are numbered by the order of their captions: the digits did not survive in the text that they were taken "
        "from, and neither did most of its figures.\n\n"
        "| paper | item | what it shows | command | state | what differs |\n| --- | --- | --- | --- | --- | --- |\n"
        + rows
        + "\n\n## What the field should know\n\n"
        + "\n".join(_note_line(note, note.stem in written) for note in NOTES)
        + "\n"
    )
