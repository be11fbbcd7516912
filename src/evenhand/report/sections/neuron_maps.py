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

NOT_FIGURES = ("label", "reactions", "curve")


def section(record: Record) -> Section | None:
    """The bias map of a network whose layers could be read; None of any other model."""
    told = record.body.neurons
    drawn = maps(told) if told else None
    if told is None or drawn is None:
        return None
    html = filled("sections/bias_map.html.j2", maps=drawn, told=told)
    return Section("neurons", "Which neurons react to what is protected", "Neurons", html)


def maps(told: Mapping[str, Any]) -> dict[str, Any] | None:
    """A table, a map and curves of layers that kept their reactions; None where the layers are told in another way."""
    layers = told.get("layers")
    if not isinstance(layers, Sequence) or not layers or not all(isinstance(each, Mapping) and each.get("reactions") for each in layers):
        return None
    return {"table": _table(layers), "reactions": reactions(layers), "curves": curves(layers)}


def _table(layers: Sequence[Mapping[str, Any]]) -> DataTable:
    figures = list(dict.fromkeys(name for layer in layers for name in layer if name not in NOT_FIGURES))
    rows = [TableRow(words.text(layer.get("label"), 60), [TableCell(_said(layer.get(name))) for name in figures]) for layer in layers]
    return DataTable("Every layer", ["Layer", *(words.title(name) for name in figures)], rows)


def _said(value: Any) -> str:
    return "–" if value is None else words.number(value) if isinstance(value, (int, float)) else words.text(value, 60)


def reactions(layers: Sequence[Mapping[str, Any]]) -> Markup:
    """Layer by neuron."""
    names = [words.text(layer.get("label"), 60) for layer in layers]
    values = [_strongest(layer["reactions"]) for layer in layers]
    full = max((abs(value) for line in values for value in line if value is not None), default=1.0) or 1.0
    counted = "; ".join(f"{name}: {len(layer['reactions'])} neurons" for name, layer in zip(names, layers, strict=True))
    return heat_map(HeatMap(f"Reaction of every neuron. {counted}", names, (), values, full))


def _strongest(values: Sequence[float | None]) -> list[float | None]:
    if len(values) <= MOST_NEURONS:
        return list(values)
    return sorted((value for value in values if value is not None), reverse=True)[:MOST_NEURONS]  # type: ignore[return-value]


def curves(layers: Sequence[Mapping[str, Any]]) -> dict[str, Markup] | None:
    """For each layer the share of neurons above every threshold, beside y = x, whose crossing marks the biased ones."""
    lines = [
        Line(words.text(layer.get("label"), 60), list(zip(layer["curve"]["thresholds"], layer["curve"]["shares"], strict=True)), tone(at))
        for at, layer in enumerate(layers)
        if layer.get("curve")
    ]
    if not lines:
        return None
    equal = Line("y = x", [(0.0, 0.0), (1.0, 1.0)], tone(-1), is_dashed=True)
    axes = Axis(0.0, 1.0, "reaction, 0 to 1"), Axis(0.0, 1.0, "neurons above", "share")
    chart = Plot("; ".join(line.name for line in lines), *axes, [equal, *lines], frame=Frame(560, 320))
    return {"picture": plot(chart), "legend": legend([(line.name, line.kind) for line in [*lines, equal]])}
