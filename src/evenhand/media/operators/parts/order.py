"""What an operator is told: the scene, the class, what is usual there, and where donors and fillings come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evenhand.media.operators.parts.donors import DonorBank
from evenhand.media.operators.parts.mutated import Inpainter
from evenhand.media.scene import Scene
from evenhand.media.scene_clusters import Range


@dataclass(frozen=True, eq=False)
class ChangeOrder:
    """One change to make.  `seen` and `usual` count this class as the data's truth or a recogniser sees it, in the scene and its cluster."""

    scene: Scene
    label: str
    seen: int
    usual: Range
    bank: DonorBank
    inpainter: Inpainter | None = None


def any_present(scene: Scene, labels: Sequence[str], rng: np.random.Generator) -> str:
    """One of these classes that the scene shows, by chance; the first one where it shows none."""
    present = [label for label in labels if scene.of(label)]
    return str(rng.choice(present)) if present else labels[0]
