"""NeuronFair's image part: face detectors, readers of attributes on their frozen trunks, three searches, and retraining.  Needs torch.

Paper: H. Zheng et al., "NeuronFair", ICSE 2022, section 3.3 and RQ5.  Faces are drawn portraits, among which dark skin is rare; what is no
face is either a texture in the portraits' colours or a portrait that was cut into tiles and dealt out again.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))

import torch

from evenhand.contract import Method
from evenhand.datasets.album_data import from_album
from evenhand.datasets.dataset import Dataset
from evenhand.engine.run import Plan, Subject, run
from evenhand.media.album import Album, Attribute
from evenhand.media.editors.fgsm import Fgsm
from evenhand.media.streets.backdrop import smooth_noise
from evenhand.methods.eidig_pictures import EidigPictures
from evenhand.methods.gradient_generation import GradientGeneration
from evenhand.methods.neuronfair_pictures import NeuronFairPictures
from evenhand.methods.parts.chosen_twin import Partners
from evenhand.methods.parts.flat_maps import picture_bias
from evenhand.models.budget import Budget
from evenhand.models.meter import Meter
from evenhand.models.picture_training import Course, accuracy, train, train_further
from evenhand.models.shared_reader import shared_reader
from evenhand.models.shown import shown
from evenhand.models.torch_pictures import TorchClassifier
from evenhand.planted.portraits import synthetic_faces

CLASSES = ("no face", "face")
SIDE, TILES = 32, 4
DARK_SHARE = 0.15
METHODS: dict[str, Method] = {"ADF": GradientGeneration(), "EIDIG": EidigPictures(), "NeuronFair": NeuronFairPictures()}
SETS = {"portraits and textures": ("vgg", "textures"), "portraits and tiles": ("resnet", "tiles")}
"""A net and what is no face, for the paper's CelebA with VGG16 and LFW with ResNet50."""
FURTHER = Course(epochs=2, rate=5e-4)


@dataclass(frozen=True)
class DetectorSize:
    """How much is drawn and searched."""

    training: int
    testing: int
    attacked: int
    epochs: int


QUICK, FULL = DetectorSize(180, 80, 30, 3), DetectorSize(1500, 600, 300, 6)


def faces(count: int, rng: np.random.Generator, dark_share: float = DARK_SHARE) -> Album:
    """Portraits, all labelled as faces; dark skin is as rare as asked."""
    album = synthetic_faces(3 * count, rng, SIDE)
    dark = album.attribute("tone").codes == 1
    some = rng.permutation(np.flatnonzero(dark))[: round(count * dark_share)]
    rest = rng.permutation(np.flatnonzero(~dark))[: count - len(some)]
    chosen = album[np.sort(np.concatenate([some, rest]))]
    return replace(chosen, label=Attribute(CLASSES, np.ones(len(chosen), dtype=np.intp)))


def no_faces(kind: str, like: Album, rng: np.random.Generator) -> np.ndarray:
    """As many pictures without a face."""
    if kind == "tiles":
        return np.stack([_dealt_out(picture, rng) for picture in like.pictures])
    return np.stack([_texture(picture, rng) for picture in like.pictures])


