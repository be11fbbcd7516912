"""An album as a data set: one row for every picture, shown by its medium."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.contract import Editor, PictureModel
from evenhand.datasets.dataset import Dataset
from evenhand.domain.tabular import Label
from evenhand.errors import InvalidArgument
from evenhand.media.album import Album, Attribute
from evenhand.media.album_medium import PICTURE, AlbumMedium
from evenhand.media.editors.rerender import Rerender

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class OwnParts:
    """What the user brings beside an editor: readers by what they read, a latent space, and the unit of a label that is an amount."""

    jury: Mapping[str, PictureModel] = field(default_factory=dict)
    generator: Any = None
    unit: str | None = None  # of a label that is an amount


def from_album(
    album: Album, protected: Sequence[str | Editor], favourable: Sequence[str] = (), label: str = "label", own: OwnParts | None = None
) -> Dataset:
    """The pictures whose label and protected attributes are known.

    `protected` holds editors, or names of attributes where portraits can be drawn again; `label` is what the label's column is called;
    `own` what the user brings beside them.
    """
    said = album.label.codes >= 0
    labelled = album if said.all() or not album.label.values else album[np.flatnonzero(said)]
    declared = _label(album, label, favourable, None if own is None else own.unit)
    medium = AlbumMedium.of(labelled, [_editor(each, album) for each in protected], declared)
    if own is not None:
        medium = replace(medium, jury=own.jury, generator=own.generator)
    return Dataset(album.name, _frame(medium.album, medium, label), medium.domain, shown_by=medium)


def _label(album: Album, name: str, favourable: Sequence[str], unit: str | None) -> Label | None:
    """What the model predicts: classes, or an amount where there is a unit."""
    if not album.label.values:
        return None
    if unit is None:
        return Label(name, album.label.values, tuple(favourable))
    strange = next((value for value in album.label.values if not _is_number(value)), None)
    if strange is not None:
        raise InvalidArgument(f"unit={unit!r}: the label {name!r} is to be an amount, and has the value {strange!r}, which is no number")
    return Label(name, unit=unit)


def _is_number(word: str) -> bool:
    try:
        return bool(np.isfinite(float(word)))
    except ValueError:
        return False


def _editor(given: str | Editor, album: Album) -> Editor:
    if not isinstance(given, str):
        return given
    album.attribute(given)
    if not album.is_synthetic:
        raise InvalidArgument(
            f"protected={given!r}: the pictures of album {album.name!r} were not drawn from factors, so a twin needs an editor; give one"
        )
    return Rerender(given)


def _frame(album: Album, medium: AlbumMedium, label: str) -> pd.DataFrame:
    """The rows in words, and beside them everything else that is known of each picture."""
    import pandas as pd

    cells: dict[str, object] = {PICTURE: np.arange(len(album))}
    names = [*medium.attributes, *(name for name in album.attributes if name not in medium.attributes)]
    cells |= {name: _words(album.attribute(name)) for name in names if name not in (PICTURE, label)}
    if album.label.values:
        cells[label] = _words(album.label)
    if album.sources:
        cells.setdefault("file", np.array(album.sources, dtype=object))
    return pd.DataFrame(cells)


def _words(attribute: Attribute) -> np.ndarray[tuple[int], np.dtype[np.object_]]:
    return np.array([*attribute.values, None], dtype=object)[attribute.codes]
