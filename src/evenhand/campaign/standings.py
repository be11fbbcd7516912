"""What a campaign's records say together: means and intervals, ranks, critical differences, duels, curves; one JSON for all renderings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from evenhand.arrays import Reals
from evenhand.campaign.contest import DONE
from evenhand.statistics.ranking import corrected, duel, mean_interval, ranking

Record = Mapping[str, Any]
Ground = tuple[str, str, str]  # data set, protected, model

FIGURES = (
    "mass_covered", "rules", "natural_valid_per_cpu_second", "natural_valid_per_thousand_rows", "findings_per_cpu_second",
    "findings", "natural_valid_findings", "rules_unfiltered",
    "natural_share", "valid_share", "duplicates_share", "success_share", "leaf_pairs", "unseen", "spread", "cells", "cpu_seconds",
    "repaired", "repaired_by_refitting_alone",
)  # fmt: skip
RANKED = ("mass_covered", "rules", "natural_valid_per_cpu_second", "natural_valid_per_thousand_rows", "findings_per_cpu_second")
"""Figures by which methods are ranked; more is better."""
POINTS = 24
"""Of a discovery curve averaged over seeds."""
EVERYWHERE = "all"


@dataclass(frozen=True)
class Standings:
    """A campaign's records by method and ground."""

    records: tuple[Record, ...]

    @cached_property
    def methods(self) -> list[str]:
        """Every entrant, in the order of the records."""
        return list(dict.fromkeys(str(r["method"]) for r in self.records))

    @cached_property
    def grounds(self) -> list[Ground]:
        """Every ground, in the order of the records."""
        return list(dict.fromkeys(ground_of(r) for r in self.records))

    @cached_property
    def _done(self) -> dict[tuple[Ground, str], list[Record]]:
        cells: dict[tuple[Ground, str], list[Record]] = {}
        for each in self.records:
            if each["status"] == DONE:
                cells.setdefault((ground_of(each), str(each["method"])), []).append(each)
        return cells

    def values(self, ground: Ground, method: str, figure: str) -> list[float]:
        """The figure of every finished run of a method on a ground."""
        runs = self._done.get((ground, method), [])
        return [float(r[figure]) for r in runs if r.get(figure) is not None]

    def mean(self, ground: Ground, method: str, figure: str) -> float | None:
        """Its mean over seeds; None where nothing was finished."""
        values = self.values(ground, method, figure)
        return float(np.mean(values)) if values else None

    def within(self, group: str) -> list[Ground]:
        """The grounds of one model family, or all."""
        return [ground for ground in self.grounds if group in (EVERYWHERE, ground[2])]

    @cached_property
    def groups(self) -> list[str]:
        """The model families, and all together where there are several."""
        families = list(dict.fromkeys(ground[2] for ground in self.grounds))
        return [*families, EVERYWHERE] if len(families) > 1 else families

    def as_dict(self) -> dict[str, Any]:
        """Everything that a page or a table shows."""
        return {
            "evenhand_arena": 1,
            "methods": self.methods,
            "grounds": [dict(zip(("dataset", "protected", "model"), ground, strict=True)) for ground in self.grounds],
            "seeds": sorted({int(r["seed"]) for r in self.records}),
            "dates": sorted({str(r["date"]) for r in self.records if r.get("date")}),
            "budget": next((r["budget"] for r in self.records if r.get("budget")), {}),
            "runs": len(self.records),
            "cells": [self._cell(ground, method) for ground in self.grounds for method in self.methods],
            "rankings": {figure: {group: self._ranked(figure, group) for group in self.groups} for figure in RANKED},
            "quality": {method: self._quality(method) for method in self.methods},
            "curves": [self._curves(ground) for ground in self.grounds],
            "troubles": troubles(self.records),
        }

    def _cell(self, ground: Ground, method: str) -> dict[str, Any]:
        figures = {name: asdict(mean_interval(values)) for name in FIGURES if (values := self.values(ground, method, name))}
        totals = {name: self.mean(ground, method, name) for name in ("rules_total", "leaf_pairs_possible")}
        statuses = [str(r["status"]) for r in self.records if ground_of(r) == ground and r["method"] == method]
        lent = any(r.get("gradients") == "differences" for r in self._done.get((ground, method), []))
        place = dict(zip(("dataset", "protected", "model"), ground, strict=True))
        return {**place, "method": method, "figures": figures, **totals, "statuses": statuses, "differences": lent}

    def _ranked(self, figure: str, group: str) -> dict[str, Any]:
        grounds = self.within(group)
        table = {m: [self.mean(ground, m, figure) for ground in grounds] for m in self.methods}
        complete = [m for m, scores in table.items() if all(score is not None for score in scores)]
        found: dict[str, Any] = {"grounds": len(grounds), "methods": complete, "left_out": [m for m in self.methods if m not in complete]}
        found["wins"] = {m: sum(self.margin(ground, m, figure) > 0 for ground in grounds) for m in self.methods}
        found["shared"] = {m: sum(self.margin(ground, m, figure) == 0 for ground in grounds) for m in self.methods}
        if not complete:
            return found
        scores = np.array([table[m] for m in complete], np.float64).T
        placed = ranking(scores)
        found |= {"mean_ranks": dict(zip(complete, placed.mean_ranks.tolist(), strict=True)), "p_value": placed.p_value}
        found["critical_difference"] = placed.critical_difference
        return found | {"duels": self._duels(complete, scores, placed.mean_ranks)}

    def _duels(self, methods: Sequence[str], scores: Reals, mean_ranks: Reals) -> list[dict[str, Any]]:
        """The champion (`evenhand` where it takes part, else whoever ranks first) against each other method."""
        champion = methods.index("evenhand") if "evenhand" in methods else int(np.argmin(mean_ranks))
        others = [at for at in range(len(methods)) if at != champion]
        fought = [duel(scores[:, champion], scores[:, at]) for at in others]
        adjusted = corrected(fought).tolist() if fought else []
        pairs = zip(others, fought, adjusted, strict=True)
        return [{"champion": methods[champion], "other": methods[at], **asdict(each), "adjusted": p} for at, each, p in pairs]

    def margin(self, ground: Ground, method: str, figure: str, aside: Sequence[str] = ()) -> float:
        """How far the method's mean is ahead of every other's: 0 for a shared first place, below 0 for none or nothing found.

        Methods named in `aside` are not counted as others.
        """
        mine = self.mean(ground, method, figure)
        rivals = [other for other in self.methods if other not in (method, *aside)]
        others = [score for other in rivals if (score := self.mean(ground, other, figure)) is not None]
        return mine - max(others, default=0.0) if mine else -1.0

    def _quality(self, method: str) -> dict[str, float | None]:
        """Each figure averaged over the grounds where the method finished."""
        means = {}
        for name in FIGURES:
            values = [v for ground in self.grounds if (v := self.mean(ground, method, name)) is not None]
            means[name] = float(np.mean(values)) if values else None
        for name, of in (("rules", "rules_total"), ("leaf_pairs", "leaf_pairs_possible")):
            means[f"{name}_share"] = self._share(method, name, of)
        return means

    def _share(self, method: str, name: str, of: str) -> float | None:
        pairs = [(self.mean(g, method, name), self.mean(g, method, of)) for g in self.grounds]
        shares = [part / whole for part, whole in pairs if part is not None and whole]
        return float(np.mean(shares)) if shares else None

    def _curves(self, ground: Ground) -> dict[str, Any]:
        place = dict(zip(("dataset", "protected", "model"), ground, strict=True))
        lines = {m: line for m in self.methods if (line := averaged_curve(self._done.get((ground, m), []))) is not None}
        return {**place, "lines": lines}


