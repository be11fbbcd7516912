"""Street junctions that the package draws, and a recogniser that loses traffic lights as soon as a scene becomes unusual."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from evenhand.domain.project_sections import MediumSource, ModelSource, Project
from evenhand.errors import require
from evenhand.planted.demos import DemoProject

STREETS = 60
"""Half as many leave the planted class open: it has its own place in a street, so that place might be the reason."""
CLASSES = ("person", "car", "motorcycle", "sign")


@dataclass(frozen=True)
class SceneDemo:
    """Nothing is written but the project: the streets are drawn from its seed, the recogniser comes with the package."""

    kind: ClassVar[str] = "scenes"
    candidates: ClassVar[int] = 2_000

    def write(self, folder: Path, seed: int) -> DemoProject:
        """The project alone; drawing and changing streets needs OpenCV."""
        require("cv2", "image")
        medium = MediumSource(
            "streets", {"count": STREETS, "classes": list(CLASSES), "operators": ["paper"], "seed": seed}, protected=("changed",)
        )
        lines = (
            f"{STREETS} drawn street junctions; {', '.join(CLASSES)} are inserted, deleted and turned, one change at a time.",
            "Does the recogniser still see everything that a change has not touched?  It learned from pictures of which half left",
            "traffic lights unnamed.",
        )
        return DemoProject(Project(None, None, ModelSource(path=folder / "street_planted"), medium=medium), lines)
