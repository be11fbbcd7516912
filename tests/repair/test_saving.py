"""A mended model comes back from its file with the same answers, and loading it runs no foreign code."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

import evenhand as eh
from evenhand.disk import sealed
from evenhand.engine.run import Subject
from evenhand.errors import InvalidArgument, MissingAbility, ModelFailed, StoreError, UnknownName
from evenhand.models import saved_estimators
from evenhand.models.composed import Marginalised, Mixture
from evenhand.models.dense import DenseNet
from evenhand.models.estimator_arrays import read_arrays, write_arrays
from evenhand.models.saving import DESCRIPTION, load, save
from evenhand.repairs import REPAIRS
from evenhand.repairs.parts.case import Case

from .tables import net_subject, table, tree_subject

DATA = table(150)
TREE = tree_subject(DATA)
FRAME = DATA.frame.drop(columns="decision")
WORDS = ["sex of person", "race", "job"]
OF_NETS = ("damp_neurons", "retrain_selected", "retrain_consistently")
QUICK = ("logistic", "forest", "histogram boosting", "kernel")
OTHERS = sorted(set(REPAIRS.entries()) - set(OF_NETS) - {"equal_means"})  # that one is for amounts: test_amounts.py


def pipeline(*end):
    front = make_column_transformer(
        (OneHotEncoder(sparse_output=False), WORDS), (make_pipeline(SimpleImputer(), StandardScaler()), ["income"])
    )
    return make_pipeline(front, *end)


def wrapped(estimator, **told):
    return eh.wrap(estimator.fit(FRAME, DATA.frame["decision"]), DATA, **told)


PIPED = Subject(DATA.domain, wrapped(pipeline(DecisionTreeClassifier(max_depth=5, random_state=0))), DATA.rows, DATA.labels)


def comes_back_alike(path, model, most=1e-9):
    back = eh.wrap(path, DATA.domain)
    apart = np.abs(back.scores(DATA.rows) - model.scores(DATA.rows)).max()
    assert back.fingerprint()
    return back.classes == model.classes and apart <= most and not list(Path(path).rglob("*.skops"))


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("subject", [pytest.param(TREE, id="codes", marks=pytest.mark.slow), pytest.param(PIPED, id="frame")])
def test_every_repair_comes_back(name, subject, tmp_path):
    case = Case.of(subject, DATA.rows[:20])
    model = REPAIRS.entries()[name].make().mend(case, np.random.default_rng(0)).model
    assert comes_back_alike(save(model, tmp_path / "model"), model)


@pytest.mark.parametrize("name", [OF_NETS[0], *(pytest.param(name, marks=pytest.mark.slow) for name in OF_NETS[1:])])
def test_repairs_of_nets_come_back(name, tmp_path):
    subject = net_subject(DATA)
    model = REPAIRS.entries()[name].make().mend(Case.of(subject, DATA.rows[:20]), np.random.default_rng(0)).model
    assert comes_back_alike(save(model, tmp_path / "model"), model)


ENDS = {
    "logistic": (LogisticRegression(),),
    "forest": (RandomForestClassifier(8, random_state=0),),
    "histogram boosting": (HistGradientBoostingClassifier(max_iter=5),),
    "boosting": (GradientBoostingClassifier(n_estimators=4),),
    "net": (MLPClassifier((4,), max_iter=5),),
    "margin": (LinearSVC(),),
    "kernel": (SVC(),),
    "calibrated": (CalibratedClassifierCV(LinearSVC(), cv=2),),
    "vote": (VotingClassifier([("a", LogisticRegression()), ("b", GaussianNB())], voting="soft"),),
    "neighbours": (KNeighborsClassifier(3),),
    "components": (PCA(2), BaggingClassifier(n_estimators=3)),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("end", [end if end in QUICK else pytest.param(end, marks=pytest.mark.slow) for end in ENDS])
def test_a_pipeline_is_plain_arrays(end, tmp_path):
    model = wrapped(pipeline(*ENDS[end]))
    path = save(model, tmp_path / "model")
    assert sorted(file.name for file in path.iterdir()) == [DESCRIPTION, "model.npz"]
    assert comes_back_alike(path, model)


def _refuse(*_):
    raise MissingAbility("no plain array")


def test_what_is_no_plain_array_is_a_graph_in_single_precision(tmp_path, monkeypatch):
    pytest.importorskip("skl2onnx")
    monkeypatch.setattr(saved_estimators, "write_arrays", _refuse)
    model = wrapped(pipeline(LogisticRegression()))
    path = save(model, tmp_path / "model")
    assert sorted(file.name for file in path.iterdir()) == [DESCRIPTION, "model.onnx"]
    assert comes_back_alike(path, model, most=1e-5)
    again = save(eh.wrap(path, DATA.domain), tmp_path / "again")
    assert comes_back_alike(again, model, most=1e-5)


@pytest.mark.parametrize("library", ["lightgbm", "xgboost", "catboost"])
@pytest.mark.filterwarnings("ignore")
def test_boosters_are_their_own_numbers(library, tmp_path):
    pytest.importorskip(library)
    makers = {
        "lightgbm": lambda m: m.LGBMClassifier(n_estimators=4, verbose=-1, n_jobs=1),
        "xgboost": lambda m: m.XGBClassifier(n_estimators=4, n_jobs=1),
        "catboost": lambda m: m.CatBoostClassifier(iterations=4, verbose=False, allow_writing_files=False, thread_count=1),
    }
    fitted = pipeline(makers[library](__import__(library))).fit(FRAME, DATA.labels)
    model = eh.wrap(fitted, DATA.domain, classes=list(DATA.domain.label.values))
    assert comes_back_alike(save(model, tmp_path / "piped"), model)
    bare = eh.wrap(
        makers[library](__import__(library)).fit(DATA.rows, DATA.labels), DATA.domain, takes="codes", classes=list(DATA.domain.label.values)
    )
    assert comes_back_alike(save(bare, tmp_path / "bare"), bare)


def test_the_threshold_that_was_declared_comes_back(tmp_path):
    model = wrapped(pipeline(LogisticRegression()), threshold=0.8)
    assert comes_back_alike(save(model, tmp_path / "model"), model)


class Own(DecisionTreeClassifier):
    """A class of the user's."""


