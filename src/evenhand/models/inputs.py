"""From rows of codes to what a model takes (a frame, a matrix), the fixed rows that models are probed with, and fingerprints."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index, Rows, Scores
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import EvenhandError, InvalidArgument, ModelFailed

if TYPE_CHECKING:
    import pandas as pd

Takes = Literal["frame", "codes", "matrix", "codes_frame"]
TAKES: tuple[Takes, ...] = get_args(Takes)

_PROBE_SEED = 20_211_114
PROBE_ROWS = 64
FINGERPRINT_ROWS = 512


def check_takes(takes: str | None) -> Takes | None:
    """The argument, once it is known to be one of the four."""
    if takes is not None and takes not in TAKES:
        raise InvalidArgument(
            f"takes={takes!r} must be 'frame' (a pandas table of the original cells), 'matrix' (the same as an array), "
            "'codes' (the array of codes) or 'codes_frame' (codes under the columns' names)"
        )
    return takes


def inputs_of(rows: Rows, domain: TabularDomain, takes: Takes) -> Any:
    """Rows of codes in the shape that the model takes."""
    if takes == "codes":
        return rows
    if takes == "codes_frame":
        import pandas as pd

        return pd.DataFrame(rows, columns=list(domain.names))
    frame = domain.decode(rows)
    return frame if takes == "frame" else matrix_of(frame)


def matrix_of(frame: pd.DataFrame) -> NDArray[Any]:
    """Cells as one array: float64 when every cell is a number, objects otherwise."""
    try:
        return frame.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        return frame.to_numpy(dtype=object)


def probe_rows(domain: TabularDomain, rows: int = PROBE_ROWS) -> Rows:
    """Rows for trying a model out: always the same ones for the same domain."""
    return domain.sample(rows, np.random.default_rng(_PROBE_SEED))


def probe_places(total: int, most: int) -> Index:
    """Which rows of a table to try a model out on: at most so many, in order, always the same ones."""
    return np.sort(np.random.default_rng(_PROBE_SEED).permutation(total)[:most]).astype(np.intp)


def fingerprint_by_answers(kind: str, scores: Callable[[Rows], Scores], domain: TabularDomain) -> str:
    """A digest of what the model answers to fixed rows; for models without readable weights."""
    answers = np.round(np.asarray(scores(probe_rows(domain, FINGERPRINT_ROWS)), dtype=np.float64), 6) + 0.0
    return f"{kind}-{hashlib.sha256(answers.tobytes()).hexdigest()[:24]}"


def guarded(ask: Callable[[], Any], what: str) -> Any:
    """What `ask` returns; whatever foreign code raises becomes a ModelFailed that says what was tried."""
    try:
        return ask()
    except EvenhandError:
        raise
    except Exception as fault:
        raise ModelFailed(f"{what} raised {type(fault).__name__}: {first_line(fault)}") from fault


def first_line(fault: BaseException, most: int = 300) -> str:
    """The beginning of an error's text."""
    text = " ".join(str(fault).split())
    return text[:most] + ("..." if len(text) > most else "")
