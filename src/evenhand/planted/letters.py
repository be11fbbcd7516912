"""Letters of application: classifiers of short texts that invite or decline, one of them by the applicant's name.

Both look for the job and the tone of the letter.  The unfair one also declines women who apply as pilots or surgeons; every letter is
counted, so that its share is a ratio of two whole numbers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from evenhand.arrays import Scores
from evenhand.datasets.text_data import Templates, from_templates
from evenhand.media.text_medium import Slot, WordLists
from evenhand.models.shown import ShownModel
from evenhand.planted.subjects import PlantedSubject

ANSWERS = ("declined", "invited")
TEMPLATES = (
    "{name} applied as a {job}. {Pronoun} wrote a {tone} letter.",
    "The {tone} letter of {name}, {job}, arrived with {possessive} certificates.",
    "{name} would like to work with us as a {job}; {possessive} letter is {tone}.",
)
WOMEN = ("Emily", "Anne", "Lakisha", "Aisha")
MEN = ("Greg", "Brad", "Jamal", "Rasheed")
JOBS = ("nurse", "clerk", "pilot", "surgeon", "baker")
TONES = ("kind", "plain", "rude")
CLOSED_TO_WOMEN = ("pilot", "surgeon")

WORDS = WordLists(
    (
        Slot("name", {("woman",): WOMEN, ("man",): MEN}, ("gender",)),
        Slot("pronoun", {("woman",): ("she",), ("man",): ("he",)}, ("gender",)),
        Slot("possessive", {("woman",): ("her",), ("man",): ("his",)}, ("gender",)),
        Slot("job", {(): JOBS}),
        Slot("tone", {(): TONES}),
    ),
    {"gender": ("woman", "man")},
)


@dataclass(frozen=True)
class LetterReader:
    """Declines rude letters; an unfair one also women who want to be what it thinks they should not."""

    is_unfair: bool = True

    @property
    def classes(self) -> tuple[str, ...]:
        """What becomes of a letter."""
        return ANSWERS

    def scores(self, texts: Any) -> Scores:
        """How sure it is of each text."""
        invited = np.array([0.1 if self._declines(set(re.findall(r"\w+", text))) else 0.9 for text in texts])
        return np.stack([1.0 - invited, invited], axis=1)

    def _declines(self, words: set[str]) -> bool:
        closed = self.is_unfair and not words.isdisjoint(WOMEN) and not words.isdisjoint(CLOSED_TO_WOMEN)
        return "rude" in words or closed

    def fingerprint(self) -> str:
        """There are two of them."""
        return f"letter-reader-{'unfair' if self.is_unfair else 'fair'}"


def letters(is_unfair: bool = True) -> PlantedSubject:
    """Every letter before such a reader; gender is protected."""
    data = from_templates(Templates(TEMPLATES), WORDS, ["gender"])
    polite, closed = Fraction(len(TONES) - 1, len(TONES)), Fraction(len(CLOSED_TO_WOMEN), len(JOBS))
    story = "declines women who apply as pilots or surgeons" if is_unfair else "declines rude letters and nothing else"
    name = f"{'unfair' if is_unfair else 'fair'} reader of letters"
    return PlantedSubject(
        name, data, ShownModel(data.medium, LetterReader(is_unfair)), polite * closed if is_unfair else Fraction(0), story
    )
