"""The one HTTP adapter: endpoints that score rows, pictures or texts, and services that name the objects in a picture.

How an endpoint is asked is `http_transport`'s business; what a request or an answer of rows looks like is `http_shape`'s.
"""

from __future__ import annotations

import base64
import copy
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from evenhand.arrays import Rows, Scores
from evenhand.contract import Answer, Detection
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import DataError, InvalidArgument, WrongAnswer
from evenhand.limits import Count, NotNegative, Positive, WholeNumber, check_limits
from evenhand.media.png import png_bytes
from evenhand.media.scene import Picture
from evenhand.models.amount_models import AmountModel
from evenhand.models.answer_shapes import Reader, declared_or_own
from evenhand.models.function import FunctionClassifier
from evenhand.models.http_presets import CSV_KIND, csv_body, fitting_values, named_scores, preset_of, tensor_values
from evenhand.models.http_shape import CSV, body_of, excerpt, is_of_a_table, parse_path, records_of, takes_single_row
from evenhand.models.http_shape import AnswerPath as AnswerPath
from evenhand.models.http_transport import Connection, RequestBody, Transport, shown_url
from evenhand.models.inputs import probe_rows
from evenhand.models.paid_answers import AnswerBook, AskedAgain, in_edition, kept_answers
from evenhand.models.readings import settle
from evenhand.models.recognisers.jpeg import jpeg
from evenhand.models.trial_rows import TrialRows

SETTLING_ROWS = 16
"""Rows that settle how answers are read where no data is at hand."""


@dataclass(frozen=True)
class HttpModel:
    """Where an endpoint is and how it is spoken to.

    preset: the documented format of a server, by name: dataframe_split, dataframe_records (MLflow), kserve_v2, sagemaker_csv,
    sagemaker_json, vertex; it decides what the three below leave open, and `vertex` is the usual one.
    request: JSON in which "$rows" stands for a list of rows, or "$row" for one row at a time; a picture is PNG in base64, a text itself.
    "$columns" are the names, "$tensors" a tensor for each column, {"$each": ...} a list with "$row" written out for every row, and "$csv"
    as a whole makes the body lines of CSV.
    answer: the path to one value per row, such as "predictions[*].probability" or "outputs[probabilities]"; "" is the whole answer.
    rows_as: "records" sends {column: cell}, "lists" sends cells in the domain's order, "codes" sends codes.
    url and headers may hold ${NAME} for an environment variable; its value is never shown or stored.
    """

    url: str
    request: Any = None
    answer: str | None = None
    rows_as: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    returns: str | None = None
    batch_rows: Count = 256
    concurrency: Count = 4
    timeout_seconds: Positive = 30.0
    retries: WholeNumber = 4
    backoff_seconds: NotNegative = 0.5
    requests_per_second: Positive | None = None
    cache: str | Path | None = None
    preset: str | None = None

    def __post_init__(self) -> None:
        check_limits(self)
        _ = self.connection
        chosen = preset_of(self.preset)
        for name in ("request", "answer", "rows_as"):
            if getattr(self, name) is None:
                object.__setattr__(self, name, getattr(chosen, name))
        if self.rows_as not in ("records", "lists", "codes"):
            raise InvalidArgument(f"rows_as={self.rows_as!r} must be 'records', 'lists' or 'codes'")
        takes_single_row(self.request)
        _ = self.path

    @property
    def connection(self) -> Connection:
        """Where it is and how patiently it is asked."""
        return Connection(self.url, self.headers, self.timeout_seconds, self.retries, self.backoff_seconds, self.requests_per_second)

    @property
    def path(self) -> AnswerPath:
        """The way to the values in an answer."""
        assert self.answer is not None
        return parse_path(self.answer)

    @property
    def identity(self) -> list[Any]:
        """What tells it from other endpoints, as written; no header is part of it."""
        return [self.url, self.request, self.answer, self.rows_as]

    def digest(self) -> str:
        """Twenty-four digits of the identity."""
        return hashlib.sha256(json.dumps(self.identity, sort_keys=True).encode()).hexdigest()[:24]


