"""Torch modules as they are: right gradients for every way in, and clear refusals where there is none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from small_domain import DOMAIN, rows, truth

from evenhand.contract import SCORES, Trainable, Transparent, labels_of
from evenhand.domain.columns import Column
from evenhand.errors import InvalidArgument, MissingAbility, ModelFailed, UnknownName, UnsteadyModel, WrongAnswer
from evenhand.models.differences import DifferenceGradients
from evenhand.models.meter import Meter
from evenhand.models.wrap import wrap

torch = pytest.importorskip("torch")
from evenhand.models.torch import TorchModel  # noqa: E402
from evenhand.models.torch_adapter import TorchSettings  # noqa: E402

nn = torch.nn
CODES = rows(60)
SCALE = {"mean": (50, 1, 0.5, 40), "scale": (20, 1, 0.5, 20)}


@pytest.fixture(autouse=True)
def _seeded() -> object:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        yield


def mlp(inputs: int = 4, outputs: int = 2) -> object:
    return nn.Sequential(nn.Linear(inputs, 8), nn.Tanh(), nn.Linear(8, 6), nn.Tanh(), nn.Linear(6, outputs))


def standard(module: object, **changes: object) -> TorchModel:
    model = wrap(module, DOMAIN, torch=TorchSettings(inputs="standard", **SCALE, **changes))
    assert isinstance(model, TorchModel)
    return model


def slopes(value: Callable[[np.ndarray], np.ndarray], codes: np.ndarray, step: float = 1e-2) -> np.ndarray:
    unit = np.eye(codes.shape[1]) * step
    return np.stack([(value(codes + side) - value(codes - side)) / (2 * step) for side in unit], axis=1)


@pytest.mark.parametrize("layer", [SCORES, "0", "1", "2", "3", "4"])
def test_gradients_of_every_layer_are_slopes(layer: str) -> None:
    model = standard(mlp().double())
    width = {SCORES: 2, "0": 8, "1": 8, "2": 6, "3": 6, "4": 2}[layer]
    cotangent = np.random.default_rng(0).normal(size=(60, width))

    def value(codes: np.ndarray) -> np.ndarray:
        values = model.scores(codes) if layer == SCORES else model.activations(codes, [layer])[layer]
        return (values * cotangent).sum(axis=1)

    assert np.allclose(model.gradient(CODES, cotangent, layer), slopes(value, CODES, 1e-3), atol=1e-4)


def test_it_has_every_ability_and_names_its_layers_in_order() -> None:
    model = standard(mlp())
    assert isinstance(model, Transparent)
    assert isinstance(model, Trainable)
    assert model.layers() == ("0", "1", "2", "3", "4")


class Shared(nn.Module):
    """One activation module called twice, and a tensor changed in place."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.act = nn.Linear(4, 5), nn.Linear(5, 2), nn.ReLU(inplace=True)

    def forward(self, x: object) -> object:
        return self.act(self.second(self.act(self.first(x))))


def test_a_module_called_twice_is_two_layers_and_in_place_steps_do_not_show() -> None:
    model = standard(Shared())
    assert model.layers() == ("first", "act", "second", "act#2")
    values = model.activations(CODES, ["first", "act", "act#2"])
    assert values["first"].min() < 0
    assert np.array_equal(np.maximum(values["first"], 0), values["act"])
    cotangent = np.ones((60, 5))
    by_hand = cotangent @ model.module.first.weight.detach().numpy() / np.array(SCALE["scale"])
    assert np.allclose(model.gradient(CODES, cotangent, "first"), by_hand, atol=1e-5)


