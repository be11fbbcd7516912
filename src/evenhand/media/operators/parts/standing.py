"""Where things may stand: from the regions of a scene, or, when it has none, grown from what lies under the feet of its objects."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import require
from evenhand.media.operators.parts.upright import is_upright
from evenhand.media.scene import ROAD, SAID_BY, UNKNOWN, Instance, Picture, PixelBox, Regions, Scene, Stencil
from evenhand.media.vocabulary import Labels

GRAZING = ("cow", "horse", "sheep", "zebra", "giraffe", "elephant", "bear")
WALKING = ("person", "dog", *GRAZING)
DRIVING = ("car", "truck", "bus", "motorcycle", "bicycle", "cyclist", "rider")
ON_THE_GROUND = (*DRIVING, *WALKING, "stop sign")
SEEN_FEET, MOST_FEET = 0.06, 0.6  # of a person's height, and of its greatest width: what is wider there ends at a table or a skirting board
LEGS = 0.15  # of an animal's height: all of its feet are seen within
ROOM_TO_LOOK, LEAST_STRIP = 12, 20  # pixels around a strip of ground, so that its edges are not those of the cut; pixels that tell anything
LIGHTS, FLOOR = 90, 5.0  # percentile of an object's lightness, and levels that are added to both sides of a ratio
ROOM_BELOW, ROOM_ABOVE = 0.12, 0.02  # of the picture's height: how far from the rows of known feet others may stand
LEAST_FEET = 0.06  # of the picture's width: fewer or smaller objects tell too little about the ground
MOST_BELOW = 0.1  # of the strip below the feet may belong to other objects
LEAST_SPREAD = np.array([6.0, 6.0, 6.0, 0.25], np.float32)  # of colour and roughness on one ground
MOST_SPREAD = np.array([14.0, 14.0, 14.0, 0.5], np.float32)  # feet on different grounds must not make everything ground


def allowed(scene: Scene, label: str, labels: Labels, least: int = 1) -> Stencil:
    """Pixels on which the foot of this class may stand; without regions, so many others must stand free there."""
    regions = scene.regions if scene.regions is not None else ground_from_feet(scene, labels)
    if scene.regions is None and _company(scene, label, labels) < least:
        return np.zeros(scene.shape, bool)
    codes = labels.stands_on.get(labels.canonical(label), (ROAD,))
    return np.asarray(np.isin(regions, codes) & ~scene.occupied, bool)


def is_guessed(scene: Scene) -> bool:
    """Whether nobody marked its ground: it is inferred from the objects, or from a net that was asked about points."""
    return scene.regions is None or SAID_BY in scene.facts


def _company(scene: Scene, label: str, labels: Labels) -> int:
    """How many stand free of those where this class may be: a lawn with people is no road, and a room with people no pasture."""
    name = labels.canonical(label)
    kind = next((kind for kind in (GRAZING, WALKING, DRIVING) if name in kind), (name,))
    return sum(labels.canonical(one.label) in kind and stands_free(scene, one) for one in scene.instances)


def stands_free(scene: Scene, one: Instance) -> bool:
    """Whether its feet are seen, and nothing is below them: not a board, a horse, a chair, or a table that hides the legs."""
    if one.touches_border(scene.shape) or not is_upright(one) or not has_feet(one):
        return False
    left, _, right, bottom = one.box
    return bool(scene.occupied[bottom : bottom + max(3, one.height // 8), left:right].mean() < MOST_BELOW)


def has_feet(one: Instance) -> bool:
    """Whether a person's mask is narrow at its lower end; other things stand on whatever they have."""
    wide = one.stencil.sum(axis=1)
    return one.label != "person" or bool(wide[-max(1, round(SEEN_FEET * one.height)) :].mean() <= MOST_FEET * wide.max())


