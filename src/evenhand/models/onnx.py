"""ONNX files as models: of rows (one matrix input or one input per column; labels with probabilities, or scores), and of pictures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Rows, Scores
from evenhand.contract import Pictures, Port
from evenhand.domain.columns import listing
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import InvalidArgument, MissingAbility, ModelFailed, WrongAnswer
from evenhand.models.answer_shapes import Reader, declared_or_own, plain
from evenhand.models.function import FunctionClassifier
from evenhand.models.inputs import Takes, first_line, inputs_of, probe_rows
from evenhand.models.onnx_session import NUMPY_TYPES, OnnxSession, open_onnx
from evenhand.models.preparation import preparation_of
from evenhand.models.readings import settle
from evenhand.models.trial_rows import TrialRows

USUAL_ROWS = 8192
"""How many rows one call takes best."""


@dataclass(frozen=True, eq=False)
class OnnxModel:
    """A session, what it takes, and how its answers are read."""

    session: OnnxSession
    domain: TabularDomain
    takes: Takes
    reader: Reader
    output: str

    @property
    def classes(self) -> tuple[Any, ...]:
        """The label values, in the order of the score columns."""
        return self.reader.classes

    @property
    def is_hard(self) -> bool:
        """Whether the file only gives labels."""
        return self.reader.is_hard

    @property
    def batch_rows(self) -> int:
        """How many rows one call takes best, or the only number that the file allows."""
        return self.session.fixed_rows or USUAL_ROWS

    def inputs(self, rows: Rows) -> NDArray[Any]:
        """What the file's only input is given for rows of codes."""
        feed = _feed(self.session.inputs, rows, self.domain, self.takes)
        if len(feed) > 1:
            raise MissingAbility(f"{self.session.file} has an input for every column, {len(feed)} in all, and not one for all")
        return next(iter(feed.values()))

    def scores(self, rows: Rows) -> Scores:
        """The file's answers as scores."""
        return self.reader.read(self.answers(rows), len(rows))

    def answers(self, rows: Rows) -> Any:
        """What the file itself says."""
        return self.session.portions(rows, self._run, USUAL_ROWS)

    def _run(self, rows: Rows) -> NDArray[Any]:
        (answer,) = self.session.run(_feed(self.session.inputs, rows, self.domain, self.takes), [self.output])
        return _table(answer)

    def fingerprint(self) -> str:
        """A digest of the file."""
        return f"onnx-{self.session.digest}"


def onnx_amounts(path: str | Path, domain: TabularDomain, takes: Takes | None = None) -> OnnxModel:
    """An ONNX file that holds a regression; its `answers` are amounts."""
    session = open_onnx(path)
    kind = takes or ("frame" if len(session.inputs) > 1 or _is_text(session) else "codes")
    _check_inputs(session.inputs, domain, session.file)
    return OnnxModel(session, domain, kind, Reader(("amount",), ("amount",), 0), session.outputs[0].name)


def from_onnx(
    path: str | Path,
    domain: TabularDomain,
    classes: Sequence[Any] | None = None,
    takes: Takes | None = None,
    trial: TrialRows | None = None,
) -> OnnxModel:
    """An ONNX file as a model."""
    session = open_onnx(path)
    kind = takes or ("frame" if len(session.inputs) > 1 or _is_text(session) else "codes")
    _check_inputs(session.inputs, domain, session.file)
    trial = trial or TrialRows(probe_rows(domain))
    output = _output(session, trial.declared.returns)
    reader = declared_or_own(domain, classes, None if classes is not None else _own_classes(session, domain, kind))
    reader = replace(reader, single=reader.classes.index(reader.columns[-1]))
    model = OnnxModel(session, domain, kind, reader, output)
    return replace(model, reader=settle(reader, model.answers(trial.rows), len(trial.rows), trial.declared, trial.labels))


def _is_text(session: OnnxSession) -> bool:
    return any(entry.type == "tensor(string)" for entry in session.inputs)


def _check_inputs(inputs: Sequence[Port], domain: TabularDomain, file: str) -> None:
    for entry in inputs:
        if entry.type not in NUMPY_TYPES:
            raise InvalidArgument(f"{file}: input {entry.name!r} has type {entry.type}, which no column can become")
        if len(inputs) > 1 and _column(entry.name, domain) is None:
            raise InvalidArgument(f"{file}: input {entry.name!r} is no column of the domain; it has {listing(domain.names)}")
    width = inputs[0].shape[-1] if inputs[0].shape else None
    if len(inputs) == 1 and isinstance(width, int) and len(inputs[0].shape) == 2 and width != len(domain.columns):
        raise InvalidArgument(f"{file}: the input takes {width} columns, the domain has {len(domain.columns)}")


def _column(name: str, domain: TabularDomain) -> str | None:
    """The domain's column behind an input name; converters replace characters that ONNX tools dislike."""
    plain_names = {"".join(c if c.isalnum() else "_" for c in column): column for column in domain.names}
    return name if name in domain.names else plain_names.get(name)


def _feed(inputs: Sequence[Port], rows: Rows, domain: TabularDomain, takes: Takes) -> dict[str, NDArray[Any]]:
    if len(inputs) == 1:
        table = inputs_of(rows, domain, "matrix" if takes == "frame" else "codes" if takes == "codes_frame" else takes)
        cells = _cast(table, inputs[0])
        return {inputs[0].name: cells.reshape(_shape(inputs[0], cells))}
    frame = inputs_of(rows, domain, "codes_frame" if takes in ("codes", "codes_frame") else "frame")
    return {entry.name: _cast(frame[_column(entry.name, domain)].to_numpy(), entry).reshape(-1, 1) for entry in inputs}


