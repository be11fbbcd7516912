"""Where things may stand: from the regions of a scene, or, when it has none, grown from what lies under the feet of its objects."""

from __future__ import annotations

import numpy as np

from evenhand.errors import require
from evenhand.scenes.labels import Labels
from evenhand.scenes.scene import ROAD, UNKNOWN, Regions, Scene, Stencil

ON_THE_GROUND = ("car", "truck", "bus", "person", "motorcycle", "bicycle", "cyclist", "rider", "dog", "cow", "horse", "sheep", "stop sign")


def allowed(scene: Scene, label: str, labels: Labels) -> Stencil:
    """Pixels on which the foot of this class may stand."""
    regions = scene.regions if scene.regions is not None else ground_from_feet(scene, labels)
    codes = labels.stands_on.get(labels.canonical(label), (ROAD,))
    return np.asarray(np.isin(regions, codes) & ~scene.occupied, bool)


def ground_from_feet(scene: Scene, labels: Labels) -> Regions:
    """Road where the colour is that of the strips just below the feet of vehicles and people, below the highest foot, in one piece."""
    cv2 = require("cv2", "image")
    regions = np.full(scene.shape, UNKNOWN, np.uint8)
    feet = [one for one in scene.instances if labels.canonical(one.label) in ON_THE_GROUND and not one.touches_border(scene.shape)]
    if not feet:
        return regions
    lab = cv2.cvtColor(cv2.GaussianBlur(scene.picture, (0, 0), 2.0), cv2.COLOR_RGB2LAB).astype(np.float32)
    seeds = np.zeros(scene.shape, bool)
    for one in feet:
        left, _, right, bottom = one.box
        seeds[bottom + 1 : bottom + max(3, one.height // 8), left:right] = True
    seeds &= ~scene.occupied
    if seeds.sum() < 40:
        return regions
    middle, spread = np.median(lab[seeds], axis=0), lab[seeds].std(axis=0) + 6.0
    near = (np.abs(lab - middle) / spread).max(axis=2) < 2.2
    near[: min(one.foot for one in feet)] = False
    near &= ~scene.occupied
    near = cv2.morphologyEx(near.astype(np.uint8), cv2.MORPH_OPEN, np.ones((5, 5), np.uint8))
    count, pieces = cv2.connectedComponents(near)
    touched = np.unique(pieces[seeds & (near > 0)]) if count > 1 else np.zeros(0, int)
    regions[np.isin(pieces, touched[touched > 0])] = ROAD
    return regions
