"""A fitted scikit-learn estimator as an ONNX graph, through skl2onnx: one input for each column of a frame, or one for all codes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.disk import whole_file
from evenhand.errors import ModelFailed, require
from evenhand.models.amount_models import AmountModel
from evenhand.models.estimator import EstimatorModel
from evenhand.models.inputs import first_line, probe_rows


def write_graph(model: EstimatorModel | AmountModel, path: Path) -> None:
    """The graph in a file; ModelFailed where skl2onnx knows no way."""
    skl2onnx = require("skl2onnx", "onnx")
    fault: Exception | None = None
    estimator = model.source if isinstance(model, AmountModel) else model.estimator
    for options in _options(model):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                graph = skl2onnx.to_onnx(estimator, initial_types=_inputs(model), options=options)
        except Exception as raised:  # converters raise whatever they meet
            fault = raised
            continue
        with whole_file(path) as new:
            new.write_bytes(graph.SerializeToString())
        return
    raise ModelFailed(f"skl2onnx cannot convert {type(estimator).__name__}: {first_line(fault or ValueError('no reason given'))}")


def _options(model: EstimatorModel | AmountModel) -> Iterator[dict[int, dict[str, bool]] | None]:
    """Numbers instead of dictionaries, and the decision function where that is what is asked; not every converter knows both."""
    if isinstance(model, AmountModel):
        yield None
        return
    key = id(model.estimator)
    raw = {"raw_scores": True} if model.asks == "decision_function" else {}
    yield {key: {"zipmap": False, **raw}}
    yield {key: raw} if raw else None


def _inputs(model: EstimatorModel | AmountModel) -> list[tuple[str, Any]]:
    from skl2onnx.common.data_types import FloatTensorType

    example = model.inputs(probe_rows(model.domain, 8))
    if not hasattr(example, "columns"):
        if np.asarray(example).dtype.kind != "f":
            raise ModelFailed("its input is a matrix of words, which ONNX has no way to take")
        return [("codes", FloatTensorType([None, example.shape[1]]))]
    return [(str(name), _type_of(example[name].to_numpy())) for name in example.columns]


def _type_of(cells: Any) -> Any:
    from skl2onnx.common.data_types import BooleanTensorType, FloatTensorType, Int64TensorType, StringTensorType

    kinds = {"b": BooleanTensorType, "i": Int64TensorType, "u": Int64TensorType, "f": FloatTensorType}
    return kinds.get(cells.dtype.kind, StringTensorType)([None, 1])
