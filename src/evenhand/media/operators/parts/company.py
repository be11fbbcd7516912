"""Who belongs together: somebody who rides and what is ridden, and what is carried or worn."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evenhand.errors import require
from evenhand.media.scene import Instance, Scene

CARRIED = frozenset(
    {
        "umbrella",
        "handbag",
        "backpack",
        "tie",
        "frisbee",
        "skis",
        "snowboard",
        "sports ball",
        "kite",
        "baseball bat",
        "baseball glove",
        "skateboard",
        "surfboard",
        "tennis racket",
        "cell phone",
        "bottle",
        "cup",
        "book",
        "teddy bear",
        "toothbrush",
        "hair drier",
        "scissors",
        "remote",
        "wine glass",
        "fork",
        "knife",
        "spoon",
    }
)
ON_A_STRING = ("kite",)
RIDDEN = frozenset({"bicycle", "motorcycle", "horse", "elephant"})


def companions(scene: Scene, one: Instance) -> tuple[Instance, ...]:
    """The object, then what it carries, what it rides, or who rides it."""
    others = [other for other in scene.instances if other is not one]
    held = [other for other in others if one.label == "person" and other.label in CARRIED and _touches(scene, one, other)]
    mounts = [other for other in others if is_ridden(scene, one, [each for each in scene.instances if each is not other])]
    return one, *held, *mounts


def _touches(scene: Scene, one: Instance, other: Instance) -> bool:
    cv2 = require("cv2", "image")
    around = cv2.dilate(one.mask(scene.shape).astype(np.uint8), np.ones((7, 7), np.uint8)).astype(bool)
    return bool((other.mask(scene.shape) & around).any())


def carries(scene: Scene, one: Instance) -> bool:
    """Whether a thing that is carried, worn or ridden touches it."""
    return any(_touches(scene, one, other) for other in scene.instances if other.label in CARRIED and other is not one)


def is_held(scene: Scene, one: Instance) -> bool:
    """Whether it hangs on a string that nobody marked, or touches somebody who may carry or wear it: a hand would hold nothing."""
    if one.label in ON_A_STRING:
        return True
    people = [other for other in scene.instances if other.label == "person"]
    return one.label in CARRIED and any(_touches(scene, one, other) for other in people)


def is_ridden(scene: Scene, one: Instance, gone: Sequence[Instance]) -> bool:
    """Whether it and another object that stays are somebody who rides and what is ridden."""
    removed = {id(other) for other in gone}
    staying = [other for other in scene.instances if id(other) not in removed]
    mates = [other for other in staying if ({one.label, other.label} & RIDDEN) and "person" in (one.label, other.label)]
    return any(_rides(*((one, other) if one.label == "person" else (other, one))) for other in mates)


def _rides(person: Instance, mount: Instance) -> bool:
    """Whether a person sits on it: above its middle, with feet that are not on the ground beside it, and no nearer or farther."""
    if person.depth is not None and mount.depth is not None and abs(person.depth - mount.depth) > 0.03 * mount.depth:
        return False
    left, top, right, bottom = mount.box
    return (
        left <= person.box.middle[0] <= right
        and person.box.top < top + 0.3 * mount.height
        and top < person.foot <= bottom + 0.06 * mount.height
    )
