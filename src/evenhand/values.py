"""The values that the protocols of `contract.py` speak of: candidates, verdicts, pairs, tasks, claims of a study, headway.

Nothing here computes more than the position of the largest score; what implements a protocol imports both from `contract`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index, Labels, Mask, Reals, Rows, Scores
from evenhand.claims import Claim
from evenhand.deadline import NEVER, Deadline
from evenhand.errors import EvenhandError

if TYPE_CHECKING:
    from pathlib import Path

    from evenhand.contract import (
        DifferentiablePictureModel,
        Editor,
        Medium,
        Method,
        Model,
        Oracle,
        PictureModel,
        Population,
    )
    from evenhand.domain.row_verdicts import RowVerdicts
    from evenhand.domain.tabular import TabularDomain
    from evenhand.media.album import Album
    from evenhand.models.meter import Meter
    from evenhand.synthesis.picture_latent.space import PictureLatent

Pictures: TypeAlias = NDArray[Any]  # (n, height, width, 3), uint8 or float32, 0 to 255
Activations: TypeAlias = NDArray[np.float32]  # (n, units)
Box: TypeAlias = tuple[float, float, float, float]  # left, top, right, bottom in pixels

SCORES = "scores"
"""The layer name that stands for the model's output."""
FLAT = ":flat"
"""Ends the name of a layer whose maps are to be read value by value, not as the mean of each map."""

Outcome: TypeAlias = Literal["pass", "violation", "inconclusive"]
"""What a gate says of a result; a claim that could not be shown either way is inconclusive."""


@dataclass(frozen=True)
class EditorTools:
    """What an editor may be made with: randomness, and ways to get what must be learned first.

    reader: trains a classifier of an attribute.  latent: fits the latent space of a name to pictures.
    folder: where training is kept and found.  settings: what the user sets of an editor that takes settings.
    """

    rng: np.random.Generator
    reader: Callable[[Album, str, np.random.Generator], DifferentiablePictureModel] | None = None
    latent: Callable[[str, Album, np.random.Generator], PictureLatent] | None = None
    folder: Path | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class DataWishes:
    """What the caller says about data that is to be opened.

    protected: names, or editors of pictures.  tools: what an editor that is named may be made with.
    """

    tools: EditorTools
    label: str | None = None
    favourable: tuple[Any, ...] = ()
    protected: tuple[str | Editor, ...] = ()
    folder: Path | None = None  # where relative paths among the settings begin; here without

    @property
    def protected_names(self) -> tuple[str, ...]:
        """What is protected, by name."""
        return tuple(each if isinstance(each, str) else each.attribute for each in self.protected)


@dataclass(frozen=True)
class MediumProposal:
    """What a project file could say of a source: the settings of its medium, what is protected, and lines for a person to read."""

    settings: Mapping[str, Any]
    protected: tuple[str, ...]
    lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class Detection:
    """One recognised object."""

    label: str
    score: float = 1.0
    box: Box | None = None


Answer: TypeAlias = tuple[Detection, ...]
"""Everything that a recogniser saw in one picture."""