class Questions:
    """Records sent to an endpoint in batches and threads; one value for each comes back, and is kept in a book where that is wanted."""

    def __init__(self, settings: HttpModel, columns: Sequence[str] = ()) -> None:
        self.settings, self.transport, self.columns = settings, Transport(settings.connection), tuple(columns)
        self._path = settings.path
        self._single = takes_single_row(settings.request)
        self._book: AnswerBook | AskedAgain | None = kept_answers(Path(settings.cache)) if settings.cache else None
        self._occasion = ""
        self.edition = 1

    def keeping(self, book: AnswerBook, occasion: str = "") -> Questions:
        """The same endpoint with the same rate limit, whose answers go into the book, or into its own where it has a file for them."""
        other = copy.copy(self)
        other._book, other._occasion = book if self._book is None else self._book, occasion or self._occasion
        other.edition = book.edition
        return other

    def again(self) -> Questions:
        """The same endpoint with the same rate limit, asked about every record once more."""
        other = copy.copy(self)
        other._book = AskedAgain(self._book, self._occasion) if isinstance(self._book, AnswerBook) else None
        return other

    @property
    def keeps_answers(self) -> bool:
        """Whether answers outlive this process."""
        return isinstance(self._book, AnswerBook) and self._book.path is not None

    @property
    def at_once(self) -> int:
        """How many records one request holds."""
        return 1 if self._single else self.settings.batch_rows

    def values(self, records: list[Any]) -> list[Any]:
        """One value for each record; known ones are not asked again, and each answer is kept as it comes: it may have been paid for."""
        if self._book is None:
            return self._ask_all([_Question("", record) for record in records])
        keys = self._book.named([self._key(record) for record in records])
        question_of = {key: _Question(key, record) for key, record in zip(keys, records, strict=True)}
        found: dict[str, Any] = {}
        while missing := [key for key in question_of if key not in found]:
            found |= self._book.read(missing)
            with self._book.claimed([key for key in missing if key not in found]) as mine:
                # Between reading and claiming, another thread may have been told: its answers are read again, not asked for.
                told = self._book.read(mine) if mine else {}
                wanted = [key for key in mine if key not in told]
                found |= told | dict(zip(wanted, self._ask_all([question_of[key] for key in wanted]), strict=True))
        return [found[key] for key in keys]

    def _key(self, record: Any) -> str:
        asked = [self.settings.identity, record, *([self.edition] if self.edition > 1 else [])]
        return hashlib.sha256(json.dumps(asked, sort_keys=True, default=str).encode()).hexdigest()

    def fingerprint(self) -> str:
        """A digest of URL and template as written, and the edition; no header enters it."""
        return in_edition(f"http-{self.settings.digest()}", self.edition)

    def _ask_all(self, questions: Sequence[_Question]) -> list[Any]:
        batches = [questions[at : at + self.at_once] for at in range(0, len(questions), self.at_once)]
        if len(batches) <= 1 or self.settings.concurrency == 1:
            return [value for batch in batches for value in self._ask(batch)]
        pool = ThreadPoolExecutor(min(self.settings.concurrency, len(batches)))
        try:
            return [value for part in pool.map(self._ask, batches) for value in part]
        finally:
            pool.shutdown(cancel_futures=True)

    def _ask(self, questions: Sequence[_Question]) -> list[Any]:
        answer = self.transport.ask(self._body([each.record for each in questions]))
        said = self.transport.hide(excerpt(json.dumps(answer)))
        values = fitting_values(tensor_values(self._path.find(answer, said)), len(questions))
        if self._single and not (isinstance(values, list) and len(values) == 1):
            values = [values]
        if not isinstance(values, list) or len(values) != len(questions):
            count = f"{len(values)} values" if isinstance(values, list) else f"one {type(values).__name__}"
            raise WrongAnswer(
                f"{self.transport.name} answered {len(questions)} rows with {count} at {self.settings.answer!r}; expected one per row.  "
                f"The answer begins: {said}"
            )
        if self._book is not None:
            self._book.write({each.key: value for each, value in zip(questions, values, strict=True)})
        return values

    def _body(self, records: list[Any]) -> RequestBody:
        if self.settings.request == CSV:
            return RequestBody(content=csv_body(records), kind=CSV_KIND)
        return RequestBody(body_of(self.settings.request, records, self.columns))


