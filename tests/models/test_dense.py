"""The NumPy network: right, fast, and its gradients agree with differences."""

from __future__ import annotations

import itertools
import os
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.neural_network import MLPClassifier
from threadpoolctl import threadpool_limits

from evenhand.contract import SCORES, Trainable, Transparent, labels_of
from evenhand.errors import InvalidArgument, ModelFailed, UnknownName, WrongAnswer
from evenhand.models.dense import LOGITS, DenseNet
from evenhand.models.fitting_again import fit_dense

DATA = Path(os.environ.get("EVENHAND_DATA", Path(__file__).parents[3] / "shared" / "data"))
published = pytest.mark.skipif(not (DATA / "models").is_dir(), reason="the published nets are absent ($EVENHAND_DATA)")


def net(widths: tuple[int, ...] = (5, 8, 6, 3), seed: int = 0, fill: bool = False) -> DenseNet:
    rng = np.random.default_rng(seed)
    kernels = tuple(rng.normal(size=pair).astype(np.float32) for pair in itertools.pairwise(widths))
    biases = tuple(rng.normal(size=width).astype(np.float32) for width in widths[1:])
    standing_in = np.arange(widths[0], dtype=np.float32) if fill else None
    return DenseNet(kernels, biases, tuple("abcdefg"[: widths[-1]]), standing_in)


def differences(model: DenseNet, rows: np.ndarray, cotangent: np.ndarray, layer: str) -> np.ndarray:
    def value(at: np.ndarray) -> np.ndarray:
        values = model.scores(at) if layer == SCORES else model.activations(at, [layer])[layer]
        return (values.astype(np.float64) * cotangent).sum(axis=1)

    step = 2e-3
    unit = np.eye(rows.shape[1]) * step
    return np.stack([(value(rows + side) - value(rows - side)) / (2 * step) for side in unit], axis=1)


@published
@pytest.mark.parametrize(("name", "expected"), [("ADF_census", 0.8815), ("NeuronFair_census", 0.8600)])
def test_published_census_nets_reach_their_accuracy(name: str, expected: float) -> None:
    data = np.loadtxt(DATA / "census" / "census_int.csv", delimiter=",", skiprows=1)
    model = DenseNet.from_npz(DATA / "models" / f"{name}.npz")
    assert np.mean(labels_of(model.scores(data[:, :-1])) == data[:, -1]) == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize("layer", ["relu_1", "relu_2", LOGITS, SCORES])
@pytest.mark.parametrize("widths", [(5, 8, 6, 3), (5, 8, 6, 2)])
def test_gradient_is_the_slope_of_every_layer(layer: str, widths: tuple[int, ...]) -> None:
    model, rng = net(widths), np.random.default_rng(1)
    rows = rng.normal(size=(40, 5))
    units = {"relu_1": 8, "relu_2": 6}.get(layer, widths[-1])
    cotangent = rng.normal(size=(40, units))
    exact, rough = model.gradient(rows, cotangent, layer), differences(model, rows, cotangent, layer)
    # Rows with a ReLU corner within the step have no slope to compare; most rows have none.
    assert np.median(np.abs(exact - rough)) < 2e-3
    assert np.mean(np.abs(exact - rough).max(axis=1) < 0.05) > 0.8


def test_scores_are_probabilities_and_equal_alone_and_in_batches_of_any_size() -> None:
    model = net()
    rows = np.random.default_rng(2).normal(size=(20_000, 5)) * 5
    scores = model.scores(rows)
    assert np.allclose(scores.sum(axis=1), 1, atol=1e-5)
    assert np.allclose(scores[17:20], model.scores(rows[17:20]), atol=1e-5)
    assert model.scores(rows[:0]).shape == (0, 3)


def test_extreme_logits_give_finite_scores_and_gradients() -> None:
    model = net((5, 8, 6, 2))
    rows = np.full((3, 5), 1e6)
    assert np.isfinite(model.scores(rows)).all()
    assert np.isfinite(model.gradient(rows, np.ones((3, 2)))).all()


def test_it_has_every_ability() -> None:
    assert isinstance(net(), Transparent)
    assert isinstance(net(), Trainable)
    assert net().layers() == ("relu_1", "relu_2")


def test_activations_are_after_the_relu() -> None:
    values = net().activations(np.random.default_rng(3).normal(size=(50, 5)), ["relu_2", LOGITS])
    assert values["relu_2"].shape == (50, 6)
    assert values["relu_2"].min() == 0
    assert values[LOGITS].min() < 0


def test_units_held_at_zero_no_longer_matter() -> None:
    model = net()
    rows = np.random.default_rng(4).normal(size=(30, 5))
    hidden = model.activations(rows, ["relu_2"])["relu_2"]
    hidden[:, [0, 3]] = 0
    by_hand = hidden @ model.kernels[2] + model.biases[2]
    assert np.allclose(model.without("relu_2", [0, 3]).activations(rows, [LOGITS])[LOGITS], by_hand, atol=1e-5)


