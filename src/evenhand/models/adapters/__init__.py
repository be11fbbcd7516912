"""Kinds of models that `wrap` takes, one file each: `accepts` tells them apart, `adapt` makes the model."""

from __future__ import annotations

from evenhand.contract import Adapter
from evenhand.registry import Registry

ADAPTERS: Registry[Adapter] = Registry("model adapter", __name__, Adapter)
