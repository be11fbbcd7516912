"""Synthesisers: populations of realistic rows, learnt from data and steered by the user; one file each, found by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.contract import Executor, Population, Synthesiser
from evenhand.errors import InvalidArgument
from evenhand.registry import Registry

if TYPE_CHECKING:
    import numpy as np

    from evenhand.arrays import Rows
    from evenhand.domain.tabular import TabularDomain
    from evenhand.synthesis.wishes import Wishes

SYNTHESISERS: Registry[Synthesiser] = Registry("synthesiser", __name__, Synthesiser)
SHORT = {"trees": "chained_trees", "graph": "constraint_graph"}
"""Names that a command line may abbreviate."""


def synthesiser(name: str) -> Any:
    """The class of the synthesiser of this name: `chained trees`, `chained-trees` and `trees` are the same one.

    >>> from evenhand.synthesis import synthesiser
    >>> synthesiser("chained trees").__name__
    'ChainedTrees'
    """
    return SYNTHESISERS.entry(SHORT.get(name, name.replace(" ", "_").replace("-", "_"))).make


def fit_steered(
    kind: Any, rows: Rows, domain: TabularDomain, wishes: Wishes, rng: np.random.Generator, executor: Executor | None = None
) -> Population:
    """A synthesiser learnt from rows and steered by wishes; one that cannot be steered is refused where there are any.

    An executor takes a part where the synthesiser can be learnt in parts.
    """
    shared = {"executor": executor} if executor is not None and getattr(kind, "is_shared", False) else {}
    if not wishes.wishes and not wishes.rules:
        plain: Population = kind.fit(rows, domain, rng, **shared)
        return plain
    if not hasattr(kind, "fit_steered"):
        able = [name for name, entry in SYNTHESISERS.entries().items() if hasattr(entry.make, "fit_steered")]
        raise InvalidArgument(f"{kind.name} cannot be steered by wishes; these can: {', '.join(able)}")
    made: Population = kind.fit_steered(rows, domain, wishes, rng, **shared)
    return made
