"""Tree ensembles in Treelite's own form, as objects and as files, behind the interface of an estimator; its GTIL answers.

What an ensemble says (classes or amounts) stands in it.  Files are opened in quarantine first, every node of them is looked at there.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import MissingAbility, ModelFailed, require
from evenhand.models.inputs import first_line, matrix_of
from evenhand.models.quarantine import examine

ENDINGS = (".tl", ".treelite")
BINARY, AMOUNT, SEVERAL, RANK = 0, 1, 2, 3
"""Treelite's tasks, as it numbers them; what comes after says no answer about a person."""


@dataclass(frozen=True, eq=False)
class TreeliteTrees:
    """An ensemble; it knows its columns by their order alone."""

    ensemble: Any
    n_features_in_: int

    def ask(self, inputs: Any) -> NDArray[np.floating[Any]]:
        """What it says, (n, targets, classes), in the precision that it was trained in."""
        import treelite

        kind = np.float32 if str(self.ensemble.input_type) == "float32" else np.float64
        cells = np.ascontiguousarray(matrix_of(inputs) if hasattr(inputs, "dtypes") else np.asarray(inputs), dtype=kind)
        return np.asarray(treelite.gtil.predict(self.ensemble, cells, nthread=1))


class TreeliteClassifier(TreeliteTrees):
    """An ensemble whose answers are the probabilities of classes, which it only numbers."""

    @property
    def classes_(self) -> list[int]:
        """Numbers: it keeps no names."""
        return list(range(max(2, int(_header(self.ensemble, "num_class")[0]))))

    def predict_proba(self, inputs: Any) -> Any:
        """One column for each class."""
        answer = self.ask(inputs)[:, 0, :]
        return np.concatenate([1 - answer, answer], axis=1) if answer.shape[1] == 1 else answer


class TreeliteScorer(TreeliteTrees):
    """An ensemble that says one number for each row, or several: amounts, or a rank."""

    def predict(self, inputs: Any) -> Any:
        """As it says them."""
        answer = self.ask(inputs)[:, :, 0]
        return answer[:, 0] if answer.shape[1] == 1 else answer


class TreeliteRegressor(TreeliteScorer):
    """One whose numbers are amounts."""

    _estimator_type = "regressor"


def is_treelite(given: Any) -> bool:
    """Whether this is one of Treelite's own models."""
    return type(given).__module__.split(".")[0] == "treelite" and type(given).__name__ == "Model"


def from_treelite(model: Any) -> TreeliteTrees:
    """The ensemble with the interface that its task calls for."""
    task, targets = int(_header(model, "task_type")[0]), int(_header(model, "num_target")[0])
    if task in (BINARY, SEVERAL) and targets > 1:
        raise MissingAbility(f"the Treelite model predicts {targets} labels at once; keep the trees of one of them")
    made = {BINARY: TreeliteClassifier, SEVERAL: TreeliteClassifier, AMOUNT: TreeliteRegressor, RANK: TreeliteScorer}.get(task)
    if made is None:
        raise MissingAbility("the Treelite model is an isolation forest, which says how odd a row is and nothing of an outcome")
    return made(model, int(model.num_feature))


def _header(model: Any, name: str) -> Any:
    return model.get_header_accessor().get_field(name)


def load_treelite(path: Path) -> Any:
    """Treelite's model in a file, once the file was opened harmlessly elsewhere."""
    treelite = require("treelite", "boosting")
    examine("treelite", path)
    try:
        return treelite.Model.deserialize(str(path))
    except Exception as fault:  # what the library raises is the file's fault
        raise ModelFailed(f"{path.name} cannot be loaded by treelite: {type(fault).__name__}: {first_line(fault)}") from fault