class Picture(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fold, self.conv, self.head = nn.Unflatten(1, (1, 2, 2)), nn.Conv2d(1, 3, 2, padding=1), nn.Linear(27, 2)

    def forward(self, x: object) -> object:
        return self.head(torch.tanh(self.conv(self.fold(x))).flatten(1))


def test_convolutional_layers_are_flattened() -> None:
    model = standard(Picture())
    assert model.activations(CODES, ["conv"])["conv"].shape == (60, 27)
    assert model.gradient(CODES, np.ones((60, 27)), "conv").shape == CODES.shape


def test_modes_are_left_as_found_and_evaluation_is_used() -> None:
    module = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 2))
    module.train()
    module[1].eval()
    model = standard(module)
    before = module[1].running_mean.clone()
    first = model.scores(CODES)
    model.gradient(CODES, np.ones((60, 2)))
    assert np.array_equal(first, model.scores(CODES))
    assert [part.training for part in module] == [True, False, True, True]
    assert torch.equal(before, module[1].running_mean)


def test_frozen_layers_still_pass_gradients() -> None:
    module = mlp()
    for parameter in module.parameters():
        parameter.requires_grad_(False)
    assert np.abs(standard(module).gradient(CODES, np.tile([1.0, 0.0], (60, 1)))).max() > 0


def test_logits_become_probabilities_and_probabilities_stay() -> None:
    module = mlp()
    soft = nn.Sequential(module, nn.Softmax(dim=1))
    assert np.allclose(standard(module).scores(CODES), standard(soft).scores(CODES), atol=1e-6)
    with pytest.raises(WrongAnswer, match="read as a probability"):
        standard(module, outputs="probabilities")


def test_a_single_output_speaks_for_the_second_class() -> None:
    module = mlp(outputs=1)
    chance = torch.sigmoid(module((torch.tensor(CODES).float() - torch.tensor(SCALE["mean"])) / torch.tensor(SCALE["scale"])))
    for version in (module, nn.Sequential(module, nn.Sigmoid())):
        model = standard(version)
        assert np.allclose(model.scores(CODES)[:, 1], chance.detach().numpy()[:, 0], atol=1e-5)
    swapped = wrap(module, DOMAIN, classes=["high", "low"], torch=TorchSettings(inputs="standard", **SCALE))
    assert np.allclose(swapped.scores(CODES)[:, 0], chance.detach().numpy()[:, 0], atol=1e-5)


def test_one_hot_gradient_is_the_slope_along_the_category_axis() -> None:
    weight = torch.tensor([[0.0, 1.0, 3.0, 9.0, 0.0, 5.0, 0.0]])
    module = nn.Linear(7, 1, bias=False)
    module.weight.data = weight  # age, job x 3, sex x 2, hours
    model = wrap(module, DOMAIN, torch=TorchSettings(inputs="one_hot", outputs="logits"))
    assert model.layers() == ()
    logit = nn.Sequential(module)
    model = wrap(logit, DOMAIN, torch=TorchSettings(inputs="one_hot", outputs="logits"))
    codes = np.array([[30, 0, 0, 10], [30, 1, 1, 10], [30, 2, 1, 10.0]])
    found = model.gradient(codes, np.ones((3, 1)), "0")
    assert np.allclose(found, [[0, 2, 5, 0], [0, 4, 5, 0], [0, 6, 5, 0]])


