"""What a scan returns: runs, rates, witnesses, where it concentrates, and the ruling.  Computes nothing that a page would show twice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.claims import Claim
from evenhand.contract import Model, Outcome, population_words
from evenhand.domain.tabular import TabularDomain
from evenhand.engine.findings import Findings
from evenhand.engine.gate import checks_of, section_dict
from evenhand.engine.header import Header
from evenhand.engine.preflight import doubts
from evenhand.engine.result import Telling, co_changed, result_dict
from evenhand.engine.run import Run
from evenhand.engine.wiring_checks import Check
from evenhand.engine.witness import Witness
from evenhand.errors import InvalidArgument
from evenhand.measures.rates import Rate
from evenhand.measures.rules import Rules
from evenhand.measures.severity import Severity
from evenhand.measures.studies.classes import ClassMeasure
from evenhand.measures.typicality import Typicality
from evenhand.report.rendered import Rendered

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False)
class ScanResult(Rendered):
    """Everything that a scan computed; reports are renderings of it."""

    domain: TabularDomain
    model: Model
    runs: tuple[Run, ...]
    rates: tuple[Rate, ...]
    witnesses: tuple[Witness, ...]
    outcome: Outcome
    reason: str
    header: Header
    failures: Mapping[str, str]
    folders: tuple[Path, ...] = ()
    anytime: Mapping[str, Any] | None = None
    where: Rules | None = None
    outcomes: tuple[Any, ...] = ()  # what labels stand for, where that is not the model's classes
    classes: ClassMeasure | None = None  # of scenes, how classes of objects are treated
    looked: tuple[Check, ...] = ()  # what was looked at before the search
    notes: tuple[str, ...] = ()  # what a reader must know beside the figures
    natural: Typicality | None = None  # how likely findings are beside real rows
    inner: Mapping[str, Any] = field(default_factory=dict)  # the model as a small tree, and the neurons that react
    severity: Severity | None = None  # in the most realistic population at hand
    wiring_doubt: str = ""  # why the model may not have been asked what it should be
    unfair_rows: tuple[int, ...] | None = None  # of the data, by position; None where not every row was asked, or where they are very many

    @property
    def rate(self) -> Rate:
        """The rate in the most realistic population at hand."""
        return self.rates[0]

    @property
    def findings(self) -> FindingsView:
        """All findings of all runs."""
        joined = Findings.join([r.findings for r in self.runs], len(self.domain.columns))
        names = np.repeat([r.method for r in self.runs], [len(r.findings) for r in self.runs])
        return FindingsView(joined, names, self.domain, self.outcomes or self.model.classes)

    @property
    def is_interrupted(self) -> bool:
        """Whether Ctrl-C ended a run early."""
        return any(r.ended == "interrupted" for r in self.runs)

    @property
    def valid_share(self) -> float | None:
        """The share of findings that keep the domain's constraints; None without findings."""
        total = sum(len(r.findings) for r in self.runs)
        return sum(int(r.findings.valid.sum()) for r in self.runs) / total if total else None

    def frame(self) -> pd.DataFrame:
        """One row per finding: the person, the twin's changed cells, both outcomes."""
        return self.findings.frame()

    @property
    def _sentences(self) -> list[str]:
        classes = self.classes.sentences if self.classes is not None else []
        return [*classes, *(rate.sentence for rate in self.rates)]

    def summary(self) -> str:
        """A few lines for a person."""
        lines = [f"{self.outcome.upper()}: {self.reason}."]
        lines += [*self._sentences, *co_changed(self.header)]
        lines += [f"{sentence}." for sentence in (self.severity.sentences if self.severity is not None else [])]
        lines += [f"While searching, from people drawn beside the search: {self.anytime['sentence']}."] if self.anytime else []
        lines += [line for r in self.runs for line in (_run_line(r), *_list_lines(r))]
        lines += [f"Note: {note}." for note in self.notes]
        lines += [f"{name} FAILED: {why}" for name, why in self.failures.items()]
        lines += _where_lines(self.where)
        lines += [f"{w.id}  {w.sentence}" for w in self.witnesses[:5]]
        return "\n".join(lines)

    def annotated(self, folder: str | Path) -> Path:
        """Of scenes: the changed pictures of all findings with COCO annotations, for retraining, and sheets of them for looking at."""
        from evenhand.media.scenes import Scenes
        from evenhand.report.coco_export import export_coco

        medium = getattr(self.model, "medium", None)
        if not isinstance(medium, Scenes):
            raise InvalidArgument("only findings on scenes have annotated pictures; the rows of this scan show no objects")
        found = self.findings.findings
        words = [self.outcomes[int(outcomes.max())] for outcomes in found.outcomes]
        return export_coco(Path(folder), medium, found.rows, words)

    def as_dict(self) -> dict[str, Any]:
        """The versioned JSON that every rendering reads."""
        body = {
            "rates": [rate.as_dict() for rate in self.rates],
            "runs": [r.as_dict() for r in self.runs],
            "folders": [path.as_posix() for path in self.folders],
            "failures": dict(self.failures),
            "notes": list(self.notes),
            "wiring_doubt": self.wiring_doubt,
            "valid_share": self.valid_share,
            "anytime": dict(self.anytime) if self.anytime else None,
            "where": self.where.as_dict() if self.where else None,
            "severity": None if self.severity is None else self.severity.as_dict(),
            "naturalness": None if self.natural is None else self.natural.as_dict(),
            **self.inner,
            "unfair_rows": None if self.unfair_rows is None else list(self.unfair_rows),
        }
        if self.classes is not None:
            body["studies"] = {"classes": section_dict(self.classes.section(), self.wiring_doubt)}
        told = Telling(self._sentences, [*self.checks(), *self._failed()], [asdict(w) for w in self.witnesses], body)
        return result_dict(self, told)

    def checks(self) -> list[dict[str, Any]]:
        """What each method decides: with a violation, one that found something has its share in it."""
        classes = self.classes.claims() if self.classes is not None else ()
        return [*(self._check(r) for r in self.runs), *checks_of(classes, self.wiring_doubt), *doubts(self.looked)]

    def _failed(self) -> list[dict[str, Any]]:
        """A method that failed decides nothing."""
        return checks_of(Claim(name, failed=why) for name, why in self.failures.items())

    def _check(self, done: Run) -> dict[str, Any]:
        found, tried = len(done.findings), done.ledger.candidates
        message = f"{found:,} findings among {tried:,} candidates"
        stopped = f"interrupted after {tried:,} candidates" if done.ended == "interrupted" else ""
        claim = Claim(done.method, message if self.outcome == "violation" and found else "", stopped, message)
        return {**checks_of([claim], self.wiring_doubt)[0], "seconds": done.wall_seconds}


