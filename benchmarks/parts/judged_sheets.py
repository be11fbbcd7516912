"""Sheets of 24 random changes by each operator on a folder of pictures, annotated or bare, cropped to what changed, for judging by eye."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scene_realism import FEATURE_LAYERS, NetFeatures, realism

from evenhand.datasets.scene_data import SceneSource, drawn_streets, found_scenes, read_scenes
from evenhand.datasets.scenes.picture_files import write_picture
from evenhand.errors import DataError, require
from evenhand.media.operators.parts.inpaint import NetInpainter
from evenhand.media.operators.parts.mutated import Mutation
from evenhand.media.scene import Picture, Scene
from evenhand.media.scenes import ChangePlan, Scenes
from evenhand.models.onnx_session import open_onnx
from evenhand.models.recognisers.detectors import OnnxDetector
from evenhand.report.scene_sheets import sheet

OPERATORS = ("insert", "delete", "mirror", "move", "fog", "rain", "night", "exposure", "blur", "compression")
CLASSES = (
    "person",
    "cyclist",
    "car",
    "motorcycle",
    "truck",
    "bus",
    "bicycle",
    "dog",
    "cat",
    "bird",
    "airplane",
    "kite",
    "cow",
    "horse",
    "sheep",
    "elephant",
    "bear",
    "zebra",
    "giraffe",
)
COMPARED = ("insert", "one_more", "delete", "mirror")  # what changes one part of a picture
SHOWN = 24
MOST = 400
REPEATS = 4  # of changes by chance unless more are asked for, so that there are 24 where few pictures can be changed
HALVES = ("first", "second")
DRAWN = 40
WIDE, TALL = 380, 280


@dataclass(frozen=True)
class JudgedPictures:
    """What is judged: a folder of pictures, or drawn streets, and the nets that a user would bring.

    recogniser: a detector whose own boxes are the objects; the folder's annotations are not looked at then.
    segmenter: a file that describes a segmenter which takes boxes, for bare pictures.  inpainter: a net that fills holes.
    reader: a detector by which objects that are inserted elsewhere are checked.
    half: which pictures are changed, every first or every second by name: rules are set on the one half and judged on the other.
    repeats: how often a change by chance is tried on each picture.
    """

    source: Path
    recogniser: Path | None = None
    segmenter: Path | None = None
    inpainter: Path | None = None
    reader: Path | None = None
    operators: tuple[str, ...] = OPERATORS
    half: str | None = None
    repeats: int = REPEATS

    @property
    def is_drawn(self) -> bool:
        """Whether the streets are drawn, so that their sheets may be kept and shown."""
        return str(self.source) == "streets"

    @property
    def features(self) -> NetFeatures | None:
        """The reader's features of a crop, where its layers are known."""
        return None if self.reader is None else FEATURE_LAYERS.get(self.reader.name, lambda _: None)(self.reader)

    def medium(self, seed: int) -> Scenes:
        """Every change of every picture."""
        scenes = drawn_streets(DRAWN, seed) if self.is_drawn else read_scenes(self._source())
        known = {label for scene in scenes for label in scene.truth}
        classes = tuple(name for name in CLASSES if name in known)
        plan = ChangePlan(
            classes,
            classes,
            self.operators,
            controls=False,
            repeats=self.repeats,
            inpainter=None if self.inpainter is None else NetInpainter(open_onnx(self.inpainter)),
            reader=None if self.reader is None else OnnxDetector(self.reader),
        )
        return Scenes(scenes, plan, seed=seed)

    def _source(self) -> SceneSource:
        if self.recogniser is not None:
            return SceneSource("pictures", self.source, None, MOST, self.segmenter, recogniser=str(self.recogniser))
        found = found_scenes(self.source, MOST)
        if found is None:
            raise DataError(f"{self.source} holds no scenes of a known layout; bare pictures need a recogniser")
        return found


def write_judged_sheets(judged: JudgedPictures, folder: Path, seed: int) -> dict[str, str]:
    """One sheet for each operator, and a list of what is on it; how many changes there are on it, and why others were not made."""
    medium = judged.medium(seed)
    folder.mkdir(parents=True, exist_ok=True)
    kind = "jpg" if judged.is_drawn else "png"
    in_order = [int(place) for place in np.argsort([scene.name for scene in medium.scenes])]
    places = in_order if judged.half is None else in_order[HALVES.index(judged.half) :: 2]
    written = {}
    for operator in judged.operators:
        drawn = DrawnChanges.of(medium, operator, places, seed)
        drawn.write(folder / f"{judged.source.name}-{operator}.{kind}")
        written[operator] = drawn.told + drawn.told_apart(medium.scenes, judged.features, seed)
    return written


