"""Methods side by side over many grounds: ranks with their tests, what the findings are good for, discovery, every ground."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from evenhand.report import words
from evenhand.report.charts.canvas import Axis, tone
from evenhand.report.charts.plots import Dot, Line, Plot, legend, plot
from evenhand.report.charts.rows import IntervalChart, IntervalRow, intervals
from evenhand.report.frame import DataTable, Section, TableCell, TableRow, filled
from evenhand.report.record import Record

CURVES_AT_ONCE = 6
TITLES = {
    "mass_covered": "Share of the affected population covered",
    "rules": "Distinct rules found",
    "natural_valid_per_cpu_second": "Natural, valid findings per CPU-second",
    "findings_per_cpu_second": "Findings per CPU-second",
}
QUALITY = {
    "natural_share": ("natural", "share"),
    "valid_share": ("valid", "share"),
    "rules_share": ("rules found", "share"),
    "leaf_pairs_share": ("leaf pairs joined", "share"),
    "unseen": ("unseen", "share"),
    "spread": ("spread", "number"),
    "duplicates_share": ("duplicates", "share"),
    "success_share": ("findings of candidates", "share"),
    "findings": ("findings", "number"),
    "cpu_seconds": ("CPU-seconds", "number"),
    "repaired": ("repaired", "share"),
    "repaired_by_refitting_alone": ("repaired without findings", "share"),
}
MEANINGS = {
    "covered": "of the people of the population whom the model treats unfairly, the share in rules that the method has found.",
    "natural": "at least as likely, under chained trees fitted on one half of the real rows, as all but the unlikeliest 5% of the "
    "other half.",
    "valid": "inside every column’s range and keeping every constraint of the domain. A pair whose twin is impossible is never a finding.",
    "rules": "leaves of one decision tree per ground (at most 256, at least 20 rows each, non-protected columns only) that separates "
    "unfair from fair in a pool of rows, half realistic, half uniform, judged outside any budget; a leaf with unfair rows is a rule. "
    "A method has found it when at least three of its natural, valid findings lie in it.",
    "leaf pairs joined": "a finer tree imitates the model; a finding and its twin join two of its leaves of opposite label. The share is "
    "of all such pairs whose boxes overlap in the columns that twins share, most of which no twin can join: compare methods by it.",
    "unseen": "Good and Turing’s estimate of the chance that this method’s next finding lies in a cell where it has none yet: cells "
    "visited once, of all findings. A cell is a rule leaf together with the two imitation leaves. It speaks of where this method looks, "
    "not of the model: a search that stays in one corner has little unseen.",
    "spread": "mean Gower distance between random pairs of a method’s findings, 0 to 1.",
    "duplicates": "share of the candidates that had been judged before in the same run.",
    "repaired": "how much smaller the share of unfair rows of the pool is after the model was retrained with the findings and their twins, "
    "judged by that random sample and not by the method itself; beside it the same after refitting without findings, which is chance. "
    "Measured only when asked for.",
}

Told = Mapping[str, Any]


def ranks(record: Record) -> Section | None:
    """Who is ahead, by mean ranks with the critical difference, and the champion's duels."""
    told = record.body.standings
    if not told:
        return None
    html = filled(
        "sections/ranks.html.j2",
        budget=_budget(told.get("budget") or {}),
        rankings=[_ranking(figure, told["rankings"][figure], _ordered(told)) for figure in TITLES if figure in told["rankings"]],
    )
    return Section("ranks", "Who is ahead", "Ranks", html)


def good_sets(record: Record) -> Section | None:
    """What the findings are good for, and naturalness against quantity."""
    told = record.body.standings
    if not told:
        return None
    html = filled("sections/good_sets.html.j2", table=_quality(told), scatters=_scatters(told), meanings=list(MEANINGS.items()))
    return Section("quality", "Is it a good test set?", "Good test sets", html)


def discovery(record: Record) -> Section | None:
    """Discovery curves, one picture for each ground."""
    told = record.body.standings
    tones = _tones(told) if told else {}
    charts = [chart for ground in (told or {}).get("curves") or [] if (chart := _curves(ground, tones)) is not None]
    if not charts:
        return None
    html = filled("sections/discovery.html.j2", legend=_legend(tones), charts=charts, at_once=CURVES_AT_ONCE)
    return Section("curves", "Discovery curves", "Discovery", html)


def grounds(record: Record) -> Section | None:
    """Every ground with every method's mean, interval and rank."""
    told = record.body.standings
    if not told:
        return None
    html = filled(
        "sections/grounds.html.j2",
        tables=[_table(told, figure) for figure in TITLES],
        lent=any(cell.get("differences") for cell in told["cells"]),
    )
    return Section("tables", "Every ground", "Every ground", html)


