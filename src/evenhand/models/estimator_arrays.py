"""A fitted scikit-learn estimator as plain arrays with a description of what they belong to, and back: no pickle, no code.

Only scikit-learn's own classes are built again, their fields are numbers, texts, lists and arrays, and what compiled code follows
is looked at first.  What the answers do not need (random states, optimisers, score functions) is left out.
"""

from __future__ import annotations

import importlib
import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.disk import check_depth, whole_file
from evenhand.errors import MissingAbility, ModelFailed
from evenhand.models.archives import check_archive
from evenhand.models.inputs import first_line
from evenhand.models.tree_bounds import check_object

TOLD = "told"
"""The entry of the file that holds the description, as bytes of UTF-8."""
DEEPEST = 60
PACKAGES = [
    "pipeline",
    "compose",
    "preprocessing",
    "impute",
    "linear_model",
    "svm",
    "naive_bayes",
    "discriminant_analysis",
    "neural_network",
    "tree",
    "ensemble",
    "calibration",
    "kernel_approximation",
    "dummy",
    "decomposition",
    "feature_selection",
    "multiclass",
    "multioutput",
    "isotonic",
    "random_projection",
    "neighbors",
]
"""scikit-learn's packages whose classes may be built again."""
SILENT = {"n_jobs": None, "memory": None, "verbose": 0}
"""What a file may not decide: how many workers there are, what folder is used, what is printed."""
_PLACE = re.compile(r"sklearn\.(\w+)(\.\w+)*:\w+")
_TREE = ("n_features", "n_classes", "n_outputs", "max_depth", "node_count", "nodes", "values")
_PREDICTOR = ("nodes", "binned_left_cat_bitsets", "raw_left_cat_bitsets")
_LOSSES = (
    "HalfBinomialLoss",
    "HalfMultinomialLoss",
    "HalfSquaredError",
    "ExponentialLoss",
    "HalfPoissonLoss",
    "HalfGammaLoss",
    "AbsoluteError",
)
_HELPERS = ("_CalibratedClassifier", "_SigmoidCalibration", "_BinMapper")
"""Classes that are no estimators, but parts of them with plain fields."""
_TYPES: dict[str, type] = {"object": object, "float": float, "int": int, "str": str, "bool": bool}


class _NotPlain(Exception):
    """Something that is no number, text, list or array."""

    def __init__(self, value: Any) -> None:
        super().__init__(f"{type(value).__module__}.{type(value).__name__}")
        self.answers = hasattr(value, "fit") or hasattr(value, "predict") or hasattr(value, "transform")


@dataclass
class _Packer:
    """The arrays of one file while it is being written."""

    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)

    def told(self, value: Any, depth: int = 0) -> Any:
        """What the description says of a value."""
        if depth > DEEPEST:
            raise _NotPlain(value)
        if value is None or isinstance(value, bool | str) or type(value) is int:
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        for accepts, tell in _TELLERS:
            if accepts(value):
                return tell(self, value, depth + 1)
        raise _NotPlain(value)

    def kept(self, array: NDArray[Any]) -> dict[str, Any]:
        """An array under the next number; one of objects as a list of what they are."""
        name = str(len(self.arrays))
        self.arrays[name] = np.ascontiguousarray(array).reshape(array.shape)
        return {"array": name}

    def fields(self, values: dict[str, Any], depth: int) -> dict[str, Any]:
        """Fields by their names; those that are not plain are left out."""
        found = {}
        for name, value in values.items():
            try:
                found[name] = self.told(value, depth)
            except _NotPlain as fault:
                if fault.answers:
                    raise
                # Of the rest, the answers of what is built again tell whether it was needed.
        return found

    def array(self, array: NDArray[Any], depth: int) -> dict[str, Any]:
        """Numbers and texts as they are, other objects one by one."""
        if not array.dtype.hasobject:
            return self.kept(array)
        return {"cells": [self.told(each, depth) for each in array.reshape(-1)], "shape": list(array.shape)}

    def sparse(self, matrix: Any, _depth: int) -> dict[str, Any]:
        """A compressed matrix by its three arrays."""
        rows = matrix.tocsr()
        return {"sparse": [self.kept(each) for each in (rows.data, rows.indices, rows.indptr)], "shape": list(rows.shape)}

    def tree(self, tree: Any, depth: int) -> dict[str, Any]:
        """The nodes of a tree and what they say."""
        state = tree.__getstate__()
        about = {"n_features": tree.n_features, "n_classes": np.array(tree.n_classes), "n_outputs": tree.n_outputs}
        return {"tree": {name: self.told({**about, **state}[name], depth) for name in _TREE}}

    def predictor(self, predictor: Any, depth: int) -> dict[str, Any]:
        """A tree of histogram boosting."""
        return {"predictor": {name: self.told(getattr(predictor, name), depth) for name in _PREDICTOR}}

    def estimator(self, estimator: Any, depth: int) -> dict[str, Any]:
        """One of scikit-learn's own objects by its class and fields."""
        kind = type(estimator)
        return {"class": f"{kind.__module__}:{kind.__name__}", "fields": self.fields(vars(estimator), depth)}


