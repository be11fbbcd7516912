"""Every protocol of the package on one page: what a medium, a model, an oracle, a method, a population and a result can do.

The values that they speak of are those of `values.py`, and can be imported from here.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index, Labels, Mask, Rows, Scores
from evenhand.values import (
    ANOTHER_OUTCOME,
    FLAT,
    SCORES,
    Activations,
    Answer,
    Box,
    Candidates,
    Checked,
    DataWishes,
    Detection,
    EditorTools,
    Headway,
    JuryReaders,
    LabelledRows,
    MediumProposal,
    Outcome,
    Pairs,
    Pictures,
    Port,
    Search,
    ShownPairs,
    Slope,
    StudyCase,
    StudySection,
    Task,
    TaskEnd,
    Verdict,
    Watch,
    has_twins,
    join_verdicts,
    labels_of,
    media_of,
    name_of,
    one_hot,
    outcome_names,
    parameters,
    population_words,
    shows_pairs,
    words_of,
)

if TYPE_CHECKING:
    import pandas as pd

    from evenhand.datasets.dataset import Dataset
    from evenhand.domain.tabular import TabularDomain
    from evenhand.media.album import Album
    from evenhand.media.operators.parts.mutated import Mutation, Skipped
    from evenhand.media.operators.parts.order import ChangeOrder
    from evenhand.media.scene import Scene
    from evenhand.models.model_wishes import ModelWishes, ObjectSettings

__all__ = [  # what is imported from here and defined in values.py
    "ANOTHER_OUTCOME", "FLAT", "SCORES", "Activations", "Answer", "Box", "Candidates", "Checked", "DataWishes", "Detection",
    "EditorTools", "Headway", "JuryReaders", "LabelledRows", "MediumProposal", "Outcome", "Pairs", "Pictures", "Port", "Search",
    "ShownPairs", "Slope", "StudyCase", "StudySection", "Task", "TaskEnd", "Verdict", "Watch", "has_twins", "join_verdicts",
    "labels_of", "media_of", "name_of", "one_hot", "outcome_names", "parameters", "population_words", "shows_pairs", "words_of",
]  # fmt: skip


@runtime_checkable
class Medium(Protocol):
    """What a row shows.  A model adapter is the user's model behind the medium's `show`; a reader sees the same."""

    @property
    def kind(self) -> str:
        """One word for a reader: table, album, portraits, scenes, text."""

    @property
    def domain(self) -> TabularDomain:
        """The rows that it can show, with everything protected that it can show another way."""

    def show(self, rows: Rows) -> Any:
        """A frame, pictures (n, height, width, 3) of bytes, or texts: one entry for every row, made when asked for."""

    def digest(self) -> str:
        """A short text that is equal for media that show the same."""


@runtime_checkable
class Doubtful(Medium, Protocol):
    """A medium whose twins may differ in more than what is protected."""

    @property
    def doubt(self) -> str:
        """Why a pair that is treated differently is no proof by itself; empty where it is."""


@runtime_checkable
class Growing(Medium, Protocol):
    """A medium that takes in what a method makes: a new picture gets a row code of its own, the same under the same seed."""

    def derive(self, rows: Rows, offsets: NDArray[Any]) -> Rows:
        """New rows whose pictures are these rows' pictures plus one offset (n, height, width, 3) each, the same for every twin."""

    def add(self, pictures: Pictures) -> Rows:
        """New rows for made pictures: (combinations, n, height, width, 3), one for each protected combination."""


@runtime_checkable
class Describing(Medium, Protocol):
    """A medium whose rows are numbers that say nothing: it tells what is known of each in columns that a rule can speak of."""

    @property
    def description(self) -> TabularDomain:
        """The columns that describe a row."""

    def described(self, rows: Rows) -> Rows:
        """One description for every row, as codes of these columns."""


@runtime_checkable
class Restoring(Growing, Protocol):
    """A growing medium that knows where a made picture comes from, and takes one back that another process made."""

    def parents(self, rows: Rows) -> Rows:
        """The rows with every derived picture replaced by the one that it was derived from."""

    def knows(self, rows: Rows) -> Mask:
        """Which rows it can show."""

    def restore(self, rows: Rows, pictures: Pictures) -> None:
        """Show these rows as these pictures from now on; twins that were not kept are not known."""


