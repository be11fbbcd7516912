"""An album as rows: a picture's number and one value for each protected attribute.

The row with a picture's own values shows the picture; another value shows the twin that an editor makes of it.  Pictures that methods make
get rows of their own.  Twins are made when they are asked for, in small batches.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index, Labels, Mask, Rows
from evenhand.contract import Editor, EditsAlbums, PictureModel, Pictures, Redraws
from evenhand.domain.columns import Column
from evenhand.domain.tabular import Label, TabularDomain
from evenhand.errors import DataError, InvalidArgument
from evenhand.media.album import Album, Attribute, as_bytes
from evenhand.media.made_pictures import CODES, MadePicture, MadePictures
from evenhand.media.picture_batches import batches
from evenhand.media.without_twins import WithoutTwins

PICTURE = "picture"
"""The name of the column that numbers the pictures."""

KEPT_BYTES = 128 << 20
"""Memory for twins that were made already."""


class KeptTwins:
    """The twins that were asked for last, up to so many bytes."""

    def __init__(self, most_bytes: int = KEPT_BYTES) -> None:
        self.most_bytes, self._bytes = most_bytes, 0
        self._kept: OrderedDict[tuple[int, ...], NDArray[np.uint8]] = OrderedDict()

    def get(self, key: tuple[int, ...]) -> NDArray[np.uint8] | None:
        """The twin, if it is still here."""
        if key in self._kept:
            self._kept.move_to_end(key)
        return self._kept.get(key)

    def put(self, key: tuple[int, ...], twin: NDArray[np.uint8]) -> None:
        """Keep one more; the one not asked for longest goes."""
        self._kept[key] = twin
        self._bytes += twin.nbytes
        while self._bytes > self.most_bytes:
            self._bytes -= self._kept.popitem(last=False)[1].nbytes

    def __getstate__(self) -> dict[str, Any]:
        """Another process makes its own twins."""
        return {"most_bytes": self.most_bytes}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["most_bytes"])  # type: ignore[misc]


@dataclass(frozen=True, eq=False)
class AlbumMedium:
    """Pictures under the hand of one editor for each protected attribute.

    Every picture's protected attributes must be known: `of` leaves the others out.
    """

    album: Album
    editors: tuple[Editor, ...]
    label: Label | None = None
    jury: Mapping[str, PictureModel] = field(default_factory=dict, repr=False)  # readers that the user brings, by what they read
    generator: Any = field(default=None, repr=False)  # a latent space of the user's
    given: NDArray[np.uint8] | None = field(default=None, repr=False)  # the pictures as they came, where an editor draws them again
    made: MadePictures = field(init=False, repr=False)
    _twins: KeptTwins = field(init=False, repr=False, default_factory=KeptTwins)
    _restored: dict[tuple[int, ...], NDArray[np.uint8]] = field(init=False, repr=False, default_factory=dict)

    @classmethod
    def of(cls, album: Album, editors: Sequence[Editor], label: Label | None = None) -> AlbumMedium:
        """The pictures whose protected attributes are all known, as far as the editors can draw them."""
        for editor in editors:
            known = album.known(editor.attribute)
            if not len(known):
                raise DataError(f"attribute {editor.attribute!r} of album {album.name!r} is unknown for every picture: there are no twins")
            album = known
        given = album.pictures
        for editor in editors:
            album = editor.decoded(album) if isinstance(editor, Redraws) else album
        return cls(album, tuple(editors), label, given=None if album.pictures is given else given)

    @cached_property
    def as_given(self) -> AlbumMedium | None:
        """The same rows showing the pictures as they came, without twins; None where no editor has drawn them again."""
        if self.given is None:
            return None
        without = tuple(WithoutTwins(name) for name in self.attributes)
        return replace(self, album=replace(self.album, pictures=self.given, factors=None), editors=without, given=None)

    def __post_init__(self) -> None:
        names = self.attributes
        if not names or len(set(names)) < len(names):
            raise InvalidArgument(f"editors must be one for each protected attribute, not those of {list(names)}")
        for editor in self.editors:
            if not isinstance(editor, EditsAlbums):
                self.album.sides(editor.attribute)
        object.__setattr__(self, "made", MadePictures((self.album.pictures.shape[1], self.album.pictures.shape[2])))

    @property
    def kind(self) -> str:
        """For a reader."""
        return "album"

    @property
    def has_twins(self) -> bool:
        """Whether another value shows another picture; without twins only groups can be compared."""
        return all(getattr(editor, "makes_twins", True) for editor in self.editors)

    @property
    def left_out(self) -> str:
        """What the album says of pictures that are no part of it."""
        return self.album.left_out

    @property
    def doubt(self) -> str:
        """A learned editor changes more than its attribute."""
        learned = [editor.attribute for editor in self.editors if getattr(editor, "learns", True)]
        if not learned:
            return ""
        return (
            f"twins in {', '.join(learned)} are made by a learned editor, which changes more than that: a pair is a lead and no proof; "
            "`evenhand measure` weighs what all pairs show against independent readers"
        )

    @property
    def attributes(self) -> tuple[str, ...]:
        """The protected attributes, in the order of their columns."""
        return tuple(editor.attribute for editor in self.editors)

    @cached_property
    def domain(self) -> TabularDomain:
        """A number for the picture, a category for each protected attribute."""
        picture = Column(PICTURE, "integer", low=0, high=len(self.album) - 1, reserve=CODES)
        values = tuple(Column(name, "category", self.album.attribute(name).values) for name in self.attributes)
        return TabularDomain((picture, *values), self.attributes, self.label)

    @cached_property
    def rows(self) -> Rows:
        """Every picture of the album with its own values."""
        return np.column_stack([np.arange(len(self.album)), self._own]).astype(np.float64)

    @cached_property
    def _own(self) -> Index:
        """The pictures' own values, (n, attributes)."""
        return np.stack([self.album.attribute(name).codes for name in self.attributes], axis=1)

    @cached_property
    def _combinations(self) -> list[tuple[int, ...]]:
        counts = [range(len(self.album.attribute(name).values)) for name in self.attributes]
        return list(product(*counts))

    @property
    def picture_bytes(self) -> int:
        """What one shown picture takes."""
        return int(np.prod(self.album.pictures.shape[1:]))

    def show(self, rows: Rows) -> Pictures:
        """The pictures of these rows, bytes."""
        codes = np.asarray(rows).astype(np.int64)
        shown = np.empty((len(codes), *self.album.pictures.shape[1:]), np.uint8)
        for part in batches(len(codes), self.picture_bytes):
            shown[part] = self._shown(codes[part])
        return shown

    def _shown(self, codes: Index) -> NDArray[np.uint8]:
        restored = np.array([tuple(code) in self._restored for code in codes.tolist()], dtype=bool)
        if not restored.any():
            return self._kept(codes)
        shown = np.empty((len(codes), *self.album.pictures.shape[1:]), np.uint8)
        shown[~restored] = self._kept(codes[~restored])
        shown[restored] = [self._restored[tuple(code)] for code in codes[restored].tolist()]
        return shown

    def _kept(self, codes: Index) -> NDArray[np.uint8]:
        """Pictures of the album, their twins, and made ones."""
        made = codes[:, 0] >= len(self.album)
        parents = np.array([self._parent(int(code)) for code in codes[:, 0]], dtype=np.int64)
        shown = self._originals(np.column_stack([np.maximum(parents, 0), codes[:, 1:]]))
        for line in np.flatnonzero(made):
            values = self.made.values(int(codes[line, 0]) - len(self.album))
            if parents[line] < 0:
                shown[line] = values[self._combinations.index(tuple(codes[line, 1:].tolist()))]
            else:
                shown[line] = np.clip(shown[line].astype(np.int16) + values, 0, 255)
        return shown

    def origins(self, rows: Rows) -> Index:
        """The picture of the album behind each row; -1 for one that was added as a whole."""
        return np.array([self._parent(int(code)) for code in np.asarray(rows)[:, 0]], dtype=np.intp)

    def sources(self, rows: Rows) -> list[str]:
        """The file of the picture behind each row; empty where it came from none."""
        files = self.album.sources
        return [files[place] if files and place >= 0 else "" for place in self.origins(rows)]

    def _parent(self, code: int) -> int:
        """The album's picture behind a code; -1 for a made one that has none."""
        if 0 <= code < len(self.album):
            return code
        if code - len(self.album) not in self.made:
            raise DataError(
                f"picture {code} is not in the album {self.album.name!r}: it has {len(self.album)} pictures and {len(self.made)} made ones"
            )
        parent = self.made.parent(code - len(self.album))
        return -1 if parent is None else parent

    def _originals(self, codes: Index) -> NDArray[np.uint8]:
        """Pictures of the album and their twins; each distinct twin that is not kept is made once."""
        shown = np.array(self.album.pictures[codes[:, 0]], dtype=np.uint8)
        turned = np.flatnonzero((codes[:, 1:] != self._own[codes[:, 0]]).any(axis=1))
        keys = {int(line): tuple(codes[line].tolist()) for line in turned}
        here = {key: twin for key in set(keys.values()) if (twin := self._twins.get(key)) is not None}
        absent = sorted(set(keys.values()) - set(here))
        for key, twin in zip(absent, self._edited(np.array(absent, dtype=np.int64)) if absent else (), strict=True):
            self._twins.put(key, twin)
            here[key] = twin
        for line, key in keys.items():
            shown[line] = here[key]
        return shown

    def _edited(self, codes: Index) -> NDArray[np.uint8]:
        album = self.album[codes[:, 0]]
        for place, editor in enumerate(self.editors, start=1):
            album = edited(editor, album, codes[:, place])
        return as_bytes(album.pictures)

    def there_and_back(self, rows: Rows, attribute: str, wanted: Labels) -> NDArray[np.uint8] | None:
        """Pictures of the album edited to these values of an attribute, and edited back; None where twins are ready-made."""
        place = self.attributes.index(attribute)
        editor = self.editors[place]
        if not getattr(editor, "edits_pictures", True):
            return None
        codes, back = np.asarray(rows).astype(np.int64), np.empty((len(rows), *self.album.pictures.shape[1:]), np.uint8)
        for part in batches(len(codes), self.picture_bytes):
            there = edited(editor, self.album[codes[part, 0]], wanted[part])
            back[part] = edited(editor, there, codes[part, 1 + place]).pictures
        return back

    def derive(self, rows: Rows, offsets: NDArray[Any]) -> Rows:
        """New rows: these pictures plus one offset each, clipped and rounded to bytes; twins get the same offset.

        An offset to a derived picture becomes one to its parent in the album, such that the row itself shows exactly what was asked for.
        """
        rows = np.asarray(rows, dtype=np.float64)
        parents = self.origins(rows)
        if (parents < 0).any():
            raise InvalidArgument("rows: a picture that was added as a whole has no parent; add what is derived from it as a whole too")
        before = self.show(np.column_stack([parents, rows[:, 1:]]))
        wanted = as_bytes(self.show(rows).astype(np.float32) + np.asarray(offsets, dtype=np.float32))
        change = wanted.astype(np.int16) - before.astype(np.int16)
        new = [self.made.keep(MadePicture(int(parent), one)) for parent, one in zip(parents, change, strict=True)]
        return np.column_stack([np.array(new, dtype=np.float64) + len(self.album), rows[:, 1:]])

    def add(self, pictures: Pictures) -> Rows:
        """New rows for made pictures (combinations, n, height, width, 3), under the first combination; the domain's order counts."""
        pictures = as_bytes(np.asarray(pictures))
        expected = (len(self._combinations), *self.album.pictures.shape[1:])
        if pictures.ndim != 5 or (pictures.shape[0], *pictures.shape[2:]) != expected:
            raise InvalidArgument(
                f"pictures of shape {pictures.shape} must be (combinations, n, height, width, 3), here {expected[0]}, n, {expected[1:]}"
            )
        new = [self.made.keep(MadePicture(None, pictures[:, place])) for place in range(pictures.shape[1])]
        return np.array([[code + len(self.album), *self._combinations[0]] for code in new], dtype=np.float64).reshape(
            -1, 1 + len(self.editors)
        )

    def parents(self, rows: Rows) -> Rows:
        """The rows with every derived picture replaced by the album's picture behind it; others stay as they are."""
        codes = [self._parent(int(code)) if self._is_made(int(code)) else int(code) for code in rows[:, 0]]
        back = np.array(rows, dtype=np.float64)
        back[:, 0] = [code if parent < 0 else parent for code, parent in zip(rows[:, 0], codes, strict=True)]
        return back

    def _is_made(self, code: int) -> bool:
        return code - len(self.album) in self.made

    def knows(self, rows: Rows) -> Mask:
        """Which rows it can show: pictures of the album, made ones, and those that were restored."""
        known = [0 <= code < len(self.album) or self._is_made(code) or key in self._restored for code, key in self._keyed(rows)]
        return np.array(known, dtype=bool)

    def restore(self, rows: Rows, pictures: Pictures) -> None:
        """Show these rows as these pictures from now on."""
        for (_, key), picture in zip(self._keyed(rows), as_bytes(np.asarray(pictures)), strict=True):
            if picture.shape != self.album.pictures.shape[1:]:
                raise InvalidArgument(f"pictures of shape {picture.shape} must be as large as the album's: {self.album.pictures.shape[1:]}")
            self._restored[key] = picture

    def _keyed(self, rows: Rows) -> list[tuple[int, tuple[int, ...]]]:
        return [(int(row[0]), tuple(int(cell) for cell in row)) for row in rows]

    @cached_property
    def description(self) -> TabularDomain:
        """Everything that is known of a picture: its attributes."""
        known = {name: attribute for name, attribute in self.album.attributes.items() if attribute.values}
        shares = {name: float(np.mean(attribute.codes < 0)) for name, attribute in known.items()}
        return TabularDomain(tuple(Column(name, "category", known[name].values, missing=shares[name]) for name in known))

    def described(self, rows: Rows) -> Rows:
        """The attributes of each picture, a derived one's parent standing for it; a picture without one is not described."""
        codes = np.array([self._parent(int(code)) for code in rows[:, 0]])
        cells = np.stack([self.album.attribute(name).codes for name in self.description.names], axis=1).astype(np.float64)
        cells[cells < 0] = np.nan
        return np.where((codes >= 0)[:, None], cells[codes], np.nan)

    def digest(self) -> str:
        """Equal for albums of the same pictures under editors that say the same of themselves."""
        return self._digest

    @cached_property
    def _digest(self) -> str:
        found = sha256(repr([(editor.attribute, editor.flip) for editor in self.editors]).encode())
        for part in batches(len(self.album), self.picture_bytes):
            found.update(np.ascontiguousarray(self.album.pictures[part]).tobytes())
        return found.hexdigest()[:16]


def edited(editor: Editor, album: Album, codes: Labels) -> Album:
    """The album with the editor's attribute at these values."""
    if isinstance(editor, EditsAlbums):
        return editor.edited(album, codes)
    own = album.attribute(editor.attribute)
    turned: Mask = codes != own.codes
    pictures = np.array(album.pictures, dtype=np.uint8)
    if turned.any():
        pictures[turned] = as_bytes(editor.twins(album[np.flatnonzero(turned)]))
    attributes = {**album.attributes, editor.attribute: Attribute(own.values, np.asarray(codes, dtype=np.intp))}
    return replace(album, pictures=pictures, attributes=attributes, factors=None)