@dataclass(frozen=True)
class FindingsView:
    """Findings with the words to show them in."""

    findings: Findings
    methods: np.ndarray[Any, Any]
    domain: TabularDomain
    classes: tuple[Any, ...]

    def __len__(self) -> int:
        return len(self.findings)

    def frame(self) -> pd.DataFrame:
        """One row per finding: the person, the twin's changed cells, both outcomes; where it is known how plausible pairs are, the most
        plausible ones first."""
        frame = self.findings.frame(self.domain, self.classes)
        frame["evenhand.method"] = self.methods
        known = self.findings.plausibility
        return frame if np.isnan(known).all() else frame.iloc[np.argsort(-known, kind="stable")].reset_index(drop=True)


def _run_line(done: Run) -> str:
    ledger = done.ledger
    found = f"{done.method}: {ledger.findings:,} findings among {ledger.candidates:,} candidates ({ledger.duplicates:,} duplicates)"
    return f"{found}, {ledger.model_rows:,} model rows, {done.cpu_seconds:.2f} CPU-seconds; {done.ended}."


def _list_lines(done: Run) -> list[str]:
    """How much of what there is the list holds, where the method can say it."""
    told = [str(done.facts[name]) for name in ("enumerated", "known", "set_aside") if name in done.facts]
    return [f"  {'; '.join(told)}."] if told else []


def _where_lines(where: Rules | None) -> list[str]:
    if where is None or not where.rules:
        return []
    told = [f"  {rule.sentence} (others {rule.others:.1%}, corrected p {rule.p_value:.2g})" for rule in where.rules[:3]]
    return [f"Where it concentrates among {population_words(where.population)}, judged on held-out rows:", *told]
