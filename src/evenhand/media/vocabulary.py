"""Which labels mean the same class, which labels one object answers to, how tall classes are, and where they may stand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from evenhand.errors import DataError
from evenhand.media.scene import PAVEMENT, ROAD, TERRAIN

SYNONYMS: Mapping[str, tuple[str, ...]] = {
    "person": ("pedestrian", "man", "woman", "boy", "girl", "human", "people", "adult", "child", "male", "female", "worker", "guy"),
    "cyclist": ("bicyclist", "bike rider"),
    "rider": ("motorcyclist",),
    "bicycle": ("bike", "cycle", "bicycle wheel"),
    "motorcycle": ("motorbike", "moped", "scooter", "motor scooter"),
    "car": ("automobile", "sedan", "suv", "taxi", "van", "minivan", "coupe", "hatchback", "sports car", "land vehicle"),
    "truck": ("lorry", "pickup truck", "trailer", "semi-truck"),
    "bus": ("coach", "minibus", "double decker bus"),
    "traffic light": ("traffic signal", "traffic lights"),
    "sign": ("traffic sign", "street sign", "road sign", "signage"),
    "stop sign": ("stopsign",),
    "dog": ("puppy", "canine"),
    "cat": ("kitten", "feline"),
    "bird": ("pigeon", "seagull", "crow", "duck"),
}
# A class whose object also shows, to a recogniser, objects of other classes.  Deleting a cyclist removes a person and a bicycle.
ALSO_SHOWS: Mapping[str, tuple[str, ...]] = {
    "cyclist": ("person", "bicycle", "rider"),
    "rider": ("person", "motorcycle", "bicycle", "cyclist"),
    "person": ("cyclist", "rider"),
    "bicycle": ("cyclist",),
    "motorcycle": ("rider", "person"),
    "car": ("wheel", "tire", "license plate"),
    "truck": ("wheel", "tire"),
    "bus": ("wheel", "tire"),
}
# Heights relative to a car of 1.5 metres.
RELATIVE_HEIGHT: Mapping[str, float] = {
    "car": 1.0,
    "person": 1.15,
    "cyclist": 1.18,
    "rider": 1.1,
    "bicycle": 0.7,
    "motorcycle": 0.95,
    "truck": 2.1,
    "bus": 2.05,
    "train": 2.5,
    "dog": 0.42,
    "cat": 0.22,
    "bird": 0.16,
    "horse": 1.15,
    "cow": 1.0,
    "sheep": 0.65,
    "zebra": 0.95,
    "giraffe": 2.9,
    "elephant": 1.9,
    "bear": 0.75,
    "traffic light": 2.1,
    "sign": 1.6,
    "stop sign": 1.6,
}
STANDS_ON: Mapping[str, tuple[int, ...]] = {
    "car": (ROAD,),
    "truck": (ROAD,),
    "bus": (ROAD,),
    "motorcycle": (ROAD,),
    "rider": (ROAD,),
    "cyclist": (ROAD,),
    "person": (ROAD, PAVEMENT, TERRAIN),
    "bicycle": (ROAD, PAVEMENT),
    "dog": (ROAD, PAVEMENT, TERRAIN),
    "cat": (PAVEMENT, ROAD, TERRAIN),
    "bird": (PAVEMENT, ROAD, TERRAIN),
    "horse": (TERRAIN, ROAD),
    "cow": (TERRAIN, ROAD),
    "sheep": (TERRAIN, ROAD),
    "zebra": (TERRAIN, ROAD),
    "giraffe": (TERRAIN, ROAD),
    "elephant": (TERRAIN, ROAD),
    "bear": (TERRAIN, ROAD),
}


@dataclass(frozen=True)
class Labels:
    """An editable vocabulary: canonical class by synonym, and the set of labels that a mutation of a class touches."""

    synonyms: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: dict(SYNONYMS))
    also_shows: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: dict(ALSO_SHOWS))
    relative_height: Mapping[str, float] = field(default_factory=lambda: dict(RELATIVE_HEIGHT))
    stands_on: Mapping[str, tuple[int, ...]] = field(default_factory=lambda: dict(STANDS_ON))
    made_of: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # for recognisers that know the parts only

    def __post_init__(self) -> None:
        table: dict[str, str] = {}
        for name, others in self.synonyms.items():
            for word in (name, *others):
                if table.setdefault(word.lower(), name) != name:
                    raise DataError(f"label {word!r} is a synonym of both {table[word.lower()]!r} and {name!r}; keep one")
        object.__setattr__(self, "_table", table)

    def canonical(self, label: str) -> str:
        """The class that this label means; an unknown label stands for itself."""
        word = " ".join(label.lower().replace("_", " ").split())
        table: dict[str, str] = self._table  # type: ignore[attr-defined]
        return table.get(word, word)

    def counts(self, labels: Iterable[str]) -> Counter[str]:
        """Objects of each canonical class."""
        return Counter(self.canonical(label) for label in labels)

    def true_counts(self, truth: Mapping[str, int]) -> Counter[str]:
        """The data's counts in the recogniser's words: a class that is `made_of` others counts as these."""
        total: Counter[str] = Counter()
        for label, n in truth.items():
            name = self.canonical(label)
            for part in self.made_of.get(name, (name,)):
                total[part] += n
        return total

    def touched(self, label: str) -> frozenset[str]:
        """Every canonical class whose count a mutation of this class changes by itself."""
        name = self.canonical(label)
        return frozenset({name, *(self.canonical(other) for other in self.also_shows.get(name, ()))})

    @classmethod
    def from_yaml(cls, path: Path) -> Labels:
        """A vocabulary from a file `synonyms: {person: [man, woman]}` and `also_shows: {...}`; what it leaves out keeps the default."""
        import yaml

        keys = ("synonyms", "also_shows", "relative_height", "made_of")
        try:
            content = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
        except (OSError, ValueError, yaml.YAMLError) as fault:
            raise DataError(f"{path} cannot be read as a YAML file of labels: {' '.join(str(fault).split())[:200]}") from fault
        if not isinstance(content, dict) or set(content) - set(keys):
            shown = sorted(content) if isinstance(content, dict) else content
            raise DataError(f"{path}: expected the keys {', '.join(keys)}; got {shown!r}")
        words = {
            key: {name: tuple(listed) for name, listed in content.get(key, {}).items()} for key in ("synonyms", "also_shows", "made_of")
        }
        heights = {**RELATIVE_HEIGHT, **content.get("relative_height", {})}
        return cls({**SYNONYMS, **words["synonyms"]}, {**ALSO_SHOWS, **words["also_shows"]}, heights, dict(STANDS_ON), words["made_of"])


PARTS_ONLY: Mapping[str, tuple[str, ...]] = {"cyclist": ("person", "bicycle"), "rider": ("person", "motorcycle")}
