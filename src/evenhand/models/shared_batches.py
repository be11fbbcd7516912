"""Batches of rows that several workers ask a model about: its answers are those that this process would get, in the same batches."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from evenhand.arrays import Rows
from evenhand.contract import Executor, Model
from evenhand.shared_work import AnswerShelf, Sharing

Ability = Literal["scores", "detections"]


@dataclass(frozen=True)
class AskedBatch:
    """Rows, and what is asked about them."""

    ability: Ability
    rows: Rows

    @property
    def number(self) -> int:
        """Equal for equal batches."""
        told = hashlib.sha256(f"{self.ability} {self.rows.shape}".encode() + np.ascontiguousarray(self.rows).tobytes())
        return int.from_bytes(told.digest()[:8], "big")


@dataclass(frozen=True, eq=False)
class BatchWork:
    """What every worker needs: the model, with whatever it shows rows to."""

    model: Model
    is_asked_again: bool = True

    def open(self) -> Callable[[AskedBatch], Any]:
        """One batch after the other."""
        return lambda batch: getattr(self.model, batch.ability)(batch.rows)


@dataclass(frozen=True)
class SharedBatches:
    """One model, those who share the asking, and where answers are kept so that nothing is asked twice after an interruption."""

    work: BatchWork
    executor: Executor | None
    shelf: AnswerShelf | None = None

    @classmethod
    def of(cls, model: Model, executor: Executor | None, shelf: AnswerShelf | None = None) -> SharedBatches | None:
        """For a model whose answers cost more than sending or keeping them; None for others, and where nobody shares or keeps."""
        if (executor is None and shelf is None) or not getattr(model, "is_costly", False):
            return None
        return cls(BatchWork(model), executor, shelf)

    def is_worth(self, rows: int, step: int) -> bool:
        """Whether there is something to share or to keep."""
        return rows > step or (self.shelf is not None and rows > 0)

    def ask(self, ability: Ability, rows: Rows, step: int) -> list[Any]:
        """The answer to each batch of so many rows, in their order."""
        batches = [AskedBatch(ability, rows[at : at + step]) for at in range(0, len(rows), step)]
        found = {place: kept for place, batch in enumerate(batches) if (kept := self._kept(batch)) is not None}
        missing = [place for place in range(len(batches)) if place not in found]
        for end in Sharing(self.executor).ends(self.work, [batches[place] for place in missing]):
            found[missing[end.place]] = end.answer
            if self.shelf is not None:
                self.shelf.keep(batches[missing[end.place]].number, end.answer)
        return [found[place] for place in range(len(batches))]

    def _kept(self, batch: AskedBatch) -> Any | None:
        return None if self.shelf is None else self.shelf.kept(batch.number)
