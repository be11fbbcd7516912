"""Ways to search for unfair inputs: one file each, found by name.  What several share is in `parts/`."""

from __future__ import annotations

from typing import Any

from evenhand.contract import Method, media_of
from evenhand.registry import Registry

METHODS: Registry[Method] = Registry("method", __name__, Method, strict=True)


def method(name: str, **parameters: Any) -> Method:
    """The search method of this name, with some parameters changed.

    >>> import evenhand as eh
    >>> eh.method("themis", batch=500).batch
    500
    """
    return METHODS.make(name, parameters)


def working_on(kind: str) -> list[str]:
    """The names of the methods that work on this kind of medium."""
    return [name for name, entry in METHODS.entries().items() if kind in (media_of(entry.make()) or (kind,))]
