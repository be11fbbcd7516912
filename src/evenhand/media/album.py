"""Album: pictures with what is known about them.  Loaders and the renderer make albums; everything else reads them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Labels, Rows
from evenhand.contract import Pictures
from evenhand.errors import DataError, InvalidArgument, UnknownName
from evenhand.limits import InnerShare, check_argument

UNKNOWN = -1
"""The code of an attribute that the source does not say."""


@dataclass(frozen=True)
class Attribute:
    """What is known of one side of every picture: names of its values and one code per picture."""

    values: tuple[str, ...]
    codes: Labels

    def __post_init__(self) -> None:
        if len(self.codes) and not (self.codes.min() >= UNKNOWN and self.codes.max() < len(self.values)):
            raise DataError(
                f"attribute codes must lie between {UNKNOWN} and {len(self.values) - 1}, not {self.codes.min()} to {self.codes.max()}"
            )

    def __getitem__(self, chosen: Any) -> Attribute:
        return Attribute(self.values, self.codes[chosen])


@dataclass(frozen=True, eq=False)
class Album:
    """Pictures (n, height, width, 3) of bytes, their attributes, and the label that a classifier is to predict.

    `factors` are there only for rendered portraits: with them the same portrait can be drawn again with one factor changed.
    `left_out` says what a reader of any figure must know of pictures that are no part of it; empty where there are none.
    """

    name: str
    pictures: NDArray[np.uint8]
    attributes: Mapping[str, Attribute]
    label: Attribute
    factors: Rows | None = None
    sources: tuple[str, ...] = field(default=(), repr=False)
    left_out: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        if self.pictures.ndim != 4 or self.pictures.shape[3] != 3:
            raise DataError(f"pictures of album {self.name!r} must have the shape (n, height, width, 3), not {self.pictures.shape}")
        for name, attribute in {**self.attributes, "label": self.label}.items():
            if len(attribute.codes) != len(self.pictures):
                raise DataError(f"album {self.name!r}: {name!r} has {len(attribute.codes)} entries for {len(self.pictures)} pictures")

    def __len__(self) -> int:
        return len(self.pictures)

    def __repr__(self) -> str:
        _, height, width, _ = self.pictures.shape
        return f"Album({self.name!r}, {len(self):,} pictures of {width} x {height}, attributes {', '.join(self.attributes)})"

    def __getitem__(self, chosen: Any) -> Album:
        attributes = {name: attribute[chosen] for name, attribute in self.attributes.items()}
        factors = None if self.factors is None else self.factors[chosen]
        sources = tuple(np.array(self.sources, dtype=object)[chosen]) if self.sources else ()
        return replace(
            self, pictures=self.pictures[chosen], attributes=attributes, label=self.label[chosen], factors=factors, sources=sources
        )

    @property
    def is_synthetic(self) -> bool:
        """Whether the pictures were drawn by the renderer, so that exact counterfactuals exist."""
        return self.factors is not None

    def attribute(self, name: str) -> Attribute:
        """One attribute by name."""
        if name not in self.attributes:
            raise UnknownName("attribute", name, self.attributes)
        return self.attributes[name]

    def known(self, name: str) -> Album:
        """The pictures whose attribute the source says; the album itself, without a copy, where it says all of them."""
        if (self.attribute(name).codes >= 0).all():
            return self
        return self[np.flatnonzero(self.attribute(name).codes >= 0)]

    def sides(self, name: str) -> Labels:
        """The codes of an attribute that an editor can flip: 0 and 1, or unknown."""
        attribute = self.attribute(name)
        if len(attribute.values) != 2:
            raise DataError(
                f"attribute {name!r} of album {self.name!r} has {len(attribute.values)} values ({', '.join(attribute.values[:8])}): a twin "
                f"needs two sides; choose them with album.between({name!r}, first, second), on the command line with --between"
            )
        return attribute.codes

    def between(self, name: str, first: Collection[str], second: Collection[str] = ()) -> Album:
        """The pictures of two groups of an attribute's values, which become its only two; without `second`, all other values are it.

        Pictures of neither group, and those whose attribute is unknown, are left out.
        """
        attribute = self.attribute(name)
        for value in (*first, *second):
            if value not in attribute.values:
                raise UnknownName(f"value of {name!r}", value, attribute.values)
        others = tuple(second) or tuple(value for value in attribute.values if value not in first)
        if not first or not others or set(first) & set(others):
            raise InvalidArgument(f"first={tuple(first)!r} and second={tuple(second)!r} must be two groups of values without a common one")
        side = np.array([0 if value in first else 1 if value in others else UNKNOWN for value in attribute.values], dtype=np.intp)
        codes = np.where(attribute.codes >= 0, side[attribute.codes], UNKNOWN)
        halves = Attribute((" or ".join(first), " or ".join(others)), codes)
        return replace(self, attributes={**self.attributes, name: halves}).known(name)

    def labelled_as(self, classes: tuple[str, ...]) -> Album:
        """The same album whose label codes are places in `classes`; refuses a label that is none of them."""
        strange = [value for value in self.label.values if value not in classes]
        if strange:
            raise DataError(f"album {self.name!r} has the label {strange[0]!r}, which is none of the classes {', '.join(classes)}")
        places = np.array([*(classes.index(value) for value in self.label.values), UNKNOWN], dtype=np.intp)
        return replace(self, label=Attribute(classes, places[self.label.codes]))

    def split(self, share: float, rng: np.random.Generator) -> tuple[Album, Album]:
        """Two albums without a common picture; the first holds `share` of the pictures."""
        check_argument(InnerShare, share=share)
        order = rng.permutation(len(self))
        cut = round(share * len(self))
        return self[order[:cut]], self[order[cut:]]


def as_bytes(pictures: Pictures) -> NDArray[np.uint8]:
    """Pictures rounded and clipped to bytes."""
    if pictures.dtype == np.uint8:
        return pictures
    rounded = np.rint(pictures)
    return np.clip(rounded, 0, 255, out=rounded).astype(np.uint8)
