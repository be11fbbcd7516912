"""A certificate as one HTML page or a Markdown summary: the bounds, how they tightened, the pairs.  Computes nothing about the model."""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from markupsafe import Markup

from evenhand.errors import InvalidArgument
from evenhand.report import words, writing
from evenhand.report.html import VERDICTS, _environment
from evenhand.report.markdown import SYMBOLS, code, prose, table

WIDE, TALL, LEFT, TOP = 720.0, 260.0, 60.0, 16.0


def write(certificate: Mapping[str, Any], path: Path) -> Path:
    """Write the page or, for a path that ends in .md, the summary."""
    if certificate.get("evenhand_certificate") != 1:
        raise InvalidArgument("certificate must be what Certificate.as_dict() returns, with the outcome and its reason")
    is_page = path.suffix.lower() in (".html", ".htm")
    if not is_page and path.suffix.lower() not in (".md", ".markdown"):
        raise InvalidArgument(f"report={str(path)!r} must end in .html or .md")
    return writing.save(render(certificate) if is_page else markdown(certificate), path)


def render(certificate: Mapping[str, Any]) -> str:
    """The page as text."""
    symbol, word = VERDICTS[certificate["outcome"]]
    style = _environment().get_template("style.css").render().strip()
    context = {
        "style": Markup(style),  # noqa: S704 - our own file, with nothing of the data in it
        "style_digest": base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
        "symbol": symbol,
        "word": word,
        "certificate": certificate,
        "protected": [words.text(name, 80) for name in certificate["protected"]],
        "curve": Markup(curve(certificate["curve"])),  # noqa: S704 - escaped where it is drawn
        "pairs": [_pair(pair) for pair in certificate["pairs"]],
        "facts": [(words.title(name), words.text(value)) for name, value in certificate["facts"].items()],
    }
    return _environment().get_template("certificate.html.j2").render(context)


def _pair(pair: Mapping[str, Any]) -> dict[str, Any]:
    person, twin = pair["person"], pair["twin"]
    cells = [(words.text(name, 60), words.text(cell), words.text(twin.get(name)), cell != twin.get(name)) for name, cell in person.items()]
    return {"cells": cells, "label": words.text(pair["label"]), "twin_label": words.text(pair["twin_label"])}


def markdown(certificate: Mapping[str, Any]) -> str:
    """The summary as text."""
    rows = [
        ["Surely unfair, at least", words.percent(certificate["lower"])],
        ["Unfair, at most", words.percent(certificate["upper"])],
        ["Proved free of discrimination", words.percent(1 - certificate["upper"])],
        ["Boxes", words.number(certificate["boxes"])],
        ["CPU-seconds", words.number(certificate["cpu_seconds"])],
    ]
    pairs = [
        "; ".join(f"{code(n)}: {code(a)} → {code(b)}" for n, a, b, differs in pair["cells"] if differs)
        + f" gives {code(pair['label'])} → {code(pair['twin_label'])}"
        for pair in map(_pair, certificate["pairs"])
    ]
    parts = [
        f"# {SYMBOLS[certificate['outcome']]}: {prose(certificate['reason'])}",
        prose(certificate["sentence"]),
        table(["What", "Share or count"], rows),
        prose(certificate["measure"]),
        "## Pairs that prove it\n\n" + "\n".join(f"- {each}" for each in pairs) if pairs else "",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def curve(steps: Sequence[Mapping[str, Any]]) -> str:
    """The bounds over the boxes looked at, as an SVG that carries its own colours; both ends in words for those who cannot see it."""
    if not steps:
        return ""
    span = max(math.log10(max(steps[-1]["boxes"], 10)), 1.0)
    points = [(LEFT + math.log10(max(s["boxes"], 1)) / span * WIDE, s["lower"], s["upper"]) for s in steps]
    upper = [(x, TOP + (1 - high) * TALL) for x, _, high in points]
    lower = [(x, TOP + (1 - low) * TALL) for x, low, _ in points]
    last = steps[-1]
    told = f"The bounds tighten from 0 to 100% to {words.percent(last['lower'])} and {words.percent(last['upper'])}."
    marks = [_tick(LEFT + place / span * WIDE, f"{10**place:,}") for place in range(int(span) + 1)]
    marks += [_level(share) for share in (0.0, 0.25, 0.5, 0.75, 1.0)]
    band = " ".join(f"{x:.1f},{y:.1f}" for x, y in [*upper, *reversed(lower)])
    lines = [
        f'<polyline points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in side)}" fill="none" stroke="{colour}" stroke-width="2"/>'
        for side, colour in ((upper, "#d9822b"), (lower, "#3b6ea5"))
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE + LEFT + 40:.0f} {TALL + 64:.0f}" width="100%" role="img" '
        f'font-family="sans-serif" font-size="12"><title>{escape(told)}</title><rect width="100%" height="100%" fill="white"/>'
        f'{"".join(marks)}<polygon points="{band}" fill="#3b6ea5" fill-opacity=".15"/>{"".join(lines)}'
        f'<text x="{LEFT + WIDE / 2:.0f}" y="{TALL + 56:.0f}" text-anchor="middle" fill="#1f2933">boxes looked at</text>'
        f'<text x="{LEFT + WIDE:.0f}" y="{TOP + 12:.0f}" text-anchor="end" fill="#1f2933">'
        f"upper {words.percent(last['upper'])}, lower {words.percent(last['lower'])}</text></svg>"
    )


def _tick(x: float, label: str) -> str:
    return (
        f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP:.0f}" y2="{TOP + TALL:.0f}" stroke="#e4e6e1"/>'
        f'<text x="{x:.1f}" y="{TOP + TALL + 18:.0f}" text-anchor="middle" fill="#545b64">{escape(label)}</text>'
    )


def _level(share: float) -> str:
    y = TOP + (1 - share) * TALL
    return (
        f'<line x1="{LEFT:.0f}" x2="{LEFT + WIDE:.0f}" y1="{y:.1f}" y2="{y:.1f}" stroke="#e4e6e1"/>'
        f'<text x="{LEFT - 8:.0f}" y="{y + 4:.1f}" text-anchor="end" fill="#545b64">{share:.0%}</text>'
    )
