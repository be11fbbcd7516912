"""The arena's result in a small file, and as Markdown tables between the markers of docs/arena.md and README.md."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RESULT = ROOT / "docs" / "arena.json"
BEGIN, END = "<!-- arena:begin -->", "<!-- arena:end -->"
FAMILIES = {"mlp": "DNN", "forest": "random forest", "boosting": "gradient boosting", "svm": "SVM"}
FIGURES = {
    "mass_covered": "Share of the affected population that is covered",
    "rules": "Distinct rules found",
    "natural_valid_per_cpu_second": "Natural, valid findings per CPU-second",
    "natural_valid_per_thousand_rows": "Natural, valid findings per thousand questions",
}
README_FIGURES = ("mass_covered", "rules", "natural_valid_per_cpu_second")
SHARES = ("natural_share", "valid_share", "rules_share", "leaf_pairs_share", "unseen", "duplicates_share")
JUDGED = {
    "natural_by_neighbours": "neighbours",
    "natural_by_classifier": "classifier",
    "natural_by_density": "density",
    "natural_share": "neighbours and classifier",
    "twin_natural_share": "twins",
    "sample_auc": "AUC",
    "rate_error": "rate error",
    "findings_per_cpu_second": "findings per CPU-s",
}
"""What the three judges say of a method's findings, averaged over its runs, and the heads of the table's columns."""


def compact(standings: Mapping[str, Any], about: Mapping[str, Any], records: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """What the documents need of the standings: means by ground, ranks and first places by family, qualities by method."""
    grounds = []
    for ground in standings["grounds"]:
        cells = [c for c in standings["cells"] if all(c[name] == ground[name] for name in ground)]
        means = {c["method"]: {f: _short(c["figures"][f]) for f in FIGURES if f in c["figures"]} for c in cells}
        grounds.append(
            {**ground, "rules_total": next((c["rules_total"] for c in cells if c["rules_total"] is not None), None), "means": means}
        )
    ranked = {f: {g: _ranked(r) for g, r in groups.items()} for f, groups in standings["rankings"].items()}
    quality = {
        m: {name: _rounded(q.get(name)) for name in (*SHARES, "spread", "findings_per_cpu_second")} for m, q in standings["quality"].items()
    }
    troubles = [{name: each[name] for name in ("method", "status", "reason", "runs")} for each in standings["troubles"]]
    told = {name: standings[name] for name in ("methods", "seeds", "dates", "budget", "runs")}
    judged = {method: _judged(method, records) for method in standings["methods"]}
    return {**about, **told, "rankings": ranked, "quality": quality, "judged": judged, "grounds": grounds, "troubles": troubles}


def _judged(method: str, records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Means of what the judges say over a method's runs, and how many of them ended early, after how many CPU-seconds."""
    runs = [each for each in records if each["method"] == method and each["status"] == "done"]
    told: dict[str, Any] = {name: _mean([each.get(name) for each in runs]) for name in JUDGED}
    early = [each for each in runs if each.get("ended_early")]
    return {**told, "runs": len(runs), "ended_early": len(early), "early_seconds": _mean([each["cpu_seconds_used"] for each in early])}


def _mean(values: Sequence[float | None]) -> float | None:
    known = [float(value) for value in values if value is not None]
    return _rounded(sum(known) / len(known)) if known else None


def _short(mean: Mapping[str, Any]) -> list[float | None]:
    return [_rounded(mean[name]) for name in ("mean", "low", "high")]


def _ranked(ranked: Mapping[str, Any]) -> dict[str, Any]:
    means = {name: round(rank, 3) for name, rank in ranked.get("mean_ranks", {}).items()}
    wins = {name: count for name, count in ranked["wins"].items() if count}
    shared = {name: count for name, count in ranked["shared"].items() if count}
    tests = {name: _rounded(ranked.get(name)) for name in ("p_value", "critical_difference")}
    duels = [[d["other"], d["wins"], d["ties"], d["losses"], _rounded(d["adjusted"])] for d in ranked.get("duels", [])]
    return {"grounds": ranked["grounds"], "mean_ranks": means, "wins": wins, "shared": shared, **tests, "duels": duels}


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")


def keep(result: Mapping[str, Any]) -> None:
    """Write the small file and the tables."""
    RESULT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    between(ROOT / "docs" / "arena.md", page_tables(result))
    between(ROOT / "README.md", readme_table(result))


