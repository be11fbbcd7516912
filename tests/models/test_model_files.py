"""Model files and folders: safe ones load, unsafe ones ask for trust, broken ones say so."""

from __future__ import annotations

import pickle
from pathlib import Path

import joblib
import numpy as np
import pytest
import skops.io
import yaml
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier
from small_domain import DOMAIN, names, rows, truth

from evenhand.contract import labels_of
from evenhand.errors import InvalidArgument, MissingExtra, ModelFailed, UntrustedModel
from evenhand.models.dense import DenseNet
from evenhand.models.fitting_again import fit_dense
from evenhand.models.wrap import wrap

CODES = rows()
TREE = DecisionTreeClassifier(random_state=0).fit(CODES, names(CODES))


def assert_right(model: object) -> None:
    assert np.mean(labels_of(model.scores(CODES)) == truth(CODES)) > 0.9


@pytest.mark.parametrize("estimator", [TREE, HistGradientBoostingClassifier(max_iter=30, min_samples_leaf=5).fit(CODES, names(CODES))])
def test_skops_files_of_scikit_learn_need_no_trust(tmp_path: Path, estimator: object) -> None:
    skops.io.dump(estimator, tmp_path / "m.skops")
    assert_right(wrap(tmp_path / "m.skops", DOMAIN))


def doubled(table: np.ndarray) -> np.ndarray:
    return table * 2


def test_skops_files_with_foreign_code_do(tmp_path: Path) -> None:
    chain = make_pipeline(FunctionTransformer(doubled), DecisionTreeClassifier(random_state=0)).fit(CODES, names(CODES))
    skops.io.dump(chain, tmp_path / "m.skops")
    with pytest.raises(UntrustedModel, match=r"doubled.*trusted=True"):
        wrap(tmp_path / "m.skops", DOMAIN)
    assert_right(wrap(tmp_path / "m.skops", DOMAIN, trusted=True))