class Embedded(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table, self.head = nn.Embedding(100, 3), nn.Linear(12, 2)

    def forward(self, codes: object) -> object:
        return self.head(self.table(codes).flatten(1))


def test_embedding_layers_get_whole_codes_and_neighbour_differences() -> None:
    domain = replace(DOMAIN, columns=(*DOMAIN.columns[:3], Column("hours", "integer", low=0, high=80)))
    codes = domain.sample(30, np.random.default_rng(0))
    model = wrap(Embedded(), domain, torch=TorchSettings(inputs="long"))
    cotangent = np.tile([0.0, 1.0], (30, 1))
    inner = codes.copy()
    inner[:, 0] = np.minimum(inner[:, 0], 89)
    moved = inner + np.array([1, 0, 0, 0])
    expected = (model.scores(moved) - model.scores(inner))[:, 1]
    assert np.allclose(model.gradient(inner, cotangent)[:, 0], expected, atol=1e-5)
    assert model.gradient(inner, np.ones((30, 12)), "table").shape == inner.shape


class Mixed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table, self.head = nn.Embedding(3, 2), nn.Linear(5, 2)

    def forward(self, job: object, others: object) -> object:
        return self.head(torch.cat([self.table(job), others], dim=1))


def test_a_preparing_callable_may_give_several_inputs_and_cut_columns_take_differences() -> None:
    def prepare(codes: object) -> object:
        return codes[:, 1].long(), (codes[:, [0, 2, 3]] - 40) / 20

    plain = wrap(Mixed(), DOMAIN, torch=TorchSettings(inputs=prepare))
    assert (plain.gradient(CODES, np.tile([0.0, 1.0], (60, 1)))[:, 1] == 0).all()
    helped = replace(plain, front=replace(plain.front, cut_places=(1,)))
    named = wrap(plain.module, DOMAIN, torch=TorchSettings(inputs=prepare, differences=["job"]))
    found = named.gradient(CODES, np.tile([0.0, 1.0], (60, 1)))
    assert np.abs(found[:, 1]).max() > 0
    assert np.array_equal(found, helped.gradient(CODES, np.tile([0.0, 1.0], (60, 1))))


def test_missing_cells_need_a_word_and_then_work() -> None:
    domain = replace(DOMAIN, columns=(replace(DOMAIN.columns[0], missing=0.2), *DOMAIN.columns[1:]))
    with pytest.raises(InvalidArgument, match=r"'age' has missing cells .*fill="):
        wrap(mlp(), domain)
    model = wrap(mlp(), domain, torch=TorchSettings(fill=(40, 0, 0, 0)))
    holed = CODES.copy()
    holed[:, 0] = np.nan
    assert np.isfinite(model.scores(holed)).all()
    assert (model.gradient(holed, np.ones((60, 2)))[:, 0] == 0).all()


class Stepped(nn.Module):
    def __init__(self, step: Callable[[object], object]) -> None:
        super().__init__()
        self.step, self.head = step, nn.Linear(4, 2)

    def forward(self, x: object) -> object:
        return self.head(self.step(x))


@pytest.mark.parametrize("step", [lambda x: (x > 0).float(), lambda x: x.detach()])
def test_a_step_without_gradient_is_refused_with_its_cure(step: Callable[[object], object]) -> None:
    model = standard(Stepped(step))
    with pytest.raises(MissingAbility, match=r"not differentiable.*DifferenceGradients"):
        model.gradient(CODES, np.ones((60, 2)))
    assert np.isfinite(DifferenceGradients(model, domain=DOMAIN).gradient(CODES, np.ones((60, 2)))).all()


def test_gradients_that_are_not_numbers_are_named() -> None:
    model = standard(Stepped(lambda x: torch.sqrt((x - x).abs())))
    with pytest.raises(WrongAnswer, match=r"the gradient of 'scores' is .*nan.* for row 0"):
        model.gradient(CODES, np.tile([0.0, 1.0], (60, 1)))


@pytest.mark.parametrize(
    ("module", "error", "words"),
    [
        (lambda: Stepped(lambda x: nn.functional.dropout(x, 0.5)), UnsteadyModel, "functional dropout"),
        (
            lambda: nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8, track_running_stats=False), nn.Linear(8, 2)),
            UnsteadyModel,
            "track_running_stats",
        ),
        (lambda: mlp(inputs=7), ModelFailed, r"float32 \(64, 4\).*TorchSettings"),
        (lambda: mlp(outputs=3), WrongAnswer, r"\(64, 3\); expected \(64, 2\)"),
        (lambda: nn.LSTM(4, 2), WrongAnswer, "answered with a tuple"),
    ],
)
def test_modules_that_cannot_be_tested_are_refused(module: Callable[[], object], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        standard(module())


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"inputs": "standard"}, "mean="),
        ({"inputs": "pixels"}, "inputs='pixels'"),
        ({"inputs": "long"}, "'hours' holds real numbers"),
        ({"fill": (1, 2)}, "fill has 2 numbers; expected 4"),
        ({"precision": "float8"}, "precision='float8'"),
        ({"threads": 0}, "threads=0"),
        ({"outputs": "odds"}, "outputs='odds'"),
        ({"inputs": "one_hot", "one_hot": ["age"]}, "one_hot names 'age'"),
    ],
)
def test_wrong_settings_are_named(settings: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidArgument, match=words):
        wrap(mlp(), DOMAIN, torch=TorchSettings(**settings))


