"""Tables 1 to 3 and 5 to 7 of the LIMI paper, redone for every method that the model lends itself to, beside the published figures.

Runs alone too: `python benchmarks/limi_tables.py --seeds 2 --candidates 20000 --tables adult`.
"""

# ruff: noqa: I001  (common comes first: it fixes the number of threads)

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import common  # noqa: F401

import numpy as np
from limi_data import table

from evenhand import registry
from evenhand.engine import Plan, Run, Subject, check_ability, run
from evenhand.errors import EvenhandError, MissingAbility
from evenhand.metrics.naturalness import atn
from evenhand.models import zoo
from evenhand.models.abilities import Model
from evenhand.models.budget import Budget

PAIRS = (("adult", "sex"), ("adult", "race"), ("adult", "age"), ("credit", "sex"), ("credit", "age"), ("bank", "age"), ("meps", "SEX"))
COMBINED = (("adult", "sex", "race"), ("adult", "sex", "age"), ("adult", "race", "age"), ("credit", "sex", "age"))
FAMILIES = {"mlp": "DNN", "forest": "RF", "svm": "SVM"}
STEPS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
NO_SEARCH = ("aitest",)  # tests a model as a whole rather than searching for findings

# Published: findings in an hour (Tables 1 and 2), ATN in percent (Table 3), by method and in the order of PAIRS.
FOUND_DNN = {
    "aequitas": (3484, 3393, 3982, 1671, 1645, 1435, 1549), "symbgen": (1806, 2893, 14858, 9241, 12854, 9276, 5922),
    "adf": (11540, 11827, 12078, 4842, 6090, 3979, 5555), "eidig": (12503, 11330, 12382, 5201, 6494, 4731, 4914),
    "neuronfair": (12791, 11991, 13214, 4469, 6532, 5143, 3970), "expga": (40877, 4215, 45615, 158687, 43202, 24691, 32580),
    "limi": (86065, 132018, 148221, 164569, 261504, 145901, 109701),
}  # fmt: skip
FOUND_FOREST = {
    "aequitas": (441, 100, 846, 219, 153, 186, 276), "symbgen": (2487, 1316, 5152, 7338, 7908, 6104, 3865),
    "expga": (10283, 286, 9402, 1799, 946, 4071, 3472), "limi": (13360, 10398, 14185, 15010, 11972, 6578, 3958),
}  # fmt: skip
ATN_DNN = {
    "aequitas": (50.53, 48.02, 46.22, 67.84, 65.02, 60.85, 69.45), "symbgen": (43.23, 46.10, 46.03, 55.45, 54.49, 41.78, 53.03),
    "adf": (63.79, 66.91, 64.24, 73.13, 74.37, 71.14, 70.17), "eidig": (63.45, 66.73, 64.69, 73.67, 73.97, 69.62, 71.09),
    "neuronfair": (63.93, 66.89, 64.33, 73.97, 74.18, 71.56, 71.11), "expga": (41.20, 48.76, 50.23, 60.53, 63.30, 58.54, 64.83),
    "limi": (80.98, 81.94, 82.10, 80.15, 80.05, 80.84, 82.93),
}  # fmt: skip
AUC = {  # Table 5: on the training set and on all latents, in percent
    ("adult", "mlp"): (96.71, 86.43), ("adult", "forest"): (99.78, 89.72), ("adult", "svm"): (99.98, 93.94),
    ("credit", "mlp"): (82.16, 67.82), ("credit", "forest"): (96.69, 76.54), ("credit", "svm"): (99.93, 75.36),
    ("bank", "mlp"): (95.47, 85.61), ("bank", "forest"): (99.69, 94.59), ("bank", "svm"): (99.65, 96.40),
    ("meps", "mlp"): (93.52, 84.09), ("meps", "forest"): (99.96, 97.20), ("meps", "svm"): (99.42, 90.50),
}  # fmt: skip
BY_STEP = {  # Table 6: findings by lambda, in the order of STEPS
    ("adult", "sex"): (38974, 80947, 89348, 86065, 78188, 69989), ("adult", "race"): (76294, 100587, 109761, 132018, 109826, 114051),
    ("adult", "age"): (54644, 99365, 110158, 148221, 115063, 110951), ("credit", "sex"): (90210, 168876, 164561, 164569, 165417, 165550),
    ("credit", "age"): (152493, 204704, 196113, 261504, 196799, 201052), ("bank", "age"): (50820, 77396, 94739, 145901, 116837, 118272),
    ("meps", "SEX"): (49769, 130152, 128876, 109701, 88500, 73054),
}  # fmt: skip
COMBINED_PUBLISHED = {  # Table 7: findings, findings per second, ATN in percent
    "aequitas": (1752, 0.49, 50.85), "adf": (10158, 2.82, 67.21), "eidig": (8972, 2.49, 65.41),
    "neuronfair": (9897, 2.75, 64.87), "expga": (23422, 6.51, 53.81), "limi": (120164, 33.38, 82.39),
}  # fmt: skip


@dataclass(frozen=True)
class Effort:
    """How much is run."""

    seeds: int = 5
    candidates: int = 100_000
    tables: tuple[str, ...] = ("adult", "credit", "bank", "meps")


def subject(name: str, family: str, protected: Sequence[str]) -> Subject:
    """A trained model on its table, kept between runs."""
    data = table(name, *protected)
    model = zoo.load_or_train(family, data.rows, data.labels, data.domain, seed=0)
    return Subject(data.domain, model, data.rows, data.labels)