def _cast(cells: NDArray[Any], entry: Port) -> NDArray[Any]:
    kind = NUMPY_TYPES[entry.type]
    try:
        if kind is np.str_:
            return np.where(np.equal(cells, cells), cells, "").astype(np.str_).astype(object)
        return cells.astype(kind)
    except (TypeError, ValueError) as fault:
        raise ModelFailed(
            f"input {entry.name!r} of the ONNX file takes {entry.type}, but its cells do not fit: {first_line(fault)}.  "
            "takes='codes' sends codes instead of cells"
        ) from fault


def _shape(entry: Port, cells: NDArray[Any]) -> tuple[int, ...]:
    """The declared shape where it only regroups the columns (an image, a trailing 1), the matrix's own otherwise."""
    rest = entry.shape[1:] if entry.shape else []
    regrouped = len(rest) > 1 and all(isinstance(part, int) for part in rest) and int(np.prod(rest)) == cells.shape[1]
    return (len(cells), *rest) if regrouped else cells.shape


def _output(session: OnnxSession, returns: str | None) -> str:
    """The name of the output that is read: scores when there are any, else labels."""
    outputs = session.outputs
    for entry in outputs:
        numeric = entry.type.startswith("seq(map") or (entry.type in ("tensor(float)", "tensor(double)", "tensor(float16)"))
        if numeric != (returns in ("labels", "label")):
            return str(entry.name)
    return str(outputs[0].name)


def _table(answer: Any) -> NDArray[Any]:
    """An output as an array; a ZipMap's list of dictionaries becomes a table in the order of its keys."""
    if isinstance(answer, list):
        if answer and not isinstance(answer[0], dict):
            raise WrongAnswer(f"the ONNX file answers with a list of {type(answer[0]).__name__}; expected a tensor or a ZipMap")
        keys = list(answer[0]) if answer else []
        return np.array([[entry[key] for key in keys] for entry in answer], dtype=np.float32).reshape(len(answer), len(keys))
    table = np.asarray(answer)
    return table.reshape(len(table), -1) if table.ndim > 2 else table


def _own_classes(session: OnnxSession, domain: TabularDomain, takes: Takes) -> list[Any] | None:
    """The classes in the file's own order: a ZipMap's keys, a classifier node's labels, or what labels and scores show together."""
    for entry in session.outputs:
        if entry.type.startswith("seq(map"):
            (answer,) = session.run(_feed(session.inputs, probe_rows(domain, session.fixed_rows or 1), domain, takes), [entry.name])
            return [plain(key) for key in answer[0]]
    return _declared_classes(session.content)


def _declared_classes(content: bytes) -> list[Any] | None:
    try:
        import onnx
    except ImportError:
        return None
    graph = onnx.load_model_from_string(content).graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.name in ("classlabels_strings", "classlabels_int64s", "classlabels_ints") and len(node.output):
                values = [text.decode() for text in attribute.strings] or list(attribute.ints)
                if len(values) > 1:
                    return values
    constants = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer}
    for node in graph.node:
        # skl2onnx picks the label out of a constant called classes.
        if node.op_type == "ArrayFeatureExtractor" and "classes" in node.input[0] and node.input[0] in constants:
            return [value.decode() if isinstance(value, bytes) else plain(value) for value in constants[node.input[0]].reshape(-1)]
    return None


USUAL_PICTURES = 256
"""Pictures that a file is asked about at once."""


@dataclass(frozen=True)
class OnnxClassifier(FunctionClassifier):
    """A classifier of pictures from a file."""

    digest: str = ""

    def fingerprint(self) -> str:
        """A digest of the file."""
        return f"onnx-{self.digest}"


def onnx_classifier(
    file: Path | str, classes: Sequence[str], prepare: Callable[[Pictures], NDArray[np.float32]] | None = None
) -> OnnxClassifier:
    """An ONNX file as a classifier; `read_as` says where its numbers are logits.

    Without `prepare`, size, layout and number of channels are read from the file, and values are scaled to 0..1 (or left as bytes where
    the file takes bytes).  A file that takes only so many pictures at once is asked in portions of that size.
    """
    session = open_onnx(file)
    return OnnxClassifier(_asked_about_pictures(session, prepare), tuple(classes), USUAL_PICTURES, digest=session.digest)


def onnx_picture_amounts(
    file: Path | str, prepare: Callable[[Pictures], NDArray[np.float32]] | None = None
) -> Callable[[Pictures], NDArray[Any]]:
    """An ONNX file as a regression of pictures; they are prepared as for a classifier."""
    return _asked_about_pictures(open_onnx(file), prepare)


def _asked_about_pictures(
    session: OnnxSession, prepare: Callable[[Pictures], NDArray[np.float32]] | None
) -> Callable[[Pictures], NDArray[Any]]:
    """From pictures to what the file says of them."""
    entry = session.inputs[0]
    prepared = prepare or preparation_of(entry.shape, entry.type)
    kind, output = NUMPY_TYPES.get(entry.type, np.float32), _score_output(session)

    def ask(pictures: Pictures) -> NDArray[Any]:
        return np.asarray(session.run({entry.name: prepared(pictures).astype(kind, copy=False)}, [output])[0])

    return lambda pictures: session.portions(pictures, ask, USUAL_PICTURES)


def _score_output(session: OnnxSession) -> str:
    """The output that holds scores: one called probabilities where there are several, else the first."""
    names = [each.name for each in session.outputs]
    return str(next((name for name in names if "prob" in name.lower()), names[0]))
