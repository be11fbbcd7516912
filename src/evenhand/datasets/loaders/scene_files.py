"""Scenes with annotations: COCO, panoptic maps, Cityscapes, Pascal VOC, label maps, or bare pictures with a segmenter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from evenhand.contract import DataWishes, MediumProposal
from evenhand.datasets.dataset import Dataset
from evenhand.datasets.scene_data import DRAWN, FORMATS, MOST_SCENES, SceneChoices, SceneSource, found_scenes, from_scenes, read_scenes
from evenhand.datasets.scenes.bare_pictures import bare_files
from evenhand.errors import DataError, InvalidArgument
from evenhand.media.scenes import ChangePlan

PAPER_CLASSES = frozenset({*ChangePlan().insert, *ChangePlan().change})
FEW = 12
"""So many scenes are looked at before a project file is written."""


@dataclass(frozen=True)
class SceneFiles:
    """Reads annotated pictures, and tries the paper's changes on them.

    format: coco, panoptic, cityscapes, cityscapes-ids, maps, voc, facet, miap or pictures; found out where it is not said.
    pictures, annotations: where they are, below the source, where they are not in their usual place.
    count: most scenes to read.  classes: which objects are inserted, deleted and turned; the paper's without.
    operators: which changes are tried; all without.  repeats: of changes by chance.
    labels: a YAML file of synonyms.  segmenter: a YAML file that describes a segmentation net.  inpainter: an ONNX net that fills holes.
    legend: what the numbers of label maps mean: camvid, cityscapes-ids, cityscapes-trainids, kitti, bdd100k, ade20k or mapillary.
    recogniser: for pictures without annotations, an ONNX detector or a recogniser's name; what it names are the objects.
    reader: an ONNX detector or a recogniser's name; only objects that it calls what their labels say are inserted elsewhere, and where it
    still sees what was deleted, the deletion is skipped.  Without one, a recogniser in ONNX that named the objects is the reader.
    donors: a folder of annotated scenes, or "drawn", whose objects are inserted where the scenes themselves have none of a class, as the
    paper's cats, dogs and birds in most streets.
    seed: of the changes, and of which pictures are read where there are more than the count.
    """

    kind: ClassVar[str] = "scenes"

    format: str = ""
    pictures: str = ""
    annotations: str = ""
    count: int = MOST_SCENES
    classes: Sequence[str] = ()
    operators: Sequence[str] = ()
    repeats: int = 1
    labels: str = ""
    segmenter: str = ""
    inpainter: str = ""
    legend: str = ""
    recogniser: str = ""
    reader: str = ""
    donors: str = ""
    seed: int = 0

    def with_recogniser(self, source: Path, name: str) -> SceneFiles:
        """The same loader; of pictures without annotations, what this recogniser names are the objects."""
        return replace(self, recogniser=str(Path(name).resolve()) if Path(name).is_file() else name) if is_bare(source) else self

    def claims(self, source: object) -> int:
        """A file of annotations, or a folder in one of the known layouts."""
        if not isinstance(source, str | Path) or not Path(source).exists():
            return 0
        if found_scenes(Path(source)) is not None:
            return 4
        return int(is_bare(Path(source)))

    def load(self, source: object, wishes: DataWishes) -> Dataset:
        """Every scene with every change."""
        if wishes.protected_names not in ((), ("changed",)):
            raise InvalidArgument(f"protected={list(wishes.protected_names)}: of scenes only 'changed' is protected; leave it out")
        path = Path(str(source))
        scenes = read_scenes(self._source(path))
        return from_scenes(scenes, self._choices(path), self.seed).named(path.stem)

    def propose(self, source: Path, wishes: DataWishes) -> MediumProposal:
        """The format that it found, and the classes of the first scenes that can be changed."""
        found = self._source(source)
        scenes = read_scenes(replace(found, count=min(found.count, FEW)))
        names = sorted({label for scene in scenes for label in scene.truth})
        classes = tuple(self.classes) or tuple(name for name in names if name in PAPER_CLASSES)
        settings: dict[str, Any] = {"format": found.form, "count": self.count, "classes": list(classes or names[:4])}
        settings |= {"recogniser": self.recogniser} if self.recogniser else {}
        settings |= {"legend": found.legend} if found.legend else {}
        lines = [f"scenes of the format {found.form!r}; the first {len(scenes)} show: {', '.join(names)}"]
        lines += [] if wishes.protected else ["protected is whether a scene was changed: a change elsewhere must not cost an object"]
        return MediumProposal(settings, ("changed",), tuple(lines))

    def _choices(self, path: Path) -> SceneChoices:
        return SceneChoices(
            tuple(self.classes),
            tuple(self.operators),
            self.repeats,
            _below(path, self.labels) if self.labels else None,
            _below(path, self.inpainter) if self.inpainter else None,
            self._reader(path),
            self.donors if self.donors in ("", DRAWN) else str(_below(path, self.donors)),
        )

    def _reader(self, path: Path) -> str:
        """The reader, or the recogniser of bare pictures where asking it costs nothing."""
        name = self.reader or (self.recogniser if self.recogniser.endswith(".onnx") else "")
        return str(_below(path, name)) if name.endswith(".onnx") else name

    def _source(self, path: Path) -> SceneSource:
        known = found_scenes(path, self.count)
        if not self.format and known is None and (self.recogniser or is_bare(path)):
            return replace(self, format="pictures")._source(path)
        if not self.format:
            if known is None:
                raise DataError(f"{path} holds no scenes of a known layout; say format: one of {', '.join(FORMATS)}")
            known = replace(known, seed=self.seed, legend=self.legend or known.legend)
            return known if not self.pictures else replace(known, pictures=_below(path, self.pictures))
        inside = known if known is not None and known.form == self.format else None
        pictures = _below(path, self.pictures) if self.pictures else inside.pictures if inside else path
        annotations = _below(path, self.annotations) if self.annotations else inside.annotations if inside else None
        segmenter = _below(path, self.segmenter) if self.segmenter else None
        recogniser = self.recogniser if not self.recogniser.endswith(".onnx") else str(_below(path, self.recogniser))
        legend = self.legend or (inside.legend if inside else "")
        return SceneSource(self.format, pictures, annotations, self.count, segmenter, self.seed, legend, recogniser)


def is_bare(path: Path) -> bool:
    """Whether a folder holds pictures and nothing that would tell what they show."""
    return path.is_dir() and all(one.is_file() for one in path.iterdir()) and bool(bare_files(path))


def _below(path: Path, name: str) -> Path:
    """A setting's path, taken from the source's folder."""
    folder = path if path.is_dir() else path.parent
    return folder / name
