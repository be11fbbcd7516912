"""The own boosters of XGBoost, LightGBM and CatBoost, as objects and as files, behind the interface of an estimator.

What a booster says (classes, a logit, labels or a number) is read from its objective, never guessed.  Files are opened in quarantine first.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from evenhand.errors import InvalidArgument, ModelFailed, require
from evenhand.models.inputs import first_line, matrix_of
from evenhand.models.quarantine import examine

Says = Literal["classes", "logit", "label", "rank", "number"]
OWN = {"xgboost.core": "Booster", "lightgbm.basic": "Booster", "catboost.core": "CatBoost"}
"""The libraries' own classes, which are no scikit-learn estimators."""
ENDINGS = (".json", ".ubj", ".xgb", ".txt", ".lgb", ".cbm", ".cb")
_SNIFFED = 4096
_CATEGORIES = re.compile(r"\[categorical_feature: [0-9, ]*\]")
_RANKS = ("rank:", "lambdarank", "rank_xendcg", "YetiRank", "QueryRMSE", "QuerySoftMax", "PairLogit", "StochasticRank", "QueryCrossEntropy")
_CATBOOST_CLASSES = ("Logloss", "CrossEntropy", "MultiClass", "MultiClassOneVsAll", "MultiLogloss", "MultiCrossEntropy")


@dataclass(frozen=True, eq=False)
class NativeBooster:
    """A booster and what is known of it.  It takes frames with its own columns, or arrays."""

    library: str
    booster: Any
    names: tuple[str, ...]
    n_features_in_: int
    objective: str
    says: Says
    outputs: int = 1  # numbers for each row

    @property
    def feature_names_in_(self) -> tuple[str, ...] | None:
        """The columns of the training; None where it knows no names."""
        return self.names or None

    def ask(self, inputs: Any, raw: bool = False) -> Any:
        """The booster's own answer; `raw` for its margin."""
        return _ASKS[self.library](self, inputs, raw)

    def margins(self, inputs: Any) -> Any:
        """The sums of its trees."""
        return self.ask(inputs, raw=True)

    @cached_property
    def rounds(self) -> int:
        """How many rounds XGBoost's estimator would use; 0 for all of them."""
        told = self.booster.attributes() if self.library == "xgboost" else {}
        return int(told["best_iteration"]) + 1 if "scikit_learn" in told and "best_iteration" in told else 0


class BoosterClassifier(NativeBooster):
    """A booster whose answers are the probabilities of classes."""

    @cached_property
    def classes_(self) -> list[Any]:
        """Names where the booster keeps them, as CatBoost does; else numbers."""
        if self.library == "catboost" and len(self.booster.classes_):
            return list(self.booster.classes_)
        return list(range(max(2, self.outputs)))

    def predict_proba(self, inputs: Any) -> Any:
        """One column for each class."""
        answer = np.asarray(self.ask(inputs))
        return np.stack([1 - answer, answer], axis=1) if answer.ndim == 1 else answer


class BoosterScorer(NativeBooster):
    """A booster that says one number for each row: an amount, a margin, a rank."""

    def predict(self, inputs: Any) -> Any:
        """As the booster says it; labels as whole numbers."""
        answer = np.asarray(self.ask(inputs))
        return answer.astype(np.int64) if self.says == "label" else answer


def is_native(given: Any) -> bool:
    """Whether this is one of the libraries' own boosters."""
    return OWN.get(type(given).__module__) == type(given).__name__


def from_booster(booster: Any) -> BoosterClassifier | BoosterScorer:
    """The booster with the interface that its objective calls for."""
    read = {"xgboost": _read_xgboost, "lightgbm": _read_lightgbm, "catboost": _read_catboost}
    found = read[type(booster).__module__.split(".")[0]](booster)
    made = BoosterClassifier if found.says == "classes" else BoosterScorer
    return made(found.library, booster, found.names, found.n_features_in_, found.objective, found.says, found.outputs)


def _read_xgboost(booster: Any) -> NativeBooster:
    learner = json.loads(booster.save_config())["learner"]
    objective = str(learner["objective"]["name"])
    classes = int(learner["learner_model_param"].get("num_class", 0))
    is_probability = objective in ("binary:logistic", "reg:logistic", "multi:softprob")
    known: dict[str, Says] = {"binary:logitraw": "logit", "binary:hinge": "label", "multi:softmax": "label"}
    says: Says = "classes" if is_probability else known.get(objective, _rank_or_number(objective))
    return NativeBooster("xgboost", booster, tuple(booster.feature_names or ()), booster.num_features(), objective, says, max(1, classes))


def _read_lightgbm(booster: Any) -> NativeBooster:
    head = dict(line.split("=", 1) for line in booster.model_to_string(num_iteration=1).split("\n\n")[0].split("\n") if "=" in line)
    objective = head.get("objective", "").split(" ")[0]
    is_probability = objective in ("binary", "multiclass", "multiclassova", "cross_entropy")
    outputs = int(head.get("num_tree_per_iteration", 1))
    names = tuple(booster.feature_name())
    says: Says = "classes" if is_probability else _rank_or_number(objective)
    return NativeBooster("lightgbm", booster, names, len(names), objective or "custom", says, outputs)


