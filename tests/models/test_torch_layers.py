"""Layers of torch modules: activation functions count whether or not they are submodules, for codes and for pictures alike."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="these parts need torch")

from tests.models.small_domain import DOMAIN  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

from evenhand.models.torch import from_module  # noqa: E402
from evenhand.models.torch_inputs import PictureFront  # noqa: E402
from evenhand.models.torch_pictures import picture_module, torch_classifier  # noqa: E402

FUNCTIONS = {
    "relu": functional.relu,
    "gelu": functional.gelu,
    "silu": functional.silu,
    "tanh": torch.tanh,
    "sigmoid": lambda values: values.sigmoid(),
    "leaky_relu": lambda values: functional.leaky_relu(values, 0.2),
    "relu_": torch.relu_,
}
MODULES = {"relu": nn.ReLU, "gelu": nn.GELU, "silu": nn.SiLU, "tanh": nn.Tanh, "sigmoid": nn.Sigmoid}
ROWS = DOMAIN.sample(20, np.random.default_rng(0))
PICTURES = np.random.default_rng(0).integers(0, 256, (12, 16, 16, 3)).astype(np.uint8)


class Dense(nn.Module):
    """Two hidden layers whose activation function is called, not built in."""

    def __init__(self, function) -> None:
        super().__init__()
        self.function = function
        self.first, self.second, self.last = nn.Linear(4, 6), nn.Linear(6, 5), nn.Linear(5, 2)

    def forward(self, codes):
        return self.last(self.function(self.second(self.function(self.first(codes / 50)))))


class Convolutional(nn.Module):
    """One convolution, one dense layer, the same function after both."""

    def __init__(self, function, answer=lambda values: values) -> None:
        super().__init__()
        self.function, self.answer = function, answer
        self.conv, self.dense, self.last = nn.Conv2d(3, 4, 3, 2), nn.Linear(4 * 49, 7), nn.Linear(7, 2)

    def forward(self, pictures):
        maps = self.function(self.conv(pictures / 255 - 0.5))
        return self.answer(self.last(self.function(self.dense(maps.flatten(1)))))


def made(kind, function):
    torch.manual_seed(0)
    return kind(function)


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_functions_on_codes_are_layers_with_values_and_gradients(name):
    model = from_module(made(Dense, FUNCTIONS[name]), DOMAIN)
    plain = name.rstrip("_")
    assert model.layers() == ("first", f"first.{plain}", "second", f"second.{plain}", "last")
    read = model.activations(ROWS, model.layers())
    before = read["first"] if name != "relu_" else None  # overwritten in place, but copied in time
    by_hand = FUNCTIONS[name](torch.tensor(read["first"])).numpy()
    assert np.allclose(read[f"first.{plain}"], by_hand, atol=1e-6)
    assert before is None or not np.allclose(read[f"first.{plain}"], before)
    cotangent = np.ones_like(read[f"second.{plain}"])
    moved = ROWS.copy()
    moved[:, 0] += 1e-2
    rise = model.activations(moved, [f"second.{plain}"])[f"second.{plain}"] - read[f"second.{plain}"]
    slope = model.gradient(ROWS, cotangent, f"second.{plain}")[:, 0]
    assert np.allclose(slope * 1e-2, rise.sum(axis=1), atol=1e-4)


@pytest.mark.parametrize("name", sorted(MODULES))
def test_functions_and_submodules_read_alike(name):
    torch.manual_seed(0)
    loose = made(Dense, FUNCTIONS[name])
    built = nn.Sequential(loose.first, MODULES[name](), loose.second, MODULES[name](), loose.last)
    one, two = from_module(loose, DOMAIN), from_module(nn.Sequential(Scaled(), *built), DOMAIN)
    assert np.allclose(one.scores(ROWS), two.scores(ROWS))
    left, right = one.activations(ROWS, [f"second.{name}"]), two.activations(ROWS, ["4"])
    assert np.allclose(left[f"second.{name}"], right["4"])


class Scaled(nn.Module):
    def forward(self, codes):
        return codes / 50


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_functions_on_pictures_are_the_layers_of_a_classifier(name):
    plain = name.rstrip("_")
    model = picture_module(made(Convolutional, FUNCTIONS[name]), ("no", "yes"), PictureFront(sides=(16, 16)))
    assert model.layers() == (f"conv.{plain}", f"dense.{plain}")
    read = model.activations(PICTURES, model.layers())
    assert [values.shape for values in read.values()] == [(12, 4), (12, 7)]
    assert model.gradient(PICTURES, np.ones_like(read[f"conv.{plain}"]), f"conv.{plain}").any()
    assert model.relevance(PICTURES, f"dense.{plain}").shape == (12, 7)
    assert model.maps(PICTURES[:2]) == (f"conv.{plain}",)


def test_a_layer_that_is_its_own_small_module_is_one_layer():
    class Swish(nn.Module):
        def forward(self, values):
            return values * torch.sigmoid(values)

    model = picture_module(made(Convolutional, Swish()), ("no", "yes"), PictureFront(sides=(16, 16)))
    assert model.layers() == ("function", "function#2")


def test_the_function_that_gives_the_answer_is_no_hidden_layer_and_probabilities_are_known_for_what_they_are():
    module = Convolutional(functional.relu, lambda values: torch.sigmoid(values[:, :1]))
    model = picture_module(module, ("no", "yes"), PictureFront(sides=(16, 16)))
    assert model.layers() == ("conv.relu", "dense.relu")
    with torch.no_grad():
        own = module(torch.from_numpy(PICTURES).permute(0, 3, 1, 2).float())[:, 0].numpy()
    assert np.allclose(model.scores(PICTURES)[:, 1], own, atol=1e-5)


@pytest.mark.parametrize("name", ["relu", "gelu"])
def test_silenced_units_of_a_function_are_nothing_and_the_original_stays(name):
    model = from_module(made(Dense, FUNCTIONS[name]), DOMAIN)
    layer = f"second.{name}"
    silent = model.without(layer, range(5))
    with torch.no_grad():
        bias = torch.softmax(model.module.last.bias, dim=0).numpy()
    assert np.allclose(silent.scores(ROWS), bias, atol=1e-6)
    assert np.allclose(silent.copy().scores(ROWS), bias, atol=1e-6)
    assert not np.allclose(model.scores(ROWS), bias, atol=1e-3)


def test_a_silenced_unit_of_pictures_is_a_whole_map():
    model = picture_module(made(Convolutional, nn.ReLU()), ("no", "yes"), PictureFront(sides=(16, 16)))
    (first, _) = model.layers()
    assert not model.without(first, range(4)).activations(PICTURES, [first])[first].any()
    kept = model.without(first, [1]).activations(PICTURES, [first])[first]
    assert np.array_equal(np.delete(kept, 1, axis=1), np.delete(model.activations(PICTURES, [first])[first], 1, axis=1))


def test_a_classifier_of_unknown_size_names_the_submodules_only():
    assert torch_classifier(nn.Sequential(nn.Flatten(), nn.Linear(768, 4), nn.ReLU(), nn.Linear(4, 2)), ("a", "b")).layers() == ("2",)
    model = torch_classifier(made(Convolutional, functional.relu), ("a", "b"))
    model.scores(PICTURES)
    assert model.layers() == ()
