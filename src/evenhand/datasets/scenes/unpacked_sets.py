"""Where data sets keep their files once unpacked: the pictures that an annotation file names, and which part of several is read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from evenhand.datasets.scenes.picture_files import picture_path

TRAINING = "train"


def validation_first(files: Sequence[Path]) -> list[Path]:
    """By name, but files for training last: models under test have often seen those pictures."""
    return sorted(files, key=lambda path: (TRAINING in path.stem.lower(), path))


def pictures_of(annotations: Path, names: Sequence[str]) -> Path:
    """The folder of the pictures that a file of annotations names; `names` are what the first picture may be called.

    A folder whose name is part of the file's comes first (`val2017` of `instances_val2017.json`), then `images`, then the file's own and
    the one above, where folders such as `imgs_1`, `imgs_2` may share the pictures.
    """
    own, above = annotations.parent, annotations.parent.parent
    usual = [folder for folder in (own / "images", above / "images", own, above) if folder.is_dir()]
    meant = [inner for folder in usual for inner in sorted(folder.iterdir()) if inner.is_dir() and inner.name in annotations.stem]
    others = [inner for inner in meant if inner != annotations.with_suffix("")]  # a panoptic file's maps lie in a folder of its own name
    return next((folder for folder in (*others, *usual) if _holds(folder, names)), usual[0] if usual else own)


def _holds(folder: Path, names: Sequence[str]) -> bool:
    return any(picture_path(folder, name).is_file() for name in names)


def part_with(folder: Path, parts: Sequence[str], ending: str) -> Path | None:
    """The first part below a folder that has files of this ending, else the folder itself; None where nothing has."""
    candidates = (*(folder / part for part in parts), folder)
    return next((one for one in candidates if one.is_dir() and next(one.rglob(f"*{ending}"), None) is not None), None)


def voc_folder(folder: Path) -> Path | None:
    """Where `JPEGImages` and `Annotations` lie: here, or in the newest `VOC...` of a development kit."""
    kits = [inner for outer in (folder, folder / "VOCdevkit") for inner in sorted(outer.glob("VOC*"), reverse=True)]
    return next((one for one in (folder, *kits) if (one / "Annotations").is_dir() and (one / "JPEGImages").is_dir()), None)
