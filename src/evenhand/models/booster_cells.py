"""Cells as a booster was trained on them: categories by the model's own list and order, whatever dtype the table has.

XGBoost, LightGBM and CatBoost keep in the model which columns are categories; a table from a CSV has plain texts there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.domain.columns import listing
from evenhand.errors import InvalidArgument

if TYPE_CHECKING:
    import pandas as pd

LIBRARIES = ("xgboost", "lightgbm", "catboost")
ABSENT = "nan"
"""What CatBoost, which takes no missing categories, is given for one: the text that pandas makes of it."""


def library_of(estimator: Any) -> str:
    """Which of the three libraries an object comes from, subclasses of users included; empty for none of them."""
    homes = [kind.__module__.split(".")[0] for kind in type(estimator).__mro__]
    told = str(getattr(estimator, "library", ""))
    return next((name for name in LIBRARIES if name in homes or name == told), "")


@dataclass(frozen=True)
class CategoricalColumn:
    """A column that the model takes as a category; `values` in the model's order, None where the model keeps only numbers."""

    name: str
    values: tuple[Any, ...] | None = None


@dataclass(frozen=True)
class BoosterCells:
    """The categorical columns of a booster, by the names of the table that it is asked about."""

    library: str
    columns: tuple[CategoricalColumn, ...]

    def dressed(self, inputs: Any) -> Any:
        """The frame with these columns as the library wants them; an array as it is."""
        if not hasattr(inputs, "columns") or not self.columns:
            return inputs
        frame = inputs.copy()
        for column in self.columns:
            cells = frame[column.name]
            frame[column.name] = _texts(cells) if self.library == "catboost" else self._coded(cells, column)
        return frame

    def _coded(self, cells: pd.Series[Any], column: CategoricalColumn) -> Any:
        import pandas as pd

        if column.values is None:
            return _numbers(cells, column.name)
        known = _known(cells, column.values)
        strange = sorted({str(cell) for cell, found in zip(cells, known, strict=True) if found is None and not pd.isna(cell)})
        if strange and self.library == "xgboost":
            raise InvalidArgument(
                f"column {column.name!r} may be {strange[0]!r}, but the XGBoost model was trained on the categories "
                f"{listing(column.values)} and refuses others; {_cure_of(column.values)}"
            )
        return pd.Series(pd.Categorical(known, categories=list(column.values)), index=cells.index)


def _cure_of(values: Sequence[Any]) -> str:
    """XGBoost 3 counts letters where it should count bytes, and so keeps other names than it was given."""
    if all(str(value).isascii() for value in values):
        return "remove the value from the column, or train with it"
    return "XGBoost itself cuts names with letters beyond ASCII at the wrong places when it keeps them: train with plain names"


def _known(cells: pd.Series[Any], values: Sequence[Any]) -> list[Any]:
    """Every cell as one of the model's categories, by value or else by its text; None for others."""
    exact = {value: value for value in values}
    by_text = {str(value): value for value in values}
    table: dict[Any, Any] = {}
    for cell in cells.astype(object).unique():
        table[cell] = exact[cell] if cell in exact else by_text.get(str(cell))
    return [table[cell] for cell in cells.astype(object)]


def _numbers(cells: pd.Series[Any], name: str) -> Any:
    try:
        return cells.astype(np.float64)
    except (TypeError, ValueError):
        raise InvalidArgument(
            f"column {name!r} is a category of the model, but the model keeps only numbers for it and not the texts that they stand for; "
            "wrap a function that gives the model the numbers of its training, or train it on a table with pandas categories"
        ) from None


def _texts(cells: pd.Series[Any]) -> Any:
    plain = cells.astype(object)
    return plain.where(plain.notna(), ABSENT).map(lambda cell: cell if isinstance(cell, int) and not isinstance(cell, bool) else str(cell))


def cells_of(estimator: Any, example: pd.DataFrame) -> BoosterCells | None:
    """How cells are given to this estimator; None where it is no booster, or one without categories.

    example: some rows of the table, its columns in the model's order.
    """
    library = library_of(estimator)
    if not library or not len(example.columns):
        return None
    found = {"xgboost": _of_xgboost, "lightgbm": _of_lightgbm, "catboost": _of_catboost}[library](estimator, example)
    names = list(example.columns)
    columns = tuple(CategoricalColumn(names[place], values) for place, values in sorted(found.items()) if place < len(names))
    return BoosterCells(library, columns) if columns else None


def native(estimator: Any) -> Any:
    """The library's own booster inside a wrapper of it, or itself."""
    if hasattr(estimator, "get_booster"):
        return estimator.get_booster()
    return getattr(estimator, "booster_", None) or getattr(estimator, "booster", None) or estimator


def _of_xgboost(estimator: Any, _example: pd.DataFrame) -> dict[int, tuple[Any, ...] | None]:
    booster = native(estimator)
    kinds = booster.feature_types or []
    kept = booster.get_categories(export_to_arrow=True).to_arrow() if hasattr(booster, "get_categories") else []
    lists = {place: tuple(values.to_pylist()) for place, (_, values) in enumerate(kept) if values is not None}
    return {place: lists.get(place) for place, kind in enumerate(kinds) if kind == "c"}


def _of_lightgbm(estimator: Any, example: pd.DataFrame) -> dict[int, tuple[Any, ...] | None]:
    """LightGBM lists the categories of a frame's categorical columns in their order, without their names.

    Ordered categories are listed too, although its trees take them for numbers; these are the table's other columns without numbers.
    """
    booster = native(estimator)
    lists = getattr(booster, "pandas_categorical", None) or []
    asked = _lightgbm_places(booster)
    if not lists:
        return dict.fromkeys(asked)
    wordy = [place for place, kind in enumerate(example.dtypes) if not isinstance(kind, np.dtype) or kind.kind not in "fiub"]
    for places in (asked, wordy, sorted({*asked, *wordy})):
        if len(places) == len(lists):
            return {place: tuple(each) for place, each in zip(places, lists, strict=True)}
    raise InvalidArgument(
        f"the LightGBM model keeps {len(lists)} lists of categories, and {len(asked)} columns are categories of its trees; which "
        "belongs to which cannot be told.  Wrap a function that prepares the columns as in the training"
    )


def _lightgbm_places(booster: Any) -> list[int]:
    """By the parameters of the training where they are kept; else by what the trees ask about."""
    text = booster.model_to_string(num_iteration=1)
    line = next((line for line in text.split("\n") if line.startswith("[categorical_feature:")), "")
    told = [int(part) for part in line[len("[categorical_feature:") : -1].split(",") if part.strip().isdigit()]
    if told:
        return sorted(told)
    infos = next((line for line in text.split("\n") if line.startswith("feature_infos=")), "=").split("=", 1)[1].split(" ")
    return [place for place, info in enumerate(infos) if ":" in info and not info.startswith("[")]


def _of_catboost(estimator: Any, _example: pd.DataFrame) -> dict[int, tuple[Any, ...] | None]:
    return {int(place): None for place in native(estimator).get_cat_feature_indices()}
