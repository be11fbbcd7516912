"""A model behind a medium answers rows as its reader answers what the rows show, with the abilities that the reader has."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from evenhand.contract import Detecting, Detection, Model, PixelDifferentiable, PixelTransparent
from evenhand.domain.columns import Column
from evenhand.domain.tabular import Label, TabularDomain
from evenhand.errors import InvalidArgument, WrongAnswer
from evenhand.models.function import FunctionClassifier, FunctionRecogniser
from evenhand.models.shown import shown

SHADES = np.random.default_rng(0).integers(0, 200, (12, 8, 8, 3)).astype(np.uint8)
DOMAIN = TabularDomain(
    (Column("picture", "integer", low=0, high=11), Column("tone", "category", ("dark", "light"))),
    ("tone",),
    Label("answer", ("no", "yes"), ("yes",)),
)
ROWS = np.array([[picture, tone] for picture in range(12) for tone in (0, 1)], dtype=float)


@dataclass(frozen=True)
class Shades:
    """Twelve pictures, each dark or light; the light ones count as scenes with one lamp."""

    kind: str = "shades"
    classes: tuple[str, ...] = ("lamp", "chair")
    domain: TabularDomain = DOMAIN

    def show(self, rows):
        return SHADES[rows[:, 0].astype(int)] + (rows[:, 1] * 40).astype(np.uint8)[:, None, None, None]

    def digest(self):
        return "shades"

    def class_of(self, label):
        return {"light": "lamp"}.get(label, label)

    def as_shown(self, rows):
        return rows


def brightness(pictures):
    return pictures.mean(axis=(1, 2, 3)) / 255


def test_scores_are_the_readers_own_in_the_labels_order():
    reader = FunctionClassifier(lambda pictures: np.stack([brightness(pictures), 1 - brightness(pictures)], axis=1), ("yes", "no"))
    model = shown(Shades(), reader)
    assert isinstance(model, Model)
    assert not isinstance(model, PixelDifferentiable | Detecting)
    assert model.classes == ("no", "yes")
    assert np.allclose(model.scores(ROWS)[:, 1], brightness(Shades().show(ROWS)))


def test_a_reader_of_other_classes_is_refused():
    with pytest.raises(WrongAnswer, match="maybe"):
        _ = shown(Shades(), FunctionClassifier(brightness, ("maybe", "no"))).classes


def test_the_fingerprint_tells_readers_apart_and_is_steady():
    one, again, other = (
        shown(Shades(), FunctionClassifier(lambda pictures, power=power: brightness(pictures) ** power, ("no", "yes")))
        for power in (1, 1, 2)
    )
    assert one.fingerprint() == again.fingerprint() != other.fingerprint()


def test_a_recogniser_counts_the_mediums_classes_and_tells_its_objects():
    model = shown(Shades(), FunctionRecogniser(lambda picture: ["light", "cat"] if picture.mean() > 110 else []))
    assert isinstance(model, Detecting)
    lit = Shades().show(ROWS).mean(axis=(1, 2, 3)) > 110
    assert 0 < lit.sum() < len(ROWS)
    assert model.classes == ("lamp", "chair", "something else")
    assert np.array_equal(model.scores(ROWS), np.stack([lit, np.zeros(len(ROWS)), lit], axis=1))
    assert model.detections(ROWS[lit][:1]) == [(Detection("light"), Detection("cat"))]


def test_a_recogniser_needs_a_medium_with_objects():
    class Words:
        kind = "text"
        domain = DOMAIN

        def show(self, rows):
            return ["word"] * len(rows)

        def digest(self):
            return "words"

    with pytest.raises(InvalidArgument, match="text shows none"):
        shown(Words(), FunctionRecogniser(lambda picture: []))


def test_gradients_and_layers_are_those_of_the_shown_pictures():
    torch = pytest.importorskip("torch")
    from evenhand.models.torch_pictures import torch_classifier

    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(144, 2))
    reader = torch_classifier(module, ("yes", "no"))
    model = shown(Shades(), reader)
    assert isinstance(model, PixelTransparent)
    pictures, cotangent = Shades().show(ROWS), np.random.default_rng(1).normal(size=(len(ROWS), 2))
    assert np.allclose(model.scores(ROWS), reader.scores(pictures)[:, ::-1])
    assert np.allclose(model.pixel_gradient(ROWS, cotangent), reader.gradient(pictures, cotangent[:, ::-1]))
    (layer,) = model.layers()
    assert np.array_equal(model.activations(ROWS, [layer])[layer], reader.activations(pictures, [layer])[layer])
    step = np.zeros_like(pictures[:1], dtype=np.float32)
    step[0, 3, 4, 1] = 2.0
    first = pictures[:1].astype(np.float32)
    slope = ((reader.scores(first + step) - reader.scores(first - step)) * cotangent[:1, ::-1]).sum() / 4.0
    assert np.isclose(model.pixel_gradient(ROWS[:1], cotangent[:1])[0, 3, 4, 1], slope, atol=1e-5)
