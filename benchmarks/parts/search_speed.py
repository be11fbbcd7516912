"""Figures of speed and proof beside the search's own: FairSIFT, AFT, the engine on boosted trees, and certify on a hundred trees."""

from __future__ import annotations

import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import evenhand as eh
from evenhand import datasets
from evenhand.arrays import Rows
from evenhand.contract import Method, Model
from evenhand.datasets.dataset import Dataset
from evenhand.engine.run import Plan, Subject, run
from evenhand.measures.proofs import ProofLimits, certify
from evenhand.methods import method
from evenhand.methods.evenhand import Evenhand
from evenhand.methods.fairsift import FairSift
from evenhand.methods.fairsift_batched import FairSiftBatched
from evenhand.methods.themis import Themis
from evenhand.models import zoo
from evenhand.models.budget import Budget
from evenhand.models.dense import DenseNet
from evenhand.models.meter import Meter
from evenhand.oracles.flip import LabelFlip
from parts.common import cpu, papers_data
from parts.realism import related_table

PUBLISHED = {"net": 13_900.0, "forest": 6_800.0, "boosting": 10_500.0}
"""Findings per CPU-second of the authors' own FairSIFT on the census table, protected sex: what ours must not be slower than."""
FAMILIES = {"net": "mlp", "forest": "forest", "boosting": "boosting"}


def pace(searcher: Method, subject: Subject, seeds: tuple[int, ...], seconds: float) -> float:
    """All who were found per CPU-second, listed or set aside, the mean over seeds."""
    paces = []
    for seed in seeds:
        spent, done = cpu(lambda seed=seed: run(searcher, subject, Plan(seed, Budget(cpu_seconds=seconds))))
        paces.append((len(done.findings) + (0 if done.aside is None else len(done.aside))) / spent)
    return float(np.mean(paces))


def over_fairsift(seed: int, quick: bool) -> dict[str, float]:
    """`evenhand` over FairSIFT in all findings, natural or not: with `anybody`, and by default, those set aside included.

    FairSIFT is run as its authors do (`fairsift`), and in whole batches (`fairsift_batched`); it counts as no slower than their own code.
    """
    adult = datasets.adult("papers").protect("sex")
    figures: dict[str, float] = {}
    seeds, seconds = tuple(range(seed, seed + (1 if quick else 3))), 1.0 if quick else 3.0
    for name, family in FAMILIES.items():
        subject = Subject(adult.domain, _model(family, adult), adult.rows, adult.labels)
        pace(method("evenhand"), subject, (seed + 99,), 0.2)  # what a process loads once is no part of the pace
        searchers: tuple[Method, ...] = (Evenhand(anybody=True), Evenhand(), FairSift(), FairSiftBatched())
        ours, usual, single, batched = (pace(each, subject, seeds, seconds) for each in searchers)
        _say(f"{name}: evenhand {ours:,.0f} findings per CPU-second of anybody, {usual:,.0f} by default; ")
        _say(f"FairSIFT {single:,.0f} (published {PUBLISHED[name]:,.0f}), in batches {batched:,.0f}")
        theirs = max(single, PUBLISHED[name])
        figures |= {f"over_fairsift_{name}": ours / theirs, f"over_batched_fairsift_{name}": ours / batched}
        figures |= {f"default_over_fairsift_{name}": usual / theirs, f"fairsift_over_published_{name}": single / PUBLISHED[name]}
        figures[f"most_over_fairsift_{name}"] = questions_pace(subject, seed) / theirs
    return {name: round(value, 3) for name, value in figures.items()}


def questions_pace(subject: Subject, seed: int) -> float:
    """Questions per CPU-second without any search, in large batches: no method that asks about each of its findings has more."""
    rows = subject.domain.sample(16_384, np.random.default_rng(seed))
    spent = min(cpu(lambda: LabelFlip().judge(rows, subject.domain, Meter(subject.model)))[0] for _ in range(3))
    _say(f"bare questions per CPU-second: {len(rows) / spent:,.0f}")
    return len(rows) / spent


def _model(family: str, data: Dataset) -> Model:
    folder = papers_data()
    if family == "mlp" and folder is not None:
        return DenseNet.from_npz(folder / "models" / "ADF_census.npz")
    return zoo.load_or_train(family, data.rows, data.labels, data.domain, seed=0)


