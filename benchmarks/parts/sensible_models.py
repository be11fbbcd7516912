"""Fair models that answer sensibly, strong and weak ones on many and few rows: the checks before a scan must not refuse them.

A model that is merely weak may be left open (inconclusive) where the labelled rows do not show it to be better than guessing, or where it
gives everybody one label; it is never called failed, and one whose answers clearly agree with the labels is not doubted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import evenhand as eh
from evenhand.contract import labels_of

STRENGTHS, BASES = (0.4, 1.0, 3.0), (0.0, 1.5, -1.5)
CLEAR_AREA = 0.65
"""The area under the curve, on all rows of the test, from which on a model with several labels is called clearly better than guessing."""
ENOUGH_ROWS = 200


@dataclass(frozen=True)
class Examined:
    """One model: whether it was called failed or doubted, and whether it is clearly sensible."""

    is_failed: bool
    is_doubted: bool
    is_clear: bool


def examined(seed: int) -> Examined:
    """A model of people among whom the protected column decides nothing, fitted to one half and examined on the other."""
    import pandas as pd
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder

    rng = np.random.default_rng(seed)
    count, strength, base = int(rng.integers(120, 3_000)), STRENGTHS[seed % 3], BASES[seed // 3 % 3]
    frame = pd.DataFrame({"x": rng.normal(size=count).round(2), "z": rng.normal(size=count).round(2), "sex": rng.choice(["f", "m"], count)})
    frame["y"] = np.where(rng.random(count) < 1 / (1 + np.exp(-(strength * frame["x"] + base))), "yes", "no")
    half = count // 2
    data = eh.open(frame.iloc[half:].reset_index(drop=True), label="y", favourable="yes", protected=["sex"])
    front = make_column_transformer((OrdinalEncoder(), ["sex"]), remainder="passthrough")
    kind = (LogisticRegression(), RandomForestClassifier(20, min_samples_leaf=5, random_state=0))[seed % 2]
    fitted = make_pipeline(front, kind).fit(frame.iloc[:half].drop(columns="y"), frame["y"][:half])
    model = eh.wrap(fitted, data)
    result = eh.doctor(model, data)
    return Examined(bool(result.failed), bool(result.doubtful), _is_clear(model, data))


def _is_clear(model: Any, data: Any) -> bool:
    from sklearn.metrics import roc_auc_score

    scores = model.scores(data.rows)
    several = len(np.unique(labels_of(scores))) > 1 and len(np.unique(data.labels)) > 1
    return len(data.rows) >= ENOUGH_ROWS and several and roc_auc_score(data.labels, scores[:, 1]) >= CLEAR_AREA


def sensible_figures(count: int, seed: int = 0) -> dict[str, Any]:
    """How many of so many fair models are failed, doubted, or doubted although they are clearly sensible."""
    found = [examined(seed + place) for place in range(count)]
    clear = [each for each in found if each.is_clear]
    return {
        "sensible_total": len(found),
        "sensible_failed": sum(each.is_failed for each in found),
        "sensible_doubted": sum(each.is_doubted for each in found),
        "clearly_sensible_total": len(clear),
        "clearly_sensible_doubted": sum(each.is_doubted for each in clear),
    }
