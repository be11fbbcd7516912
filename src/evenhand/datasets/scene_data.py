"""Scenes as a data set: every scene with every change, shown by its medium; and the formats that scenes are read from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TypeAlias

import numpy as np

from evenhand.datasets.dataset import Dataset
from evenhand.datasets.scenes.legends import legend_named
from evenhand.datasets.scenes.map_layouts import found_layout
from evenhand.datasets.scenes.people_boxes import first_picture, from_facet, from_miap, people_format
from evenhand.datasets.scenes.picture_files import SceneSample
from evenhand.datasets.scenes.unpacked_sets import part_with, pictures_of, validation_first, voc_folder
from evenhand.errors import DataError, InvalidArgument, UnknownName
from evenhand.limits import Count, check_limits
from evenhand.media.operators import chosen_operators
from evenhand.media.operators.parts.mutated import Inpainter
from evenhand.media.scene import Scene
from evenhand.media.scenes import ChangePlan, Scenes
from evenhand.media.vocabulary import Labels
from evenhand.models.recognisers.recogniser_by_name import named_recogniser
from evenhand.values import tell_watcher

FORMATS = ("streets", "coco", "panoptic", "cityscapes", "cityscapes-ids", "maps", "voc", "facet", "miap", "pictures")
LOOKED_AT = 10_000
"""So many characters tell whether a damaged file was meant to be annotations."""
MOST_SCENES = 60
"""So many scenes are read unless another number is asked for: each is changed some twenty times."""
DRAWN = "drawn"
DRAWN_DONORS = 40
"""So many streets are drawn for their dogs, cats and birds."""
JUNCTIONS = ("junction",)
"""What is drawn where no data is given: streets with many traffic lights, which the planted recogniser loses."""

SceneReader: TypeAlias = Callable[["SceneSource"], Iterator[Scene]]


@dataclass(frozen=True)
class SceneSource:
    """Where scenes come from.

    form: one of the formats.  pictures: their folder.  annotations: a file or a folder of them.  count: most scenes to read.
    segmenter: a file that describes a segmentation net, for pictures without masks.
    seed: of streets that are drawn, and of which pictures are read where there are more than the count.
    legend: what the numbers of label maps mean.
    recogniser: an ONNX detector or a recogniser's name, whose own boxes are the objects of pictures without annotations.
    """

    form: str
    pictures: Path | None = None
    annotations: Path | None = None
    count: Count = MOST_SCENES
    segmenter: Path | None = None
    seed: int = 0
    legend: str = ""
    recogniser: str = ""

    def __post_init__(self) -> None:
        if self.form not in FORMATS:
            raise UnknownName("format of scenes", self.form, FORMATS)
        check_limits(self)
        needed = {"streets": (), "pictures": ("pictures",)}.get(self.form, ("pictures", "annotations"))
        missing = [name for name in needed if getattr(self, name) is None]
        if missing:
            raise InvalidArgument(f"scenes of the format {self.form!r} need {' and '.join(missing)}")
        if self.form == "pictures" and not self.segmenter and not self.recogniser:
            raise InvalidArgument(
                "pictures without annotations need a recogniser (an ONNX detector, whose own boxes are the objects), "
                "a segmenter (a file that describes a segmentation net), or both"
            )
        legend_named(self.legend)

    @property
    def sample(self) -> SceneSample:
        """Which pictures are read."""
        return SceneSample(self.count, self.seed)


def read_scenes(source: SceneSource) -> list[Scene]:
    """The scenes of a source; none at all is an error."""
    found = []
    for scene in islice(_READERS[source.form](source), source.count):
        found.append(scene)
        tell_watcher("reading scenes", len(found), source.count)
    if not found:
        raise DataError(f"no scene was found in {source.annotations or source.pictures} (format {source.form!r})")
    return found


def drawn_streets(count: int, seed: int, kinds: tuple[str, ...] | None = None) -> list[Scene]:
    """Synthetic streets of these kinds, or of all usual ones."""
    from evenhand.media.streets.render import StreetMaker

    maker = StreetMaker(casts=4) if kinds is None else StreetMaker(casts=4, kinds=kinds, most={"person": 9, "car": 8, "traffic light": 6})
    found = []
    for scene in maker.scenes(count, np.random.default_rng(seed)):
        found.append(scene)
        tell_watcher("drawing scenes", len(found), count)
    return found


@dataclass(frozen=True)
class SceneChoices:
    """What is tried on scenes, as a user says it.

    classes: which objects are inserted, deleted and turned; the paper's without.  operators: which changes; all without.
    repeats: of changes by chance.  labels: a YAML file of synonyms.  inpainter: an ONNX net that fills holes.
    reader: an ONNX detector or a recogniser's name, by which inserted objects and emptied places are checked.
    donors: a folder of annotated scenes, or "drawn", whose objects are inserted where the scenes themselves have none of a class.
    """

    classes: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()
    repeats: int = 1
    labels: Path | None = None
    inpainter: Path | None = None
    reader: str = ""
    donors: str = ""

    def vocabulary(self) -> Labels:
        """The labels that mean the same."""
        return Labels.from_yaml(self.labels) if self.labels else Labels()

    def plan(self, scenes: Sequence[Scene]) -> ChangePlan:
        """The changes that these scenes allow; a class that no scene shows is an error, and so is a plan without any class."""
        chosen = ChangePlan() if not self.classes else ChangePlan(self.classes, self.classes)
        donors = _outside(self.donors)
        labels, known = self.vocabulary(), sorted({label for scene in (*scenes, *donors) for label in scene.truth})
        meant = {labels.canonical(label) for label in known}
        for name in self.classes:
            if labels.canonical(name) not in meant:
                raise UnknownName("class of these scenes", name, known)
        if not meant & {labels.canonical(name) for name in (*chosen.insert, *chosen.change)}:
            raise InvalidArgument(
                f"the scenes show none of the paper's classes ({', '.join(chosen.insert)}); "
                f"choose classes among {', '.join(known) or 'nothing: they hold no object'}"
            )
        operators = tuple(chosen_operators(self.operators)) if self.operators else ()
        reader = named_recogniser(self.reader) if self.reader else None
        return replace(
            chosen, operators=operators, repeats=self.repeats, inpainter=_inpainter(self.inpainter), reader=reader, donors=donors
        )


def _outside(donors: str) -> tuple[Scene, ...]:
    """The scenes of a folder, or drawn ones; they only lend objects."""
    if donors in ("", DRAWN):
        return tuple(drawn_streets(DRAWN_DONORS, 0)) if donors else ()
    found = found_scenes(Path(donors), MOST_SCENES)
    if found is None:
        raise DataError(f"donors: {donors} holds no annotated scenes of a known layout; expected a folder, or {DRAWN!r}")
    return tuple(read_scenes(found))


def _inpainter(path: Path | None) -> Inpainter | None:
    if path is None:
        return None
    from evenhand.media.operators.parts.inpaint import NetInpainter
    from evenhand.models.onnx_session import open_onnx

    return NetInpainter(open_onnx(path))


def from_scenes(scenes: Sequence[Scene], choices: SceneChoices | None = None, seed: int = 0) -> Dataset:
    """Scenes with every change that was chosen."""
    choices = choices or SceneChoices()
    return dataset_of(Scenes(scenes, choices.plan(scenes), choices.vocabulary(), seed))


def dataset_of(medium: Scenes, name: str = "scenes") -> Dataset:
    """The rows of a medium of scenes, in words; null changes are left to the measures, which use them as a control."""
    return Dataset(name, medium.domain.decode(medium.rows()), medium.domain, shown_by=medium)


def as_seen_by(data: Dataset, originals: Sequence[Counter[str]]) -> Dataset:
    """The same scenes with a recogniser's counts of the originals deciding what is usual, as the paper does it."""
    medium = data.medium
    if not isinstance(medium, Scenes):
        raise InvalidArgument(f"data {data.name!r} shows {medium.kind}, not scenes")
    return replace(dataset_of(medium.as_seen(originals)), name=data.name)


