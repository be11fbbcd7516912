"""Changes of a picture that leave the person as they are: light, focus, compression, something worn; one file each, found by name.

Nothing is learnt, so that they are exact on any picture.  Whether a group is hurt more by them than another is what `robust_groups` tells.
"""

from __future__ import annotations

from collections.abc import Sequence

from evenhand.contract import Disturbance
from evenhand.errors import InvalidArgument
from evenhand.registry import Registry

DISTURBANCES: Registry[Disturbance] = Registry("disturbance", __name__, Disturbance)


def chosen_disturbances(names: Sequence[str] = ()) -> dict[str, Disturbance]:
    """These by name, with their usual parameters; all of them without a name."""
    if isinstance(names, str):
        raise InvalidArgument(f"changes={names!r} must be a list of names, such as ['blur', 'glasses']")
    return {name: DISTURBANCES.make(name) for name in (names or DISTURBANCES.entries())}
