"""Deletion: every object of a class, with its shadow, replaced by what the same picture shows beside it, or by a learned inpainter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from evenhand.contract import Recogniser
from evenhand.media.operators.parts.company import carries, is_held, is_ridden
from evenhand.media.operators.parts.mutated import DELETE, Became, Inpainter, Mutation, Skipped, finished
from evenhand.media.operators.parts.net_filling import agreed_filling, is_deep_in_wall, suits_net
from evenhand.media.operators.parts.one_away import one_away
from evenhand.media.operators.parts.order import ChangeOrder
from evenhand.media.operators.parts.removal import LEFT_BEHIND, NO_BACKGROUND, REVEALED, emptied, hole_for, reveals
from evenhand.media.scene import SAID_BY, Instance, Picture, Scene, Stencil, overlap, union
from evenhand.media.vocabulary import Labels

MOST_SHARE = 0.35  # of the picture; a larger hole cannot be filled believably
STILL_SEEN = "a reader still sees it there"
LEAST_REMOVED = 0.9  # of the objects' pixels; the rest belongs to others as well, as a passenger's behind a windscreen do
STILL_THERE = 0.4  # overlap of what a reader names with the place that was emptied


@dataclass(frozen=True)
class Delete:
    """Removes the whole class, as the paper does; of objects that a recogniser named, which may have missed others, one."""

    adds: ClassVar[bool] = False
    is_null: ClassVar[bool] = False
    is_random: ClassVar[bool] = False
    is_whole: ClassVar[bool] = False
    is_usual: ClassVar[bool] = True

    def change(self, order: ChangeOrder, _: np.random.Generator) -> Mutation | Skipped:
        """The scene without any object of the class."""
        made = delete(order.scene, order.label, order.inpainter)
        if order.reader is None or isinstance(made, Skipped) or not still_seen(made, order.bank.labels, order.reader):
            return made
        return Skipped(DELETE, order.label, order.scene.name, STILL_SEEN)


def delete(scene: Scene, label: str, inpainter: Inpainter | None = None) -> Mutation | Skipped:
    """Remove every object of a class, or skip and say why; one object where nobody but a recogniser says what there is."""
    places = scene.of(label)
    if not places:
        return Skipped(DELETE, label, scene.name, "no object of this class")
    if SAID_BY in scene.facts:
        return one_away(scene, label, inpainter)
    gone = [scene.instances[place] for place in places]
    hole = hole_for(scene, gone)
    if hole.mean() > MOST_SHARE:
        return Skipped(DELETE, label, scene.name, f"the objects cover {hole.mean():.0%} of the picture")
    seen = union(gone, scene.shape)
    if any(reveals(scene, one, gone) for one in gone) or (hole & seen).sum() < LEAST_REMOVED * seen.sum():
        return Skipped(DELETE, label, scene.name, REVEALED)
    if any(carries(scene, one) or is_held(scene, one) or is_ridden(scene, one, gone) for one in gone):
        return Skipped(DELETE, label, scene.name, LEFT_BEHIND)
    filled = _filled(scene, gone, hole, inpainter)
    if filled is None:
        return Skipped(DELETE, label, scene.name, NO_BACKGROUND)
    picture, how = filled
    old: list[Instance | None] = [None if place in places else one for place, one in enumerate(scene.instances)]
    return replace(finished(DELETE, label, scene, Became(picture, old)), how=how)


def _filled(scene: Scene, gone: Sequence[Instance], hole: Stencil, inpainter: Inpainter | None) -> tuple[Picture, str] | None:
    """By the net where it is sure of itself, else by copies where no deep piece of a wall would have to be made up."""
    learned = agreed_filling(scene, hole, inpainter) if inpainter is not None and suits_net(scene, gone, hole) else None
    if learned is None and is_deep_in_wall(scene, hole):
        return None
    return emptied(scene, gone, hole, None if learned is None else lambda *_: learned)


def still_seen(made: Mutation, labels: Labels, reader: Recogniser) -> bool:
    """Whether a recogniser finds the class in a place from which it was taken away."""
    (answer,) = reader.recognise([made.after.picture])
    meant = labels.touched(made.label)
    kept = {id(one) for one in made.after.instances}
    places = [one.box for one in made.before.instances if one.label == made.label and id(one) not in kept]
    found = [one.box for one in answer if one.box is not None and labels.canonical(one.label) in meant]
    return any(overlap(place, box) >= STILL_THERE for place in places for box in found)
