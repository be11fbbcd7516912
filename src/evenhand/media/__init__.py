"""What a row shows: a line of a table, a picture under an editor's hand, a drawn portrait, a street with one change, a sentence."""

from __future__ import annotations

from evenhand.contract import Medium
from evenhand.registry import Registry

MEDIA: Registry[Medium] = Registry("medium", __name__, Medium)