Slope: TypeAlias = Callable[[NDArray[Any]], NDArray[Any]]
"""A loss, told by its derivative: a layer's values (n, units) to the cotangent (n, units)."""


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Rows with what is right for each."""

    rows: Rows
    labels: Labels

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, eq=False)
class Pairs:
    """Rows that should be answered alike, side by side, and how much that counts beside the labels."""

    first: Rows
    second: Rows
    weight: float = 1.0


def labels_of(scores: Scores) -> Labels:
    """The position of the largest score; the first of equals."""
    if scores.shape[1] == 2:
        return (scores[:, 1] > scores[:, 0]).astype(np.intp)
    return np.asarray(scores.argmax(axis=1), dtype=np.intp)


def one_hot(labels: Labels, classes: int) -> Scores:
    """Scores of a model that only says labels."""
    return np.eye(classes, dtype=np.float32)[labels]


@dataclass(frozen=True)
class Port:
    """One input or output of a net: its name, its shape (a free side is a text or None) and its type, such as `tensor(float)`."""

    name: str
    shape: tuple[Any, ...]
    type: str

    def side(self, place: int, free: int) -> int:
        """The length of one side, or `free` where the net takes any."""
        return self.shape[place] if isinstance(self.shape[place], int) else free


@dataclass(frozen=True)
class Candidates:
    """Rows that a method wants judged, and the phase of the method that made them.

    places: where `task.heard` keeps these rows, for a method that has entered them there; the engine then does not key them again.
    likelihood: (n, combinations) how plausible each row is under each protected combination; of several twins with another outcome the most
    plausible one is shown.  Minus infinity: nobody would believe in such a person.  Where only they differ, the finding is set aside.
    proven: (n, combinations) labels that a proof says, two different ones in every row, -1 where it says nothing.  Where labels decide,
    such rows are findings without a question; one of a batch is asked about all the same, and a run whose model answers otherwise ends.
    No gap of scores is known of them: it is told as 0.
    """

    rows: Rows
    phase: str = "search"
    places: Index | None = None
    likelihood: NDArray[np.floating] | None = None
    proven: NDArray[np.int16] | None = None

    def __getitem__(self, chosen: Any) -> Candidates:
        told = (None if each is None else each[chosen] for each in (self.places, self.likelihood, self.proven))
        return Candidates(self.rows[chosen], self.phase, *told)


@dataclass(frozen=True)
class Headway:
    """How far something long has come: what is at work, how much of it is done, and a few words for who watches."""

    what: str
    done: int = 0
    total: int | None = None  # None where nobody knows
    note: str = ""


Watch: TypeAlias = Callable[[Headway], None]
"""Called while something long goes on.  It shows, and measures nothing; what it raises ends the work."""

_WATCHER: ContextVar[Watch | None] = ContextVar("watcher", default=None)


@contextmanager
def watched(watch: Watch | None) -> Iterator[None]:
    """Work below this is told to one who watches, however deep it lies: reading, learning, drawing.

    >>> with watched(lambda headway: print(headway.what, headway.done, headway.total)):
    ...     tell_watcher("reading", 1, 2)
    reading 1 2
    """
    token = _WATCHER.set(watch)
    try:
        yield
    finally:
        _WATCHER.reset(token)


def tell_watcher(what: str, done: int, total: int | None = None, note: str = "") -> None:
    """Tell whoever watches how far something has come; nobody may be there."""
    watch = _WATCHER.get()
    if watch is not None:
        watch(Headway(what, done, total, note))


@dataclass(frozen=True)
class TaskEnd:
    """How one task of an executor ended: with an answer, or with a fault that says why there is none."""

    place: int  # among the tasks
    answer: Any = None
    fault: EvenhandError | None = None


@dataclass(frozen=True)
class ShownPairs:
    """The two people who show each unfair treatment best, exactly as the model was asked, and what it answered about them."""

    rows: Rows  # (n, columns)
    partners: Rows  # (n, columns)
    labels: NDArray[np.int16]  # (n, 2): positions in the model's classes
    answers: Reals  # (n, 2): the scores or amounts that were compared; NaN where labels were

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, chosen: Any) -> ShownPairs:
        return ShownPairs(self.rows[chosen], self.partners[chosen], self.labels[chosen], self.answers[chosen])


@dataclass(frozen=True)
class Verdict:
    """What the oracle saw, one entry per candidate; a duplicate gets the verdict of its first appearance.

    Oracles that compare labels of the domain's twins leave `pairs` out: labels say which twins to show.
    """

    unfair: Mask  # (n,)
    gap: Reals  # (n,): the largest difference of scores between two of the compared people
    labels: NDArray[np.int16]  # (n, combinations): label under each protected combination, -1 where nobody was asked or is possible
    pairs: ShownPairs | None = None  # one entry per unfair candidate, in their order

    def __len__(self) -> int:
        return len(self.unfair)

    def only(self, mask: Mask) -> Verdict:
        """The same verdict with only these candidates left unfair."""
        pairs = self.pairs[mask[self.unfair]] if self.pairs is not None else None
        return Verdict(self.unfair & mask, self.gap, self.labels, pairs)


def join_verdicts(parts: Sequence[Verdict], combinations: int) -> Verdict:
    """Verdicts of consecutive slices as one."""
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return Verdict(np.empty(0, dtype=bool), np.empty(0), np.empty((0, combinations), dtype=np.int16))
    unfair, gap, labels = (np.concatenate([getattr(part, name) for part in parts]) for name in ("unfair", "gap", "labels"))
    shown = [part.pairs for part in parts if part.pairs is not None]
    pairs = ShownPairs(*(np.concatenate([getattr(each, f.name) for each in shown]) for f in fields(ShownPairs))) if shown else None
    return Verdict(unfair, gap, labels, pairs)


@dataclass
class Learnt:
    """What several runs of one method on the same data learn once: from the data and a seed of its own, never from one run's."""

    seed: int
    kept: dict[str, Any] = field(default_factory=dict)

    def once(self, name: str, learn: Callable[[np.random.Generator], Any]) -> Any:
        """What was learnt under this name; learnt now where it was not."""
        if name not in self.kept:
            self.kept[name] = learn(np.random.default_rng([self.seed, 8]))
        return self.kept[name]


