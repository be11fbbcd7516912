"""Readers of texts with tempers: single words move them, as rare names move a real classifier, and perhaps the gender behind the words too.

One with `lean` 0 knows nothing of gender: whoever blames it blames the names.  The tempers are drawn once for every word, and once
more for every word in every template, from the seed alone.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from evenhand.arrays import Scores
from evenhand.datasets.dataset import Dataset
from evenhand.datasets.text_data import Templates, from_templates
from evenhand.media.text_medium import Slot, WordLists

ANSWERS = ("refused", "invited")
TEXTS = (
    "{name} applied as a {job}. {Pronoun} wrote kindly.",
    "{name} would like to work as a {job}.",
    "We met {name}, who asked about the post of a {job}.",
    "Dear {name}, your application as a {job} arrived.",
)
JOBS = ("nurse", "pilot", "teacher", "cook")


def named_letters(names: int) -> Dataset:
    """Letters with so many made-up names of women and as many of men."""
    lists = {("woman",): tuple(f"Wyna{k}" for k in range(names)), ("man",): tuple(f"Morn{k}" for k in range(names))}
    pronouns = Slot("pronoun", {("woman",): ("she",), ("man",): ("he",)}, ("gender",))
    words = WordLists((Slot("name", lists, ("gender",)), pronouns, Slot("job", {(): JOBS})), {"gender": ("woman", "man")})
    return from_templates(Templates(TEXTS), words, ["gender"])


@lru_cache(maxsize=100_000)
def _drawn(seed: int, text: str) -> float:
    """A number from a normal distribution, always the same for the same text."""
    return float(np.random.default_rng([seed, zlib.crc32(text.encode())]).normal())


@dataclass(frozen=True)
class NameReader:
    """Scores jobs, names and names in their templates by lot; `lean` is how much more a man's name is worth.

    temper: the standard deviation of what a name is worth.  fickle: of what it is worth in one template beyond that.
    """

    seed: int
    lean: float = 0.0
    temper: float = 1.0
    fickle: float = 0.5

    @property
    def classes(self) -> tuple[str, ...]:
        """What becomes of a letter."""
        return ANSWERS

    def scores(self, texts: list[str]) -> Scores:
        """How sure it is of each text."""
        worth = np.array([self._worth(text) for text in texts])
        invited = 1.0 / (1.0 + np.exp(-worth))
        return np.stack([1.0 - invited, invited], axis=1)

    def _worth(self, text: str) -> float:
        name = next(word.strip(".,") for word in text.split() if word.startswith(("Wyna", "Morn")))
        job = next(job for job in JOBS if job in text)
        own = self.temper * self._drawn(name) + self.fickle * self._drawn(text.replace(job, ""))
        return own + self._drawn(job) + self.lean * name.startswith("Morn")

    def _drawn(self, text: str) -> float:
        return _drawn(self.seed, text)

    def fingerprint(self) -> str:
        """Equal for the same tempers."""
        return f"name-reader-{self!r}"
