"""A place where strange files are opened first: a process of its own, small in memory and time, that may die of them.

`examine` asks that process to open a file as its library would and to ask the model inside a few questions.  Only a file that leaves
it alive, and whose trees point to where they may, is opened by the caller.  What is looked at there is in `models/ward.py`.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import select
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO

from evenhand.errors import ModelFailed

SECONDS, SECONDS_A_MEGABYTE = 2.0, 1.0
"""CPU-seconds that a file may take, and as many more as it has megabytes."""
PATIENCE = 4.0
"""How many times longer it may take by the clock, on a machine that is busy with other things."""
LIBRARY_SECONDS = 600.0
"""So long its library may take to be loaded, by the clock: no file is open by then, and a machine may be very busy."""


def seconds_for(path: Path) -> float:
    """CPU-seconds that opening this file may take."""
    return SECONDS + SECONDS_A_MEGABYTE * path.stat().st_size / 1e6


KINDS = {
    "skops": "a skops file",
    "arrays": "a model as plain arrays",
    "onnx": "an ONNX file",
    "xgboost": "an XGBoost model",
    "lightgbm": "a LightGBM model",
    "catboost": "a CatBoost model",
    "treelite": "a Treelite model",
}


class Quarantine:
    """One process that opens files when asked, each in a child of its own; it starts with the first file and ends with this one."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._owner, self._lock = 0, threading.Lock()
        self._harmless: set[str] = set()

    def examine(self, kind: str, path: Path) -> None:
        """Return when the file is harmless; ModelFailed, in one line, when it is not."""
        key = f"{kind} {_digest(path)}"
        with self._lock:
            if key in self._harmless:
                return
            fault = self._ask(kind, path)
            if fault:
                raise ModelFailed(f"{path.name} is not {KINDS[kind]} that can be opened safely: {fault}; export the model again")
            self._harmless.add(key)

    def _ask(self, kind: str, path: Path) -> str:
        process = self._running()
        to, back = _pipes(process)
        patience, is_late = PATIENCE * seconds_for(path) + LIBRARY_SECONDS, False
        try:
            to.write(json.dumps({"kind": kind, "path": str(path.resolve())}).encode() + b"\n")
            to.flush()
            is_late = not select.select([back], [], [], patience)[0]
            line = b"" if is_late else back.readline()
        except OSError:
            line = b""
        if not line:
            self.close()
            return f"it was not opened within {patience:.0f} seconds" if is_late else "the process that opened it first did not survive"
        return str(json.loads(line)["fault"])

    def _running(self) -> subprocess.Popen[bytes]:
        """The process; a new one where there is none yet, where it died, or where it belongs to the process that we were forked from."""
        if self._process is None or self._owner != os.getpid() or self._process.poll() is not None:
            from evenhand.models import ward

            paths = os.pathsep.join(part for part in sys.path if part)
            alone = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-W", "ignore", "-c", f"import {ward.__name__} as ward; ward.serve()"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, **alone, "PYTHONPATH": paths},
            )
            self._owner = os.getpid()
        return self._process

    def close(self) -> None:
        """End the process, if it is ours."""
        process, self._process = self._process, None
        if process is not None and self._owner == os.getpid():
            process.kill()
            process.wait()
            for pipe in _pipes(process):
                pipe.close()


def _pipes(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    assert process.stdin is not None
    assert process.stdout is not None
    return process.stdin, process.stdout


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as fault:
        raise ModelFailed(f"{path.name} cannot be read: {fault.strerror or fault}") from None


QUARANTINE = Quarantine()
atexit.register(QUARANTINE.close)


def examine(kind: str, path: Path) -> None:
    """Open the file elsewhere first; ModelFailed when it bites.  The kinds are the keys of `KINDS`."""
    QUARANTINE.examine(kind, Path(path))
