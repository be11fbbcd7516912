"""Ways to mend a model, each one file with a frozen dataclass that has `mend`, and an honest comparison of what they do.

`evenhand.repair(model, data)` compares: the package itself can be called, and is `comparing.repair`.
`evenhand.repair.retraining.retrain(subject, findings, rng)` only retrains.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evenhand.repair.comparison import Comparison


class _Callable(ModuleType):
    """A package that is a function too, so that `evenhand.repair(...)` and `evenhand.repair.retraining` are both there."""

    def __call__(self, *given: Any, **named: Any) -> Comparison:
        """See `evenhand.repair.comparing.repair`."""
        from evenhand.repair.comparing import repair

        return repair(*given, **named)


sys.modules[__name__].__class__ = _Callable
