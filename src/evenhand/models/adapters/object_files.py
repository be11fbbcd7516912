"""Files that hold a Python object: skops, pickles and torch files; the object is wrapped as if it had been given itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from evenhand.contract import Model
from evenhand.models.model_files import PICKLES, TORCH, load_pickle, load_skops, load_torch
from evenhand.models.model_wishes import ModelWishes

LOADERS: dict[str, Callable[[Path, bool], Any]] = {
    ".skops": load_skops,
    **dict.fromkeys(PICKLES, load_pickle),
    **dict.fromkeys(TORCH, load_torch),
}


def accepts(given: Any) -> bool:
    """A path with one of the endings."""
    return isinstance(given, Path) and given.suffix.lower() in LOADERS and not given.is_dir()


def adapt(given: Path, wishes: ModelWishes) -> Model:
    """What would run foreign code is loaded only when it is trusted."""
    return wishes.again(LOADERS[given.suffix.lower()](given, wishes.trusted), wishes)
