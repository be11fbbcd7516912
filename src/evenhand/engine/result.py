"""The one dictionary that every verb's result becomes, version 2: every page and every file is a rendering of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from evenhand.contract import Outcome
from evenhand.engine.header import Header

VERSION = 2


class Ruled(Protocol):
    """What has a header and a ruling."""

    @property
    def header(self) -> Header:
        """What fixes it."""

    @property
    def outcome(self) -> Outcome:
        """What the gate says."""

    @property
    def reason(self) -> str:
        """Why."""


@dataclass(frozen=True)
class Telling:
    """What a verb tells beside its ruling.

    sentences: what a reader should know first.  checks: what was decided by itself, each with name, outcome and message.
    witnesses: pairs for people to look at.  body: what only this verb has.
    """

    sentences: Sequence[str] = ()
    checks: Sequence[Mapping[str, Any]] = ()
    witnesses: Sequence[Mapping[str, Any]] = ()
    body: Mapping[str, Any] = field(default_factory=dict)


def result_dict(result: Ruled, told: Telling) -> dict[str, Any]:
    """A result of any verb for JSON."""
    return {
        "evenhand_result": VERSION,
        "verb": result.header.verb,
        "header": result.header.as_dict(),
        "outcome": result.outcome,
        "reason": result.reason,
        "sentences": [*told.sentences, *co_changed(result.header)],
        "checks": _plain(told.checks),
        "witnesses": _plain(told.witnesses),
        "body": _plain(told.body),
    }


def co_changed(header: Header) -> list[str]:
    """What twins change beside the protected columns because of something learnt from data: a reader must know."""
    return list(header.domain.get("co_changed", ()))


def _plain(value: Any) -> Any:
    """The same without what JSON does not know: a number that is not finite is no number."""
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