@runtime_checkable
class KnowsOrigins(Medium, Protocol):
    """A medium that tells which of its first rows a made one comes from."""

    def origins(self, rows: Rows) -> Index:
        """The place of the picture behind each row; -1 for one that was added as a whole."""


@runtime_checkable
class Editor(Protocol):
    """Gives every picture of an album a twin that differs in one attribute."""

    @property
    def attribute(self) -> str:
        """The attribute that it flips."""

    @property
    def flip(self) -> str:
        """What the flip really is, in words for a report."""

    def twins(self, album: Album) -> Pictures:
        """The same pictures with the attribute flipped."""


@runtime_checkable
class KnowsSides(Protocol):
    """An editor of attributes with more than two values: it says itself which picture of a pair has the higher one."""

    def sides(self, album: Album) -> Labels:
        """1 where the twin has the lower value of the two, else 0."""


@runtime_checkable
class Redraws(Protocol):
    """An editor that cannot draw everything: what it loses must be lost in both pictures of a pair."""

    def decoded(self, album: Album) -> Album:
        """The album as the editor can draw it."""


@runtime_checkable
class NamedEditor(Editor, Protocol):
    """An editor that can be chosen by name: it is made for an attribute of an album.

    One that learns nothing from the album's pictures says so in the class variable `learns = False`; pictures that an editor has learned
    from are no test of it.
    """

    @classmethod
    def made(cls, album: Album, attribute: str, tools: EditorTools) -> Editor:
        """The editor for this attribute."""


@runtime_checkable
class Loader(Protocol):
    """A way to open data of one kind.  Its settings are the fields of a frozen dataclass, and the keys of a project file's medium."""

    kind: ClassVar[str]

    def claims(self, source: object) -> int:
        """How sure it is that the source is for it: 0 for not at all; of several loaders the surest opens it."""

    def load(self, source: object, wishes: DataWishes) -> Dataset:
        """The data."""


@runtime_checkable
class ProposingLoader(Loader, Protocol):
    """A loader that can say what a project file for a source would hold."""

    def propose(self, source: Path, wishes: DataWishes) -> MediumProposal:
        """Settings and protected names; raises, naming the choices, where the caller must decide first."""


@runtime_checkable
class NeedsRecogniser(Loader, Protocol):
    """A loader of pictures that nobody annotated: what a recogniser names in them are their objects."""

    def with_recogniser(self, source: Path, name: str) -> NeedsRecogniser:
        """The loader that asks this recogniser, where the source has no annotations; else the loader itself."""


@runtime_checkable
class ReadsTones(Loader, Protocol):
    """A loader of pictures of people that can read skin tones from the pixels."""

    def with_tone(self) -> Loader:
        """The loader that does so."""


@runtime_checkable
class EditsAlbums(Editor, Protocol):
    """An editor that gives a whole album back, with everything else that is known about it, so that another editor can go on."""

    def edited(self, album: Album, codes: Labels) -> Album:
        """The album with its attribute at these values; a picture that has its value already stays as it is."""


@runtime_checkable
class Disturbance(Protocol):
    """A change of a picture that leaves the person as they are.  Its parameters are the fields of a frozen dataclass."""

    words: ClassVar[str]  # how the picture is seen now, as the end of a sentence

    def changed(self, pictures: Pictures) -> Pictures:
        """The same pictures, changed; bytes, the same every time."""


@runtime_checkable
class Operator(Protocol):
    """A change of a scene that stays believable.  Its parameters are the fields of a frozen dataclass."""

    adds: ClassVar[bool]  # whether it brings objects, so that the scene needs none of the class
    is_null: ClassVar[bool]  # whether it leaves the content as it was: a control for the others
    is_random: ClassVar[bool]  # whether a second change of the same scene and class differs from the first
    is_whole: ClassVar[bool]  # whether it changes the picture as a whole (light, weather) and touches no class
    is_usual: ClassVar[bool]  # whether it is tried where no operators are named

    def change(self, order: ChangeOrder, rng: np.random.Generator) -> Mutation | Skipped:
        """The changed scene, or why it could not be changed believably."""


