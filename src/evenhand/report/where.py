"""The section on where unfair treatment concentrates: rules in words, the tree of questions as a picture, influential columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from markupsafe import Markup

from evenhand.report import words
from evenhand.report.record import Record
from evenhand.report.scan_marks import LOW_ROW, Bar, Mark, Picture

WIDE, TALL, BOX = 232.0, 96.0, 218.0
MOST_QUESTION = 32


@dataclass(frozen=True)
class RuleLine:
    """One rule, ready to show."""

    text: str
    share: str
    interval: str
    n: int
    support: str
    others: str
    p_value: str


@dataclass(frozen=True)
class Section:
    """What the page shows."""

    lead: str
    note: str
    rules: list[RuleLine]
    tree: Markup | None
    influences: Picture | None
    worst: dict[str, str] | None


def section(record: Record) -> Section | None:
    """The section of a result; None where it has none, or nothing was unfair."""
    told = record.body.where
    if not told or not (told.get("unfair") or told.get("worst")):
        return None
    heading = words.population(str(told.get("population") or ""))[0]
    lead = (
        f"Population: {heading[:1].lower() + heading[1:]}; {words.number(told.get('judged'))} judged, {words.number(told.get('unfair'))} "
        "treated differently. Rules were mined on one half of these rows; every figure comes from the other half, which had no part "
        "in choosing them. Intervals hold for all rules together, p-values are corrected by Holm’s method."
    )
    note = words.text(told.get("note"), 400) if told.get("note") else ""
    tree = told.get("tree")
    shown = Markup(tree_picture(tree)) if tree and tree.get("question") else None  # noqa: S704 - escaped where it is drawn
    return Section(
        lead, note[:1].upper() + note[1:], [_line(rule) for rule in told.get("rules") or []], shown, _influences(told), _worst(told)
    )


def _line(rule: Mapping[str, Any]) -> RuleLine:
    p_value = rule.get("p_value")
    return RuleLine(
        words.text(rule.get("text"), 400),
        words.percent(rule.get("estimate")),
        f"{words.level(rule.get('confidence'))} interval {words.percent(rule.get('low'))} to {words.percent(rule.get('high'))}",
        int(rule.get("n") or 0),
        words.percent(rule.get("support")),
        words.percent(rule.get("others")),
        "not measured" if p_value is None else f"{p_value:.2g}" if p_value >= 1e-12 else "below 1e-12",
    )


def _influences(told: Mapping[str, Any]) -> Picture | None:
    every = [each for each in told.get("influences") or [] if each.get("explained")]
    if not every:
        return None
    most = max(each["explained"] for each in every)
    bars = [
        Bar(
            LOW_ROW * place,
            _short(words.text(each["column"], 400), 26),
            f"{words.percent(each['explained'])} explained",
            (Mark("candidates", 20, 100.0, 10), Mark("twins", 20, round(max(0.6, 100 * each["explained"] / most), 3), 10)),
        )
        for place, each in enumerate(every)
    ]
    return Picture(LOW_ROW * len(bars), "; ".join(f"{bar.label}: {bar.caption}" for bar in bars), bars=tuple(bars))


def _worst(told: Mapping[str, Any]) -> dict[str, str] | None:
    worst = told.get("worst") or {}
    if not worst.get("person"):
        return None
    person, twin = worst["person"], worst.get("twin") or {}
    differs = [name for name in person if person[name] != twin.get(name)]
    return {
        "gap": f"{worst.get('gap') or 0:.3f}",
        "changes": ", ".join(f"{words.text(name, 60)} {words.text(person[name])} → {words.text(twin.get(name))}" for name in differs),
        "outcome": f"{words.text(worst.get('outcome'))} → {words.text(worst.get('twin_outcome'))}",
        "person": ", ".join(f"{words.text(name, 60)} {words.text(cell)}" for name, cell in person.items() if name not in differs),
    }


def tree_picture(tree: Mapping[str, Any]) -> str:
    """The tree of questions as an SVG whose colours follow the page."""
    parts: list[str] = []
    columns, depth = [0.0], [0]

    def place(node: Mapping[str, Any], level: int) -> float:
        y, depth[0] = 10 + level * TALL, max(depth[0], level)
        yes, no = node.get("yes"), node.get("no")
        if not yes or not no:
            x = 10 + BOX / 2 + columns[0] * WIDE
            columns[0] += 1
        else:
            left, right = place(yes, level + 1), place(no, level + 1)
            x = (left + right) / 2
            for end in (left, right):
                parts.insert(0, f'<path d="M{x:.0f},{y + 62:.0f} L{end:.0f},{y + TALL:.0f}"/>')
        parts.append(_node(node, x, y))
        return x

    place(tree, 0)
    label = "A tree of questions about who is treated differently; the rules say the same in words."
    width, height = columns[0] * WIDE + 20, (depth[0] + 1) * TALL + 4
    opening = f'<svg class="tree" role="img" aria-label="{label}" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
    return f'{opening}height="{height:.0f}" xmlns="http://www.w3.org/2000/svg">{"".join(parts)}</svg>'


def _node(node: Mapping[str, Any], x: float, y: float) -> str:
    n, unfair = int(node.get("n") or 0), int(node.get("unfair") or 0)
    share = unfair / n if n else 0.0
    left = x - BOX / 2
    question = words.text(node.get("question"), 400) if node.get("question") else ""
    whole = f"<title>{escape(question)}</title>" if question else ""
    asked = f"{_short(question, MOST_QUESTION)}?" if question else ""
    return (
        f'<g>{whole}<rect x="{left:.0f}" y="{y:.0f}" width="{BOX:.0f}" height="62" rx="6"/>'
        f'<rect class="heat" x="{left + 8:.0f}" y="{y + 50:.0f}" width="{max(0.0, share) * (BOX - 16):.1f}" height="6"/>'
        f'<text x="{left + 8:.0f}" y="{y + 20:.0f}">{words.percent(share) if n else "nobody"}'
        f'</text><text class="soft" x="{left + BOX - 8:.0f}" y="{y + 20:.0f}" text-anchor="end">{unfair:,} of {n:,}</text>'
        f'<text class="soft" x="{left + 8:.0f}" y="{y + 40:.0f}">{escape(asked)}</text></g>'
    )


def _short(written: str, most: int) -> str:
    return written if len(written) <= most else f"{written[: most - 1]}…"
