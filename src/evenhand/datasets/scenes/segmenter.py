"""Masks from a user's semantic segmentation net (ONNX) for data that has only boxes, or nothing at all; described by a small file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from evenhand.contract import Net
from evenhand.datasets.scenes.label_maps import scene_from_map
from evenhand.datasets.scenes.legends import MapLegend
from evenhand.datasets.scenes.picture_files import EVERY, SUFFIXES, SceneSample, read_picture
from evenhand.errors import DataError, InvalidArgument, WrongAnswer, require
from evenhand.media.scene import REGION_NAMES, Picture, PixelBox, Regions, Scene, Stencil
from evenhand.models.onnx_session import open_onnx


@dataclass(frozen=True)
class OnnxSegmenter:
    """A net that maps (1, 3, height, width) to class scores (1, classes, height, width) or to class numbers.

    Pixels are divided by 255, then `mean` is taken away and the rest divided by `spread`.
    """

    path: Path
    classes: Sequence[str]
    size: tuple[int, int] | None = None  # height, width; None: the picture's own
    mean: tuple[float, float, float] = (0.485, 0.456, 0.406)
    spread: tuple[float, float, float] = (0.229, 0.224, 0.225)

    @cached_property
    def _net(self) -> Net:
        return open_onnx(self.path)

    def label_map(self, picture: Picture) -> Regions:
        """The class number of every pixel."""
        cv2 = require("cv2", "image")
        height, width = self.size or picture.shape[:2]
        shrunk = cv2.resize(picture, (width, height), interpolation=cv2.INTER_AREA).astype(np.float32) / 255
        batch = ((shrunk - np.array(self.mean, np.float32)) / np.array(self.spread, np.float32)).transpose(2, 0, 1)[None]
        answer = np.asarray(self._net.run({self._net.inputs[0].name: batch.astype(np.float32)})[0])
        codes = answer[0].argmax(axis=0) if answer.ndim == 4 and answer.shape[1] > 1 else answer.squeeze()
        if codes.ndim != 2 or codes.max() >= len(self.classes):
            raise WrongAnswer(
                f"the segmenter answered with shape {answer.shape}; expected (1, {len(self.classes)}, height, width) or class numbers"
            )
        return np.asarray(cv2.resize(codes.astype(np.uint8), picture.shape[1::-1], interpolation=cv2.INTER_NEAREST))

    def __call__(self, picture: Picture, label: str, box: PixelBox) -> Stencil:
        """The mask of one object inside its box."""
        if label not in self.classes:
            raise InvalidArgument(f"label={label!r} is not a class of the segmenter; it knows {', '.join(self.classes)}")
        inside = np.zeros(picture.shape[:2], bool)
        inside[box.pixels] = True
        return np.asarray((self.label_map(picture) == list(self.classes).index(label)) & inside, bool)

    def scene(self, name: str, picture: Picture, things: Sequence[str], regions: Mapping[str, int]) -> Scene:
        """A whole scene from a bare picture: connected pieces of the thing classes, and regions by class name."""
        names = list(self.classes)
        legend = MapLegend({names.index(one): one for one in things}, {names.index(one): code for one, code in regions.items()})
        return scene_from_map(name, picture, self.label_map(picture), legend)


@dataclass(frozen=True)
class Described:
    """A segmenter with which of its classes are objects and which are regions."""

    segmenter: OnnxSegmenter
    things: tuple[str, ...]
    regions: Mapping[str, int]

    @classmethod
    def from_yaml(cls, path: Path) -> Described:
        """Keys: `net` (the ONNX file beside it), `classes`, `things`; perhaps `regions` (class: region), `size`, `mean`, `spread`."""
        import yaml

        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        needed, others = {"net", "classes", "things"}, {"regions", "size", "mean", "spread"}
        if not isinstance(content, dict) or needed - set(content) or set(content) - needed - others:
            shown = sorted(content) if isinstance(content, dict) else content
            raise DataError(f"{path}: expected the keys {', '.join(sorted(needed))} and perhaps {', '.join(sorted(others))}; got {shown!r}")
        classes = tuple(str(name) for name in content["classes"])
        regions = dict(content.get("regions", {}))
        unknown = [name for name in (*content["things"], *regions) if name not in classes]
        if unknown or set(regions.values()) - set(REGION_NAMES):
            raise DataError(
                f"{path}: {unknown or sorted(regions.values())} must be among its classes, and regions among {', '.join(REGION_NAMES)}"
            )
        settings = {key: tuple(content[key]) for key in ("size", "mean", "spread") if key in content}
        net = OnnxSegmenter(path.parent / str(content["net"]), classes, **settings)
        return cls(net, tuple(content["things"]), {name: REGION_NAMES.index(region) for name, region in regions.items()})

    def scenes(self, pictures: Path, sample: SceneSample = EVERY) -> Iterator[Scene]:
        """A scene from every picture of a folder, or from a sample of them."""
        for path in sample.of([one for one in sorted(pictures.iterdir()) if one.suffix.lower() in SUFFIXES]):
            yield self.segmenter.scene(path.stem, read_picture(path), self.things, self.regions)
