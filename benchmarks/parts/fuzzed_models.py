"""Readers of model files and of whole HTTP answers, with contents that they read well, for fuzzers to change.

Model files go the user's way, through `evenhand.wrap`: a process that may die opens them first, this one only what that one survived.
"""

from __future__ import annotations

import socket
import tempfile
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.domain.columns import Column
from evenhand.domain.tabular import Label, TabularDomain

CODES = TabularDomain(
    (Column("a", "integer", low=0, high=9), Column("b", "integer", low=0, high=2), Column("c", "real", low=0.0, high=1.0)),
    protected=("b",),
    label=Label("y", (0, 1), (1,)),
)
ROWS = CODES.sample(120, np.random.default_rng(0))
ANSWERED = 16
"""Rows that an endpoint is asked about, the first ones that it is tried on included."""
LABELS = (ROWS[:, 0] + ROWS[:, 1] > 5).astype(int)


def _wrapped(path: Path) -> object:
    from evenhand.models.wrap import wrap

    return wrap(path, CODES, takes=None if path.suffix == ".onnx" else "codes").scores(ROWS[:8])


def _saved(path: Path) -> object:
    """A saved repair whose description fits whatever the arrays hold."""
    from evenhand.disk import digest_of, sealed, unsealed
    from evenhand.models.saving import DESCRIPTION, load

    folder = path.parent / "saved"
    folder.mkdir(exist_ok=True)
    told = unsealed(_repair()[1], path)
    (folder / "model.npz").write_bytes(path.read_bytes())
    (folder / DESCRIPTION).write_text(sealed({**told, "sums": {"model.npz": digest_of(path.read_bytes())}}))
    return load(folder, CODES).scores(ROWS[:8])


@cache
def _repair() -> tuple[bytes, bytes]:
    """A forest as plain arrays, and its description."""
    from sklearn.ensemble import RandomForestClassifier

    from evenhand.models.saving import DESCRIPTION, save
    from evenhand.models.wrap import wrap

    forest = RandomForestClassifier(2, max_depth=3, random_state=0).fit(ROWS, LABELS)
    with tempfile.TemporaryDirectory() as base:
        folder = save(wrap(forest, CODES, takes="codes"), Path(base) / "model")
        return (folder / "model.npz").read_bytes(), (folder / DESCRIPTION).read_bytes()


def _written(name: str, write: Callable[[Path], object]) -> list[bytes]:
    with tempfile.TemporaryDirectory() as base:
        write(Path(base) / name)
        return [(Path(base) / name).read_bytes()]


def _skops() -> list[bytes]:
    import skops.io
    from sklearn.tree import DecisionTreeClassifier

    tree = DecisionTreeClassifier(max_depth=3).fit(ROWS, LABELS)
    return _written("a.skops", lambda path: skops.io.dump(tree, path))


def _onnx() -> list[bytes]:
    from onnx import TensorProto, helper, numpy_helper

    weights = np.array([[0.1, -0.1], [0.5, -0.5], [0.0, 0.2]], dtype=np.float32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["z"]), helper.make_node("Softmax", ["z"], ["y"])],
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, 2])],
        [numpy_helper.from_array(weights, "w")],
    )
    return [helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8).SerializeToString()]


def _xgboost(ending: str) -> list[bytes]:
    import xgboost

    model = xgboost.XGBClassifier(n_estimators=2, max_depth=2, n_jobs=1).fit(ROWS, LABELS)
    return _written(f"a.{ending}", lambda path: model.get_booster().save_model(str(path)))


def _lightgbm() -> list[bytes]:
    import lightgbm

    model = lightgbm.LGBMClassifier(n_estimators=2, num_leaves=4, verbose=-1, n_jobs=1).fit(ROWS, LABELS)
    return _written("a.txt", lambda path: model.booster_.save_model(str(path)))


def _catboost() -> list[bytes]:
    import catboost

    model = catboost.CatBoostClassifier(iterations=2, depth=2, verbose=False, allow_writing_files=False, thread_count=1).fit(ROWS, LABELS)
    return _written("a.cbm", lambda path: model.save_model(str(path)))