@pytest.mark.parametrize("classes", [("no", "yes"), (0, 1), (False, True), ("a", "b", "c")])
def test_saved_and_read_back_it_is_the_same_model(classes: tuple[object, ...], tmp_path: Path) -> None:
    model = net((5, 8, len(classes)), fill=True)
    model = DenseNet(model.kernels, model.biases, classes, model.fill)
    model.save(tmp_path / "net.npz")
    again = DenseNet.from_npz(tmp_path / "net.npz")
    assert again.classes == classes
    assert again.fingerprint() == model.fingerprint()
    assert net((5, 8, len(classes)), seed=9).fingerprint() != model.fingerprint()


@pytest.mark.parametrize("classes", [2, 3])
def test_a_scikit_learn_network_keeps_its_probabilities(classes: int) -> None:
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(300, 4))
    labels = np.digitize(rows[:, 0], [0.0] if classes == 2 else [-0.5, 0.5])
    estimator = MLPClassifier((7, 5), max_iter=400, random_state=0, learning_rate_init=0.02).fit(rows, labels)
    model = DenseNet.from_sklearn(estimator)
    assert np.allclose(model.scores(rows), estimator.predict_proba(rows), atol=1e-5)
    assert model.classes == tuple(range(classes))


def test_missing_cells_take_the_fill_and_have_no_gradient() -> None:
    model = net(fill=True)
    rows = np.random.default_rng(6).normal(size=(4, 5))
    holed = rows.copy()
    holed[1, 2] = np.nan
    rows[1, 2] = 2.0
    assert np.array_equal(model.scores(rows), model.scores(holed))
    assert model.gradient(holed, np.ones((4, 3)), LOGITS)[1, 2] == 0


def test_training_learns_on_raw_codes_with_missing_cells_and_repeats_by_seed() -> None:
    rng = np.random.default_rng(7)
    rows = rng.integers(0, 5000, size=(700, 3)).astype(np.float64)
    labels = (rows[:, 0] > rows[:, 1]).astype(np.intp)
    rows[rng.random(rows.shape) < 0.01] = np.nan
    first, second = (fit_dense(rows, labels, ("no", "yes"), np.random.default_rng(0), hidden=(16,)) for _ in range(2))
    assert np.mean(labels_of(first.scores(rows)) == labels) > 0.9
    assert first.fingerprint() == second.fingerprint()


def test_a_class_absent_from_training_keeps_its_column() -> None:
    rows = np.random.default_rng(8).normal(size=(200, 3))
    labels = np.where(rows[:, 0] > 0, 2, 0)
    model = fit_dense(rows, labels, ("a", "b", "c"), np.random.default_rng(0), hidden=(8,))
    scores = model.scores(rows)
    assert scores.shape == (200, 3)
    assert scores[:, 1].max() < 1e-6
    assert np.mean(labels_of(scores) == labels) > 0.9


def test_it_answers_millions_of_rows_per_cpu_second() -> None:
    model = net((13, 64, 32, 16, 8, 4, 2))
    rows = np.random.default_rng(9).integers(0, 10, size=(100_000, 13)).astype(np.float64)
    seconds = []
    with threadpool_limits(1):
        for _ in range(5):
            started = time.process_time()
            model.scores(rows)
            seconds.append(time.process_time() - started)
    # 5 million on one quiet core in measurement; machines differ, and busy ones more.
    assert len(rows) / min(seconds) > 500_000


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: DenseNet.from_npz("nowhere.npz"), InvalidArgument, "nowhere.npz"),
        (lambda: net().scores(np.zeros((2, 4))), WrongAnswer, "5 columns"),
        (lambda: net().gradient(np.zeros((2, 5)), np.ones((2, 2))), InvalidArgument, r"expected \(2, 3\)"),
        (lambda: net().gradient(np.zeros((2, 5)), np.ones((2, 2)), "relu_9"), UnknownName, "did you mean 'relu_"),
        (lambda: DenseNet(net().kernels, net().biases, ("a", "b")), InvalidArgument, "3 outputs"),
        (lambda: DenseNet(net().kernels[:2], net().biases), InvalidArgument, "as many kernels as biases"),
        (lambda: DenseNet.from_sklearn(MLPClassifier()), InvalidArgument, "fitted"),
        (lambda: fit_dense(np.zeros((3, 2)), np.zeros(3, dtype=np.intp), (0, 1), np.random.default_rng(0)), InvalidArgument, "two classes"),
    ],
)
def test_mistakes_are_named(make: object, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        make()  # type: ignore[operator]


def test_a_pickle_inside_an_npz_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "bad.npz", **{"linear.kernel": np.array([{"a": 1}], dtype=object)})
    with pytest.raises(ModelFailed, match="plain arrays"):
        DenseNet.from_npz(tmp_path / "bad.npz")
    (tmp_path / "text.npz").write_text("hello")
    with pytest.raises(ModelFailed, match="plain arrays"):
        DenseNet.from_npz(tmp_path / "text.npz")


def test_an_entry_of_an_npz_that_is_no_array_is_refused(tmp_path: Path) -> None:
    """NumPy gives the bytes of an entry whose first letters are not its own; a fuzzer met it."""
    import zipfile

    with zipfile.ZipFile(tmp_path / "odd.npz", "w") as file:
        file.writestr("linear.kernel.npy", b"\x93NUM=>PY\x01\x00v\x00")
    with pytest.raises(ModelFailed, match=r"'linear.kernel' is no array"):
        DenseNet.from_npz(tmp_path / "odd.npz")
