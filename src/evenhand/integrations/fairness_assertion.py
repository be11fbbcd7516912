"""assert_fair(): the policy as an assertion, for any test runner."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from evenhand.campaign.opened_project import OpenedProject, open_project, project_model
from evenhand.contract import Model
from evenhand.engine.policy import Policy
from evenhand.errors import DomainError, InvalidArgument
from evenhand.models.budget import Budget
from evenhand.models.wrap import wrap
from evenhand.verbs.build_gate import GateOptions, GateResult, gate, policy_of

MOST_PAIRS = 5


class NotFair(AssertionError):
    """A model does not keep its policy, or it could not be shown that it does; `result` says which, with the evidence."""

    def __init__(self, result: GateResult) -> None:
        self.result = result
        pairs = result.as_dict()["witnesses"][:MOST_PAIRS]
        told = [f"  evenhand replay {pair['id']}: {pair['outcome']!r} becomes {pair['twin_outcome']!r}" for pair in pairs]
        super().__init__("\n".join([result.summary(), *told]))


def assert_fair(
    model: Any, data: Any = None, policy: Policy | None = None, *, seed: int | None = None, candidates: int = 5_000
) -> GateResult:
    """Raise unless the model keeps the policy; inconclusive raises too, as nothing was shown.

    model: what `evenhand.wrap` returns, with `data` from `evenhand.open`; or a project file, which names both and holds the policy.

    >>> import evenhand as eh
    >>> data = eh.open("credit", protected=["age"])
    >>> model = eh.wrap(lambda frame: 100 - frame["duration"], data, returns="score", threshold=80)
    >>> eh.assert_fair(model, data, eh.Policy(eh.Gate(max_rate=0.01)), seed=0).outcome
    'pass'
    """
    if data is None:
        return _checked(project_gate(model, policy, seed, candidates))
    if isinstance(model, str | Path):
        raise InvalidArgument("model: give a project file alone, or a model with its data")
    return _checked(gate(model, data, policy, seed=seed or 0, options=GateOptions(budget=Budget(candidates=candidates))))


def project_gate(
    file: Any, policy: Policy | None = None, seed: int | None = None, candidates: int = 5_000, model: Any = None
) -> GateResult:
    """The gate of a project file, with its kept pairs and its baseline; `model` instead of the file's."""
    if not isinstance(file, str | Path):
        raise InvalidArgument(f"data: a model ({type(file).__name__}) needs data to be asked about; or name a project file alone")
    opened = open_project(file)
    settings = opened.project.gate
    wrapped = wrap(model, opened.data) if model is not None else _named_model(opened, str(file))
    options = GateOptions(settings.witnesses, settings.baseline, Budget(candidates=candidates), oracle=opened.project.oracle)
    options = replace(options, rate_rows=opened.project.scan.rate_rows)
    used = opened.project.scan.seed if seed is None else seed
    return gate(wrapped, opened.data, policy or policy_of(settings), seed=used, options=options)


def _named_model(opened: OpenedProject, file: str) -> Model:
    source = opened.project.model
    if source is None or (source.path is None and source.url is None):
        raise DomainError("the file names no model; add `model: model.skops` (or .onnx, a URL, ...)", file=file)
    return project_model(source, opened.data)


def _checked(result: GateResult) -> GateResult:
    if result.outcome != "pass":
        raise NotFair(result)
    return result
