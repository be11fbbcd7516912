"""A table together with the domain that it lives in.  Knows nothing of where tables come from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from evenhand.arrays import Labels, Mask, Reals, Rows
from evenhand.contract import Medium
from evenhand.domain.columns import Value
from evenhand.domain.tabular import Label, TabularDomain
from evenhand.errors import DataError, DomainError, InvalidArgument
from evenhand.limits import InnerShare, check_argument
from evenhand.media.table import Table

if TYPE_CHECKING:
    import pandas as pd


_CODES = ("encoded", "inside", "rows", "labels", "amounts")
"""What a data set makes of its cells, once."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """Inputs and labels as cells (`frame`) and as codes (`rows`, `labels`).

    `frame` holds every row.  `rows` and `labels` hold the rows whose cells lie in the columns' ranges; `inside` says which
    these are and `left_out` how many are not.  Rows without a label are left out too where that is wished; otherwise their label is -1.
    Rows that break a constraint stay: `domain.broken_shares(rows)` counts them.
    `medium` shows a row: people of a table as its lines, pictures of an album as pictures, templates as texts.
    """

    name: str
    frame: pd.DataFrame
    domain: TabularDomain
    source: str = ""
    licence: str = ""
    citation: str = ""
    notes: str = ""
    protectable: tuple[str, ...] = ()
    coding: str = "readable"
    shown_by: Medium | None = None
    leaves_out_unlabelled: bool = False

    def __len__(self) -> int:
        return len(vars(self).get("encoded", self.frame))

    def __repr__(self) -> str:
        left_out = f", {self.left_out:,} outside the domain or without a label" if self.left_out else ""
        return (
            f"Dataset({self.name!r}, {self.coding}: {len(self):,} rows{left_out}, {len(self.domain.columns)} columns, "
            f"label {self.domain.label.column if self.domain.label else None!r}, protected {list(self.domain.protected)})"
        )

    @cached_property
    def medium(self) -> Medium:
        """What a row shows: a line of the table where nothing else was given."""
        return self.shown_by or Table(self.domain)

    @property
    def _label(self) -> Label:
        if self.domain.label is None:
            raise DomainError(f"data set {self.name!r} has no label; declare one (label: {{column: ..., favourable: ...}})")
        return self.domain.label

    @property
    def label(self) -> str:
        """The name of the column that a model predicts."""
        return self._label.column

    @property
    def favourable(self) -> tuple[Value, ...]:
        """The label's values that a person would hope for."""
        return self._label.favourable

    @property
    def inputs(self) -> pd.DataFrame:
        """The frame without the label."""
        return self.frame[list(self.domain.names)]

    @cached_property
    def encoded(self) -> Rows:
        """Every row as codes, also those outside the domain."""
        return self.domain.encode(self.frame)

    @cached_property
    def inside(self) -> Mask:
        """Which rows lie in the columns' ranges, and have a label where those without one are left out."""
        found = self.domain.inside(self.encoded)
        return found & ~self.unlabelled if self.leaves_out_unlabelled and self.unlabelled.any() else found

    @cached_property
    def unlabelled(self) -> Mask:
        """Which rows of the frame lack the class that a model should say."""
        label = self.domain.label
        if label is None or label.is_amount or label.column not in self.frame.columns:
            return np.zeros(len(self.frame), dtype=bool)
        return np.asarray(self.frame[label.column].isna(), dtype=bool)

    @property
    def left_out(self) -> int:
        """How many rows of the frame are not among `rows`."""
        return int((~self.inside).sum())

    @cached_property
    def rows(self) -> Rows:
        """The rows inside the domain as codes."""
        return self.encoded if self.inside.all() else self.encoded[self.inside]

    @cached_property
    def labels(self) -> Labels:
        """The labels of `rows` as positions in the label's values; -1 where there is none."""
        return self.domain.encode_labels(self.frame)[self.inside]

    @cached_property
    def amounts(self) -> Reals | None:
        """The label of `rows` where it is an amount; None where it is a class, or not there for every row."""
        import pandas as pd

        label = self.domain.label
        if label is None or not label.is_amount or label.column not in self.frame.columns:
            return None
        found = pd.to_numeric(self.frame[label.column], errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)[self.inside]
        return found if np.isfinite(found).all() else None

    def named(self, name: str) -> Dataset:
        """The same data under another name."""
        return self._with_codes(replace(self, name=name))

    def protect(self, *names: str) -> Dataset:
        """The same data with other protected columns."""
        return self._with_codes(replace(self, domain=self.domain.protect(*names)))

    def without_cells(self) -> Dataset:
        """Rows and labels alone, for a search in a table so large that cells beside codes would take twice the memory."""
        _ = self.rows, self.labels if self.domain.has_classes else self.amounts
        return self._with_codes(replace(self, frame=self.frame.head(0).copy(deep=True)))

    def _with_codes(self, other: Dataset) -> Dataset:
        """What was encoded already is not encoded again: it depends neither on the name nor on what is protected."""
        vars(other).update({name: codes for name, codes in vars(self).items() if name in _CODES})
        return other

    def split(self, test_share: float, rng: np.random.Generator) -> tuple[Dataset, Dataset]:
        """A training and a test part with the same share of every label, rows in their old order."""
        check_argument(InnerShare, test_share=test_share)
        labels = self.domain.encode_labels(self.frame)
        # Shuffled within each label, the first share of every label's rows is the test part.
        order = np.lexsort((rng.random(len(labels)), labels))
        counts = np.bincount(labels + 1)
        place = np.arange(len(labels)) - np.repeat(np.cumsum(counts) - counts, counts)
        test = np.zeros(len(labels), dtype=bool)
        test[order[place < np.rint(test_share * np.repeat(counts, counts))]] = True
        if test.all() or not test.any():
            raise InvalidArgument(f"test_share={test_share!r} of {len(labels)} rows leaves one part empty; take another share")
        return self._part("train", ~test), self._part("test", test)

    def _part(self, part: str, chosen: Mask) -> Dataset:
        return replace(self, name=f"{self.name} ({part})", frame=self.frame[chosen].reset_index(drop=True))


def from_frame(frame: object, domain: TabularDomain, name: str = "data") -> Dataset:
    """A user's own table (pandas or polars) as a data set, without rows that lack a label; raises where a cell does not fit the domain."""
    from evenhand.domain.frames import as_frame

    dataset = Dataset(name, as_frame(frame), domain, leaves_out_unlabelled=True)
    _ = dataset.labels if domain.has_classes else dataset.rows
    if dataset.unlabelled.all() and len(dataset.frame):
        raise DataError(f"column {dataset.label!r}: no row has a label; name the column that holds it, or leave `label` out")
    return dataset