def found_scenes(path: Path, count: int = MOST_SCENES) -> SceneSource | None:
    """What kind of scenes a file or folder holds; None where it holds none that is known."""
    if path.is_file():
        return _from_file(path, count) if path.suffix == ".json" else _people(path, count)
    if not path.is_dir():
        return None
    tables = validation_first([*path.glob("*.csv"), *path.glob("annotations/*.csv")])
    people = next((source for file in tables if (source := _people(file, count)) is not None), None)
    files = validation_first([*path.glob("*.json")]) + validation_first([*path.glob("annotations/*.json")])
    known = people or next((source for file in files if (source := _from_file(file, count)) is not None), None)
    return known or _from_folder(path, count)


def _from_file(path: Path, count: int) -> SceneSource | None:
    """COCO, by the keys of the file."""
    import json

    try:
        text = path.read_text(encoding="utf-8")
        content = json.loads(text)
    except (OSError, RecursionError, UnicodeDecodeError):
        return None
    except ValueError as fault:
        if '"file_name"' in text[:LOOKED_AT] and '"images"' in text[:LOOKED_AT]:
            raise DataError(f"{path} looks like COCO annotations and is cut off or damaged: {fault}") from fault
        return None
    if not isinstance(content, dict) or not {"images", "annotations", "categories"} <= set(content):
        return None
    is_panoptic = "segments_info" in _first(content["annotations"])
    name = str(_first(content["images"]).get("file_name", ""))
    return SceneSource("panoptic" if is_panoptic else "coco", pictures_of(path, (name,)), path, count)


