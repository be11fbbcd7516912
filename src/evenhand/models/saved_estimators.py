"""A fitted estimator in a folder: as plain arrays, as a booster's own file of numbers behind them, or as an ONNX graph.

The first of these that gives the estimator's own answers is written, with some of the answers: whoever reads it gets these or an error.
How the answers are read (classes, scale, threshold) stands in the description, so that nothing is established a second time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from evenhand.arrays import Rows, Scores
from evenhand.disk import digest_of, whole_file
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import EvenhandError, MissingAbility, StoreError
from evenhand.models.amount_models import AmountModel
from evenhand.models.answer_shapes import Reader
from evenhand.models.booster_cells import cells_of, library_of, native
from evenhand.models.estimator import EstimatorModel
from evenhand.models.estimator_arrays import read_arrays, write_arrays
from evenhand.models.estimator_graph import write_graph
from evenhand.models.inputs import first_line, guarded, probe_rows
from evenhand.models.native_boosters import from_booster, load_booster
from evenhand.models.onnx import OnnxModel
from evenhand.models.onnx_session import open_onnx
from evenhand.models.quarantine import examine

COMPARED = 512
"""Rows that the written model is asked about before it is called written."""
KEPT = 32
"""Answers that are kept with it."""
ALIKE = 1e-9
"""How far answers from arrays and boosters may lie from the estimator's own: what another processor's sums may differ by."""
LATER = 1e-6
"""The same on another machine, with another release of NumPy."""
NEARLY = 1e-5
"""The same for ONNX, which counts in single precision."""
BOOSTERS = {"xgboost": "booster.ubj", "lightgbm": "booster.txt", "catboost": "booster.cbm"}
ARRAYS, GRAPH = "model.npz", "model.onnx"
Told = dict[str, Any]
Fixed = Mapping[int, float]
"""Columns that the model around this one always fills with the same code, by their position; another may be unknown to it."""


@dataclass(frozen=True, eq=False)
class PreparedBooster:
    """A booster behind what prepares its columns, as a pipeline would ask it."""

    front: Any
    booster: Any

    def predict_proba(self, inputs: Any) -> Any:
        """The booster's probabilities."""
        return self.booster.predict_proba(self.front.transform(inputs))

    def predict(self, inputs: Any) -> Any:
        """The booster's own answer."""
        return self.booster.predict(self.front.transform(inputs))


Written: TypeAlias = EstimatorModel | AmountModel
"""What is written: an estimator of classes or of amounts."""


@dataclass(frozen=True)
class _Way:
    """One way to write an estimator: what it writes and how near the answers must be."""

    write: Callable[[Written, Path], Told]
    tolerance: float


def write_estimator(model: Written, folder: Path, fixed: Fixed) -> Told:
    """Write the first form that answers as the model does; what the description says of it."""
    faults: list[str] = []
    for way in (_Way(_as_arrays, ALIKE), _Way(_as_graph, NEARLY)):
        try:
            return _written(model, folder, way, fixed)
        except (EvenhandError, ImportError) as fault:
            faults.append(first_line(fault))
            for left in folder.iterdir():
                left.unlink()
    raise MissingAbility(
        f"{type(_inner(model)).__name__} can be written neither as plain arrays ({faults[0]}) nor as ONNX ({faults[1]}).  Build it of "
        "scikit-learn's own parts, or export it yourself (.onnx, or the booster's own file) and wrap that"
    )


def _inner(model: Written) -> Any:
    return model.source if isinstance(model, AmountModel) else model.estimator


def _written(model: Written, folder: Path, way: _Way, fixed: Fixed) -> Told:
    reading: Told = {"amounts": True} if isinstance(model, AmountModel) else _reading(model.reader)
    told = {"kind": "estimator", **way.write(model, folder), **reading, "tolerance": way.tolerance}
    told["sums"] = {file.name: digest_of(file.read_bytes()) for file in sorted(folder.iterdir())}
    rows = _rows(model.domain, COMPARED, fixed)
    found = guarded(lambda: _built(told, folder, model.domain).scores(rows), "the written model")
    _compare(found, model.scores(rows), way.tolerance, "the written model")
    return told | _kept(model, fixed)


