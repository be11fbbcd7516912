"""Fairness testing for machine-learning models: find unfair treatment, prove it with pairs, say how often, repair it.

The public names are loaded when they are first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

_HOMES = {
    "BenchOptions": "evenhand.verbs.bench",
    "Budget": "evenhand.models.budget",
    "CausalGraph": "evenhand.domain.causal_graph",
    "Column": "evenhand.domain.columns",
    "CompareOptions": "evenhand.verbs.compare",
    "Comparison": "evenhand.domain.twins",
    "Gate": "evenhand.engine.gate",
    "GateOptions": "evenhand.verbs.build_gate",
    "GroupLimit": "evenhand.engine.policy",
    "Implied": "evenhand.domain.twins",
    "Label": "evenhand.domain.tabular",
    "MeasureOptions": "evenhand.verbs.measure_result",
    "Options": "evenhand.verbs.scan",
    "Policy": "evenhand.engine.policy",
    "ProofLimits": "evenhand.measures.proofs",
    "RepairOptions": "evenhand.verbs.repair",
    "SynthOptions": "evenhand.verbs.synth",
    "TabularDomain": "evenhand.domain.tabular",
    "Waiver": "evenhand.engine.policy",
    "assert_fair": "evenhand.integrations.fairness_assertion",
    "bench": "evenhand.verbs.bench",
    "CampaignOptions": "evenhand.verbs.campaign",
    "run_campaign": "evenhand.verbs.campaign",
    "certify": "evenhand.verbs.certify",
    "compare": "evenhand.verbs.compare",
    "compare_over_time": "evenhand.verbs.compare",
    "datasets": "",
    "doctor": "evenhand.verbs.doctor",
    "fairness_scorer": "evenhand.integrations.sklearn_scorer",
    "gate": "evenhand.verbs.build_gate",
    "infer": "evenhand.domain.infer",
    "log_result": "evenhand.integrations.mlflow_evaluator",
    "measure": "evenhand.verbs.measure",
    "method": "evenhand.methods",
    "open": "evenhand.verbs.open",
    "planted": "",
    "repair": "evenhand.verbs.repair",
    "replay": "evenhand.verbs.replay",
    "save_pairs": "evenhand.verbs.save_pairs",
    "scan": "evenhand.verbs.scan",
    "strategies": "evenhand.synthesis.strategies",
    "synth": "evenhand.verbs.synth",
    "wrap": "evenhand.models.wrap",
}

if TYPE_CHECKING:
    from evenhand import datasets, planted
    from evenhand.domain.causal_graph import CausalGraph
    from evenhand.domain.columns import Column
    from evenhand.domain.infer import infer
    from evenhand.domain.tabular import Label, TabularDomain
    from evenhand.domain.twins import Comparison, Implied
    from evenhand.engine.gate import Gate
    from evenhand.engine.policy import GroupLimit, Policy, Waiver
    from evenhand.integrations.fairness_assertion import assert_fair
    from evenhand.integrations.mlflow_evaluator import log_result
    from evenhand.integrations.sklearn_scorer import fairness_scorer
    from evenhand.measures.proofs import ProofLimits
    from evenhand.methods import method
    from evenhand.models.budget import Budget
    from evenhand.models.wrap import wrap
    from evenhand.synthesis.strategies import strategies
    from evenhand.verbs.bench import BenchOptions, bench
    from evenhand.verbs.build_gate import GateOptions, gate
    from evenhand.verbs.campaign import CampaignOptions, run_campaign
    from evenhand.verbs.certify import certify
    from evenhand.verbs.compare import CompareOptions, compare, compare_over_time
    from evenhand.verbs.doctor import doctor
    from evenhand.verbs.measure import measure
    from evenhand.verbs.measure_result import MeasureOptions
    from evenhand.verbs.open import open  # noqa: A004 - the data's door
    from evenhand.verbs.repair import RepairOptions, repair
    from evenhand.verbs.replay import replay
    from evenhand.verbs.save_pairs import save_pairs
    from evenhand.verbs.scan import Options, scan
    from evenhand.verbs.synth import SynthOptions, synth

__all__ = [
    "BenchOptions",
    "Budget",
    "CampaignOptions",
    "CausalGraph",
    "Column",
    "CompareOptions",
    "Comparison",
    "Gate",
    "GateOptions",
    "GroupLimit",
    "Implied",
    "Label",
    "MeasureOptions",
    "Options",
    "Policy",
    "ProofLimits",
    "RepairOptions",
    "SynthOptions",
    "TabularDomain",
    "Waiver",
    "assert_fair",
    "bench",
    "certify",
    "compare",
    "compare_over_time",
    "datasets",
    "doctor",
    "fairness_scorer",
    "gate",
    "infer",
    "log_result",
    "measure",
    "method",
    "open",
    "planted",
    "repair",
    "replay",
    "run_campaign",
    "save_pairs",
    "scan",
    "strategies",
    "synth",
    "wrap",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'evenhand' has no attribute {name!r}")
    home = _HOMES[name]
    value = getattr(importlib.import_module(home), name) if home else importlib.import_module(f"evenhand.{name}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
