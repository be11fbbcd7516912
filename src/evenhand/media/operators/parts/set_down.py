"""An object that was lifted out of its scene, set down again: turned, mirrored, or at another place and size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evenhand.media.operators.parts.company import carries, is_ridden
from evenhand.media.operators.parts.cutout import MARGIN, Cutout, contact_shadow, paste
from evenhand.media.operators.parts.donors import is_whole
from evenhand.media.operators.parts.mutated import HIDDEN, Became, Inpainter, Mutation, Skipped, covered, finished
from evenhand.media.operators.parts.order import ChangeOrder
from evenhand.media.operators.parts.removal import LEFT_BEHIND, REVEALED, reveals
from evenhand.media.operators.parts.upright import is_upright
from evenhand.media.scene import Instance, Picture, Scene, union

ROUGH_MASKS = "its masks are rough, made of boxes alone; a segmenter that takes boxes is needed to cut objects out"


@dataclass(frozen=True, eq=False)
class Lifted:
    """An object of a scene, and the picture without it."""

    scene: Scene
    place: int
    picture: Picture

    @property
    def one(self) -> Instance:
        """The object."""
        return self.scene.instances[self.place]


def movable(scene: Scene, label: str, least: float, inpainter: Inpainter | None) -> list[int] | str:
    """Places of whole, upright objects of a class that can be lifted out believably, or why there is none."""
    if scene.is_rough:
        return ROUGH_MASKS
    places = [place for place in scene.of(label) if scene.instances[place].height >= least and is_whole(scene, place)]
    places = [place for place in places if is_upright(scene.instances[place])]
    if not places:
        return f"no whole, unobstructed object of this class that is at least {least:.0f} pixels high"
    if inpainter is None:
        places = [place for place in places if not reveals(scene, scene.instances[place], [scene.instances[place]])]
    if not places:
        return REVEALED
    return [place for place in places if not _has_company(scene, scene.instances[place])] or LEFT_BEHIND


def _has_company(scene: Scene, one: Instance) -> bool:
    """Whether it holds, rides or carries somebody or something."""
    return carries(scene, one) or is_ridden(scene, one, [one])


def chosen_place(operator: str, order: ChangeOrder, least: float, rng: np.random.Generator) -> int | Skipped:
    """One movable object by chance."""
    places = movable(order.scene, order.label, least, order.inpainter)
    return Skipped(operator, order.label, order.scene.name, places) if isinstance(places, str) else int(rng.choice(places))


def set_down(operator: str, lifted: Lifted, cutout: Cutout, corner: Sequence[int], shadow: bool = True) -> Mutation | Skipped:
    """The scene with the object at its new place (left, top), behind what is nearer; skipped where it would be hidden or hide another."""
    scene, one = lifted.scene, lifted.one
    left, top = corner
    foot = one.foot if top + cutout.shape[0] - MARGIN == one.foot else top + cutout.shape[0] - MARGIN
    is_front = [other.nearer_than(foot, one.depth) and other is not one for other in scene.instances]
    front = union([other for other, flag in zip(scene.instances, is_front, strict=True) if flag], scene.shape)
    picture = lifted.picture.copy()
    if shadow:
        contact_shadow(picture, cutout, (left, top + MARGIN - 1), front)
    owned = paste(picture, cutout, (left, top), front)
    if not owned.any():
        return Skipped(operator, one.label, scene.name, "the object would be hidden")
    old: list[Instance | None] = covered(scene.instances, owned, [not flag for flag in is_front])
    pairs = zip(scene.instances, old, strict=True)
    if any(now is None or now.area < HIDDEN * was.area for was, now in pairs if was is not one and was.counted):
        return Skipped(operator, one.label, scene.name, "the object would hide another one")
    old[lifted.place] = None
    fresh = Instance.from_mask(one.label, owned, one.depth)
    return finished(operator, one.label, scene, Became(picture, old, [fresh]))
