"""What the numbers of well-known label maps mean, and which legend a map may be read with when nobody says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from evenhand.errors import DataError, UnknownName
from evenhand.media.scene import BUILDING, GROUND_REGIONS, PAVEMENT, PLANTS, ROAD, SKY, STRUCTURE, TERRAIN, UNKNOWN, Regions


@dataclass(frozen=True)
class MapLegend:
    """What the numbers mean: things that are objects, scenery that can hide, and regions; `top` is the largest number beside VOID."""

    things: Mapping[int, str]
    regions: Mapping[int, int]
    scenery: Mapping[int, str] = field(default_factory=dict)
    top: int = 255
    least_pixels: int = 60


def _regions(**codes: tuple[int, ...]) -> dict[int, int]:
    kinds = {"road": ROAD, "pavement": PAVEMENT, "terrain": TERRAIN, "sky": SKY, "building": BUILDING, "plants": PLANTS}
    return {code: kinds.get(name, STRUCTURE) for name, listed in codes.items() for code in listed}


CAMVID = MapLegend(
    {6: "sign", 8: "car", 9: "person", 10: "cyclist"},
    {0: SKY, 1: BUILDING, 2: STRUCTURE, 3: ROAD, 4: PAVEMENT, 5: PLANTS, 7: STRUCTURE, 11: UNKNOWN},
    {2: "pole"},
    top=11,
)
_STREET_THINGS = ("person", "rider", "car", "truck", "bus")
CITYSCAPES_IDS = MapLegend(
    {**dict(enumerate(_STREET_THINGS, 24)), 19: "traffic light", 20: "sign", 31: "train", 32: "motorcycle", 33: "bicycle"},
    _regions(road=(7,), pavement=(8, 9), building=(11, 12), structure=(13, 14, 15, 16, 17), plants=(21,), terrain=(10, 22), sky=(23,)),
    {17: "pole"},
    top=33,
)
CITYSCAPES_TRAIN_IDS = MapLegend(
    {**dict(enumerate(_STREET_THINGS, 11)), 6: "traffic light", 7: "sign", 16: "train", 17: "motorcycle", 18: "bicycle"},
    _regions(road=(0,), pavement=(1,), building=(2, 3), structure=(4, 5), plants=(8,), terrain=(9,), sky=(10,)),
    {5: "pole"},
    top=19,
)
ADE20K = MapLegend(
    {
        13: "person",
        21: "car",
        44: "sign",
        77: "boat",
        81: "bus",
        84: "truck",
        103: "van",
        117: "motorcycle",
        128: "bicycle",
        137: "traffic light",
    },
    _regions(road=(7,), pavement=(12,), terrain=(10, 14), building=(1, 2), plants=(5, 18), sky=(3,), structure=(94,)),
    {94: "pole"},
    top=150,
)
MAPILLARY = MapLegend(
    {
        0: "bird",
        19: "person",
        20: "cyclist",
        21: "rider",
        48: "traffic light",
        50: "sign",
        52: "bicycle",
        53: "boat",
        54: "bus",
        55: "car",
        57: "motorcycle",
        61: "truck",
    },
    _regions(road=(7, 8, 10, 13, 14, 23, 24), pavement=(2, 9, 11, 15), building=(6, 17), plants=(30,), terrain=(26, 29), sky=(27,)),
    {45: "pole", 47: "pole"},
    top=65,
)
LEGENDS: Mapping[str, MapLegend] = {
    "camvid": CAMVID,
    "cityscapes-ids": CITYSCAPES_IDS,
    "cityscapes-trainids": CITYSCAPES_TRAIN_IDS,
    "kitti": CITYSCAPES_IDS,
    "bdd100k": CITYSCAPES_TRAIN_IDS,
    "ade20k": ADE20K,
    "mapillary": MAPILLARY,
}

_CURE = f"say legend: one of {', '.join(LEGENDS)} (`evenhand init FOLDER --set legend=NAME`)"
VOID = 255
"""Marks in every legend what is not labelled."""
STRANGE_SHARE = 0.001
FEWEST_MAPS = 3


def legend_named(name: str) -> MapLegend | None:
    """The legend of this name; None without a name."""
    if name and name not in LEGENDS:
        raise UnknownName("legend of label maps", name, LEGENDS)
    return LEGENDS[name] if name else None


def check_legend(name: str, codes: Regions, legend: MapLegend) -> None:
    """Refuse a map with numbers that a legend does not have, but for a few pixels."""
    strange = codes[(codes > legend.top) & (codes != VOID)]
    if strange.size > STRANGE_SHARE * codes.size:
        raise DataError(f"{name}: the label map has numbers up to {int(strange.max())}, and its legend ends at {legend.top}; {_CURE}")


def ground_is_high(codes: Regions, legend: MapLegend) -> bool | None:
    """Whether what a legend calls ground lies in the upper half of a map, or fills its top; None where there is hardly any."""
    ground = np.isin(codes, [code for code, region in legend.regions.items() if region in GROUND_REGIONS])
    rows = np.nonzero(ground)[0]
    if rows.size <= 0.02 * codes.size:
        return None
    return bool(rows.mean() < codes.shape[0] / 2 or ground[: codes.shape[0] // 4].mean() > 0.25)


def check_upright(folder: str, maps: Sequence[Regions], legend: MapLegend) -> None:
    """Refuse maps that mostly show ground above the middle: their numbers mean something else."""
    high = [one for one in (ground_is_high(codes, legend) for codes in maps) if one is not None]
    if len(high) >= FEWEST_MAPS and 2 * sum(high) > len(high):
        raise DataError(f"{folder}: in {sum(high)} of {len(high)} label maps the ground lies in the upper half, by this legend; {_CURE}")


def check_like_camvid(name: str, codes: Regions) -> None:
    """Without a legend a map is read as CamVid's, and only where it can be one: no number is larger, and the sky, 0, is above."""
    top = int(codes.max(initial=0))
    rows = np.nonzero(codes == 0)[0]
    sky_is_low = rows.size > 0.02 * codes.size and rows.mean() > 0.6 * codes.shape[0]
    if top > 11 or sky_is_low:
        why = f"numbers up to {top}" if top > 11 else "the number 0 at the bottom, where CamVid has the sky"
        raise DataError(f"{name}: the label map has {why}, so that it is not CamVid's; {_CURE}")
