"""Whether an object has the build of something that stands."""

from __future__ import annotations

from evenhand.media.scene import Instance

UPRIGHT = {"person": 1.5}  # least height over width: less is a head, a pair of legs, or somebody lying or falling


def is_upright(one: Instance) -> bool:
    """Whether it is as tall for its width as its class is when it stands."""
    return one.height >= UPRIGHT.get(one.label, 0.0) * one.width
