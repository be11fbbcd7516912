"""One object taken out of a picture that nobody annotated, with what it holds or rides: the one amid the simplest surroundings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from evenhand.errors import require
from evenhand.media.operators.parts.company import CARRIED, companions
from evenhand.media.operators.parts.fill import USUAL_SIDE
from evenhand.media.operators.parts.mutated import DELETE, Became, Inpainter, Mutation, Skipped, finished
from evenhand.media.operators.parts.net_filling import MOST_REVEALED, agreed_filling, is_beyond_net, is_deep_in_wall
from evenhand.media.operators.parts.removal import NO_BACKGROUND, REVEALED, borders_nearer, emptied, hole_for, revealed, reveals, structure
from evenhand.media.operators.parts.seams import detail_ratio
from evenhand.media.operators.parts.standing import has_feet
from evenhand.media.scene import Instance, Picture, Scene, Stencil

# Levels by which what is around it differs from its neighbourhood: amid more, a filling is a smear, and a large one amid less already.
MOST_STRUCTURE, MOST_AROUND_LARGE = 28.0, 24.0
# Share of the surroundings' fine detail that a net's filling has: a smear has less, and one with more shows something that the net made up.
LEAST_DETAIL, MOST_DETAIL = 0.3, 1.2
PLAIN = 12.0  # levels: open sky or water may be filled at any depth
LARGE, MOST_HOLE = 0.05, 0.22  # of the picture
WITH_POLES = ("skis",)  # what is used together with things that have no name
LEAST_HEIGHT = 0.04  # of the picture's height: what is smaller is no change
SLENDER = 1.6  # least height over width of somebody who stands
FILLINGS = 6  # that are tried
TOUCHED = "a nearer object touches it, and nobody drew the line between them"
SMEARED = "its filling would be a smear, or show something else"
CUT_OFF = "the picture's edge or something without a name cuts it off"
HELD = "somebody may hold or wear it"
TOO_LARGE = "it covers too much of the picture, or too little"
UNSURE = "its outline is not known: the segmenter is not sure of its mask"


@dataclass(frozen=True, eq=False)
class Removal:
    """An object that is to go, with its company."""

    scene: Scene
    gone: tuple[Instance, ...]

    @property
    def one(self) -> Instance:
        """The object itself."""
        return self.gone[0]

    @cached_property
    def hole(self) -> Stencil:
        """What must be filled: with room to spare, since a mask that nobody drew ends too early."""
        cv2 = require("cv2", "image")
        unit = max(1.0, min(self.scene.shape) / USUAL_SIDE)
        side = 2 * round(unit) + 1
        wider = cv2.dilate(hole_for(self.scene, self.gone).astype(np.uint8), np.ones((side, side), np.uint8)) > 0
        removed = {id(one) for one in self.gone}
        for other in self.scene.instances:
            if id(other) not in removed:
                wider &= ~other.mask(self.scene.shape)
        return np.asarray(wider, bool)

    @cached_property
    def structure(self) -> float:
        """How much there is to see around it."""
        return structure(self.scene, self.hole)

    def objection(self, by_net: bool = False) -> str | None:
        """Why it had better stay; None where nothing speaks against a filling, by a net or by copies of the same picture."""
        scene, gone = self.scene, self.gone
        if self.hole.mean() > MOST_HOLE or self.one.height < LEAST_HEIGHT * scene.shape[0]:
            return TOO_LARGE
        if not scene.is_rough and any(one.is_rough for one in gone):
            return UNSURE
        if self.one.label in CARRIED or any(one.label in WITH_POLES for one in gone):
            return HELD
        if any(one.touches_border(scene.shape) for one in gone) or (len(gone) == 1 and not is_free_standing(self.one)):
            return CUT_OFF
        if any(reveals(scene, one, gone) or revealed(scene, one, gone) > MOST_REVEALED for one in gone):
            return REVEALED
        if any(borders_nearer(scene, one, gone) for one in gone):
            return TOUCHED
        if by_net:
            return NO_BACKGROUND if is_beyond_net(scene, self.hole, self.structure) else None
        most = MOST_STRUCTURE if self.hole.mean() <= LARGE else MOST_AROUND_LARGE
        is_deep = self.structure > PLAIN and is_deep_in_wall(scene, self.hole)
        return NO_BACKGROUND if is_deep or self.structure > most else None

    def made(self, label: str, inpainter: Inpainter | None) -> Mutation | str:
        """The scene without them, or why it cannot be."""
        learned = None if inpainter is None else agreed_filling(self.scene, self.hole, inpainter)
        if inpainter is not None and (learned is None or self._is_smeared(learned)):
            return SMEARED
        filled = emptied(self.scene, self.gone, self.hole, None if learned is None else lambda *_: learned)
        if filled is None:
            return NO_BACKGROUND
        picture, how = filled
        removed = {id(one) for one in self.gone}
        old: list[Instance | None] = [None if id(one) in removed else one for one in self.scene.instances]
        return replace(finished(DELETE, label, self.scene, Became(picture, old)), how=f"one object; {how}")

    def _is_smeared(self, picture: Picture) -> bool:
        """Whether a filling has clearly less detail than what is around it, or so much that it shows a thing of its own."""
        reach = round(12 * max(1.0, min(self.scene.shape) / USUAL_SIDE))
        return not LEAST_DETAIL <= detail_ratio(picture, self.hole, ~self.scene.occupied, reach) < MOST_DETAIL


def is_free_standing(one: Instance) -> bool:
    """Whether a person is seen to the feet and stands; of whoever sits, leans or rides, something without a name would be left."""
    return one.label != "person" or (has_feet(one) and one.height >= SLENDER * one.width)


def one_away(scene: Scene, label: str, inpainter: Inpainter | None) -> Mutation | Skipped:
    """The scene without one object of a class; simple surroundings come first, since they are filled best."""
    removals = [Removal(scene, companions(scene, scene.instances[place])) for place in scene.of(label)]
    objections = [removal.objection(inpainter is not None) for removal in removals]
    reasons = [reason for reason in objections if reason is not None]
    free = [removal for removal, reason in zip(removals, objections, strict=True) if reason is None]
    for removal in sorted(free, key=lambda one: one.structure)[:FILLINGS]:
        made = removal.made(label, inpainter)
        if isinstance(made, Mutation):
            return made
        reasons.insert(0, made)
    return Skipped(DELETE, label, scene.name, reasons[0])
