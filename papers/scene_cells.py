"""What DistroFair's tables rest on: everything that a detector counted on scenes before and after every change, as plain values."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from cells import Cells
from hunts import net_folder
from scene_realism import described, matched_regions, mutated_regions

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))

import scenes as bench
from evenhand.measures.counted_changes import EXCLUSION, INCLUSION, CountedChange, CountedScenes, judge
from evenhand.media.operators.insert import Insert
from evenhand.media.operators.parts.mutated import Mutation
from evenhand.media.scene import Scene
from evenhand.media.vocabulary import PARTS_ONLY, Labels

OUT, IN = "out", "in"
QUICK_SCENES = 24
"""So many street frames in the short form."""
REPEATS = 5
"""Of insertion and rotation, as in the paper; the short form has one."""
OPERATORS = bench.OPERATORS


CHANGE_FIELDS = ("operator", "label", "is_null", "scene", "cluster", "added", "cpu_seconds", "turn")


@dataclass(frozen=True)
class SceneCase:
    """A set of pictures, a detector, and whether insertion leaves the distribution."""

    data: str
    detector: str
    style: str
    is_quick: bool
    seed: int = 0


def data_names(is_quick: bool) -> list[str]:
    """The sets of pictures."""
    return ["street"] if is_quick else ["street", "coco128"]


def detector_names() -> list[str]:
    """The detectors."""
    return ["yolox_nano", "ssd_mobilenet_v3"]


@cache
def _detector(name: str) -> Any:
    import cv2

    net_folder()
    cv2.setNumThreads(1)
    return dict(zip(detector_names(), bench.detectors(False), strict=True))[name]


@cache
def _material(data: str, is_quick: bool) -> Any:
    net_folder()
    for name, scenes, plan in bench.data_sets(False):
        if name == data:
            return scenes[:: max(1, len(scenes) // QUICK_SCENES)][:QUICK_SCENES] if is_quick else scenes, plan
    raise KeyError(data)


def scenes_of(data: str, is_quick: bool) -> Sequence[Scene]:
    """The pictures of a set; in short, some of them."""
    return list(_material(data, is_quick)[0])


def _medium(case: SceneCase, is_small: bool | None = None) -> Any:
    scenes, plan = _material(case.data, case.is_quick if is_small is None else is_small)
    repeated = replace(plan, repeats=1 if case.is_quick else REPEATS)
    wanted = repeated if case.style == OUT else replace(plan, operators=(Insert(inside=True),))
    return bench.as_the_paper(scenes, wanted, Labels(made_of=PARTS_ONLY), _detector(case.detector), case.seed)


def _plain(case: SceneCase) -> dict[str, Any]:
    found = bench.asked(_medium(case), _detector(case.detector))
    return {
        "changes": [
            {**{name: getattr(one, name) for name in CHANGE_FIELDS},
             **{name: dict(getattr(one, name)) for name in ("truth", "before", "after", "hidden")}, "touched": sorted(one.touched)}
            for one in found.changes
        ],
        "scenes": list(found.scenes),
        "truth": [dict(each) for each in found.truth],
        "originals": [dict(each) for each in found.originals],
    }  # fmt: skip


def counted(case: SceneCase, cells: Cells) -> CountedScenes:
    """What the detector counted, now or before."""
    names = ("data", "detector", "style", "is_quick", "seed")
    kept = cells.take("scenes", {name: getattr(case, name) for name in names}, lambda: _plain(case), files(case.data))
    changes = tuple(_change(each) for each in kept["changes"])
    return CountedScenes(changes, (), tuple(kept["scenes"]), _counters(kept["truth"]), _counters(kept["originals"]))


def files(data: str) -> list[Path]:
    """Pictures and nets."""
    models = bench.DATA / "models"
    return [bench.DATA / "images" / data, models / "yolox_nano.onnx", models / "ssd_mobilenet_v3"]


def _counters(listed: Sequence[Mapping[str, int]]) -> tuple[Counter[str], ...]:
    return tuple(Counter(each) for each in listed)


def _change(kept: Mapping[str, Any]) -> CountedChange:
    counters = {name: Counter(kept[name]) for name in ("truth", "before", "after", "hidden")}
    rest = {name: kept[name] for name in CHANGE_FIELDS}
    return CountedChange(**rest, **counters, touched=frozenset(kept["touched"]))


def realness(cells: Cells, data: str, is_quick: bool, seed: int) -> dict[str, dict[str, list[float]]]:
    """For each operator the scores, 0 to 10, that a classifier gives to untouched and to changed regions that it has not learnt from.

    `erring` says of each changed region whether any detector errs on its picture.
    """
    found: dict[str, dict[str, list[float]]] = cells.take(
        "realness", {"data": data, "quick": is_quick, "seed": seed}, lambda: _realness(data, is_quick, seed), files(data)
    )
    return found


def _realness(data: str, is_quick: bool, seed: int) -> dict[str, dict[str, list[float]]]:
    medium = _medium(SceneCase(data, "yolox_nano", OUT, True, seed), is_quick)
    scenes, _ = _material(data, is_quick)
    erring = _erring(medium)
    told = {}
    for operator in OPERATORS:
        places = [k for k, one in enumerate(medium.changes) if one.operator == operator]
        made = [one for k in places for at in range(len(medium.scenes)) if isinstance(one := medium.made(at, k), Mutation)]
        rng = np.random.default_rng([seed, 4])
        pairs = matched_regions(list(mutated_regions(made)), scenes, operator, rng)
        if len(pairs) >= 10:
            changed = [one for one, _ in pairs]
            told[operator] = _scored(changed, [real for _, real in pairs], seed)
            told[operator]["erring"] = [float((operator, one.label, one.scene) in erring) for one in changed]
    return told


def _erring(medium: Any) -> set[tuple[str, str, str]]:
    """Operator, class and scene of the changes after which any detector loses or invents something."""
    found = set()
    for name in detector_names():
        for one in bench.asked(medium, _detector(name)).changes:
            if any(judge(one, kind, Counter()).is_erring for kind in (EXCLUSION, INCLUSION)):
                found.add((one.operator, one.label, one.scene))
    return found


def _scored(changed: Sequence[Any], real: Sequence[Any], seed: int) -> dict[str, list[float]]:
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedGroupKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rows = np.array([described(each) for each in (*real, *changed)])
    sides = np.repeat([1, 0], [len(real), len(changed)])
    groups = [each.scene for each in (*real, *changed)]
    folds = StratifiedGroupKFold(5, shuffle=True, random_state=seed)
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000, C=0.1))
    chances = cross_val_predict(model, rows, sides, cv=folds, groups=groups, method="predict_proba")[:, 1]
    return {"untouched": (10 * chances[sides == 1]).tolist(), "changed": (10 * chances[sides == 0]).tolist()}
