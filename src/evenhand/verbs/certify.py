"""certify(): prove how much of the domain is treated differently, or bound it as closely as time allows."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.campaign.executors.serial import Serial
from evenhand.campaign.work_folder import WorkFolder, happened
from evenhand.contract import Executor, Model, Oracle, Outcome, Watch
from evenhand.engine.gate import Gate
from evenhand.engine.header import Header, header_of
from evenhand.engine.result import Telling, co_changed, result_dict
from evenhand.engine.subject import Data, Subject, oracle_for
from evenhand.engine.witness import witness_id
from evenhand.errors import InvalidArgument
from evenhand.measures.proofs import ProofLimits, SharedProof
from evenhand.measures.proofs import certify as prove
from evenhand.measures.proofs.certificate import Certificate, Pair
from evenhand.oracles import OracleChoice, oracle_of, oracle_text
from evenhand.oracles.flip import LabelFlip
from evenhand.report.rendered import Rendered

if TYPE_CHECKING:
    import pandas as pd

TOLD = (
    "lower",
    "upper",
    "exact",
    "ended",
    "measure",
    "boxes",
    "cpu_seconds",
    "sample",
    "sample_agrees",
    "likely",
    "worst_gap",
    "facts",
    "curve",
)


@dataclass(frozen=True, repr=False)
class CertifyResult(Rendered):
    """A certificate and what the gate says of it."""

    header: Header
    certificate: Certificate
    outcome: Outcome
    reason: str
    notes: tuple[str, ...] = ()  # what happened on the way

    @property
    def is_interrupted(self) -> bool:
        """Whether Ctrl-C ended it early; the bounds hold all the same."""
        return self.certificate.ended == "interrupted"

    def summary(self) -> str:
        """A few lines for a person."""
        return "\n".join([f"{self.outcome.upper()}: {self.reason}.", self.certificate.summary(), *co_changed(self.header), *self.notes])

    def frame(self) -> pd.DataFrame:
        """How the bounds came together: one row for each step."""
        import pandas as pd

        return pd.DataFrame(self.certificate.as_dict()["curve"])

    def as_dict(self) -> dict[str, Any]:
        """The versioned JSON that every rendering reads."""
        told, domain = self.certificate.as_dict(), self.certificate.domain
        witnesses = [_witness(pair, domain.protected) for pair in self.certificate.pairs]
        checks = [{"name": "proof", "outcome": self.outcome, "message": self.reason}]
        body = {"certificate": {name: told[name] for name in TOLD} | {"kind": self.certificate.kind}, "notes": list(self.notes)}
        said = [self.certificate.sentence, *filter(None, [self.certificate.likely_sentence])]
        return result_dict(self, Telling(said, checks, witnesses, body))


def certify(
    model: Model,
    data: Data,
    *,
    protected: Sequence[str] | None = None,
    limits: ProofLimits | None = None,
    gate: Gate | None = None,
    watch: Watch | None = None,
    executor: Executor | None = None,
    folder: Path | None = None,
    oracle: OracleChoice | None = None,
) -> CertifyResult:
    """Bound the share of the domain's inputs whose label depends on the protected columns, exactly where time allows.

    Of a regression: the share of inputs whose amount moves by more than a tolerance, and how far apart twins are at worst.

    model: a wrapped tree ensemble (scikit-learn, XGBoost, LightGBM, CatBoost), for classes or for amounts, or a ReLU network for classes.
    data: whose domain is looked at.
    oracle: of a regression, what counts as different ("amounts:tolerance=500"); by default the label's own tolerance.
    limits: when to stop; Ctrl-C keeps the bounds so far.  gate: the tolerated share.  watch: who is told of the headway.
    executor: who shares the open boxes; where no clock ends the search, the bounds are the same whoever it is.  folder: where finished
    parts are kept, so that the same call goes on after an interruption.

    >>> import evenhand as eh
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> data = eh.datasets.load("credit", coding="papers").protect("age")
    >>> rows, label = data.frame[list(data.domain.names)], data.frame[data.domain.label.column]
    >>> model = eh.wrap(DecisionTreeClassifier(max_depth=8, random_state=0).fit(rows, label), data)
    >>> proof = eh.certify(model, data)
    >>> proof.outcome, proof.certificate.is_exact
    ('violation', True)
    """
    gate, domain = gate or Gate(), data.domain.protect(*protected) if protected is not None else data.domain
    limits = limits or ProofLimits()
    details = {"gate": {"max_rate": gate.max_rate, "resolution": gate.resolution}, "limits": vars(limits)}
    subject = Subject(domain, model, data.rows, medium=getattr(data, "medium", None))
    judged_by = _oracle(subject, oracle)
    details |= {} if judged_by is None else {"oracle": {"judged_by": oracle_text(judged_by)}}
    header = header_of("certify", subject, data.name, None, details)
    place = None if folder is None else WorkFolder.of(folder, "certify", header.fixed())
    with nullcontext() if place is None else place.held():
        shared = None if executor is None and place is None else SharedProof(executor or Serial(), place)
        found = prove(model, domain, limits=limits, watch=watch, shared=shared, oracle=judged_by)
    ruling = gate.rule(found.claim(gate.max_rate, gate.resolution))
    notes = () if place is None else happened(place.events())
    return CertifyResult(header, found, ruling.outcome, ruling.reason, notes)


def _oracle(subject: Subject, oracle: OracleChoice | None) -> Oracle | None:
    """Of a regression the one that compares amounts, with its limits; None where labels are compared."""
    if len(subject.model.classes) == 1:
        return oracle_for(subject, oracle)
    if oracle is not None and not isinstance(oracle_of(oracle), LabelFlip):
        raise InvalidArgument(
            f"oracle={oracle!r}: certify proves which inputs change their label (flip); oracles of amounts are for amounts"
        )
    return None


def _witness(pair: Pair, protected: tuple[str, ...]) -> dict[str, Any]:
    person, twin = dict(pair.person), dict(pair.twin)
    return {
        "id": witness_id(protected, person, twin),
        "protected": list(protected),
        "person": person,
        "twin": twin,
        "outcome": pair.label,
        "twin_outcome": pair.twin_label,
        "gap": abs(pair.twin_label - pair.label) if isinstance(pair.label, float) else None,
        "changed": {},
        "real_row": None,
        "method": "proof",
    }
