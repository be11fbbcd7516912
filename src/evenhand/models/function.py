"""Any Python callable as a model: it gets a frame or a matrix, and returns labels, one probability, or scores."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from evenhand.arrays import Rows, Scores
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import EvenhandError, InvalidArgument, ModelFailed
from evenhand.models.answer_shapes import Reader, reader_for, settle
from evenhand.models.inputs import Takes, fingerprint_by_answers, first_line, guarded, inputs_of, probe_rows

_FRAME_NAMES = ("df", "frame", "table", "data", "dataframe", "data_frame")
_CODES_NAMES = ("x", "rows", "codes", "matrix", "array")


@dataclass(frozen=True, eq=False)
class FunctionModel:
    """A callable, what it takes and how its answers are read."""

    function: Callable[[Any], Any]
    domain: TabularDomain
    takes: Takes
    reader: Reader
    batch_rows: int = 16_384

    @property
    def classes(self) -> tuple[Any, ...]:
        """The label values, in the order of the score columns."""
        return self.reader.classes

    @property
    def is_hard(self) -> bool:
        """Whether the function only says labels."""
        return self.reader.is_hard

    def scores(self, rows: Rows) -> Scores:
        """The function's answers as scores."""
        inputs = inputs_of(rows, self.domain, self.takes)
        return self.reader.read(guarded(lambda: self.function(inputs), "the model function"), len(rows))

    @cached_property
    def _fingerprint(self) -> str:
        return fingerprint_by_answers("function", self.scores, self.domain)

    def fingerprint(self) -> str:
        """A digest of the answers to fixed rows."""
        return self._fingerprint


def from_callable(
    function: Callable[[Any], Any],
    domain: TabularDomain,
    classes: Sequence[Any] | None = None,
    takes: Takes | None = None,
    returns: str | None = None,
) -> FunctionModel:
    """A callable as a model.  Without `takes`, annotation and argument name decide, else whichever of frame and codes it answers."""
    reader = reader_for(domain, classes)
    rows = probe_rows(domain)
    tried: list[tuple[Takes, EvenhandError]] = []
    for kind in _candidates(function, takes):
        try:
            inputs = inputs_of(rows, domain, kind)
            answer = guarded(lambda inputs=inputs: function(inputs), f"the model function, given {kind!r},")  # type: ignore[misc]
            return FunctionModel(function, domain, kind, settle(reader, answer, len(rows), returns))
        except InvalidArgument:
            raise
        except EvenhandError as fault:
            tried.append((kind, fault))
    if len(tried) == 1:
        raise tried[0][1]
    raise ModelFailed(
        "the model function answers neither a frame nor a matrix of codes: "
        + "; ".join(f"takes={kind!r}: {first_line(fault)}" for kind, fault in tried)
        + ".  Say takes='frame', 'codes' or 'matrix' to choose"
    )


def _candidates(function: Callable[[Any], Any], takes: Takes | None) -> tuple[Takes, ...]:
    if takes is not None:
        return (takes,)
    try:
        first = next(iter(inspect.signature(function).parameters.values()))
    except (ValueError, TypeError, StopIteration):
        return ("frame", "codes")
    hint = str(first.annotation) if first.annotation is not inspect.Parameter.empty else ""
    if "DataFrame" in hint or first.name.lower() in _FRAME_NAMES:
        return ("frame",) if hint else ("frame", "codes")
    if "ndarray" in hint or "NDArray" in hint:
        return ("codes",)
    return ("codes", "frame") if first.name.lower() in _CODES_NAMES else ("frame", "codes")
