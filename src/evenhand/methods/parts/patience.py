"""Local searches that end early where they meet nothing new: in a small domain, or where every way out of a finding is known."""

from __future__ import annotations

from evenhand.arrays import Rows
from evenhand.contract import Search
from evenhand.methods.parts.known import Judging, Known

PATIENCE = 50
"""So many steps or generations in a row without one new row end a local search."""


GLOBAL = "global"
"""The phase that is never lost patience with."""


class _Weary(Exception):
    """Nothing new for too long."""


class PatientKnown(Known):
    """Remembers verdicts, and loses patience with a local phase that leads nowhere new."""

    _idle = 0

    def judge(self, rows: Rows, phase: str) -> Judging:
        """Which rows are unfair; only new ones go to the engine."""
        before = len(self)
        unfair = yield from super().judge(rows, phase)
        self._idle = self._idle + 1 if len(self) == before and phase != GLOBAL else 0
        if self._idle >= PATIENCE:
            self._idle = 0
            raise _Weary
        return unfair


def while_patient(local: Search) -> Search:
    """The local search, until its memory loses patience."""
    try:
        yield from local
    except _Weary:
        return