def test_what_can_be_written_in_no_way_names_the_cure(tmp_path):
    with pytest.raises(MissingAbility, match=r"neither as plain arrays .* nor as ONNX .*export it yourself"):
        save(wrapped(pipeline(Own())), tmp_path / "model")


def test_a_model_of_codes_refuses_other_codes(tmp_path):
    path = save(TREE.model, tmp_path / "model")
    other = table(150, protected=("race",)).domain
    assert eh.wrap(path, other).scores(DATA.rows[:2]).shape == (2, 2)
    columns = tuple(replace(c, values=tuple(reversed(c.values))) if c.name == "job" else c for c in DATA.domain.columns)
    with pytest.raises(StoreError, match="codes"):
        eh.wrap(path, replace(DATA.domain, columns=columns))


def test_another_release_that_answers_otherwise_is_noticed(tmp_path):
    path = save(PIPED.model, tmp_path / "model")
    told = json.loads((path / DESCRIPTION).read_text())
    told["answers"][3] = [0.123, 0.877]
    del told["checksum"]
    (path / DESCRIPTION).write_text(sealed(told))
    with pytest.raises(StoreError, match="does not answer as it did"):
        eh.wrap(path, DATA.domain)


def _changed(path, change):
    with np.load(path) as file:
        arrays = dict(file)
    told = json.loads(arrays["told"].tobytes())
    change(told, arrays)
    arrays["told"] = np.frombuffer(json.dumps(told).encode(), np.uint8)
    np.savez(path, **arrays)


def _foreign(told, arrays):
    told["estimator"]["class"] = "subprocess:Popen"


def _other_package(told, arrays):
    told["estimator"]["class"] = "sklearn.datasets._base:Bunch"


def _far_child(told, arrays):
    nodes = next(name for name, array in arrays.items() if array.dtype.names and "left_child" in array.dtype.names)
    arrays[nodes] = arrays[nodes].copy()
    arrays[nodes]["left_child"][0] = 10**9


