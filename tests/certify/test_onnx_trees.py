"""Tree ensembles in ONNX files: the share is the counted one for every kind of node, and what cannot be read is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.domain.columns import Column
from evenhand.domain.tabular import Label, TabularDomain
from evenhand.errors import MissingAbility
from evenhand.measures.proofs import certify

from .test_exact import counted_share

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
COLUMNS = (
    Column("sex", "integer", low=0, high=1),
    Column("a", "integer", low=0, high=8),
    Column("b", "integer", low=-2, high=5, missing=0.1),
)
MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GT", "BRANCH_GTE", "BRANCH_EQ", "BRANCH_NEQ")


def domain_of(classes: int) -> TabularDomain:
    return TabularDomain(COLUMNS, ("sex",), Label("y", tuple(range(classes)), (1,)))


def ensemble(classes: int, after: str, seed: int, single: bool = False) -> dict[str, Any]:
    """Nine full trees of depth 3 with random questions of every kind; a single number speaks for the second class."""
    rng = np.random.default_rng(seed)
    made: dict[str, Any] = {f"nodes_{name}": [] for name in ("treeids", "nodeids", "featureids", "modes", "truenodeids", "falsenodeids")}
    made |= {"nodes_values": [], "nodes_missing_value_tracks_true": [], "class_treeids": [], "class_nodeids": [], "class_ids": []}
    made["class_weights"] = []
    for tree in range(9):
        for node in range(15):
            is_leaf = node >= 7
            column = int(rng.integers(3))
            mode = str(rng.choice(MODES))
            # onnxruntime sends missing cells its own way at (in)equalities: those are asked of whole columns only
            column = 1 if mode in ("BRANCH_EQ", "BRANCH_NEQ") and column == 2 else column
            value = float(rng.integers(-1, 8)) + (0.0 if mode in ("BRANCH_EQ", "BRANCH_NEQ") else float(rng.choice([0.0, 0.5])))
            row = (
                tree,
                node,
                0 if is_leaf else column,
                "LEAF" if is_leaf else mode,
                0 if is_leaf else 2 * node + 1,
                0 if is_leaf else 2 * node + 2,
            )
            for name, cell in zip(("treeids", "nodeids", "featureids", "modes", "truenodeids", "falsenodeids"), row, strict=True):
                made[f"nodes_{name}"].append(cell)
            made["nodes_values"].append(0.0 if is_leaf else value)
            made["nodes_missing_value_tracks_true"].append(0 if is_leaf else int(rng.integers(2)))
            for place in ([1] if single else range(classes)) if is_leaf else ():
                made["class_treeids"].append(tree)
                made["class_nodeids"].append(node)
                made["class_ids"].append(place)
                made["class_weights"].append(float(rng.normal()))
    return made | {"classlabels_int64s": list(range(classes)), "post_transform": after}


def written(told: dict[str, Any], path: Path, before: str = "") -> Path:
    helper, kind = onnx.helper, onnx.TensorProto
    nodes = [helper.make_node(before, ["x"], ["z"], domain="ai.onnx.ml", offset=[0.0], scale=[2.0])] if before else []
    nodes.append(helper.make_node("TreeEnsembleClassifier", ["z" if before else "x"], ["label", "scores"], domain="ai.onnx.ml", **told))
    ports = [helper.make_tensor_value_info("x", kind.FLOAT, [None, 3])]
    answers = [
        helper.make_tensor_value_info("label", kind.INT64, [None]),
        helper.make_tensor_value_info("scores", kind.FLOAT, [None, len(told["classlabels_int64s"])]),
    ]
    graph = helper.make_graph(nodes, "trees", ports, answers)
    opsets = [helper.make_opsetid("", 15), helper.make_opsetid("ai.onnx.ml", 3)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    return path


@pytest.mark.parametrize(("classes", "after"), [(2, "SOFTMAX"), (3, "NONE"), (3, "SOFTMAX")])
def test_every_kind_of_node_is_read_as_the_runtime_reads_it(tmp_path: Path, classes: int, after: str) -> None:
    domain = domain_of(classes)
    model = eh.wrap(
        written(ensemble(classes, after, classes), tmp_path / "trees.onnx"), domain, takes="codes", classes=list(range(classes))
    )
    certificate = certify(model, domain, sample_rows=256)
    assert certificate.is_exact
    assert certificate.kind == "ONNX tree ensemble"
    assert 0 < certificate.lower == pytest.approx(counted_share(model, domain), abs=1e-12)


def test_one_number_speaks_for_the_second_class(tmp_path: Path) -> None:
    domain = domain_of(2)
    model = eh.wrap(written(ensemble(2, "LOGISTIC", 7, single=True), tmp_path / "t.onnx"), domain, takes="codes", classes=[0, 1])
    assert certify(model, domain, sample_rows=256).lower == pytest.approx(counted_share(model, domain), abs=1e-12)


def test_preparations_inside_the_file_are_refused_by_name(tmp_path: Path) -> None:
    domain = domain_of(2)
    model = eh.wrap(written(ensemble(2, "SOFTMAX", 1), tmp_path / "t.onnx", before="Scaler"), domain, takes="codes", classes=[0, 1])
    with pytest.raises(MissingAbility, match="Scaler"):
        certify(model, domain)
