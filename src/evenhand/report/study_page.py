"""What people said of changed pictures, as one page or as figures."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from markupsafe import Markup

from evenhand.disk import write_whole
from evenhand.errors import InvalidArgument
from evenhand.measures.believability import SCALES, Believability
from evenhand.report import frame, words
from evenhand.report.charts.canvas import Axis
from evenhand.report.charts.rows import IntervalChart, IntervalRow, intervals
from evenhand.report.lead import sentence
from evenhand.statistics.intervals import Interval

HIGHEST = 10.0


def write_study(result: Believability, path: Path) -> Path:
    """Write the page or the figures, by the ending of the name; a file that is there is not overwritten."""
    if path.suffix not in (".html", ".json"):
        raise InvalidArgument(f"report={str(path)!r} must end with .html or .json")
    if path.exists():
        raise InvalidArgument(f"report={str(path)!r} is there already; give another name")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, study_page(result) if path.suffix == ".html" else json.dumps(asdict(result), indent=2))
    return path


def study_page(result: Believability) -> str:
    """The page as text."""
    return frame.filled(
        "study_result.html.j2",
        style=Markup(frame.style()),  # noqa: S704 - our own file, with nothing of the data in it
        style_digest=frame.style_digest(),
        sentences=[sentence(each) for each in result.sentences[: len(result.sentences) - len(result.table)]],
        table=_table(result),
        charts=[(words.title(name), _chart(name, getattr(result, name))) for name in SCALES if getattr(result, name)],
        people=result.valid,
        date=datetime.now(UTC).date().isoformat(),
    )


def _table(result: Believability) -> frame.DataTable | None:
    """The paper's Table 10, where there are several data sets or pictures on which a recogniser errs."""
    rows = [
        frame.TableRow(
            words.text(cell.data, 60),
            [
                frame.TableCell(words.text(cell.kind, 60), kind="words"),
                frame.TableCell("error-inducing" if cell.only_erring else "all", kind="words"),
                frame.TableCell(str(cell.pictures)),
                *(frame.TableCell(f"{mean.estimate:.2f} ({mean.low:.2f} to {mean.high:.2f})") for mean in (cell.realism, cell.likelihood)),
            ],
        )
        for cell in result.table
    ]
    head = ("Data", "Change", "Pictures", "Number", "Realism", "Likelihood")
    return frame.DataTable("By data set, and for error-inducing pictures", head, rows, is_wide=True) if rows else None


def _chart(name: str, means: dict[str, Interval]) -> Markup:
    """The mean mark of each kind of picture on its scale."""
    order = sorted(means, key=lambda kind: -means[kind].estimate)
    rows = [_row(kind, means[kind]) for kind in order]
    return intervals(IntervalChart(f"Mean marks of {name} from 0 to 10.", rows, Axis(0.0, HIGHEST)))


def _row(kind: str, mean: Interval) -> IntervalRow:
    told = f"{mean.estimate:.2f} ({mean.low:.2f} to {mean.high:.2f})"
    return IntervalRow(words.text(kind, 60), told, mean.low, mean.estimate, mean.high)
