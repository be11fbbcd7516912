"""Detectors read from files: ONNX nets in the layouts of `box_layouts`, and TensorFlow SSD graphs through OpenCV."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.contract import Answer, Detection, Port
from evenhand.errors import InvalidArgument, WrongAnswer, require
from evenhand.media.scene import Picture
from evenhand.models.onnx_session import NUMPY_TYPES, OnnxSession, open_onnx
from evenhand.models.recognisers.box_layouts import LAYOUTS, BoxLayout, PlacedPicture, RawBoxes, layout_of, placed
from evenhand.models.recognisers.seen_objects import Suppression

Floats = NDArray[np.float32]
COCO_80 = (
    "person",
    "bicycle",
    "car",
    "motorcycle",
    "airplane",
    "bus",
    "train",
    "truck",
    "boat",
    "traffic light",
    "fire hydrant",
    "stop sign",
    "parking meter",
    "bench",
    "bird",
    "cat",
    "dog",
    "horse",
    "sheep",
    "cow",
    "elephant",
    "bear",
    "zebra",
    "giraffe",
    "backpack",
    "umbrella",
    "handbag",
    "tie",
    "suitcase",
    "frisbee",
    "skis",
    "snowboard",
    "sports ball",
    "kite",
    "baseball bat",
    "baseball glove",
    "skateboard",
    "surfboard",
    "tennis racket",
    "bottle",
    "wine glass",
    "cup",
    "fork",
    "knife",
    "spoon",
    "bowl",
    "banana",
    "apple",
    "sandwich",
    "orange",
    "broccoli",
    "carrot",
    "hot dog",
    "pizza",
    "donut",
    "cake",
    "chair",
    "couch",
    "potted plant",
    "bed",
    "dining table",
    "toilet",
    "tv",
    "laptop",
    "mouse",
    "remote",
    "keyboard",
    "cell phone",
    "microwave",
    "oven",
    "toaster",
    "sink",
    "refrigerator",
    "book",
    "clock",
    "vase",
    "scissors",
    "teddy bear",
    "hair drier",
    "toothbrush",
)


_GAPS = {12, 26, 29, 30, 45, 66, 68, 69, 71, 83}  # numbers that COCO's own list leaves out
_TOLD = iter(COCO_80)
COCO_91 = tuple("background" if k == 0 else f"number {k}" if k in _GAPS else next(_TOLD) for k in range(91))
"""COCO's classes by its own numbers, as detectors of torchvision, TensorFlow and DETR tell them."""


