"""Training the small networks on an album, and training further on added pictures.  Imported only by code that has torch."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import nn

from evenhand.arrays import Labels
from evenhand.contract import Headway, Pictures, Watch
from evenhand.errors import DataError, UnknownName
from evenhand.limits import Count, NotNegative, Positive, TwoOrMore, check_argument, check_limits
from evenhand.media.album import Album
from evenhand.media.picture_tensors import to_tensor
from evenhand.models.picture_networks import NETWORKS
from evenhand.models.torch_pictures import TorchClassifier, torch_classifier
from evenhand.models.torch_training import reset
from evenhand.values import tell_watcher


@dataclass(frozen=True)
class Course:
    """How long and how fast to train."""

    epochs: Count = 8
    batch: TwoOrMore = 32
    rate: Positive = 2e-3
    noise: NotNegative = 4.0  # standard deviation of pixel noise, of 255
    mirrors: bool = True  # half of the pictures are shown left-right mirrored

    def __post_init__(self) -> None:
        check_limits(self)


USUAL = Course()


def train(architecture: str, album: Album, rng: np.random.Generator, course: Course = USUAL, watch: Watch | None = None) -> TorchClassifier:
    """A new classifier of the album's label, trained on the pictures whose label is known."""
    if architecture not in NETWORKS:
        raise UnknownName("architecture", architecture, NETWORKS)
    album = album[np.flatnonzero(album.label.codes >= 0)]
    if len(np.unique(album.label.codes)) < 2:
        raise DataError(f"the label of album {album.name!r} has fewer than two known values: no classifier can learn it")
    torch.manual_seed(int(rng.integers(2**31)))
    network = NETWORKS[architecture](len(album.label.values), album.pictures.shape[1])
    classifier = torch_classifier(network, album.label.values, network.readable)
    fit(classifier, album.pictures, album.label.codes, rng, course, watch)
    return classifier


def train_further(
    classifier: TorchClassifier, pictures: Pictures, labels: Labels, rng: np.random.Generator, course: Course
) -> TorchClassifier:
    """A copy of the classifier, trained some more on these pictures; the original stays as it is."""
    torch.manual_seed(int(rng.integers(2**31)))
    further = classifier.copy()
    fit(further, pictures, labels, rng, course)
    return further


STEPS_AGAIN = 400
"""A classifier that is fitted again takes at least so many steps, however few the pictures are."""


def train_again(classifier: TorchClassifier, pictures: Pictures, labels: Labels, rng: np.random.Generator) -> TorchClassifier:
    """A copy with fresh weights, trained on these pictures; the original, and torch's global randomness, stay as they are."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(rng.integers(2**31)))
        again = classifier.copy()
        reset(again.module)
        batches = max(1, len(pictures) // USUAL.batch)  # in one epoch: fewer pictures than a batch are one batch
        epochs = max(USUAL.epochs, -(-STEPS_AGAIN // batches))
        fit(again, pictures, labels, rng, replace(USUAL, epochs=epochs))
    return again


def fit(
    classifier: TorchClassifier, pictures: Pictures, labels: Labels, rng: np.random.Generator, course: Course, watch: Watch | None = None
) -> None:
    """One-cycle training in place."""
    values, targets = to_tensor(pictures, classifier.device), torch.from_numpy(np.asarray(labels, np.int64)).to(classifier.device)
    size = min(course.batch, len(values))
    check_argument(TwoOrMore, pictures=size)
    steps = course.epochs * (len(values) // size)
    optimiser = torch.optim.AdamW(classifier.module.parameters(), lr=course.rate, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, course.rate, total_steps=max(steps, 8), pct_start=0.25)
    step = 0
    for _ in range(course.epochs):
        order = torch.from_numpy(rng.permutation(len(values)))
        for start in range(0, len(values) - size + 1, size):
            part = order[start : start + size]
            _descend(classifier, _varied(values[part], course), targets[part], optimiser)
            schedule.step()
            step += 1
            watch(Headway("training", step, steps)) if watch else tell_watcher("learning an attribute", step, steps)
    classifier.module.eval()


def _varied(batch: torch.Tensor, course: Course) -> torch.Tensor:
    if course.mirrors:
        batch = torch.cat([batch[: len(batch) // 2], batch[len(batch) // 2 :].flip(3)])
    return batch + course.noise * torch.randn_like(batch) if course.noise else batch


def _descend(classifier: TorchClassifier, batch: torch.Tensor, targets: torch.Tensor, optimiser: torch.optim.Optimizer) -> None:
    classifier.module.train()
    optimiser.zero_grad(set_to_none=True)
    loss = nn.functional.cross_entropy(classifier.answers(batch), targets)
    loss.backward()  # type: ignore[no-untyped-call]
    optimiser.step()


def accuracy(classifier: TorchClassifier, album: Album) -> float:
    """The share of the album's known labels that the classifier repeats."""
    known = album.label.codes >= 0
    return float(np.mean(classifier.scores(album.pictures[known]).argmax(axis=1) == album.label.codes[known]))
