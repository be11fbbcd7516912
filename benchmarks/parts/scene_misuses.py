"""Misuses of scenes, each a function that does it in an empty folder: it must end in a teaching error, an open verdict, or another draw."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

import evenhand as eh
from evenhand.contract import Detection
from evenhand.datasets.scene_data import SceneChoices, drawn_streets, from_scenes
from evenhand.datasets.scenes.coco import from_coco
from evenhand.datasets.scenes.label_maps import from_label_maps
from evenhand.datasets.scenes.picture_files import write_picture
from evenhand.errors import EvenhandError

FEW = SceneChoices(classes=("person", "car"), operators=("insert", "put_back"))


@cache
def _streets(count: int, seed: int):
    return drawn_streets(count, seed)


@cache
def _few_changes():
    return from_scenes(_streets(3, 0), FEW)


class Naming:
    """A recogniser that answers with one list of labels to everything."""

    name = "naming"

    def __init__(self, labels=(), names=()):
        self.labels, self.names = labels, names

    def recognise(self, pictures):
        """The same for every picture."""
        return [tuple(Detection(label, 1.0, (10.0, 10.0, 40.0, 40.0)) for label in self.labels) for _ in pictures]

    def fingerprint(self) -> str:
        """The labels."""
        return repr((self.labels, self.names))


def _scanned(recogniser) -> str:
    data = _few_changes()
    result = eh.scan(eh.wrap(recogniser, data), data, oracle="counts")
    if result.outcome == "inconclusive":
        raise EvenhandError(f"inconclusive: {result.reason}")
    return result.outcome


def folder_without_format(folder: Path) -> str:
    """Pictures and nothing else."""
    write_picture(folder / "a.png", _streets(1, 0)[0].picture)
    return str(eh.open(folder))


def strange_names(_: Path) -> str:
    """A detector that says its class names, none of which the data has."""
    return _scanned(Naming(("class 1",), ("class 0", "class 1")))


def strange_answers(_: Path) -> str:
    """A detector that does not say its names, and whose answers the data does not know."""
    return _scanned(Naming(("17", "18")))


def one_shared_name(_: Path) -> str:
    """A detector of people alone."""
    return _scanned(Naming(("person",), ("person", "face")))


def recognises_nothing(_: Path) -> str:
    """A threshold that lets nothing through."""
    return _scanned(Naming())


def _maps(folder: Path, codes) -> tuple[Path, Path]:
    picture = _streets(1, 0)[0].picture
    write_picture(folder / "frames" / "a.png", picture)
    grid = np.zeros((*picture.shape[:2], 3), np.uint8) + np.asarray(codes, np.uint8)[:, None, None]
    import cv2

    (folder / "labels").mkdir(exist_ok=True)
    cv2.imwrite(str(folder / "labels" / "a.png"), grid[..., 0])
    return folder / "frames", folder / "labels"


def other_legend(folder: Path) -> str:
    """Cityscapes ids without a legend."""
    height = _streets(1, 0)[0].shape[0]
    return str(list(from_label_maps(*_maps(folder, np.where(np.arange(height) < height // 2, 23, 7)))))


def other_small_legend(folder: Path) -> str:
    """Cityscapes training ids of an empty street: no number above 11, but the road is 0."""
    height = _streets(1, 0)[0].shape[0]
    return str(list(from_label_maps(*_maps(folder, np.where(np.arange(height) < height // 2, 10, 0)))))


def unknown_legend(folder: Path) -> str:
    """A legend that nobody knows."""
    _maps(folder, np.zeros(_streets(1, 0)[0].shape[0]))
    return str(eh.open(folder, settings={"legend": "cityscape"}))


def boxes_pasted(folder: Path) -> str:
    """COCO with boxes only must not become rectangles."""
    scene = _streets(1, 0)[0]
    write_picture(folder / "images" / "a.png", scene.picture)
    boxes = [(one.box[0], one.box[1], one.width, one.height) for one in scene.instances if one.counted and one.area > 900]
    content = {
        "images": [{"id": 1, "file_name": "a.png"}],
        "categories": [{"id": 1, "name": "car"}],
        "annotations": [{"id": k, "image_id": 1, "category_id": 1, "bbox": box} for k, box in enumerate(boxes)],
    }
    (folder / "instances.json").write_text(json.dumps(content), encoding="utf-8")
    (read,) = from_coco(folder / "instances.json", folder / "images")
    if all(not one.stencil.all() for one in read.instances):
        raise EvenhandError("masks are cut out of the boxes")
    return "a rectangle"


def first_by_name(folder: Path) -> str:
    """Fewer pictures than there are must not be the first by name."""
    for k, scene in enumerate(_streets(5, 0)):
        write_picture(folder / "images" / f"{k}.png", scene.picture)
    content = {
        "images": [{"id": k, "file_name": f"{k}.png"} for k in range(5)],
        "categories": [{"id": 1, "name": "car"}],
        "annotations": [
            {"id": k, "image_id": k, "category_id": 1, "segmentation": [[10, 10, 90, 20, 50, 80]], "bbox": [10, 10, 80, 70]}
            for k in range(5)
        ],
    }
    (folder / "instances.json").write_text(json.dumps(content), encoding="utf-8")
    drawn = {
        tuple(sorted(eh.open(folder, settings={"count": 2, "classes": ["car"], "seed": seed}).frame["scene"].unique())) for seed in range(4)
    }
    if len(drawn) > 1:
        raise EvenhandError("drawn by the seed")
    return str(drawn)


def numbers_without_names(_: Path) -> str:
    """A function that answers with class numbers and never says what they mean."""
    data = from_scenes(_streets(2, 0), FEW)
    model = eh.wrap(lambda _: {"labels": [3], "scores": [0.9], "boxes": [[1, 1, 20, 20]]}, data)
    return str(model.detections(data.rows[:1]))


def unknown_operator(folder: Path) -> str:
    """A change that nobody knows."""
    write_picture(folder / "a.png", _streets(1, 0)[0].picture)
    return str(eh.open("streets", settings={"count": 2, "operators": ["insertion"]}))


class Unsteady(Naming):
    """A recogniser that now and then overlooks what it has seen before."""

    def __init__(self, chance: float):
        super().__init__(("person", "car"), ("person", "car"))
        self.chance, self.rng = chance, np.random.default_rng(0)

    def recognise(self, pictures):
        """Nothing, by chance."""
        return [() if self.rng.random() < self.chance else answer for answer in super().recognise(pictures)]


def random_answers(_: Path) -> str:
    """A recogniser that answers by the toss of a coin."""
    return _scanned(Unsteady(0.5))


def rarely_random_answers(_: Path) -> str:
    """A recogniser of whose answers one in ten is random."""
    return _scanned(Unsteady(0.1))


MISUSES: dict[str, Callable[[Path], str]] = {
    one.__name__: one
    for one in (
        folder_without_format,
        strange_names,
        strange_answers,
        one_shared_name,
        recognises_nothing,
        other_legend,
        other_small_legend,
        unknown_legend,
        boxes_pasted,
        first_by_name,
        numbers_without_names,
        unknown_operator,
        random_answers,
        rarely_random_answers,
    )
}


def is_caught(misuse: Callable[[Path], str], folder: Path) -> tuple[bool, str]:
    """Whether it was refused, left open or drawn otherwise, and what was said."""
    try:
        return False, misuse(folder)
    except EvenhandError as fault:
        return True, str(fault)