def _is_own(value: Any) -> bool:
    kind = type(value)
    return _class_of(f"{kind.__module__}:{kind.__name__}") is kind


def _class_of(place: str) -> type | None:
    """A class of scikit-learn that may be built again; None for any other."""
    from sklearn.base import BaseEstimator

    match = _PLACE.fullmatch(place)
    if match is None or match.group(1) not in PACKAGES or ".tests" in place:
        return None
    module, name = place.split(":")
    try:
        found = getattr(importlib.import_module(module), name, None)
    except ImportError:
        return None
    is_estimator = isinstance(found, type) and (issubclass(found, BaseEstimator) or name in _HELPERS)
    return found if is_estimator else None


def _sequence(packer: _Packer, value: Any, depth: int) -> dict[str, Any]:
    return {"tuple" if isinstance(value, tuple) else "list": [packer.told(each, depth) for each in value]}


def _mapping(packer: _Packer, value: Any, depth: int) -> dict[str, Any]:
    pairs = [[packer.told(key, depth), packer.told(each, depth)] for key, each in value.items()]
    return {"bunch" if type(value).__name__ == "Bunch" else "dict": pairs}


def _type_name(value: type) -> dict[str, Any]:
    return {"type": value.__name__}


def _slice(packer: _Packer, value: slice, depth: int) -> dict[str, Any]:
    return {"slice": [packer.told(part, depth) for part in (value.start, value.stop, value.step)]}


def _loss(_packer: _Packer, value: Any, _depth: int) -> dict[str, Any]:
    return {"loss": type(value).__name__, "classes": getattr(value, "n_classes", None)}


def _is_type(value: Any) -> bool:
    return isinstance(value, type) and (issubclass(value, np.generic) or value in _TYPES.values())


_TELLERS: list[tuple[Callable[[Any], bool], Callable[[_Packer, Any, int], Any]]] = [
    (lambda v: isinstance(v, np.ndarray), _Packer.array),
    (lambda v: isinstance(v, np.generic), lambda p, v, _: {"scalar": p.kept(np.asarray(v))}),
    (lambda v: isinstance(v, list) or type(v) is tuple, _sequence),
    (lambda v: isinstance(v, dict), _mapping),
    (lambda v: isinstance(v, slice), _slice),
    (lambda v: isinstance(v, np.dtype) and not v.hasobject, lambda _, v, __: {"dtype": v.str}),
    (lambda v: isinstance(v, np.ufunc) and getattr(np, v.__name__, None) is v, lambda _, v, __: {"ufunc": v.__name__}),
    (_is_type, lambda _, v, __: _type_name(v)),
    (lambda v: type(v).__module__.startswith("scipy.sparse"), _Packer.sparse),
    (lambda v: type(v).__module__ == "sklearn.tree._tree" and type(v).__name__ == "Tree", _Packer.tree),
    (lambda v: type(v).__name__ == "TreePredictor" and type(v).__module__.startswith("sklearn."), _Packer.predictor),
    (lambda v: type(v).__module__ == "sklearn._loss.loss" and type(v).__name__ in _LOSSES, _loss),
    (_is_own, _Packer.estimator),
]
"""How each kind of value is told, the first that fits."""


def write_arrays(estimator: Any, path: Path) -> None:
    """The estimator as an npz file; MissingAbility where it is not made of scikit-learn's own parts."""
    from sklearn import __version__

    packer = _Packer()
    try:
        told = {"estimator": packer.told(estimator), "scikit-learn": __version__}
    except _NotPlain as fault:
        raise MissingAbility(f"{type(estimator).__name__} holds {fault}, which is no plain array") from None
    packer.arrays[TOLD] = np.frombuffer(json.dumps(told).encode(), dtype=np.uint8)
    with whole_file(path) as new, new.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **packer.arrays)


def read_arrays(path: Path) -> Any:
    """The estimator that `write_arrays` wrote; ModelFailed, in one line, for anything else."""
    check_archive(path, "a file of arrays")
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        text = arrays.pop(TOLD).tobytes().decode("utf-8")
        check_depth(text, 8 * DEEPEST)
        built = _Builder(arrays).value(json.loads(text)["estimator"])
        check_object(built)
    except ModelFailed:
        raise
    except Exception as fault:  # a crafted file makes NumPy and scikit-learn raise anything
        raise ModelFailed(f"{path.name} is not a model as plain arrays: {type(fault).__name__}: {first_line(fault)}") from fault
    return built


