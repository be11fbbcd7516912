"""Where well-known data sets of label maps keep their pictures and maps, below the folder that is unpacked, and what their numbers mean."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class MapLayout:
    """Two folders; `legend` is empty where the folders say nothing about it, `ending` what a map's name adds to its picture's."""

    pictures: str
    maps: str
    legend: str = ""
    ending: str = ""


def _splits(pictures: str, maps: str, legend: str, splits: tuple[str, str], ending: str = "") -> tuple[MapLayout, ...]:
    """The part for validation before the one for training: models under test have often seen the latter."""
    return tuple(MapLayout(pictures.format(part), maps.format(part), legend, ending) for part in splits)


MAP_LAYOUTS: tuple[MapLayout, ...] = (
    MapLayout("frames", "labels"),
    MapLayout("frames", "masks"),
    MapLayout("images", "labels"),
    MapLayout("images", "masks"),
    *_splits("leftImg8bit/{}", "gtFine/{}", "cityscapes-ids", ("val", "train"), "_gtFine_labelIds"),
    *_splits("leftImg8bit/{}", "gtFine/{}", "cityscapes-trainids", ("val", "train"), "_gtFine_labelTrainIds"),
    MapLayout("training/image_2", "training/semantic", "kitti"),
    *_splits("images/10k/{}", "labels/sem_seg/masks/{}", "bdd100k", ("val", "train")),
    *_splits("seg/images/{}", "seg/labels/{}", "bdd100k", ("val", "train"), "_train_id"),
    *_splits("images/{}", "annotations/{}", "ade20k", ("validation", "training")),
    *_splits("{}/images", "{}/v1.2/labels", "mapillary", ("validation", "training")),
    *_splits("{}/images", "{}/labels", "mapillary", ("validation", "training")),
)
"""The first that a folder has is read."""
PICTURE_ENDING = "_leftImg8bit"


def found_layout(folder: Path) -> MapLayout | None:
    """The layout of a folder; None where it has none of these."""
    return next((layout for layout in MAP_LAYOUTS if (folder / layout.pictures).is_dir() and _has_maps(folder, layout)), None)


def _has_maps(folder: Path, layout: MapLayout) -> bool:
    below = "**/*" if layout.ending else "*"
    return next((folder / layout.maps).glob(f"{below}{layout.ending}.png"), None) is not None


def ending_of(maps: Path) -> str:
    """What the names of these maps add to those of their pictures."""
    endings = [layout.ending for layout in MAP_LAYOUTS if layout.ending and maps.match(layout.maps)]
    return next((ending for ending in endings if next(maps.rglob(f"*{ending}.png"), None) is not None), "")