def _read_catboost(model: Any) -> NativeBooster:
    if not model.is_fitted():
        raise InvalidArgument("the CatBoost model is not fitted; call fit before wrapping it")
    loss = _catboost_loss(model)
    names = tuple(model.feature_names_)
    says: Says = "classes" if loss in _CATBOOST_CLASSES else _rank_or_number(loss)
    return NativeBooster("catboost", model, names, len(names), loss, says, max(1, len(model.classes_)))


def _rank_or_number(objective: str) -> Says:
    return "rank" if objective.startswith(_RANKS) else "number"


def _catboost_loss(model: Any) -> str:
    try:
        told = json.loads(dict(model.get_metadata())["params"])["loss_function"]
        return str(told["type"]).split(":")[0]
    except (KeyError, TypeError, ValueError):
        return "Logloss" if len(model.classes_) else "custom"


def _ask_xgboost(own: NativeBooster, inputs: Any, raw: bool) -> Any:
    import xgboost

    booster, has_categories = own.booster, any(str(kind) == "category" for kind in getattr(inputs, "dtypes", ()))
    if has_categories:
        matrix = xgboost.DMatrix(inputs.set_axis(list(own.names), axis=1), enable_categorical=True)
    else:
        cells = matrix_of(inputs) if hasattr(inputs, "dtypes") else np.asarray(inputs, dtype=np.float64)
        matrix = xgboost.DMatrix(cells, feature_names=booster.feature_names, feature_types=booster.feature_types, enable_categorical=True)
    return booster.predict(matrix, output_margin=raw, iteration_range=(0, own.rounds))


def _ask_lightgbm(own: NativeBooster, inputs: Any, raw: bool) -> Any:
    return own.booster.predict(inputs, raw_score=raw)


def _ask_catboost(own: NativeBooster, inputs: Any, raw: bool) -> Any:
    if own.says == "classes" and not raw:
        return own.booster.predict(inputs, prediction_type="Probability")
    return own.booster.predict(inputs, prediction_type="RawFormulaVal") if raw else own.booster.predict(inputs)


_ASKS: dict[str, Callable[[NativeBooster, Any, bool], Any]] = {
    "xgboost": _ask_xgboost,
    "lightgbm": _ask_lightgbm,
    "catboost": _ask_catboost,
}


def library_of_file(path: Path) -> str:
    """Whose booster a file holds, by its first bytes and its ending; empty for nobody's."""
    try:
        with path.open("rb") as file:
            head = file.read(_SNIFFED)
    except OSError:
        return ""
    ending = path.suffix.lower()
    if head.startswith(b"CBM1") or ending in (".cbm", ".cb"):
        return "catboost"
    if head.startswith((b"tree\n", b"tree\r\n")) or ending == ".lgb":
        return "lightgbm"
    if ending in (".ubj", ".xgb") or (ending == ".json" and head.lstrip()[:1] == b"{" and b'"learner"' in head):
        return "xgboost"
    return ""


def load_booster(library: str, path: Path) -> Any:
    """The library's own booster in a file, once the file was opened harmlessly elsewhere."""
    module = require(library, "boosting")
    examine(library, path)
    try:
        return {"xgboost": _load_xgboost, "lightgbm": _load_lightgbm, "catboost": _load_catboost}[library](module, path)
    except Exception as fault:  # what a library raises is the file's fault
        raise ModelFailed(f"{path.name} cannot be loaded by {library}: {type(fault).__name__}: {first_line(fault)}") from fault


def _load_xgboost(module: Any, path: Path) -> Any:
    booster = module.Booster()
    booster.load_model(str(path))
    return booster


def _load_lightgbm(module: Any, path: Path) -> Any:
    return module.Booster(model_str=lightgbm_text(path))


def lightgbm_text(path: Path) -> str:
    """The model without the parameters of its training, but for which columns are categories: answers do not need them.

    LightGBM reads beyond a line of them that has no colon, and believes whatever it finds there.
    """
    text = path.read_bytes().decode("utf-8", "replace").replace("\r\n", "\n")
    before, found, rest = text.partition("\nparameters:")
    if not found:
        return text
    told, _, after = rest.partition("\nend of parameters")
    kept = [line for line in told.split("\n") if _CATEGORIES.fullmatch(line)][:1]
    return "\n".join([f"{before}\nparameters:", *kept, f"\nend of parameters{after}"])


def _load_catboost(module: Any, path: Path) -> Any:
    """As an estimator of the kind that was saved, whose `predict` knows the loss's own transformation."""
    plain = module.CatBoost().load_model(str(path))
    if _catboost_loss(plain) in _CATBOOST_CLASSES:
        return plain
    return module.CatBoostRegressor().load_model(str(path))