def aft_pace(seed: int) -> dict[str, float]:
    """Findings per CPU-second of AFT on the census net; its authors' code has 295."""
    adult = datasets.adult("papers").protect("sex")
    subject = Subject(adult.domain, _model("mlp", adult), adult.rows, adult.labels)
    pace(method("aft"), subject, (seed + 99,), 0.2)
    return {"aft_findings_per_cpu_s": round(pace(method("aft"), subject, (seed, seed + 1), 3.0), 1)}


# -- the engine ----------------------------------------------------------------------------------------------------------------


def engine_share(seed: int, quick: bool) -> dict[str, float]:
    """The smallest share of a bare loop's speed that the engine keeps on boosted trees, over 2, 5 and 9 protected values."""
    shares = {}
    n = 30_000 if quick else 100_000
    for column in ("sex", "race", "age"):
        data = datasets.adult("papers").protect(column)
        rows = data.domain.sample(n, np.random.default_rng(seed))
        for name, made in _boosters().items():
            fitted = made().fit(data.rows, data.labels)
            shares[f"{name} {column}"] = _share(fitted, data, rows)
            _say(f"engine over a bare loop, {name}, {len(data.domain.combinations)} values: {shares[f'{name} {column}']:.3f}")
    return {"engine_share_min": round(min(shares.values()), 3)}


def _boosters() -> dict[str, Callable[[], Any]]:
    from sklearn.ensemble import HistGradientBoostingClassifier

    found: dict[str, Callable[[], Any]] = {"histogram boosting": lambda: HistGradientBoostingClassifier(random_state=0)}
    try:
        from lightgbm import LGBMClassifier
    except ImportError:
        return found
    return {**found, "LightGBM": lambda: LGBMClassifier(random_state=0, n_jobs=1, verbose=-1)}


def _share(fitted: Any, data: Dataset, rows: Rows) -> float:
    model = eh.wrap(fitted, data.domain, takes="codes", classes=_classes(data))
    engine, plain = [], []
    for _ in range(4):  # in turns, so that a busy moment meets both
        engine.append(cpu(lambda: _searched(model, data, len(rows)))[0])
        plain += [cpu(lambda batch=batch: bare(fitted, rows, data, batch))[0] for batch in (4_096, 16_384)]
    return min(plain) / min(engine)


def _searched(model: Model, data: Dataset, n: int) -> None:
    run(Themis(margin=0.0), Subject(data.domain, model), Plan(0, Budget(candidates=n)))


def bare(fitted: Any, rows: Rows, data: Dataset, batch: int) -> int:
    """Only what cannot be left out: the library's own answers for every twin, in batches."""
    place, values, found = data.domain.protected_places[0], data.domain.combinations[:, 0], 0
    for at in range(0, len(rows), batch):
        labels = []
        for value in values:
            twins = rows[at : at + batch].copy()
            twins[:, place] = value
            labels.append(fitted.predict_proba(twins)[:, 1] > 0.5)
        found += int((np.array(labels) != labels[0]).any(axis=0).sum())
    return found


def _classes(data: Dataset) -> list[Any]:
    assert data.domain.label is not None
    return list(data.domain.label.values)


PROOF_SECONDS, QUICK_PROOF_SECONDS = 60.0, 15.0
"""CPU-seconds for each ensemble, the drawing of rows included."""


# -- proofs --------------------------------------------------------------------------------------------------------------------


def certify_ratios(seed: int, quick: bool) -> dict[str, float]:
    """The largest upper over lower *proved* bound on a hundred trees of every library, and the same of the likely bounds.

    Likely bounds rest on rows drawn in the undecided boxes, with an error probability of one in a million, and are no proof.
    """
    likely, proven = {}, {}
    limits = ProofLimits(seconds=QUICK_PROOF_SECONDS if quick else PROOF_SECONDS, of_processor=True)
    for name, subject in _ensembles(seed, (3,) if quick else (3, 6)).items():
        began = time.process_time()
        found = certify(subject.model, subject.domain, limits=limits)
        low, high = (found.lower, found.upper) if found.likely is None else (found.likely.lower, found.likely.upper)
        likely[name], proven[name] = _ratio(low, high), _ratio(found.lower, found.upper)
        _say(f"certify {name}: proved {found.lower:.4%} to {found.upper:.4%}, likely {low:.4%} to {high:.4%}, {found.ended}, "
             f"{found.boxes:,} boxes, {time.process_time() - began:.0f} CPU-seconds")  # fmt: skip
    return {
        "certify_ratio_max": round(max(proven.values()), 3),
        "certify_proven_within_2": sum(each <= 2 for each in proven.values()),
        "certify_models": len(proven),
        "certify_likely_ratio_max": round(max(likely.values()), 3),
        "certify_cpu_seconds": limits.seconds or 0.0,
    }


