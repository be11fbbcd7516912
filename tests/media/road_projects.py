"""A small project of every medium, written into a folder as a person's own: data, a model that is unfair, an evenhand.yaml."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from evenhand.domain.project_file import save_project
from evenhand.domain.project_sections import DataSource, MediumSource, ModelSource, Project, ScanSettings
from evenhand.media.png import write_png
from evenhand.planted import shapes
from evenhand.planted.portraits import synthetic_faces

BRIGHTNESS = """
import numpy as np

class Reader:
    classes = {classes!r}
    def scores(self, pictures):
        light = pictures.reshape(len(pictures), -1).mean(axis=1) / 255.0
        sure = 1.0 / (1.0 + np.exp(-80.0 * (light - {border})))
        return np.stack([1.0 - sure, sure], axis=1)
    def fingerprint(self):
        return "brightness"

READER = Reader()
"""
LETTERS = """
from evenhand.planted.letters import LetterReader
READER = LetterReader()
"""
STREETS = """
from evenhand.planted.recognisers import Simulated
READER = Simulated(handicap={"person": 1.2})
"""


def table(folder: Path) -> Project:
    """The planted wide band, as a CSV file and a network."""
    planted = shapes()["wide_band"]
    rows = planted.domain.sample(300, np.random.default_rng(0))
    frame = planted.domain.decode(rows)
    frame["decision"] = np.array(["refused", "granted"])[planted.model.scores(rows).argmax(axis=1)]
    frame.to_csv(folder / "people.csv", index=False)
    planted.model.save(folder / "model.npz")
    return Project(planted.domain, DataSource(folder / "people.csv"), ModelSource(path=folder / "model.npz"))


def album(folder: Path) -> Project:
    """Pictures in a folder with a table of attributes; the classifier reads their brightness, which the editor changes with the tone."""
    faces = synthetic_faces(60, np.random.default_rng(0), 24)
    tone = faces.attribute("tone").codes == 1
    light = faces.pictures.reshape(60, -1).mean(axis=1) / 255.0
    border = float(np.median(light))
    lines = ["file,tone,door"]
    (folder / "faces").mkdir()
    for place, picture in enumerate(faces.pictures):
        write_png(folder / "faces" / f"{place}.png", picture)
        lines.append(f"{place}.png,{'darker' if tone[place] else 'lighter'},{'open' if light[place] > border else 'shut'}")
    (folder / "faces" / "attributes.csv").write_text("\n".join(lines) + "\n")
    (folder / "reader.py").write_text(BRIGHTNESS.format(classes=("shut", "open"), border=border))
    medium = MediumSource("album", {"size": 24}, label="door", favourable=("open",), protected=("tone",))
    return Project(None, DataSource(folder / "faces"), ModelSource(path=Path("reader:READER")), medium=medium)


def portraits(folder: Path) -> Project:
    """Portraits that are drawn when they are shown."""
    (folder / "reader.py").write_text(BRIGHTNESS.format(classes=("young", "older"), border=0.45))
    medium = MediumSource("portraits", {"count": 60, "size": 16, "seed": 1}, protected=("tone",))
    return Project(None, None, ModelSource(path=Path("reader:READER")), medium=medium)


def text(folder: Path) -> Project:
    """Letters of application as two CSV files."""
    (folder / "templates.csv").write_text('text\n"{name} applied as a {job}. The letter is {tone}."\n"A {tone} letter of {name}, {job}."\n')
    names = zip(("Emily", "Anne", "Lakisha", "Aisha"), ("Greg", "Brad", "Jamal", "Rasheed"), strict=True)
    words = ["slot,word,gender", *(f"name,{woman},woman\nname,{man},man" for woman, man in names)]
    words += [f"job,{job}," for job in ("nurse", "pilot", "surgeon", "baker")] + [f"tone,{tone}," for tone in ("kind", "rude", "plain")]
    (folder / "words.csv").write_text("\n".join(words) + "\n")
    (folder / "reader.py").write_text(LETTERS)
    medium = MediumSource("text", {"words": "words.csv"}, protected=("gender",))
    return Project(None, DataSource(folder / "templates.csv"), ModelSource(path=Path("reader:READER")), medium=medium)


def scenes(folder: Path) -> Project:
    """Drawn streets with the paper's changes, and a recogniser that misses people."""
    (folder / "reader.py").write_text(STREETS)
    medium = MediumSource("streets", {"count": 3, "operators": ["paper"], "seed": 1})
    return Project(None, None, ModelSource(path=Path("reader:READER")), medium=medium)


PROJECTS: dict[str, Callable[[Path], Project]] = {"table": table, "album": album, "portraits": portraits, "text": text, "scenes": scenes}


def write_project(kind: str, folder: Path) -> None:
    """All files of a project of this medium."""
    folder.mkdir(parents=True)
    project = PROJECTS[kind](folder)
    save_project(replace(project, scan=ScanSettings(runs=folder / "runs", rate_rows=200)), folder / "evenhand.yaml")
