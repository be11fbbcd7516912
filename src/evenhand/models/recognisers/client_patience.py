"""Calls of a service's own client that are tried again when they fail."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from evenhand.errors import EvenhandError, ModelFailed
from evenhand.limits import Count, NotNegative, check_limits

T = TypeVar("T")


@dataclass(frozen=True)
class Patience:
    """How often a failing call is tried, and how long the first pause is; each pause doubles."""

    attempts: Count = 4
    pause_seconds: NotNegative = 0.5

    def __post_init__(self) -> None:
        check_limits(self)

    def call(self, what: str, ask: Callable[[], T]) -> T:
        """The answer, or ModelFailed with the last fault."""
        for attempt in range(self.attempts):
            try:
                return ask()
            except EvenhandError:
                raise
            except Exception as fault:  # clients raise their own trees of errors
                if attempt + 1 == self.attempts or _is_final(fault):
                    raise ModelFailed(f"{what} did not answer after {attempt + 1} attempts: {type(fault).__name__}: {fault}") from fault
                time.sleep(self.pause_seconds * 2**attempt)
        raise AssertionError("unreachable")


def _is_final(fault: Exception) -> bool:
    """Whether trying again is useless: the request itself was refused."""
    response = getattr(fault, "response", None)
    status = getattr(fault, "status_code", None) or getattr(fault, "code", None) or getattr(response, "status_code", None)
    if isinstance(response, Mapping):
        status = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
    status = getattr(status, "value", status)
    return isinstance(status, int) and 400 <= status < 500 and status not in (408, 429)
