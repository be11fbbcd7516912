"""Which classes a recogniser and the data share.  One whose words are not the data's would seem to miss everything, and to be fair."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from evenhand.contract import Model
from evenhand.errors import InvalidArgument
from evenhand.media.scenes import Scenes

LEAST_SHARED = 2
MOST_NAMED = 12


@dataclass(frozen=True)
class SharedVocabulary:
    """Canonical classes: those that both sides know, and those that only one of them knows."""

    shared: tuple[str, ...]
    only_data: tuple[str, ...]
    only_recogniser: tuple[str, ...]

    @classmethod
    def of(cls, medium: Scenes, labels: Iterable[str]) -> SharedVocabulary:
        """From the labels that a recogniser says it knows, or that it said."""
        said = {medium.class_of(str(label)) for label in labels}
        # A class that the recogniser knows only by its parts is known: a cyclist is a person and a bicycle to it.
        data = {name for truth in medium.truth for name in truth}
        known = {name for name in data if medium.labels.touched(name) & said}
        return cls(tuple(sorted(known)), tuple(sorted(data - known)), tuple(sorted(said - data)))

    @property
    def sentences(self) -> list[str]:
        """The table in words."""
        lines = [f"The recogniser and the data share {len(self.shared)} classes: {_listed(self.shared)}."]
        lines += [f"Only the data has {_listed(self.only_data)}; these are not judged."] if self.only_data else []
        return lines + ([f"Only the recogniser has {_listed(self.only_recogniser)}."] if self.only_recogniser else [])

    def check(self) -> None:
        """Refuse where there is nothing to compare."""
        if self.shared and not self.only_data and len(self.shared) < LEAST_SHARED:
            raise InvalidArgument(
                f"the data shows objects of one class ({_listed(self.shared)}), so that no classes can be compared; where annotations tell "
                "people apart, by skin tone or age, `evenhand measure` compares them"
            )
        if len(self.shared) < LEAST_SHARED:
            raise InvalidArgument(
                f"the recogniser and the data share {len(self.shared)} classes ({_listed(self.shared)}), "
                f"and at least {LEAST_SHARED} are needed; "
                f"the data has {_listed((*self.shared, *self.only_data))}, the recogniser {_listed(self.only_recogniser)}; "
                "give the recogniser's class names, or a file `labels` whose synonyms translate them"
            )

    def as_dict(self) -> dict[str, list[str]]:
        """For JSON."""
        return {"shared": list(self.shared), "only_data": list(self.only_data), "only_recogniser": list(self.only_recogniser)}


def told_names(model: Model) -> tuple[str, ...]:
    """The class names that a recogniser says it knows; empty where it does not say."""
    inner: Any = model
    while hasattr(inner, "model"):
        inner = inner.model
    return tuple(map(str, getattr(getattr(inner, "recogniser", None), "names", ()) or ()))


def check_vocabulary(model: Model) -> None:
    """Before anything is asked: refuse a recogniser of scenes whose names are not the data's; one that tells no names is left for later."""
    medium, names = getattr(model, "medium", None), told_names(model)
    if isinstance(medium, Scenes) and names:
        SharedVocabulary.of(medium, names).check()


def _listed(names: Iterable[str]) -> str:
    every = list(names)
    more = f" and {len(every) - MOST_NAMED} more" if len(every) > MOST_NAMED else ""
    return (", ".join(every[:MOST_NAMED]) or "none") + more
