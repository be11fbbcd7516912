"""What a model says is established: by declaration, by what its numbers can be, by agreement with labelled rows; else it is asked for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from evenhand.contract import labels_of
from evenhand.datasets.dataset import Dataset
from evenhand.domain.columns import Column
from evenhand.domain.tabular import Label, TabularDomain
from evenhand.errors import InvalidArgument, UnclearAnswers, WrongAnswer
from evenhand.models.readings import reading_of
from evenhand.models.wrap import wrap

DOMAIN = TabularDomain(
    columns=(
        Column("age", "integer", low=18, high=80),
        Column("sex", "category", ("female", "male")),
        Column("pay", "integer", low=0, high=99),
    ),
    protected=("sex",),
    label=Label("loan", ("refused", "granted"), ("granted",)),
)


def chance(codes: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-(codes[:, 2] / 10 + codes[:, 1] - 5.3 + codes[:, 0] / 1000)))


def data(label: Label | None = None, n: int = 500) -> Dataset:
    domain = DOMAIN if label is None else replace(DOMAIN, label=label)
    rng = np.random.default_rng(3)
    rows = domain.sample(n, rng)
    frame = domain.decode(rows)
    frame[domain.label.column] = np.array(domain.label.values, dtype=object)[(rng.random(n) < chance(rows)).astype(int)]
    return Dataset("loans", frame, domain)


DATA = data()
TRUTH = (chance(DATA.rows) >= 0.5).astype(int)
LOGIT = lambda X: np.log(chance(X) / (1 - chance(X)))  # noqa: E731
SCORE = lambda X: 300 + 550 * chance(X)  # noqa: E731

DECLARED = {
    "percent": (lambda X: 100 * chance(X), {"returns": "percent"}),
    "whole percent": (lambda X: np.round(100 * chance(X)).astype(int), {"returns": "percent", "threshold": 50}),
    "score": (SCORE, {"returns": "score", "threshold": 575}),
    "threshold alone": (SCORE, {"threshold": 575}),
    "logit": (LOGIT, {"returns": "logit"}),
    "logit unsaid": (LOGIT, {}),
    "shifted logit": (lambda X: LOGIT(X) + 4, {"returns": "logit", "threshold": 4}),
    "probability": (chance, {}),
    "probability a little above one": (lambda X: np.where(X[:, 0] == 40, chance(X) * 1e-9 + 1.00001 * (chance(X) >= 0.5), chance(X)), {}),
    "probability of refusal": (lambda X: 1 - chance(X), {}),
    "probability of refusal, declared": (lambda X: 1 - chance(X), {"classes": ["granted", "refused"]}),
    "two columns the other way round": (lambda X: np.stack([chance(X), 1 - chance(X)], axis=1), {}),
    "numbers of classes, the other way round": (lambda X: 1 - (chance(X) >= 0.5).astype(int), {}),
    "percentages for each class": (lambda X: 100 * np.stack([1 - chance(X), chance(X)], axis=1), {}),
    "labels in other words": (lambda X: np.where(chance(X) >= 0.5, "ja", "nein"), {}),
    "labels in other words, against their order": (lambda X: np.where(chance(X) >= 0.5, "A", "B"), {}),
    "labels in other words, declared": (lambda X: np.where(chance(X) >= 0.5, "ja", "nein"), {"classes": ["granted", "refused"]}),
    "labels by numbers that are no positions": (lambda X: np.where(chance(X) >= 0.5, 1, 2), {}),
    "labels in capitals": (lambda X: np.where(chance(X) >= 0.5, "GRANTED", "Refused"), {}),
}


@pytest.mark.parametrize("case", DECLARED)
def test_every_scale_gives_the_same_labels(case: str) -> None:
    function, said = DECLARED[case]
    model = wrap(function, DATA, takes="codes", **said)
    assert (labels_of(model.scores(DATA.rows)) == TRUTH).mean() > 0.995, reading_of(model)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda X: 100 * chance(X), r"percentage \(cut at 50\).*returns='percent'.*logit \(cut at 0\).*returns='score', threshold="),
        (SCORE, r"logit \(cut at 0\): 100%.*returns='score', threshold=\d+"),
        (lambda X: np.where(X[:, 0] == 40, 1.7, chance(X)), r"above 1\).*percentage.*logit"),
        (lambda X: np.round(SCORE(X)).astype(int), "score with a threshold"),
        (lambda X: SCORE(X) - 310, r"logit \(cut at 0\).*score with a threshold"),
    ],
)
def test_what_can_be_read_in_two_ways_is_asked_for_with_the_evidence(function: object, words: str) -> None:
    with pytest.raises(UnclearAnswers, match=words) as raised:
        wrap(function, DATA, takes="codes")
    assert "balanced agreement with the labels" in str(raised.value)


def test_one_answer_above_one_later_is_an_error_and_no_logit() -> None:
    calls: list[int] = []

    def later(codes: np.ndarray) -> np.ndarray:
        calls.append(1)
        return chance(codes) if len(calls) == 1 else chance(codes) + 1.0

    model = wrap(later, DATA, takes="codes")
    with pytest.raises(WrongAnswer, match="read as a probability from 0 to 1; declare"):
        model.scores(DATA.rows)


@pytest.mark.parametrize("order", [("refused", "granted"), ("granted", "refused")])
def test_numbered_classes_are_found_by_agreement(order: tuple[str, str]) -> None:
    numbers = (DATA.frame["loan"] == order[1]).to_numpy().astype(int)
    model = wrap(LogisticRegression(max_iter=1000).fit(DATA.rows, numbers), DATA, takes="codes")
    assert (labels_of(model.scores(DATA.rows)) == DATA.labels).mean() > 0.7
    assert "by agreement with the labelled rows" in reading_of(model)


def test_numbered_classes_that_agree_with_nothing_are_asked_for() -> None:
    coin = np.random.default_rng(0).integers(0, 2, len(DATA.rows))
    estimator = LogisticRegression(max_iter=1000).fit(DATA.rows[:, :1], coin)
    with pytest.raises(UnclearAnswers, match=r"classes=\['refused', 'granted'\], or classes=\['granted', 'refused'\]"):
        wrap(_Columns(estimator), DATA, takes="codes")


class _Columns:
    """An estimator of the first column alone."""

    def __init__(self, inner: LogisticRegression) -> None:
        self.inner, self.classes_ = inner, inner.classes_

    def predict(self, codes: np.ndarray) -> np.ndarray:
        return self.inner.predict(codes[:, :1])

    def predict_proba(self, codes: np.ndarray) -> np.ndarray:
        return self.inner.predict_proba(codes[:, :1])


def test_names_that_differ_in_type_alone_are_found() -> None:
    texts = data(Label("loan", ("0", "1"), ("1",)))
    model = wrap(LogisticRegression(max_iter=1000).fit(texts.rows, (texts.frame["loan"] == "1").astype(int)), texts, takes="codes")
    assert "found by name" in reading_of(model)
    assert (labels_of(model.scores(texts.rows)) == texts.labels).mean() > 0.7


def test_a_ranking_is_cut_at_the_best() -> None:
    for threshold in ("best 10%", "best 50"):
        model = wrap(SCORE, DATA, takes="codes", returns="score", threshold=threshold)
        assert 0.08 <= labels_of(model.scores(DATA.rows)).mean() <= 0.13


def test_a_score_without_its_threshold_and_a_threshold_of_nothing_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="needs threshold="):
        wrap(SCORE, DATA, takes="codes", returns="score")
    with pytest.raises(InvalidArgument, match="'best 100' or 'best 10%'"):
        wrap(SCORE, DATA, takes="codes", threshold="worst 3")


def test_a_score_on_its_threshold_reaches_it() -> None:
    model = wrap(lambda X: np.where(X[:, 1] == 1, 600.0, 599.0), DATA, takes="codes", returns="score", threshold=600)
    assert (labels_of(model.scores(DATA.rows)) == DATA.rows[:, 1]).all()


def test_an_abstention_that_nobody_declared_names_its_cure() -> None:
    answers = lambda X: np.where(chance(X) > 0.9, "granted", np.where(chance(X) < 0.2, "refused", "ask a colleague"))  # noqa: E731
    with pytest.raises(WrongAnswer, match="`no decision` is one of them"):
        wrap(answers, DATA, takes="codes")
    wider = replace(DOMAIN, label=Label("loan", ("refused", "granted", "ask a colleague"), ("granted",)))
    assert set(labels_of(wrap(answers, wider, takes="codes").scores(DATA.rows))) == {0, 1, 2}


def test_several_amounts_at_once_are_refused_with_the_line_to_write() -> None:
    domain = replace(DOMAIN, label=Label("price", unit="EUR"))
    with pytest.raises(Exception, match=r"says 3 amounts for each row .*say which one the label is, with output=0"):
        wrap(lambda frame: np.zeros((len(frame), 3)), domain)
    assert "amount in EUR" in reading_of(wrap(lambda frame: frame["pay"] * 2.0, domain))


def test_the_reading_stands_in_the_header() -> None:
    import evenhand as eh

    result = eh.measure(
        wrap(chance, DATA, takes="codes"),
        DATA,
        options=eh.MeasureOptions(rate_rows=200, natural_candidates=0, null_draws=0, compare_rows=0),
    )
    assert "it says one probability of 'granted'" in result.as_dict()["header"]["details"]["reading"]
    assert isinstance(pd.DataFrame(result.frame()), pd.DataFrame)


SPOKEN = {"as the label counts": ("no", "yes"), "the other way round": ("z", "a"), "by numbers": (2, 1), "as texts of numbers": ("1", "2")}


@pytest.mark.parametrize("names", SPOKEN.values(), ids=SPOKEN)
@pytest.mark.parametrize("kind", [LogisticRegression, LinearSVC])
def test_classes_with_names_of_the_models_own_are_found_by_agreement_and_kept_by_refitting(
    kind: type, names: tuple[object, object]
) -> None:
    said = np.array(names)[DATA.labels]
    model = wrap(kind().fit(DATA.rows, said), DATA, takes="codes")
    expected = np.where(model.estimator.predict(DATA.rows) == names[1], 1, 0)
    np.testing.assert_array_equal(labels_of(model.scores(DATA.rows)), expected)
    assert f"its {names[1]!r} is the label's 'granted'" in reading_of(model)
    again = model.refit(DATA.rows, DATA.labels, np.random.default_rng(0))
    np.testing.assert_array_equal(labels_of(again.scores(DATA.rows)), expected)


def test_classes_with_names_of_the_models_own_are_asked_for_where_no_label_tells() -> None:
    tree = LogisticRegression().fit(DATA.rows, np.array(["no", "yes"])[DATA.labels])
    with pytest.raises(UnclearAnswers, match=r"no labelled rows tell .*classes=\['refused', 'granted'\] \('no' is 'refused'") as raised:
        wrap(tree, DOMAIN, takes="codes")
    assert len(raised.value.choices) == 2
    with pytest.raises(UnclearAnswers, match="labelled rows do not tell clearly"):
        wrap(lambda X: np.where(X[:, 0] % 2 == 0, "yes", "no"), DATA, takes="codes")
    declared = wrap(tree, DOMAIN, takes="codes", classes=["refused", "granted"])
    np.testing.assert_array_equal(labels_of(declared.scores(DATA.rows)), (tree.predict(DATA.rows) == "yes").astype(int))


CODINGS = {"0 and 1 for 1 and 2": (0, 1), "False and True": (False, True), "-1 and 1": (-1, 1), "2 and 10": (2, 10)}


@pytest.mark.parametrize("own", CODINGS.values(), ids=CODINGS)
@pytest.mark.parametrize("is_swapped", [False, True])
def test_another_coding_is_found_by_agreement_or_taken_from_a_declaration(own: tuple[object, object], is_swapped: bool) -> None:
    coded = data(Label("loan", (1, 2), (2,)))
    says = lambda X: np.array(own)[((chance(X) >= 0.5) ^ is_swapped).astype(int)]  # noqa: E731
    order = [2, 1] if is_swapped else [1, 2]
    for declared in (None, order):
        model = wrap(says, coded, takes="codes", classes=declared)
        assert (labels_of(model.scores(coded.rows)) == TRUTH).all()
        assert model.reader.spoken == own


def test_a_score_of_the_other_class_is_told_as_such() -> None:
    with pytest.raises(UnclearAnswers, match=r"are 'refused', 86% balanced agreement.*speak for 'refused'"):
        wrap(lambda X: 850 - 550 * chance(X), DATA, takes="codes")


def test_numbers_in_quotes_are_named() -> None:
    with pytest.raises(WrongAnswer, match="number in quotes"):
        wrap(lambda X: [f"{value:.3f}" for value in chance(X)], DATA, takes="codes")
