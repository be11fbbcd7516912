"""draw: pictures that the package makes itself, with everything that is known of them, as files for any tool."""

from __future__ import annotations

import csv
from pathlib import Path

from evenhand.disk import whole_file
from evenhand.limits import Count, PortraitSize, check_argument


def draw_streets(folder: str | Path, count: int = 12, seed: int = 0) -> Path:
    """Synthetic streets as PNG files with COCO annotations; returns the path of the annotations."""
    from evenhand.datasets.scene_data import drawn_streets
    from evenhand.datasets.scenes.coco_writer import AnnotatedScene, write_coco

    check_argument(Count, count=count)
    scenes = drawn_streets(count, seed)
    return write_coco(Path(folder), (AnnotatedScene(scene.name, scene, {"synthetic": True}) for scene in scenes))


def draw_portraits(folder: str | Path, count: int = 40, size: int = 64, seed: int = 0) -> Path:
    """Synthetic portraits as PNG files with `attributes.csv` beside them, which is an album that `evenhand.open` reads; returns the table.

    `sheet.png` shows them all.  The same seed gives the same portraits.
    """
    import numpy as np

    from evenhand.media.png import sheet, write_png
    from evenhand.planted.portraits import synthetic_faces

    check_argument(Count, count=count)
    check_argument(PortraitSize, size=size)
    album, place = synthetic_faces(count, np.random.default_rng(seed), size), Path(folder)
    files = [f"portraits/{number:05d}.png" for number in range(count)]
    for name, picture in zip(files, album.pictures, strict=True):
        write_png(place / name, picture)
    write_png(place / "sheet.png", sheet(album.pictures[:400], min(10, count), gap=2))
    words = [[each.values[code] for code in each.codes] for each in album.attributes.values()]
    table = place / "attributes.csv"
    with whole_file(table) as new, new.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["file", *album.attributes])
        writer.writerows(zip(files, *words, strict=True))
    return table
