"""draw: pictures that the package makes itself, with everything that is known of them, as files for any tool."""

from __future__ import annotations

from pathlib import Path

from evenhand.errors import InvalidArgument


def draw_streets(folder: str | Path, count: int = 12, seed: int = 0) -> Path:
    """Synthetic streets as PNG files with COCO annotations; returns the path of the annotations."""
    from evenhand.datasets.scene_data import drawn_streets
    from evenhand.datasets.scenes.coco_writer import AnnotatedScene, write_coco

    if count < 1:
        raise InvalidArgument(f"count={count!r} of streets must be a whole number of at least 1")
    scenes = drawn_streets(count, seed)
    return write_coco(Path(folder), (AnnotatedScene(scene.name, scene, {"synthetic": True}) for scene in scenes))
