"""Models with exactly known unfairness, to test the tests with."""

from __future__ import annotations

from evenhand.planted.shapes import Planted, shapes

__all__ = ["Planted", "shapes"]