def between(path: Path, text: str) -> None:
    """Replace what stands between the markers."""
    whole = path.read_text(encoding="utf-8")
    if BEGIN not in whole or END not in whole:
        raise SystemExit(f"{path} lacks the markers {BEGIN} and {END}; add them where the table belongs")
    before, rest = whole.split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    path.write_text(f"{before}{BEGIN}\n{text.strip()}\n{END}{after}", encoding="utf-8")


def said_budget(result: Mapping[str, Any]) -> str:
    """How it was measured, for below a table."""
    budget = " or ".join(f"{value:g} {name.replace('_', ' ')}" for name, value in result["budget"].items() if value is not None)
    seeds = f"{len(result['seeds'])} seed{'s' * (len(result['seeds']) > 1)} ({', '.join(map(str, result['seeds']))})"
    return f"`{result['command']}`, {result['dates'][-1]}, {seeds}, {budget} for each run, {result['runs']:,} runs."


def readme_table(result: Mapping[str, Any]) -> str:
    """Methods down, families across: mean rank and first places in both figures."""
    families = [f for f in FAMILIES if f in result["rankings"]["rules"]]
    heads = ["method", *(f"{FAMILIES[f]}" for f in families)]
    lines = [_row(heads), _row(["---", *["---"] * len(families)])]
    for method in by_rank(result):
        cells = []
        for family in families:
            pair = [_place(result["rankings"][figure][family], method) for figure in README_FIGURES]
            cells.append(" / ".join(pair))
        lines.append(_row([f"`{method}`", *cells]))
    grounds = next(iter(result["rankings"]["rules"].values()))["grounds"]
    told = (
        f"Mean rank over {grounds} data-set/attribute pairs (1 is best) in the share of the affected population that is covered / in "
        "distinct rules found / in natural, valid findings per CPU-second; in brackets on how many pairs the method is ahead of "
        "every other alone. "
    )
    return "\n".join(lines) + f"\n\n{told}{said_budget(result)}"


def _place(ranked: Mapping[str, Any], method: str) -> str:
    rank = ranked["mean_ranks"].get(method)
    wins = ranked["wins"].get(method, 0)
    return "–" if rank is None else f"{rank:.1f}" + (f" ({wins})" if wins else "")


def by_rank(result: Mapping[str, Any]) -> list[str]:
    """Methods by their mean rank over everything; those that could not be run everywhere by their mean over families."""

    def rank(method: str) -> float:
        groups = result["rankings"]["natural_valid_per_cpu_second"].values()
        placed = [group["mean_ranks"][method] for group in groups if method in group["mean_ranks"]]
        return sum(placed) / len(placed) if placed else float("inf")

    return sorted(result["methods"], key=rank)


def page_tables(result: Mapping[str, Any]) -> str:
    """Everything: both figures by ground with intervals, first places, duels, qualities, what was not run."""
    methods = by_rank(result)
    parts = [f"{said_budget(result)}"]
    for figure, title in FIGURES.items():
        parts += [f"### {title}", _grounds_table(result, figure, methods), _tests(result, figure)]
    parts += ["### What three judges say", _judged_table(result, methods), "### Good test sets", _quality_table(result, methods)]
    parts += ["### What survives", survives(result)]
    if result["troubles"]:
        parts += ["### Not run, or not finished", _troubles(result["troubles"])]
    return "\n\n".join(parts)


def _grounds_table(result: Mapping[str, Any], figure: str, methods: Sequence[str]) -> str:
    lines = [_row(["ground", *(f"`{m}`" for m in methods)]), _row(["---", *["---:"] * len(methods)])]
    for ground in result["grounds"]:
        means = ground["means"]
        best = max((means[m][figure][0] for m in methods if figure in means.get(m, {})), default=None)
        total = f" (of {ground['rules_total']:.0f})" if figure == "rules" and ground["rules_total"] is not None else ""
        cells = [_cell(means.get(m, {}).get(figure), best) for m in methods]
        lines.append(_row([f"{ground['dataset']} {ground['protected']} {ground['model']}{total}", *cells]))
    return "\n".join(lines)


