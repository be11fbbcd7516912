"""Scenes from Pascal VOC files: boxes only, so masks come from a segmenter, or from the box by colour."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.parsers import expat

import numpy as np

from evenhand.datasets.scenes.picture_files import EVERY, SceneSample, picture_path, read_picture
from evenhand.errors import DataError, require
from evenhand.media.scene import Instance, Picture, PixelBox, Scene, Stencil

Segmenter = Callable[[Picture, str, PixelBox], Stencil]  # the mask of one object of a class inside a box


def from_voc(annotations: Path, pictures: Path, segmenter: Segmenter | None = None, sample: SceneSample = EVERY) -> Iterator[Scene]:
    """Scenes from a folder of XML files."""
    for path in sample.of(sorted(annotations.glob("*.xml"))):
        name, objects = read_boxes(path)
        picture = read_picture(picture_path(pictures, name))
        mask_of = segmenter or cut_by_colour
        inside = [(label, box.grown(0, (picture.shape[0], picture.shape[1]))) for label, box in objects]
        instances = [Instance.from_mask(label, mask) for label, box in inside if (mask := mask_of(picture, label, box)).any()]
        yield Scene(path.stem, picture, tuple(instances))


def read_boxes(path: Path) -> tuple[str, list[tuple[str, PixelBox]]]:
    """The picture's file name and every object's label and box.  Entities are refused: they are how an XML file attacks its reader."""
    parser, stack, texts = expat.ParserCreate(), [], {}
    name, objects = "", list[tuple[str, PixelBox]]()
    current: dict[str, Any] = {}

    def begin(tag: str, _: dict[str, str]) -> None:
        stack.append(tag)
        texts[tag] = ""

    def words(text: str) -> None:
        texts[stack[-1]] += text

    def end(tag: str) -> None:
        nonlocal name, current
        stack.pop()
        if tag == "filename":
            name = texts[tag].strip()
        if "part" not in stack and stack and stack[-1] in ("object", "bndbox") and tag in ("name", "xmin", "ymin", "xmax", "ymax"):
            current[tag] = texts[tag].strip()
        if tag == "object":
            objects.append((current["name"], PixelBox(*(round(float(current[key])) for key in ("xmin", "ymin", "xmax", "ymax")))))
            current = {}

    def refuse(*_: object) -> None:
        raise DataError(f"{path} declares entities; an annotation file needs none")

    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler, parser.EntityDeclHandler = begin, end, words, refuse
    try:
        parser.Parse(path.read_bytes(), True)
    except (expat.ExpatError, OSError, KeyError, ValueError, OverflowError, IndexError) as fault:
        if isinstance(fault, DataError):
            raise
        raise DataError(f"{path} is not a Pascal VOC annotation: {fault}") from fault
    return name or f"{path.stem}.jpg", objects


def cut_by_colour(picture: Picture, _: str, box: PixelBox) -> Stencil:
    """A mask from the box alone: what differs in colour from the box's surroundings (GrabCut).  A rough stand-in for a segmenter."""
    cv2 = require("cv2", "image")
    left, top, right, bottom = box
    mask = np.zeros(picture.shape[:2], np.uint8)
    if right - left < 4 or bottom - top < 4:
        return mask.astype(bool)
    cv2.setRNGSeed(0)
    cv2.grabCut(
        np.ascontiguousarray(picture[..., ::-1]),
        mask,
        (left, top, right - left, bottom - top),
        np.zeros((1, 65)),
        np.zeros((1, 65)),
        3,
        cv2.GC_INIT_WITH_RECT,
    )
    found = (mask == cv2.GC_FGD) | (mask == cv2.GC_PR_FGD)
    if found.sum() < 0.1 * (right - left) * (bottom - top):
        found[top:bottom, left:right] = True
    return np.asarray(found, bool)
