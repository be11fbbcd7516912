"""Classifiers of rendered portraits with and without planted bias, over seeds: what the tables of faces are made from."""

from __future__ import annotations

import multiprocessing
import pickle
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from deepfait import ChainMaterial, ChainPlan, Clock, PictureChain, examine
from deepfait_mending import STRATEGIES
from picture_pairs import judge, leaning, make_pairs

from evenhand.media.album import Album, Attribute
from evenhand.media.editors.rerender import Rerender
from evenhand.media.png import write_png
from evenhand.models.picture_training import Course, accuracy, train
from evenhand.planted.portraits import (
    AGE_GROUPS,
    DARKER_SKIN_LOOKS_OLDER,
    FEMININE_CUES_LOOK_YOUNGER,
    Bias,
    age_groups,
    planted_share,
    synthetic_faces,
)

BIASES = (DARKER_SKIN_LOOKS_OLDER, FEMININE_CUES_LOOK_YOUNGER)
ATTRIBUTES = ("tone", "gender_cue")


@dataclass(frozen=True)
class Size:
    """How much is done."""

    training: int
    testing: int
    epochs: int
    seeds_of_generation: int
    seeds: int
    architectures: tuple[str, ...]
    attributes: tuple[str, ...]
    strategies: tuple[str, ...]
    neurons: int
    gan_steps: int
    mutants: int


FULL = Size(1400, 700, 6, 120, 5, ("vgg", "resnet"), ATTRIBUTES, STRATEGIES, 4096, 700, 5)
FAIR_PAIRS = 150  # covered of every mutant: more pairs cover more by themselves
MUTATED = replace(FULL, training=800, testing=320, epochs=5)
QUICK = Size(1000, 300, 5, 80, 1, ("vgg",), ("tone",), ("none", "random", "twins"), 512, 220, 2)


@dataclass
class Book:
    """What is written down: named figures, lines of the tables, pictures."""

    figures: dict[str, Any] = field(default_factory=dict)
    text: list[str] = field(default_factory=list)
    pictures: Path | None = None

    def say(self, line: str = "") -> None:
        """A line for the reader now and for the tables."""
        print(line, flush=True)
        self.text.append(line)

    def table(self, header: list[str], rows: list[list[str]]) -> None:
        """A Markdown table."""
        for row in (header, ["---"] * len(header), *rows):
            self.say("| " + " | ".join(row) + " |")
        self.say()

    def keep(self, name: str, content: Any) -> None:
        """A picture (array) as PNG, a chart (text) as SVG."""
        if self.pictures is None:
            return
        self.pictures.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            (self.pictures / f"{name}.svg").write_text(content, encoding="utf-8")
        else:
            write_png(self.pictures / f"{name}.png", content)


def stage(name: str) -> None:
    """Tell what comes."""
    print(f"\n== {name} (at {time.process_time():.0f} CPU-s)", flush=True)


def plan_of(size: Size, attribute: str, architecture: str, seed: int) -> ChainPlan:
    """The chain's plan for one classifier and attribute."""
    return ChainPlan(
        architecture, attribute, BIASES, 64, size.training, size.testing, Course(epochs=size.epochs),
        size.seeds_of_generation, size.strategies, seed, 400 if size.seeds == 1 else 0,
        study_pairs=400,
    )  # fmt: skip


@dataclass(frozen=True)
class Remembered:
    """An editor that draws the twins of the same portraits only once."""

    editor: Rerender
    seen: dict[bytes, Any] = field(default_factory=dict)

    @property
    def attribute(self) -> str:
        """The editor's own."""
        return self.editor.attribute

    @property
    def flip(self) -> str:
        """The editor's own."""
        return self.editor.flip

    def twins(self, album: Album) -> Any:
        """Drawn, or remembered."""
        assert album.factors is not None
        key = album.factors.tobytes()
        if key not in self.seen:
            self.seen[key] = self.editor.twins(album)
        return self.seen[key]


def relabelled(album: Album, biases: tuple[Bias, ...]) -> Album:
    """The same portraits, labelled with other biases."""
    assert album.factors is not None
    return replace(album, label=Attribute(AGE_GROUPS, age_groups(album.factors, biases)))


@dataclass
class Harvest:
    """What the seeds gave: chains with planted bias, verdicts on classifiers without."""

    chains: list[PictureChain] = field(default_factory=list)
    clean: list[tuple[str, str, int, Any, float, float]] = field(default_factory=list)
    shares: dict[str, float] = field(default_factory=dict)


def grow(size: Size, workers: int) -> Harvest:
    """All seeds, each in a process of its own."""
    whole = Harvest()
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        for packed in pool.map(grow_seed, [size] * size.seeds, range(size.seeds)):
            part: Harvest = pickle.loads(packed)
            whole.chains += part.chains
            whole.clean += part.clean
            whole.shares = part.shares
    return whole


def grow_seed(size: Size, seed: int) -> bytes:
    """Train with and without planted bias, examine the former, test the latter for false alarms."""
    torch.set_num_threads(1)
    rngs = np.random.default_rng(100 + seed).spawn(6)
    training = synthetic_faces(size.training, rngs[0], 64, BIASES)
    test = synthetic_faces(size.testing, rngs[1], 64, BIASES)
    assert test.factors is not None
    harvest = Harvest(shares={name: planted_share(test.factors, BIASES, name) for name in ATTRIBUTES})
    bench = Bench(size, seed, training, test, {name: Remembered(Rerender(name)) for name in size.attributes})
    for architecture in size.architectures:
        harvest.chains += bench.chains(architecture, rngs[2], rngs[3])
        harvest.clean += bench.verdicts(architecture, rngs[4])
    return pickle.dumps(harvest)


@dataclass(frozen=True)
class Bench:
    """One seed's portraits and the twins drawn so far."""

    size: Size
    seed: int
    training: Album
    test: Album
    editors: dict[str, Remembered]

    def chains(self, architecture: str, learning: np.random.Generator, rng: np.random.Generator) -> list[PictureChain]:
        """A classifier that learned the planted bias, examined for each attribute."""
        biased, found = train(architecture, self.training, learning, Course(epochs=self.size.epochs)), []
        for attribute, editor in self.editors.items():
            material = ChainMaterial(biased, self.training, self.test, accuracy(biased, self.test), editor)
            clock = Clock(Teller(f"  seed {self.seed}, {architecture}, {attribute}: "))
            found.append(examine(plan_of(self.size, attribute, architecture, self.seed), material, rng.spawn(4), clock))
        return found

    def verdicts(self, architecture: str, rng: np.random.Generator) -> list[tuple[str, str, int, Any, float, float]]:
        """A classifier that learned labels without bias, tested for each attribute."""
        test, rows = relabelled(self.test, ()), []
        clean = train(architecture, relabelled(self.training, ()), rng, Course(epochs=self.size.epochs))
        for attribute, editor in self.editors.items():
            judged = judge(make_pairs(test, editor), clean)
            found = leaning(judged, ordered=True)
            rows.append((architecture, attribute, self.seed, found, judged.share.estimate, accuracy(clean, test)))
            tell = Teller(f"  seed {self.seed}, {architecture}, {attribute}, nothing planted: ")
            tell(f"{judged.share.estimate:.1%} unfair, found {found.found}")
        return rows


@dataclass(frozen=True)
class Teller:
    """Prints lines that say whose they are."""

    prefix: str

    def __call__(self, line: str) -> None:
        """One line."""
        print(self.prefix + line, flush=True)
