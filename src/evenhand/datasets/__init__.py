"""Tables that are ready offline, each with the domain that it lives in, and the way in for a user's own.

Every function returns a `Dataset`.  `coding="papers"` gives the integer coding that the published methods were measured on.

>>> import evenhand as eh
>>> eh.datasets.load("credit").frame.shape
(1000, 22)
>>> "adult" in eh.datasets.names()
True
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from evenhand.datasets.cards import names
from evenhand.datasets.dataset import Dataset, from_frame
from evenhand.errors import UnknownName

__all__ = [
    "Dataset", "adult", "bank", "bank_additional", "car", "cleveland", "compas", "credit", "ecoli", "from_frame", "german",
    "load", "magic", "meps", "names", "wdbc",
]  # fmt: skip

Coding: TypeAlias = Literal["readable", "papers"]
ALIASES = {"german": "credit", "census": "adult"}


def load(name: str, coding: Coding = "readable") -> Dataset:
    """An embedded data set by its name."""
    from evenhand.datasets import cards, papers

    name = ALIASES.get(name, name)
    if coding == "readable":
        if name not in names():
            raise UnknownName("data set", name, (*names(), *ALIASES))
        return cards.dataset(name)
    if coding == "papers":
        return papers.dataset(name)
    raise UnknownName("coding", coding, ("readable", "papers"))


def adult(coding: Coding = "readable") -> Dataset:
    """Census income: 48,842 people, 14 columns; in the papers' coding the first 32,561 and 13 columns."""
    return load("adult", coding)


def credit(coding: Coding = "readable") -> Dataset:
    """German credit: 1,000 people, 21 columns; in the papers' coding a balanced sample of 600 and 20 columns."""
    return load("credit", coding)


german = credit


def bank(coding: Coding = "readable") -> Dataset:
    """Bank marketing: 45,211 people, 16 columns."""
    return load("bank", coding)


def bank_additional() -> Dataset:
    """The later bank marketing file: 41,188 people, 20 columns with economic indicators."""
    return load("bank_additional")


def compas(coding: Coding = "readable") -> Dataset:
    """Recidivism: 7,214 people, 9 columns; in the papers' coding 6,167 people and 401 columns."""
    return load("compas", coding)


def meps(coding: Coding = "readable") -> Dataset:
    """Medical visits: 15,675 people, 41 columns; in the papers' coding 40 columns."""
    return load("meps", coding)


def car() -> Dataset:
    """Car evaluation: 1,728 rows, 6 columns, 4 classes."""
    return load("car")


def ecoli() -> Dataset:
    """Protein localisation: 336 rows, 7 columns, 8 classes."""
    return load("ecoli")


def wdbc() -> Dataset:
    """Breast cancer (diagnostic): 569 rows, 30 columns."""
    return load("wdbc")


def cleveland() -> Dataset:
    """Heart disease: 297 people, 13 columns, 5 classes."""
    return load("cleveland")


def magic() -> Dataset:
    """Gamma telescope: 19,020 rows, 10 columns."""
    return load("magic")
