"""Kinds of models in their usual wrappings, and ways of wiring a model wrongly; the tables behind benchmarks/wiring.py."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import evenhand as eh
from evenhand.contract import labels_of
from evenhand.datasets.dataset import Dataset
from evenhand.domain.columns import Column
from evenhand.domain.tabular import Label, TabularDomain
from evenhand.errors import EvenhandError
from parts.foreign_kinds import ForeignKind, foreign_kinds

DOMAIN = TabularDomain(
    columns=(
        Column("age", "integer", low=18, high=80),
        Column("job", "category", ("clerk", "nurse", "pilot")),
        Column("sex", "category", ("female", "male")),
        Column("pay", "integer", low=0, high=99),
    ),
    protected=("sex",),
    label=Label("loan", ("refused", "granted"), ("granted",)),
)

Function = Callable[[Any], Any]


def chance(codes: Any) -> Any:
    """The probability that a loan is granted; women need more pay for it."""
    return 1 / (1 + np.exp(-(codes[:, 3] / 10 + codes[:, 2] + codes[:, 1] / 3 - 5.6 + codes[:, 0] / 1000)))


def people(label: Label | None = None, n: int = 1000) -> Dataset:
    """People whose labels follow the chance."""
    domain = DOMAIN if label is None else replace(DOMAIN, label=label)
    rng = np.random.default_rng(3)
    rows = domain.sample(n, rng)
    assert domain.label is not None
    values = np.array(domain.label.values, dtype=object)
    frame = domain.decode(rows)
    frame[domain.label.column] = values[(rng.random(n) < chance(rows)).astype(int) % len(values)]
    return Dataset("loans", frame, domain)


DATA = people()


@dataclass(frozen=True)
class Kind:
    """A model in a wrapping, and what the model itself says, as the probability of a granted loan or as labels 0 and 1."""

    name: str
    make: Callable[[], Any]
    direct: Function | None = None
    options: tuple[tuple[str, Any], ...] = ()


def _fitted(estimator: Any, numbers: bool, reverse: bool = False) -> Any:
    granted = (DATA.frame["loan"] == "granted").to_numpy()
    target = (granted != reverse).astype(int) if numbers else DATA.frame["loan"].to_numpy()
    return estimator.fit(DATA.rows, target)


def _estimators() -> list[Any]:
    from sklearn.ensemble import (
        AdaBoostClassifier,
        ExtraTreesClassifier,
        GradientBoostingClassifier,
        HistGradientBoostingClassifier,
        RandomForestClassifier,
    )
    from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import LinearSVC
    from sklearn.tree import DecisionTreeClassifier

    return [
        LogisticRegression(max_iter=2000),
        DecisionTreeClassifier(max_depth=5, random_state=0),
        RandomForestClassifier(10, random_state=0),
        ExtraTreesClassifier(10, random_state=0),
        GradientBoostingClassifier(n_estimators=10, random_state=0),
        HistGradientBoostingClassifier(max_iter=10, random_state=0),
        AdaBoostClassifier(n_estimators=10, random_state=0),
        GaussianNB(),
        KNeighborsClassifier(9),
        make_pipeline(StandardScaler(), LogisticRegression()),
        make_pipeline(StandardScaler(), SGDClassifier(random_state=0)),
        RidgeClassifier(),
        LinearSVC(random_state=0),
    ]


def kinds() -> list[Kind]:
    """Estimators with named, numbered and reversed classes, and functions of every scale."""
    found = []
    for estimator in _estimators():
        from sklearn.base import clone

        name = type(estimator[-1] if hasattr(estimator, "steps") else estimator).__name__
        for wrapping, numbers, reverse in (("named", False, False), ("numbered", True, False), ("numbered, reversed", True, True)):
            fitted = _fitted(clone(estimator), numbers, reverse)
            found.append(Kind(f"{name}, {wrapping}", lambda fitted=fitted: fitted, _direct(fitted, reverse), (("takes", "codes"),)))
    return found + [Kind(f"function, {name}", lambda f=f: f, chance, tuple(said.items())) for name, (f, said) in _functions().items()]


def _direct(fitted: Any, reverse: bool) -> Function:
    """Whether the estimator itself grants the loan."""

    def granted(codes: Any) -> Any:
        said = fitted.predict(codes)
        return (said == "granted").astype(float) if said.dtype.kind in "OU" else (said != reverse).astype(float)

    return granted


def _functions() -> dict[str, tuple[Function, dict[str, Any]]]:
    codes = {"takes": "codes"}
    logit = lambda X: np.log(chance(X) / (1 - chance(X)))  # noqa: E731
    return {
        "probability": (chance, codes),
        "probability of refusal": (lambda X: 1 - chance(X), codes),
        "two columns": (lambda X: np.stack([1 - chance(X), chance(X)], axis=1), codes),
        "two columns, reversed": (lambda X: np.stack([chance(X), 1 - chance(X)], axis=1), codes),
        "logit": (logit, codes),
        "percent": (lambda X: 100 * chance(X), {**codes, "returns": "percent"}),
        "score": (lambda X: 300 + 550 * chance(X), {**codes, "returns": "score", "threshold": 575}),
        "labels": (lambda X: np.where(chance(X) >= 0.5, "granted", "refused"), codes),
        "labels in capitals": (lambda X: np.where(chance(X) >= 0.5, "GRANTED", "REFUSED"), codes),
        "numbers of classes": (lambda X: (chance(X) >= 0.5).astype(int), codes),
        "two percentages": (lambda X: 100 * np.stack([1 - chance(X), chance(X)], axis=1), codes),
    }


def agrees_with_its_library(kind: ForeignKind) -> bool:
    """Whether the wrapped model and the library asked directly give 1,000 rows the same answer, and probabilities alike."""
    with kind.given() as given:
        model = eh.wrap(given, DATA, **dict(kind.options))
        said = model.scores(DATA.rows)[:, model.classes.index("granted")]
    own = np.asarray(kind.direct(DATA.rows), dtype=np.float64)
    return bool(((said >= 0.5) == (own >= 0.5)).all() and np.allclose(said, own, atol=1e-5))


def agrees(kind: Kind) -> bool:
    """Whether the wrapped model and the model asked directly give 1,000 rows the same answer."""
    assert kind.direct is not None
    model = eh.wrap(kind.make(), DATA, **dict(kind.options))
    return bool((labels_of(model.scores(DATA.rows)) == (np.asarray(kind.direct(DATA.rows)) >= 0.5)).all())


@dataclass(frozen=True)
class Miswiring:
    """A mistake, and words that its message must hold: the cure."""

    name: str
    function: Any
    cure: str
    options: tuple[tuple[str, Any], ...] = ()
    data: Dataset = DATA


def _drifting() -> Function:
    asked = [0]

    def drifts(codes: Any) -> Any:
        asked[0] += len(codes)
        return chance(codes) if asked[0] < 3_000 else np.clip(chance(codes) + 0.3, 0, 1)

    return drifts


def _sometimes_random(share: float) -> Function:
    rng = np.random.default_rng(0)
    return lambda X: np.where(rng.random(len(X)) < share, rng.random(len(X)), chance(X))


def _leaky() -> Dataset:
    columns = (*DOMAIN.columns, Column("outcome", "category", ("n", "y")))
    frame = DATA.frame.assign(outcome=np.where(DATA.frame["loan"] == "granted", "y", "n"))
    return Dataset("leaky", frame, replace(DOMAIN, columns=columns))


def _later_above_one() -> Function:
    asked = [0]

    def later(codes: Any) -> Any:
        asked[0] += 1
        return chance(codes) * (1.0 if asked[0] < 2 else 1.3)

    return later


def _earning() -> Dataset:
    """The same people, whose label is an amount."""
    frame = DATA.frame.drop(columns="loan").assign(wage=1_000 + 30 * DATA.rows[:, 3] + 200 * DATA.rows[:, 2])
    return Dataset("wages", frame, replace(DOMAIN, label=Label("wage", unit="EUR", tolerance=50)))


def _wage(codes: Any) -> Any:
    return 1_000 + 30 * codes[:, 3] + 200 * codes[:, 2]


class _PercentModel:
    """An object with `predict` alone, as home-made wrappers are."""

    def predict(self, codes: Any) -> Any:
        return 100 * chance(codes)


class _TwoLabels:
    """An estimator that predicts two labels at once."""

    classes_ = [np.array(["refused", "granted"]), np.array(["low", "high"])]  # noqa: RUF012  (as scikit-learn has it)

    def predict_proba(self, codes: Any) -> Any:
        return [np.stack([1 - chance(codes), chance(codes)], axis=1)] * 2

    def predict(self, codes: Any) -> Any:
        return np.zeros((len(codes), 2))


def _of_amounts() -> list[Miswiring]:
    data = _earning()
    return [
        Miswiring("an amount with another sign", lambda X: -_wage(X), "is the sign", data=data),
        Miswiring("an amount in another unit", lambda X: _wage(X) / 1000, "unit or scale", data=data),
        Miswiring("an amount of other columns", lambda X: X[:, 0] * 31 % 17 + 1.0, "takes=", data=data),
        Miswiring("a constant amount", lambda X: np.full(len(X), 1_500.0), "is it constant", data=data),
        Miswiring("amounts in reverse", lambda X: _wage(X)[::-1], "order of the request", data=data),
        Miswiring("random amounts", _random_amounts(), "Fix its seed", data=data),
        Miswiring("two amounts at once", lambda X: np.stack([X[:, 0], _wage(X)], axis=1), "output=", data=data),
    ]


def _random_amounts() -> Function:
    rng = np.random.default_rng(0)
    return lambda X: _wage(X) + rng.normal(0, 100, len(X))


def miswirings() -> list[Miswiring]:
    """Mistakes that people make."""
    return [*_of_classes(), *_of_amounts()]


def _of_classes() -> list[Miswiring]:
    score = lambda X: 300 + 550 * chance(X)  # noqa: E731
    backwards = (("classes", ["granted", "refused"]),)
    return [
        Miswiring("a percentage", lambda X: 100 * chance(X), "returns='percent'"),
        Miswiring("whole percentages", lambda X: np.round(100 * chance(X)).astype(int), "returns='percent'"),
        Miswiring("a score from 300 to 850", score, "returns='score', threshold="),
        Miswiring("a whole score", lambda X: score(X).astype(int), "returns='score', threshold="),
        Miswiring("a score around zero", lambda X: score(X) - 310, "returns='score', threshold="),
        Miswiring("odds", lambda X: chance(X) / (1 - chance(X)), "returns='score', threshold="),
        Miswiring("per mille", lambda X: 1000 * chance(X), "returns='score', threshold="),
        Miswiring("one answer of 1.7", lambda X: np.where(X[:, 0] == 40, 1.7, chance(X)), "returns="),
        Miswiring("answers above 1 later", _later_above_one(), "returns="),
        Miswiring("a score without its threshold", score, "threshold=", (("returns", "score"),)),
        Miswiring("a probability declared as a percentage", chance, "threshold", (("returns", "percent"),)),
        Miswiring("a logit declared as a probability", lambda X: 8 * chance(X) - 4, "returns=", (("returns", "probability"),)),
        Miswiring("a percentage declared as a logit", lambda X: 100 * chance(X), "threshold", (("returns", "logit"),)),
        Miswiring("classes declared in the wrong order", chance, "classes=", backwards),
        Miswiring("two columns declared in the wrong order", lambda X: np.stack([1 - chance(X), chance(X)], axis=1), "classes=", backwards),
        # words that the labelled rows explain are matched by agreement; these have nothing to do with the label
        Miswiring("labels nobody declared", lambda X: np.where(X[:, 0] % 2 == 0, "good", "bad"), "classes="),
        Miswiring("numbers nobody declared", lambda X: np.where(X[:, 0] % 2 == 0, 7, 8), "classes="),
        Miswiring("an abstention", lambda X: np.where(chance(X) > 0.5, "granted", "ask"), "no decision"),
        Miswiring("three columns for two classes", lambda X: np.stack([chance(X)] * 3, axis=1) / 3, "one score for each"),
        Miswiring("answers in reverse", lambda X: chance(X)[::-1], "order of the request"),
        Miswiring("answers sorted", lambda X: np.sort(chance(X)), "order of the request"),
        Miswiring("answers one row late", lambda X: np.roll(chance(X), 1), "order of the request"),
        Miswiring("scaled by the batch", lambda X: chance(X - X.mean(axis=0) + [45, 1, 0.5, 45]), "company"),
        Miswiring("random", _sometimes_random(1.0), "Fix its seed"),
        Miswiring("one in a hundred random", _sometimes_random(0.01), "Fix its seed"),
        Miswiring("drifting after the start", _drifting(), "fix its version"),
        Miswiring("constant", lambda X: np.full(len(X), 0.3), "is it constant"),
        Miswiring("one label only", lambda X: chance(X) / 3, "threshold"),
        Miswiring("wrong columns", lambda X: X[:, 0] % 7 / 7, "takes="),
        Miswiring("columns in another order", lambda X: (X[:, 0] * 31 % 17) / 17, "takes="),
        Miswiring("a leaked label", lambda X: 0.1 + 0.8 * X[:, 4], "remove it", data=_leaky()),
        Miswiring("too few answers", lambda X: chance(X)[:-1], "one answer per row"),
        Miswiring("gaps", lambda X: np.where(X[:, 0] == 40, np.nan, chance(X)), "finite"),
        Miswiring("text that is no number", lambda X: np.full((len(X), 2), "half"), "expected numbers"),
        Miswiring("percentages of an object that only predicts", _PercentModel(), "returns='percent'"),
        Miswiring("two labels at once", _TwoLabels(), "output="),
        Miswiring("a threshold that nobody reaches", chance, "threshold", (("threshold", 0.999999),)),
        Miswiring("wrong dtype", lambda X: X["age"].str.len() / 2, "takes="),
    ]


def caught(wiring: Miswiring) -> str:
    """Empty when the mistake is caught with its cure; else what happened instead."""
    options = dict(wiring.options) if wiring.name == "wrong dtype" else {"takes": "codes", **dict(wiring.options)}
    try:
        model = eh.wrap(wiring.function, wiring.data, **options)
        result = eh.scan(model, wiring.data, budget=eh.Budget(candidates=2_000), options=eh.Options(rate_rows=500, stream_share=0.0))
    except EvenhandError as fault:
        return "" if wiring.cure in str(fault) else f"the message lacks its cure: {fault}"
    told = " ".join([result.reason, *(check["message"] for check in result.as_dict()["checks"])])
    if result.outcome == "pass":
        return "it passes"
    return "" if wiring.cure in told else f"{result.outcome} without a word: {told}"


def kind_figures() -> dict[str, Any]:
    """How many kinds of models agree with the model asked directly."""
    right = {kind.name: agrees(kind) for kind in kinds()} | {kind.name: agrees_with_its_library(kind) for kind in foreign_kinds()}
    for name in (name for name, good in right.items() if not good):
        print(f"disagrees: {name}", flush=True)
    return {"kinds_total": len(right), "kinds_right": sum(right.values())}


def miswiring_figures() -> dict[str, Any]:
    """How many wrong wirings are caught with a message that names the cure."""
    told = {wiring.name: caught(wiring) for wiring in miswirings()}
    for name, wrong in told.items():
        print(f"{'caught' if not wrong else 'MISSED':8}{name:45}{wrong[:200]}", flush=True)
    return {"miswired_total": len(told), "miswired_caught": sum(not wrong for wrong in told.values())}