def _dealt_out(picture: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    side = SIDE // TILES
    tiles = picture.reshape(TILES, side, TILES, side, 3).swapaxes(1, 2).reshape(-1, side, side, 3)
    return rng.permutation(tiles).reshape(TILES, TILES, side, side, 3).swapaxes(1, 2).reshape(SIDE, SIDE, 3)


def _texture(picture: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Smooth noise between two colours of a portrait."""
    first, second = picture.reshape(-1, 3)[rng.integers(SIDE * SIDE, size=2)].astype(np.float32)
    noise = np.asarray(smooth_noise((SIDE, SIDE), (4, 4), rng), dtype=np.float32)
    share = (noise - noise.min()) / max(float(np.ptp(noise)), 1e-6)
    return np.asarray(first + share[..., None] * (second - first)).astype(np.uint8)


def labelled(album: Album, others: np.ndarray) -> Album:
    """Faces and no faces, in one album without attributes."""
    codes = np.repeat([1, 0], [len(album), len(others)]).astype(np.intp)
    return Album("faces and others", np.concatenate([album.pictures, others]), {}, Attribute(CLASSES, codes))


@dataclass(frozen=True, eq=False)
class DetectorLab:
    """A detector with what it learnt from and what it is tried on."""

    detector: TorchClassifier
    training: Album
    testing: Album
    test_faces: Album
    attacked: Album
    learnt_faces: Album

    @classmethod
    def trained(cls, name: str, size: DetectorSize, seed: int) -> DetectorLab:
        """A detector of one of the two sets."""
        torch.set_num_threads(1)
        architecture, kind = SETS[name]
        rng = np.random.default_rng([seed, list(SETS).index(name), 61])
        learnt, test = faces(size.training, rng), faces(size.testing, rng, 0.5)
        training, testing = (labelled(album, no_faces(kind, album, rng)) for album in (learnt, test))
        detector = train(architecture, training, rng, Course(epochs=size.epochs))
        return cls(detector, training, testing, test, test[: size.attacked], learnt)

    def rate(self, detector: TorchClassifier) -> float:
        """The detection rate: test faces that are called faces."""
        return float((detector.scores(self.test_faces.pictures).argmax(axis=1) == 1).mean())

    def reader(self, attribute: str, seed: int) -> TorchClassifier:
        """Of an attribute, on the detector's frozen trunk; from faces in which both values are equally common."""
        album = faces(len(self.learnt_faces), np.random.default_rng([seed, 62]), 0.5)
        return shared_reader(self.detector, album, attribute, np.random.default_rng([seed, 63]))


def opened(album: Album, editor: Fgsm) -> Dataset:
    """Faces with twins by FGSM, label `face`."""
    return from_album(album, [editor], ("face",), "face")


def discrimination(detector: TorchClassifier, data: Dataset) -> float:
    """The largest area under an AS curve, over all pairs of the data."""
    meter = Meter(shown(data.medium, detector))
    return picture_bias(meter, Partners(data.domain, meter), data.rows, 0.005).discrimination


@dataclass(frozen=True, eq=False)
class Searched:
    """What one search gave: findings, distinct tests, the pictures of the pairs, and how large its changes are."""

    findings: int
    tests: int
    pictures: np.ndarray
    bias: float  # mean L2 norm of what was added to both pictures of a found pair, pixels from 0 to 1
    attribute: float  # mean L2 norm between the pictures of a pair


def search(method: Method, detector: TorchClassifier, data: Dataset, seed: int) -> Searched:
    """One method from every face, through the engine."""
    medium: Any = data.medium
    known = len(medium.album)
    subject = Subject(data.domain, shown(medium, detector), data.rows, data.labels, medium=medium)
    done = run(method, subject, Plan(seed, Budget(seconds=float("inf"))))
    found = done.findings
    first, second = medium.show(found.rows), medium.show(found.twins)
    made = found.rows[:, 0] >= known
    starts = found.rows[made].copy()
    starts[:, 0] = medium.origins(found.rows[made])
    bias = _norms(first[made], medium.show(starts)) if made.any() else np.zeros(1)
    pictures = np.concatenate([first, second]).astype(np.uint8)
    return Searched(
        done.ledger.findings,
        done.ledger.candidates,
        pictures,
        float(bias.mean()),
        float(_norms(first, second).mean()) if len(first) else 0.0,
    )


def _norms(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    return np.asarray(np.sqrt((((one.astype(np.float64) - other) / 255.0) ** 2).sum(axis=(1, 2, 3))))


def retrained(lab: DetectorLab, pictures: np.ndarray, seed: int) -> TorchClassifier:
    """Trained further with these pictures, which are all faces; without any, the control."""
    added = np.concatenate([lab.training.pictures, pictures]) if len(pictures) else lab.training.pictures
    labels = np.concatenate([lab.training.label.codes, np.ones(len(pictures), dtype=np.intp)])
    return train_further(lab.detector, added, labels, np.random.default_rng([seed, 64]), FURTHER)


def detector_values(is_quick: bool, name: str, seed: int) -> dict[str, Any]:
    """Everything that the paper's image tables show of one detector."""
    lab = DetectorLab.trained(name, QUICK if is_quick else FULL, seed)
    told: dict[str, Any] = {"accuracy": accuracy(lab.detector, lab.testing), "attributes": {}, "readers": {}}
    control = retrained(lab, lab.training.pictures[:0], seed)
    for attribute in ("gender_cue", "tone"):
        reader = lab.reader(attribute, seed)
        told["readers"][attribute] = accuracy(reader, replace(lab.test_faces, label=lab.test_faces.attribute(attribute)))
        editor = Fgsm(attribute, reader)
        tested = opened(lab.test_faces, editor)
        after = {"before": _fairness(lab, lab.detector, tested), "no findings": _fairness(lab, control, tested)}
        found = {}
        for method_name, method in METHODS.items():
            made = search(method, lab.detector, opened(lab.attacked, editor), seed)
            found[method_name] = {"findings": made.findings, "tests": made.tests, "bias": made.bias, "attribute": made.attribute}
            after[method_name] = _fairness(lab, retrained(lab, made.pictures, seed), tested)
        told["attributes"][attribute] = {"found": found, "after": after}
    return told


def _fairness(lab: DetectorLab, detector: TorchClassifier, tested: Dataset) -> dict[str, float]:
    return {"area": discrimination(detector, tested), "rate": lab.rate(detector)}
