"""Repairs side by side: accuracy against unfairness, every figure with its change, and what each is worth."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from evenhand.report import words
from evenhand.report.charts.canvas import Axis
from evenhand.report.charts.plots import WIDE, Dot, Line, Plot, Whiskers, plot
from evenhand.report.frame import DataTable, Section, TableCell, TableRow, filled
from evenhand.report.record import Record

TONES = {"better": "good", "better, at a price": "unsure", "worse": "bad", "alarm": "bad", "no evidence of improvement": "unsure"}
GIVEN = "as_given"
NO_MORE_THAN_ROUNDING = 1e-9
"""A share or gap of scores that is zero but for the order in which numbers were added up."""
RIGHT, EXPLAINED = "accuracy", "explained"
AIMS = {
    "flips": ("if_o", "unfairly treated among held-out people"),
    "groups": ("spd", "gap between groups in favourable outcomes"),
    "worst_case": ("worst_gap", "widest gap of scores between twins"),
}
AMOUNT_AIMS = {
    "flips": ("if_o", "held-out people whose amount moves beyond the tolerance"),
    "groups": ("mean_gap", "gap between groups in the mean amount"),
    "worst_case": ("worst_gap", "widest gap of amounts between twins"),
}
"""The figure that a goal is about, which the picture holds against accuracy; of amounts, against the explained share of their variance."""


GOALS = {
    "flips": "among held-out real people, and beyond them in the whole domain or for another search method, fewer are treated unfairly",
    "groups": "the gap between groups in favourable outcomes is smaller, and that among those who deserve the same is not larger",
    "worst_case": "the widest gap of scores between twins is smaller",
}
AMOUNT_GOALS = {
    "flips": "among held-out real people, and beyond them in the whole domain or for another search method, fewer amounts move beyond the "
    "tolerance",
    "groups": "the gap between groups in the mean amount is smaller, and that in how far it lies beyond the true one is not larger",
    "worst_case": "the widest gap of amounts between twins is smaller",
}
"""What better means under each goal."""


def is_of_amounts(record: Record) -> bool:
    """Whether models that say amounts were mended."""
    return any(each.get("name") == EXPLAINED for each in (record.body.repairs or {}).get("measures") or [])


def goal_in_short(record: Record) -> str:
    """The figure that the goal is about in two words, for a narrow picture."""
    return {"if_o": "flips", "worst_gap": "widest gap"}.get(_aim(record)[0], "gap of groups")


def goal_is_a_share(record: Record) -> bool:
    """Whether the figure that the goal is about is a share, and not in the label's unit."""
    return not is_of_amounts(record) or _aim(record)[0] == "if_o"


def _aim(record: Record) -> tuple[str, str]:
    aims = AMOUNT_AIMS if is_of_amounts(record) else AIMS
    return aims.get(_goal(record.header.details), aims["flips"])


def goal_changes(record: Record) -> list[tuple[str, Mapping[str, Any], Mapping[str, Any]]]:
    """Of every repair: its name, its change of the figure that the goal is about, and its change of accuracy; first those that are shown to
    be better, and of these the largest fall."""
    lines = (record.body.repairs or {}).get("lines") or []
    figure, kept = _aim(record)[0], EXPLAINED if is_of_amounts(record) else RIGHT
    told = [(line, line.get("changes") or {}) for line in lines if line.get("role") == "repair"]
    both = [(line, changes) for line, changes in told if figure in changes and kept in changes]
    both.sort(key=lambda each: (_rank(each[0]), _estimate(each[1][figure])))
    return [(words.text(line["name"], 40), changes[figure], changes[kept]) for line, changes in both]


def _rank(line: Mapping[str, Any]) -> int:
    return {"better": 0, "better, at a price": 1}.get(str(line.get("verdict")), 2)


def _estimate(change: Mapping[str, Any]) -> float:
    value = change.get("estimate")
    return float(value) if isinstance(value, (int, float)) and math.isfinite(value) else math.inf


