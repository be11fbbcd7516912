"""Every registered loader keeps every promise; a new file in datasets/loaders/ is covered the moment it exists.

A loader whose source cannot be made here offers `example(folder)`: a source of its own and what is wished of it.
"""

import numpy as np
import pytest

from evenhand import checks
from evenhand.checks import examples
from evenhand.contract import DataWishes
from evenhand.datasets.loaders import LOADERS
from evenhand.media.png import write_png


def wishes(*protected, **more):
    return DataWishes(examples.editor_tools(), protected=protected, **more)


def album_folder(folder):
    pytest.importorskip("PIL")
    album = examples.small_album()
    lines = ["file,tone,group"]
    for place, picture in enumerate(album.pictures):
        write_png(folder / f"{place}.png", picture)
        words = [album.attribute(name).values[album.attribute(name).codes[place]] for name in ("tone", "age_group")]
        lines.append(",".join([f"{place}.png", *words]))
    (folder / "attributes.csv").write_text("\n".join(lines) + "\n")
    return folder, wishes("tone", label="group")


def table_file(folder):
    rng = np.random.default_rng(0)
    lines = [f"{rng.choice(['w', 'm'])},{rng.integers(10, 99)}" for _ in range(40)]
    (folder / "people.csv").write_text("sex,pay\n" + "\n".join(lines) + "\n")
    return folder / "people.csv", wishes("sex")


def streamed_table(folder):
    import pandas as pd

    rng = np.random.default_rng(0)
    (folder / "people").mkdir()
    for part in range(2):
        frame = pd.DataFrame({"sex": rng.choice(["w", "m"], 40), "pay": rng.integers(10, 99, 40)})
        frame.to_parquet(folder / "people" / f"part-{part}.parquet")
    return folder / "people", wishes("sex")


def texts(folder):
    (folder / "templates.csv").write_text('text\n"{name} is a {job}"\n"{name} lost {his} work"\n')
    words = "slot,word,gender\nname,Emily,woman\nname,Greg,man\nhis,her,woman\nhis,his,man\njob,nurse,\njob,pilot,\n"
    (folder / "words.csv").write_text(words)
    return folder / "templates.csv", wishes("gender")


def scene_folder(folder):
    pytest.importorskip("cv2")
    from evenhand.datasets.scenes.coco_writer import AnnotatedScene, write_coco

    write_coco(folder, [AnnotatedScene(scene.name, scene) for scene in examples.few_scenes()])
    return folder, wishes()


SOURCES = {
    "album_folder": album_folder,
    "drawn_portraits": lambda folder: ("portraits", wishes("tone")),
    "drawn_streets": lambda folder: ("streets", wishes()),
    "embedded_tables": lambda folder: ("credit", wishes("sex")),
    "scene_files": scene_folder,
    "table_files": table_file,
    "streamed_tables": streamed_table,
    "text_templates": texts,
}
SMALL = {"drawn_portraits": {"count": 6, "size": 16}, "drawn_streets": {"count": 3, "classes": ("person", "car")}}


@pytest.mark.parametrize("check", checks.for_loader(), ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", LOADERS.entries())
def test_every_loader_keeps_every_promise(name, check, tmp_path):
    make = LOADERS.entry(name).make
    source, wished = make.example(tmp_path) if hasattr(make, "example") else SOURCES[name](tmp_path)
    check(LOADERS.make(name, SMALL.get(name, {})), source, wished)
