"""Every table and figure of the five papers, how much of it is redone here, and by what."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

State = Literal["whole", "part"]
TITLES = {"limi": "LIMI", "neuronfair": "NeuronFair", "aitest": "AITEST", "deepfait": "DeepFAIT", "distrofair": "DistroFair"}


@dataclass(frozen=True)
class PaperItem:
    """A table or a figure, or a result that a paper gives in its text.

    state: whether `--full` redoes all of it.  note: what differs in the set-up.  is_setup: it holds no result, but an overview, parameters,
    data or an example.  home: the module of its maker, where that is not the paper's own.  The maker is the function of its name there.
    """

    paper: str
    name: str
    title: str
    state: State = "whole"
    note: str = ""
    is_setup: bool = False
    home: str = ""

    @property
    def module(self) -> str:
        """Where its maker stands."""
        return self.home or f"{self.paper}_{'setup' if self.is_setup else 'items'}"

    @property
    def maker(self) -> str:
        """What its maker is called."""
        return self.name.replace("-", "_")

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

    @property
    def place(self) -> tuple[int, str, int]:
        """Where it stands in a list: by paper, kind and number."""
        kind, _, number = self.name.rpartition("-")
        is_numbered = kind in ("table", "figure")
        return list(TITLES).index(self.paper), {"table": "1", "figure": "2"}.get(kind, "3" + self.name), int(number) if is_numbered else 0

    def make(self) -> Callable[[Any], Any]:
        """What redoes it."""
        maker: Callable[[Any], Any] = getattr(importlib.import_module(self.module), self.maker)
        return maker


PORTRAITS = "drawn portraits instead of photographs"
DETECTORS = "local detectors instead of paid services, street frames and coco128 instead of CityScapes and MS-COCO"

RESULTS = (
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
    PaperItem("limi", "random-boundary", "a random plane instead of the fitted one (in the text)", home="limi_text_items"),
    PaperItem("limi", "naturalness", "detection by LR and SVC, nearest neighbours (in the text)", home="limi_text_items"),
    PaperItem("limi", "correlations", "attributes that go with the protected one (in the text)", home="limi_text_items"),
    PaperItem("neuronfair", "table-3", "accuracies of the nets", note="detectors of drawn faces"),
    PaperItem("neuronfair", "table-4", "total number of findings", note="equal numbers of tests, equal counting"),
    PaperItem("neuronfair", "table-5", "SG in equal time"),
    PaperItem("neuronfair", "table-6", "global and local phase, each in its fair set-up"),
    PaperItem("neuronfair", "table-7", "DM-RS after retraining", note="with a net that is only fitted again as the control"),
    PaperItem("neuronfair", "table-8", "time for a thousand findings"),
    PaperItem("neuronfair", "table-9", "AUC against DM-RS, one net and its retrained versions"),
    PaperItem("neuronfair", "t-test", "significance of the counts (in the text)"),
    PaperItem("neuronfair", "figure-3", "AS curves of the census net, and the areas below them"),
    PaperItem("neuronfair", "figure-5", "generation diversity from common seeds"),
    PaperItem("neuronfair", "figure-6", "biased neurons that findings activate"),
    PaperItem("neuronfair", "table-10", "global phase on pictures, findings and GSR", note=PORTRAITS, home="neuronfair_picture_items"),
    PaperItem(
        "neuronfair", "table-11", "fairness and detection rate of retrained face detectors", note=PORTRAITS, home="neuronfair_picture_items"
    ),
    PaperItem(
        "neuronfair",
        "perturbation-norms",
        "how large the changes of pictures are (in the text)",
        note=PORTRAITS,
        home="neuronfair_picture_items",
    ),
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

OVERVIEW = "overview of the approach"
ITEMS = tuple(
    sorted(
        (
            *RESULTS,
            PaperItem("limi", "figure-1", OVERVIEW, is_setup=True),
            PaperItem("neuronfair", "table-1", "tables of data", note="drawn portraits instead of its pictures", is_setup=True),
            PaperItem("neuronfair", "table-2", "parameters", is_setup=True),
            PaperItem("neuronfair", "figure-1", "a discriminatory instance on Adult", is_setup=True),
            PaperItem("neuronfair", "figure-2", OVERVIEW, is_setup=True),
            PaperItem("neuronfair", "figure-4", "overview of the approach on pictures", is_setup=True),
            PaperItem("aitest", "table-1", "the language of constraints", is_setup=True),
            PaperItem("aitest", "figure-1", OVERVIEW, is_setup=True),
            PaperItem(
                "aitest",
                "figure-2",
                "a dependency graph, before and after its cycles are broken",
                note="toy data of our own",
                is_setup=True,
            ),
            PaperItem("deepfait", "table-2", "parameters", is_setup=True),
            PaperItem("deepfait", "figure-1", OVERVIEW, is_setup=True),
            PaperItem("deepfait", "figure-2", "structure of the CycleGAN", is_setup=True),
            PaperItem("distrofair", "table-1", "an example of errors", note=DETECTORS, is_setup=True),
            PaperItem("distrofair", "table-2", "the steps of an insertion", note="on a drawn street", is_setup=True),
            PaperItem("distrofair", "table-3", "sets of pictures", note=DETECTORS, is_setup=True),
            PaperItem("distrofair", "table-4", "recognisers", note=DETECTORS, is_setup=True),
            PaperItem(
                "distrofair", "table-5", "pictures of the user study", "part", "on drawn streets; nobody has been asked yet", is_setup=True
            ),
            PaperItem("distrofair", "figure-1", OVERVIEW, is_setup=True),
        ),
        key=lambda item: item.place,
    )
)
"""In the order of the papers; tables before figures before what stands in the text."""

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


@dataclass(frozen=True)
class WrittenPage:
    """What a written page says of its run: in short or whole, when, and at what cost."""

    form: str
    date: str
    cpu_seconds: str

    @classmethod
    def of(cls, text: str) -> WrittenPage:
        """Read from the page itself."""
        command = re.search(r"`python -m papers [^`]*`", text)
        date, cost = re.search(r"\d{4}-\d\d-\d\d", text), re.search(r"([\d,.]+) CPU-seconds", text)
        form = "short" if command and command[0].endswith("--quick`") else "whole"
        return cls(form, date[0] if date else "", cost[1] if cost else "")


def written_pages(folder: Path) -> dict[str, WrittenPage]:
    """The pages that there are, by their stem."""
    return {path.stem: WrittenPage.of(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.md"))}


def _row(item: PaperItem, page: WrittenPage | None) -> str:
    shown = f"[{item.name}](papers/{item.stem}.md)" if page else item.name
    run = f"{page.form}, {page.date}, {page.cpu_seconds} s" if page else "not run"
    return f"| {' | '.join((TITLES[item.paper], shown, item.title, f'`{item.line}`', item.state, run, item.note))} |"


def _note_line(note: PaperItem, is_linked: bool) -> str:
    shown = f"[{note.title}](papers/{note.stem}.md)" if is_linked else note.title
    return f"- {shown}: `{note.line}`"


INTRODUCTION = """\
---
hide: [toc]
---

