"""How it was searched: every method with what it spent and found, its discovery curve, and what it says of its own run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from evenhand.report import facts, words
from evenhand.report.charts.canvas import Axis, short, tone
from evenhand.report.charts.plots import WIDE, Line, Plot, legend, plot
from evenhand.report.charts.rows import BarRow, Mark, bars, length
from evenhand.report.charts.trees import TreeNode, tree
from evenhand.report.frame import DataTable, Section, TableCell, TableRow, filled
from evenhand.report.record import Record, RunRecord
from evenhand.report.sections import neuron_maps

HEADS = ("Method", "Candidates", "Duplicates", "Findings", "Model rows", "CPU-seconds", "Findings per CPU-second", "How it ended")


def section(record: Record) -> Section | None:
    """The section; a verb that searches nothing has none."""
    body = record.body
    if not (body.runs or body.failures or record.verb == "scan"):
        return None
    rows = [_row(run) for run in body.runs]
    html = filled(
        "sections/searches.html.j2",
        table=DataTable("Every method with what it spent and found", HEADS, rows) if body.runs else None,
        picture=picture(record),
        failures=[(words.text(name, 60), words.text(why, 600)) for name, why in body.failures.items()],
        valid_share=body.valid_share,
        facts=[_facts(run) for run in body.runs if run.facts],
        curves=curves(record),
    )
    return Section("methods", "How it was searched", "Methods", html)


def _facts(run: RunRecord) -> dict[str, Any]:
    """What a method says of itself: in words, and as pictures where it kept the reactions of neurons or a tree of questions."""
    drawn = {name: (neuron_maps.maps(value), tree_of(value)) for name, value in run.facts.items() if isinstance(value, Mapping)}
    pictures = {name: each for name, each in drawn.items() if any(each)}
    told = {name: _without_pictures(value) if name in pictures else value for name, value in run.facts.items()}
    return {"name": words.text(run.method, 60), "told": facts.readable(told), "pictures": list(pictures.values())}


def _without_pictures(fact: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fact.items() if name not in ("layers", "tree")}


def tree_of(fact: Mapping[str, Any]) -> Markup | None:
    """A tree of questions that a method kept: every node with its words, leaves with a share; None where there is none."""
    root = fact.get("tree")
    return tree(_node(root), "A tree of questions; the paths lead to regions of inputs.") if isinstance(root, Mapping) else None


def _node(node: Mapping[str, Any]) -> TreeNode:
    lines = [short(words.text(line, 400), 160) for line in node.get("lines") or []]
    yes, no = node.get("yes"), node.get("no")
    share = node.get("share")
    return TreeNode(
        lines or ["?"],
        share=float(share) if isinstance(share, (int, float)) else None,
        yes=_node(yes) if isinstance(yes, Mapping) else None,
        no=_node(no) if isinstance(no, Mapping) else None,
    )


def _row(run: RunRecord) -> TableRow:
    counts = (run.candidates, run.duplicates, run.findings, run.model_rows, run.cpu_seconds, run.per_second)
    cells = [TableCell(words.number(count)) for count in counts]
    return TableRow(words.text(run.method, 60), [*cells, TableCell(words.ending(run.ended), kind="words")])


def picture(record: Record) -> Markup | None:
    """Every method's candidates, and which of them were repeated and which were findings; failed ones are marked as failed."""
    runs, failures = record.body.runs, record.body.failures
    if not runs and not failures:
        return None
    most = max((run.candidates for run in runs), default=0) or 1
    rows = [_bar(run, most) for run in runs]
    rows += [BarRow(_name(name), "failed: not counted", is_failed=True) for name in failures]
    return bars(rows, "Findings per method.")


def _bar(run: RunRecord, most: int) -> BarRow:
    share = f" ({words.percent(run.findings / run.candidates)})" if run.candidates else ""
    caption = f"{words.plural(run.findings, 'finding', 'findings')} of {words.plural(run.candidates, 'candidate', 'candidates')}{share}"
    counts = {"candidates": run.candidates, "repeated": run.findings + run.duplicates if run.duplicates else 0, "findings": run.findings}
    marks = tuple(Mark(kind, 40, length(count, most), 14) for kind, count in counts.items() if count)
    return BarRow(_name(run.method), caption, marks)


def _name(name: str) -> str:
    return short(words.text(name, 400), 26)


def curves(record: Record) -> dict[str, Any] | None:
    """Findings against rows asked of the model, both logarithmic, one line per method; None where no curve was kept."""
    kept = [(run, run.curve) for run in record.body.runs if run.curve and run.curve.get("findings") and run.curve.get("model_rows")]
    lines = [
        Line(words.text(run.method, 40), list(zip(curve["model_rows"], curve["findings"], strict=False)), tone(at))
        for at, (run, curve) in enumerate(kept)
        if max(curve["findings"]) >= 1 and len(curve["findings"]) > 1  # a search of one batch has no course
    ]
    if not lines:
        return None
    across = Axis.decades([x for line in lines for x, _ in line.points], "rows asked of the model")
    up = Axis.decades([1.0, *(y for line in lines for _, y in line.points)], "findings")
    told = "; ".join(f"{line.name} ends at {words.number(line.points[-1][1])} findings" for line in lines)
    return {"picture": plot(Plot(told, across, up, lines, frame=WIDE)), "legend": legend([(line.name, line.kind) for line in lines])}
