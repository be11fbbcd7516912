"""What a measure brings before the gate: a claim with its words, and the spans that it rests on.  Nothing here decides."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Span:
    """Where a quantity lies, and how large it may be.

    >>> Span(0.01, 0.04, tolerated=0.05)
    Span(low=0.01, high=0.04, tolerated=0.05)
    """

    low: float
    high: float
    tolerated: float


@dataclass(frozen=True)
class Claim:
    """Something that is to be decided, with what is said where it is broken, where it stays open and where it holds.

    With spans, the gate compares each with what it tolerates.  Without, the words decide: what is said to be broken is, else what is said
    to be open is; else the claim holds.  failed: what kept it from being looked at at all, which is never a pass.

    >>> Claim("rate", broken="too many", open="too few rows to say", holds="few enough", spans=(Span(0.0, 0.2, tolerated=0.1),)).name
    'rate'
    """

    name: str
    broken: str = ""
    open: str = ""
    holds: str = ""
    spans: tuple[Span, ...] = ()
    failed: str = ""
