"""What an operator returns: a mutated scene with everything that changed, or the reason why nothing was done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from evenhand.media.scene import Instance, Picture, PixelBox, Scene, Stencil

INSERT, DELETE, ROTATE, PUT_BACK, EMPTY_PATCH = "insert", "delete", "rotate", "put_back", "empty_patch"
OPERATORS = (INSERT, DELETE, ROTATE)
CONTROLS = (PUT_BACK, EMPTY_PATCH)
Inpainter = Callable[[Picture, Stencil], Picture]
"""Fills a hole in a picture."""
HIDDEN = 0.5  # an object that keeps less of what was visible is expected to be missed


@dataclass(frozen=True, eq=False)
class Mutation:
    """A mutated scene."""

    operator: str
    label: str
    before: Scene
    after: Scene
    boxes: tuple[PixelBox, ...]  # where the picture changed
    kept: tuple[float, ...]  # for each instance of `before`, the share of its visible pixels that is still visible
    how: str = ""
    origins: tuple[str, ...] = ()
    changed: Stencil | None = field(default=None, repr=False)

    def hidden(self, touched: frozenset[str]) -> Counter[str]:
        """Objects, by class, that the mutation itself covered; the mutated classes are left out."""
        pairs = zip(self.before.instances, self.kept, strict=True)
        return Counter(one.label for one, share in pairs if one.counted and share < HIDDEN and one.label not in touched)


@dataclass(frozen=True)
class Skipped:
    """An operator that could not be applied believably, and why."""

    operator: str
    label: str
    scene: str
    reason: str


@dataclass(frozen=True, eq=False)
class Became:
    """The picture after a mutation, what became of every old instance (None: gone), and the new ones."""

    picture: Picture
    old: Sequence[Instance | None]
    new: Sequence[Instance] = ()


def finished(operator: str, label: str, before: Scene, became: Became) -> Mutation:
    """Put a mutation together."""
    picture, old, new = became.picture, became.old, became.new
    kept = tuple(one.area / max(1, was.area) if one is not None else 0.0 for was, one in zip(before.instances, old, strict=True))
    after = before.with_picture(picture, [one for one in (*old, *new) if one is not None and one.area])
    changed = (picture != before.picture).any(axis=2)
    boxes = tuple(one.box for one in new) or tuple(was.box for was, share in zip(before.instances, kept, strict=True) if share == 0.0)
    return Mutation(operator, label, before, after, boxes, kept, changed=changed)


def covered(instances: Sequence[Instance | None], owned: Stencil, behind: Sequence[bool]) -> list[Instance | None]:
    """Take newly owned pixels away from the instances that lie behind."""
    result: list[Instance | None] = []
    for one, is_behind in zip(instances, behind, strict=True):
        if one is None or not is_behind:
            result.append(one)
            continue
        left, top, right, bottom = one.box
        hit = one.stencil & owned[top:bottom, left:right]
        if not hit.any():
            result.append(one)
            continue
        rest = one.stencil & ~hit
        result.append(replace(one, stencil=rest, visible=one.visible * float(np.count_nonzero(rest)) / one.area))
    return result