def _rows(domain: TabularDomain, count: int, fixed: Fixed) -> Rows:
    rows = probe_rows(domain, count).copy()
    for place, code in fixed.items():
        rows[:, place] = code
    return rows


def _kept(model: Written | OnnxModel, fixed: Fixed) -> Told:
    """Some made-up rows with their answers, and the codes that the rows are written in."""
    rows = _rows(model.domain, KEPT, fixed)
    answers = np.asarray(model.scores(rows), dtype=np.float64)
    plain_rows = [[None if np.isnan(code) else code for code in row] for row in rows.tolist()]
    return {"codes": _codes(model.domain), "rows": plain_rows, "answers": answers.tolist()}


def _codes(domain: TabularDomain) -> list[list[Any]]:
    """The columns in their order, with the values that their codes stand for."""
    return [[column.name, column.kind, [str(value) for value in column.values]] for column in domain.columns]


def _compare(found: Scores, wanted: Scores, tolerance: float, what: str) -> None:
    """StoreError where answers or labels differ."""
    if found.shape != wanted.shape:
        raise StoreError(f"{what} answers with shape {found.shape} instead of {wanted.shape}")
    apart = float(np.abs(np.asarray(found, dtype=np.float64) - wanted).max(initial=0.0))
    size = float(np.abs(wanted).max(initial=1.0)) if wanted.shape[1] == 1 else 1.0  # amounts may be large
    if not apart <= tolerance * max(1.0, size):
        raise StoreError(f"{what} answers otherwise, by up to {apart:.2g}, where {tolerance:g} is allowed")
    turned = int((found.argmax(axis=1) != wanted.argmax(axis=1)).sum())
    if turned:
        raise StoreError(f"{what} gives another label to {turned} of {len(found)} rows")


def _reading(reader: Reader) -> Told:
    return {"reader": asdict(reader)}


def _as_arrays(model: Written, folder: Path) -> Told:
    """The estimator, or what stands before a booster, as arrays; the booster as the file that its library writes."""
    front, booster = _parted(_inner(model))
    asks = "predict" if isinstance(model, AmountModel) else model.asks
    told: Told = {"takes": model.takes, "asks": asks, "names": list(model.names)}
    if booster is not None:
        library = library_of(booster)
        with whole_file(folder / BOOSTERS[library]) as new:
            native(booster).save_model(str(new))
        told |= {"booster": library}
    if front is not None:
        write_arrays(front, folder / ARRAYS)
        told |= {"arrays": ARRAYS}
    return told


def _parted(estimator: Any) -> tuple[Any, Any]:
    """What can be written as arrays, and the booster behind it; None for what is not there."""
    if isinstance(estimator, PreparedBooster):
        return estimator.front, estimator.booster
    if library_of(estimator):
        return None, estimator
    steps = getattr(estimator, "steps", None)
    if type(estimator).__name__ != "Pipeline" or not steps or not library_of(steps[-1][1]):
        return estimator, None
    return (type(estimator)(list(steps[:-1])) if len(steps) > 1 else None), steps[-1][1]


def _as_graph(model: Written, folder: Path) -> Told:
    """An ONNX graph; its output that holds what the estimator's method says."""
    write_graph(model, folder / GRAPH)
    outputs = [port.name for port in open_onnx(folder / GRAPH).outputs]
    return {
        "takes": model.takes,
        "graph": GRAPH,
        "output": outputs[0] if isinstance(model, AmountModel) or model.asks == "predict" else outputs[-1],
    }


def write_session(model: OnnxModel, folder: Path, fixed: Fixed) -> Told:
    """A model that came as ONNX, as it came."""
    with whole_file(folder / GRAPH) as new:
        new.write_bytes(model.session.content)
    told = {"kind": "estimator", "takes": model.takes, "graph": GRAPH, "output": model.output, **_reading(model.reader)}
    return told | {"tolerance": NEARLY, "sums": {GRAPH: digest_of(model.session.content)}} | _kept(model, fixed)