@runtime_checkable
class Recogniser(Protocol):
    """Anything that names the objects in pictures, which may differ in size."""

    @property
    def name(self) -> str:
        """What reports call it."""

    def recognise(self, pictures: Sequence[NDArray[np.uint8]]) -> list[Answer]:
        """One answer for each picture."""

    def fingerprint(self) -> str:
        """Equal for equal behaviour: the key under which answers are kept."""


@runtime_checkable
class SeesScenes(Protocol):
    """A simulated recogniser that is told the truth of a scene, and errs on purpose."""

    @property
    def name(self) -> str:
        """What reports call it."""

    def recognise_scenes(self, scenes: Sequence[Scene]) -> list[Answer]:
        """One answer for each scene."""

    def fingerprint(self) -> str:
        """Equal for equal behaviour."""


@runtime_checkable
class NamedRecogniser(Recogniser, Protocol):
    """A recogniser that is found by its name and made from what a caller says about objects."""

    @classmethod
    def named(cls, told: ObjectSettings) -> Recogniser:
        """By what the caller said; what was not said is its own."""


@runtime_checkable
class CountsObjects(Medium, Protocol):
    """A medium whose pictures show objects of named classes."""

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes whose objects are counted, by their own names."""

    def class_of(self, label: str) -> str:
        """The class that a recogniser's label means; a label of no class stands for itself."""

    def as_shown(self, rows: Rows) -> Rows:
        """The rows, with those that show the same picture made equal."""


@runtime_checkable
class Model(Protocol):
    """Anything that scores rows."""

    @property
    def classes(self) -> tuple[Any, ...]:
        """The label values, in the order of the score columns."""

    @property
    def is_hard(self) -> bool:
        """Whether only labels are known; scores are then 0 and 1."""

    @property
    def batch_rows(self) -> int:
        """How many rows one call takes best."""

    def scores(self, rows: Rows) -> Scores:
        """One row of scores per input, (n, classes); the largest one is the label."""

    def fingerprint(self) -> str:
        """A short text that is equal for equal models."""


@runtime_checkable
class Differentiable(Model, Protocol):
    """A model that says how its output moves with its input."""

    def gradient(self, rows: Rows, cotangent: NDArray[Any], layer: str = SCORES) -> Rows:
        """Per row, the gradient by the codes of sum(cotangent * layer's values), (n, columns).

        With `layer` one of `layers()` and a cotangent (n, units) this is the gradient of any hidden loss.
        """


@runtime_checkable
class PixelDifferentiable(Model, Protocol):
    """A model that says how its output moves with the pixels of what a row shows."""

    def pixel_gradient(self, rows: Rows, cotangent: NDArray[Any], layer: str = SCORES) -> NDArray[np.float32]:
        """Per row, the gradient by its picture's pixels of sum(cotangent * layer's values), (n, height, width, 3)."""


@runtime_checkable
class Fused(Differentiable, Protocol):
    """A model that differentiates a loss in one pass, where a gradient after reading the values would take two."""

    def pullback(self, rows: Rows, slope: Slope, layer: str = SCORES) -> Rows:
        """Per row, the gradient by the codes of the loss whose derivative by the layer's values is `slope`, (n, columns).

        The slope sees all rows at once: a loss may couple them.
        """


@runtime_checkable
class Layered(Model, Protocol):
    """A model whose hidden layers can be read."""

    def layers(self) -> tuple[str, ...]:
        """The names of the layers that can be read, from input to output."""

    def activations(self, rows: Rows, layers: Sequence[str]) -> dict[str, NDArray[np.floating[Any]]]:
        """Values of the named layers, each flattened to (n, units); of pictures, a convolutional unit is the mean of its map."""


@runtime_checkable
class Transparent(Differentiable, Layered, Protocol):
    """A model whose hidden layers can be read and followed back to the codes."""


