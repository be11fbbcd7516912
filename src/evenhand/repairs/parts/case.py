"""What a repair is: from a model, its training rows and findings to a new model.  The old one stays as it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Reals, Rows
from evenhand.contract import Medium, Model
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import InvalidArgument, MissingAbility

if TYPE_CHECKING:
    from evenhand.engine.findings import Findings
    from evenhand.engine.run import Subject

MENDS_AMOUNTS = ("retrain_alone", "retrain_twins", "reweigh", "equal_means", "marginalise", "drop_protected", "hide_protected")
"""Repairs and baselines that work for models that say amounts."""

Role: TypeAlias = Literal["repair", "baseline", "control"]
"""A repair is meant to help; a baseline is trivial and named as such; a control shows what chance alone does."""


@dataclass(frozen=True)
class Case:
    """What a repair may look at: a model in its domain, the rows and labels that it learns from, and findings that train."""

    domain: TabularDomain
    model: Model
    rows: Rows
    labels: NDArray[Any]  # positions of classes; amounts where the model says amounts
    findings: Rows
    gaps: Reals  # (n,): how far apart each finding's twins are scored
    medium: Medium | None = None  # what a row shows; None is the table itself

    def __post_init__(self) -> None:
        if len(self.rows) != len(self.labels):
            raise InvalidArgument(f"labels has {len(self.labels)} entries for {len(self.rows)} rows; expected one per row")
        if not len(self.rows):
            raise InvalidArgument("rows is empty; a repair needs real rows with their labels")

    @property
    def is_amount(self) -> bool:
        """Whether the model says amounts."""
        return len(self.model.classes) == 1

    def check_classes(self, what: str) -> None:
        """Raise where the model says amounts; `what` begins the sentence."""
        if self.is_amount:
            raise MissingAbility(f"{what}, and this model says amounts; what mends amounts: {', '.join(MENDS_AMOUNTS)}")

    @classmethod
    def of(cls, subject: Subject, findings: Findings | Rows) -> Case:
        """The case of a subject, with findings or the bare rows of some."""
        if subject.rows is None or subject.labels is None:
            raise InvalidArgument("the subject has no labelled rows; a repair needs the data that the model learns from (rows and labels)")
        if not isinstance(findings, np.ndarray):
            return cls(subject.domain, subject.model, subject.rows, subject.labels, findings.rows, findings.gap, subject.medium)
        rows = np.asarray(findings, dtype=np.float64).reshape(-1, len(subject.domain.columns))
        return cls(subject.domain, subject.model, subject.rows, subject.labels, rows, np.ones(len(rows)), subject.medium)


@dataclass(frozen=True)
class Mended:
    """A new model, and what its repair wants the reader to know."""

    model: Model
    facts: dict[str, Any] = field(default_factory=dict)


@runtime_checkable
class Repair(Protocol):
    """One way to mend a model.  Its parameters are the fields of a frozen dataclass."""

    needs: ClassVar[type]  # Model, Trainable, Consistent or Prunable: checked before it starts
    role: ClassVar[Role]

    def mend(self, case: Case, rng: np.random.Generator) -> Mended:
        """The new model."""
