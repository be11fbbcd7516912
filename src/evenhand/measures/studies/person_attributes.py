"""People in the scenes by what annotations say of them: skin tone, perceived age, clothing, a wheelchair.  Who is missed more often?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.contract import Detecting, StudyCase, StudySection
from evenhand.measures.object_trials import trials_of_answers
from evenhand.measures.object_verdicts import ObjectRules
from evenhand.measures.person_verdicts import PeopleTrials, light_of, person_verdicts
from evenhand.media.object_facts import ScenePicture
from evenhand.media.scenes import Scenes

LEVEL = 0.025
"""Half of what a command may err: classes of objects are judged beside people."""


@dataclass(frozen=True)
class PersonAttributes:
    """Misses on the unchanged pictures, by every attribute that objects have, with size, place, crowding and light alike."""

    media: ClassVar[tuple[str, ...]] = ("scenes",)

    def study(self, case: StudyCase, rng: np.random.Generator) -> StudySection:  # noqa: ARG002  (nothing here is random)
        """Nothing where no object has an attribute, or where the recogniser only counts."""
        medium = case.medium
        if not isinstance(medium, Scenes) or not isinstance(case.model, Detecting) or not _has_attributes(medium):
            return StudySection({})
        found = person_verdicts(people_trials(medium, case), ObjectRules(level=LEVEL))
        return StudySection(found.as_dict(), tuple(f"{one.sentence}." for one in found.answers), found.claims())


def _has_attributes(medium: Scenes) -> bool:
    return any(one.attributes for scene in medium.scenes for one in scene.instances if one.counted)


def people_trials(medium: Scenes, case: StudyCase) -> PeopleTrials:
    """Every counted object of which something is said, in the order of the scenes."""
    every = trials_of_answers(medium, case.model, [ScenePicture(place) for place in range(len(medium.scenes))])
    objects = [(scene, one) for scene in medium.scenes for one in scene.instances if one.counted]
    chosen = np.array([bool(one.attributes) for _, one in objects], bool)
    light = np.array([light_of(scene, one) for scene, one in objects if one.attributes]).reshape(-1, 2)
    told = [one.attributes for _, one in objects if one.attributes]
    return PeopleTrials(every.misses.where(chosen), told, light[:, 0], light[:, 1], every.runs)