def section(record: Record) -> Section | None:
    """The section; None where nothing was mended."""
    told = record.body.repairs
    if not told or not told.get("lines"):
        return None
    details = record.header.details
    lines, measures = told["lines"], told.get("measures") or []
    html = filled(
        "sections/repairs.html.j2",
        picture=pareto(lines, _aim(record), EXPLAINED if is_of_amounts(record) else RIGHT),
        kept="the explained share of the variance" if is_of_amounts(record) else "accuracy",
        left_out=[words.text(line["name"], 40) for line in lines if line.get("verdict") == "alarm"],
        figures=_figures(lines, [{**each, "unit": told.get("unit") or ""} for each in measures], _alpha(details)),
        measures=[{name: words.text(each.get(name), 200) for name in ("title", "meaning", "better")} for each in measures],
        verdicts=_verdicts(told),
        terms=_terms(details) | ({"goal": AMOUNT_GOALS.get(_goal(details), AMOUNT_GOALS["flips"])} if is_of_amounts(record) else {}),
        how=_how(details),
    )
    title = "What is explained against unfairness" if is_of_amounts(record) else "Accuracy against unfairness"
    return Section("repairs", title, "Repairs", html)


def _alpha(details: Mapping[str, Any]) -> float:
    terms = details.get("terms")
    confidence = terms.get("confidence") if isinstance(terms, Mapping) else None
    return 1 - float(confidence) if isinstance(confidence, (int, float)) else 0.05


def _terms(details: Mapping[str, Any]) -> dict[str, str]:
    terms = details.get("terms")
    terms = terms if isinstance(terms, Mapping) else {}
    return {
        "seeds": words.plural(len(details.get("seeds") or []), "seed", "seeds"),
        "confidence": words.level(terms.get("confidence")),
        "tolerance": words.percent(terms.get("tolerance")),
        "goal": GOALS.get(_goal(details), GOALS["flips"]),
    }


def _goal(details: Mapping[str, Any]) -> str:
    terms = details.get("terms")
    return str(terms.get("goal", "flips")) if isinstance(terms, Mapping) else "flips"


def pareto(lines: Sequence[Mapping[str, Any]], aim: tuple[str, str] = AIMS["flips"], kept: str = RIGHT) -> Markup | None:
    """Every repair a dot with its intervals, and the front of what nothing beats; constant answers would squeeze all others."""
    figure, title = aim
    shown = [line for line in lines if line.get("verdict") != "alarm" and line.get("name") != GIVEN and _is_drawn(line, (figure, kept))]
    if not shown:
        return None
    dots = [_dot(line, figure, kept) for line in shown]
    front = sorted((dot.x, dot.y) for dot, line in zip(dots, shown, strict=True) if line.get("on_front"))
    edges = [Line("what nothing beats in both", front, "front", is_dashed=True)] if len(front) > 1 else []
    is_share = kept == RIGHT or figure == "if_o"
    across = Axis.over([dot.x for dot in dots], title, "share" if is_share else "number", floor=0.0)
    up = Axis.over([dot.y for dot in dots], kept, "share")
    unfair = [words.percent(dot.x) if is_share else words.number(dot.x) for dot in dots]
    told = "; ".join(f"{dot.name}: {kept} {dot.y:.1%}, unfair {x}" for dot, x in zip(dots, unfair, strict=True))
    return plot(Plot(told, across, up, edges, dots, WIDE))


def _is_drawn(line: Mapping[str, Any], figures: Sequence[str]) -> bool:
    means = line.get("means") or {}
    return all((means.get(name) or {}).get("estimate") is not None for name in figures)


def _dot(line: Mapping[str, Any], figure: str, kept: str) -> Dot:
    x, y = line["means"][figure], line["means"][kept]
    low = None if x.get("low") is None else max(0.0, x["low"])
    whiskers = Whiskers(low, x.get("high"), y.get("low"), y.get("high"))
    return Dot(words.text(line["name"], 40), x["estimate"], y["estimate"], f"point {words.text(line.get('role'), 20)}", whiskers)


