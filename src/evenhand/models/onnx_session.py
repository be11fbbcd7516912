"""The one ONNX session of the package: opening a file safely, what it takes and gives, and asking it.

What goes in and how answers are read is the business of those who ask: tables, pictures, detectors, segmenters, inpainters.
"""

from __future__ import annotations

import hashlib
from ast import literal_eval
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.contract import Port
from evenhand.errors import InvalidArgument, ModelFailed, require
from evenhand.models.inputs import first_line
from evenhand.models.quarantine import examine

NUMPY_TYPES: dict[str, Any] = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(float16)": np.float16,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(uint8)": np.uint8,
    "tensor(bool)": np.bool_,
    "tensor(string)": np.str_,
}


@dataclass(frozen=True, eq=False)
class OnnxSession:
    """An opened file: its inputs and outputs by name, and answers that fail in one line."""

    file: str
    content: bytes = field(repr=False)
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    runtime_session: Any = field(repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "runtime_session": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({**state, "runtime_session": started(state["content"], threads=1)})  # another process has its own

    @cached_property
    def digest(self) -> str:
        """Twenty-four digits of the file's content."""
        return hashlib.sha256(self.content).hexdigest()[:24]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The classes that the file names in its own notes, as Ultralytics writes them: "{0: 'person', 1: 'car'}"; none without."""
        try:
            told = literal_eval(self.runtime_session.get_modelmeta().custom_metadata_map.get("names", ""))
        except (ValueError, SyntaxError, MemoryError, RecursionError, AttributeError):
            return ()
        listed = [told.get(place) for place in range(len(told))] if isinstance(told, dict) else told
        return tuple(listed) if isinstance(listed, (list, tuple)) and listed and all(isinstance(one, str) for one in listed) else ()

    @property
    def fixed_rows(self) -> int | None:
        """The only number of inputs that the file takes at once; None where it takes any."""
        first = self.inputs[0].shape[0] if self.inputs and self.inputs[0].shape else None
        return first if isinstance(first, int) and first > 0 else None

    def run(self, feed: Mapping[str, NDArray[Any]], outputs: Sequence[str] = ()) -> list[Any]:
        """The named outputs, or all of them."""
        try:
            found: list[Any] = self.runtime_session.run(list(outputs) or None, dict(feed))
        except Exception as fault:  # onnxruntime raises its own types, none of them public
            raise ModelFailed(f"{self.file}: onnxruntime raised {type(fault).__name__}: {first_line(fault)}") from fault
        return found

    def portions(self, asked: NDArray[Any], ask: Callable[[NDArray[Any]], NDArray[Any]], usual: int) -> NDArray[Any]:
        """Answers to any number of inputs: asked `usual` at once, or as many as the file takes, the last portion filled up."""
        size = self.fixed_rows or usual
        parts = []
        for at in range(0, max(len(asked), 1), size):
            part = asked[at : at + size]
            missing = self.fixed_rows - len(part) if self.fixed_rows and len(part) else 0
            parts.append(ask(np.concatenate([part, np.repeat(part[-1:], missing, axis=0)]) if missing else part)[: len(part)])
        return np.concatenate(parts)


def open_onnx(path: str | Path, threads: int | None = None) -> OnnxSession:
    """Open an ONNX file; `threads` limits what one question may use, None leaves it to onnxruntime."""
    require("onnxruntime", "onnx")
    path = Path(path)
    try:
        content = path.read_bytes()
    except OSError as fault:
        raise InvalidArgument(f"the ONNX file {str(path)!r} cannot be read: {fault.strerror}") from None
    examine("onnx", path)
    try:
        session = started(path, threads)
    except Exception as fault:  # onnxruntime raises its own types, none of them public
        raise ModelFailed(f"{path.name} is not an ONNX file that onnxruntime can load: {first_line(fault)}") from fault
    return OnnxSession(path.name, content, _ports(session.get_inputs()), _ports(session.get_outputs()), session)


def started(source: Path | bytes, threads: int | None = None) -> Any:
    """onnxruntime's own session of a file or of its content; the quarantine calls this first, in a process that may die."""
    runtime = require("onnxruntime", "onnx")
    options = runtime.SessionOptions()
    options.log_severity_level = 3
    if threads is not None:
        options.intra_op_num_threads = threads
    return runtime.InferenceSession(source if isinstance(source, bytes) else str(source), options, providers=["CPUExecutionProvider"])


def _ports(entries: Sequence[Any]) -> tuple[Port, ...]:
    return tuple(Port(str(each.name), tuple(each.shape or ()), str(each.type)) for each in entries)
