"""One task tried once, wherever that is: its answer, or a fault that survives the way back."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from evenhand.errors import EvenhandError, WorkerError
from evenhand.values import TaskEnd


@dataclass(frozen=True)
class Attempt:
    """What came of a task."""

    answer: Any = None
    fault: EvenhandError | None = None

    def end(self, place: int) -> TaskEnd:
        """As the end of the task at this place."""
        return TaskEnd(place, self.answer, self.fault)


def attempt(do: Callable[[Any], Any], task: Any) -> Attempt:
    """Carry out a task; whatever it raises, but an interruption, is its fault and not the worker's."""
    try:
        return Attempt(do(task))
    except EvenhandError as fault:
        return Attempt(fault=portable(fault))
    except Exception as fault:  # foreign code: its crash is told, and the worker lives on
        return Attempt(fault=WorkerError(f"a task crashed with {type(fault).__name__}: {fault}"))


def portable(fault: EvenhandError) -> EvenhandError:
    """The fault itself where it survives pickling; else the nearest kind above it with the same words."""
    for kind in type(fault).__mro__:
        try:
            made: EvenhandError = fault if kind is type(fault) else kind(str(fault))
            if str(pickle.loads(pickle.dumps(made))) == str(fault):  # noqa: S301 - our own bytes
                return made
        except Exception:  # noqa: S112 - one that cannot be made of its words alone is passed over
            continue
    return WorkerError(str(fault))
