"""Whole measurements of every medium of pictures without twins: fair subjects that are blamed, and planted ones that are found.

The subjects are made by chance: a few pixels of each small picture hold the group, the truth and a number drawn for it, which the model
reads.  A fair one errs as often in every group, given what is true; what is true differs in how common it is between groups, wherever
nobody hopes for an answer.  A planted one errs so much more in the first group.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import evenhand as eh
from evenhand.media.album import Album, Attribute
from evenhand.models.picture_tasks import FaceFinder, ManyLabels, Verifier, ZeroShot
from evenhand.statistics.intervals import clopper_pearson

SIDE = 8
FINEST = 65_536
GROUPS, SHARES = ("first", "second", "third"), (0.2, 0.35, 0.45)
WEARS = ("no", "yes")
FOUND = [(0, 0, SIDE, SIDE)]


@dataclass(frozen=True, eq=False)
class People:
    """Who is shown: group, whether glasses are worn, what is true (a class or an age), and a number between 0 and 1 for each question."""

    group: np.ndarray
    glasses: np.ndarray
    truth: np.ndarray
    chance: np.ndarray  # (n, 2)

    @classmethod
    def drawn(cls, count: int, rng: np.random.Generator, commonness: np.ndarray) -> People:
        """commonness: of each truth, by group, (groups, truths)."""
        group = rng.choice(len(GROUPS), count, p=SHARES)
        truth = (rng.random(count)[:, None] > commonness[group].cumsum(axis=1)).sum(axis=1).clip(max=commonness.shape[1] - 1)
        return cls(group, rng.integers(0, 2, count), truth, rng.random((count, 2)))

    @classmethod
    def read(cls, pictures: np.ndarray) -> People:
        """From their pictures."""
        at = pictures[:, 0].astype(int)
        return cls(at[:, 0, 0], at[:, 0, 1], at[:, 0, 2], (at[:, 1:3, 0] * 256 + at[:, 1:3, 1]) / FINEST)

    @property
    def pictures(self) -> np.ndarray:
        """Noise, and what the model reads."""
        fine = np.floor(self.chance * FINEST).astype(int)
        made = np.random.default_rng(fine[:, 0].tolist()).integers(0, 256, (len(self.group), SIDE, SIDE, 3)).astype(np.uint8)
        made[:, 0, 0] = np.column_stack([self.group, self.glasses, self.truth])
        made[:, 0, 1:3, 0], made[:, 0, 1:3, 1] = fine // 256, fine % 256
        return made

    def album(self, values: tuple[str, ...], **more: np.ndarray) -> Album:
        """With group, glasses and the label; further attributes of yes and no by name."""
        known = {"group": Attribute(GROUPS, self.group.astype(np.intp)), "glasses": Attribute(WEARS, self.glasses.astype(np.intp))}
        known |= {name: Attribute(WEARS, codes.astype(np.intp)) for name, codes in more.items()}
        return Album("made", self.pictures, known, Attribute(values, self.truth.astype(np.intp)))

    def is_wrong(self, errors: tuple[float, ...], extra: float, question: int = 0) -> np.ndarray:
        """Who is answered wrongly: by what is true, and so much more often in the first group."""
        return np.asarray(self.chance[:, question] < np.array(errors)[self.truth] + extra * (self.group == 0))


Commonness = np.ndarray
ALIKE: Commonness = np.array([[0.5, 0.5]] * 3)
UNLIKE: Commonness = np.array([[0.3, 0.7], [0.5, 0.5], [0.6, 0.4]])
AGES: Commonness = np.array([[0.2, 0.3, 0.5], [0.3, 0.4, 0.3], [0.5, 0.3, 0.2]])
ERRORS, AGE_ERRORS = (0.05, 0.15), (0.08, 0.15, 0.3)


def _two(wrong: np.ndarray, truth: np.ndarray) -> np.ndarray:
    said = np.where(wrong, 1 - truth, truth)
    return np.column_stack([0.9 - 0.8 * said, 0.1 + 0.8 * said])


def hoped_for(people: People, extra: float) -> tuple[Album, Any, dict[str, Any]]:
    """A label of which one value is hoped for, as common in every group."""
    album = people.album(("no", "yes"))

    def function(pictures: np.ndarray) -> np.ndarray:
        read = People.read(pictures)
        return _two(read.is_wrong(ERRORS, extra * (read.truth == 1)), read.truth)

    return album, function, {"label": "hired", "favourable": ["yes"]}


def age_groups(people: People, extra: float) -> tuple[Album, Any, dict[str, Any]]:
    """Three classes that nobody hopes for; the first group is older, and the older are read worse."""

    def function(pictures: np.ndarray) -> np.ndarray:
        read = People.read(pictures)
        said = np.where(read.is_wrong(AGE_ERRORS, extra), np.where(read.truth == 1, 2 * (read.chance[:, 1] < 0.5), 1), read.truth)
        return 0.05 + 0.85 * np.eye(3)[said.astype(int)]

    return people.album(("young", "middle", "older")), function, {"label": "age_group"}


def many_labels(people: People, extra: float) -> tuple[Album, Any, dict[str, Any]]:
    """Two labels at once; the second goes along with the group, and is the one that a planted model gets wrong."""

    def function(pictures: np.ndarray) -> np.ndarray:
        read = People.read(pictures)
        return np.column_stack([_two(read.is_wrong(ERRORS, 0.0), read.truth)[:, 1], _second(read, extra)])

    album = people.album(WEARS, Young=_is_young(people))
    return album, ManyLabels(function, ("Smiling", "Young"), main="Smiling"), {"label": "Smiling"}


def _is_young(people: People) -> np.ndarray:
    return np.asarray(people.chance[:, 1] * FINEST % 97 / 97 < np.array([0.3, 0.5, 0.65])[people.group]).astype(int)


def _second(read: People, extra: float) -> np.ndarray:
    young = _is_young(read)
    wrong = read.chance[:, 1] < np.array(ERRORS)[young] + extra * (read.group == 0)
    return _two(wrong, young)[:, 1]


def verification(people: People, extra: float) -> tuple[Album, Any, dict[str, Any]]:
    """Pairs of pictures; a group with more pairs of one person is not treated better for that."""
    album = people.album(("different", "same"))
    blank = np.zeros_like(album.pictures)
    album = Album(album.name, np.concatenate([album.pictures, blank], axis=2), album.attributes, album.label)

    def embed(pictures: np.ndarray) -> np.ndarray:
        is_first = pictures.reshape(len(pictures), -1).any(axis=1)
        read = People.read(pictures)
        same = np.where(read.is_wrong(ERRORS, extra), 1 - read.truth, read.truth)
        return np.column_stack([np.ones(len(pictures)), np.where(is_first & (same == 0), 5.0, 0.0)])

    return album, Verifier(embed, 0.5), {"label": "same"}


def faces(people: People, extra: float) -> tuple[Album, Any, dict[str, Any]]:
    """Every picture shows a face."""

    def detect(pictures: np.ndarray) -> list[list[tuple[int, ...]]]:
        read = People.read(pictures)
        missed = read.chance[:, 0] < 0.15 + extra * (read.group == 0)
        return [[] if lost else FOUND for lost in missed]

    album = people.album(("no", "yes"))
    return album, FaceFinder(detect), {"settings": {"faces": True}}


def embeddings(people: People, extra: float) -> tuple[Album, Any, dict[str, Any]]:
    """The class whose vector is nearest; no class is hoped for, and one goes along with the group."""

    def embed(pictures: np.ndarray) -> np.ndarray:
        read = People.read(pictures)
        said = np.where(read.is_wrong(ERRORS, extra), 1 - read.truth, read.truth)
        return np.column_stack([1.0 - said, said]) + 0.1

    return people.album(("short", "long")), ZeroShot(embed, {"short": [1, 0], "long": [0, 1]}), {"label": "hair"}


@dataclass(frozen=True)
class Medium:
    """How a subject is made, and how common what is true is in each group."""

    made: Callable[[People, float], tuple[Album, Any, dict[str, Any]]]
    commonness: Commonness


MEDIA = {
    "a hoped-for label": Medium(hoped_for, ALIKE),
    "age groups": Medium(age_groups, AGES),
    "many labels": Medium(many_labels, UNLIKE),
    "verification": Medium(verification, UNLIKE),
    "faces found": Medium(faces, ALIKE),
    "embeddings": Medium(embeddings, UNLIKE),
}


def verdicts(name: str, extra: float, draws: int, seed: int, count: int = 1_500) -> list[str]:
    """What `measure` says of so many subjects of a medium."""
    medium, rng = MEDIA[name], np.random.default_rng([seed, 71, list(MEDIA).index(name), round(100 * extra)])
    told = []
    for draw in range(draws):
        album, subject, wishes = medium.made(People.drawn(count, rng, medium.commonness), extra)
        settings = {"editor": "none", **wishes.pop("settings", {})}
        data = eh.open(album, protected=["group", "glasses"], settings=settings, **wishes)
        told.append(eh.measure(eh.wrap(subject, data), data, seed=draw).outcome)
    return told


def media_figures(draws: int, seed: int, points: float = 0.10) -> dict[str, float]:
    """False alarms and power of every medium."""
    blamed, found = [], []
    for name in MEDIA:
        fair, planted = (verdicts(name, extra, draws, seed) for extra in (0.0, points))
        blamed.append(fair.count("violation") / draws)
        found.append(planted.count("violation") / draws)
        low, high = clopper_pearson(fair.count("violation"), draws)[1:3] if draws else (0.0, 1.0)
        print(f"{name:20} fair: {fair.count('violation')} of {draws} blamed ({low:.1%} to {high:.1%}), {fair.count('pass')} pass; "
              f"{100 * points:.0f} points: {planted.count('violation')} of {draws} found")  # fmt: skip
    return {"media_false_alarm_max": max(blamed), "media_power_min": min(found)}
