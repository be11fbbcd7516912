"""The documented request and answer formats of common servers, by name, and how their bodies are written and read.

dataframe_split, dataframe_records: MLflow's scoring server (`/invocations`).  kserve_v2: the Open Inference Protocol of KServe, Triton,
MLServer and others, one tensor for each column.  sagemaker_csv, sagemaker_json: Amazon SageMaker's common formats for inference.
vertex: Google's Vertex AI, also the format of TensorFlow Serving and KServe v1.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evenhand.errors import InvalidArgument, UnknownName, WrongAnswer

CSV_KIND = "text/csv"


@dataclass(frozen=True)
class HttpPreset:
    """What a request holds, where the answers are, and how a row is written."""

    request: Any
    answer: str
    rows_as: str


PRESETS: Mapping[str, HttpPreset] = {
    "dataframe_split": HttpPreset({"dataframe_split": {"columns": "$columns", "data": "$rows"}}, "predictions", "lists"),
    "dataframe_records": HttpPreset({"dataframe_records": "$rows"}, "predictions", "records"),
    "kserve_v2": HttpPreset({"parameters": {"content_type": "pd"}, "inputs": "$tensors"}, "outputs[0]", "records"),
    "sagemaker_csv": HttpPreset("$csv", "", "lists"),
    "sagemaker_json": HttpPreset({"instances": {"$each": {"features": "$row"}}}, "predictions[*].score", "lists"),
    "vertex": HttpPreset({"instances": "$rows"}, "predictions", "records"),
}
USUAL = PRESETS["vertex"]


def preset_of(name: str | None) -> HttpPreset:
    """The preset of this name; the usual one without."""
    if name is None:
        return USUAL
    known = name.replace("-", "_")
    if known not in PRESETS:
        raise UnknownName("preset", name, PRESETS)
    return PRESETS[known]


def tensors_of(records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One tensor for each column, as the Open Inference Protocol has them.

    >>> tensors_of([{"age": 40, "job": "clerk"}])[1]
    {'name': 'job', 'shape': [1, 1], 'datatype': 'BYTES', 'data': ['clerk'], 'parameters': {'content_type': 'str'}}
    """
    return [_tensor(name, [record[name] for record in records]) for name in records[0]]


def _tensor(name: str, cells: list[Any]) -> dict[str, Any]:
    if any(cell is None for cell in cells):
        raise InvalidArgument(
            f"column {name!r} has a missing cell, for which a tensor of the Open Inference Protocol has no value; declare the column "
            "without missing cells, or send records (preset 'vertex' or 'dataframe_records')"
        )
    kinds = {type(cell) for cell in cells}
    datatype = "BOOL" if kinds == {bool} else "INT64" if kinds == {int} else "FP64" if kinds <= {int, float} else "BYTES"
    told = {"name": name, "shape": [len(cells), 1], "datatype": datatype}
    if datatype == "BYTES":
        return told | {"data": [str(cell) for cell in cells], "parameters": {"content_type": "str"}}
    return told | {"data": [float(cell) for cell in cells] if datatype == "FP64" else cells}


def tensor_values(value: Any) -> Any:
    """The values of a tensor, one for each row; anything else as it is.

    >>> tensor_values({"name": "p", "shape": [2, 2], "datatype": "FP32", "data": [0.1, 0.9, 0.4, 0.6]})
    [[0.1, 0.9], [0.4, 0.6]]
    """
    if not (isinstance(value, dict) and isinstance(value.get("data"), list) and isinstance(value.get("shape"), list)):
        return value
    shape, data = value["shape"], value["data"]
    if data and isinstance(data[0], list):  # already nested
        return [each[0] if len(each) == 1 else each for each in data]
    if not all(type(side) is int and side >= 0 for side in shape) or math.prod(shape) != len(data) or not shape:
        raise WrongAnswer(f"a tensor of the answer has the shape {shape} and {len(data)} values; they must fit each other")
    width = len(data) // shape[0] if shape[0] else 1
    return data if width == 1 else [data[at : at + width] for at in range(0, len(data), width)]


def csv_body(records: Sequence[Sequence[Any]]) -> bytes:
    """Rows as CSV without a header, a missing cell as nothing.

    >>> csv_body([[40, "a, b"], [41, None]])
    b'40,"a, b"\\n41,\\n'
    """
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([["" if cell is None else cell for cell in row] for row in records])
    return text.getvalue().encode("utf-8")


def csv_values(text: str) -> list[Any]:
    """A CSV answer: one value for each line, or a list where a line has several.

    >>> csv_values("0.25\\n0.75\\n"), csv_values("0.9,0.1\\n0.2,0.8")
    ([0.25, 0.75], [[0.9, 0.1], [0.2, 0.8]])
    """
    lines = [[_cell(cell) for cell in line] for line in csv.reader(io.StringIO(text)) if line]
    return [line[0] if len(line) == 1 else line for line in lines]


def fitting_values(values: Any, rows: int) -> Any:
    """Answers of servers that write all of them on one line as one for each row; anything else as it is."""
    if rows > 1 and isinstance(values, list) and len(values) == 1 and isinstance(values[0], list) and len(values[0]) == rows:
        return values[0]
    return values


def _cell(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text.strip()


def named_scores(values: list[Any], classes: Sequence[Any]) -> list[Any]:
    """Answers like {"classes": ["no", "yes"], "scores": [0.1, 0.9]} as scores in this order of classes; others as they are.

    >>> named_scores([{"classes": ["yes", "no"], "scores": [0.9, 0.1]}], ("no", "yes"))
    [[0.1, 0.9]]
    """
    if not values or not all(isinstance(each, dict) for each in values):
        return values
    if all(set(each) >= {"classes", "scores"} for each in values):
        return [_ordered(each, classes) for each in values]
    if all(set(each) == {"value"} or set(each) >= {"value", "lower_bound", "upper_bound"} for each in values):
        return [each["value"] for each in values]
    keys = sorted(str(key) for key in values[0])
    raise WrongAnswer(
        f"the endpoint answers each row with an object of the keys {keys}; say which one counts, such as answer='predictions[*].{keys[0]}'"
    )


def _ordered(told: Mapping[str, Any], classes: Sequence[Any]) -> list[Any]:
    scores = dict(zip([str(name) for name in told["classes"]], told["scores"], strict=False))
    absent = [name for name in classes if str(name) not in scores]
    if absent:
        raise WrongAnswer(
            f"the endpoint names its classes {sorted(scores)}, among which the label's value {absent[0]!r} is not; correct the label"
        )
    return [scores[str(name)] for name in classes]