def file_digest(*paths: Path) -> str:
    """Sixteen digits of the files' content."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def detections(boxes: Floats, scores: Floats, classes: NDArray[np.intp], names: Sequence[str], suppression: Suppression) -> Answer:
    """The kept boxes as detections; class numbers without a name are an error."""
    kept = suppression.keep(boxes, scores, classes)
    if kept and int(classes[kept].max()) >= len(names):
        raise WrongAnswer(f"the detector answered class {int(classes[kept].max())}, but only {len(names)} class names are given")
    return tuple(Detection(names[classes[k]], float(scores[k]), tuple(float(v) for v in boxes[k])) for k in kept)  # type: ignore[arg-type]


def _besides(asked: Port, views: Sequence[PlacedPicture]) -> NDArray[Any]:
    """A second input: ones for every pixel that counts, (n, rows, columns), or the sizes of the pictures, (n, 2)."""
    if len(asked.shape) != 3:
        return np.array([[view.rows, view.columns] for view in views])
    free = (len(views), views[0].rows, views[0].columns)
    return np.ones([side if isinstance(side, int) and side > 0 else own for side, own in zip(asked.shape, free, strict=True)])


@dataclass(frozen=True)
class OnnxDetector:
    """An ONNX detector.

    style: how it takes pictures and tells boxes, a name of `box_layouts.LAYOUTS`; "auto" finds out from its outputs.
    names: the classes in the order of their numbers; without, those that the file names (Ultralytics' exports do), else COCO's 80, or
    COCO's own numbers where the layout has them.
    first_label: what the first name is called: 1 where 0 means background.
    """

    path: Path
    names: Sequence[str] = ()
    style: str = "auto"
    suppression: Suppression = field(default_factory=lambda: Suppression(least=0.4, overlap=0.5))
    first_label: int = 0

    def __post_init__(self) -> None:
        if self.style not in ("auto", *LAYOUTS):
            raise InvalidArgument(f"style={self.style!r} must be 'auto' or one of {', '.join(LAYOUTS)}")
        if not Path(self.path).is_file():
            raise InvalidArgument(f"path={str(self.path)!r} is not a file")
        if not self.names:
            object.__setattr__(self, "names", self._session.names or self._coco())
            first = int(self._has_background) if self._kinds else self._layout.first_label
            object.__setattr__(self, "first_label", self.first_label or first)

    def _coco(self) -> tuple[str, ...]:
        """COCO's names in the numbering that the layout has, or that the number of its classes shows; of other classes, an error."""
        kinds = self._kinds
        if kinds not in (0, len(COCO_80), len(COCO_91) - 1, len(COCO_91)) and not self._has_background:
            raise InvalidArgument(
                f"{Path(self.path).name} has {kinds} classes and does not name them, so that they are not COCO's; "
                "say `objects: {names: [...]}` in the order of their numbers"
            )
        is_91 = LAYOUTS[self.style].is_91 if self.style != "auto" else self._layout.is_91
        return COCO_80 if kinds == len(COCO_80) or self._has_background or not (is_91 or kinds) else COCO_91

    @cached_property
    def _kinds(self) -> int:
        """How many classes it has scores for; 0 where it does not tell, or where the layout was said."""
        return self._read_grey.kinds if self.style == "auto" else 0

    @property
    def _has_background(self) -> bool:
        """Whether the scores are of COCO's 80 classes behind a background, as SSD is trained; a grid has none."""
        return self._kinds == len(COCO_80) + 1 and not self._session.names and self._layout in (LAYOUTS["boxes"], LAYOUTS["ssd"])

    @property
    def name(self) -> str:
        """The file's name."""
        return Path(self.path).stem

    @cached_property
    def _session(self) -> OnnxSession:
        return open_onnx(self.path, threads=1)

    @property
    def batch(self) -> int:
        """How many pictures the file takes together."""
        return self._session.fixed_rows or 1 if len(self._session.inputs[0].shape) == 4 else 1

    @cached_property
    def _layout(self) -> BoxLayout:
        """The one that was said, or the one that its answer to a grey picture shows."""
        if self.style != "auto":
            return LAYOUTS[self.style]
        return LAYOUTS[layout_of([port.name for port in self._session.outputs], *self._grey)]

    @cached_property
    def _grey(self) -> tuple[list[NDArray[Any]], PlacedPicture]:
        """The answer to a grey picture, and the picture."""
        source = self._session.inputs[0]
        grey = placed(np.full((480, 640, 3), 114, np.uint8), source.shape, source.type, LAYOUTS["yolo"])
        return self._session.run(self._feed([grey] * self.batch)), grey

    @property
    def _read_grey(self) -> RawBoxes:
        """What the layout reads in it."""
        answers, grey = self._grey
        return self._layout.read([part[:1] for part in answers] if self.batch > 1 else answers, grey)

    def fingerprint(self) -> str:
        """A digest of file, style and thresholds."""
        settings = repr((self.style, self.suppression, tuple(self.names), self.first_label))
        return f"{file_digest(Path(self.path))}-{hashlib.sha256(settings.encode()).hexdigest()[:8]}"

    def recognise(self, pictures: Sequence[Picture]) -> list[Answer]:
        """As many pictures at once as the file takes."""
        size = self.batch
        return [answer for at in range(0, len(pictures), size) for answer in self._some(pictures[at : at + size], size)]

    def _some(self, pictures: Sequence[Picture], size: int) -> list[Answer]:
        source = self._session.inputs[0]
        views = [placed(picture, source.shape, source.type, self._layout) for picture in pictures]
        answers = self._session.run(self._feed([*views, *views[-1:] * (size - len(views))]))
        parts = [[part[k : k + 1] if size > 1 else part for part in answers] for k in range(len(views))]
        return [self._answer(self._layout.read(part, view), view) for part, view in zip(parts, views, strict=True)]

    def _feed(self, views: Sequence[PlacedPicture]) -> dict[str, NDArray[Any]]:
        """The pictures, and where a second input asks for their size or for which pixels count, that."""
        source, *others = self._session.inputs
        batch = np.stack([view.tensor for view in views]) if len(source.shape) == 4 else views[0].tensor
        asked = {one.name: _besides(one, views).astype(NUMPY_TYPES.get(one.type, np.int64)) for one in others}
        return {source.name: batch.astype(NUMPY_TYPES.get(source.type, batch.dtype), copy=False), **asked}

    def _answer(self, raw: RawBoxes, view: PlacedPicture) -> Answer:
        likely = raw.where((raw.scores > self.suppression.least) & (raw.classes >= self.first_label))  # what is below means background
        return detections(view.back(likely.boxes), likely.scores, likely.classes - self.first_label, self.names, self.suppression)


@dataclass(frozen=True)
class SsdDetector:
    """A TensorFlow SSD graph with its OpenCV text description and a file of class names, one in each line."""

    graph: Path
    description: Path
    labels: Path
    suppression: Suppression = field(default_factory=lambda: Suppression(least=0.5, overlap=0.5))
    side: int = 320

    @property
    def name(self) -> str:
        """The description's name."""
        return "ssd_mobilenet" if "mobilenet" in self.description.stem else self.description.stem

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_net"}  # another process loads its own

    @cached_property
    def _net(self) -> Any:
        cv2 = require("cv2", "image")
        net = cv2.dnn.DetectionModel(str(self.graph), str(self.description))
        net.setInputParams(scale=1 / 127.5, size=(self.side, self.side), mean=(127.5, 127.5, 127.5), swapRB=False)
        return net

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return tuple(line.strip() for line in self.labels.read_text(encoding="utf-8").splitlines() if line.strip())

    def fingerprint(self) -> str:
        """A digest of the three files and the thresholds."""
        return f"{file_digest(self.graph, self.description, self.labels)}-{hashlib.sha256(repr(self.suppression).encode()).hexdigest()[:8]}"

    def recognise(self, pictures: Sequence[Picture]) -> list[Answer]:
        """One pass for each picture."""
        answers = []
        for picture in pictures:
            classes, scores, boxes = self._net.detect(np.ascontiguousarray(picture), self.suppression.least, self.suppression.overlap)
            corners = np.asarray(boxes, np.float32).reshape(-1, 4)
            corners = np.concatenate([corners[:, :2], corners[:, :2] + corners[:, 2:]], axis=1)
            kinds = np.asarray(classes, np.intp).ravel() - 1
            answers.append(detections(corners, np.asarray(scores, np.float32).ravel(), kinds, self._names, self.suppression))
        return answers
