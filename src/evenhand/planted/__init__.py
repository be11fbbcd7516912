"""Models with exactly known unfairness, to test the tests with: on tables, portraits, texts and scenes."""

from __future__ import annotations

from evenhand.planted.doors import door_camera
from evenhand.planted.letters import letters
from evenhand.planted.recogniser_laws import LawfulRecogniser
from evenhand.planted.shapes import Planted, shapes
from evenhand.planted.subjects import PlantedSubject

__all__ = ["LawfulRecogniser", "Planted", "PlantedSubject", "door_camera", "letters", "shapes"]
