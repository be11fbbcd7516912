"""Models with exactly known unfairness, to test the tests with: on tables, portraits, texts and scenes.

>>> import evenhand as eh
>>> shape = eh.planted.shapes()["pocket"]
>>> 0 < float(shape.rate) < 0.05  # counted, not sampled
True
"""

from __future__ import annotations

from evenhand.planted.doors import door_camera
from evenhand.planted.letters import letters
from evenhand.planted.recogniser_laws import LawfulRecogniser
from evenhand.planted.shapes import Planted, shapes
from evenhand.planted.subjects import PlantedSubject

__all__ = ["LawfulRecogniser", "Planted", "PlantedSubject", "door_camera", "letters", "shapes"]
