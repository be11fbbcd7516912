"""Error-inducing pictures with their annotations in the COCO format, ready for retraining, and a sink that keeps them during a run."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evenhand.contract import Answer
from evenhand.datasets.scenes.picture_files import write_picture
from evenhand.datasets.scenes.rle import rle_from_mask
from evenhand.media.operators.parts.mutated import Mutation
from evenhand.oracles.scene_oracles import KINDS, judge
from evenhand.verbs.scene_trials import CONTROL, SceneTrial


@dataclass(eq=False)
class ErrorKeeper:
    """A sink for `examine`: keeps the mutations that err under any oracle, at most `most` for each operator and class."""

    expected: Mapping[str, Counter[str]]
    most: int = 40
    kept: list[tuple[SceneTrial, Mutation, dict[str, dict[str, int]]]] = field(default_factory=list)
    _counts: Counter[tuple[str, str]] = field(default_factory=Counter)

    def __call__(self, trial: SceneTrial, made: Mutation, _: Answer) -> None:
        """Keep it when some untouched class errs."""
        key = (trial.operator, trial.label)
        if trial.style == CONTROL or self._counts[key] >= self.most:
            return
        found = {}
        for kind in KINDS:
            errors = {label: n for label, n in judge(trial, kind, self.expected.get(trial.scene, Counter())).errors.items() if n > 0}
            if errors:
                found[kind] = errors
        if found:
            self._counts[key] += 1
            self.kept.append((trial, made, found))


def _word(text: str) -> str:
    """Letters, digits and hyphens as they are, anything else as an underscore: a class may be called anything, a file may not."""
    return "".join(letter if letter.isalnum() or letter == "-" else "_" for letter in text)


def export_coco(folder: Path, kept: Sequence[tuple[SceneTrial, Mutation, Mapping[str, Mapping[str, int]]]]) -> Path:
    """Pictures under `images/` and one `instances.json` beside them; returns the path of the latter."""
    names = sorted({one.label for _, made, _ in kept for one in made.after.instances if one.counted})
    numbers = {name: place + 1 for place, name in enumerate(names)}
    images: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    for place, (trial, made, errors) in enumerate(kept, 1):
        file = f"{place:05d}-{_word(trial.operator)}-{_word(trial.label)}-{_word(trial.scene)}.png"
        write_picture(folder / "images" / file, made.after.picture)
        height, width = made.after.shape
        facts = {
            "operator": trial.operator,
            "class": trial.label,
            "source": trial.scene,
            "cluster": trial.cluster,
            "errors": errors,
            "how": trial.how,
        }
        images.append({"id": place, "file_name": file, "height": height, "width": width, "evenhand": facts})
        for one in made.after.instances:
            if one.counted:
                left, top, right, bottom = one.box
                annotations.append(
                    {
                        "id": len(annotations) + 1,
                        "image_id": place,
                        "category_id": numbers[one.label],
                        "iscrowd": 0,
                        "area": one.area,
                        "bbox": [left, top, right - left, bottom - top],
                        "segmentation": rle_from_mask(one.mask(made.after.shape)),
                    }
                )
    categories = [{"id": number, "name": name} for name, number in numbers.items()]
    path = folder / "instances.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"images": images, "annotations": annotations, "categories": categories}), encoding="utf-8")
    return path