@dataclass(frozen=True)
class _Question:
    """A record, and the name under which its answer is kept."""

    key: str
    record: Any


@dataclass(eq=False)
class Endpoint:
    """The model of rows behind an `HttpModel`.  The reader is settled by the first answer."""

    settings: HttpModel
    domain: TabularDomain
    columns: Sequence[Any] | None = None
    trial: TrialRows | None = None
    is_costly: ClassVar[bool] = True  # the meter never asks a row twice
    is_remote: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self._questions = Questions(self.settings, self.domain.names)
        self._unsettled = declared_or_own(self.domain, self.columns)

    @property
    def classes(self) -> tuple[Any, ...]:
        """The label values, in the order of the score columns."""
        return self._unsettled.classes

    @property
    def is_hard(self) -> bool:
        """Whether the endpoint only says labels."""
        return self._reader.is_hard

    @cached_property
    def _reader(self) -> Reader:
        """How answers are read, settled once by the answers to a few fixed rows."""
        trial = self.trial or TrialRows(probe_rows(self.domain, SETTLING_ROWS))
        declared = trial.declared if self.settings.returns is None else replace(trial.declared, returns=self.settings.returns)
        return settle(self._unsettled, self._values(trial.rows), len(trial.rows), declared, trial.labels)

    @property
    def reader(self) -> Reader:
        """How answers are read."""
        return self._reader

    def without_memory(self) -> Endpoint:
        """The same endpoint, asked about every row again."""
        _ = self._reader  # settled by what is kept
        return self._asking(self._questions.again())

    def keeping(self, book: AnswerBook, occasion: str = "") -> Endpoint:
        """The same endpoint, which never asks about a row twice, whichever thread wants it, as long as the book lasts."""
        return self._asking(self._questions.keeping(book, occasion))

    @property
    def keeps_answers(self) -> bool:
        """Whether answers outlive this process."""
        return self._questions.keeps_answers

    def _asking(self, questions: Questions) -> Endpoint:
        asked = copy.copy(self)
        asked._questions = questions
        return asked

    def _values(self, rows: Rows) -> list[Any]:
        assert self.settings.rows_as is not None
        values = self._questions.values(records_of(rows, self.domain, self.settings.rows_as))
        return named_scores(values, self._unsettled.columns)

    @property
    def batch_rows(self) -> int:
        """Enough rows for every thread to send full requests."""
        return self._questions.at_once * self.settings.concurrency * 4

    def scores(self, rows: Rows) -> Scores:
        """The endpoint's answers as scores."""
        if not len(rows):
            return np.zeros((0, len(self.classes)))
        reader = self._reader
        return reader.read(self._values(rows), len(rows))

    def fingerprint(self) -> str:
        """A digest of URL and template as written; no header enters it."""
        return self._questions.fingerprint()


