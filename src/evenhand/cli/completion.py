"""What the shell proposes for the values of options: names out of the registries, looked up when somebody presses Tab."""

from __future__ import annotations

from collections.abc import Callable, Iterable


def _matching(names: Iterable[str], begun: str) -> list[str]:
    return sorted(name for name in names if name.startswith(begun))


def method_names(incomplete: str) -> list[str]:
    """Methods of search."""
    from evenhand.methods import METHODS

    return _matching(METHODS.entries(), incomplete)


def oracle_names(incomplete: str) -> list[str]:
    """What may count as unfair."""
    from evenhand.oracles import ORACLES

    return _matching(ORACLES.entries(), incomplete)


def study_names(incomplete: str) -> list[str]:
    """Studies that can be asked for."""
    from evenhand.measures.studies import STUDIES

    return _matching(STUDIES.entries(), incomplete)


def repair_names(incomplete: str) -> list[str]:
    """Ways to mend a model."""
    from evenhand.repairs import REPAIRS

    return _matching(REPAIRS.entries(), incomplete)


def one_of(*names: str) -> Callable[[str], list[str]]:
    """A fixed choice."""

    def proposed(incomplete: str) -> list[str]:
        return _matching(names, incomplete)

    return proposed