def read_estimator(told: Told, folder: Path, domain: TabularDomain) -> Written | OnnxModel:
    """The model in a folder; StoreError where a file is damaged or the answers are not those that were kept."""
    for name, wanted in told["sums"].items():
        if name not in (ARRAYS, GRAPH, *BOOSTERS.values()):
            raise StoreError(f"{folder} names the file {name!r}, which no saved model has")
        file = folder / name
        if not file.is_file() or digest_of(file.read_bytes()) != wanted:
            raise StoreError(f"{file} is damaged or not there: its checksum is not the one in the description; restore it from a copy")
    is_same = told["codes"] == _codes(domain)
    if not is_same and told["takes"] in ("codes", "codes_frame"):
        raise StoreError(
            f"{folder} takes codes, and the columns or their values are not those that it was saved with; open it with its project"
        )
    model = _built(told, folder, domain)
    if is_same:
        _answers_as_then(model, told, folder)
    return model


def _answers_as_then(model: Written | OnnxModel, told: Told, folder: Path) -> None:
    rows = np.array([[np.nan if code is None else code for code in row] for row in told["rows"]], dtype=np.float64)
    wanted = np.array(told["answers"], dtype=np.float64)
    try:
        _compare(model.scores(rows), wanted, max(LATER, float(told["tolerance"])), "the saved model")
    except EvenhandError as fault:
        raise StoreError(
            f"{folder} does not answer as it did when it was saved: {first_line(fault)}.  Open it with the scikit-learn release of that "
            "time, or make the repair again"
        ) from fault


def _built_amounts(told: Told, folder: Path, domain: TabularDomain) -> AmountModel:
    """A regression; one that is a graph is given codes, which it turns into what the file takes."""
    if "graph" in told:
        reader = Reader(("amount",), ("amount",), 0)
        file = OnnxModel(open_onnx(folder / GRAPH), domain, told["takes"], reader, str(told["output"]))
        return AmountModel(file.answers, domain, "codes", source=file)
    estimator = _estimator(told, folder)
    model = AmountModel(estimator.predict, domain, told["takes"], tuple(told["names"]), source=estimator)
    is_bare = _parted(estimator)[1] is estimator and model.takes == "frame"
    return replace(model, cells=cells_of(estimator, model.inputs(probe_rows(domain, 8)))) if is_bare else model


def _built(told: Told, folder: Path, domain: TabularDomain) -> Written | OnnxModel:
    if told.get("amounts"):
        return _built_amounts(told, folder, domain)
    reader = _reader(told["reader"], domain)
    if "graph" in told:
        return OnnxModel(open_onnx(folder / GRAPH), domain, told["takes"], reader, str(told["output"]))
    estimator = _estimator(told, folder)
    model = EstimatorModel(estimator, domain, told["takes"], reader, str(told["asks"]), tuple(told["names"]))
    last = _parted(estimator)[1]
    is_bare = last is estimator and model.takes == "frame"
    return replace(model, cells=cells_of(last, model.inputs(probe_rows(domain, 8)))) if is_bare else model


def _estimator(told: Told, folder: Path) -> Any:
    front = None
    if "arrays" in told:
        examine("arrays", folder / ARRAYS)
        front = read_arrays(folder / ARRAYS)
    if "booster" not in told:
        return front
    library = str(told["booster"])
    booster = from_booster(load_booster(library, folder / BOOSTERS[library]))
    return booster if front is None else PreparedBooster(front, booster)


def _reader(told: Told, domain: TabularDomain) -> Reader:
    """The reading as it was; labels in JSON are what they were, but for tuples."""
    lists = {name: tuple(told[name]) for name in ("classes", "columns", "evidence", "doubts")}
    reader = Reader(**{**told, **lists})
    known = tuple(domain.label.values) if domain.label is not None else reader.classes
    if known != reader.classes:
        raise StoreError(
            f"the model was saved with the classes {list(reader.classes)}, the label has {list(known)}; open it with its project"
        )
    return reader
