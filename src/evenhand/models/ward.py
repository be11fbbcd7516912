"""The other side of `models/quarantine.py`: opens one file after another, each in a child with little memory and time.

Runs in a process of its own.  Nothing here is meant to be called by others but `serve`.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.errors import EvenhandError
from evenhand.models.native_boosters import lightgbm_text
from evenhand.models.quarantine import PATIENCE, seconds_for
from evenhand.models.tree_bounds import (
    check_catboost,
    check_lightgbm,
    check_lightgbm_parameters,
    check_lightgbm_text,
    check_object,
    check_treelite,
    check_xgboost,
)

SPARE_BYTES = 400 << 20
"""What a file may take beside some times its own size."""

TIMES_ITS_SIZE = 8
WRITTEN = {"catboost": 60}
"""Kinds that are written out in another format to be walked through, and how many times larger that may be."""
MOST_OF_A_LINE = 300
PREPARED = {
    "skops": ("skops.io", "sklearn.ensemble", "sklearn.pipeline"),
    "arrays": ("sklearn.ensemble", "sklearn.pipeline"),
    "xgboost": ("xgboost",),
    "lightgbm": ("lightgbm",),
    "catboost": ("catboost",),
    "treelite": ("treelite",),
    "onnx": ("onnxruntime",),
}


def serve() -> None:
    """Answer questions on standard input until it ends; what libraries print goes nowhere."""
    back = os.fdopen(os.dup(1), "wb", buffering=0)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        back.write(json.dumps({"fault": _opened_by_a_child(str(asked["kind"]), Path(asked["path"]))}).encode() + b"\n")


def _opened_by_a_child(kind: str, path: Path) -> str:
    """What went wrong; empty when nothing did."""
    for module in PREPARED[kind]:  # imported once here; a fork has them already
        try:
            __import__(module)
        except ImportError:
            return ""  # the caller says it better, by naming the extra
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        _be_the_child(kind, path, write)
    os.close(write)
    try:
        return _awaited(child, read, seconds_for(path))
    finally:
        _written_out(child).unlink(missing_ok=True)


def _written_out(child: int) -> Path:
    """Where a child may write what it read in another format, to walk through all of it."""
    return Path(tempfile.gettempdir()) / f"evenhand-ward-{child}.json"


def _be_the_child(kind: str, path: Path, write: int) -> None:
    """Open the file, tell what went wrong, and end without any clean-up."""
    told = "nothing was said"
    try:
        _limit(path, WRITTEN.get(kind, 0))
        EXAMINERS[kind](path)
        told = ""
    except MemoryError:
        told = "it needs far more memory than a file of its size should"
    except EvenhandError as fault:
        told = str(fault)
    except BaseException as fault:  # whatever a library raises is the answer
        told = " ".join(f"{type(fault).__name__}: {fault}".split())[:MOST_OF_A_LINE]
    finally:
        os.write(write, b"!" + told.encode("utf-8", "replace"))
        os._exit(0)


def _awaited(child: int, read: int, seconds: float) -> str:
    deadline, told, is_over = time.monotonic() + PATIENCE * seconds, b"", False
    while (left := deadline - time.monotonic()) > 0 and select.select([read], [], [], left)[0]:
        part = os.read(read, 4096)
        if not part:
            break
        told += part
    else:
        is_over = True  # a child that is given no processor uses no time of it
        os.kill(child, signal.SIGKILL)
    os.close(read)
    _, status, used = os.wait4(child, 0)
    if told.startswith(b"!"):
        return told[1:].decode("utf-8", "replace")
    killed = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    is_spent = killed == signal.SIGKILL and used.ru_utime + used.ru_stime > 0.9 * seconds  # the signal before may come too late
    if is_over or is_spent or killed == signal.SIGXCPU:
        return f"it did not open within {seconds:.0f} seconds"
    return f"opening it kills the process ({signal.Signals(killed).name})" if killed else "opening it ends the process"


def _limit(path: Path, times_written: int) -> None:
    """Little memory above what is used already, little time, and no file but one of so many times the size where one is needed."""
    import resource

    pages = int(Path("/proc/self/statm").read_text().split()[5]) if Path("/proc/self/statm").exists() else 0
    most = pages * os.sysconf("SC_PAGE_SIZE") + SPARE_BYTES + TIMES_ITS_SIZE * path.stat().st_size
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    seconds = int(seconds_for(path))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 2))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    written = times_written * (path.stat().st_size + (1 << 20))
    resource.setrlimit(resource.RLIMIT_FSIZE, (written, written))


def trial_rows(width: int) -> Any:
    """Rows that lead into many corners of a tree: zeros, tiny and huge numbers, and nothing at all."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((48, width)) * 10.0 ** rng.integers(-2, 7, (48, 1))
    return np.concatenate([rows, np.zeros((1, width)), np.full((1, width), 1e30), np.full((1, width), -1e30)])


