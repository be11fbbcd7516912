"""A local server that speaks the wire formats of the three services and answers with your detector: for trials without a bill."""

from __future__ import annotations

import base64
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

import numpy as np

from evenhand.contract import Answer, Recogniser
from evenhand.errors import require
from evenhand.media.scene import Picture


class StandIn:
    """A context manager; `endpoint` is where it listens, `billed` counts answered pictures, `fails_after` makes it break down."""

    def __init__(self, recogniser: Recogniser, fails_after: int | None = None) -> None:
        self.recogniser, self.fails_after, self.billed = recogniser, fails_after, 0
        self._lock = threading.Lock()
        owner = self

        class Handler(_Handler):
            stand_in = owner

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.endpoint = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> StandIn:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, content: bytes) -> tuple[Answer, Picture] | None:
        """The detector's answer; None when the server pretends to be down."""
        cv2 = require("cv2", "image")
        with self._lock:
            if self.fails_after is not None and self.billed >= self.fails_after:
                return None
            picture = np.ascontiguousarray(cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_COLOR)[..., ::-1])
            (found,) = self.recogniser.recognise([picture])
            self.billed += 1
            return found, picture


class _Handler(BaseHTTPRequestHandler):
    stand_in: StandIn
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Tell the three services apart by what only they send."""
        content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.headers.get("X-Amz-Target", "").endswith("DetectLabels"):
            self._send("amazon", base64.b64decode(json.loads(content)["Image"]["Bytes"]))
        elif "images:annotate" in self.path:
            self._send("google", base64.b64decode(json.loads(content)["requests"][0]["image"]["content"]))
        elif "imageanalysis:analyze" in self.path:
            self._send("azure", content)
        else:
            self._send("plain", content)

    def _send(self, service: str, content: bytes) -> None:
        result = self.stand_in.answer(content)
        if result is None:
            return self._write(503, {"error": {"code": 503, "message": "the stand-in is down", "status": "UNAVAILABLE"}, "message": "down"})
        return self._write(200, WIRES[service](*result))

    def _write(self, status: int, body: Any) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  (the base class's name)
        """Keep silent."""


def _amazon(answer: Answer, picture: Picture) -> dict[str, Any]:
    height, width = picture.shape[:2]
    labels: dict[str, Any] = {}
    for one in answer:
        left, top, right, bottom = one.box or (0, 0, width, height)
        entry = labels.setdefault(one.label, {"Name": one.label.title(), "Confidence": 0.0, "Instances": [], "Parents": []})
        box = {"Left": left / width, "Top": top / height, "Width": (right - left) / width, "Height": (bottom - top) / height}
        entry["Instances"].append({"BoundingBox": box, "Confidence": one.score * 100})
        entry["Confidence"] = max(entry["Confidence"], one.score * 100)
    return {
        "Labels": [*labels.values(), {"Name": "Street", "Confidence": 99.0, "Instances": [], "Parents": []}],
        "LabelModelVersion": "3.0",
    }


def _google(answer: Answer, picture: Picture) -> dict[str, Any]:
    height, width = picture.shape[:2]
    found = []
    for one in answer:
        left, top, right, bottom = one.box or (0, 0, width, height)
        corners = [(left, top), (right, top), (right, bottom), (left, bottom)]
        poly = {"normalizedVertices": [{"x": x / width, "y": y / height} for x, y in corners]}
        found.append({"mid": "/m/0", "name": one.label.title(), "score": one.score, "boundingPoly": poly})
    return {"responses": [{"localizedObjectAnnotations": found}]}


def _azure(answer: Answer, picture: Picture) -> dict[str, Any]:
    height, width = picture.shape[:2]
    found = []
    for one in answer:
        left, top, right, bottom = one.box or (0, 0, width, height)
        box = {"x": round(left), "y": round(top), "w": round(right - left), "h": round(bottom - top)}
        found.append({"boundingBox": box, "tags": [{"name": one.label, "confidence": one.score}]})
    return {"modelVersion": "2023-10-01", "metadata": {"width": width, "height": height}, "objectsResult": {"values": found}}


def _plain(answer: Answer, _: Picture) -> dict[str, Any]:
    return {"objects": [{"label": one.label, "score": one.score, "box": one.box} for one in answer]}


WIRES = {"amazon": _amazon, "google": _google, "azure": _azure, "plain": _plain}
