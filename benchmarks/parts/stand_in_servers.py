"""Local servers that speak the documented formats of common model servers, for the presets of the HTTP adapter.

Each refuses, with status 400, whatever its documentation does not allow, so that a wrong request cannot pass unnoticed.
"""

from __future__ import annotations

import csv
import io
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Ask = Callable[[Any], Any]
"""From a pandas table of the model's columns to one probability for each row."""


class Refused(Exception):
    """A request that the documentation does not allow."""


def _frame(records: Sequence[Sequence[Any]], columns: Sequence[str]) -> Any:
    import pandas as pd

    return pd.DataFrame(list(records), columns=list(columns))


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise Refused(what)


def dataframe_split(body: bytes, _columns: Sequence[str], ask: Ask) -> Any:
    """MLflow: {"dataframe_split": {"columns": [...], "data": [[...], ...]}}."""
    told = json.loads(body)
    _require(set(told) == {"dataframe_split"}, "expected dataframe_split alone")
    _require({"columns", "data"} <= set(told["dataframe_split"]), "expected columns and data")
    return {"predictions": list(ask(_frame(told["dataframe_split"]["data"], told["dataframe_split"]["columns"])))}


def dataframe_records(body: bytes, columns: Sequence[str], ask: Ask) -> Any:
    """MLflow: {"dataframe_records": [{column: cell}, ...]}."""
    told = json.loads(body)
    _require(set(told) == {"dataframe_records"}, "expected dataframe_records alone")
    return {"predictions": list(ask(_frame([[each[name] for name in columns] for each in told["dataframe_records"]], columns)))}


def kserve_v2(body: bytes, columns: Sequence[str], ask: Ask) -> Any:
    """The Open Inference Protocol: one tensor for each column; two outputs come back, labels first and probabilities flat."""
    tensors = {each["name"]: each for each in json.loads(body)["inputs"]}
    _require(set(tensors) == set(columns), f"expected one tensor for each of {list(columns)}")
    for each in tensors.values():
        _require(each["datatype"] in ("INT64", "FP64", "FP32", "BYTES", "BOOL"), f"unknown datatype {each['datatype']}")
        _require(each["shape"] == [len(each["data"]), 1], f"shape {each['shape']} does not fit the data")
    chances = list(ask(_frame(list(zip(*[tensors[name]["data"] for name in columns], strict=True)), columns)))
    flat = [share for chance in chances for share in (1 - chance, chance)]
    return {
        "model_name": "loans",
        "outputs": [{"name": "probabilities", "shape": [len(chances), 2], "datatype": "FP64", "data": flat}],
    }


def sagemaker_csv(body: bytes, columns: Sequence[str], ask: Ask) -> Any:
    """SageMaker: lines of CSV without a header; lines of CSV come back."""
    lines = list(csv.reader(io.StringIO(body.decode())))
    _require(all(len(line) == len(columns) for line in lines), f"expected {len(columns)} cells on each line")
    _require(not lines or lines[0] != list(columns), "expected no header")
    cells = [[_number(cell) for cell in line] for line in lines]
    return "".join(f"{chance!r}\n" for chance in map(float, ask(_frame(cells, columns))))


def sagemaker_json(body: bytes, columns: Sequence[str], ask: Ask) -> Any:
    """SageMaker: {"instances": [{"features": [...]}, ...]}; {"predictions": [{"score": ..., "predicted_label": ...}, ...]} comes back."""
    instances = json.loads(body)["instances"]
    _require(all(set(each) == {"features"} for each in instances), "expected features in each instance")
    chances = ask(_frame([each["features"] for each in instances], columns))
    return {"predictions": [{"score": float(chance), "predicted_label": int(chance >= 0.5)} for chance in chances]}


def vertex(body: bytes, columns: Sequence[str], ask: Ask) -> Any:
    """Vertex AI: {"instances": [{column: cell}, ...]}; AutoML's answers name their classes, here not in the label's order."""
    instances = json.loads(body)["instances"]
    chances = ask(_frame([[each[name] for name in columns] for each in instances], columns))
    told = [{"classes": ["granted", "refused"], "scores": [float(chance), float(1 - chance)]} for chance in chances]
    return {"predictions": told, "deployedModelId": "1"}


def _number(cell: str) -> Any:
    try:
        return float(cell)
    except ValueError:
        return cell


FORMATS: dict[str, Callable[[bytes, Sequence[str], Ask], Any]] = {
    "dataframe_split": dataframe_split,
    "dataframe_records": dataframe_records,
    "kserve_v2": kserve_v2,
    "sagemaker_csv": sagemaker_csv,
    "sagemaker_json": sagemaker_json,
    "vertex": vertex,
}


@contextmanager
def serving(preset: str, columns: Sequence[str], ask: Ask) -> Iterator[str]:
    """The address of a server of this format while the block runs."""
    answer = FORMATS[preset]

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            wanted = "text/csv" if preset == "sagemaker_csv" else "application/json"
            try:
                _require(self.headers["content-type"].startswith(wanted), f"expected {wanted}")
                said = answer(body, columns, ask)
                self._send(200, said if isinstance(said, str) else json.dumps(said, default=float), wanted)
            except (Refused, KeyError, TypeError, ValueError) as fault:
                self._send(400, json.dumps({"error": str(fault)}), "application/json")

        def _send(self, status: int, text: str, kind: str) -> None:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/invocations"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