def _treelite() -> list[bytes]:
    import treelite
    from sklearn.ensemble import RandomForestClassifier

    forest = RandomForestClassifier(2, max_depth=3, random_state=0).fit(ROWS, LABELS)
    return [bytes(treelite.sklearn.import_model(forest).serialize_bytes())]


def _answered(path: Path) -> object:
    """Whatever bytes the file holds, as the whole answer of an endpoint."""
    from evenhand.models.http import HttpModel
    from evenhand.models.wrap import wrap

    server = _server()
    server.content = path.read_bytes()
    asked = HttpModel(server.url, timeout_seconds=2.0, retries=0, backoff_seconds=0.0, concurrency=1, batch_rows=1000)
    return wrap(asked, CODES, returns="probability").scores(ROWS[:ANSWERED])


class RawServer:
    """A server on this machine that answers every request with the same bytes and hangs up."""

    def __init__(self) -> None:
        self.content = b""
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}/predict"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            connection, _ = self._socket.accept()
            with connection:
                try:
                    connection.settimeout(2)
                    connection.recv(1 << 20)
                    connection.sendall(self.content)
                    connection.shutdown(socket.SHUT_WR)
                    connection.recv(1 << 20)
                except OSError:
                    pass


@cache
def _server() -> RawServer:
    return RawServer()


def _answers() -> list[bytes]:
    import gzip

    body = b'{"predictions": [' + b", ".join([b"0.25"] * ANSWERED) + b"]}"
    packed = gzip.compress(body)
    chunks = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
    return [
        head + b"Content-Length: %d\r\n\r\n" % len(body) + body,
        head + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed) + packed,
        head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks,
        b"HTTP/1.1 503 Down\r\nRetry-After: Wed, 21 Oct 2015 07:28:00 GMT\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 307 There\r\nLocation: file:///etc/passwd\r\nSet-Cookie: who=you\r\nContent-Length: 0\r\n\r\n",
    ]


def _image(ending: str) -> Callable[[], list[bytes]]:
    def seeds() -> list[bytes]:
        import cv2

        picture = np.random.default_rng(0).integers(0, 256, (12, 12, 3), dtype=np.uint8)
        return [bytes(cv2.imencode(f".{ending}", picture)[1])]

    return seeds


def _picture(path: Path) -> object:
    from evenhand.datasets.scenes.picture_files import read_picture

    return read_picture(path)


def _result(path: Path) -> object:
    from evenhand.report import load

    return load(path)


@cache
def _results() -> list[bytes]:
    """A result of today's version, as a scan writes it."""
    import json

    import evenhand as eh
    from evenhand.checks import standard_subject
    from evenhand.datasets.dataset import Dataset

    subject = standard_subject()
    frame = subject.domain.decode(subject.rows)
    label = subject.domain.label
    assert label is not None
    frame[label.column] = [label.values[place] for place in subject.labels]
    data = Dataset("planted", frame, subject.domain)
    found = eh.scan(subject.model, data, budget=eh.Budget(candidates=100), options=eh.Options(rate_rows=100, stream_share=0.0))
    return [json.dumps(found.as_dict(), default=str).encode()]


MODEL_READERS: dict[str, tuple[Callable[[Path], Any], Callable[[], list[bytes]]]] = {
    "a.skops": (_wrapped, _skops),
    "a.onnx": (_wrapped, _onnx),
    "a.json": (_wrapped, lambda: _xgboost("json")),
    "a.ubj": (_wrapped, lambda: _xgboost("ubj")),
    "a.txt": (_wrapped, _lightgbm),
    "a.cbm": (_wrapped, _catboost),
    "a.tl": (_wrapped, _treelite),
    "repair.npz": (_saved, lambda: [_repair()[0]]),
    "answer.http": (_answered, _answers),
    "a.jpg": (_picture, _image("jpg")),
    "a.webp": (_picture, _image("webp")),
    "a.bmp": (_picture, _image("bmp")),
    "result-2.json": (_result, _results),
}
"""By the file's name: how it is read, and contents that are read well."""
