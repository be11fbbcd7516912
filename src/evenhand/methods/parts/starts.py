"""The rows that a local phase sets out from when no global phase looked for them."""

from __future__ import annotations

import numpy as np

from evenhand.arrays import Rows
from evenhand.contract import Task
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import InvalidArgument


def given_rows(task: Task, parameter: str) -> Rows:
    """The rows at hand, which stand in for the global phase that `parameter` = 0 leaves out."""
    if task.rows is None or not len(task.rows):
        raise InvalidArgument(f"{parameter}=0 takes the rows at hand as seeds, but there are none; pass some rows, or a positive number")
    return task.rows


def distinct(rows: Rows, domain: TabularDomain) -> Rows:
    """The first row of each non-protected part, in their order."""
    _, first = np.unique(domain.keys(rows), return_index=True)
    return rows[np.sort(first)]
