"""The report of a campaign: classes ranked with intervals, per operator, cluster and oracle, as JSON and as one HTML page."""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.errors import require
from evenhand.measures.classes import ClassRules, ClassVerdict, class_verdicts
from evenhand.measures.scene_tables import effectiveness, seconds_per_picture
from evenhand.media.operators.parts.mutated import OPERATORS, Mutation
from evenhand.media.scene import Picture
from evenhand.oracles.scene_oracles import KINDS, judge, new_classes, reference
from evenhand.report.scene_sheets import pair, sheet
from evenhand.verbs.scene_trials import CONTROL, CampaignOutcome, SceneTrial

FORMAT = 1
SHOWN = 8


def content(
    outcome: CampaignOutcome, rng: np.random.Generator, others: Sequence[CampaignOutcome] = (), rules: ClassRules | None = None
) -> dict[str, Any]:
    """Everything computed, as plain values; HTML is a rendering of it."""
    expected = reference([outcome, *others])
    parts = [_part(outcome, operator, kind, expected, (rng, rules)) for operator in OPERATORS for kind in KINDS]
    spent = {name: {"pictures": n, "cpu_seconds": seconds} for name, (n, seconds) in seconds_per_picture(outcome.trials).items()}
    return {
        "format": FORMAT,
        "recogniser": outcome.recogniser,
        "scenes": len(outcome.scenes),
        "trials": len(outcome.trials),
        "clusters": {"count": outcome.clusters.count, "silhouettes": {str(k): v for k, v in outcome.clusters.silhouettes.items()}},
        "by_cluster": _by_cluster(outcome, expected),
        "parts": [part for part in parts if part["generated"]],
        "new_classes": dict(new_classes(outcome.trials)),
        "skips": [
            [f"{operator}: {reason}", n]
            for (operator, reason), n in Counter((one.operator, one.reason) for one in outcome.skips).most_common(20)
        ],
        "time": spent,
    }


def _part(
    outcome: CampaignOutcome,
    operator: str,
    kind: str,
    expected: Mapping[str, Counter[str]],
    how: tuple[np.random.Generator, ClassRules | None],
) -> dict[str, Any]:
    trials = [trial for trial in outcome.trials if trial.operator == operator or trial.style == CONTROL]
    rng, rules = how
    row = effectiveness(trials, kind, expected, rng, rules).row()
    verdicts = class_verdicts(trials, kind, expected, rng, rules)
    return {"operator": operator, "oracle": kind, **row, "verdicts": [asdict(one) for one in verdicts]}


def _by_cluster(outcome: CampaignOutcome, expected: Mapping[str, Counter[str]]) -> list[dict[str, Any]]:
    """For each cluster and operator, how many pictures were tried and how many err under each oracle."""
    rows: list[dict[str, Any]] = []
    for place in range(outcome.clusters.count):
        scenes = int((outcome.clusters.of == place).sum())
        for operator in OPERATORS:
            trials = [trial for trial in outcome.trials if trial.cluster == place and trial.operator == operator]
            erring = {kind: sum(judge(trial, kind, expected.get(trial.scene, Counter())).is_erring for trial in trials) for kind in KINDS}
            rows.append({"cluster": place, "scenes": scenes, "operator": operator, "trials": len(trials), "erring": erring})
    return rows


def _readable(verdict: Mapping[str, Any]) -> dict[str, Any]:
    wrong, control = verdict["wrong"], verdict["control"]
    words = (
        "fewer than 10 objects"
        if not verdict["enough"]
        else "fair"
        if not verdict["unfair"]
        else "unfair, and shaken by null mutations too"
        if verdict["shaky"]
        else "unfair"
    )
    shown = {
        "wrong": f"{wrong['estimate']:.1%}",
        "interval": f"{wrong['low']:.1%} to {wrong['high']:.1%}",
        "p_value": f"{verdict['p_value']:.3g}",
    }
    return {**verdict, **shown, "control": "" if control is None else f"{control:.1%}", "verdict": words}


def write(folder: Path, computed: Mapping[str, Any], pairs: Sequence[tuple[SceneTrial, Mutation, Any]] = ()) -> Path:
    """`scenes.json`, `scenes.html` and one contact sheet for each operator; returns the page's path."""
    from jinja2 import Environment

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "scenes.json").write_text(json.dumps(computed, indent=1, default=float), encoding="utf-8")
    parts = [
        {**part, "rate": f"{part['error_rate']:.1%}", "classes": [_readable(one) for one in part["verdicts"]]} for part in computed["parts"]
    ]
    unfair = sorted({one["label"] for part in computed["parts"] for one in part["verdicts"] if one["unfair"]})
    summary = f"{computed['trials']} pictures from {computed['scenes']} scenes. " + (
        f"Treated unfairly: {', '.join(unfair)}." if unfair else "No class is treated unfairly by the exact rule."
    )
    sheets = [(operator, base64.b64encode(_jpeg(picture)).decode()) for operator, picture in contact_sheets(pairs).items()]
    page = Environment(autoescape=True).from_string(
        (resources.files("evenhand.report") / "templates" / "scenes.html").read_text(encoding="utf-8")
    )
    text = page.render(
        title=f"Scenes: {computed['recogniser']}",
        summary=summary,
        parts=parts,
        clusters=computed["by_cluster"],
        cluster_words=_cluster_words(computed["clusters"]),
        new=computed["new_classes"],
        skips=computed["skips"],
        sheets=sheets,
    )
    path = folder / "scenes.html"
    path.write_text(text, encoding="utf-8")
    return path


def _cluster_words(clusters: Mapping[str, Any]) -> str:
    tried = ", ".join(f"{k}: {value:.2f}" for k, value in clusters["silhouettes"].items())
    return f"K-Means on the object counts, {clusters['count']} clusters" + (f"; silhouettes {tried}." if tried else ".")


def contact_sheets(pairs: Sequence[tuple[SceneTrial, Mutation, Any]]) -> dict[str, Picture]:
    """For each operator, its first pairs with what the recogniser counted differently."""
    found: dict[str, list[Picture]] = {}
    for trial, made, _ in pairs:
        cells = found.setdefault(trial.operator, [])
        if len(cells) < SHOWN:
            cells.append(pair(made, _difference(trial), 360))
    return {operator: sheet(cells, 2) for operator, cells in found.items()}


def _difference(trial: SceneTrial) -> str:
    labels = sorted(
        label for label in {*trial.before, *trial.after} if label not in trial.touched and trial.before[label] != trial.after[label]
    )
    return ", ".join(f"{label} {trial.before[label]} to {trial.after[label]}" for label in labels)


def _jpeg(picture: Picture) -> bytes:
    cv2 = require("cv2", "image")
    return bytes(cv2.imencode(".jpg", np.ascontiguousarray(picture[..., ::-1]), [cv2.IMWRITE_JPEG_QUALITY, 85])[1])


def unfair_classes(verdicts: Sequence[ClassVerdict]) -> list[str]:
    """Names that the exact verdict calls unfair."""
    return [one.label for one in verdicts if one.unfair]