@dataclass(frozen=True)
class _Builder:
    """The arrays of one file while what they describe is built again."""

    arrays: dict[str, NDArray[Any]]

    def value(self, told: Any) -> Any:
        """What the description says."""
        if not isinstance(told, dict):
            if isinstance(told, list):
                raise ValueError("a list without a name")
            return told
        kind = next(iter(told))
        return _BUILDERS[kind](self, told)

    def array(self, told: Any) -> NDArray[Any]:
        """An array of the file."""
        return self.arrays[told["array"]]

    def cells(self, told: Any) -> NDArray[Any]:
        """Objects one by one."""
        found = np.empty(len(told["cells"]), dtype=object)
        for place, each in enumerate(told["cells"]):
            found[place] = self.value(each)
        return found.reshape(told["shape"])

    def pairs(self, told: Any) -> dict[Any, Any]:
        """Keys with their values."""
        return {self.value(key): self.value(each) for key, each in told}

    def sparse(self, told: Any) -> Any:
        """A compressed matrix, whose indices must lie inside."""
        from scipy.sparse import csr_matrix

        parts = tuple(self.array(each) for each in told["sparse"])
        matrix = csr_matrix(parts, shape=tuple(told["shape"]))
        matrix.check_format(full_check=True)
        return matrix

    def tree(self, told: Any) -> Any:
        """A tree of scikit-learn; `check_object` looks at where its nodes point."""
        from sklearn.tree._tree import Tree

        of = {name: self.value(each) for name, each in told["tree"].items()}
        if of["nodes"].ndim != 1 or len(of["nodes"]) != of["node_count"] or len(of["values"]) != of["node_count"]:
            raise ValueError("a tree has other nodes than it says")
        tree = Tree(int(of["n_features"]), np.atleast_1d(of["n_classes"]).astype(np.intp), int(of["n_outputs"]))
        tree.__setstate__({name: of[name] for name in ("max_depth", "node_count", "nodes", "values")})
        return tree

    def predictor(self, told: Any) -> Any:
        """A tree of histogram boosting."""
        from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor

        return TreePredictor(*(self.value(told["predictor"][name]) for name in _PREDICTOR))

    def loss(self, told: Any) -> Any:
        """What turns sums into probabilities."""
        from sklearn._loss import loss

        name, classes = told["loss"], told["classes"]
        if name not in _LOSSES:
            raise ValueError(f"an unknown loss {name!r}")
        made = getattr(loss, name)
        return made(n_classes=int(classes)) if name == "HalfMultinomialLoss" else made()

    def estimator(self, told: Any) -> Any:
        """One of scikit-learn's own objects, with the fields that were told."""
        found = _class_of(str(told["class"]))
        if found is None:
            raise ValueError(f"{told['class']!r} is no class of scikit-learn that may be built again")
        made: Any = object.__new__(found)
        fields = {str(name): self.value(each) for name, each in told["fields"].items()}
        vars(made).update({name: SILENT.get(name, each) for name, each in fields.items()})
        if found.__module__.startswith("sklearn.neighbors."):
            _grow_index(made, fields)
        return made


def _grow_index(made: Any, fields: dict[str, Any]) -> None:
    """The tree by which neighbours are found follows from the rows that it was made of."""
    from sklearn.neighbors import BallTree, KDTree

    kind = {"kd_tree": KDTree, "ball_tree": BallTree}.get(str(fields.get("_fit_method")))
    if kind is not None:
        metric = {"metric": str(fields["effective_metric_"]), **fields["effective_metric_params_"]}
        made._tree = kind(fields["_fit_X"], int(fields["leaf_size"]), **metric)


def _numpy_name(name: str, kind: type) -> Any:
    """A name of NumPy's that is what it should be."""
    found: Any = getattr(np, name)
    if not isinstance(found, kind) or (isinstance(found, type) and not issubclass(found, np.generic)):
        raise ValueError(f"{name!r} is not what it should be")
    return found


def _bunch(builder: _Builder, told: Any) -> Any:
    from sklearn.utils import Bunch

    return Bunch(**builder.pairs(told["bunch"]))


_BUILDERS: dict[str, Callable[[_Builder, Any], Any]] = {
    "float": lambda _, told: float(told["float"]),
    "array": _Builder.array,
    "cells": _Builder.cells,
    "scalar": lambda builder, told: builder.array(told["scalar"])[()],
    "list": lambda builder, told: [builder.value(each) for each in told["list"]],
    "tuple": lambda builder, told: tuple(builder.value(each) for each in told["tuple"]),
    "dict": lambda builder, told: builder.pairs(told["dict"]),
    "bunch": _bunch,
    "slice": lambda builder, told: slice(*(builder.value(each) for each in told["slice"])),
    "dtype": lambda _, told: np.dtype(str(told["dtype"])),
    "ufunc": lambda _, told: _numpy_name(str(told["ufunc"]), np.ufunc),
    "type": lambda _, told: _TYPES.get(str(told["type"])) or _numpy_name(str(told["type"]), type),
    "sparse": _Builder.sparse,
    "tree": _Builder.tree,
    "predictor": _Builder.predictor,
    "loss": _Builder.loss,
    "class": _Builder.estimator,
}
