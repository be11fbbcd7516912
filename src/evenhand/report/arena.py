"""A campaign's standings as one self-contained HTML page: nothing is fetched, no script runs, everything from the data is escaped."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from evenhand.errors import InvalidArgument
from evenhand.report import arena_pictures, words, writing
from evenhand.report.html import _environment

CURVES_AT_ONCE = 6
TITLES = {
    "natural_valid_per_cpu_second": "Natural, valid findings per CPU-second",
    "rules": "Distinct rules found",
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
    "natural": "at least as likely, under chained trees fitted on one half of the real rows, as all but the unlikeliest 5% of the "
    "other half.",
    "valid": "inside every column’s range and keeping every constraint of the domain. A pair whose twin is impossible is never a finding.",
    "rules": "leaves of one decision tree per ground (at most 64, at least 50 rows each, non-protected columns only) that separates unfair "
    "from fair in a pool of rows, half realistic, half uniform, judged outside any budget; a leaf with unfair rows is a rule. A method "
    "has found it when at least three of its natural, valid findings lie in it.",
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


def write(standings: Mapping[str, Any], path: Path) -> Path:
    """Write the page."""
    return writing.save(render(standings), Path(path))


def render(standings: Mapping[str, Any]) -> str:
    """The page as text; equal standings give equal pages."""
    if standings.get("evenhand_arena") != 1:
        raise InvalidArgument("standings: this is no arena result, or one of another version; expected evenhand_arena 1")
    return _environment().get_template("arena.html.j2").render(_context(standings))


def _context(told: Mapping[str, Any]) -> dict[str, Any]:
    style = "\n".join(_environment().get_template(name).render().strip() for name in ("style.css", "arena.css"))
    ordered = _ordered(told)
    tone = arena_pictures.tones(ordered)
    drawn = [arena_pictures.curves(ground, tone, "natural_valid") for ground in told["curves"]]
    return {
        "style": Markup(style),  # noqa: S704 - our own files, with nothing of the data in them
        "style_digest": base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
        **{name: told[name] for name in ("grounds", "seeds", "dates", "runs")},
        "methods": ordered,
        "headline": _headline(told),
        "budget": _budget(told["budget"]),
        "rankings": [_ranking(figure, told["rankings"][figure]) for figure in TITLES],
        **_quality(told, ordered),
        "scatters": _scatters(told, tone),
        "curves": [chart for chart in drawn if chart is not None],
        "curves_at_once": CURVES_AT_ONCE,
        "legend": [(name, each) for name, each in tone.items() if each != "tone-line-other"] + _others(tone),
        "tables": [_table(told, figure, ordered) for figure in TITLES],
        "lent": any(cell["differences"] for cell in told["cells"]),
        "troubles": [{**each, "grounds": words.shorten(", ".join(each["grounds"]), 300)} for each in told["troubles"]],
        "meanings": list(MEANINGS.items()),
        "width": arena_pictures.WIDTH,
        "height": arena_pictures.HEIGHT,
        "left": arena_pictures.LEFT,
        "right": arena_pictures.RIGHT,
        "top": arena_pictures.TOP,
        "bottom": arena_pictures.BOTTOM,
    }


def _others(tone: Mapping[str, str]) -> list[tuple[str, str]]:
    grey = [name for name, each in tone.items() if each == "tone-line-other"]
    return [(f"others: {', '.join(words.text(name, 30) for name in grey)}", "tone-line-other")] if grey else []


def _whole(rankings: Mapping[str, Any]) -> Mapping[str, Any]:
    """The ranking over all grounds: the last group."""
    whole: Mapping[str, Any] = list(rankings.values())[-1]
    return whole


def _ordered(told: Mapping[str, Any]) -> list[str]:
    """Methods by their mean rank in natural, valid findings; those without one behind."""
    means = _whole(told["rankings"]["natural_valid_per_cpu_second"]).get("mean_ranks", {})
    return sorted(told["methods"], key=lambda name: (means.get(name, float("inf")), told["methods"].index(name)))


def _headline(told: Mapping[str, Any]) -> str:
    parts = []
    for figure, title in list(TITLES.items())[:2]:
        ranked = _whole(told["rankings"][figure])
        wins = {name: count for name, count in ranked["wins"].items() if count}
        if wins:
            best = max(wins, key=lambda name: wins[name])
            parts.append(f"{words.text(best, 40)} leads in {title[0].lower()}{title[1:]} on {wins[best]} of {ranked['grounds']} grounds")
    return "; ".join(parts) + "." if parts else "Nobody is ahead alone on any ground."


def _budget(budget: Mapping[str, Any]) -> str:
    named = {"candidates": "candidates", "model_rows": "model rows", "seconds": "seconds", "cpu_seconds": "CPU-seconds"}
    limits = [f"{words.number(budget[name])} {noun}" for name, noun in named.items() if budget.get(name) is not None]
    return " or ".join(limits) + (", whichever ended first" if len(limits) > 1 else "") if limits else "not recorded"


def _ranking(figure: str, groups: Mapping[str, Any]) -> dict[str, Any]:
    ranked = _whole(groups)
    p, reach = ranked.get("p_value"), ranked.get("critical_difference")
    sentence = "Too few grounds or methods for a test." if p is None else f"Friedman’s test that all are alike: p {_p(p)}."
    duels = [
        {**each, "p": _p(each["p_value"]).lstrip("= "), "adjusted": _p(each["adjusted"]).lstrip("= ")} for each in ranked.get("duels", [])
    ]
    families = [] if len(groups) < 2 else [_family(name, each) for name, each in list(groups.items())[:-1]]
    return {
        "title": TITLES[figure],
        "sentence": sentence,
        "picture": arena_pictures.mean_ranks(ranked),
        "grounds": ranked["grounds"],
        "reach": f"{reach:.2f}" if reach else "",
        "left_out": ", ".join(words.text(name, 40) for name in ranked["left_out"]),
        "duels": duels,
        "champion": words.text(duels[0]["champion"], 40) if duels else "",
        "families": families,
    }


def _family(name: str, ranked: Mapping[str, Any]) -> dict[str, Any]:
    means = ranked.get("mean_ranks", {})
    shown = {m: f"{means[m]:.2f} · {wins}" if m in means else "–" for m, wins in ranked["wins"].items()}
    return {"name": name, "cells": shown}


def _p(value: float) -> str:
    return "< 0.0001" if value < 0.0001 else f"= {value:.4f}"


def _quality(told: Mapping[str, Any], methods: Sequence[str]) -> dict[str, Any]:
    quality = told["quality"]
    shown = [name for name in QUALITY if any(quality[m].get(name) is not None for m in methods)]
    rows = [{"name": m, "cells": [_said(quality[m].get(name), QUALITY[name][1]) for name in shown]} for m in methods]
    return {"quality_heads": [QUALITY[name][0] for name in shown], "quality": rows}


def _said(value: float | None, kind: str) -> str:
    if value is None:
        return "–"
    return f"{value:.1%}" if kind == "share" else words.number(value)


def _scatters(told: Mapping[str, Any], tone: Mapping[str, str]) -> list[arena_pictures.Chart]:
    charts = []
    for family in dict.fromkeys(ground["model"] for ground in told["grounds"]):
        places = {}
        for method in told["methods"]:
            cells = [c["figures"] for c in told["cells"] if c["model"] == family and c["method"] == method]
            pace, natural = (_mean(cells, name) for name in ("findings_per_cpu_second", "natural_share"))
            if pace is not None and natural is not None:
                places[method] = pace, natural
        charts.append(arena_pictures.scatter(words.text(family, 40), places, tone))
    return [chart for chart in charts if chart is not None]


def _mean(cells: Sequence[Mapping[str, Any]], name: str) -> float | None:
    values = [cell[name]["mean"] for cell in cells if name in cell]
    return sum(values) / len(values) if values else None


def _table(told: Mapping[str, Any], figure: str, methods: Sequence[str]) -> dict[str, Any]:
    rows = []
    for ground in told["grounds"]:
        cells = {c["method"]: c for c in told["cells"] if all(c[name] == ground[name] for name in ground)}
        means = {m: cells[m]["figures"][figure]["mean"] for m in methods if figure in cells[m]["figures"]}
        title = f"{words.text(ground['dataset'], 30)} {words.text(ground['protected'], 30)} {words.text(ground['model'], 30)}"
        rows.append({"ground": title, "cells": [_table_cell(cells[m], figure, means) for m in methods]})
    return {"title": TITLES[figure], "rows": rows}


def _table_cell(cell: Mapping[str, Any], figure: str, means: Mapping[str, float]) -> dict[str, Any]:
    if figure not in cell["figures"]:
        return {"mean": "", "status": " / ".join(dict.fromkeys(cell["statuses"])) or "–"}
    found = cell["figures"][figure]
    rank = 1 + sum(other > found["mean"] for other in means.values())
    interval = "" if found["low"] is None else f"{words.number(max(0.0, found['low']))} – {words.number(found['high'])}"
    return {"mean": words.number(found["mean"]), "interval": interval, "rank": rank, "best": rank == 1, "lent": cell["differences"]}