@dataclass(frozen=True, eq=False)
class AmountEndpoint(AmountModel):
    """The regression behind an `HttpModel`: one number for each row."""

    questions: Questions | None = None
    is_costly: ClassVar[bool] = True  # the meter never asks a row twice
    is_remote: ClassVar[bool] = True

    @property
    def _asked(self) -> Questions:
        assert self.questions is not None
        return self.questions

    def without_memory(self) -> AmountEndpoint:
        """The same endpoint, asked about every row again."""
        return _amounts_of(self._asked.again(), self.domain, self.output)

    def keeping(self, book: AnswerBook, occasion: str = "") -> AmountEndpoint:
        """The same endpoint, which never asks about a row twice as long as the book lasts."""
        return _amounts_of(self._asked.keeping(book, occasion), self.domain, self.output)

    @property
    def keeps_answers(self) -> bool:
        """Whether answers outlive this process."""
        return self._asked.keeps_answers

    def fingerprint(self) -> str:
        """A digest of URL and template as written; no header enters it."""
        return self._asked.fingerprint()


def amount_endpoint(settings: HttpModel, domain: TabularDomain, output: int | None = None) -> AmountEndpoint:
    """An endpoint whose answers are amounts."""
    return _amounts_of(Questions(settings, domain.names), domain, output)


def _amounts_of(questions: Questions, domain: TabularDomain, output: int | None) -> AmountEndpoint:
    settings, rows_as = questions.settings, questions.settings.rows_as
    assert rows_as is not None

    def ask(rows: Rows) -> Any:
        return np.asarray(named_scores(questions.values(records_of(rows, domain, rows_as)), ()), dtype=np.float64)

    batch = questions.at_once * settings.concurrency * 4
    return AmountEndpoint(ask, domain, "codes", output=output, batch_rows=batch, questions=questions)


class EndpointReader:
    """The classifier of pictures or texts behind an `HttpModel`."""

    is_remote: ClassVar[bool] = True

    def __init__(
        self, settings: HttpModel, classes: Sequence[Any], settled: Callable[[FunctionClassifier], FunctionClassifier] = lambda one: one
    ) -> None:
        if is_of_a_table(settings.request):
            raise InvalidArgument(
                f"preset={settings.preset!r} writes rows of a table; pictures and texts are sent by 'vertex' or a request"
            )
        self.settings, self.classes = settings, tuple(classes)
        self._questions, self._settle = Questions(settings), settled

    @cached_property
    def _classifier(self) -> FunctionClassifier:
        """How answers are read is settled when the endpoint is first asked."""
        batch = self._questions.at_once * self.settings.concurrency * 4
        return self._settle(FunctionClassifier(self._answers, self.classes, batch))

    def _answers(self, shown: Any) -> list[Any]:
        return self._questions.values([_record(one) for one in shown])

    def without_memory(self) -> EndpointReader:
        """The same endpoint, asked about everything again."""
        _ = self._classifier  # settled by what is kept
        return self._asking(self._questions.again())

    def keeping(self, book: AnswerBook, occasion: str = "") -> EndpointReader:
        """The same endpoint, which is never asked about anything twice as long as the book lasts."""
        return self._asking(self._questions.keeping(book, occasion))

    @property
    def keeps_answers(self) -> bool:
        """Whether answers outlive this process."""
        return self._questions.keeps_answers

    def _asking(self, questions: Questions) -> EndpointReader:
        asked = copy.copy(self)
        asked._questions = questions
        if "_classifier" in self.__dict__:
            asked.__dict__["_classifier"] = replace(self._classifier, function=asked._answers)
        return asked

    @property
    def reader(self) -> Reader | None:
        """How answers are read."""
        return self._classifier.reader

    def scores(self, shown: Any) -> Scores:
        """The endpoint's answers as scores."""
        scores = self._classifier.scores(shown)
        order = [self._classifier.classes.index(name) for name in self.classes if name in self._classifier.classes]
        return scores[:, order]

    def fingerprint(self) -> str:
        """A digest of URL and template as written; no header enters it."""
        return self._questions.fingerprint()


def _record(shown: Any) -> str:
    """A picture as PNG in base64, a text as it is."""
    return base64.b64encode(png_bytes(shown)).decode() if isinstance(shown, np.ndarray) else str(shown)


