"""NeuronFair's fair set-ups: the global phases from the same seeds, the local phases from the same findings, retraining, neurons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from functools import cache
from typing import Any

import numpy as np
from cells import Cells
from hunts import KEPT_ROWS, net_folder

from evenhand.arrays import Rows
from evenhand.contract import Model, Transparent
from evenhand.engine.run import Plan, Subject, run
from evenhand.measures.neurons import coverage, measure_bias
from evenhand.measures.rates import discrimination_rate, uniform_sample
from evenhand.methods import METHODS
from evenhand.models.budget import Budget
from evenhand.oracles.flip import LabelFlip
from evenhand.repairs.parts.retraining import retrain
from parts.whitebox_tables import few_rows, net, subject_of

CONTENDERS = ("aequitas_full", "symbgen", "adf", "eidig", "neuronfair")
WHITE_BOX = ("adf", "eidig", "neuronfair")
GLOBAL_ONLY = {"local_steps": 0}
LOCAL_ONLY = {"iterations": 0, "global_samples": 0}


def _made(name: str, parameters: dict[str, Any]) -> Any:
    known = {field.name for field in fields(METHODS.entries()[name].make)}
    return METHODS.make(name, {key: value for key, value in parameters.items() if key in known})


@cache
def subject(data: str, protected: str) -> Subject:
    """A published net with its table."""
    return subject_of(net_folder(), data, protected)


def global_findings(name: str, data: str, protected: str, candidates: int, seed: int) -> dict[str, Any]:
    """Distinct tests of the global phase alone, from the same rows of the data for every method."""
    given = subject(data, protected)
    assert given.rows is not None
    order = np.random.default_rng([seed, 1]).permutation(len(given.rows))
    done = run(_made(name, GLOBAL_ONLY), replace(given, rows=given.rows[order]), Plan(seed, Budget(candidates=candidates)))
    # SG and AEQUITAS know no such switch: what their own later phase proposes is not counted.
    first = np.isin(np.asarray(done.findings.phase, dtype=str), ("local",), invert=True)
    rows = done.findings.rows[first]
    return {"findings": int(first.sum()), "tests": done.ledger.candidates - done.ledger.duplicates, "rows": rows[:KEPT_ROWS].tolist()}


def common_seeds(cells: Cells, data: str, protected: str, candidates: int, seed: int, count: int) -> Rows:
    """Global findings of all methods, mixed, and a random sample of them."""
    parts = [
        np.asarray(global_cell(cells, name, data, protected, candidates, seed)["rows"], dtype=np.float64).reshape(
            -1, width(data, protected)
        )
        for name in CONTENDERS
    ]
    mixed = np.concatenate(parts)
    return mixed[np.random.default_rng([seed, 2]).permutation(len(mixed))[:count]]


def width(data: str, protected: str) -> int:
    """How many columns a table has."""
    return len(subject(data, protected).domain.columns)


def global_cell(cells: Cells, name: str, data: str, protected: str, candidates: int, seed: int) -> dict[str, Any]:
    """Kept."""
    parameters = {"method": name, "data": data, "protected": protected, "candidates": candidates, "seed": seed}
    found: dict[str, Any] = cells.take("global-phase", parameters, lambda: global_findings(name, data, protected, candidates, seed), nets())
    return found


def local_findings(name: str, data: str, protected: str, seeds: Rows, each: int, seed: int) -> dict[str, Any]:
    """Distinct tests of the local phase alone from these findings, `each` for every one of them."""
    given = replace(subject(data, protected), rows=seeds, labels=None)
    own = {**LOCAL_ONLY, "seeds": len(seeds), "local_steps": each}
    done = run(_made(name, own), given, Plan(seed, Budget(candidates=each * len(seeds))))
    new = ~np.isin(given.domain.keys(done.findings.rows), given.domain.keys(seeds))
    rows = done.findings.rows[new]
    kept = rows[np.random.default_rng([seed, 3]).permutation(len(rows))[:KEPT_ROWS]]
    return {"findings": int(new.sum()), "seeds": len(seeds), "tests": done.ledger.candidates, "rows": kept.tolist()}


def local_cell(cells: Cells, name: str, data: str, protected: str, plan: Sequence[int], seed: int) -> dict[str, Any]:
    """Kept; `plan` is how many global tests, how many seeds, how many local tests for each."""
    tests, count, each = plan
    seeds = common_seeds(cells, data, protected, tests, seed, count)
    parameters = {"method": name, "data": data, "protected": protected, "plan": list(plan), "seed": seed}
    found: dict[str, Any] = cells.take("local-phase", parameters, lambda: local_findings(name, data, protected, seeds, each, seed), nets())
    return found


def nets() -> list[Any]:
    """The published nets."""
    return sorted((net_folder() / "models").glob("*_*.npz"))


def worth(model: Model, given: Subject, seed: int) -> dict[str, float]:
    """DM-RS, accuracy, and the largest area under an AS curve."""
    assert given.rows is not None
    rate = discrimination_rate(uniform_sample(given.domain, 20_000, np.random.default_rng([seed, 5])), given.domain, model, LabelFlip())
    assert isinstance(model, Transparent)
    return {
        "rate": rate.interval.estimate,
        "accuracy": float((model.scores(given.rows).argmax(axis=1) == given.labels).mean()),
        "auc": float(measure_bias(model, given.domain, given.rows[:5_000]).discrimination),
    }


def retrained_versions(data: str, protected: str, candidates: int, seed: int) -> dict[str, dict[str, float]]:
    """The net as it is, fitted again without findings, and fitted again with each method's findings (30 % of the rows)."""
    given = few_rows(subject(data, protected))
    found = {"before": worth(given.model, given, seed)}
    assert given.rows is not None
    assert given.labels is not None
    again: Any = given.model
    found["fitted again"] = worth(again.refit(given.rows, given.labels, np.random.default_rng(seed)), given, seed)
    for name in CONTENDERS:
        findings = run(METHODS.make(name), given, Plan(seed, Budget(candidates=candidates))).findings
        found[name] = worth(retrain(given, findings, np.random.default_rng(seed), "alone"), given, seed)
    return found


def neurons_reached(data: str, protected: str, candidates: int, seed: int) -> dict[str, dict[str, float]]:
    """The share of biased neurons that 100 findings and 100 misses of each method activate."""
    from whitebox import Overheard

    given = replace(subject(data, protected), model=net(net_folder(), "NeuronFair", data))
    assert given.rows is not None
    model: Any = given.model
    layer = measure_bias(model, given.domain, given.rows).most_biased
    told = {}
    for name in WHITE_BOX:
        heard = Overheard(METHODS.make(name, {"local_steps": 20}), [])
        done = run(heard, given, Plan(seed, Budget(candidates=candidates)))
        rows = np.concatenate(heard.heard)
        misses = rows[~np.isin(given.domain.keys(rows), given.domain.keys(done.findings.rows))]
        rng = np.random.default_rng(seed)
        shares = [coverage(model, layer, rng.permutation(each)[:100]) for each in (done.findings.rows, misses)]
        told[name] = {
            "findings": shares[0].share,
            "one finding": shares[0].mean_share,
            "misses": shares[1].share,
            "one miss": shares[1].mean_share,
        }
    return told