@runtime_checkable
class PixelTransparent(PixelDifferentiable, Layered, Protocol):
    """A model of pictures whose hidden layers can be read; a loss of their values can be followed back to the pixels."""


@runtime_checkable
class Trainable(Model, Protocol):
    """A model that can be fitted again."""

    def refit(self, rows: Rows, labels: Labels, rng: np.random.Generator) -> Model:
        """A new model of the same kind, trained on these rows; this one stays as it is."""


@runtime_checkable
class Detecting(Model, Protocol):
    """A recogniser: its scores are counts of objects by class, and it tells the objects themselves."""

    def detections(self, rows: Rows) -> list[Answer]:
        """One answer for every row."""


@runtime_checkable
class Adapter(Protocol):
    """A kind of model that `wrap` takes: a file of `models/adapters` with these two functions."""

    def accepts(self, given: Any) -> bool:
        """Whether this is a model of the adapter's kind, told without loading it; files and folders come as a Path."""

    def adapt(self, given: Any, wishes: ModelWishes) -> Model:
        """The model, asked about what the data's medium shows."""


@runtime_checkable
class Consistent(Trainable, Protocol):
    """A model whose training can also ask for equal answers to pairs of rows."""

    def refit_consistently(self, rows: Rows, labels: Labels, pairs: Pairs, rng: np.random.Generator) -> Model:
        """A new model of the same kind; added to its loss is the mean squared distance of the centred logits of each pair."""


