"""What a jury sees in the pictures of a scan's pairs: readers that learn here, from pictures that no pair shows.

A jury of the user's reads pairs where they are kept; `measure` trains its own, which also judges the editor.  This one only reads along.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evenhand.arrays import Index
from evenhand.contract import Medium, PictureModel
from evenhand.engine.exhibits import SIDES, decoded
from evenhand.engine.witness import Witness
from evenhand.errors import MissingExtra
from evenhand.measures.studies.jury import KnownValues
from evenhand.media.album import Attribute
from evenhand.media.album_medium import PICTURE, AlbumMedium
from evenhand.models.attribute_readers import attribute_reader

MOST_LEARNT, MOST_BYTES = 600, 64_000_000
TRIED = 0.25
"""The share of the pictures at hand about which a reader is only asked, so that it can be said how often it is right."""


@dataclass(frozen=True)
class ReadPairs:
    """Pairs with what readers see in them, and what is to be known of these readers."""

    pairs: tuple[Witness, ...]
    notes: tuple[str, ...] = ()


def read_by_jury(pairs: Sequence[Witness], medium: Medium | None, has_time: bool, rng: np.random.Generator) -> ReadPairs:
    """Every pair that shows two pictures of an album, read by one reader for each protected attribute and one for the label."""
    shown = [pair for pair in pairs if not set(SIDES) - set(pair.pictures)]
    if not isinstance(medium, AlbumMedium) or not shown:
        return ReadPairs(tuple(pairs))
    wanted = {name: known for name, known in _attributes(medium) if name not in medium.jury}
    if not wanted:
        return ReadPairs(tuple(pairs))
    if not has_time:
        told = "a scan in seconds trains no jury for the pictures of its pairs; `evenhand measure` does, or bring one (jury:)"
        return ReadPairs(tuple(pairs), (told,))
    trained = _trained(wanted, medium, _others(medium, shown), rng)
    said = {name: _seen(reader, shown) for name, reader in trained.readers.items()}
    read = {
        id(pair): replace(pair, readings={**{name: sides[place] for name, sides in said.items()}, **pair.readings})
        for place, pair in enumerate(shown)
    }
    return ReadPairs(tuple(read.get(id(pair), pair) for pair in pairs), trained.notes)


def _attributes(medium: AlbumMedium) -> Iterator[tuple[str, Attribute]]:
    """What may be read: protected attributes, and the label where it is a class."""
    for name in medium.domain.protected:
        yield name, medium.album.attribute(name)
    if medium.domain.has_classes and medium.domain.label is not None:
        yield medium.domain.label.column, medium.album.label


def _others(medium: AlbumMedium, pairs: Sequence[Witness]) -> Index:
    """The album's pictures that no pair shows or comes from."""
    codes = np.array([[float(pair.person[PICTURE])] for pair in pairs])
    return np.setdiff1d(np.arange(len(medium.album)), medium.origins(codes))


@dataclass(frozen=True)
class _Trained:
    """Readers by what they read."""

    readers: dict[str, PictureModel]
    notes: tuple[str, ...]


def _trained(wanted: dict[str, Attribute], medium: AlbumMedium, others: Index, rng: np.random.Generator) -> _Trained:
    """One reader for each attribute that is known of enough pictures."""
    album = medium.album
    most = min(MOST_LEARNT, MOST_BYTES // max(1, album.pictures[:1].nbytes))
    chosen = rng.permutation(others)[:most]
    tried, learnt = np.split(chosen, [round(TRIED * len(chosen))])
    readers: dict[str, PictureModel] = {}
    notes = []
    for name, known in wanted.items():
        if not KnownValues(known.values, known.codes[learnt]).is_readable:
            notes.append(f"too few pictures that no pair shows are known by {name!r} to train a jury from for the pairs")
            continue
        try:
            readers[name] = attribute_reader(album.pictures[learnt], known.codes[learnt], known.values, rng)
        except MissingExtra:
            continue
        asked = tried[known.codes[tried] >= 0]
        right = float((readers[name].scores(album.pictures[asked]).argmax(axis=1) == known.codes[asked]).mean()) if len(asked) else 0.0
        notes.append(
            f"what the jury reads of {name!r} in pairs is said by a reader that learnt from {len(learnt):,} other pictures; it is right "
            f"about {right:.0%} of {len(asked):,} further ones, of which {_commonest(known, asked):.0%} have the commonest value"
        )
    return _Trained(readers, tuple(notes))


def _commonest(known: Attribute, asked: Index) -> float:
    counts = np.bincount(known.codes[asked]) if len(asked) else np.zeros(1)
    return float(counts.max() / max(1, len(asked)))


def _seen(reader: PictureModel, pairs: Sequence[Witness]) -> list[list[str]]:
    """The values that the reader sees in both pictures of each pair."""
    seen = []
    for pair in pairs:  # pictures of one album are of one size, but a few at a time take no memory
        said = reader.scores(np.stack([decoded(pair.pictures[side]) for side in SIDES])).argmax(axis=1)
        seen.append([str(reader.classes[code]) for code in said])
    return seen
