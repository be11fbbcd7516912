"""Models with exactly known unfairness, to test the tests with: on tables, portraits and texts."""

from __future__ import annotations

from evenhand.planted.doors import door_camera
from evenhand.planted.letters import letters
from evenhand.planted.shapes import Planted, shapes
from evenhand.planted.subjects import PlantedSubject

__all__ = ["Planted", "PlantedSubject", "door_camera", "letters", "shapes"]