def _figures(lines: Sequence[Mapping[str, Any]], measures: Sequence[Mapping[str, Any]], alpha: float) -> DataTable:
    rows = [
        TableRow(words.text(line["name"], 40), [_cell(line, measure, alpha) for measure in measures], words.text(line.get("role"), 20))
        for line in lines
    ]
    return DataTable("Every repair with every figure", ["Repair", *(words.text(each.get("title"), 60) for each in measures)], rows, True)


def _cell(line: Mapping[str, Any], measure: Mapping[str, Any], alpha: float) -> TableCell:
    mean, change = ((line.get(part) or {}).get(measure.get("name")) or {} for part in ("means", "changes"))
    estimate, moved = mean.get("estimate"), change.get("estimate")
    if estimate is None:
        return TableCell("–", "not measured")
    low, high = mean.get("low"), mean.get("high")
    interval, shown = "" if low is None or high is None else _interval(low, high, measure), _shown(estimate, measure)
    p_value = change.get("p_value")
    if line.get("role") == "control" or not moved or p_value is None or p_value > alpha:
        return TableCell(shown, interval)
    is_good = (moved < 0) == (measure.get("better") == "lower")
    return TableCell(f"{shown} {'▼' if moved < 0 else '▲'}", interval, "good" if is_good else "bad")


def _shown(value: float, measure: Mapping[str, Any]) -> str:
    """In percent, or in the label's unit."""
    if measure.get("is_share", True):
        return words.percent(value if abs(value) > NO_MORE_THAN_ROUNDING else 0.0)
    return f"{words.number(value)} {words.text(measure.get('unit') or '', 20)}".strip()


def _interval(low: float, high: float, measure: Mapping[str, Any]) -> str:
    if measure.get("is_share", True):
        low, high = low if measure.get("name") == EXPLAINED else max(0.0, low), min(1.0, high)
    return f"{_shown(low, measure)} to {_shown(high, measure)}"


def _verdicts(told: Mapping[str, Any]) -> DataTable:
    facts = told.get("facts") or {}
    rows = [_verdict(line, facts.get(line["name"]) or {}) for line in told["lines"]]
    rows += [
        TableRow(words.text(name, 40), [TableCell("not possible"), TableCell(words.text(why, 400), kind="words")])
        for name, why in (told.get("refused") or {}).items()
    ]
    return DataTable("What each repair is worth", ("Repair", "Verdict", "Why"), rows)


def _verdict(line: Mapping[str, Any], facts: Mapping[str, Any]) -> TableRow:
    verdict = words.text(line.get("verdict"), 40)
    why = "; ".join([words.text(line.get("reason"), 400), *(words.text(note, 300) for note in line.get("notes") or [])])
    told = "; ".join(f"{name.replace('_', ' ')} {_fact(value)}" for name, value in facts.items())
    note = f"First seed: {words.shorten(told, 400)}" if told else ""
    return TableRow(words.text(line["name"], 40), [TableCell(verdict, kind=TONES.get(verdict, "")), TableCell(why, note, "words")])


def _fact(value: object) -> str:
    if value in ([], {}, (), ""):
        return "nothing"
    return f"{value:.4g}" if isinstance(value, float) else words.text(value, 60)


def _how(details: Mapping[str, Any]) -> str:
    needed = ("train_method", "judge_method", "train_rows", "held_out_rows")
    if any(details.get(name) is None for name in needed):
        return ""
    classes = (words.text(details[name], 400).split("(")[0] for name in needed[:2])
    train, judge = (re.sub(r"(?<=[a-z])(?=[A-Z])(?!Fair|Sift)", "_", name).lower() for name in classes)  # as methods are named
    return (
        f"For every seed a model of the given kind was fitted to about {words.number(details['train_rows'])} training rows and judged on "
        f"{words.number(details['held_out_rows'])} held-out ones. The findings of {train} trained. The findings of {judge} that are no "
        "twins of those, a new search of that method on every repaired model, held-out real rows and inputs from the whole domain judged. "
        "Repairs that fit a new model are held against the same model fitted again with another seed; the others against the old one."
    )
