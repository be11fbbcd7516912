"""A mended model comes back from its file with the same answers, and loading it runs no foreign code."""

from __future__ import annotations

import json

import numpy as np
import pytest

import evenhand as eh
from evenhand.disk import sealed
from evenhand.errors import InvalidArgument, StoreError, UnknownName
from evenhand.models.composed import Marginalised, Mixture
from evenhand.models.dense import DenseNet
from evenhand.models.saving import DESCRIPTION, load, save
from evenhand.repairs import REPAIRS
from evenhand.repairs.parts.case import Case

from .tables import table, tree_subject

DATA = table(150)
TREE = tree_subject(DATA)
CASE = Case.of(TREE, DATA.rows[:20])
WRAPPERS = ("no_change", "marginalise", "hide_protected", "drop_protected", "constant_answer", "adjust_thresholds")


def comes_back_alike(path, model):
    back = eh.wrap(path, DATA.domain)
    return back.classes == model.classes and np.allclose(back.scores(DATA.rows), model.scores(DATA.rows), rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", WRAPPERS)
def test_every_kind_comes_back(name, tmp_path):
    model = REPAIRS.entries()[name].make().mend(CASE, np.random.default_rng(0)).model
    assert comes_back_alike(save(model, tmp_path / "model"), model)


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
    from evenhand.models.torch import TorchSettings

    width = sum(len(c.values) if c.kind == "category" else 1 for c in DATA.domain.columns)
    module = torch.nn.Sequential(torch.nn.Linear(width, 6), torch.nn.ReLU(), torch.nn.BatchNorm1d(6), torch.nn.Linear(6, 1))
    fill = np.nan_to_num(np.nanmean(DATA.rows, axis=0)).tolist()
    model = eh.wrap(module, DATA.domain, torch=TorchSettings(inputs="one_hot", fill=fill, epochs=2))
    damped = model.without("1", [0, 2])
    path = save(damped, tmp_path / "model")
    assert (path / "model.onnx").is_file()
    assert comes_back_alike(path, damped)


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
