"""`package.module:name`, or `module.py:name`: a Python object that is imported; it is wrapped as if it had been given itself."""

from __future__ import annotations

from typing import Any

from evenhand.contract import Model
from evenhand.models.model_wishes import ModelWishes
from evenhand.models.python_objects import imported, is_python_name


def accepts(given: Any) -> bool:
    """A text of this form."""
    return is_python_name(given)


def adapt(given: str, wishes: ModelWishes) -> Model:
    """Modules of the current folder can be named too."""
    return wishes.again(imported(given), wishes)
