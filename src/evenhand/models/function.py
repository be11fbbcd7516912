"""Any Python callable as a model: of rows (it gets a frame or a matrix), of shown things (pictures, texts), or of objects in a picture."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Rows, Scores
from evenhand.contract import Answer, Detection
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import EvenhandError, InvalidArgument, ModelFailed, UnclearAnswers, WrongAnswer
from evenhand.media.scene import Picture
from evenhand.models.answer_shapes import Reader, Scale, declared_or_own, softmax
from evenhand.models.inputs import Takes, fingerprint_by_answers, first_line, guarded, inputs_of, probe_rows
from evenhand.models.readings import settle
from evenhand.models.recognisers.service_answers import AnswerReading, is_service_answer
from evenhand.models.trial_rows import TrialRows

_FRAME_NAMES = ("df", "frame", "table", "data", "dataframe", "data_frame")
_CODES_NAMES = ("x", "rows", "codes", "matrix", "array")


@dataclass(frozen=True, eq=False)
class FunctionModel:
    """A callable, what it takes and how its answers are read."""

    function: Callable[[Any], Any]
    domain: TabularDomain
    takes: Takes
    reader: Reader
    batch_rows: int = 16_384

    @property
    def classes(self) -> tuple[Any, ...]:
        """The label values, in the order of the score columns."""
        return self.reader.classes

    @property
    def is_hard(self) -> bool:
        """Whether the function only says labels."""
        return self.reader.is_hard

    def scores(self, rows: Rows) -> Scores:
        """The function's answers as scores."""
        inputs = inputs_of(rows, self.domain, self.takes)
        return self.reader.read(guarded(lambda: self.function(inputs), "the model function"), len(rows))

    @cached_property
    def _fingerprint(self) -> str:
        return fingerprint_by_answers("function", self.scores, self.domain)

    def fingerprint(self) -> str:
        """A digest of the answers to fixed rows."""
        return self._fingerprint


def from_callable(
    function: Callable[[Any], Any],
    domain: TabularDomain,
    classes: Sequence[Any] | None = None,
    takes: Takes | None = None,
    trial: TrialRows | None = None,
) -> FunctionModel:
    """A callable as a model.  Without `takes`, annotation and argument name decide, else whichever of frame and codes it answers."""
    reader, trial = declared_or_own(domain, classes), trial or TrialRows(probe_rows(domain))
    rows = trial.rows
    tried: list[tuple[Takes, EvenhandError]] = []
    for kind in _candidates(function, takes):
        try:
            inputs = inputs_of(rows, domain, kind)
            answer = guarded(lambda inputs=inputs: function(inputs), f"the model function, given {kind!r},")  # type: ignore[misc]
            return FunctionModel(function, domain, kind, settle(reader, answer, len(rows), trial.declared, trial.labels))
        except (InvalidArgument, UnclearAnswers):
            raise
        except EvenhandError as fault:
            tried.append((kind, fault))
    answered: list[EvenhandError] = [fault for _, fault in tried if isinstance(fault, WrongAnswer)]
    if len(tried) == 1 or len(answered) == 1:  # what it answered at all tells more than what it could not be given
        raise (answered or [tried[0][1]])[0]
    raise ModelFailed(
        "the model function answers neither a frame nor a matrix of codes: "
        + "; ".join(f"takes={kind!r}: {first_line(fault)}" for kind, fault in tried)
        + ".  Say takes='frame', 'codes' or 'matrix' to choose"
    )


def _candidates(function: Callable[[Any], Any], takes: Takes | None) -> tuple[Takes, ...]:
    if takes is not None:
        return (takes,)
    try:
        first = next(iter(inspect.signature(function).parameters.values()))
    except (ValueError, TypeError, StopIteration):
        return ("frame", "codes")
    hint = str(first.annotation) if first.annotation is not inspect.Parameter.empty else ""
    if "DataFrame" in hint or first.name.lower() in _FRAME_NAMES:
        return ("frame",) if hint else ("frame", "codes")
    if "ndarray" in hint or "NDArray" in hint:
        return ("codes",)
    return ("codes", "frame") if first.name.lower() in _CODES_NAMES else ("frame", "codes")


