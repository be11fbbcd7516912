"""Who is who in a data set: for everything that is seen in a picture, what else is, or looks like, the same object.

Two signs count: a track, which is the same place and size in neighbouring frames of a film, and the colours from head to foot.  Left and
right do not count, so that somebody seen from the other side stays the same.  Taking two for one only costs a donor; taking one for
two puts somebody beside themselves.  Likeness is not handed on: in a dark street everybody is like somebody who is like somebody else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import require
from evenhand.media.film import films
from evenhand.media.scene import Instance, Scene

BANDS = 6  # from head to foot
SAME = 9.0  # levels between the colours of two objects below which they are taken for one
ONE_TRACK = 20.0  # the same for neighbouring frames, where place and size say it already
LIGHT = 0.5  # share of a difference in overall lightness that counts: an object walks into the shade
LEAST_COVER = 0.12  # of a band, to tell its colour
MOST_FRAMES = 16  # between two pictures of a film whose objects are still followed: after half a second somebody else walks there
NEAR, ALIKE_HEIGHT = 0.7, 1.4  # of its height by which an object moves between frames, and by which factor its height changes
LEAST_HEIGHT = 12  # pixels; of smaller objects nothing can be said

Colours = NDArray[np.float32]  # (bands, 3)


@dataclass(frozen=True, eq=False)
class Sighting:
    """One object in one picture."""

    place: int  # of its scene
    one: Instance
    colours: Colours


@dataclass(frozen=True)
class Identity:
    """The number of a sighting, and the numbers of all that may be the same object, its own among them."""

    number: int
    alike: frozenset[int]


def identities(scenes: Sequence[Scene]) -> list[dict[int, Identity]]:
    """For each scene, who each of its objects may be, by position; small objects and crowds have no identity."""
    seen, at = [], []
    for place, scene in enumerate(scenes):
        for position, one in enumerate(scene.instances):
            if one.counted and one.height >= LEAST_HEIGHT:
                seen.append(Sighting(place, one, colours(scene, one)))
                at.append((place, position))
    alike = _alike(seen, _tracks(seen, [scene.name for scene in scenes]))
    found: list[dict[int, Identity]] = [{} for _ in scenes]
    for number, (place, position) in enumerate(at):
        found[place][position] = Identity(number, alike[number])
    return found


def colours(scene: Scene, one: Instance) -> Colours:
    """The mean colour of each band of an object, in a space where equal steps look equal; a band that it hardly fills is like the next."""
    cv2 = require("cv2", "image")
    left, top, right, bottom = one.box
    lab = cv2.cvtColor(np.ascontiguousarray(scene.picture[top:bottom, left:right]), cv2.COLOR_RGB2LAB).astype(np.float32)
    mass = one.stencil.astype(np.float32)
    share = cv2.resize(mass, (1, BANDS), interpolation=cv2.INTER_AREA).ravel()
    mean = cv2.resize(lab * mass[..., None], (1, BANDS), interpolation=cv2.INTER_AREA)[:, 0] / np.maximum(share, 1e-6)[:, None]
    filled = np.flatnonzero(share >= LEAST_COVER)
    if not filled.size:
        return np.asarray(np.repeat(lab[one.stencil].mean(axis=0)[None], BANDS, axis=0), np.float32)
    nearest = filled[np.abs(np.arange(BANDS)[:, None] - filled[None]).argmin(axis=1)]
    return np.asarray(mean[nearest], np.float32)


def difference(one: Colours, others: NDArray[np.float32]) -> NDArray[np.float32]:
    """Levels between an object's colours and those of others, (n, bands, 3): a change of light as a whole counts less."""
    miss = others - one
    light = miss[..., 0].mean(axis=-1, keepdims=True)
    miss = miss.copy()
    miss[..., 0] -= (1 - LIGHT) * light
    return np.asarray(np.sqrt((miss**2).sum(axis=-1)).mean(axis=-1), np.float32)


def _tracks(seen: Sequence[Sighting], names: Sequence[str]) -> list[int]:
    """A number for each sighting, the same along a film as long as place, size and colours go on."""
    by_scene: dict[int, list[int]] = {}
    for k, one in enumerate(seen):
        by_scene.setdefault(one.place, []).append(k)
    number = list(range(len(seen)))
    for frames in films(names):
        for before, after in pairwise(frames):
            if after.number - before.number <= MOST_FRAMES:
                for first, second in _followed(seen, by_scene.get(before.place, []), by_scene.get(after.place, [])):
                    number[second] = number[first]
    return number


def _followed(seen: Sequence[Sighting], before: Sequence[int], after: Sequence[int]) -> list[tuple[int, int]]:
    """Pairs of sightings in two frames that are one object, the nearest first, each at most once."""
    pairs = sorted((gap, first, second) for first in before for second in after if (gap := _gap(seen[first], seen[second])) is not None)
    taken: set[tuple[str, int]] = set()
    found = []
    for _, first, second in pairs:
        if not {("before", first), ("after", second)} & taken:
            taken |= {("before", first), ("after", second)}
            found.append((first, second))
    return found


def _gap(one: Sighting, other: Sighting) -> float | None:
    """How far an object moved, in its own heights; None where it is another one."""
    if one.one.label != other.one.label:
        return None
    tall = one.one.height, other.one.height
    moved = float(np.hypot(*(np.array(one.one.box.middle) - other.one.box.middle))) / max(tall)
    if moved > NEAR or max(tall) > ALIKE_HEIGHT * min(tall):
        return None
    return moved if difference(one.colours, other.colours[None])[0] < ONE_TRACK else None


def _alike(seen: Sequence[Sighting], tracks: Sequence[int]) -> list[frozenset[int]]:
    """For each sighting, those of its class that are of its track or have its colours."""
    by_label: dict[str, list[int]] = {}
    for k, one in enumerate(seen):
        by_label.setdefault(one.one.label, []).append(k)
    found: list[frozenset[int]] = [frozenset()] * len(seen)
    for members in by_label.values():
        looks, numbers = np.stack([seen[k].colours for k in members]), np.array([tracks[k] for k in members])
        for row, k in enumerate(members):
            is_alike = (difference(looks[row], looks) < SAME) | (numbers == numbers[row])
            found[k] = frozenset(np.array(members)[is_alike].tolist())
    return found
