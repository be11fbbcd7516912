"""The models that methods are compared on: four families trained on rows of codes, kept on disk by what they were trained from.

mlp: the papers' ReLU network [64, 32, 16, 8, 4].  forest: 100 trees.  boosting: histogram gradient boosting.
svm: a linear support vector machine on 300 Nystroem features of an RBF kernel (the exact kernel machine takes hours on these tables).
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.arrays import Labels, Rows
from evenhand.contract import Model
from evenhand.disk import whole_file
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import EvenhandError, InvalidArgument, UnknownName
from evenhand.models.dense import DenseNet
from evenhand.models.estimator import EstimatorModel, from_estimator
from evenhand.models.fitting_again import check_labels, fit_dense, seed_of

_EDITION = 2
"""Raised whenever the same key should give another model than before."""


def train(family: str, rows: Rows, labels: Labels, domain: TabularDomain, rng: np.random.Generator) -> Model:
    """A model of the family, trained on these rows; it takes rows of codes."""
    if family not in FAMILIES:
        raise UnknownName("model family", family, FAMILIES)
    classes = _classes(domain)
    seen = check_labels(rows, labels, len(classes))
    if family == "mlp":
        return fit_dense(rows, labels, classes, rng)
    estimator = _MAKERS[family](domain, seed_of(rng))
    estimator.fit(rows, labels)
    return _wrapped(estimator, domain, seen.tolist())


def _classes(domain: TabularDomain) -> tuple[Any, ...]:
    if domain.label is None:
        raise InvalidArgument("the domain has no label; declare one before training a model on it")
    return tuple(domain.label.values)


def _wrapped(estimator: Any, domain: TabularDomain, seen: Sequence[Any]) -> EstimatorModel:
    names = _classes(domain)
    return from_estimator(estimator, domain, [names[int(place)] for place in seen], takes="codes")


def _categories(domain: TabularDomain) -> list[int]:
    return [place for place, column in enumerate(domain.columns) if column.kind == "category"]


def _forest(_domain: TabularDomain, seed: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(n_estimators=100, min_samples_leaf=4, random_state=seed)


def _boosting(domain: TabularDomain, seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    few = [place for place in _categories(domain) if len(domain.columns[place].values) <= 255]
    return HistGradientBoostingClassifier(categorical_features=few or None, random_state=seed)


def _svm(domain: TabularDomain, seed: int) -> Any:
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.kernel_approximation import Nystroem
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler
    from sklearn.svm import LinearSVC

    categories = _categories(domain)
    numbers = [place for place in range(len(domain.columns)) if place not in categories]
    scaled = Pipeline([("fill", SimpleImputer(keep_empty_features=True)), ("scale", StandardScaler())])
    spread = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    prepare = ColumnTransformer([("numbers", scaled, numbers), ("categories", spread, categories)])
    kernel = Nystroem(gamma=1 / (2 * len(domain.columns)), n_components=300, random_state=seed)
    return Pipeline([("prepare", prepare), ("kernel", kernel), ("machine", LinearSVC(dual=False, random_state=seed))])


_MAKERS: dict[str, Callable[[TabularDomain, int], Any]] = {"forest": _forest, "boosting": _boosting, "svm": _svm}
FAMILIES = ("mlp", *_MAKERS)


def load_or_train(family: str, rows: Rows, labels: Labels, domain: TabularDomain, seed: int) -> Model:
    """The model that `train` gives for this seed, read from the cache when it is there and unharmed."""
    if family not in FAMILIES:
        raise UnknownName("model family", family, FAMILIES)
    path = cache_folder() / "models" / f"{family}-{_key(family, rows, labels, domain, seed)}{'.npz' if family == 'mlp' else '.skops'}"
    kept = _read(path, labels, domain)
    if kept is not None:
        return kept
    model = train(family, rows, labels, domain, np.random.default_rng(seed))
    try:
        _keep(path, model)
    except OSError as fault:
        warnings.warn(f"the trained model cannot be kept in {path.parent} ({fault}); set EVENHAND_CACHE to another folder", stacklevel=2)
    return model


def _key(family: str, rows: Rows, labels: Labels, domain: TabularDomain, seed: int) -> str:
    import sklearn

    shape = [(column.name, column.kind, len(column.values)) for column in domain.columns]
    names = [repr(value) for value in _classes(domain)]
    digest = hashlib.sha256(json.dumps([family, _EDITION, seed, shape, names, sklearn.__version__]).encode())
    digest.update(np.ascontiguousarray(rows, dtype=np.float64).tobytes())
    digest.update(np.ascontiguousarray(labels, dtype=np.int64).tobytes())
    return digest.hexdigest()[:32]


def _read(path: Path, labels: Labels, domain: TabularDomain) -> Model | None:
    """The kept model; None when there is none or when it is not what was written."""
    from evenhand.models.model_files import load_skops

    try:
        written = path.with_suffix(path.suffix + ".sha256").read_text(encoding="ascii").strip()
        if hashlib.sha256(path.read_bytes()).hexdigest() != written:
            return None
        if path.suffix == ".npz":
            return DenseNet.from_npz(path, _classes(domain))
        return _wrapped(load_skops(path), domain, np.unique(labels).tolist())
    except (OSError, UnicodeDecodeError, EvenhandError):
        return None


def _keep(path: Path, model: Model) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    _write(path, lambda file: _dump(model, file))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    _write(path.with_suffix(path.suffix + ".sha256"), lambda file: file.write_text(digest, encoding="ascii"))


def _dump(model: Model, file: Path) -> None:
    import skops.io

    if isinstance(model, DenseNet):
        model.save(file)
    elif isinstance(model, EstimatorModel):
        skops.io.dump(model.estimator, file)


def _write(path: Path, fill: Callable[[Path], object]) -> None:
    """Nobody ever reads half of it."""
    with whole_file(path) as new:
        fill(new)


def cache_folder() -> Path:
    """Where the package keeps what it can compute again: $EVENHAND_CACHE, else the user's cache folder."""
    if chosen := os.environ.get("EVENHAND_CACHE"):
        return Path(chosen)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "evenhand" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "evenhand"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "evenhand"
