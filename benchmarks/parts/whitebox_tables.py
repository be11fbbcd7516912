"""The tables of the NeuronFair paper under one budget: findings by phase, success rate, time, and discrimination after retraining."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
from success import findings_by_phase, generation_success_rate, seconds_per_thousand

from evenhand import datasets
from evenhand.contract import Model, Trainable
from evenhand.engine.findings import Findings
from evenhand.engine.run import Plan, Run, Subject, run
from evenhand.measures.rates import discrimination_rate, uniform_sample
from evenhand.methods import METHODS
from evenhand.models.budget import Budget
from evenhand.models.dense import DenseNet
from evenhand.models.fitting_again import fit_dense
from evenhand.oracles.flip import LabelFlip

TABLES = {"census": datasets.adult, "credit": datasets.credit, "bank": datasets.bank, "compas": datasets.compas, "meps": datasets.meps}
CONTENDERS = ("aequitas_full", "adf", "eidig", "neuronfair")
PUBLISHED = "published, each method with its own counting and stopping: 5.84 times the findings, a speed-up of 534.56 %"


@dataclass(frozen=True)
class Contest:
    """What is compared: pairs of table and protected column, seeds, candidates for each run."""

    pairs: Sequence[tuple[str, str]]
    seeds: Sequence[int]
    candidates: int


def net(folder: Path | None, author: str, table: str) -> DenseNet:
    """A published network; one of the same widths, trained here, where the papers' data are absent."""
    return trained_net(table) if folder is None else DenseNet.from_npz(folder / "models" / f"{author}_{table}.npz")


@cache
def trained_net(table: str) -> DenseNet:
    """A network of the published widths, on the paper's form of the table."""
    given = TABLES[table]("papers")
    return fit_dense(given.rows, given.labels, (0, 1), np.random.default_rng(0))


def subject_of(folder: Path | None, table: str, protected: str) -> Subject:
    """A table with ADF's network, NeuronFair's for COMPAS, and one trained here for MEPS."""
    given = TABLES[table]("papers")
    model = trained_net(table) if table == "meps" else net(folder, "NeuronFair" if table == "compas" else "ADF", table)
    return Subject(given.domain.protect(protected), model, given.rows, given.labels)


def side_by_side(folder: Path | None, contest: Contest) -> None:
    """Totals, phases, success rate and CPU-seconds per thousand findings, each with its spread over seeds."""
    names = [name for name in CONTENDERS if name in METHODS.entries()]
    print(f"  methods: {', '.join(names)}; {contest.candidates:,} candidates each, {len(contest.seeds)} seeds, published parameters")
    totals: dict[str, list[float]] = {name: [] for name in names}
    times: dict[str, list[float]] = {name: [] for name in names}
    for table, protected in contest.pairs:
        subject = subject_of(folder, table, protected)
        for name in names:
            runs = [run(METHODS.make(name), subject, Plan(seed, Budget(candidates=contest.candidates))) for seed in contest.seeds]
            totals[name].append(float(np.mean([done.ledger.findings for done in runs])))
            times[name].append(float(np.mean([seconds_per_thousand(done.ledger.findings, done.cpu_seconds) for done in runs])))
            print(f"  {table:6} {protected:4} {name:13} {line_of(runs)} {times[name][-1]:8.4f} s per 1,000", flush=True)
    for name in names[:-1]:
        more = geometric(np.array(totals["neuronfair"]) / np.maximum(totals[name], 1))
        faster = geometric(np.array(times[name]) / np.array(times["neuronfair"]))
        print(f"  NeuronFair over {name}: {more:.2f} times the findings, {faster:.2f} times as fast per finding (geometric means)")
    print(f"  {PUBLISHED}")


def line_of(runs: Sequence[Run]) -> str:
    """Findings, by phase, and the success rate."""
    phases = [findings_by_phase(done.findings.phase) for done in runs]
    split = "global {:.0f}, local {:.0f}".format(*(np.mean([p.get(phase, 0) for p in phases]) for phase in ("global", "local")))
    ledgers = [done.ledger for done in runs]
    rates = [generation_success_rate(each.findings, each.candidates, each.duplicates).estimate for each in ledgers]
    return f"{spread([done.ledger.findings for done in runs]):>18} ({split}) GSR {np.mean(rates):6.1%}"


MOST_TRAINING_ROWS = 8_000


def retraining(folder: Path | None, contest: Contest) -> None:
    """DM-RS of the network as it is, fitted anew without findings, and fitted anew with each method's findings (30 % of the rows)."""
    from evenhand.repairs.parts.retraining import retrain

    names = [name for name in CONTENDERS if name in METHODS.entries()]
    for table, protected in contest.pairs:
        subject = few_rows(subject_of(folder, table, protected))
        assert isinstance(subject.model, Trainable)
        assert subject.rows is not None
        assert subject.labels is not None
        after: dict[str, list[tuple[float, float]]] = {}
        for seed in contest.seeds:
            plain = subject.model.refit(subject.rows, subject.labels, np.random.default_rng(seed))
            after.setdefault("without findings", []).append(_worth(plain, subject, seed))
            for name in names:
                found: Findings = run(METHODS.make(name), subject, Plan(seed, Budget(candidates=contest.candidates))).findings
                mended = retrain(subject, found, np.random.default_rng(seed), "alone")
                after.setdefault(name, []).append(_worth(mended, subject, seed))
        before = _worth(subject.model, subject, 0)
        print(f"  {table:6} {protected:4} as it is: DM-RS {before[0]:.2%}, accuracy {before[1]:.1%}", flush=True)
        for name, values in after.items():
            rates, accuracies = zip(*values, strict=True)
            print(
                f"    fitted anew, {name:17} DM-RS {spread([100 * r for r in rates], 2):>14} %, accuracy {np.mean(accuracies):.1%}",
                flush=True,
            )


def few_rows(subject: Subject) -> Subject:
    """The same with at most 8,000 rows: every fit of the comparison sees the same ones."""
    assert subject.rows is not None
    assert subject.labels is not None
    chosen = np.random.default_rng(0).permutation(len(subject.rows))[:MOST_TRAINING_ROWS]
    return replace(subject, rows=subject.rows[chosen], labels=subject.labels[chosen])


def _worth(model: Model, subject: Subject, seed: int) -> tuple[float, float]:
    """The discrimination of random inputs, and the accuracy on the table."""
    sample = uniform_sample(subject.domain, 20_000, np.random.default_rng([seed, 5]))
    rate = discrimination_rate(sample, subject.domain, model, LabelFlip()).interval.estimate
    assert subject.rows is not None
    return rate, float((model.scores(subject.rows).argmax(axis=1) == subject.labels).mean())


def spread(values: Sequence[float], digits: int = 0) -> str:
    """Mean and the 95 % t-interval over seeds."""
    from scipy import stats

    if len(values) < 2:
        return f"{values[0]:,.{digits}f}"
    half = stats.t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / np.sqrt(len(values))
    return f"{np.mean(values):,.{digits}f} +- {half:,.{digits}f}"


def geometric(ratios: np.ndarray) -> float:
    """The geometric mean of finite positive ratios."""
    fine = ratios[np.isfinite(ratios) & (ratios > 0)]
    return float(np.exp(np.log(fine).mean())) if fine.size else float("nan")