@runtime_checkable
class PictureModel(Protocol):
    """Anything that scores what a medium shows: pictures, or texts."""

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes, in the order of the score columns."""

    def scores(self, pictures: Pictures) -> Scores:
        """One row of scores per picture, adding up to 1."""


@runtime_checkable
class DifferentiablePictureModel(PictureModel, Protocol):
    """A classifier whose loss can be followed back to the pixels."""

    def loss_gradient(self, pictures: Pictures, labels: Labels) -> NDArray[np.float32]:
        """Gradient of the cross-entropy against these labels by the pixels."""

    def gradient(self, pictures: Pictures, cotangent: NDArray[Any], layer: str = SCORES) -> NDArray[np.float32]:
        """Per picture, the gradient by its pixels of sum(cotangent * layer's values), the scores' or a readable layer's."""


@runtime_checkable
class TransparentPictureModel(DifferentiablePictureModel, Protocol):
    """A classifier whose layers can be read."""

    def layers(self) -> tuple[str, ...]:
        """Names of the readable layers, from input to output."""

    def activations(self, pictures: Pictures, layers: Sequence[str]) -> dict[str, Activations]:
        """Values after the activation function; a convolutional unit is the mean of its map."""

    def activation_gradient(self, pictures: Pictures, layer: str, weights: Activations) -> NDArray[np.float32]:
        """Per picture, the gradient by its pixels of the sum of `weights` times the layer's values."""


@runtime_checkable
class PrunablePictureModel(TransparentPictureModel, Protocol):
    """A classifier of pictures that can be had without some of its hidden units."""

    def without(self, layer: str, units: Sequence[int], keep: float = 0.0) -> PictureModel:
        """A copy with these units of the layer held at zero, or at the share `keep` of their value; a convolutional unit is its map."""


@runtime_checkable
class Net(Protocol):
    """A net that a loader or an operator asks without knowing what runs it."""

    @property
    def inputs(self) -> tuple[Port, ...]:
        """What it takes, in order."""

    def run(self, feed: Mapping[str, NDArray[Any]]) -> list[Any]:
        """Every output, for inputs by name."""


@runtime_checkable
class TrainablePictureModel(PictureModel, Protocol):
    """A classifier of pictures that can be fitted again."""

    def refit(self, pictures: Pictures, labels: Labels, rng: np.random.Generator) -> PictureModel:
        """A new classifier of the same kind, trained on these pictures; this one stays as it is."""


@runtime_checkable
class Population(Protocol):
    """A distribution of plausible inputs; every rate names the one that it speaks of."""

    @property
    def name(self) -> str:
        """What a reader sees beside a rate."""

    def sample(self, n: int, rng: np.random.Generator) -> Rows:
        """Rows inside the domain."""


@runtime_checkable
class Synthesiser(Population, Protocol):
    """A population that is learnt from real rows.  One that has a latent space can be searched in (`synthesis.latent`)."""

    @classmethod
    def fit(cls, rows: Rows, domain: TabularDomain, rng: np.random.Generator) -> Synthesiser:
        """Learn from rows inside the domain."""


@runtime_checkable
class Method(Protocol):
    """A published way to search for unfair inputs.  Its parameters are the fields of a frozen dataclass.

    A method that works on some kinds of media only names them in the class variable `media`, as in `media = ("album",)`.
    """

    needs: ClassVar[type]  # Model, Differentiable, Transparent, PixelDifferentiable or PixelTransparent: checked before the run

    def search(self, task: Task, rng: np.random.Generator) -> Search:
        """The conversation."""


@runtime_checkable
class Oracle(Protocol):
    """What decides that an input is treated unfairly.  Its parameters are the fields of a frozen dataclass.

    The same row always gets the same verdict, alone or in a batch: what an oracle draws, it draws from the row and its own seed.
    """

    def judge(self, rows: Rows, domain: TabularDomain, model: Model) -> Verdict:
        """One entry per input."""

    def rows_per_candidate(self, domain: TabularDomain) -> int:
        """How many rows the model is asked for one candidate."""


@runtime_checkable
class LearningOracle(Oracle, Protocol):
    """An oracle that must see real people, or the model's answers about them, before it judges."""

    def learned(self, rows: Rows | None, domain: TabularDomain, model: Model) -> Oracle:
        """The same oracle, ready to judge."""


@runtime_checkable
class PairOracle(Oracle, Protocol):
    """An oracle that judges two given people, which is how a witness is replayed."""

    def judge_pairs(self, first: Rows, second: Rows, domain: TabularDomain, model: Model) -> Verdict:
        """One entry per pair; `labels` is (n, 2), the first person's and the second's, and `pairs` shows every unfair one."""


@runtime_checkable
class Study(Protocol):
    """A measure of what the rows of some media show; `measure` makes every one that fits the data, under its file's name.

    One with the class attribute `on_request = True` is made only where it is asked for by name; one with `needs_twins = True` only where
    the medium shows twins.
    """

    media: ClassVar[tuple[str, ...]]  # the kinds of media that it looks at

    def study(self, case: StudyCase, rng: np.random.Generator) -> StudySection:
        """What was seen, judged once."""


@runtime_checkable
class Work(Protocol):
    """What every worker needs, and what it does with it.  It is sent to each worker once, so it must survive pickling."""

    def open(self) -> Callable[[Any], Any]:
        """Make ready, once in each worker; what is returned carries out one task after the other."""


@runtime_checkable
class Executor(Protocol):
    """Carries out independent tasks, here or elsewhere.  It never changes an answer: only when it comes."""

    def carry_out(self, work: Work, tasks: Sequence[Any]) -> Generator[TaskEnd, None, None]:
        """The end of every task, once each, in the order in which they end.  Closing it ends every worker that it started.

        A fault of a task is handed over as its end; a worker that dies is replaced, and its task tried again a few times.
        """


@runtime_checkable
class Result(Protocol):
    """What every verb returns; every page, file and notebook view is a rendering of its dictionary."""

    @property
    def header(self) -> Any:
        """What fixes it: an `engine.header.Header`."""

    @property
    def outcome(self) -> Outcome:
        """Pass, violation or inconclusive."""

    @property
    def reason(self) -> str:
        """Why."""

    def summary(self) -> str:
        """A few lines for a person."""

    def frame(self) -> pd.DataFrame:
        """What was found as a table."""

    def as_dict(self) -> dict[str, Any]:
        """The versioned JSON that every rendering reads."""

    def report(self, path: str | Path) -> Path:
        """Write it; the file's ending says how: .html, .md, .xml, .sarif, .json."""