@pytest.mark.parametrize("change", [_foreign, _other_package, _far_child])
def test_crafted_arrays_are_refused_in_one_line(change, tmp_path):
    write_arrays(DecisionTreeClassifier(max_depth=3).fit(DATA.rows, DATA.labels), tmp_path / "model.npz")
    _changed(tmp_path / "model.npz", change)
    with pytest.raises(ModelFailed):
        read_arrays(tmp_path / "model.npz")


def test_a_file_decides_nothing_about_workers_and_folders(tmp_path):
    write_arrays(make_pipeline(DecisionTreeClassifier(), memory="/tmp/elsewhere").fit(DATA.rows, DATA.labels), tmp_path / "model.npz")
    assert read_arrays(tmp_path / "model.npz").memory is None


def test_mixtures_and_wrappers_of_wrappers_come_back(tmp_path):
    inner = Marginalised(TREE.model, DATA.domain, np.array([0.2, 0.3, 0.5]))
    model = Mixture((inner, TREE.model), (0.25, 0.75), by_label=True)
    assert comes_back_alike(save(model, tmp_path / "model"), model)


def test_a_dense_net_is_one_npz_file(tmp_path):
    rng = np.random.default_rng(0)
    kernels = tuple(rng.standard_normal(shape).astype(np.float32) for shape in ((4, 5), (5, 2)))
    model = DenseNet(kernels, (np.zeros(5, np.float32), np.zeros(2, np.float32)), ("deny", "grant"), np.zeros(4, np.float32))
    path = save(model, tmp_path / "model")
    assert path.suffix == ".npz"
    assert comes_back_alike(path, model)


@pytest.mark.slow
def test_a_torch_module_comes_back_as_a_graph_that_takes_codes(tmp_path):
    torch = pytest.importorskip("torch")
    from evenhand.models.torch_adapter import TorchSettings

    width = sum(len(c.values) if c.kind == "category" else 1 for c in DATA.domain.columns)
    module = torch.nn.Sequential(torch.nn.Linear(width, 6), torch.nn.ReLU(), torch.nn.BatchNorm1d(6), torch.nn.Linear(6, 1))
    fill = np.nan_to_num(np.nanmean(DATA.rows, axis=0)).tolist()
    model = eh.wrap(module, DATA.domain, torch=TorchSettings(inputs="one_hot", fill=fill, epochs=2))
    damped = model.without("1", [0, 2])
    path = save(damped, tmp_path / "model")
    assert (path / "model.onnx").is_file()
    assert comes_back_alike(path, damped, most=1e-6)


def test_nothing_is_overwritten(tmp_path):
    save(TREE.model, tmp_path / "model")
    with pytest.raises(StoreError, match="not empty"):
        save(TREE.model, tmp_path / "model")


def test_what_was_built_around_a_callable_wants_it_again(tmp_path):
    model = eh.wrap(lambda frame: np.where(frame["sex of person"] == "x", "grant", "deny"), DATA.domain, takes="frame")
    path = save(Marginalised(model, DATA.domain, np.array([0.2, 0.3, 0.5])), tmp_path / "model")
    with pytest.raises(InvalidArgument, match="base"):
        load(path, DATA.domain)
    assert load(path, DATA.domain, base=model).scores(DATA.rows[:3]).shape == (3, 2)


def test_a_description_that_points_elsewhere_is_refused(tmp_path):
    path = save(Marginalised(TREE.model, DATA.domain, np.array([0.2, 0.3, 0.5])), tmp_path / "model")
    told = json.loads((path / DESCRIPTION).read_text())
    told["base"]["path"] = "../../elsewhere.skops"
    del told["checksum"]
    (path / DESCRIPTION).write_text(sealed(told))
    with pytest.raises(StoreError, match="outside"):
        eh.wrap(path, DATA.domain)


def test_an_unknown_repair_is_named():
    from .test_comparison import judged

    with pytest.raises(UnknownName):
        judged({}).save("mien", "nowhere")
