"""Neurons: how strongly each layer and each neuron reacts to the protected value, and which were marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from evenhand.report import words
from evenhand.report.charts.canvas import Axis, tone
from evenhand.report.charts.heat_maps import HeatMap, heat_map
from evenhand.report.charts.plots import Frame, Line, Plot, legend, plot
from evenhand.report.frame import DataTable, Section, TableCell, TableRow, filled
from evenhand.report.record import Record

MOST_NEURONS = 180
"""Neurons of a layer that the map shows; the strongest come first where there are more."""


def section(record: Record) -> Section | None:
    """The section; None where no layers were read."""
    told = record.body.neurons
    if not told or not told.get("layers"):
        return None
    layers = told["layers"]
    drawn = curves(told)
    html = filled(
        "sections/neurons.html.j2",
        sentence=words.text(told["sentence"], 600) if told.get("sentence") else "",
        table=_table(layers),
        map=reactions(layers),
        map_after=reactions(told.get("after") or []),
        curves=drawn,
    )
    return Section("neurons", "Neurons", "Neurons", html)


def _table(layers: Sequence[Mapping[str, Any]]) -> DataTable:
    figures = [name for name in dict.fromkeys(name for layer in layers for name in layer) if _is_figure(name, layers)]
    rows = [TableRow(words.text(layer.get("label"), 60), [TableCell(_said(layer.get(name))) for name in figures]) for layer in layers]
    return DataTable("Every layer", ["Layer", *(words.title(name) for name in figures)], rows)


def _is_figure(name: str, layers: Sequence[Mapping[str, Any]]) -> bool:
    return name not in ("label", "reactions") and all(isinstance(layer.get(name), (int, float, str, type(None))) for layer in layers)


def _said(value: Any) -> str:
    return "–" if value is None else words.number(value) if isinstance(value, (int, float)) else words.text(value, 60)


def reactions(layers: Sequence[Mapping[str, Any]]) -> Markup | None:
    """Layer by neuron; None where no reactions were kept."""
    kept = [(words.text(layer.get("label"), 60), layer["reactions"]) for layer in layers if layer.get("reactions")]
    if not kept:
        return None
    values = [sorted(each, reverse=True)[:MOST_NEURONS] if len(each) > MOST_NEURONS else list(each) for _, each in kept]
    full = max((abs(value) for line in values for value in line if value is not None), default=1.0) or 1.0
    told = "; ".join(f"{name}: {len(each)} neurons, strongest {max(each):.3g}" for name, each in kept)
    return heat_map(HeatMap(f"Reaction of every neuron. {told}", [name for name, _ in kept], (), values, full))


def curves(told: Mapping[str, Any]) -> dict[str, Markup] | None:
    """Curves of the layers, such as the share of neurons above every threshold; a dotted line is y = x where it helps."""
    lines = [
        Line(words.text(each.get("label"), 60), list(zip(each["x"], each["y"], strict=True)), tone(at))
        for at, each in enumerate(told.get("curves") or [])
        if each.get("x") and len(each["x"]) == len(each.get("y") or [])
    ]
    if not lines:
        return None
    across = Axis.over(
        [x for line in lines for x, _ in line.points], words.text(told.get("x_title") or "", 60) if told.get("x_title") else ""
    )
    up = Axis.over([y for line in lines for _, y in line.points], words.text(told["y_title"], 60) if told.get("y_title") else "", floor=0.0)
    chart = Plot("; ".join(line.name for line in lines), across, up, lines, frame=Frame(560, 320))
    return {"picture": plot(chart), "legend": legend([(line.name, line.kind) for line in lines])}