def _cell(mean: Sequence[float | None] | None, best: float | None) -> str:
    if mean is None or mean[0] is None:
        return "–"
    shown = f"**{_number(mean[0])}**" if mean[0] == best else _number(mean[0])
    half = None if mean[2] is None else mean[2] - mean[0]
    return shown if half is None else f"{shown} ±{_number(half)}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _tests(result: Mapping[str, Any], figure: str) -> str:
    groups = result["rankings"][figure]
    lines = []
    for name, ranked in groups.items():
        wins = ", ".join(f"`{m}` {n}" for m, n in sorted(ranked["wins"].items(), key=lambda each: -each[1])) or "nobody"
        shared = ", ".join(f"`{m}` {n}" for m, n in sorted(ranked["shared"].items(), key=lambda each: -each[1]))
        tested = (
            ""
            if ranked["p_value"] is None
            else f"; Friedman p = {ranked['p_value']:.2g}, critical difference {ranked['critical_difference']:.2f}"
        )
        beside = f"; first together with others: {shared}" if shared else ""
        lines.append(f"- {FAMILIES.get(name, name)}: ahead of every other alone, of {ranked['grounds']}: {wins}{beside}{tested}")
    duels = list(groups.values())[-1]["duels"]
    if duels:
        lost = ", ".join(f"`{other}` {w}:{lo} (p {p:.2g})" for other, w, _, lo, p in duels)
        lines.append(f"- `evenhand` against each, pairs won : lost (Wilcoxon, Holm): {lost}")
    return "\n".join(lines)


def _quality_table(result: Mapping[str, Any], methods: Sequence[str]) -> str:
    heads = ["method", "natural", "valid", "rules found", "leaf pairs joined", "unseen", "duplicates", "spread", "findings per CPU-s"]
    lines = [_row(heads), _row(["---", *["---:"] * (len(heads) - 1)])]
    for method in methods:
        quality = result["quality"][method]
        shares = ["–" if quality[name] is None else f"{quality[name]:.1%}" for name in SHARES]
        numbers = ["–" if quality[name] is None else _number(quality[name]) for name in ("spread", "findings_per_cpu_second")]
        lines.append(_row([f"`{method}`", *shares, *numbers]))
    return "\n".join(lines)


def _judged_table(result: Mapping[str, Any], methods: Sequence[str]) -> str:
    heads = ["method", *JUDGED.values(), "ended early"]
    lines = [_row(heads), _row(["---", *["---:"] * (len(heads) - 1)])]
    for method in methods:
        told = result["judged"].get(method) or {}
        cells = [_judged_cell(name, told.get(name)) for name in JUDGED]
        early = f"{told['ended_early']} of {told['runs']}, after {told['early_seconds']:.2g} s" if told.get("ended_early") else "–"
        lines.append(_row([f"`{method}`", *cells, early]))
    return "\n".join(lines)


def _judged_cell(name: str, value: float | None) -> str:
    if value is None:
        return "–"
    return (
        _number(value) if name == "findings_per_cpu_second" else f"{value:.2f}" if name in ("sample_auc", "rate_error") else f"{value:.0%}"
    )


def survives(result: Mapping[str, Any]) -> str:
    """What the result says of `evenhand`, claim by claim, lost grounds included."""
    lines = []
    for figure, title in FIGURES.items():
        margins = [_against(ground["means"], figure) for ground in result["grounds"]]
        told = [each for each in margins if each is not None]
        ahead = sum(ratio > 1 for ratio, _ in told)
        lost = [f"{' '.join(str(g[n]) for n in ('dataset', 'protected', 'model'))} (to `{each[1]}`, {each[0]:.2g})"
                for g, each in zip(result["grounds"], margins, strict=True) if each is not None and each[0] < 1]  # fmt: skip
        middle = sorted(ratio for ratio, _ in told)[len(told) // 2] if told else float("nan")
        words = f"ahead of every other method on {ahead} of {len(told)} grounds, {middle:.2g} times the best other in the median"
        lines.append(f"- {title}: {words}{'; behind on ' + ', '.join(lost) if lost else ''}.")
    return "\n".join(lines)


def _against(means: Mapping[str, Any], figure: str) -> tuple[float, str] | None:
    """`evenhand` divided by the best other method, and which that is."""
    found = {method: told[figure][0] for method, told in means.items() if figure in told and told[figure][0] is not None}
    others = {method: value for method, value in found.items() if method != "evenhand"}
    if "evenhand" not in found or not others:
        return None
    best = max(others, key=lambda method: others[method])
    return (found["evenhand"] / others[best] if others[best] else float("inf")), best


def _troubles(troubles: Sequence[Mapping[str, Any]]) -> str:
    return "\n".join(f"- `{t['method']}` {t['status']} ({t['runs']} runs): {t['reason']}" for t in troubles)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
