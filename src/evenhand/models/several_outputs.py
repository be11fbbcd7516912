"""One of the outputs of a model that predicts several labels or amounts at once: named by its place, never guessed.

Where nobody names it, the error shows how well each output agrees with the label.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Reals
from evenhand.errors import InvalidArgument, MissingAbility, UnclearAnswers
from evenhand.models.answer_shapes import plain


@dataclass(frozen=True, eq=False)
class OneOutput:
    """An estimator of several labels, asked about one of them."""

    estimator: Any
    place: int

    def __getattr__(self, name: str) -> Any:
        """Names and numbers of columns are the estimator's own."""
        if name in ("feature_names_in_", "n_features_in_"):
            return getattr(self.estimator, name)
        raise AttributeError(name)

    @property
    def classes_(self) -> list[Any]:
        """Of this output."""
        return [plain(value) for value in self.estimator.classes_[self.place]]

    def predict_proba(self, inputs: Any) -> Any:
        """Of this output."""
        return self.estimator.predict_proba(inputs)[self.place]

    def predict(self, inputs: Any) -> Any:
        """Of this output."""
        return np.asarray(self.estimator.predict(inputs))[:, self.place]


def check_alone(estimator: Any) -> None:
    """Refuse to fit one of several labels again: that would take the others of the training rows, which nobody gave."""
    if isinstance(estimator, OneOutput):
        several = type(estimator.estimator).__name__
        raise MissingAbility(f"one of the labels of a {several} cannot be fitted again alone; wrap a model that was fitted to this label")


def says_several_labels(estimator: Any) -> bool:
    """Whether an estimator has a list of classes for each of several labels."""
    classes = getattr(estimator, "classes_", None)
    return isinstance(classes, list) and len(classes) > 1 and isinstance(classes[0], np.ndarray)


def one_output(estimator: Any, output: int | None) -> OneOutput:
    """The estimator asked about one of its labels."""
    lists = estimator.classes_
    if output is None:
        told = "; ".join(f"{place}: {[plain(value) for value in values]}" for place, values in enumerate(lists))
        raise UnclearAnswers(
            f"{type(estimator).__name__} predicts {len(lists)} labels at once, with the classes {told}; say which one the label is, with "
            "output=0, 1, ... (in Python, under `model:` in evenhand.yaml, or --model-output on the command line)",
            [(f"# classes {[plain(value) for value in values]}", f"output: {place}") for place, values in enumerate(lists)],
        )
    return OneOutput(estimator, check_output(output, len(lists)))


def check_output(output: int, count: int) -> int:
    """The place of an output, once there are so many."""
    if not 0 <= output < count:
        raise InvalidArgument(f"output={output!r} must be a place from 0 to {count - 1}: the model has {count} outputs")
    return output


def several_amounts(answer: NDArray[Any], truth: Reals | None) -> UnclearAnswers:
    """That a regression says several amounts, with how well each agrees with the label where that is known."""
    told = [_agreement(answer[:, place], truth) for place in range(answer.shape[1])]
    each = "; ".join(f"{place}: {one}" for place, one in enumerate(told))
    return UnclearAnswers(
        f"the regression says {answer.shape[1]} amounts for each row ({each}); say "
        "which one the label is, with output=0, 1, ... (in Python, under `model:` in evenhand.yaml, or --model-output on the command line)",
        [(f"# {one}", f"output: {place}") for place, one in enumerate(told)],
    )


def _agreement(amounts: NDArray[Any], truth: Reals | None) -> str:
    span = f"from {amounts.min():.6g} to {amounts.max():.6g}"
    if truth is None or len(truth) != len(amounts) or np.ptp(amounts) == 0 or np.ptp(truth) == 0:
        return span
    return f"{span}, correlation with the label {np.corrcoef(amounts, truth)[0, 1]:.2f}"
