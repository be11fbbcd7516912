"""What an operator is told: the scene, the class, what is usual there, and where donors and fillings come from."""

from __future__ import annotations

from dataclasses import dataclass

from evenhand.contract import Recogniser
from evenhand.media.operators.parts.donors import DonorBank
from evenhand.media.operators.parts.mutated import Inpainter
from evenhand.media.scene import Scene
from evenhand.media.scene_clusters import Range


@dataclass(frozen=True, eq=False)
class ChangeOrder:
    """One change to make; `seen` and `usual` count the class in the scene and its cluster, as the truth or a recogniser sees it."""

    scene: Scene
    label: str
    seen: int
    usual: Range
    bank: DonorBank
    inpainter: Inpainter | None = None
    reader: Recogniser | None = None  # checks what can be checked by a look at the picture