def _ratio(low: float, high: float) -> float:
    return 1.0 if high == low else min(1e9, high / low) if low > 0 else 1e9


def _ensembles(seed: int, depths: tuple[int, ...]) -> dict[str, Subject]:
    """A hundred trees of every library on the census table, and XGBoost with a category of 1,500 values."""
    adult, made = datasets.adult("papers").protect("sex"), {}
    for depth in depths:
        for name, estimator in _libraries(depth, seed).items():
            fitted = estimator.fit(adult.rows, adult.labels)
            model = eh.wrap(fitted, adult.domain, takes="codes", classes=_classes(adult))
            made[f"{name}, depth {depth}"] = Subject(adult.domain, model)
    return made | _onnx_file(adult, seed) | _wide_category(seed)


def _onnx_file(data: Dataset, seed: int) -> dict[str, Subject]:
    """Gradient boosting as a file, read from there."""
    from sklearn.ensemble import GradientBoostingClassifier

    try:
        from skl2onnx import to_onnx
        from skl2onnx.common.data_types import FloatTensorType
    except ImportError:
        return {}
    fitted = GradientBoostingClassifier(n_estimators=100, max_depth=3, random_state=seed).fit(data.rows, data.labels)
    given = [("rows", FloatTensorType([None, data.rows.shape[1]]))]
    content = to_onnx(fitted, initial_types=given, options={"zipmap": False}).SerializeToString()
    with tempfile.TemporaryDirectory(prefix="evenhand-onnx-") as folder:
        path = Path(folder) / "boosting.onnx"
        path.write_bytes(content)
        model = eh.wrap(path, data.domain, classes=_classes(data))
    return {"ONNX file, depth 3": Subject(data.domain, model)}


def _libraries(depth: int, seed: int) -> dict[str, Any]:
    from sklearn.ensemble import ExtraTreesClassifier, GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier

    found: dict[str, Any] = {
        "random forest": RandomForestClassifier(100, max_depth=depth, random_state=seed),
        "extra trees": ExtraTreesClassifier(100, max_depth=depth, random_state=seed),
        "gradient boosting": GradientBoostingClassifier(n_estimators=100, max_depth=depth, random_state=seed),
        "histogram boosting": HistGradientBoostingClassifier(max_iter=100, max_depth=depth, random_state=seed),
    }
    try:
        from catboost import CatBoostClassifier
        from lightgbm import LGBMClassifier
        from xgboost import XGBClassifier
    except ImportError:
        _say("the boosting extra is not installed: its libraries are left out")
        return found
    leaves = 2**depth
    return {
        **found,
        "LightGBM": LGBMClassifier(n_estimators=100, max_depth=depth, num_leaves=leaves, random_state=seed, n_jobs=1, verbose=-1),
        "XGBoost": XGBClassifier(n_estimators=100, max_depth=depth, random_state=seed, n_jobs=1),
        "CatBoost": CatBoostClassifier(
            n_estimators=100, depth=depth, random_seed=seed, verbose=0, thread_count=1, allow_writing_files=False
        ),
    }


def _wide_category(seed: int) -> dict[str, Subject]:
    try:
        from xgboost import XGBClassifier
    except ImportError:
        return {}
    rows, labels, domain = related_table(6_000, 700 + seed)
    frame = domain.decode(rows)[["sex", "basic", "bonus", "height", "city", "country", "contract", "claims"]]
    for name in ("city", "country", "contract", "sex"):
        frame[name] = frame[name].astype("category")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = eh.open(frame.assign(granted=np.array(["no", "yes"])[labels]), label="granted", favourable="yes", protected=["sex"])
        fitted = XGBClassifier(n_estimators=100, max_depth=3, enable_categorical=True, n_jobs=1).fit(frame, labels)
        model = eh.wrap(fitted, data, classes=["no", "yes"])
    return {"XGBoost with a category of 1,500": Subject(data.domain, model)}


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def speed_figures(seed: int, quick: bool) -> dict[str, float]:
    """Everything of this part but the proofs, which are a part of their own."""
    return {**over_fairsift(seed, quick), **aft_pace(seed), **engine_share(seed, quick)}
