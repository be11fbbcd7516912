"""A reading as the lines of evenhand.yaml that declare it, with what it rests on as a comment.  Asks no model and judges none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ProposedReading:
    """What may be declared below `model:`, and why."""

    returns: str | None = None
    threshold: float | None = None
    classes: tuple[Any, ...] = ()
    evidence: str = ""

    @property
    def lines(self) -> tuple[str, ...]:
        """As YAML; the evidence is a comment.

        >>> ProposedReading("percent", classes=("no", "yes"), evidence="cut at 50").lines
        ('# cut at 50', 'returns: percent', 'classes: ["no", "yes"]')
        """
        told = {"returns": self.returns, "threshold": self.threshold, "classes": list(self.classes) or None}
        return (f"# {self.evidence}", *(f"{name}: {_written(value)}" for name, value in told.items() if value is not None))


def _written(value: Any) -> str:
    """A plain word or number as it is; texts in a list in quotes, so that none is taken for a truth value or a number."""
    import json

    if isinstance(value, list):
        return json.dumps(value, ensure_ascii=False, default=str)
    return f"{value:.6g}" if isinstance(value, float) else str(value)
