"""Functions of plain loops, compiled where numba is installed; without it they run as they are, slowly, and say the same."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])

IS_COMPILED = find_spec("numba") is not None
"""Whether loops are worth running."""


def compiled(function: Function) -> Function:
    """The function, compiled at its first call; the compiled form is kept on disk."""
    if not IS_COMPILED:
        return function
    from numba import njit

    return cast(Function, njit(cache=True, error_model="numpy")(function))
