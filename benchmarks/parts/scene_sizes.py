"""What a change costs in a large picture beside a small one: the same drawn streets at 480 x 360 and at three times that."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from evenhand.datasets.scene_data import drawn_streets
from evenhand.errors import require
from evenhand.media.operators.parts.mutated import Mutation
from evenhand.media.scene import PixelBox, Scene
from evenhand.media.scenes import ChangePlan, Scenes

TIMES = 3
STREETS = 5
PLAN = ChangePlan(("dog",), ("person", "car", "sign"), ("insert", "delete", "mirror"), controls=False)


def enlarged(scene: Scene, times: int = TIMES) -> Scene:
    """The same scene at more pixels."""
    cv2 = require("cv2", "image")

    def larger(layer, how):
        return cv2.resize(layer, None, fx=times, fy=times, interpolation=how)

    instances = tuple(
        replace(one, box=PixelBox(*(times * side for side in one.box)), stencil=np.kron(one.stencil, np.ones((times, times), bool)))
        for one in scene.instances
    )
    regions = None if scene.regions is None else larger(scene.regions, cv2.INTER_NEAREST)
    depth = None if scene.depth is None else larger(scene.depth, cv2.INTER_NEAREST)
    return replace(scene, picture=larger(scene.picture, cv2.INTER_CUBIC), instances=instances, regions=regions, depth=depth)


def size_figures(say: Callable[..., None]) -> dict[str, float]:
    """Seconds of all changes that can be made at both sizes, for each pixel, the large over the small."""
    small = Scenes(drawn_streets(STREETS, 4), PLAN)
    large = Scenes([enlarged(scene) for scene in small.scenes], PLAN)
    both, spent = [0, 0, 0], [0.0, 0.0]
    small.bank, large.bank, small.ranges, large.ranges  # noqa: B018 - collected once, not by the first change
    for place, change, _ in small.rows():
        made = []
        for k, medium in enumerate((small, large)):
            started = time.process_time()
            made.append(isinstance(medium.made(int(place), int(change)), Mutation))
            spent[k] += time.process_time() - started
        both = [both[0] + made[0], both[1] + made[1], both[2] + (made[0] == made[1])]
    ratio = spent[1] / spent[0] / TIMES**2
    say(f"6 sizes: {both[0]} changes made at 480 x 360, {both[1]} at {TIMES} times that, alike in {both[2]} of {len(small.rows())}")
    say(f"  {spent[0]:.1f} and {spent[1]:.1f} CPU-seconds, {ratio:.2f} for each pixel")
    return {"cost_hd_over_small_per_pixel": ratio}