@dataclass(frozen=True, eq=False)
class DrawnChanges:
    """Random changes by one operator, from as many pictures as there are and then again from the same, and why others were not made."""

    made: tuple[Mutation, ...]
    skipped: Counter[str]

    @classmethod
    def of(cls, medium: Scenes, operator: str, places: list[int], seed: int) -> DrawnChanges:
        """At most 24 of them."""
        rows = [(int(at), int(k)) for at, k, _ in medium.rows() if medium.changes[int(k)].operator == operator and int(at) in places]
        waiting = [rows[k] for k in np.random.default_rng(seed).permutation(len(rows))]
        made, skipped = list[Mutation](), Counter[str]()
        while waiting and len(made) < SHOWN:
            later, seen = [], set[int]()
            for at, k in waiting:
                one = medium.made(at, k) if at not in seen and len(made) < SHOWN else None
                if isinstance(one, Mutation):
                    made.append(one)
                    seen.add(at)
                elif one is None:
                    later.append((at, k))
                elif medium.scenes[at].of(one.label):
                    skipped[one.reason] += 1
            waiting = later
        return cls(tuple(made), skipped)

    @property
    def told(self) -> str:
        """In one line."""
        reasons = "; ".join(f"{reason} ({n})" for reason, n in self.skipped.most_common())
        pictures = len({one.before.name for one in self.made})
        return f"{len(self.made)} shown, of {pictures} pictures" + (f", skipped: {reasons}" if reasons else "")

    def told_apart(self, scenes: Sequence[Scene], net: NetFeatures | None, seed: int) -> str:
        """How well a classifier tells the changed regions from untouched ones like them; "" where whole pictures change."""
        if not self.made or any(one.operator not in COMPARED for one in self.made):
            return ""
        try:
            marks = realism(self.made, scenes, np.random.default_rng(seed), net)
        except DataError as error:
            return f"; two-sample AUC: {error}"
        by_net = "" if marks.auc_by_net is None or marks.interval_by_net is None else (
            f", by a net's features {marks.auc_by_net:.2f} ({marks.interval_by_net[0]:.2f} to {marks.interval_by_net[1]:.2f})"
        )  # fmt: skip
        return f"; two-sample AUC of {marks.regions} regions {marks.auc:.2f}, with surroundings {marks.auc_with_surroundings:.2f}{by_net}"

    def write(self, file: Path) -> None:
        """The sheet, and beside it which change stands where: row by row, three in a row."""
        if not self.made:
            return
        drawn = sheet([_pair(made) for made in self.made], 3)
        write_picture(file, _halved(drawn) if file.suffix == ".jpg" else drawn)
        lines = [f"{k},{one.before.name},{one.label},{' '.join(one.origins)}" for k, one in enumerate(self.made, 1)]
        file.with_suffix(".csv").write_text("\n".join(["place,picture,class,from", *lines]) + "\n", encoding="utf-8")


def _halved(picture: Picture) -> Picture:
    """Half as wide and half as tall, for sheets that are kept."""
    cv2 = require("cv2", "image")
    return np.asarray(cv2.resize(picture, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA), np.uint8)


def _pair(made: Mutation) -> Picture:
    """Before | after, around the largest thing that changed; the whole picture where everything did."""
    cv2 = require("cv2", "image")
    height, width = made.before.shape
    boxes = np.array(made.boxes or [(0, 0, width, height)], float)
    left, top, right, bottom = boxes[np.prod(boxes[:, 2:] - boxes[:, :2], axis=1).argmax()]
    wide = min(float(width), max(70.0, 1.8 * (right - left), 1.8 * (bottom - top) * WIDE / TALL))
    tall = min(float(height), wide * TALL / WIDE)
    x, y = (round(float(np.clip(middle - size / 2, 0, most - size))) for middle, size, most in
            (((left + right) / 2, wide, width), ((top + bottom) / 2, tall, height)))  # fmt: skip
    parts = [scene.picture[y : y + round(tall), x : x + round(wide)] for scene in (made.before, made.after)]
    return np.asarray(np.hstack([cv2.resize(part, (WIDE, TALL), interpolation=cv2.INTER_CUBIC) for part in parts]), np.uint8)
