"""evenhand.repair(): compare ways to mend a model on one table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from evenhand.campaign.executors.serial import Serial
from evenhand.campaign.repair_comparison import RepairComparison, RepairRole, RepairTerms, compare
from evenhand.campaign.repair_trial import BEFORE, Effort, Material, SeedOutcome, trial
from evenhand.campaign.work_folder import WorkFolder, happened
from evenhand.contract import Consistent, Executor, KnowsOrigins, LabelledRows, Method, Model, Trainable, Watch
from evenhand.engine.header import Header, header_of
from evenhand.engine.subject import Data, Plan, Subject, oracle_for, subject_of
from evenhand.errors import InvalidArgument, UnknownName
from evenhand.limits import Count, check_limits
from evenhand.measures.repair_measures import LABELS, Scorecard, amounts_card
from evenhand.methods import METHODS
from evenhand.models.budget import Budget
from evenhand.models.paid_answers import paid_once
from evenhand.oracles import OracleChoice
from evenhand.oracles.flip import LabelFlip
from evenhand.registry import Entry
from evenhand.repairs import REPAIRS
from evenhand.repairs.parts.case import Repair
from evenhand.shared_work import Sharing

TRAIN_METHOD, JUDGE_METHOD = "evenhand", "aequitas"
TRAIN_ON_PICTURES, JUDGE_ON_PICTURES = "gaussian_injection", "random_generation"
"""The usual methods on an album, where no column can be walked along."""

ALWAYS = ("no_change", "refit_again", "add_random_rows", "hide_protected", "drop_protected", "marginalise", "constant_answer")
"""Controls and trivial baselines, which no comparison goes without."""

FOR_AMOUNTS = ("equal_means",)
"""Repairs that only models can use that say amounts."""


@dataclass(frozen=True)
class RepairOptions:
    """Which findings train and which judge, how much is spent, and what counts as shown.

    oracle: of amounts, what counts as different ("amounts:tolerance=500"); by default the label's own tolerance.
    executor: who shares the seeds; the comparison is the same whoever it is.  folder: where finished seeds are kept, so that the same
    call goes on after an interruption.
    fresh: ask a model behind a network everything again, for it was changed; what was kept before stays aside in the folder.

    >>> RepairOptions(seeds=3).first_seed
    0
    """

    train_method: str | Method | None = None  # None for the usual one of the data's medium
    judge_method: str | Method | None = None
    seeds: Count = 8  # so many show that flips fall to a tenth, among a dozen repairs that do nothing
    first_seed: int = 0
    effort: Effort = field(default_factory=Effort)
    terms: RepairTerms = field(default_factory=RepairTerms)
    watch: Watch | None = None
    executor: Executor | None = None
    folder: Path | None = None
    oracle: OracleChoice | None = None
    fresh: bool = False

    def __post_init__(self) -> None:
        check_limits(self)


@dataclass(frozen=True)
class TrialWork:
    """What every worker needs to try all repairs with one seed."""

    material: Material
    repairs: Mapping[str, Repair]
    effort: Effort
    watch: Watch | None = None  # told of each step, where it is made in this process

    def open(self) -> Callable[[int], SeedOutcome]:
        """One seed after the other."""
        return lambda seed: trial(self.material, self.repairs, self.effort, seed, self.watch)


def repair(
    model: Model,
    data: Data,
    *,
    protected: Sequence[str] | None = None,
    repairs: Sequence[str | Repair] | None = None,
    held_out: Data | None = None,
    options: RepairOptions | None = None,
) -> RepairComparison:
    """Mend a model in several ways and say what each is worth; nothing given is changed.

    model: of classes, or of amounts.
    data: labelled rows.  For each seed a part is held out, and a model of the given kind is fitted to the rest, mended and judged.
    repairs: names from `evenhand repair --list`, or repairs with parameters; all by default.  Controls and trivial baselines
    are always added.  held_out: rows that judge instead of a part of `data`.

    >>> import evenhand as eh
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> data = eh.datasets.load("credit", coding="papers").protect("age")
    >>> rows, label = data.frame[list(data.domain.names)], data.frame[data.domain.label.column]
    >>> model = eh.wrap(make_pipeline(StandardScaler(), LogisticRegression()).fit(rows, label), data)
    >>> result = eh.repair(model, data, repairs=["reweigh"], options=eh.RepairOptions(seeds=2))
    >>> result.outcome
    'inconclusive'
    """
    chosen = options or RepairOptions()
    fixed = {"verb": "repair", "data": data.name, "protected": protected, "seeds": [chosen.first_seed, chosen.seeds]}
    with paid_once(model, chosen.folder, fixed, chosen.fresh) as paid:
        found = _compared(paid.model, data, protected, _Tries(repairs, held_out, chosen))
        paid.settle()
    return found


@dataclass(frozen=True)
class _Tries:
    """What is tried, on which rows it is judged, and how."""

    repairs: Sequence[str | Repair] | None
    held_out: Data | None
    options: RepairOptions


def _compared(model: Model, data: Data, protected: Sequence[str] | None, tries: _Tries) -> RepairComparison:
    """Every repair, tried and judged."""
    chosen, held_out = tries.options, tries.held_out
    subject = subject_of(model, data, protected)
    is_amount = len(model.classes) == 1
    truth = subject.amounts if is_amount else subject.labels
    if subject.rows is None or truth is None:
        raise InvalidArgument("data has no labels; a repair needs to know what is right (label: {column: ..., favourable: ...})")
    usual = (TRAIN_ON_PICTURES, JUDGE_ON_PICTURES) if isinstance(subject.medium, KnowsOrigins) else (TRAIN_METHOD, JUDGE_METHOD)
    train, judge = _method(chosen.train_method or usual[0]), _method(chosen.judge_method or usual[1])
    if type(train) is type(judge):
        raise InvalidArgument(
            f"train_method and judge_method are both {type(train).__name__.lower()}; findings of another method must judge"
        )
    judged = None if held_out is None else _held_out(held_out, is_amount)
    oracle = oracle_for(subject, chosen.oracle) if is_amount else LabelFlip()
    material = Material(subject.domain, model, subject.rows, truth, train, judge, judged, subject.medium, oracle)
    made = _made(tries.repairs, is_amount)
    fixed = {**_header(subject, chosen, data.name, material).fixed(), "repairs": [f"{name}={each!r}" for name, each in made.items()]}
    tried = _tried(TrialWork(material, made, chosen.effort), chosen, fixed)
    header = _header(subject, chosen, data.name, material, tried.outcomes)
    found = compare(tried.outcomes, _roles(made), header, chosen.terms, _card(subject) if is_amount else LABELS)
    return replace(found, notes=(*found.notes, *tried.notes))


def _card(subject: Subject) -> Scorecard:
    label = subject.domain.label
    return amounts_card(label.unit or "" if label is not None else "")


def _held_out(data: Data, is_amount: bool) -> LabelledRows:
    if not is_amount:
        return LabelledRows(data.rows, data.labels)
    amounts: Any = getattr(data, "amounts", None)
    if amounts is None:
        raise InvalidArgument("held_out has rows without an amount; rows that judge must have the true one")
    return LabelledRows(data.rows, amounts)


@dataclass(frozen=True)
class _Tried:
    """The outcome of every seed, and what happened on the way."""

    outcomes: list[SeedOutcome]
    notes: tuple[str, ...] = ()


def _tried(work: TrialWork, options: RepairOptions, fixed: Mapping[str, Any]) -> _Tried:
    """Every seed, by whoever works; those that were finished before are taken from the folder."""
    seeds = list(range(options.first_seed, options.first_seed + options.seeds))
    here = options.executor is None or isinstance(options.executor, Serial)
    work = replace(work, watch=options.watch if here else None)
    sharing = Sharing(options.executor or Serial(), watch=None if here else options.watch, what="seeds")
    if options.folder is None:
        return _Tried(sharing.answers(work, seeds))
    folder = WorkFolder.of(options.folder, "repair", fixed)
    with folder.held():
        outcomes = replace(sharing, shelf=folder.shelf()).answers(work, seeds)
    return _Tried(outcomes, happened(folder.events()))


def _method(given: str | Method) -> Method:
    return METHODS.make(given) if isinstance(given, str) else given


def _made(given: Sequence[str | Repair] | None, is_amount: bool) -> dict[str, Repair]:
    """The wanted repairs by name, controls first and trivial baselines last."""
    known = REPAIRS.entries()
    wanted: dict[str, Repair] = {}
    usual = [name for name in known if is_amount or name not in FOR_AMOUNTS]
    for each in usual if given is None else given:
        if isinstance(each, str):
            if each not in known:
                raise UnknownName("repair", each, known)
            wanted[each] = known[each].make()
        else:
            wanted[_name(each, known, wanted)] = each
    wanted |= {name: known[name].make() for name in ALWAYS if name not in wanted}
    order = {"control": 0, "repair": 1, "baseline": 2}
    ranked = sorted(wanted, key=lambda name: (order[wanted[name].role], name != BEFORE, name))
    return {name: wanted[name] for name in ranked}


def _name(made: Repair, known: Mapping[str, Entry[Repair]], taken: Mapping[str, Repair]) -> str:
    """The registered name of an instance, numbered where several instances are compared."""
    stem = next((name for name, entry in known.items() if entry.make is type(made)), type(made).__name__.lower())
    return stem if stem not in taken else next(n for k in range(2, 100) if (n := f"{stem}_{k}") not in taken)


def _roles(made: Mapping[str, Repair]) -> dict[str, RepairRole]:
    return {name: RepairRole(each.role, each.needs in (Trainable, Consistent)) for name, each in made.items()}


def _header(subject: Subject, options: RepairOptions, data: str, material: Material, outcomes: Sequence[SeedOutcome] = ()) -> Header:
    """What fixes the comparison: which findings train, which judge, how much is spent, and, once that is known, on how many rows."""
    details = {
        "train_method": repr(material.train_method),
        "judge_method": repr(material.judge_method),
        "seeds": [options.first_seed + place for place in range(options.seeds)],
        **(
            {"train_rows": outcomes[0].facts["seed"]["train_rows"], "held_out_rows": outcomes[0].facts["seed"]["held_out"]}
            if outcomes
            else {}
        ),
        "effort": vars(options.effort),
        "terms": vars(options.terms),
    }
    plan = Plan(options.first_seed, Budget(candidates=options.effort.candidates), material.oracle)
    return header_of("repair", subject, data, plan, details)
