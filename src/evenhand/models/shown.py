"""The road from rows to anything that is asked about what rows show: the medium shows, the reader answers.

`shown(medium, reader)` gives the model with the abilities that the reader has: gradients by the pixels, layers, detections.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Labels, Rows, Scores
from evenhand.contract import (
    SCORES,
    Answer,
    CountsObjects,
    DifferentiablePictureModel,
    Medium,
    Model,
    PictureModel,
    PrunablePictureModel,
    Recogniser,
    SeesScenes,
    TrainablePictureModel,
    TransparentPictureModel,
)
from evenhand.errors import InvalidArgument, WrongAnswer
from evenhand.media.picture_batches import PICTURES_AT_ONCE, pictures_at_once
from evenhand.models.answer_shapes import Reader, reader_for
from evenhand.models.changed_pictures import ChangedPictures, shows_people

if TYPE_CHECKING:
    from evenhand.models.paid_answers import AnswerBook

SOMETHING_ELSE = "something else"
"""The class of every object that is of no other class."""
PROBED = 32
"""How many shown rows tell two readers apart that have no fingerprint of their own."""


@runtime_checkable
class _Fingerprinted(Protocol):
    def fingerprint(self) -> str: ...


@dataclass(frozen=True, eq=False)
class ShownModel:
    """A reader of pictures or texts as a model of rows.  Its classes are the label's values, found by name among the reader's own."""

    medium: Medium
    reader: PictureModel
    batch_rows: int = PICTURES_AT_ONCE
    is_costly: bool = True  # showing a row costs more than remembering its answer

    @cached_property
    def _answers(self) -> Reader:
        return reader_for(self.medium.domain, self.reader.classes)

    @property
    def classes(self) -> tuple[Any, ...]:
        """The label values, in the order of the score columns."""
        return self._answers.classes

    @property
    def reading(self) -> str:
        """How its answers are read."""
        return self._answers.sentence

    @property
    def is_hard(self) -> bool:
        """Whether the reader only says labels."""
        return bool(getattr(self.reader, "is_hard", False))

    def without_memory(self) -> Self:
        """The same model that asks again, where the reader remembers what it was asked."""
        again: Callable[[], PictureModel] | None = getattr(self.reader, "without_memory", None)
        return self if again is None else replace(self, reader=again())

    def keeping(self, book: AnswerBook, occasion: str = "") -> Self:
        """The same model, whose reader pays for no answer twice where it is asked over a network."""
        keep: Callable[[AnswerBook, str], PictureModel] | None = getattr(self.reader, "keeping", None)
        return self if keep is None else replace(self, reader=keep(book, occasion))

    @property
    def keeps_answers(self) -> bool:
        """Whether the reader's answers outlive this process."""
        return bool(getattr(self.reader, "keeps_answers", False))

    def seen_otherwise(self, change: Callable[[Any], Any]) -> ShownModel | None:
        """The same reader, for which pictures are changed first; None for texts and scenes, and over a network."""
        is_near = not hasattr(self.reader, "keeping")
        return (
            ShownModel(ChangedPictures(self.medium, change), self.reader, self.batch_rows)
            if is_near and shows_people(self.medium)
            else None
        )

    def scores(self, rows: Rows) -> Scores:
        """What the reader says of what the rows show."""
        return self._answers.read(self.reader.scores(self.medium.show(rows)), len(rows))

    @cached_property
    def _fingerprint(self) -> str:
        own = self.reader.fingerprint() if isinstance(self.reader, _Fingerprinted) else _by_answers(self)
        return f"shown-{hashlib.sha256(f'{own} {self.medium.digest()}'.encode()).hexdigest()[:24]}"

    def fingerprint(self) -> str:
        """A digest of the reader (its own, or of its answers to fixed rows) and of the medium."""
        return self._fingerprint


