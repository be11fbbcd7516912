"""The jury of an editor: whether its twins show the other value, and whether they change anything else.

Independent classifiers of attributes learn from half of the pictures and read the other half and their twins.  Only pictures that they
read rightly before the edit count.  The pictures must be others than those that a learned editor was trained on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from evenhand.arrays import Index, Labels, Mask, Rows
from evenhand.claims import Claim
from evenhand.contract import JuryReaders, PictureModel, Pictures, StudyCase, StudySection
from evenhand.media.picture_batches import batches
from evenhand.media.skin_tone import STEP, TONE
from evenhand.models.attribute_readers import attribute_reader
from evenhand.statistics.intervals import Interval, clopper_pearson

FEWEST_PICTURES, MOST_VALUES = 12, 10
LEAST_CONFIRMED = 0.5
"""Twins count as what they claim to be where surely more than this share of them is read as the other value."""


@dataclass(frozen=True)
class KnownValues:
    """What is known of one side of some pictures: names of its values and one code for each, -1 unknown."""

    values: tuple[str, ...]
    codes: Labels

    @property
    def is_readable(self) -> bool:
        """Whether a classifier can learn it: few values, two of them well filled."""
        counts = np.bincount(self.codes[self.codes >= 0], minlength=2)
        return 2 <= len(counts) <= MOST_VALUES and int(np.sort(counts)[-2]) >= FEWEST_PICTURES

    @property
    def guessing(self) -> float:
        """How often the commonest value is right."""
        known = self.codes[self.codes >= 0]
        return float(np.bincount(known).max() / len(known)) if len(known) else float("nan")


@dataclass(frozen=True)
class EditorFacts:
    """What independent classifiers of attributes say about an editor's twins."""

    attribute: str
    flip: str
    confirmed: Interval  # of the pictures whose attribute the jury read rightly, the share whose twin it reads as the other value
    collateral: dict[str, Interval]  # of other attributes that the jury can read, the share that changed along with it
    baseline: dict[str, float]  # how often the jury is right about unedited pictures
    guessing: dict[str, float]  # how often the commonest value is right
    pixel_change: float  # mean absolute change, of 255

    def lines(self) -> list[str]:
        """Sentences for a report."""
        said = [f"{self.flip} of {self.attribute!r}: confirmed by an independent classifier in {self.confirmed}"]
        said += [f"  collateral change of {name!r}: {share}" for name, share in self.collateral.items()]
        return [*said, f"  mean absolute pixel change {self.pixel_change:.1f} of 255"]

    @property
    def claim(self) -> Claim:
        """That the twins are what they claim; where that is not shown, it stays open what they prove."""
        seen = f"it reads the other value in {self.confirmed}; how they were made: {self.flip}"
        few = f"an independent classifier does not confirm the twins in {self.attribute}: {seen}"
        doubt = "" if self.confirmed.low >= LEAST_CONFIRMED else few
        if self.baseline[self.attribute] <= self.guessing[self.attribute]:
            doubt = f"the independent classifier reads {self.attribute!r} no better than by guessing"
        return Claim(f"twins in {self.attribute}", open=doubt, holds=self.lines()[0])

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "attribute": self.attribute,
            "flip": self.flip,
            "confirmed": self.confirmed.as_dict(),
            "collateral": {name: share.as_dict() for name, share in self.collateral.items()},
            "jury_accuracy": self.baseline,
            "jury_guessing": self.guessing,
            "pixel_change": self.pixel_change,
        }


@dataclass(frozen=True, eq=False)
class Edit:
    """Pictures before and after an edit of one attribute."""

    attribute: str
    flip: str
    before: Pictures
    after: Pictures
    wanted: Labels  # the value that each twin is to show

    @property
    def pixel_change(self) -> float:
        """The mean absolute change of a value, of 255; a few pictures at a time."""
        parts = batches(len(self.before), self.before[:1].nbytes)
        total = sum(float(np.abs(self.after[part].astype(np.float32) - self.before[part]).sum(dtype=np.float64)) for part in parts)
        return total / max(1, self.before.size)


def facts_of(edit: Edit, known: Mapping[str, KnownValues], jury: Mapping[str, PictureModel]) -> EditorFacts:
    """Let a jury read the pictures and their twins; only attributes read rightly before the edit count."""
    shares, baseline, guessing = {}, {}, {}
    for name, reader in jury.items():
        first, second = reader.scores(edit.before).argmax(axis=1), reader.scores(edit.after).argmax(axis=1)
        right: Mask = first == known[name].codes
        changed = second == edit.wanted if name == edit.attribute else second != first
        heard = int((known[name].codes >= 0).sum())
        reading = clopper_pearson(int(right.sum()), heard)
        baseline[name], guessing[name] = reading.estimate, known[name].guessing
        if name == edit.attribute or reading.low > guessing[name]:  # a reader that only guesses says nothing about an edit
            shares[name] = clopper_pearson(int(np.sum(right & changed)), int(right.sum()))
    confirmed = shares.pop(edit.attribute)
    change = edit.pixel_change
    return EditorFacts(edit.attribute, edit.flip, confirmed, shares, baseline, guessing, change)