@dataclass(frozen=True)
class FunctionClassifier:
    """Any function from shown things (pictures (n, height, width, 3) between 0 and 255, or texts) to its answers, asked in batches.

    An answer is a row of scores for each, or one value for each: a class name, the place of a class, or, where there are two
    classes, the probability of the second.  `reader` says how answers are read; `wrap` settles it as it does for tables, `read_as` by a
    word.  Without, answers must be labels or probabilities: whether other numbers are logits is never guessed.
    """

    function: Callable[[Any], Any]
    classes: tuple[str, ...]
    batch: int = 256
    reader: Reader | None = None

    def __post_init__(self) -> None:
        if len(self.classes) < 2 or len(set(self.classes)) < len(self.classes):
            raise InvalidArgument(f"classes={self.classes!r} must name at least two different classes")

    def scores(self, shown: Any) -> Scores:
        """Whatever the function says, read and checked."""
        answer, n = self.answers(shown), len(shown)
        if self.reader is not None and n:
            return checked(self.reader.read(answer, n), n, len(self.classes))
        return _as_probabilities(checked(as_rows(answer, self.classes), n, len(self.classes)))

    def read_as(self, scale: Scale) -> Self:
        """The same classifier, whose numbers are of this scale: probability, percent, logit."""
        return replace(self, reader=Reader(self.classes, self.classes, 1, scale=scale))

    def answers(self, shown: Any) -> NDArray[Any]:
        """What the function itself says, asked in batches; truth values as numbers of classes."""
        parts = [self._ask(shown[start : start + self.batch]) for start in range(0, len(shown), self.batch)]
        answer = np.concatenate(parts) if parts else np.empty((0, len(self.classes)))
        return answer.astype(np.int64) if answer.dtype == bool else answer

    @property
    def is_hard(self) -> bool:
        """Whether it is known to say only labels."""
        return self.reader is not None and self.reader.is_hard

    def settled(self, reader: Reader, shown: Any, trial: TrialRows) -> FunctionClassifier:
        """The same classifier, whose answers are read as those to a few shown things call for."""
        found = settle(reader, self.answers(shown), len(shown), trial.declared, trial.labels)
        return replace(self, reader=found, classes=found.classes)

    def _ask(self, shown: Any) -> NDArray[Any]:
        try:
            answer = np.asarray(self.function(shown))
        except EvenhandError:
            raise
        except Exception as fault:  # the function is foreign code
            raise ModelFailed(f"the classifier raised {type(fault).__name__}: {fault}") from fault
        if answer.ndim == 0 or len(answer) != len(shown):
            raise WrongAnswer(f"the classifier answered {len(shown)} questions with shape {answer.shape}; expected one answer for each")
        return answer.reshape(len(shown), -1) if answer.ndim > 2 else answer


def as_rows(answer: NDArray[Any], classes: tuple[str, ...]) -> NDArray[np.float64]:
    """One row of scores for each, also where the answers are class names, places of classes or one probability."""
    single = answer[:, 0] if answer.ndim == 2 and answer.shape[1] == 1 else answer
    if single.ndim == 1 and len(single) and single.dtype.kind in "USObiu":
        return np.eye(len(classes))[_places(single, classes)]
    try:
        numbers = np.asarray(single, dtype=np.float64)
    except (TypeError, ValueError):
        raise WrongAnswer(f"the classifier answered with {single.dtype} values that are not numbers") from None
    if numbers.ndim == 2 or len(classes) != 2:
        return numbers
    return np.stack([1.0 - numbers, numbers], axis=1)


def _places(said: NDArray[Any], classes: tuple[str, ...]) -> NDArray[np.intp]:
    names = {name: place for place, name in enumerate(classes)}
    found = [
        names.get(str(each), int(each) if not isinstance(each, str) and 0 <= int(each) < len(classes) else -1) for each in said.tolist()
    ]
    if min(found) < 0:
        raise WrongAnswer(f"the classifier answered {said[found.index(-1)]!r}, which is none of the classes {', '.join(classes)}")
    return np.array(found, dtype=np.intp)


def _as_probabilities(scores: Scores) -> Scores:
    """Rows that add up to 1; others may be logits or scores, which nobody has said."""
    odd = np.flatnonzero(~(np.isclose(scores.sum(axis=1), 1.0, atol=1e-3) & (scores >= -1e-6).all(axis=1)))
    if not len(odd):
        return scores
    row = scores[odd[0]]
    as_logits = np.array2string(softmax(row[None])[0], precision=3)
    raise WrongAnswer(
        f"the classifier answered {np.array2string(row, precision=3)}, which are no probabilities: as logits they would mean {as_logits}, "
        f"as scores the largest would be the answer; say which: evenhand.wrap(..., returns='logit' or 'scores'), or read_as('logit')"
    )


def checked(answer: NDArray[np.floating[Any]], pictures: int, classes: int) -> Scores:
    """Refuse answers of the wrong shape and answers that are not numbers."""
    if answer.shape != (pictures, classes):
        raise WrongAnswer(f"the classifier answered with shape {answer.shape} where ({pictures}, {classes}) was expected")
    if not np.isfinite(answer).all():
        raise WrongAnswer("the classifier answered with values that are not finite")
    return answer


