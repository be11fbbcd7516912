"""A certificate: the exact share or its bounds, and how they tightened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from evenhand.report import words
from evenhand.report.charts.canvas import Axis
from evenhand.report.charts.plots import WIDE, Line, Plot, plot
from evenhand.report.frame import Section, filled
from evenhand.report.record import Record


def section(record: Record) -> Section | None:
    """The section; None where nothing was proved."""
    proof = record.body.certificate
    if not proof or proof.get("lower") is None or proof.get("upper") is None:
        return None
    told = proof.get("facts") or {}
    html = filled(
        "sections/certificate.html.j2",
        proof=proof,
        exact=bool(proof.get("exact")),
        open_share=proof["upper"] - proof["lower"],
        free_share=max(0.0, round(1 - proof["upper"], 12)),  # sums of weights are off in the last places
        protected=", ".join(words.text(name, 60) for name in record.protected) or "the protected columns",
        read_from="trees" if "trees" in told else "weights",
        sample=proof.get("sample") or {},
        curve=bounds_picture(proof.get("curve") or []),
        facts=[
            (words.title(name), words.number(value) if isinstance(value, (int, float)) else words.text(value))
            for name, value in told.items()
        ],
    )
    return Section("bounds", "The exact share" if proof.get("exact") else "Bounds that hold for certain", "Bounds", html)


def bounds_picture(steps: Sequence[Mapping[str, Any]]) -> Markup | None:
    """The bounds over the boxes looked at; both ends in words for those who cannot see it."""
    if not steps:
        return None
    at = [max(float(step["boxes"]), 1.0) for step in steps]
    lower, upper = ([float(step[side]) for step in steps] for side in ("lower", "upper"))
    band = [*zip(at, upper, strict=True), *reversed(list(zip(at, lower, strict=True)))]
    lines = [
        Line("upper bound", list(zip(at, upper, strict=True)), "tone-line-3", band),
        Line("lower bound", list(zip(at, lower, strict=True)), "tone-line-1"),
    ]
    told = f"The bounds tighten from 0 to 100% to {words.percent(lower[-1])} and {words.percent(upper[-1])}."
    return plot(Plot(told, Axis.decades([*at, 10.0], "boxes looked at"), Axis(0.0, 1.0, "share of the domain", "share"), lines, frame=WIDE))
