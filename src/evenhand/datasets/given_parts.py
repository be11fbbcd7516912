"""What a user brings to a test of pictures: editors, ready-made twins, a jury, a generator; opened before any picture is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from evenhand.contract import DataWishes, DifferentiablePictureModel, Editor, EditorTools
from evenhand.datasets.album_data import OwnParts
from evenhand.datasets.ready_pairs import ReadyPairs
from evenhand.errors import DataError, InvalidArgument, UnknownName
from evenhand.media.album import Album
from evenhand.media.given_editor import GivenEditor
from evenhand.models.adapters.torch_modules import is_torch
from evenhand.models.jury_readers import jury_reader
from evenhand.models.own_generator import generator_space
from evenhand.models.own_parts import PartWishes, edits_of, is_own_part, opened_part, part_name
from evenhand.models.preparation import Preparation


class PartSettings(Protocol):
    """The settings that name what the user brings."""

    @property
    def editor(self) -> Any:
        """What makes twins."""

    @property
    def pairs(self) -> str:
        """A folder of ready-made twins."""

    @property
    def jury(self) -> Any:
        """Readers by what they read."""

    @property
    def generator(self) -> Any:
        """A latent space."""

    @property
    def trunk(self) -> Any:
        """A net whose convolutional part readers share."""

    @property
    def prepare(self) -> Mapping[str, Any]:
        """How pictures become its inputs."""

    @property
    def exact(self) -> bool:
        """Whether these twins differ in the attribute alone."""

    @property
    def trusted(self) -> bool:
        """Whether files that can run code may be opened."""


@dataclass(frozen=True, eq=False)
class GivenParts:
    """The opened parts: editors by attribute, ready-made twins, readers by what they read, and a generator.

    names: what a reader of a report sees of each editor.
    """

    editors: Mapping[str, Any] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    pairs: Sequence[ReadyPairs] = ()
    jury: Mapping[str, Any] = field(default_factory=dict)
    generator: Any = None
    generator_name: str = ""
    reader: Callable[[Album, str, np.random.Generator], DifferentiablePictureModel] | None = None
    exact: bool = False
    trusted: bool = False

    @classmethod
    def opened(cls, settings: PartSettings, wishes: DataWishes) -> GivenParts:
        """Everything that is named, opened or imported; editors and spaces of the package by name are not among it."""
        base, trusted = wishes.folder or Path(), settings.trusted
        editors = {name: given for name, given in _by_attribute(settings.editor, wishes, "editor").items() if given and is_own_part(given)}
        jury = _by_attribute(settings.jury, wishes, "jury")
        return cls(
            {name: opened_part(given, PartWishes("editor", base, trusted)) for name, given in editors.items()},
            {name: part_name(given) for name, given in editors.items()},
            _pairs(settings, wishes, base),
            {name: _reader(given, PartWishes("jury", base, trusted)) for name, given in jury.items()},
            opened_part(settings.generator, PartWishes("generator", base, trusted)) if settings.generator else None,
            part_name(settings.generator) if settings.generator else "",
            _shared(opened_part(settings.trunk, PartWishes("trunk", base, trusted)), settings.prepare) if settings.trunk else None,
            settings.exact,
            trusted,
        )

    def check(self, album: Album, wishes: DataWishes) -> None:
        """That everything speaks of what is known of the pictures."""
        for name in self.jury:
            if name != wishes.label and name not in album.attributes:
                raise UnknownName("attribute that the jury reads", name, album.attributes)
        for name in self.editors:
            album.attribute(name)

    def editor(self, attribute: str, album: Album, tools: EditorTools) -> Editor:
        """The user's editor of an attribute: as it is, made for the album, or around a function or a net."""
        part = self.editors[attribute]
        if is_made_for_albums(part):
            made: Editor = part.made(album, attribute, tools)
            return made
        if isinstance(part, Editor):
            if part.attribute != attribute:
                raise InvalidArgument(f"editor: {self.names[attribute]} edits {part.attribute!r}, and {attribute!r} is protected")
            return part
        learns = bool(getattr(part, "learns", True)) and not self.exact
        what = f"editor {self.names[attribute]}"
        return GivenEditor(attribute, edits_of(part, what), what, learns)

    def own(self, album: Album) -> OwnParts:
        """The readers, asked about some of the pictures, and the generator, told how large a picture is."""
        known = {name: album.attributes.get(name, album.label) for name in self.jury}
        readers = {
            name: jury_reader(given, name, known[name].values, album.pictures, known[name].codes, trusted=self.trusted)
            for name, given in self.jury.items()
        }
        space = None if self.generator is None else generator_space(self.generator, album.pictures.shape[1:], self.generator_name)
        return OwnParts(readers, space)


def is_made_for_albums(part: Any) -> bool:
    """Whether this is a kind of editor, as those of the package are, which is made for an album and an attribute."""
    return isinstance(part, type) and callable(getattr(part, "made", None))


def _by_attribute(given: Any, wishes: DataWishes, what: str) -> dict[str, Any]:
    """One for each attribute; a single one is for the only protected attribute."""
    if isinstance(given, Mapping):
        return {str(name): each for name, each in given.items()}
    if not given:
        return {}
    names = wishes.protected_names
    if len(names) > 1 and is_own_part(given):
        raise InvalidArgument(f"{what}: several attributes are protected; name one for each, as in {{{names[0]}: ..., {names[1]}: ...}}")
    return dict.fromkeys(names, given)


def _pairs(settings: PartSettings, wishes: DataWishes, base: Path) -> tuple[ReadyPairs, ...]:
    if not settings.pairs:
        return ()
    if settings.editor:
        raise InvalidArgument("pairs and editor both make twins: keep one of them")
    folder = base / settings.pairs
    if not folder.is_dir():
        raise DataError(f"pairs={settings.pairs!r} is no folder")
    return tuple(ReadyPairs(name, folder, not settings.exact) for name in wishes.protected_names)


def _shared(net: Any, prepare: Mapping[str, Any]) -> Callable[[Album, str, np.random.Generator], DifferentiablePictureModel]:
    """Trains readers of attributes on the frozen convolutional part of a net, behind its own preparation."""
    if not is_torch(net):
        raise InvalidArgument(f"trunk={part_name(net)!r} must be a torch module: readers learn on its convolutional part")
    told: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in prepare.items()}
    how = Preparation(**told)

    def trained(album: Album, attribute: str, rng: np.random.Generator) -> DifferentiablePictureModel:
        from evenhand.models.shared_reader import shared_reader
        from evenhand.models.torch_inputs import PictureFront
        from evenhand.models.torch_pictures import torch_classifier

        front = PictureFront(how, sides=(album.pictures.shape[1], album.pictures.shape[2]))
        return shared_reader(replace(torch_classifier(net, ("one", "other"), prepare=how), front=front), album, attribute, rng)

    return trained


def _reader(given: Any, wishes: PartWishes) -> Any:
    """A reader as `wrap` takes it; a file's path from where paths begin, and an error now where it cannot be opened."""
    if isinstance(given, str) and not is_own_part(given):
        raise InvalidArgument(f"jury={given!r} must be module:object, an .onnx file or a torch file")
    part = opened_part(given, wishes)
    return wishes.base / given if isinstance(given, str) and str(given).lower().endswith(".onnx") else part
