"""Detectors read from files: ONNX nets with YOLOX-style or plain box outputs, and TensorFlow SSD graphs through OpenCV."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.contract import Answer, Detection
from evenhand.errors import InvalidArgument, WrongAnswer, require
from evenhand.media.scene import Picture
from evenhand.models.onnx_session import OnnxSession, open_onnx
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


@dataclass(frozen=True)
class OnnxDetector:
    """An ONNX detector.

    `style="yolox"`: one output (1, places, 5 + classes) on grids of stride 8, 16 and 32; blue first, 0 to 255, padded with 114.
    `style="boxes"`: outputs boxes (n, 4), and scores (n,) with labels (n,), or scores (n, classes); red first, 0 to 1.
    """

    path: Path
    names: Sequence[str] = COCO_80
    style: str = "yolox"
    suppression: Suppression = field(default_factory=lambda: Suppression(least=0.4, overlap=0.5))
    first_label: int = 0  # what the plain style calls the first name: 1 where 0 means background

    def __post_init__(self) -> None:
        if self.style not in ("yolox", "boxes"):
            raise InvalidArgument(f"style={self.style!r} must be 'yolox' or 'boxes'")
        if not Path(self.path).is_file():
            raise InvalidArgument(f"path={str(self.path)!r} is not a file")

    @property
    def name(self) -> str:
        """The file's name."""
        return Path(self.path).stem

    @cached_property
    def _session(self) -> OnnxSession:
        return open_onnx(self.path, threads=1)

    def fingerprint(self) -> str:
        """A digest of file, style and thresholds."""
        settings = repr((self.style, self.suppression, tuple(self.names)))
        return f"{file_digest(Path(self.path))}-{hashlib.sha256(settings.encode()).hexdigest()[:8]}"

    def recognise(self, pictures: Sequence[Picture]) -> list[Answer]:
        """One pass for each picture."""
        one = self._yolox if self.style == "yolox" else self._boxes
        return [one(picture) for picture in pictures]

    def _yolox(self, picture: Picture) -> Answer:
        cv2 = require("cv2", "image")
        source = self._session.inputs[0]
        rows, columns = (source.side(place, free=640) for place in (2, 3))
        ratio = min(rows / picture.shape[0], columns / picture.shape[1])
        shrunk = cv2.resize(picture, (int(picture.shape[1] * ratio), int(picture.shape[0] * ratio)), interpolation=cv2.INTER_LINEAR)
        padded = np.full((rows, columns, 3), 114, np.float32)
        padded[: shrunk.shape[0], : shrunk.shape[1]] = shrunk[..., ::-1]
        raw = self._session.run({source.name: padded.transpose(2, 0, 1)[None]})[0][0]
        grid, stride = _grid(rows, columns)
        if raw.shape != (len(grid), 5 + len(self.names)):
            raise WrongAnswer(f"{self.path} answered with shape {raw.shape}; the yolox style expects ({len(grid)}, {5 + len(self.names)})")
        chances = raw[:, 4:5] * raw[:, 5:]
        classes = chances.argmax(axis=1)
        scores = chances[np.arange(len(chances)), classes]
        likely = scores > self.suppression.least
        middle, size = (raw[likely, :2] + grid[likely]) * stride[likely], np.exp(raw[likely, 2:4]) * stride[likely]
        boxes = np.concatenate([middle - size / 2, middle + size / 2], axis=1) / ratio
        return detections(boxes.astype(np.float32), scores[likely], classes[likely], self.names, self.suppression)

    def _boxes(self, picture: Picture) -> Answer:
        cv2 = require("cv2", "image")
        source = self._session.inputs[0]
        fixed = [side for side in source.shape[-2:] if isinstance(side, int)]
        rows, columns = fixed if len(fixed) == 2 else picture.shape[:2]
        shrunk = cv2.resize(picture, (columns, rows), interpolation=cv2.INTER_LINEAR)
        batch = (shrunk.astype(np.float32) / 255).transpose(2, 0, 1)
        found = [np.asarray(part) for part in self._session.run({source.name: batch[None] if len(source.shape) == 4 else batch})]
        found = [part[0] if part.ndim > 1 and part.shape[0] == 1 and part.ndim != 2 else part for part in found]
        boxes, scores, classes = _plain(found, str(self.path))
        scale = np.array([picture.shape[1] / columns, picture.shape[0] / rows] * 2, np.float32)
        return detections(boxes * scale, scores, classes - self.first_label, self.names, self.suppression)


def _grid(rows: int, columns: int) -> tuple[Floats, Floats]:
    """Cell corners and strides of YOLOX's three levels, in the order of its output."""
    cells, strides = [], []
    for stride in (8, 16, 32):
        y, x = np.mgrid[0 : rows // stride, 0 : columns // stride]
        cells.append(np.stack([x.ravel(), y.ravel()], axis=1))
        strides.append(np.full((x.size, 1), stride))
    return np.concatenate(cells).astype(np.float32), np.concatenate(strides).astype(np.float32)


def _plain(found: Sequence[NDArray[Any]], where: str) -> tuple[Floats, Floats, NDArray[np.intp]]:
    boxes = next((part for part in found if part.ndim == 2 and part.shape[1] == 4), None)
    rest = [part for part in found if part is not boxes]
    if boxes is not None:
        wide = next((part for part in rest if part.ndim == 2 and len(part) == len(boxes)), None)
        if wide is not None:
            return boxes.astype(np.float32), wide.max(axis=1).astype(np.float32), wide.argmax(axis=1)
        scores = next((part for part in rest if part.ndim == 1 and np.issubdtype(part.dtype, np.floating)), None)
        classes = next((part for part in rest if part.ndim == 1 and np.issubdtype(part.dtype, np.integer)), None)
        if scores is not None and classes is not None:
            return boxes.astype(np.float32), scores.astype(np.float32), classes.astype(np.intp)
    raise WrongAnswer(
        f"{where} answered with shapes {[part.shape for part in found]}; "
        "expected boxes (n, 4) with scores (n, classes), or scores (n,) and labels (n,)"
    )


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
