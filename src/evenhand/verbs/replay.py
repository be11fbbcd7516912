"""replay(): ask a model again about pairs that were kept, and say which of them it still treats differently."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.claims import Claim
from evenhand.contract import Model, Outcome
from evenhand.engine import witness
from evenhand.engine.gate import Gate, checks_of
from evenhand.engine.header import Header, header_of
from evenhand.engine.result import Telling, result_dict
from evenhand.engine.subject import Data, Subject
from evenhand.report.rendered import Rendered

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False)
class ReplayResult(Rendered):
    """What the model says of every pair now."""

    header: Header
    replays: tuple[witness.Replay, ...]

    @property
    def unfair(self) -> int:
        """How many pairs are still treated differently."""
        return sum(again.is_unfair for again in self.replays)

    @property
    def outcome(self) -> Outcome:
        """A violation where any pair is still treated differently."""
        return Gate.rule(Claim("pairs", self.reason if self.unfair else "", holds=self.reason)).outcome

    @property
    def reason(self) -> str:
        """How many pairs."""
        return f"{self.unfair} of {len(self.replays)} pairs are treated differently"

    def summary(self) -> str:
        """One line for each pair."""
        return "\n".join([f"{self.outcome.upper()}: {self.reason}.", *(_line(again) for again in self.replays)])

    def frame(self) -> pd.DataFrame:
        """One row for each pair: both outcomes, then and now."""
        import pandas as pd

        return pd.DataFrame([_record(again) for again in self.replays])

    def as_dict(self) -> dict[str, Any]:
        """The versioned JSON that every rendering reads."""
        kept = [asdict(again.witness) | {"outcome": again.outcome, "twin_outcome": again.twin_outcome} for again in self.replays]
        claims = [Claim(again.witness.id, _line(again) if again.is_unfair else "", holds=_line(again)) for again in self.replays]
        body = {"replays": [_record(again) for again in self.replays]}
        return result_dict(self, Telling([f"{self.reason}."], checks_of(claims), kept, body))


def replay(which: str | Path | witness.Witness, model: Model, data: Data, *, folders: Sequence[str | Path] = (".",)) -> ReplayResult:
    """Ask the model again about kept pairs.

    which: a witness, its file, a folder of them, or an id (its first four digits suffice) that is looked for below `folders`.
    model, data: as for `scan`; the data's domain says what the cells of a pair mean.

    >>> import evenhand as eh
    >>> data = eh.open("credit", protected=["age"])
    >>> model = eh.wrap(lambda frame: 50 + frame["age"] - frame["duration"], data, returns="score", threshold=60)
    >>> result = eh.scan(model, data, budget=eh.Budget(candidates=500))
    >>> eh.replay(result.witnesses[0], model, data).outcome
    'violation'
    """
    kept = [which] if isinstance(which, witness.Witness) else [witness.load(path) for path in _files(which, folders)]
    domain = data.domain.protect(*kept[0].protected)
    subject = Subject(domain, model, data.rows, medium=getattr(data, "medium", None))
    header = header_of("replay", subject, data.name, None, {"witnesses": [each.id for each in kept]})
    return ReplayResult(header, tuple(witness.replay(each, domain, model) for each in kept))


def _files(which: str | Path, folders: Sequence[str | Path]) -> list[Path]:
    return witness.find(str(which), [Path(folder) for folder in folders])


def _record(again: witness.Replay) -> dict[str, Any]:
    kept = again.witness
    return {
        "id": kept.id,
        "unfair": again.is_unfair,
        "oracle": kept.oracle,
        "gap": again.gap,
        "outcome": again.outcome,
        "twin_outcome": again.twin_outcome,
        "outcome_before": kept.outcome,
        "twin_outcome_before": kept.twin_outcome,
    }


def _line(again: witness.Replay) -> str:
    kept = again.witness
    differing = {name: (kept.person[name], kept.twin[name]) for name in kept.person if kept.person[name] != kept.twin[name]}
    change = ", ".join(f"{name} {a!r} to {b!r}" for name, (a, b) in differing.items())
    word = "still unfair" if again.is_unfair else "fair now"
    said = [f"{each:,.6g}" if isinstance(each, float) else repr(each) for each in (again.outcome, again.twin_outcome)]
    return f"{kept.id} {word}  {change}: the model says {said[0]} and {said[1]}"
