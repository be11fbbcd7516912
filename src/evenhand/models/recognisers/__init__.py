"""Recognisers of objects: embedded ones and paid services by name, one file each; detectors from files; what several share."""

from __future__ import annotations

from evenhand.contract import NamedRecogniser
from evenhand.registry import Registry

RECOGNISERS: Registry[NamedRecogniser] = Registry("recogniser", __name__, NamedRecogniser)
