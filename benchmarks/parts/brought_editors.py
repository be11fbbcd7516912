"""What a user may bring to make twins of drawn portraits: a function, twins in a folder, a generator that learnt from other portraits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.campaign.opened_project import editor_tools
from evenhand.datasets.ready_pairs import ReadyPairs
from evenhand.media.album import Album, as_bytes
from evenhand.media.editors.latent_difference import LatentDifference
from evenhand.media.given_editor import GivenEditor
from evenhand.media.png import write_png
from evenhand.models.own_generator import generator_space
from evenhand.planted.portraits import synthetic_faces
from evenhand.synthesis.picture_latent import fitted_space
from parts.picture_verdicts import SIZE, drawn_portraits, labelled, with_exact_twins

GENERATOR_LEARNT_FROM, POINT_SIDE = 1_500, 40
DARKER, LIGHTER = 0.55, 1.6


def own_function(learnt: Album, seed: int) -> Any:  # noqa: ARG001 - arithmetic learns nothing
    """The function of docs/own-pictures.md: what has the colour of skin is made lighter or darker."""
    lower, _ = learnt.attribute("tone").values

    def tinted(pictures: np.ndarray, values: Sequence[str], codes: np.ndarray) -> np.ndarray:  # noqa: ARG001 - told by name
        skin = (pictures[..., 0] > pictures[..., 2].astype(int) + 15)[..., None]
        factor = np.where(np.array(values) == lower, LIGHTER, DARKER)[:, None, None, None]
        return np.where(skin, np.clip(pictures * factor, 0, 255), pictures)

    return GivenEditor("tone", tinted, "editor of the user's")


def own_generator(learnt: Album, seed: int) -> Any:
    """A small adversarial net that can draw portraits, and nothing more: how its points are read is learnt from its samples."""
    album = synthetic_faces(GENERATOR_LEARNT_FROM, np.random.default_rng([seed, 61]), SIZE)
    album = labelled(album, "badge")
    space: Any = fitted_space("adversarial", album.pictures, POINT_SIDE, np.random.default_rng([seed, 62]))
    given = generator_space(_Sampler(space), album.pictures.shape[1:], "generator of the user's")
    return LatentDifference.made(learnt, "tone", replace(editor_tools(seed), latent=lambda *_: given))


class _Sampler:
    def __init__(self, space: Any) -> None:
        self.space, self.dimensions = space, POINT_SIDE

    def decode(self, latents: np.ndarray) -> np.ndarray:
        """Pictures of points."""
        return np.asarray(self.space.decode(latents))


BROUGHT: dict[str, Callable[[Album, int], Any]] = {"own_function": own_function, "own_generator": own_generator}
READY_PAIRS = "ready_pairs"


@cache
def ready_pairs(folder: Path, count: int, seed: int, correlated: bool, label: str) -> tuple[Album, ReadyPairs]:
    """The portraits with file names, and a folder of their exact twins, of which nobody says that they are exact."""
    drawn, kept = drawn_portraits(count, seed, correlated, label)
    twins = with_exact_twins(drawn, label, seed).pictures[len(drawn) :]
    names = tuple(f"{place:05d}.png" for place in range(len(kept)))
    for name, picture in zip(names, as_bytes(twins[kept]), strict=True):
        write_png(folder / name, picture)
    return replace(labelled(drawn, label)[kept], sources=names), ReadyPairs("tone", folder)
