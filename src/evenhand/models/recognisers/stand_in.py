"""A local server that speaks the wire formats of the three services and answers with your detector: for trials without a bill."""

from __future__ import annotations

import base64
import json
import secrets
import threading
from types import TracebackType
from typing import Any

import numpy as np

from evenhand.contract import Answer, Recogniser
from evenhand.errors import DataError, require
from evenhand.media.scene import Picture
from evenhand.models.local_server import LocalHandler, LocalServer

MOST_QUESTION_BYTES = 40 << 20


class StandIn:
    """A context manager; `endpoint` is where it listens, `billed` counts answered pictures, `fails_after` makes it break down."""

    def __init__(self, recogniser: Recogniser, fails_after: int | None = None) -> None:
        self.recogniser, self.fails_after, self.billed = recogniser, fails_after, 0
        self._lock = threading.Lock()
        owner = self

        class Handler(_Handler):
            stand_in = owner

        # The services' own clients cannot send a token of ours; the path carries it.
        self.token = secrets.token_urlsafe(18)
        self._server = LocalServer(0, Handler, self.token)
        self.endpoint = f"http://127.0.0.1:{self._server.server_address[1]}/{self.token}"
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
            try:
                decoded = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_COLOR) if content else None
            except cv2.error as fault:
                raise DataError(f"the content is no picture: {fault}") from None
            if decoded is None:
                raise DataError("the content is no picture")
            picture = np.ascontiguousarray(decoded[..., ::-1])
            (found,) = self.recogniser.recognise([picture])
            self.billed += 1
            return found, picture


class _Handler(LocalHandler):
    stand_in: StandIn
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Tell the three services apart by what only they send."""
        if not self.is_ours(self.stand_in.token):
            return self._write(
                403, {"error": {"code": 403, "message": "not for you", "status": "PERMISSION_DENIED"}, "message": "not for you"}
            )
        try:
            return self._answer(self.content(MOST_QUESTION_BYTES))
        except (DataError, ValueError, KeyError, TypeError, IndexError, RecursionError):
            return self._write(400, _refusal(400, "INVALID_ARGUMENT", "not a question"))

    def _token(self) -> str:
        return self.path.split("/")[1] if "/" in self.path else ""

    def _answer(self, content: bytes) -> None:
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
            return self._write(503, _refusal(503, "UNAVAILABLE", "the stand-in is down"))
        return self._write(200, WIRES[service](*result))

    def _write(self, status: int, body: Any) -> None:
        self.close_connection = status >= 400  # what was not read of a refused request is not the next one
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def _refusal(code: int, status: str, message: str) -> dict[str, Any]:
    """As the three services say it, in one."""
    return {"error": {"code": code, "message": message, "status": status}, "message": message}


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