@dataclass(frozen=True)
class HttpTemplate:
    """Any recognition service: what is sent, and where in the answer the objects are.

    `body` is "jpeg" (the bytes), "multipart" (a file field called `field_name`), or a JSON value in which the text "{image}" stands
    for the picture in base64.  Places in the answer are dotted: "result.objects", "tag.name".  `box_form` is "corners" or "size".
    """

    url: str
    body: Any = "jpeg"
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    field_name: str = "file"
    objects: str = "objects"
    label: str = "label"
    score: str | None = "score"
    box: tuple[str, str, str, str] | None = None
    box_form: str = "corners"
    is_relative: bool = False
    price_per_thousand: float = 0.0
    timeout_seconds: Positive = 30.0
    retries: WholeNumber = 3
    backoff_seconds: NotNegative = 0.5
    name: str = "HTTP endpoint"
    is_remote: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_limits(self)
        if self.box_form not in ("corners", "size"):
            raise InvalidArgument(f"box_form={self.box_form!r} must be 'corners' or 'size'")

    @classmethod
    def from_yaml(cls, path: Path) -> HttpTemplate:
        """A template from a file whose keys are the fields' names, such as `url`, `body`, `objects`, `label`."""
        import yaml

        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        known = {one.name for one in fields(cls)}
        if not isinstance(content, dict) or "url" not in content or set(content) - known:
            shown = sorted(content) if isinstance(content, dict) else content
            raise DataError(f"{path}: expected the key url and perhaps {', '.join(sorted(known - {'url'}))}; got {shown!r}")
        return cls(**{**content, **({"box": tuple(content["box"])} if content.get("box") else {})})

    def fingerprint(self) -> str:
        """The address and the shape of question and answer; never a header, which may hold a key."""
        return f"http-{shown_url(self.url)}-{self.objects}-{self.label}"

    @cached_property
    def _transport(self) -> Transport:
        return Transport(Connection(self.url, self.headers, self.timeout_seconds, self.retries, self.backoff_seconds), self.name)

    def recognise(self, pictures: Sequence[Picture]) -> list[Answer]:
        """One request for each picture."""
        return [self._one(picture) for picture in pictures]

    def _one(self, picture: Picture) -> Answer:
        raw = self._transport.ask(self._body(jpeg(picture)))
        return tuple(self._detection(one, picture.shape) for one in _at(raw, self.objects, self.name))

    def _body(self, content: bytes) -> RequestBody:
        if self.body == "jpeg":
            return RequestBody(content=content, kind="image/jpeg")
        if self.body == "multipart":
            return RequestBody(content=content, kind="image/jpeg", form_field=self.field_name)
        return RequestBody(_filled(self.body, base64.b64encode(content).decode()))

    def _detection(self, one: Any, shape: tuple[int, ...]) -> Detection:
        label = str(_at(one, self.label, self.name))
        score = float(_at(one, self.score, self.name)) if self.score else 1.0
        if self.box is None:
            return Detection(label, score)
        values = np.array([float(_at(one, place, self.name)) for place in self.box])
        if self.box_form == "size":
            values[2:] += values[:2]
        if self.is_relative:
            values *= np.array([shape[1], shape[0]] * 2)
        return Detection(label, score, (float(values[0]), float(values[1]), float(values[2]), float(values[3])))


def _filled(body: Any, image: str) -> Any:
    if isinstance(body, str):
        return body.replace("{image}", image)
    if isinstance(body, Mapping):
        return {key: _filled(value, image) for key, value in body.items()}
    return [_filled(value, image) for value in body] if isinstance(body, list | tuple) else body


def _at(value: Any, place: str, name: str) -> Any:
    for step in place.split(".") if place else ():
        try:
            value = value[int(step)] if isinstance(value, list) else value[step]
        except (KeyError, IndexError, TypeError, ValueError) as fault:
            raise WrongAnswer(f"{name} answered {str(value)[:200]!r}, which has nothing at {step!r} of {place!r}") from fault
    return value
