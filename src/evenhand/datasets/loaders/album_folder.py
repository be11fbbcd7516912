"""Albums: a folder of pictures with what is known about them, in one of the layouts of `datasets.albums`, or an Album."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from glob import escape
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from evenhand.contract import DataWishes, Editor, MediumProposal
from evenhand.datasets.album_data import from_album
from evenhand.datasets.albums import LAYOUTS
from evenhand.datasets.albums.picture_pairs import SAME
from evenhand.datasets.albums.reading import Reading
from evenhand.datasets.dataset import Dataset
from evenhand.datasets.given_parts import GivenParts, is_made_for_albums
from evenhand.datasets.ready_pairs import with_pairs
from evenhand.domain.protected_words import concept_of
from evenhand.errors import DataError, InvalidArgument, UnknownName
from evenhand.media.album import Album, Attribute
from evenhand.media.editors import EDITORS, editor_for
from evenhand.media.skin_tone import STEP, TONE, with_tones
from evenhand.media.without_twins import NONE, WithoutTwins

LEARNED = "latent_difference"
"""The editor of pictures that were not drawn, where none is chosen: it needs nothing but the core."""

FEW = 200
"""So many pictures are looked at before a project file is written."""
FACE, FOUND = "face", "found"
"""The label where faces are looked for."""
MEASURED = 5
"""So many tell how large pictures are: a project file proposes no enlarging."""

ONE_FACE_TOLD = "pictures are taken to show one face in the middle; where they do not, `align: true` finds it and levels its eyes"
PAIRS_TOLD = "each row is two pictures side by side: groups are compared, without twins"
MOST_CLASSES = 20
"""A label of more different numbers is taken for an amount, such as an age, when a project file is proposed."""
TONE_SIZE = 64
"""The side at which tones are read then."""


@dataclass(frozen=True)
class AlbumFolder:
    """Reads pictures and gives each protected attribute an editor.

    layout: how the folder is laid out; found out where none is given.  size: the side of the pictures in pixels.
    limit: at most so many pictures, drawn by `seed`; 0 for all.  names: other names for values, as in {gender: {"0": man, "1": woman}}.
    editor: what makes twins; by default drawn portraits are drawn again, and others mirrored in a latent space.  `none`: no twins, so that
    `measure` compares groups only; this is the default where an attribute has more than two values.
    editor_settings: of an editor that takes settings, as in {network: published, steps: 20000} for cyclegan.
    editor_share: the share of the pictures that an editor learns from where it must learn; they are no part of the data.
    between: for an attribute with more than two values, the two groups to compare, as in {race: [[white], [black, indian]]}.

    What the user brings is an object, `module:object`, an ONNX file or a torch file.  editor: may be one of these, also one for each
    attribute, as in {race: mine:edit}.  pairs: a folder of ready-made twins.  jury: readers by what they read, as in {race: race.onnx,
    gender: mine:net}, which confirm twins and stand in for the readers that are trained otherwise.  generator: a latent space.
    trunk: a torch net, usually the one under test, on whose frozen convolutional part the editor fgsm puts its reader, as NeuronFair does.
    prepare: how pictures become its inputs, as in {mean: [0.5, 0.5, 0.5]}; values from 0 to 1 where nothing is said.
    exact: that twins of one's own differ in nothing but the attribute.  trusted: allows torch files and pickles among these.
    unit: of a label that is a number, such as years: the model is a regression.  faces: every picture shows one face in its middle, and the
    model looks for it: the label is `face`, missed or found.
    align: find the face in each picture (OpenCV) and bring its eyes to one place; pictures in which none is found are left out and counted.
    tone: read skin tones from the pixels: attributes `skin_tone` (lighter, darker; unknown where unsure), `skin_tone_step`, `light`.
    """

    kind: ClassVar[str] = "album"

    layout: str = ""
    size: int = 64
    limit: int = 0
    seed: int = 0
    names: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    editor: Any = ""
    editor_settings: Mapping[str, Any] = field(default_factory=dict)
    editor_share: float = 1 / 3
    between: Mapping[str, Sequence[Sequence[str]]] = field(default_factory=dict)
    pairs: str = ""
    jury: Any = None
    generator: Any = ""
    trunk: Any = None
    prepare: Mapping[str, Any] = field(default_factory=dict)
    exact: bool = False
    trusted: bool = False
    align: bool = False
    tone: bool = False
    unit: str | None = None
    faces: bool = False

    def claims(self, source: object) -> int:
        """An album, or a folder in a layout that it knows."""
        if isinstance(source, Album):
            return 3
        return 2 if isinstance(source, str | Path) and Path(source).is_dir() and self._fitting(Path(source)) else 0

    def _fitting(self, folder: Path) -> list[str]:
        return [name for name, entry in LAYOUTS.entries().items() if entry.make().fits(folder)]

    def load(self, source: object, wishes: DataWishes) -> Dataset:
        """One row for every picture whose label and protected attributes are known."""
        if not wishes.protected:
            raise InvalidArgument("protected: name at least one attribute of the album; a picture's twin shows another value of it")
        parts = GivenParts.opened(self, wishes)  # before the pictures are read: what cannot be opened is told at once
        wishes = replace(wishes, label=FACE, favourable=(FOUND,)) if self.faces else self._usual_label(source, wishes)
        album = self._given(_with_label(source, wishes.label)) if isinstance(source, Album) else self._read(Path(str(source)), wishes)
        album = with_tones(album) if self.tone else album
        for name, groups in self.between.items():
            if len(groups) != 2:
                raise InvalidArgument(f"between: {name!r} needs two groups of values, such as [[white], [black, indian]], not {groups!r}")
            album = album.between(name, tuple(groups[0]), tuple(groups[1]))
        parts.check(album, wishes)
        if parts.pairs:
            album = with_pairs(album, parts.pairs)
        own = replace(parts.own(album), unit=self.unit)
        tools = wishes.tools if own.generator is None else replace(wishes.tools, latent=lambda *_: own.generator)
        learning, tested = self._parts(album, wishes, parts)
        editors = [self._made(each, learning, replace(wishes, tools=tools), parts) for each in wishes.protected]
        return from_album(tested, editors, wishes.favourable, wishes.label or "label", own)

    def _usual_label(self, source: object, wishes: DataWishes) -> DataWishes:
        """Pairs of pictures have one label only, which nobody needs to name."""
        is_of_pairs = isinstance(source, str | Path) and "picture_pairs" in ([self.layout] if self.layout else self._fitting(Path(source)))
        return replace(wishes, label=SAME) if is_of_pairs and wishes.label is None else wishes

    def _given(self, album: Album) -> Album:
        return _with_faces(album) if self.faces else album

    def _parts(self, album: Album, wishes: DataWishes, parts: GivenParts) -> tuple[Album, Album]:
        """What editors learn from, and what is tested: others where one learns, else all pictures."""
        if not any(self._learns(each, album, wishes, parts) for each in wishes.protected):
            return album, album
        return album.split(self.editor_share, wishes.tools.rng)

    def _learns(self, each: str | Editor, album: Album, wishes: DataWishes, parts: GivenParts) -> bool:
        """Whether an attribute gets an editor that learns from the album's pictures."""
        if not isinstance(each, str) or any(one.attribute == each for one in parts.pairs):
            return False
        chosen = parts.editors.get(each)
        if chosen is not None:
            return is_made_for_albums(chosen) and bool(getattr(chosen, "learns", True))
        name = self._editor_name(each, album, wishes)
        return name != NONE and bool(getattr(EDITORS.entry(name).make, "learns", True))

    def _editor_name(self, attribute: str, album: Album, wishes: DataWishes) -> str:
        """The editor of this package for an attribute."""
        named = self.editor.get(attribute, "") if isinstance(self.editor, Mapping) else self.editor
        if named or album.is_synthetic:
            return str(named) or "rerender"
        has_many = any(len(album.attribute(name).values) > 2 for name in wishes.protected_names)
        height, width = album.pictures.shape[1:3]  # two pictures side by side show two people, of whom no editor can change one
        return NONE if has_many or height != width else LEARNED

    def _made(self, each: str | Editor, album: Album, wishes: DataWishes, parts: GivenParts) -> Editor:
        if not isinstance(each, str):
            return each
        ready = next((one for one in parts.pairs if one.attribute == each), None)
        if ready is not None:
            return ready
        if each in parts.editors:
            return parts.editor(each, album, wishes.tools)
        name = self._editor_name(each, album, wishes)
        if self.editor_settings and (name == NONE or not getattr(EDITORS.entry(name).make, "takes_settings", False)):
            raise InvalidArgument(f"editor_settings: editor {name!r} takes no settings; cyclegan does")
        tools = replace(wishes.tools, settings=self.editor_settings, reader=parts.reader or wishes.tools.reader)
        return WithoutTwins(each) if name == NONE else editor_for(name, album, each, tools)

    def propose(self, source: Path, wishes: DataWishes) -> MediumProposal:
        """The layout that it found; attributes whose names suggest protection where none is named."""
        layout = self.layout or next(iter(self._fitting(source)), "folder")
        album = self._first_pictures(source, wishes)
        album = with_tones(album) if self.tone else album
        for name in wishes.protected_names:
            album.attribute(name)
        named = wishes.protected_names or self._protected_by_name(album, wishes)
        if not named:
            raise InvalidArgument(
                f"protected: name at least one of the attributes {', '.join(album.attributes)}; pictures of aligned faces "
                "whose skin tone nobody wrote down can be compared by what their pixels say: --tone"
            )
        if wishes.label in named:
            raise InvalidArgument(f"protected: {wishes.label!r} is the label that the model predicts; a protected attribute is another one")
        many = [name for name in named if len(album.attribute(name).values) > 2]
        lines = [f"album of layout {layout!r}; attributes: {', '.join(album.attributes)}"]
        unit = _unit_of(album, wishes)
        lines += [] if unit is None else [f"label {wishes.label!r} is a number: the model is taken for a regression (`unit: {unit}`)"]
        lines += [] if wishes.protected else [f"protected attributes were guessed from their names: {', '.join(named)}"]
        lines += [
            f"{name!r} has more than two values: groups are compared, without twins; for twins choose two groups with "
            f"`between: {{{name}: [[...], [...]]}}` and an editor"
            for name in many
        ]
        lines += [_tones_told(album)] if self.tone else []
        height, width = album.pictures.shape[1:3]
        are_pairs = height != width
        lines.append(PAIRS_TOLD if are_pairs else ONE_FACE_TOLD)
        editor = self.editor or (NONE if many or self.tone or are_pairs else LEARNED)
        read: dict[str, Any] = {"tone": True} if self.tone else {}
        read |= {} if unit is None else {"unit": unit}
        size = min(self.size, _smallest_side(source, album.sources[:MEASURED]) or self.size)
        return MediumProposal({"layout": layout, "size": size, "editor": editor, **read}, named, tuple(lines))

    def with_tone(self) -> AlbumFolder:
        """The loader that reads skin tones from the pixels."""
        return replace(self, tone=True)

    def _protected_by_name(self, album: Album, wishes: DataWishes) -> tuple[str, ...]:
        """Attributes whose names suggest protection; where tones are read, the two sides and not every step."""
        told = tuple(name for name in album.attributes if name not in (wishes.label, STEP) and concept_of(name) is not None)
        return (TONE, *(name for name in told if name != TONE)) if self.tone else told

    def _first_pictures(self, folder: Path, wishes: DataWishes) -> Album:
        try:
            return replace(self, size=TONE_SIZE if self.tone else 16, limit=FEW)._read(folder, replace(wishes, label=wishes.label or ""))
        except UnknownName as fault:
            if wishes.label:
                raise
            raise InvalidArgument(f"label: name the attribute that the classifier predicts; {str(fault).partition('; ')[2]}") from None

    def _read(self, folder: Path, wishes: DataWishes) -> Album:
        if not folder.is_dir():
            raise DataError(f"{folder} is no folder of pictures; of a table that names them, give the folder in which it lies")
        if wishes.label is None and not self.faces:
            raise InvalidArgument("label: name the attribute that the classifier predicts")
        layout = self.layout or next(iter(self._fitting(folder)), "")
        if not layout:
            known = ", ".join(LAYOUTS.entries())
            raise DataError(f"{folder}: none of the known layouts ({known}); name it with layout, or add attributes.csv")
        label = None if self.faces else wishes.label
        return self._given(
            LAYOUTS.entry(layout).make().read(folder, Reading(label, self.size, self.limit or None, self.seed, self.names, self.align))
        )