def footing(one: Instance) -> float:
    """How far apart the feet are of which it shows any, as a share of its width: one leg alone is seen beside what hides the others."""
    columns = np.flatnonzero(one.stencil[-max(1, round(LEGS * one.height)) :].any(axis=0))
    return float((columns[-1] - columns[0] + 1) / one.width)


def ground_below(scene: Scene, one: Instance) -> NDArray[np.float64] | None:
    """Colour and roughness of the free strip below an object that stands on feet; None where there is none."""
    left, _, right, bottom = one.box
    deep = max(4, one.height // 8)
    x0, y0, x1, y1 = PixelBox(left, bottom, right, bottom + deep).grown(ROOM_TO_LOOK, scene.shape)
    strip = np.zeros((y1 - y0, x1 - x0), bool)
    strip[bottom + 1 - y0 : bottom + deep - y0, left - x0 : right - x0] = True
    strip &= ~scene.occupied[y0:y1, x0:x1]
    if strip.sum() < LEAST_STRIP or not has_feet(one):
        return None
    return np.asarray(np.median(look(scene.picture[y0:y1, x0:x1])[strip], axis=0), np.float64)


def lit(scene: Scene, one: Instance) -> float | None:
    """How bright the lights of an object are against its ground, as a logarithm: from behind it is darker, from the front brighter."""
    below = ground_below(scene, one)
    if below is None:
        return None
    left, top, right, bottom = one.box
    lights = np.percentile(scene.picture[top:bottom, left:right].mean(axis=2)[one.stencil], LIGHTS)
    return float(np.log((lights + FLOOR) / (below[0] + FLOOR)))


def look(picture: Picture) -> NDArray[np.float32]:
    """(rows, columns, 4): colour, and how rough the surface is."""
    cv2 = require("cv2", "image")
    lab = cv2.cvtColor(cv2.GaussianBlur(picture, (0, 0), 2.0), cv2.COLOR_RGB2LAB).astype(np.float32)
    grey = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY).astype(np.float32)
    slope = np.log1p(np.abs(cv2.Sobel(grey, cv2.CV_32F, 1, 0)) + np.abs(cv2.Sobel(grey, cv2.CV_32F, 0, 1)))
    return np.concatenate([lab, cv2.GaussianBlur(slope, (0, 0), 4.0)[..., None]], axis=2)


def ground_from_feet(scene: Scene, labels: Labels) -> Regions:
    """Road where colour and roughness are those of the strips below the feet of vehicles and people, below the highest foot."""
    cv2 = require("cv2", "image")
    regions = np.full(scene.shape, UNKNOWN, np.uint8)
    feet = [one for one in scene.instances if labels.canonical(one.label) in ON_THE_GROUND and stands_free(scene, one)]
    if sum(one.width for one in feet) < LEAST_FEET * scene.shape[1]:
        return regions
    layers = look(scene.picture)
    seeds = np.zeros(scene.shape, bool)
    for one in feet:
        left, _, right, bottom = one.box
        seeds[bottom + 1 : bottom + max(3, one.height // 8), left:right] = True
    seeds &= ~scene.occupied
    if seeds.sum() < 40:
        return regions
    middle, spread = np.median(layers[seeds], axis=0), np.minimum(layers[seeds].std(axis=0), MOST_SPREAD) + LEAST_SPREAD
    near = (np.abs(layers - middle) / spread).max(axis=2) < 2.2
    rows = [one.foot / scene.shape[0] for one in feet]
    near[: round((min(rows) - ROOM_ABOVE) * scene.shape[0])] = False
    near[round((max(rows) + ROOM_BELOW) * scene.shape[0]) :] = False
    near &= ~scene.occupied
    near = cv2.morphologyEx(near.astype(np.uint8), cv2.MORPH_OPEN, np.ones((5, 5), np.uint8))
    count, pieces = cv2.connectedComponents(near)
    touched = np.unique(pieces[seeds & (near > 0)]) if count > 1 else np.zeros(0, int)
    regions[np.isin(pieces, touched[touched > 0])] = ROAD
    return regions
