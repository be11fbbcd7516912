"""`package.module:name`, or `module.py:name`: a Python object that is imported; it is wrapped as if it had been given itself."""

from __future__ import annotations

import importlib
import re
import sys
from typing import Any

from evenhand.contract import Model
from evenhand.errors import InvalidArgument, ModelFailed
from evenhand.models.inputs import first_line
from evenhand.models.model_wishes import ModelWishes

_NAME = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


def accepts(given: Any) -> bool:
    """A text of this form."""
    return isinstance(given, str) and _NAME.fullmatch(given) is not None


def adapt(given: str, wishes: ModelWishes) -> Model:
    """Modules of the current folder can be named too."""
    home, _, name = given.partition(":")
    home = home.removesuffix(".py")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        found = importlib.import_module(home)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as fault:
        raise InvalidArgument(f"model={given!r} cannot be imported: {fault}") from fault
    except Exception as fault:  # the module is foreign code
        raise ModelFailed(f"importing {home} raised {type(fault).__name__}: {first_line(fault)}") from fault
    return wishes.again(found, wishes)