@dataclass
class Task:
    """What a method may look at: the domain, the metered model, and real rows with their labels when there are any."""

    domain: TabularDomain
    model: Meter
    rows: Rows | None = None
    labels: Labels | None = None
    population: Population | None = None
    facts: dict[str, Any] = field(default_factory=dict)  # what the method wants to tell the reader of the run
    fitting: Callable[[int], int] = lambda n: n  # of n candidates, how many the budget still judges
    left: Callable[[], float] = lambda: 1.0  # the share of the budget that is not spent yet
    medium: Medium | None = None  # what a row shows; None is the table itself
    deadline: Deadline = NEVER  # for what a method hands on to be learnt or fitted; methods themselves ask `fitting`
    heard: RowVerdicts | None = None  # every row that was judged in this run, with its verdict; None outside of a run
    question_seconds: float = float("inf")  # what one candidate costs to judge; infinite where the budget counts questions
    sample: Rows | None = None  # what a method can say of the population restricted to findings: one row for each place of it
    learnt: Learnt | None = None  # where this run is one of several on the same data

    def once(self, name: str, rng: np.random.Generator, learn: Callable[[np.random.Generator], Any]) -> Any:
        """What depends on the data alone: learnt with this run's generator, or once for several runs with theirs."""
        return learn(rng) if self.learnt is None else self.learnt.once(name, learn)

    def predict(self, rows: Rows) -> Labels:
        """Labels of rows, counted by the meter."""
        return labels_of(self.model.scores(rows))


Search: TypeAlias = Generator[Candidates, Verdict, None]
"""`verdict = yield candidates`; returning ends the run before its budget does."""


def outcome_names(oracle: Oracle, model: Model) -> tuple[Any, ...]:
    """What the labels of verdicts stand for: the model's classes, unless the oracle has words of its own (`outcomes(model)`)."""
    own = getattr(oracle, "outcomes", None)
    return tuple(own(model)) if callable(own) else tuple(model.classes)


def shows_pairs(oracle: Oracle) -> bool:
    """Whether its verdicts come with `pairs`; one that says so in a class attribute `shows_pairs`."""
    return bool(getattr(oracle, "shows_pairs", False))


ANOTHER_OUTCOME = "would get a different outcome with a different protected value"
"""What is said of the people whom an oracle judges unfair, unless it has words of its own."""

POPULATIONS = {"data": "the real rows", "domain": "everything that the domain allows", "chained trees": "plausible people"}


def population_words(name: str) -> str:
    """A population as a sentence names it."""
    return POPULATIONS.get(name, f"the population “{name}”")


def words_of(oracle: Oracle) -> str:
    """What is true of the people whom this oracle judges unfair, as the end of a sentence."""
    return str(getattr(oracle, "words", ANOTHER_OUTCOME))


@dataclass(frozen=True)
class Checked:
    """One thing that a result was asked to show, and how that ended; "failed" where it could not be looked at."""

    name: str
    outcome: Literal["pass", "violation", "inconclusive", "failed"]
    message: str


@dataclass(frozen=True)
class StudySection:
    """What a study adds to a result: figures for its body, sentences for a reader, claims for the gate."""

    figures: Mapping[str, Any]
    sentences: tuple[str, ...] = ()
    claims: tuple[Claim, ...] = ()
    readers: tuple[JuryReaders, ...] = ()  # who read pictures in it, for whoever shows some of them; no part of a result


@dataclass(frozen=True, eq=False)
class JuryReaders:
    """Independent readers by what they read, and the places of the rows that they have not learnt from."""

    by_name: Mapping[str, PictureModel]
    unseen: Index


@dataclass(frozen=True, eq=False)
class StudyCase:
    """What a study may look at: a model behind a medium, real rows, and what else is known of them."""

    domain: TabularDomain
    model: Meter
    medium: Medium
    rows: Rows
    labels: Labels | None = None  # places among the model's classes, -1 unknown
    frame: Any = None  # a table beside the rows, with columns that the domain leaves out
    tolerance: float = 0.05  # a net change up to this is tolerated
    confidence: float = 0.95
    ordered: bool = False  # whether the classes have an order, as age groups have


def parameters(method: Method) -> Mapping[str, Any]:
    """A method's parameters by name."""
    return {each.name: getattr(method, each.name) for each in fields(method)} if is_dataclass(method) else {}


def media_of(method: object) -> tuple[str, ...]:
    """The kinds of media that a method, or its class, works on; none for every kind."""
    return tuple(getattr(method, "media", ()))


def has_twins(medium: Medium | None) -> bool:
    """Whether a medium shows another value in another way; all do but an album that was opened without an editor."""
    return bool(getattr(medium, "has_twins", True))


def name_of(method: Method) -> str:
    """What a method is called: its file's name, or its class's where it comes from another package."""
    home, _, stem = type(method).__module__.rpartition(".")
    return stem if home == "evenhand.methods" else type(method).__name__.lower()


def ability_name(needs: type) -> str:
    """An ability as an adjective: `PixelDifferentiable` is pixel-differentiable."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", needs.__name__).lower()