def headline(told: Told) -> str:
    """Who leads, in one sentence."""
    parts = []
    for figure, title in TITLES.items():
        ranked = _whole(told["rankings"].get(figure) or {"": {"wins": {}}})
        wins = {name: count for name, count in ranked["wins"].items() if count}
        if wins:
            best = max(wins, key=lambda name: wins[name])
            among = words.plural(ranked["grounds"], "ground", "grounds")
            parts.append(f"{words.text(best, 40)} leads in {title[0].lower()}{title[1:]} on {wins[best]} of {among}")
    return "; ".join(parts[:2]) + "." if parts else "Nobody is ahead alone on any ground."


def _whole(rankings: Told) -> Told:
    """The ranking over all grounds: the last group."""
    whole: Told = list(rankings.values())[-1]
    return whole


def _ordered(told: Told) -> list[str]:
    """Methods by their mean rank in natural, valid findings; those without one behind."""
    means = _whole(told["rankings"]["natural_valid_per_cpu_second"]).get("mean_ranks", {})
    return sorted(told["methods"], key=lambda name: (means.get(name, float("inf")), told["methods"].index(name)))


def _tones(told: Told) -> dict[str, str]:
    return {name: tone(place) for place, name in enumerate(_ordered(told))}


def _legend(tones: Mapping[str, str]) -> Markup:
    named = [(words.text(name, 40), kind) for name, kind in tones.items() if kind != tone(-1)]
    grey = ", ".join(words.text(name, 30) for name, kind in tones.items() if kind == tone(-1))
    return legend([*named, *([(f"others: {grey}", tone(-1))] if grey else [])])


def _budget(budget: Told) -> str:
    named = {"candidates": "candidates", "model_rows": "model rows", "seconds": "seconds", "cpu_seconds": "CPU-seconds"}
    limits = [f"{words.number(budget[name])} {noun}" for name, noun in named.items() if budget.get(name) is not None]
    return " or ".join(limits) + (", whichever ended first" if len(limits) > 1 else "") if limits else "not recorded"


def _ranking(figure: str, groups: Told, methods: Sequence[str]) -> dict[str, Any]:
    ranked = _whole(groups)
    p, reach = ranked.get("p_value"), ranked.get("critical_difference")
    return {
        "title": TITLES[figure],
        "sentence": "Too few grounds or methods for a test." if p is None else f"Friedman’s test that all are alike: p {_p(p)}.",
        "picture": mean_ranks(ranked),
        "grounds": ranked["grounds"],
        "reach": f"{reach:.2f}" if reach else "",
        "left_out": ", ".join(words.text(name, 40) for name in ranked["left_out"]),
        "champion": words.text(ranked["duels"][0]["champion"], 40) if ranked.get("duels") else "",
        "duels": _duels(ranked.get("duels") or []),
        "families": _families(groups, methods) if len(groups) > 1 else None,
    }


def mean_ranks(ranked: Told) -> Markup | None:
    """One row per method: its mean rank, and half the critical difference to either side."""
    means: dict[str, float] = ranked.get("mean_ranks") or {}
    if len(means) < 2:
        return None
    reach, last = (ranked.get("critical_difference") or 0.0) / 2, float(len(means))
    rows = [
        IntervalRow(
            words.text(name, 48),
            f"mean rank {mean:.2f}, first alone on {ranked['wins'].get(name, 0)} of {ranked['grounds']}",
            max(1.0, mean - reach),
            mean,
            min(last, mean + reach),
        )
        for name, mean in sorted(means.items(), key=lambda each: each[1])
    ]
    return intervals(IntervalChart("Mean ranks.", rows, Axis(1.0, last)))


def _duels(duels: Sequence[Told]) -> DataTable | None:
    if not duels:
        return None
    rows = [
        TableRow(
            words.text(each["other"], 40),
            [TableCell(str(each[name])) for name in ("wins", "ties", "losses")]
            + [TableCell(_p(each[name]).lstrip("= ")) for name in ("p_value", "adjusted")],
        )
        for each in duels
    ]
    return DataTable("", ("Against", "Won", "Tied", "Lost", "p (Wilcoxon)", "p adjusted"), rows)


def _families(groups: Told, methods: Sequence[str]) -> DataTable:
    families = list(groups.items())[:-1]
    rows = [TableRow(words.text(name, 40), [_family_cell(ranked, name) for _, ranked in families]) for name in methods]
    return DataTable("Mean rank · first places alone", ["Method", *(words.text(name, 30) for name, _ in families)], rows, True)


def _family_cell(ranked: Told, method: str) -> TableCell:
    means = ranked.get("mean_ranks", {})
    return TableCell(f"{means[method]:.2f} · {ranked['wins'][method]}" if method in means else "–")