def _first(entries: object) -> dict[str, object]:
    return next((one for one in entries[:1] if isinstance(one, dict)), {}) if isinstance(entries, list) else {}


def _people(path: Path, count: int) -> SceneSource | None:
    """A table of people's boxes."""
    form = people_format(path) if path.suffix == ".csv" else ""
    return SceneSource(form, pictures_of(path, first_picture(path, form)), path, count) if form else None


def _from_folder(path: Path, count: int) -> SceneSource | None:
    for form, ending in (("cityscapes", "_polygons.json"), ("cityscapes-ids", "_instanceIds.png")):
        annotations = part_with(path, ("gtFine/val", "gtFine/train"), ending)
        if annotations is not None:
            folders = (path / "leftImg8bit" / annotations.name, path / "leftImg8bit", path)
            return SceneSource(form, next(one for one in folders if one.is_dir()), annotations, count)
    voc = voc_folder(path)
    if voc is not None:
        return SceneSource("voc", voc / "JPEGImages", voc / "Annotations", count)
    layout = found_layout(path)
    return None if layout is None else SceneSource("maps", path / layout.pictures, path / layout.maps, count, legend=layout.legend)


def _streets(source: SceneSource) -> Iterator[Scene]:
    return iter(drawn_streets(source.count, source.seed, JUNCTIONS))


def _coco(source: SceneSource) -> Iterator[Scene]:
    from evenhand.datasets.scenes.coco import from_coco

    return from_coco(_given(source.annotations), _given(source.pictures), sample=source.sample)


def _panoptic(source: SceneSource) -> Iterator[Scene]:
    from evenhand.datasets.scenes.coco import from_coco_panoptic

    annotations = _given(source.annotations)
    return from_coco_panoptic(annotations, annotations.with_suffix(""), _given(source.pictures), source.sample)


def _polygons(source: SceneSource) -> Iterator[Scene]:
    from evenhand.datasets.scenes.cityscapes import from_polygons

    return from_polygons(_given(source.pictures), _given(source.annotations), source.sample)


def _instance_ids(source: SceneSource) -> Iterator[Scene]:
    from evenhand.datasets.scenes.cityscapes import from_instance_ids

    return from_instance_ids(_given(source.pictures), _given(source.annotations), source.sample)


def _maps(source: SceneSource) -> Iterator[Scene]:
    from evenhand.datasets.scenes.label_maps import from_label_maps

    return from_label_maps(_given(source.pictures), _given(source.annotations), legend_named(source.legend), source.sample)


def _voc(source: SceneSource) -> Iterator[Scene]:
    from evenhand.datasets.scenes.segmenter import Described
    from evenhand.datasets.scenes.voc import from_voc

    described = Described.from_yaml(source.segmenter) if source.segmenter else None
    return from_voc(_given(source.annotations), _given(source.pictures), described.segmenter if described else None, source.sample)


def _facet(source: SceneSource) -> Iterator[Scene]:
    return from_facet(_given(source.annotations), _given(source.pictures), source.sample)


def _miap(source: SceneSource) -> Iterator[Scene]:
    return from_miap(_given(source.annotations), _given(source.pictures), source.sample)


def _bare(source: SceneSource) -> Iterator[Scene]:
    from evenhand.datasets.scenes.bare_pictures import BarePictures
    from evenhand.datasets.scenes.prompted_segmenter import PromptedSegmenter
    from evenhand.datasets.scenes.segmenter import Described

    prompted = PromptedSegmenter.from_yaml(source.segmenter) if source.segmenter else None
    if source.segmenter and prompted is None:
        return Described.from_yaml(source.segmenter).scenes(_given(source.pictures), source.sample)
    if not source.recogniser:
        raise InvalidArgument("a segmenter that takes boxes needs a recogniser that tells them; say recogniser: an ONNX detector")
    return BarePictures(_given(source.pictures), named_recogniser(source.recogniser), prompted, source.sample).scenes()


def _given(path: Path | None) -> Path:
    assert path is not None  # a source without what its format needs is refused when it is made
    return path


_READERS: dict[str, SceneReader] = {
    "streets": _streets,
    "coco": _coco,
    "panoptic": _panoptic,
    "cityscapes": _polygons,
    "cityscapes-ids": _instance_ids,
    "maps": _maps,
    "voc": _voc,
    "facet": _facet,
    "miap": _miap,
    "pictures": _bare,
}