@dataclass(frozen=True)
class EditorJury:
    """One jury for every protected attribute.  watched: other attributes that are watched for collateral change at most."""

    watched: int = 3

    media: ClassVar[tuple[str, ...]] = ("album",)
    needs_twins: ClassVar[bool] = True
    takes_amounts: ClassVar[bool] = True

    def study(self, case: StudyCase, rng: np.random.Generator) -> StudySection:
        """Every protected attribute's twins, read by classifiers that have not seen the pictures."""
        order = rng.permutation(len(case.rows))
        half = 0 if self._is_given(case) else len(order) // 2
        learning, read = order[:half], order[half:]
        parts = [self._one(case, name, learning, read, rng) for name in case.domain.protected]
        figures = {"editors": [part.figures for part in parts]}
        sentences, claims = sum((part.sentences for part in parts), ()), sum((part.claims for part in parts), ())
        return StudySection(figures, sentences, claims, sum((part.readers for part in parts), ()))

    def _is_given(self, case: StudyCase) -> bool:
        """Whether the user brings a reader of every protected attribute, so that none need be trained."""
        return set(case.domain.protected) <= set(given_jury(case))

    def _one(self, case: StudyCase, attribute: str, learning: Index, read: Index, rng: np.random.Generator) -> StudySection:
        if self._is_given(case):
            return self._by_given(case, attribute, read, rng)
        known = {attribute: _protected(case, attribute), **self._others(case, attribute, learning)}
        own = KnownValues(known[attribute].values, known[attribute].codes[learning])
        if not own.is_readable:
            message = f"too few pictures of two values of {attribute!r} to form a jury from: {FEWEST_PICTURES} of each are needed"
            return StudySection({"attribute": attribute, "reason": message}, (message,), (Claim(f"twins in {attribute}", open=message),))
        pictures = case.medium.show(case.rows[learning])
        jury = {name: attribute_reader(pictures, each.codes[learning], each.values, rng) for name, each in known.items()}
        facts = facts_of(_edit(case, attribute, read, rng), {name: KnownValues(e.values, e.codes[read]) for name, e in known.items()}, jury)
        heard = {name: jury[name] for name in (attribute, *facts.collateral) if name in (attribute, self._label(case))}
        return StudySection(facts.as_dict(), tuple(facts.lines()), (facts.claim,), (JuryReaders(heard, read),))

    @staticmethod
    def _label(case: StudyCase) -> str:
        return case.domain.label.column if case.domain.label else ""

    def _by_given(self, case: StudyCase, attribute: str, read: Index, rng: np.random.Generator) -> StudySection:
        """Read by the user's jury: the attribute, and whatever else it reads that is known of the pictures."""
        jury = {name: reader for name, reader in given_jury(case).items() if name == attribute or _has_column(case, name)}
        known = {name: _protected(case, name) if name == attribute else _as_read(case, name, reader) for name, reader in jury.items()}
        values = {name: KnownValues(each.values, each.codes[read]) for name, each in known.items()}
        facts = facts_of(_edit(case, attribute, read, rng), values, jury)
        return StudySection({**facts.as_dict(), "given": sorted(jury)}, tuple(facts.lines()), (facts.claim,))

    def _others(self, case: StudyCase, attribute: str, learning: Index) -> dict[str, KnownValues]:
        """The label first, then other columns with a few well-filled values."""
        if case.frame is None:
            return {}
        label = [case.domain.label.column] if case.domain.label else []
        names = dict.fromkeys([*label, *(name for name in case.frame.columns if name not in case.domain.names), *case.domain.protected])
        own = (attribute, STEP) if attribute == TONE else (attribute,)  # steps of a tone must change along with it
        found = {name: _of_frame(case, name) for name in names if name not in own and name in case.frame.columns}
        readable = [name for name, each in found.items() if KnownValues(each.values, each.codes[learning]).is_readable]
        return {name: found[name] for name in readable[: self.watched]}


def given_jury(case: StudyCase) -> Mapping[str, PictureModel]:
    """Readers that the user brings, by what they read."""
    found: Mapping[str, PictureModel] = getattr(case.medium, "jury", {})
    return found


def _has_column(case: StudyCase, name: str) -> bool:
    return case.frame is not None and name in case.frame.columns


def _as_read(case: StudyCase, name: str, reader: PictureModel) -> KnownValues:
    """What the table says, in the order of the reader's values."""
    places = {str(value): place for place, value in enumerate(reader.classes)}
    codes = [places.get(str(cell), -1) for cell in case.frame[name]]
    return KnownValues(tuple(str(value) for value in reader.classes), np.array(codes, dtype=np.intp))


def _protected(case: StudyCase, name: str) -> KnownValues:
    column = case.domain.columns[case.domain.place(name)]
    return KnownValues(tuple(str(value) for value in column.values), case.rows[:, case.domain.place(name)].astype(np.intp))


def _of_frame(case: StudyCase, name: str) -> KnownValues:
    import pandas as pd

    codes, values = pd.factorize(case.frame[name], sort=False)
    return KnownValues(tuple(str(value) for value in values), np.asarray(codes, dtype=np.intp))


def _edit(case: StudyCase, attribute: str, read: Index, rng: np.random.Generator) -> Edit:
    """Rows with another value of the attribute; of several, one by chance."""
    rows, place = case.rows[read], case.domain.place(attribute)
    values = len(case.domain.columns[place].values)
    wanted = (rows[:, place].astype(np.intp) + rng.integers(1, values, size=len(rows))) % values
    twins: Rows = rows.copy()
    twins[:, place] = wanted
    return Edit(attribute, _flip(case, attribute), case.medium.show(rows), case.medium.show(twins), wanted)


def _flip(case: StudyCase, attribute: str) -> str:
    """What the editor says of its flip."""
    editors = getattr(case.medium, "editors", ())
    return next((str(editor.flip) for editor in editors if editor.attribute == attribute), "twins")