# The papers redone

{items} tables, figures and results of five papers, each with one command. {setup} of them hold no result but an overview, parameters,
data or an example, and are shown beside what stands here.

Every command writes the page that its name links to: published figures, ours with seeds and intervals, the cost, what agrees and what does
not. There are two forms. `--quick` is short: some of the data, fewer tests, under 90 CPU-seconds each on an idle core (pages
that were made beside other programs name more; their cost in sorts can be compared); `make papers` runs all of them that
way. `--full` has all of a paper's data and numbers of tests, and takes days for everything. An interrupted run goes on where it stopped,
in either form.

The column *full form* says whether `--full` redoes all of the item: {whole} whole, the others in part. The column *page* says which form
the page shows, when it was made, and at what cost in CPU-seconds of one core. The last column says what differs in the set-up.

NeuronFair's tables and figures are numbered by the order of their captions: the digits did not survive in the text that they were taken
from.

| paper | item | what it shows | command | full form | page | what differs |
| --- | --- | --- | --- | --- | --- | --- |
"""


def coverage_page(written: Mapping[str, WrittenPage]) -> str:
    """The coverage as a page; `written` are the pages that there are, by their stem."""
    counts = {
        "items": len(ITEMS),
        "setup": sum(item.is_setup for item in ITEMS),
        "whole": sum(item.state == "whole" for item in ITEMS),
    }
    rows = "\n".join(_row(item, written.get(item.stem)) for item in ITEMS)
    notes = "\n".join(_note_line(note, note.stem in written) for note in NOTES)
    return f"{INTRODUCTION.format(**counts)}{rows}\n\n## What the field should know\n\n{notes}\n"
