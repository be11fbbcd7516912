"""Ways to search for unfair inputs: one file each, found by name.  What several share is in `parts/`."""

from __future__ import annotations

from typing import Any

from evenhand.contract import Method
from evenhand.registry import Registry

METHODS: Registry[Method] = Registry("method", __name__, Method, strict=True)


def method(name: str, **parameters: Any) -> Method:
    """The search method of this name, with some parameters changed.

    >>> import evenhand as eh
    >>> eh.method("themis", batch=500).batch
    500
    """
    return METHODS.make(name, parameters)