class Trap:
    """Unpickling it would create a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> object:
        return (open, (str(self.path), "w"))


@pytest.mark.parametrize("ending", [".pkl", ".pickle", ".joblib"])
def test_pickles_load_only_with_trust_and_run_nothing_before(tmp_path: Path, ending: str) -> None:
    (tmp_path / f"trap{ending}").write_bytes(pickle.dumps(Trap(tmp_path / "sprung")))
    with pytest.raises(UntrustedModel, match=r"is a pickle.*trusted=True.*\.skops"):
        wrap(tmp_path / f"trap{ending}", DOMAIN)
    assert not (tmp_path / "sprung").exists()
    joblib.dump(TREE, tmp_path / f"m{ending}")
    assert_right(wrap(str(tmp_path / f"m{ending}"), DOMAIN, trusted=True))


def test_networks_of_the_package(tmp_path: Path) -> None:
    net = fit_dense(CODES, truth(CODES), (0, 1), np.random.default_rng(0), hidden=(16,))
    net.save(tmp_path / "m.npz")
    model = wrap(tmp_path / "m.npz", DOMAIN)
    assert isinstance(model, DenseNet)
    assert model.classes == ("low", "high")
    assert_right(model)
    swapped = wrap(tmp_path / "m.npz", DOMAIN, classes=["high", "low"])
    assert np.allclose(swapped.scores(CODES), model.scores(CODES)[:, ::-1])


def test_torch_files(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    module = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    expected = wrap(module, DOMAIN).scores(CODES)
    torch.save(module, tmp_path / "whole.pt")
    with pytest.raises(UntrustedModel, match=r"whole pickled module.*trusted=True.*onnx"):
        wrap(tmp_path / "whole.pt", DOMAIN)
    assert np.allclose(wrap(tmp_path / "whole.pt", DOMAIN, trusted=True).scores(CODES), expected)
    torch.save(module.state_dict(), tmp_path / "weights.pth")
    with pytest.raises(InvalidArgument, match=r"only weights.*load_state_dict"):
        wrap(tmp_path / "weights.pth", DOMAIN, trusted=True)
    (tmp_path / "text.pt").write_text("nothing")
    with pytest.raises(ModelFailed, match=r"text\.pt"):
        wrap(tmp_path / "text.pt", DOMAIN, trusted=True)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_compiled_torch_files_need_trust_and_give_gradients(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    module = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    expected, cotangent = wrap(module, DOMAIN), np.tile([0.0, 1.0], (len(CODES), 1))
    torch.jit.script(module).save(str(tmp_path / "script.pt"))
    rows_of_any_number = {"input": {0: torch.export.Dim("rows")}}
    program = torch.export.export(module.eval(), (torch.zeros(3, 4),), dynamic_shapes=rows_of_any_number)
    torch.export.save(program, tmp_path / "program.pt2")
    for name, words in (("script.pt", "TorchScript program"), ("program.pt2", "exported torch program")):
        with pytest.raises(UntrustedModel, match=rf"{words}.*trusted=True.*torch\.onnx\.export"):
            wrap(tmp_path / name, DOMAIN)
        model = wrap(tmp_path / name, DOMAIN, trusted=True)
        assert np.allclose(model.scores(CODES), expected.scores(CODES), atol=1e-6)
        assert np.allclose(model.gradient(CODES, cotangent), expected.gradient(CODES, cotangent), atol=1e-6)


def folder(path: Path, flavours: object) -> Path:
    path.mkdir()
    (path / "MLmodel").write_text(yaml.safe_dump({"flavors": flavours}))
    return path


def test_mlflow_folders_with_a_pickle(tmp_path: Path) -> None:
    path = folder(tmp_path / "m", {"python_function": {"loader_module": "mlflow.sklearn"}, "sklearn": {"pickled_model": "model.pkl"}})
    joblib.dump(TREE, path / "model.pkl")
    with pytest.raises(UntrustedModel, match=r"model\.pkl is a pickle"):
        wrap(path, DOMAIN)
    assert_right(wrap(path, DOMAIN, trusted=True))


@pytest.mark.parametrize("library", ["xgboost", "lightgbm", "catboost"])
def test_mlflow_folders_of_boosters_need_no_trust(tmp_path: Path, library: str) -> None:
    module = pytest.importorskip(library)
    path = folder(tmp_path / "m", {library: {"data": {"xgboost": "model.json", "lightgbm": "model.txt", "catboost": "model.cb"}[library]}})
    if library == "xgboost":
        module.XGBClassifier(n_estimators=20, n_jobs=1).fit(CODES, truth(CODES)).save_model(path / "model.json")
    elif library == "lightgbm":
        fitted = module.LGBMClassifier(n_estimators=20, verbose=-1, n_jobs=1, min_child_samples=5).fit(CODES, truth(CODES))
        fitted.booster_.save_model(str(path / "model.txt"))
    else:
        fitted = module.CatBoostClassifier(iterations=30, verbose=False, allow_writing_files=False, thread_count=1).fit(CODES, truth(CODES))
        fitted.save_model(str(path / "model.cb"))
    assert_right(wrap(path, DOMAIN, takes="codes"))


@pytest.mark.parametrize(
    ("flavours", "error", "words"),
    [
        ({}, InvalidArgument, "names no flavors"),
        ({"onnx": {"data": "model.onnx"}}, InvalidArgument, "which is not there"),
        ({"onnx": {"data": "../../secret.onnx"}}, InvalidArgument, "outside the folder"),
        ({"spark": {}}, UntrustedModel, r"flavors: spark.*trusted=True"),
    ],
)
def test_incomplete_mlflow_folders_are_named(tmp_path: Path, flavours: object, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        wrap(folder(tmp_path / "m", flavours), DOMAIN)


def test_an_unknown_flavour_needs_mlflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(MissingExtra, match=r"evenhand\[mlflow\]"):
        wrap(folder(tmp_path / "m", {"spark": {}}), DOMAIN, trusted=True)


@pytest.mark.parametrize(
    ("name", "content", "error", "words"),
    [
        ("absent.skops", None, InvalidArgument, "is not there"),
        ("text.skops", b"hello", ModelFailed, "is not a skops file"),
        ("model.h5", b"hello", InvalidArgument, r"has the ending '\.h5'; known are \.onnx"),
        ("model", b"hello", InvalidArgument, "has the ending ''"),
    ],
)
def test_files_that_cannot_be_models_are_named(
    tmp_path: Path, name: str, content: bytes | None, error: type[Exception], words: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(error, match=words):
        wrap(tmp_path / name, DOMAIN)


def test_a_broken_pickle_and_a_plain_folder_are_named(tmp_path: Path) -> None:
    (tmp_path / "m.pkl").write_bytes(b"hello")
    with pytest.raises(ModelFailed, match=r"m\.pkl cannot be unpickled"):
        wrap(tmp_path / "m.pkl", DOMAIN, trusted=True)
    with pytest.raises(InvalidArgument, match="folder without an MLmodel"):
        wrap(tmp_path, DOMAIN)
