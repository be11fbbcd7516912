"""Every promise of every kind of plug-in over the registries: what the tests run, and `evenhand selftest --kind KIND` for one's own."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.campaign.executors import EXECUTORS
from evenhand.checks import examples
from evenhand.checks.adapter_checks import for_adapter
from evenhand.checks.editor_checks import for_editor
from evenhand.checks.executor_checks import executor_example, for_executor
from evenhand.checks.format_checks import for_format
from evenhand.checks.loader_checks import for_loader
from evenhand.checks.medium_checks import for_medium
from evenhand.checks.method_checks import for_method, standard_subject, subject_for
from evenhand.checks.operator_checks import for_operator
from evenhand.checks.oracle_checks import for_oracle
from evenhand.checks.population_checks import for_population
from evenhand.checks.repair_checks import for_repair
from evenhand.datasets.loaders import LOADERS
from evenhand.engine.subject import Subject
from evenhand.errors import UnknownName
from evenhand.media import MEDIA
from evenhand.media.editors import EDITORS, editor_for
from evenhand.media.operators import OPERATORS
from evenhand.methods import METHODS
from evenhand.models.adapters import ADAPTERS
from evenhand.models.budget import Budget
from evenhand.oracles import ORACLES, oracle_of
from evenhand.oracles.flip import LabelFlip
from evenhand.planted.letters import letters
from evenhand.planted.treatments import treatments
from evenhand.registry import Entry, Registry
from evenhand.repairs import REPAIRS
from evenhand.repairs.parts.case import Case
from evenhand.report.formats import FORMATS
from evenhand.report.record import Record
from evenhand.synthesis import SYNTHESISERS
from evenhand.verbs.scan import scan

Promise = Callable[[], None]
OF_RECOGNISERS = ("counts", "objects")
NEEDS_EXAMPLE = "it offers no class method example(), and nothing is kept here to try it on"


@dataclass(frozen=True)
class PromiseOutcome:
    """One promise of one plug-in; `broken` says how it was broken, `skipped` why it was not tried."""

    kind: str
    name: str
    promise: str
    broken: str = ""
    skipped: str = ""


@dataclass(frozen=True)
class Kind:
    """A kind of plug-in: where they are found, and the checks of one of them, bound to what they are tried on."""

    registry: Registry[Any]
    promises: Callable[[Entry[Any]], dict[str, Promise]]


class NotTried(Exception):
    """There is nothing to try this plug-in on."""


def conformance(kind: str, names: Sequence[str] = ()) -> Iterator[PromiseOutcome]:
    """Try every promise of the named plug-ins of a kind, of all of them without names."""
    if kind not in KINDS:
        raise UnknownName("kind of plug-in", kind, KINDS)
    registry = KINDS[kind].registry
    for name in names or registry.entries():
        entry = registry.entry(name)
        try:
            promises = KINDS[kind].promises(entry)
        except NotTried as reason:
            yield PromiseOutcome(kind, name, "all of them", skipped=str(reason))
            continue
        for promise, check in promises.items():
            yield PromiseOutcome(kind, name, promise, _broken(check))


def _broken(check: Promise) -> str:
    try:
        check()
    except AssertionError as fault:
        return str(fault) or "the promise was broken"
    except Exception as fault:  # a plug-in is foreign code; its crash is a finding, not the end of the checks
        return f"{type(fault).__name__}: {fault}"
    return ""


def _bound(checks: Sequence[Callable[..., None]], *about: Any) -> dict[str, Promise]:
    return {check.__name__.removeprefix("check_"): (lambda check=check: check(*about)) for check in checks}  # type: ignore[misc]


def _methods(entry: Entry[Any]) -> dict[str, Promise]:
    return _bound(for_method(), entry.make, subject_for(entry.make))


def _oracles(entry: Entry[Any]) -> dict[str, Promise]:
    made_for = [each for each in treatments().values() if each.rate and each.oracle.partition(":")[0] == entry.name]
    if made_for:
        each = made_for[0]
        rows = each.rows[np.random.default_rng(1).permutation(len(each.rows))[:400]]
        return _bound(for_oracle(), lambda: oracle_of(each.oracle), Subject(each.domain, each.model, rows))
    if entry.name in OF_RECOGNISERS:
        return _bound(for_oracle(), entry.make, examples.recogniser_subject())
    return _bound(for_oracle(), entry.make, standard_subject())


def _media(entry: Entry[Any]) -> dict[str, Promise]:
    return _bound(for_medium(), examples.made(entry, examples.MEDIA_EXAMPLES))


def _synthesisers(entry: Entry[Any]) -> dict[str, Promise]:
    subject = standard_subject(n=400)
    return _bound(for_population(), entry.make, subject.rows, subject.domain)


@cache
def _case() -> Case:
    subject = standard_subject(n=300)
    assert subject.rows is not None
    return Case.of(subject, subject.rows[LabelFlip().judge(subject.rows, subject.domain, subject.model).unfair])


def _repairs(entry: Entry[Any]) -> dict[str, Promise]:
    return _bound(for_repair(), entry.make, _case())


def _editors(entry: Entry[Any]) -> dict[str, Promise]:
    album = examples.small_album()
    return _bound(for_editor(), editor_for(entry.name, album, "tone", examples.editor_tools()), album)


def _operators(entry: Entry[Any]) -> dict[str, Promise]:
    return _bound(for_operator(), entry.make(), examples.change_orders())


def _loaders(entry: Entry[Any]) -> dict[str, Promise]:
    kind: Any = entry.make
    if not hasattr(kind, "example"):
        raise NotTried(NEEDS_EXAMPLE)
    return _bound(for_loader(), kind(), *kind.example(Path(tempfile.mkdtemp(prefix="evenhand-"))))


def _adapters(entry: Entry[Any]) -> dict[str, Promise]:
    adapter: Any = entry.make()
    if not hasattr(adapter, "example"):
        raise NotTried(NEEDS_EXAMPLE)
    return _bound(for_adapter(), adapter, *adapter.example())


@cache
def _record() -> Record:
    planted = letters()
    found = scan(planted.model, planted.data, budget=Budget(candidates=500), seed=1)
    return Record.model_validate(json.loads(json.dumps(found.as_dict())))


def _formats(entry: Entry[Any]) -> dict[str, Promise]:
    return _bound(for_format(), entry.make(), _record())


def _executors(entry: Entry[Any]) -> dict[str, Promise]:
    def tried(check: Callable[..., None]) -> None:
        with executor_example(entry.name) as executor:
            check(executor)

    return {check.__name__.removeprefix("check_"): (lambda check=check: tried(check)) for check in for_executor()}  # type: ignore[misc]


KINDS: dict[str, Kind] = {
    "method": Kind(METHODS, _methods),
    "oracle": Kind(ORACLES, _oracles),
    "medium": Kind(MEDIA, _media),
    "synthesiser": Kind(SYNTHESISERS, _synthesisers),
    "repair": Kind(REPAIRS, _repairs),
    "editor": Kind(EDITORS, _editors),
    "operator": Kind(OPERATORS, _operators),
    "loader": Kind(LOADERS, _loaders),
    "adapter": Kind(ADAPTERS, _adapters),
    "format": Kind(FORMATS, _formats),
    "executor": Kind(EXECUTORS, _executors),
}