def _examine_skops(path: Path) -> None:
    import skops.io

    from evenhand.models.model_files import TRUSTED_TYPES

    if _names_lightgbm(path):
        _look_before_lightgbm()
    loaded = skops.io.load(path, trusted=list(TRUSTED_TYPES))
    check_object(loaded)
    _ask_estimator(loaded)


def _names_lightgbm(path: Path) -> bool:
    with zipfile.ZipFile(path) as archive:
        return "lightgbm" in json.dumps(json.loads(archive.read("schema.json")))  # written again: a name may be spelt with escapes


def _look_before_lightgbm() -> None:
    """From now on, in this process, a booster's text is looked at before LightGBM reads it, wherever in the file it came from."""
    import lightgbm

    kind: Any = lightgbm.Booster
    build = kind.__setstate__

    def looked_at(booster: Any, state: dict[str, Any]) -> None:
        for text in (state.get("_handle"), state.get("handle")):
            if isinstance(text, str):
                check_lightgbm_parameters(text)
                check_lightgbm_text(text)
        build(booster, state)

    kind.__setstate__ = looked_at


def _examine_arrays(path: Path) -> None:
    from evenhand.models.estimator_arrays import read_arrays

    _ask_estimator(read_arrays(path))


def _ask_estimator(loaded: Any) -> None:
    width = getattr(loaded, "n_features_in_", None)
    if isinstance(width, int) and 0 < width < 100_000 and hasattr(loaded, "predict"):
        _tried(lambda: loaded.predict(trial_rows(width)))


def _tried(ask: Callable[[], Any]) -> None:
    """A first question; a refusal in Python's own words is no danger, the caller will meet it again."""
    try:
        ask()
    except MemoryError:
        raise
    except Exception:  # noqa: S110 - a pipeline may want words instead of numbers
        pass


def _examine_xgboost(path: Path) -> None:
    import xgboost

    booster = xgboost.Booster()
    booster.load_model(str(path))
    check_xgboost(booster)
    rows = trial_rows(booster.num_features())
    _tried(lambda: booster.predict(xgboost.DMatrix(rows), validate_features=False))


def _examine_lightgbm(path: Path) -> None:
    import lightgbm

    text = lightgbm_text(path)
    check_lightgbm_text(text)
    booster = lightgbm.Booster(model_str=text)
    check_lightgbm(booster)
    rows = trial_rows(booster.num_feature())
    _tried(lambda: booster.predict(np.concatenate([rows, np.full((1, rows.shape[1]), np.nan)])))


def _examine_catboost(path: Path) -> None:
    import catboost

    model = catboost.CatBoost()
    model.load_model(str(path))
    check_catboost(model)
    # Writing it out follows every tree, border and statistic; predictions alone follow those that some rows lead to.
    model.save_model(str(_written_out(os.getpid())), format="json")
    _tried(lambda: model.predict(_with_texts(trial_rows(len(model.feature_names_)), model.get_cat_feature_indices())))


def _examine_treelite(path: Path) -> None:
    import treelite

    model = treelite.Model.deserialize(str(path))
    check_treelite(json.loads(model.dump_as_json(pretty_print=False)))
    rows = trial_rows(int(model.num_feature)).astype(np.float32 if str(model.input_type) == "float32" else np.float64)
    _tried(lambda: treelite.gtil.predict(model, rows, nthread=1))


def _with_texts(rows: Any, places: Any) -> Any:
    """The rows with words in some columns, as categories are."""
    mixed = rows.astype(object)
    for place in places:
        mixed[:, place] = [f"word {number % 7}" for number in range(len(mixed))]
    return mixed


def _examine_onnx(path: Path) -> None:
    from evenhand.models.onnx_session import started

    session = started(path, threads=1)
    feed = {port.name: _zeros(port.shape, port.type) for port in session.get_inputs()}
    _tried(lambda: _affordable(session, feed))


def _zeros(shape: Any, kind: str) -> Any:
    from evenhand.models.onnx_session import NUMPY_TYPES

    sizes = [side if isinstance(side, int) and side > 0 else 2 for side in shape or ()]
    return np.zeros(sizes, NUMPY_TYPES.get(kind, np.float32))


def _affordable(session: Any, feed: dict[str, Any]) -> None:
    """Answers to nothing at all must fit into little memory."""
    try:
        session.run(None, feed)
    except Exception as fault:
        if "alloc" in str(fault).lower():
            raise MemoryError from fault
        raise


EXAMINERS: dict[str, Callable[[Path], None]] = {
    "skops": _examine_skops,
    "arrays": _examine_arrays,
    "xgboost": _examine_xgboost,
    "lightgbm": _examine_lightgbm,
    "catboost": _examine_catboost,
    "treelite": _examine_treelite,
    "onnx": _examine_onnx,
}