def test_unknown_layers_and_wrong_cotangents_are_named() -> None:
    model = standard(mlp())
    with pytest.raises(UnknownName, match="unknown layer '7'"):
        model.activations(CODES, ["7"])
    with pytest.raises(InvalidArgument, match=r"\(60, 3\)"):
        model.gradient(CODES, np.ones((60, 3)))


def test_refit_learns_repeats_by_seed_and_leaves_everything_else_alone() -> None:
    codes, module = rows(800), mlp()
    model = standard(module, epochs=30)
    labels = truth(codes)
    before, state = model.fingerprint(), torch.random.get_rng_state()
    first, second = (model.refit(codes, labels, np.random.default_rng(3)) for _ in range(2))
    assert torch.equal(state, torch.random.get_rng_state())
    assert np.mean(labels_of(first.scores(codes)) == labels) > 0.9
    assert first.fingerprint() == second.fingerprint() != before == model.fingerprint()


def test_rows_are_not_written_to_and_large_batches_are_cut() -> None:
    class InPlace(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.head = nn.Linear(4, 2)

        def forward(self, x: object) -> object:
            return self.head(x.sub_(40).div_(20))

    model = wrap(InPlace().double(), DOMAIN, torch=TorchSettings(batch_rows=16))
    kept = CODES.copy()
    scores = Meter(model).scores(CODES)
    model.gradient(CODES, np.ones((60, 2)))
    assert np.array_equal(kept, CODES)
    assert np.allclose(scores[17], model.scores(CODES[17:18])[0])


def test_bfloat16_is_for_gradients_and_never_for_scores() -> None:
    module = mlp()
    exact, rough = standard(module), standard(module, precision="bfloat16")
    assert np.array_equal(exact.scores(CODES), rough.scores(CODES))
    slopes = [model.gradient(CODES, np.tile([0.0, 1.0], (60, 1))) for model in (exact, rough)]
    assert 0 < np.abs(slopes[0] - slopes[1]).max() < 0.05 * np.abs(slopes[0]).max()


@pytest.mark.parametrize("threads", ["auto", 1, 3])
def test_threads_are_set_for_the_work_and_given_back(threads: object) -> None:
    seen: list[int] = []
    module = mlp()
    model = standard(module, threads=threads)
    module.register_forward_hook(lambda *_: seen.append(torch.get_num_threads()))
    before = torch.get_num_threads()
    model.scores(CODES)
    assert seen[-1] == (1 if threads == "auto" else threads)
    assert torch.get_num_threads() == before


def test_difference_gradients_are_exact_for_linear_models_and_stay_inside_the_domain() -> None:
    asked = []

    def linear(codes: np.ndarray) -> np.ndarray:
        asked.append(codes)
        return codes @ np.array([0.001, 0.01, 0.02, 0.001])

    model = DifferenceGradients(wrap(linear, DOMAIN, takes="codes"), domain=DOMAIN)
    found = model.gradient(CODES, np.tile([0.0, 1.0], (60, 1)))
    assert np.allclose(found, [0.001, 0.01, 0.02, 0.001])
    assert len(asked[-1]) == 60 * 5
    assert DOMAIN.inside(asked[-1]).all()


def test_difference_gradients_refuse_what_they_cannot_do() -> None:
    with pytest.raises(MissingAbility, match="only says labels"):
        DifferenceGradients(wrap(lambda X: np.full(len(X), "low"), DOMAIN, takes="codes"))
    model = DifferenceGradients(wrap(lambda X: X[:, 0] / 91.5, DOMAIN, takes="codes"))
    with pytest.raises(MissingAbility, match="layer='relu_1'"):
        model.gradient(CODES, np.ones((60, 2)), "relu_1")
    with pytest.raises(InvalidArgument, match="step=0"):
        DifferenceGradients(model, step=0)