@dataclass(frozen=True)
class FunctionRecogniser:
    """A Python function from one picture to labels, (label, score) pairs, or detections; with `batch`, from a list of so many to a list."""

    function: Callable[[Any], Any]
    name: str = "function"
    version: str = ""
    names: Sequence[str] = ()  # the classes, where it answers with numbers
    least: float = 0.0  # the least score of an object that counts
    batch: int = 0  # most pictures that it takes at once, as a list; 0 for one picture that is no list

    def fingerprint(self) -> str:
        """Name and version: a function cannot be read."""
        return f"function:{self.name}:{self.version}" + (f":{self.least}" if self.least else "")

    def recognise(self, pictures: Sequence[Picture]) -> list[Answer]:
        """One call for each picture, or for each batch of them."""
        size = self.batch or 1
        raw = [each for start in range(0, len(pictures), size) for each in self._asked(pictures[start : start + size])]
        return [self._read(each, picture) for each, picture in zip(raw, pictures, strict=True)]

    def _asked(self, pictures: Sequence[Picture]) -> list[Any]:
        """What the function says of some pictures, one answer for each."""
        given = list(pictures) if self.batch else pictures[0]
        try:
            raw = self.function(given)
        except EvenhandError:
            raise
        except Exception as fault:  # foreign code: whatever it raises is the recogniser's failure
            what = f"a list of {len(pictures)} pictures" if self.batch else f"one picture, {pictures[0].dtype} of shape {pictures[0].shape}"
            hint = "" if self.batch else "; one that takes a list of pictures needs objects: {batch: 16}"
            raise ModelFailed(f"recogniser {self.name!r} raised {type(fault).__name__} on {what}: {fault}{hint}") from fault
        if not self.batch:
            return [raw]
        answers = list(raw) if isinstance(raw, Iterable) and not isinstance(raw, str | Mapping) else None
        if answers is None or len(answers) != len(pictures):
            said = type(raw).__name__ if answers is None else f"{len(answers)} answers"
            raise WrongAnswer(
                f"recogniser {self.name!r} was given {len(pictures)} pictures and answered {said}; expected one answer for each"
            )
        return answers

    def _read(self, raw: Any, picture: Picture) -> Answer:
        """The objects of one answer."""
        if isinstance(raw, Mapping) and is_service_answer(raw):  # a recorded answer, or a client of the user's own
            raw = AnswerReading(picture.shape[1], picture.shape[0]).read(raw)
        elif isinstance(raw, Mapping):
            raw = listed_answer(raw, self.names, self.name)
        if isinstance(raw, str) or not isinstance(raw, Iterable):
            raise WrongAnswer(f"recogniser {self.name!r} answered {raw!r}; expected a list of objects, an empty one when nothing is seen")
        found = (as_detection(one, self.name) for one in raw)
        return tuple(one for one in found if one.score >= self.least)


LABELS, SCORES_OF, BOXES = ("labels", "classes", "class_names", "names"), ("scores", "confidences"), ("boxes", "bboxes", "xyxy")


def listed_answer(raw: Mapping[str, Any], names: Sequence[str], name: str) -> list[tuple[Any, ...]]:
    """A dictionary of columns (labels, scores, boxes), or of one list (objects, detections, predictions), as a list of objects."""
    inner = next(
        (raw[key] for key in ("objects", "detections", "predictions", "instances") if isinstance(raw.get(key), list | tuple)), None
    )
    if inner is not None:
        return list(inner)
    labels, scores, boxes = (next((raw[key] for key in keys if key in raw), None) for keys in (LABELS, SCORES_OF, BOXES))
    if labels is None:
        raise WrongAnswer(f"recogniser {name!r} answered a dictionary of {sorted(map(str, raw))}; expected labels, scores and boxes")
    told = [_named(label, names, name) for label in np.asarray(labels).tolist()]
    rest = [[None] * len(told) if part is None else np.asarray(part).tolist() for part in (scores, boxes)]
    if any(len(part) != len(told) for part in rest):
        raise WrongAnswer(f"recogniser {name!r} answered {len(told)} labels with {len(rest[0])} scores and {len(rest[1])} boxes")
    return [(label, 1.0 if score is None else score, box) for label, score, box in zip(told, *rest, strict=True)]


def _named(label: Any, names: Sequence[str], name: str) -> str:
    """A label by its number or as it is."""
    if isinstance(label, str):
        return label
    if not 0 <= int(label) < len(names):
        raise WrongAnswer(f"recogniser {name!r} answered class {label}, but {len(names)} class names are given; say `names`")
    return names[int(label)]


def as_detection(raw: Any, name: str) -> Detection:
    """A detection from whatever a function returned for one object."""
    if isinstance(raw, Detection):
        return raw
    if isinstance(raw, str):
        return Detection(raw)
    if isinstance(raw, Mapping):
        keys = (("label", "name", "class"), ("score", "confidence"), ("box", "bbox", "xyxy"))
        raw = tuple(next((raw[key] for key in each if key in raw), default) for each, default in zip(keys, (None, 1.0, None), strict=True))
    try:
        if isinstance(raw, tuple | list) and raw and isinstance(raw[0], str):
            score = float(raw[1]) if len(raw) > 1 else 1.0
            box = tuple(float(value) for value in raw[2]) if len(raw) > 2 and raw[2] is not None else None
            if box is None or len(box) == 4:
                return Detection(raw[0], score, box)
    except (TypeError, ValueError):
        pass  # said below, with what came
    raise WrongAnswer(
        f"recogniser {name!r} answered {raw!r}; expected a label, (label, score), (label, score, box), a dictionary of these or a Detection"
    )