def _p(value: float) -> str:
    return "< 0.0001" if value < 0.0001 else f"= {value:.4f}"


def _quality(told: Told) -> DataTable:
    methods, quality = _ordered(told), told["quality"]
    shown = [name for name in QUALITY if any(quality[m].get(name) is not None for m in methods)]
    rows = [TableRow(words.text(m, 40), [_quality_cell(quality[m].get(name), QUALITY[name][1]) for name in shown]) for m in methods]
    return DataTable("Means over the grounds where the method finished", ["Method", *(QUALITY[name][0] for name in shown)], rows, True)


def _quality_cell(value: float | None, kind: str) -> TableCell:
    if value is None:
        return TableCell("–")
    return TableCell(f"{value:.1%}" if kind == "share" else words.number(value))


def _scatters(told: Told) -> list[dict[str, Any]]:
    """Naturalness (up) against findings per CPU-second, a picture for each model family."""
    tones, charts = _tones(told), []
    for family in dict.fromkeys(ground["model"] for ground in told["grounds"]):
        dots = [dot for method in told["methods"] if (dot := _scatter_dot(told, family, method, tones[method])) is not None]
        if dots:
            title = words.text(family, 40)
            said = "; ".join(f"{dot.name}: {words.number(dot.x)} a second, {dot.y:.0%} natural" for dot in dots)
            across = Axis.decades([dot.x for dot in dots], "findings per CPU-second")
            charts.append(
                {"title": title, "picture": plot(Plot(f"{title}. {said}", across, Axis(0.0, 1.0, "natural", "share"), dots=dots))}
            )
    return charts


def _scatter_dot(told: Told, family: str, method: str, kind: str) -> Dot | None:
    cells = [c["figures"] for c in told["cells"] if c["model"] == family and c["method"] == method]
    pace, natural = (_mean(cells, name) for name in ("findings_per_cpu_second", "natural_share"))
    return Dot(words.text(method, 40), pace, natural, kind) if pace and natural is not None else None


def _mean(cells: Sequence[Told], name: str) -> float | None:
    values = [cell[name]["mean"] for cell in cells if name in cell]
    return sum(values) / len(values) if values else None


def _curves(ground: Told, tones: Mapping[str, str], figure: str = "natural_valid") -> dict[str, Any] | None:
    """Findings against model rows, both logarithmic, one line per method; None when nobody found anything."""
    kept = {name: line for name, line in ground["lines"].items() if line.get(figure) and max(line[figure]) >= 1}
    if not kept:
        return None
    drawn = sorted(kept, key=lambda name: tones[name] != tone(-1))  # colours are drawn over grey
    lines = [
        Line(words.text(name, 40), list(zip(kept[name]["model_rows"], kept[name][figure], strict=True)), tones[name]) for name in drawn
    ]
    best = max(kept, key=lambda name: kept[name][figure][-1])
    title = ", ".join(words.text(ground[name], 30) for name in ("dataset", "protected", "model"))
    said = f"{title}: {words.text(best, 40)} ends highest with {words.number(round(kept[best][figure][-1]))}."
    across = Axis.decades([max(x, 1.0) for line in lines for x, _ in line.points], "rows asked of the model")
    up = Axis.decades([1.0, *(max(line[figure]) for line in kept.values())], "findings")
    return {"title": title, "picture": plot(Plot(said, across, up, lines))}


def _table(told: Told, figure: str) -> DataTable:
    methods, rows = _ordered(told), []
    for ground in told["grounds"]:
        cells = {c["method"]: c for c in told["cells"] if all(c[name] == ground[name] for name in ground)}
        means = {m: cells[m]["figures"][figure]["mean"] for m in methods if figure in cells[m]["figures"]}
        title = " ".join(words.text(ground[name], 30) for name in ("dataset", "protected", "model"))
        rows.append(TableRow(title, [_ground_cell(cells[m], figure, means) for m in methods]))
    return DataTable(TITLES[figure], ["Ground", *(words.text(name, 40) for name in methods)], rows, True)


def _ground_cell(cell: Told, figure: str, means: Mapping[str, float]) -> TableCell:
    if figure not in cell["figures"]:
        return TableCell(" / ".join(dict.fromkeys(words.text(status, 30) for status in cell["statuses"])) or "–")
    found = cell["figures"][figure]
    rank = 1 + sum(other > found["mean"] for other in means.values())
    interval = "" if found["low"] is None else f"{words.number(max(0.0, found['low']))} – {words.number(found['high'])}"
    lent = "†" if cell.get("differences") else ""
    return TableCell(f"{words.number(found['mean'])}{lent} ({rank})", interval, "best" if rank == 1 else "")
