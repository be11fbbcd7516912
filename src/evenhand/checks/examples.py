"""Small things to try plug-ins on: media, albums, scenes, rows.  Everything is drawn or planted here; nothing is read from a file.

A plug-in that cannot be made without arguments may offer a class method `example()`; what ships without one is made here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from evenhand.contract import EditorTools, Medium
from evenhand.datasets.album_data import from_album
from evenhand.engine.subject import Subject
from evenhand.media.album import Album
from evenhand.media.operators.parts.order import ChangeOrder
from evenhand.media.portrait_medium import PortraitMedium
from evenhand.media.scene import Scene
from evenhand.media.scenes import ChangePlan, Scenes
from evenhand.media.streets.render import StreetMaker
from evenhand.media.table import Table
from evenhand.models.shown import shown
from evenhand.planted import shapes
from evenhand.planted.letters import letters
from evenhand.planted.pixel_net import PixelNet
from evenhand.planted.portraits import synthetic_faces
from evenhand.planted.recognisers import Simulated
from evenhand.registry import Entry

SIZE = 24
PICTURES = 40


def made(entry: Entry[Any], examples: Mapping[str, Callable[[], Any]]) -> Any:
    """An instance of a plug-in: its own `example()`, the one that is kept here, or what its defaults make."""
    kind: Any = entry.make
    if hasattr(kind, "example"):
        return kind.example()
    if entry.name in examples:
        return examples[entry.name]()
    try:
        return kind()
    except TypeError as fault:
        raise AssertionError(
            f"{entry.name} cannot be made without arguments ({fault}); give it a class method example() that makes a small one"
        ) from None


@cache
def small_album() -> Album:
    """Drawn portraits with their factors."""
    return synthetic_faces(PICTURES, np.random.default_rng(7), SIZE)


@cache
def few_scenes() -> tuple[Scene, ...]:
    """Drawn streets."""
    return tuple(StreetMaker(240, 180).scenes(8, np.random.default_rng(3)))


def editor_tools() -> EditorTools:
    """Everything that an editor may ask for, learnt in a moment."""
    from evenhand.synthesis.picture_latent.pca import PcaSpace

    def latent(name: str, album: Album, rng: np.random.Generator) -> Any:  # noqa: ARG001 - any space will do
        return PcaSpace.fit(album.pictures, 12, rng)

    def reader(album: Album, attribute: str, rng: np.random.Generator) -> Any:  # noqa: ARG001 - any classifier of pictures will do
        return PixelNet(SIZE)

    return EditorTools(np.random.default_rng(0), reader=reader, latent=latent)


def change_orders(labels: Sequence[str] = ("person", "car", "dog")) -> list[ChangeOrder]:
    """A change of every one of these classes in every one of the drawn streets."""
    streets = Scenes(few_scenes(), ChangePlan(insert=tuple(labels), change=tuple(labels), clusters=2))
    usual = [streets.ranges[cluster] for cluster in streets.clusters.of]
    return [
        ChangeOrder(scene, label, streets.seen[place][label], usual[place][label], streets.bank)
        for place, scene in enumerate(streets.scenes)
        for label in labels
    ]


def recogniser_subject() -> Subject:
    """A recogniser that misses cars more often than anything else, before drawn streets with changes to make."""
    streets = Scenes(few_scenes(), ChangePlan(insert=("person",), change=("car",), clusters=2))
    return Subject(streets.domain, shown(streets, Simulated(handicap={"car": 0.8})), streets.rows(), medium=streets)


def _scenes() -> Medium:
    return Scenes(few_scenes()[:3], ChangePlan(insert=("person",), change=("car",), repeats=1))


MEDIA_EXAMPLES: dict[str, Callable[[], Medium]] = {
    "table": lambda: Table(shapes()["wide_band"].domain),
    "album_medium": lambda: from_album(small_album(), ["tone"]).medium,
    "portrait_medium": PortraitMedium,
    "scenes": _scenes,
    "text_medium": lambda: letters().data.medium,
}