def ground_of(record: Record) -> Ground:
    """Where a run was made."""
    return str(record["dataset"]), str(record["protected"]), str(record["model"])


def averaged_curve(runs: Sequence[Record]) -> dict[str, list[float]] | None:
    """Findings at equal numbers of model rows, averaged over seeds, on a logarithmic scale; None without a point."""
    curves = [r["curve"] for r in runs if r.get("curve") and r["curve"]["model_rows"]]
    if not curves:
        return None
    last = min(max(curve["model_rows"]) for curve in curves)
    first = max(1, min(curve["model_rows"][0] for curve in curves))
    if last < first:
        return None
    at = np.geomspace(first, last, POINTS) if last > first else np.array([float(last)])
    found = np.mean([np.interp(at, c["model_rows"], c["findings"]) for c in curves], axis=0)
    natural = [np.interp(at, c["model_rows"], c["natural_valid"]) for c in curves if c["natural_valid"]]
    good = np.mean(natural, axis=0).tolist() if natural else []
    return {"model_rows": at.tolist(), "findings": found.tolist(), "natural_valid": good}


def troubles(records: Sequence[Record]) -> list[dict[str, Any]]:
    """Runs that were not finished, alike ones together."""
    counted: dict[tuple[str, str, str], list[Record]] = {}
    for each in records:
        if each["status"] != DONE:
            counted.setdefault((str(each["method"]), str(each["status"]), str(each["reason"])), []).append(each)
    told = []
    for (method, status, reason), runs in counted.items():
        places = list(dict.fromkeys(" ".join(ground_of(r)) for r in runs))
        told.append({"method": method, "status": status, "reason": reason, "runs": len(runs), "grounds": places})
    return told