@dataclass(frozen=True, eq=False)
class ShownGradients(ShownModel):
    """A reader that can be followed back to the pixels."""

    reader: DifferentiablePictureModel

    def pixel_gradient(self, rows: Rows, cotangent: NDArray[Any], layer: str = SCORES) -> NDArray[np.float32]:
        """Per row, the gradient by its picture's pixels of sum(cotangent * layer's values), (n, height, width, 3)."""
        if layer == SCORES:
            cotangent = cotangent[:, [self.classes.index(name) for name in self._answers.columns]]
        return self.reader.gradient(self.medium.show(rows), cotangent, layer)


@dataclass(frozen=True, eq=False)
class ShownLayers(ShownGradients):
    """A reader whose layers can be read."""

    reader: TransparentPictureModel

    def layers(self) -> tuple[str, ...]:
        """The names of the layers that can be read, from input to output."""
        return self.reader.layers()

    def flat_layers(self) -> tuple[str, ...]:
        """The layers by the names under which maps are read value by value; as they are of a reader that knows no maps."""
        named: Callable[[], tuple[str, ...]] = getattr(self.reader, "flat_layers", self.reader.layers)
        return named()

    def activations(self, rows: Rows, layers: Sequence[str]) -> dict[str, NDArray[np.floating[Any]]]:
        """Values of the named layers, (n, units); a convolutional unit is the mean of its map."""
        return dict(self.reader.activations(self.medium.show(rows), layers))


class TrainableReader(TransparentPictureModel, TrainablePictureModel, Protocol):
    """A reader whose layers can be read and that can be fitted again."""


@dataclass(frozen=True, eq=False)
class ShownTrainable(ShownLayers):
    """A reader that can be fitted again, on what rows show."""

    reader: TrainableReader

    def refit(self, rows: Rows, labels: Labels, rng: np.random.Generator) -> Model:
        """A new reader behind the same medium; this one stays as it is."""
        places = np.array([self._answers.columns.index(name) for name in self.classes])
        return shown(self.medium, self.reader.refit(self.medium.show(rows), places[labels], rng))


class PrunableReader(PrunablePictureModel, TrainableReader, Protocol):
    """A reader that can be fitted again, and be had without some of its units."""


@dataclass(frozen=True, eq=False)
class ShownPrunable(ShownTrainable):
    """A reader that can be had without some of its units."""

    reader: PrunableReader

    def without(self, layer: str, units: Sequence[int], keep: float = 0.0) -> Model:
        """The reader without these units behind the same medium; this one stays as it is."""
        return shown(self.medium, self.reader.without(layer, units, keep))


