"""`package.module:name`: a Python object of the user's, imported; modules of the current folder can be named too."""

from __future__ import annotations

import importlib
import re
import sys
from typing import Any

from evenhand.errors import InvalidArgument, ModelFailed
from evenhand.models.inputs import first_line

_NAME = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


def is_python_name(given: object) -> bool:
    """Whether this is a text of the form `module:object`."""
    return isinstance(given, str) and _NAME.fullmatch(given) is not None


def imported(given: str, what: str = "model") -> Any:
    """The object of this name; `what` it is to be is named in errors."""
    home, _, name = given.partition(":")
    home = home.removesuffix(".py")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        found = importlib.import_module(home)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as fault:
        raise InvalidArgument(
            f"{what}={given!r} cannot be imported: {fault}; "
            "modules are looked for in the folder where the command runs, and among installed packages"
        ) from fault
    except Exception as fault:  # the module is foreign code
        raise ModelFailed(f"importing {home} raised {type(fault).__name__}: {first_line(fault)}") from fault
    return found
