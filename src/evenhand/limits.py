"""What a number may be, declared beside the parameter: the check and its message follow from the declaration.

>>> @dataclass(frozen=True)
... class Search:
...     batch: Count = 100
...     share: Share | None = None
...     def __post_init__(self) -> None:
...         check_limits(self)
>>> Search(batch=0)
Traceback (most recent call last):
evenhand.errors.InvalidArgument: batch=0 must be a whole number of at least 1 (a parameter of Search)
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from numbers import Integral, Real
from typing import Annotated, Any, TypeAlias, get_args, get_origin

from evenhand.errors import InvalidArgument

__all__ = [
    "ConfidenceLevel",
    "Count",
    "InnerShare",
    "Limit",
    "Majority",
    "NotNegative",
    "PictureSize",
    "PortraitSize",
    "Positive",
    "RandomDeals",
    "Share",
    "ShareAboveZero",
    "ShareBelowOne",
    "SharesUpToTen",
    "TwoOrMore",
    "WholeNumber",
    "check_argument",
    "check_every",
    "check_limits",
]


@dataclass(frozen=True)
class Limit:
    """The numbers from `least` to `most`, both included, or those `above` and `below`, which are not; whole ones only where asked."""

    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None
    whole: bool = False

    def admits(self, value: Any) -> bool:
        """Whether this is a number inside."""
        kinds: Any = Integral if self.whole else Real
        if isinstance(value, bool) or not isinstance(value, kinds) or math.isnan(value):
            return False
        ends = (self.least is None or value >= self.least, self.most is None or value <= self.most)
        return all(ends) and (self.above is None or value > self.above) and (self.below is None or value < self.below)

    def check(self, name: str, value: Any, *, owner: str = "", hint: str = "") -> None:
        """Raise where the value is outside; the message names the parameter, what it belongs to, what is expected and what came."""
        if not self.admits(value):
            told = f" (a parameter of {owner})" if owner else ""
            raise InvalidArgument(f"{name}={value!r} must {self.wording}{told}{hint}")

    def check_every(self, name: str, values: Iterable[Any], *, owner: str = "") -> None:
        """Raise where one of several values is outside, or where there is none."""
        listed = [value.item() if hasattr(value, "item") else value for value in values]
        if not listed or not all(self.admits(value) for value in listed):
            told = f" (a parameter of {owner})" if owner else ""
            raise InvalidArgument(f"{name}={tuple(listed)!r} must hold numbers, each of which must {self.wording}{told}")

    @property
    def wording(self) -> str:
        """What follows `must`."""
        if self.whole:
            return f"be a whole number of {self._ends}"
        if self.least is not None and self.most is not None:
            return f"lie between {self.least:g} and {self.most:g}"
        if self.above is not None and self.below is not None:
            return f"lie strictly between {self.above:g} and {self.below:g}"
        return f"be {self._ends}"

    @property
    def _ends(self) -> str:
        words = {"at least": self.least, "above": self.above, "at most": self.most, "below": self.below}
        return " and ".join(f"{word} {end:g}" for word, end in words.items() if end is not None) or "any size"


Count: TypeAlias = Annotated[int, Limit(least=1, whole=True)]
TwoOrMore: TypeAlias = Annotated[int, Limit(least=2, whole=True)]
WholeNumber: TypeAlias = Annotated[int, Limit(least=0, whole=True)]
Positive: TypeAlias = Annotated[float, Limit(above=0)]
NotNegative: TypeAlias = Annotated[float, Limit(least=0)]
Share: TypeAlias = Annotated[float, Limit(least=0, most=1)]
ShareAboveZero: TypeAlias = Annotated[float, Limit(above=0, most=1)]
ShareBelowOne: TypeAlias = Annotated[float, Limit(least=0, below=1)]
ConfidenceLevel: TypeAlias = Annotated[float, Limit(above=0, below=1)]
InnerShare: TypeAlias = Annotated[float, Limit(above=0, below=1)]
SharesUpToTen: TypeAlias = Annotated[float, Limit(above=0, most=10)]
Majority: TypeAlias = Annotated[float, Limit(least=0.5, most=1)]
RandomDeals: TypeAlias = Annotated[int, Limit(least=19, whole=True)]  # fewer cannot give a p-value of one in twenty
PictureSize: TypeAlias = Annotated[int, Limit(least=8, most=1024, whole=True)]
PortraitSize: TypeAlias = Annotated[int, Limit(least=16, most=1024, whole=True)]


def check_argument(alias: Any, **given: Any) -> None:
    """Compare arguments of a function with the limit of one of the annotations above: `check_argument(Count, rows=n)`."""
    for name, value in given.items():
        _inside(alias).check(name, value)


def check_every(alias: Any, **given: Any) -> None:
    """Compare each number of a list with the limit of an annotation: `check_every(Share, p_values=values)`; an empty list passes."""
    for name, values in given.items():
        if len(values):
            _inside(alias).check_every(name, values)


def _inside(alias: Any) -> Limit:
    found: Limit = next(each for each in get_args(alias) if isinstance(each, Limit))
    return found


def check_limits(made: Any) -> None:
    """Compare every field of a dataclass with the limit that its annotation declares; None passes where the annotation allows it."""
    for name, (limit, form) in _declared(made.__class__).items():
        value = getattr(made, name)
        if form == _LISTED:
            limit.check_every(name, value, owner=type(made).__name__)
        elif not (form == _OPTIONAL and value is None):
            limit.check(name, value, owner=type(made).__name__, hint=", or None" if form == _OPTIONAL else "")


_LISTED, _OPTIONAL = "tuple[{}, ...]", "{} | None"
"""How an annotation may be written around the name of a limit."""


@cache
def _declared(kind: Any) -> dict[str, tuple[Limit, str]]:
    """The limits that a class and its bases declare, and how: one number, one or None, or several."""
    found: dict[str, tuple[Limit, str]] = {}
    for base in reversed(kind.__mro__):
        names = vars(sys.modules[base.__module__])
        for name, written in vars(base).get("__annotations__", {}).items():
            for form in ("{}", _OPTIONAL, _LISTED):
                limit = _limit(written, form, names)
                if limit is not None:
                    found[name] = limit, form
    return found


def _limit(written: Any, form: str, names: dict[str, Any]) -> Limit | None:
    """The limit that an annotation of this form names, as a module writes it or as the object that it stands for."""
    if isinstance(written, str):
        word = re.fullmatch(re.escape(form).replace(r"\{\}", r"(\w+)"), written)
        meant: Any = names.get(word[1]) if word else None
    else:
        meant = next((each for each in (written, *get_args(written)) if _form_of(written) == form and hasattr(each, "__metadata__")), None)
    return next((each for each in get_args(meant) if isinstance(each, Limit)), None)


def _form_of(written: Any) -> str:
    if hasattr(written, "__metadata__"):
        return "{}"
    return _LISTED if get_origin(written) is tuple else _OPTIONAL
