"""The report of a campaign: classes ranked with intervals, per operator, cluster and oracle, as JSON and as one HTML page with its sheets."""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.errors import require
from evenhand.scenes.operators.mutation import OPERATORS, Mutation
from evenhand.scenes.oracles import KINDS, new_classes, reference
from evenhand.scenes.scene import Picture
from evenhand.scenes.sheets import pair, sheet
from evenhand.scenes.tables import effectiveness, seconds_per_picture
from evenhand.scenes.trials import CONTROL, Outcome, Trial
from evenhand.scenes.verdict import ClassVerdict, Rules, class_verdicts

FORMAT = 1
SHOWN = 8
PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{{ title }}</title>
<style>body{font:15px/1.5 system-ui,sans-serif;max-width:1080px;margin:2rem auto;padding:0 1rem;color:#222}table{border-collapse:collapse;margin:.6rem 0 1.4rem}
th,td{padding:.25rem .7rem;text-align:right;border-bottom:1px solid #ddd}th:first-child,td:first-child{text-align:left}.unfair{background:#fbe9e7;font-weight:600}
.few{color:#888}img{max-width:100%;border:1px solid #ccc}code{background:#f4f4f4}</style>
<h1>{{ title }}</h1><p>{{ summary }}</p>
{% for part in parts %}<h2>{{ part.operator }}, {{ part.oracle }} oracle</h2>
<p>{{ part.generated }} pictures, {{ part.error_inducing }} error-inducing by the paper's rule ({{ part.rate }}).</p>
<table><tr><th>class</th><th>objects</th><th>wrong</th><th>interval</th><th>null mutations</th><th>corrected p</th><th>verdict</th><th>above the mean</th></tr>
{% for one in part.classes %}<tr class="{{ 'unfair' if one.unfair else '' if one.enough else 'few' }}"><td>{{ one.label }}</td><td>{{ one.objects }}</td><td>{{ one.wrong }}</td>
<td>{{ one.interval }}</td><td>{{ one.control }}</td><td>{{ one.p_value }}</td><td>{{ one.verdict }}</td><td>{{ 'yes' if one.unfair_by_mean else '' }}</td></tr>{% endfor %}</table>{% endfor %}
<h2>Clusters</h2><table><tr><th>cluster</th><th>scenes</th><th>pictures tried</th><th>with an error</th></tr>{% for one in clusters %}<tr><td>{{ one.cluster }}</td>
<td>{{ one.scenes }}</td><td>{{ one.trials }}</td><td>{{ one.erring }}</td></tr>{% endfor %}</table>
<h2>What was skipped, and why</h2><table><tr><th>operator and reason</th><th>times</th></tr>{% for name, times in skips %}<tr><td>{{ name }}</td><td>{{ times }}</td></tr>{% endfor %}</table>
{% for name, data in sheets %}<h2>{{ name }}</h2><img alt="original and mutated pictures: {{ name }}" src="data:image/jpeg;base64,{{ data }}">{% endfor %}</html>"""


def content(outcome: Outcome, rng: np.random.Generator, others: Sequence[Outcome] = (), rules: Rules | None = None) -> dict[str, Any]:
    """Everything computed, as plain values; HTML is a rendering of it."""
    expected = reference([outcome, *others])
    parts = [_part(outcome, operator, kind, expected, (rng, rules)) for operator in OPERATORS for kind in KINDS]
    spent = {name: {"pictures": n, "cpu_seconds": seconds} for name, (n, seconds) in seconds_per_picture(outcome.trials).items()}
    return {
        "format": FORMAT, "recogniser": outcome.recogniser, "scenes": len(outcome.scenes), "trials": len(outcome.trials),
        "clusters": {"count": outcome.clusters.count, "silhouettes": {str(k): v for k, v in outcome.clusters.silhouettes.items()}},
        "by_cluster": _by_cluster(outcome), "parts": [part for part in parts if part["generated"]], "new_classes": dict(new_classes(outcome.trials)),
        "skips": [[f"{operator}: {reason}", n] for (operator, reason), n in Counter((one.operator, one.reason) for one in outcome.skips).most_common(20)],
        "time": spent,
    }  # fmt: skip


def _part(outcome: Outcome, operator: str, kind: str, expected: Mapping[str, Counter[str]], how: tuple[np.random.Generator, Rules | None]) -> dict[str, Any]:
    trials = [trial for trial in outcome.trials if trial.operator == operator or trial.style == CONTROL]
    rng, rules = how
    row = effectiveness(trials, kind, expected, rng, rules).row()
    verdicts = class_verdicts(trials, kind, expected, rng, rules)
    return {"operator": operator, "oracle": kind, **row, "verdicts": [asdict(one) for one in verdicts]}


def _by_cluster(outcome: Outcome) -> list[dict[str, int]]:
    rows = []
    for place in range(outcome.clusters.count):
        trials = [trial for trial in outcome.trials if trial.cluster == place and trial.style != CONTROL]
        erring = sum(any(trial.before[label] != trial.after[label] for label in trial.before if label not in trial.touched) for trial in trials)
        rows.append({"cluster": place, "scenes": int((outcome.clusters.of == place).sum()), "trials": len(trials), "erring": erring})
    return rows


def _readable(verdict: Mapping[str, Any]) -> dict[str, Any]:
    wrong, control = verdict["wrong"], verdict["control"]
    words = "fewer than 10 objects" if not verdict["enough"] else "fair" if not verdict["unfair"] else "unfair, and shaken by null mutations too" if verdict["shaky"] else "unfair"
    shown = {"wrong": f"{wrong['estimate']:.1%}", "interval": f"{wrong['low']:.1%} to {wrong['high']:.1%}", "p_value": f"{verdict['p_value']:.3g}"}
    return {**verdict, **shown, "control": "" if control is None else f"{control:.1%}", "verdict": words}


def write(folder: Path, computed: Mapping[str, Any], pairs: Sequence[tuple[Trial, Mutation, Any]] = ()) -> Path:
    """`scenes.json`, `scenes.html` and one contact sheet for each operator; returns the page's path."""
    from jinja2 import Environment

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "scenes.json").write_text(json.dumps(computed, indent=1, default=float), encoding="utf-8")
    parts = [{**part, "rate": f"{part['error_rate']:.1%}", "classes": [_readable(one) for one in part["verdicts"]]} for part in computed["parts"]]
    unfair = sorted({one["label"] for part in computed["parts"] for one in part["verdicts"] if one["unfair"]})
    summary = f"{computed['trials']} pictures from {computed['scenes']} scenes. " + (f"Treated unfairly: {', '.join(unfair)}." if unfair else "No class is treated unfairly by the exact rule.")
    sheets = [(operator, base64.b64encode(_jpeg(picture)).decode()) for operator, picture in contact_sheets(pairs).items()]
    page = Environment(autoescape=True).from_string(PAGE)
    text = page.render(title=f"Scenes: {computed['recogniser']}", summary=summary, parts=parts, clusters=computed["by_cluster"], skips=computed["skips"], sheets=sheets)
    path = folder / "scenes.html"
    path.write_text(text, encoding="utf-8")
    return path


def contact_sheets(pairs: Sequence[tuple[Trial, Mutation, Any]]) -> dict[str, Picture]:
    """For each operator, its first pairs with what the recogniser counted differently."""
    found: dict[str, list[Picture]] = {}
    for trial, made, _ in pairs:
        cells = found.setdefault(trial.operator, [])
        if len(cells) < SHOWN:
            cells.append(pair(made, _difference(trial), 360))
    return {operator: sheet(cells, 2) for operator, cells in found.items()}


def _difference(trial: Trial) -> str:
    labels = sorted(label for label in {*trial.before, *trial.after} if label not in trial.touched and trial.before[label] != trial.after[label])
    return ", ".join(f"{label} {trial.before[label]} to {trial.after[label]}" for label in labels)


def _jpeg(picture: Picture) -> bytes:
    cv2 = require("cv2", "image")
    return bytes(cv2.imencode(".jpg", np.ascontiguousarray(picture[..., ::-1]), [cv2.IMWRITE_JPEG_QUALITY, 85])[1])


def unfair_classes(verdicts: Sequence[ClassVerdict]) -> list[str]:
    """Names that the exact verdict calls unfair."""
    return [one.label for one in verdicts if one.unfair]