def methods_for(model: Model) -> Iterator[str]:
    """Every method present that this model lends itself to."""
    for name, entry in registry.entries().items():
        try:
            check_ability(entry.make(), model)
        except MissingAbility:
            continue
        if name not in NO_SEARCH:
            yield name


def attempts(name: str, tested: Subject, effort: Effort, **parameters: object) -> list[Run]:
    """One run per seed; a method that fails says so and has none."""
    budget = Budget(candidates=effort.candidates)
    try:
        return [run(registry.method(name, **parameters), tested, Plan(seed, budget)) for seed in range(effort.seeds)]
    except EvenhandError as fault:
        print(f"  {name} failed: {type(fault).__name__}: {fault}", flush=True)
        return []


def interval(values: Sequence[float], digits: int = 0) -> str:
    """Mean and its 95 % interval over seeds."""
    from scipy.stats import t

    mean = float(np.mean(values))
    if len(values) < 2:
        return f"{mean:,.{digits}f}"
    half = float(t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / len(values) ** 0.5)
    return f"{mean:,.{digits}f} ± {half:,.{digits}f}"


def naturalness(done: Run, tested: Subject, seed: int) -> float:
    """ATN in percent of at most as many findings as there are rows."""
    assert tested.rows is not None
    found = done.findings.rows[np.random.default_rng(seed).permutation(len(done.findings))[: len(tested.rows)]]
    return 100 * atn(tested.rows, found, tested.domain) if len(found) else float("nan")


def line(*cells: str) -> None:
    """One row of a table."""
    print("| " + " | ".join(cells) + " |", flush=True)


def effectiveness(effort: Effort) -> None:
    """Tables 1 to 3: findings, findings per CPU-second and ATN; published: findings in an hour and ATN."""
    for family, title in FAMILIES.items():
        print(f"\nTables 1 to 3, {title}, {effort.candidates:,} candidates each")
        line("data", "protected", "method", "findings", "per CPU-second", "ATN %", "published findings", "published ATN %")
        published = {"mlp": FOUND_DNN, "forest": FOUND_FOREST}.get(family, {})
        for at, (name, protected) in enumerate(PAIRS):
            if name not in effort.tables:
                continue
            tested = subject(name, family, [protected])
            for method in methods_for(tested.model):
                runs = attempts(method, tested, effort)
                if not runs:
                    continue
                rates = [done.ledger.findings / done.cpu_seconds for done in runs]
                naturals = [naturalness(done, tested, seed) for seed, done in enumerate(runs)]
                theirs = f"{published[method][at]:,}" if method in published else "-"
                theirs_atn = f"{ATN_DNN[method][at]}" if family == "mlp" and method in ATN_DNN else "-"
                found = interval([done.ledger.findings for done in runs])
                line(name, protected, method, found, interval(rates), interval(naturals, 1), theirs, theirs_atn)


def fitness(effort: Effort) -> None:
    """Table 5: AUC of the boundary on the confident latents and on all."""
    print("\nTable 5, AUC of the boundary in percent, chained trees; published: CTGAN")
    line("data", "model", "train", "all", "published train", "published all")
    for name, protected in (("adult", "sex"), ("credit", "sex"), ("bank", "age"), ("meps", "SEX")):
        for family, title in FAMILIES.items() if name in effort.tables else ():
            runs = attempts("limi", subject(name, family, [protected]), effort)
            facts = [done.facts["boundary"] for done in runs if "auc_all" in done.facts["boundary"]]
            if facts:
                ours = [interval([100 * fact[key] for fact in facts], 1) for key in ("auc_train", "auc_all")]
                line(name, title, *ours, *(str(value) for value in AUC[name, family]))


def stability(effort: Effort) -> None:
    """Table 6: findings by lambda."""
    print(f"\nTable 6, findings by step, DNN, {effort.candidates:,} candidates; below, the published ones")
    line("data", "protected", *(f"{step:g}" for step in STEPS))
    for name, protected in PAIRS:
        if name in effort.tables:
            tested = subject(name, "mlp", [protected])
            ours = [attempts("limi", tested, effort, step=step) for step in STEPS]
            line(name, protected, *(interval([done.ledger.findings for done in runs]) if runs else "failed" for runs in ours))
            line("", "published", *(f"{found:,}" for found in BY_STEP[name, protected]))


def combined(effort: Effort) -> None:
    """Table 7: several protected attributes, averaged over the combinations."""
    print("\nTable 7, several protected attributes, DNN, means over the combinations")
    line("method", "findings", "per CPU-second", "ATN %", "published findings", "published per second", "published ATN %")
    tested = [subject(name, "mlp", protected) for name, *protected in COMBINED if name in effort.tables]
    for method in methods_for(tested[0].model) if tested else ():
        pairs = [(done, one) for one in tested for done in attempts(method, one, effort)]
        if pairs:
            found = np.mean([done.ledger.findings for done, _ in pairs])
            rate = np.mean([done.ledger.findings / done.cpu_seconds for done, _ in pairs])
            natural = np.nanmean([naturalness(done, one, 0) for done, one in pairs])
            line(method, f"{found:,.0f}", f"{rate:,.0f}", f"{natural:.1f}", *(f"{v:,}" for v in COMBINED_PUBLISHED.get(method, ())))


def every_table(seed: int, effort: Effort | None = None) -> None:  # noqa: ARG001  (seeds are counted from zero, as the paper repeats)
    """All of them."""
    effort = effort or Effort()
    for part in (effectiveness, fitness, stability, combined):
        part(effort)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--candidates", type=int, default=100_000)
    parser.add_argument("--tables", default="adult,credit,bank,meps")
    given = parser.parse_args()
    every_table(0, Effort(given.seeds, given.candidates, tuple(given.tables.split(","))))