@dataclass(frozen=True, eq=False)
class ShownRecogniser:
    """A recogniser as a model of rows: its scores are how many objects of each class it sees; all further classes are counted together.

    Answers are remembered by what a row shows: recognising a picture costs far more than keeping a few boxes.
    """

    medium: CountsObjects
    recogniser: Recogniser | SeesScenes
    batch_rows: int = 32
    is_costly: bool = True
    remembers: bool = True
    _answers: dict[bytes, Answer] = field(default_factory=dict, repr=False)

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """The medium's classes of objects, those that the recogniser says it knows, and one for everything else."""
        own = {self.medium.class_of(str(name)) for name in getattr(self.recogniser, "names", ())}
        return (*self.medium.classes, *sorted(own - set(self.medium.classes)), SOMETHING_ELSE)

    @property
    def reading(self) -> str:
        """How its answers are read."""
        return f"it says which objects it sees; these are counted by class, {len(self.classes) - 1} of them by name and all others together"

    @property
    def is_hard(self) -> bool:
        """Counts are scores."""
        return False

    def detections(self, rows: Rows) -> list[Answer]:
        """Everything that the recogniser sees in what each row shows."""
        keys = [row.tobytes() for row in self.medium.as_shown(rows)]
        known = self._answers if self.remembers else {}  # what is shown twice in one call is asked once in any case
        new = {key: place for place, key in enumerate(keys) if key not in known}
        if new:
            known.update(zip(new, self._ask(rows[list(new.values())]), strict=True))
        return [known[key] for key in keys]

    def _ask(self, rows: Rows) -> list[Answer]:
        if isinstance(self.recogniser, SeesScenes):
            answers = self.recogniser.recognise_scenes(self.medium.shown_scenes(rows))  # type: ignore[attr-defined]  # checked by `shown`
        else:
            answers = self.recogniser.recognise(list(self.medium.show(rows)))
        if len(answers) != len(rows):
            raise WrongAnswer(f"recogniser {self.recogniser.name} answered {len(answers)} times to {len(rows)} pictures")
        return answers

    def counts(self, rows: Rows) -> list[Counter[str]]:
        """Objects by class, whatever the class is."""
        return [Counter(self.medium.class_of(one.label) for one in answer) for answer in self.detections(rows)]

    def scores(self, rows: Rows) -> Scores:
        """Objects by class, (n, classes)."""
        places = {name: place for place, name in enumerate(self.classes)}
        table = np.zeros((len(rows), len(places)))
        for line, counted in zip(table, self.counts(rows), strict=True):
            for name, n in counted.items():
                line[places.get(name, len(places) - 1)] += n
        return table

    def without_memory(self) -> ShownRecogniser:
        """The same model that asks every time; a service that is paid for each picture keeps its answers, so that nothing is paid twice."""
        if getattr(self.recogniser, "price_per_thousand", 0.0):
            return self
        again: Callable[[], Recogniser] | None = getattr(self.recogniser, "without_memory", None)
        return replace(self, recogniser=self.recogniser if again is None else again(), remembers=False, _answers={})

    def keeping(self, book: AnswerBook, _occasion: str = "") -> ShownRecogniser:
        """The same model; what is asked over a network has its answers in a file beside the book's."""
        from evenhand.models.recognisers.cache import Kept

        asked = self.recogniser
        is_remote = getattr(asked, "is_remote", False) or getattr(asked, "price_per_thousand", 0.0)
        if book.path is None or not is_remote or isinstance(asked, SeesScenes):
            return self
        if isinstance(asked, Kept):
            return replace(self, recogniser=asked.in_edition(book.edition), _answers={}) if book.edition != asked.edition else self
        return replace(self, recogniser=Kept(asked, book.path.parent, book.edition), _answers={})

    def fingerprint(self) -> str:
        """A digest of the recogniser's own fingerprint and of the medium."""
        return f"shown-{hashlib.sha256(f'{self.recogniser.fingerprint()} {self.medium.digest()}'.encode()).hexdigest()[:24]}"


def shown(medium: Medium, reader: PictureModel | Recogniser | SeesScenes) -> Model:
    """The model of rows behind a medium, with the abilities that the reader has."""
    if isinstance(reader, Recogniser | SeesScenes):
        tells = not isinstance(reader, SeesScenes) or hasattr(medium, "shown_scenes")
        if not isinstance(medium, CountsObjects) or not tells:
            raise InvalidArgument(f"a recogniser counts objects in scenes, and {medium.kind} shows none; give a model that scores classes")
        return ShownRecogniser(medium, reader)
    at_once = pictures_at_once(getattr(medium, "picture_bytes", 0))
    if isinstance(reader, PrunablePictureModel) and isinstance(reader, TrainablePictureModel):
        return ShownPrunable(medium, reader, at_once)
    if isinstance(reader, TransparentPictureModel) and isinstance(reader, TrainablePictureModel):
        return ShownTrainable(medium, reader, at_once)
    if isinstance(reader, TransparentPictureModel):
        return ShownLayers(medium, reader, at_once)
    if isinstance(reader, DifferentiablePictureModel):
        return ShownGradients(medium, reader, at_once)
    return ShownModel(medium, reader, at_once)


def _by_answers(model: ShownModel) -> str:
    from evenhand.models.inputs import probe_rows

    answers = np.round(np.asarray(model.scores(probe_rows(model.medium.domain, PROBED)), dtype=np.float64), 6) + 0.0
    return hashlib.sha256(answers.tobytes()).hexdigest()


def of_own_pictures(model: Model, medium: Medium | None) -> Model:
    """The model asked about pictures as they came, where an editor has drawn them again; else the model itself."""
    own = getattr(medium, "as_given", None)
    return replace(model, medium=own) if own is not None and isinstance(model, ShownModel) else model