def _with_label(album: Album, name: str | None) -> Album:
    """An album in memory whose label is what is named: an attribute of other values than the label that it came with takes its place."""
    known = album.attributes.get(name or "")
    return album if known is None or known.values == album.label.values else replace(album, label=known)


def _unit_of(album: Album, wishes: DataWishes) -> str | None:
    """What a label of many numbers is counted in: years where its name says so, else its own name; None where it has classes."""
    known = album.attributes.get(wishes.label or "")  # the label of pairs is none of their attributes
    values = () if known is None or wishes.favourable else known.values
    if len(values) <= MOST_CLASSES or not all(value.replace(".", "", 1).removeprefix("-").isdigit() for value in values):
        return None
    return "years" if concept_of(str(wishes.label)) == "age" else str(wishes.label)


def _smallest_side(folder: Path, names: Sequence[str]) -> int:
    """Of these pictures somewhere in the folder; 0 where none is found."""
    from PIL import Image

    sides = []
    for name in names:
        for file in islice(folder.rglob(escape(name)), 1):
            with Image.open(file) as picture:
                sides.append(min(picture.size))
    return min(sides, default=0)


def _tones_told(album: Album) -> str:
    """How many tones could be read."""
    codes = album.attribute(TONE).codes
    return (
        f"skin tones are read from the pixels: of {len(codes)} pictures {(codes == 0).sum()} lighter, {(codes == 1).sum()} darker, "
        f"{(codes < 0).sum()} unsure and left out; the pictures must show one aligned face each"
    )


def _with_faces(album: Album) -> Album:
    """Every picture shows a face that is to be found."""
    return replace(album, label=Attribute(("missed", FOUND), np.ones(len(album), dtype=np.intp)))
