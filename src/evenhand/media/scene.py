"""What a scene is: a picture, its objects with masks and depth order, the ground, and the true counts.  Knows nothing of recognisers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import DataError

Picture: TypeAlias = NDArray[np.uint8]  # (height, width, 3), red green blue
Stencil: TypeAlias = NDArray[np.bool_]  # (height, width)
Regions: TypeAlias = NDArray[np.uint8]  # (height, width) of the codes below

UNKNOWN, ROAD, PAVEMENT, TERRAIN, SKY, BUILDING, PLANTS, STRUCTURE = range(8)
GROUND_REGIONS = (ROAD, PAVEMENT, TERRAIN)
MASKS, ROUGH, SAID_BY = "masks", "rough", "objects named by"
"""Facts of a scene: where its masks come from, masks that are only good for taking objects away, and who named its objects."""
SOURCE, SYNTHETIC = "source", "synthetic street"
"""The fact of a scene that it was drawn."""
REGION_NAMES = ("unknown", "road", "pavement", "terrain", "sky", "building", "plants", "structure")


class PixelBox(NamedTuple):
    """A rectangle of whole pixels; `right` and `bottom` are the first column and row outside of it."""

    left: int
    top: int
    right: int
    bottom: int

    @property
    def width(self) -> int:
        """Columns."""
        return self.right - self.left

    @property
    def height(self) -> int:
        """Rows."""
        return self.bottom - self.top

    @property
    def middle(self) -> tuple[float, float]:
        """Column and row of its centre."""
        return (self.left + self.right) / 2, (self.top + self.bottom) / 2

    @property
    def pixels(self) -> tuple[slice, slice]:
        """The part of a picture or mask that it covers: rows, columns."""
        return slice(self.top, self.bottom), slice(self.left, self.right)

    def grown(self, margin: int, shape: tuple[int, int]) -> PixelBox:
        """With a margin, kept inside a picture of this height and width."""
        height, width = shape
        return PixelBox(
            max(0, self.left - margin), max(0, self.top - margin), min(width, self.right + margin), min(height, self.bottom + margin)
        )

    def shared(self, other: PixelBox) -> int:
        """Pixels that both cover."""
        wide, tall = (min(mine, its) for mine, its in ((self.right, other.right), (self.bottom, other.bottom)))
        return max(0, wide - max(self.left, other.left)) * max(0, tall - max(self.top, other.top))


@dataclass(frozen=True, eq=False)
class Instance:
    """One object: its class, the visible part of its mask (cut to the box), and how far away it is when that is known."""

    label: str
    box: PixelBox
    stencil: Stencil  # (box height, box width)
    depth: float | None = None  # larger is farther
    visible: float = 1.0  # share of the object that nothing hides
    counted: bool = True  # False for scenery and crowds: they hide and are hidden, but nobody counts them
    attributes: Mapping[str, str] = field(default_factory=dict)  # what annotations say of it beside its class: skin tone, age, a wheelchair
    is_rough: bool = False  # whether nobody knows where it ends: its mask was guessed from its box

    @classmethod
    def from_mask(cls, label: str, mask: Stencil, depth: float | None = None, visible: float = 1.0) -> Instance:
        """An instance from a mask of the whole picture; the mask must not be empty."""
        box = box_of(mask)
        if box is None:
            raise DataError(f"the mask of an object of class {label!r} is empty")
        return cls(label, box, np.ascontiguousarray(mask[box.pixels]), depth, visible)

    @property
    def height(self) -> int:
        """Height of the box in pixels."""
        return self.box.height

    @property
    def width(self) -> int:
        """Width of the box in pixels."""
        return self.box.width

    @property
    def foot(self) -> int:
        """The row on which the object stands."""
        return self.box.bottom

    @cached_property
    def area(self) -> int:
        """Visible pixels."""
        return int(np.count_nonzero(self.stencil))

    def mask(self, shape: tuple[int, int]) -> Stencil:
        """The mask on a picture of this shape."""
        full = np.zeros(shape, bool)
        self.paint(full)
        return full

    def paint(self, canvas: Stencil) -> None:
        """Set this object's pixels on a canvas of the picture's size."""
        canvas[self.box.pixels] |= self.stencil

    def touches_border(self, shape: tuple[int, int]) -> bool:
        """Whether the picture's edge may cut the object."""
        left, top, right, bottom = self.box
        return left <= 1 or top <= 1 or right >= shape[1] - 1 or bottom >= shape[0] - 1

    def nearer_than(self, foot: int, depth: float | None = None) -> bool:
        """Whether it stands in front of something with this foot row and depth."""
        if depth is not None and self.depth is not None:
            return self.depth < depth
        return self.foot > foot


@dataclass(frozen=True, eq=False)
class Scene:
    """A picture with everything that is known about it."""

    name: str
    picture: Picture
    instances: tuple[Instance, ...]
    regions: Regions | None = None
    depth: NDArray[np.float32] | None = None
    truth: Mapping[str, int] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.picture.ndim != 3 or self.picture.shape[2] != 3 or self.picture.dtype != np.uint8:
            raise DataError(
                f"scene {self.name!r}: picture must be (height, width, 3) of uint8, not {self.picture.shape} {self.picture.dtype}"
            )
        if self.regions is not None and self.regions.shape != self.shape:
            raise DataError(f"scene {self.name!r}: regions have shape {self.regions.shape}, the picture {self.shape}")
        if not self.truth:
            object.__setattr__(self, "truth", dict(counts(self.instances)))

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width in pixels."""
        height, width = self.picture.shape[:2]
        return height, width

    @cached_property
    def occupied(self) -> Stencil:
        """Every pixel that belongs to an object."""
        return union(self.instances, self.shape)

    @property
    def is_rough(self) -> bool:
        """Whether its masks are too rough to cut objects out."""
        return self.facts.get(MASKS) == ROUGH

    @property
    def is_drawn(self) -> bool:
        """Whether no camera took it."""
        return self.facts.get(SOURCE) == SYNTHETIC

    def of(self, label: str) -> list[int]:
        """Positions of this class's instances."""
        return [position for position, instance in enumerate(self.instances) if instance.label == label]

    def with_picture(self, picture: Picture, instances: Sequence[Instance] | None = None) -> Scene:
        """The same scene with another picture, and its true counts taken from the instances when those are given."""
        if instances is None:
            return replace(self, picture=picture)
        return replace(self, picture=picture, instances=tuple(instances), truth=dict(counts(instances)))


def counts(instances: Iterable[Instance]) -> Counter[str]:
    """How many objects of each class; scenery and crowds are left out."""
    return Counter(instance.label for instance in instances if instance.counted)


def union(instances: Iterable[Instance], shape: tuple[int, int]) -> Stencil:
    """The pixels of any of these objects."""
    canvas = np.zeros(shape, bool)
    for instance in instances:
        instance.paint(canvas)
    return canvas


def box_of(mask: Stencil) -> PixelBox | None:
    """The tight box of a mask; None when it is empty."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if not rows.size:
        return None
    return PixelBox(int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1)


def overlap(one: Sequence[float], other: Sequence[float]) -> float:
    """Intersection of two boxes over their union."""
    shared = max(0.0, min(one[2], other[2]) - max(one[0], other[0])) * max(0.0, min(one[3], other[3]) - max(one[1], other[1]))
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (one, other)]
    return float(shared / max(sum(areas) - shared, 1e-9))
