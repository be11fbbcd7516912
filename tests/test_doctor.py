"""The doctor finds each mistake in the wiring that it promises to find, and finds nothing in a sound model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from evenhand.domain.columns import Column
from evenhand.domain.tabular import Label, TabularDomain
from evenhand.errors import InvalidArgument
from evenhand.models.wrap import wrap
from evenhand.verbs.doctor import Examination, examine

DOMAIN = TabularDomain(
    columns=(
        Column("age", "integer", low=17, high=90),
        Column("job", "category", ("clerk", "nurse", "pilot")),
        Column("sex", "category", ("female", "male")),
    ),
    protected=("sex",),
    label=Label("income", ("low", "high"), ("high",)),
)
CODES = DOMAIN.sample(600, np.random.default_rng(0))


def chance(codes: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-(codes[:, 0] / 10 + codes[:, 1] + codes[:, 2] - 9.03)))


LABELS = (chance(CODES) > 0.5).astype(np.intp)


def look(function: object, domain: TabularDomain = DOMAIN, **options: object) -> Examination:
    return examine(wrap(function, domain, takes="codes"), domain, CODES, LABELS, **options)


def test_a_sound_model_passes_every_check() -> None:
    found = look(chance)
    assert found.status == "ok", [check for check in found.checks if check.status != "ok"]
    assert [check.name for check in found.checks] == [
        "answers",
        "deterministic",
        "order",
        "batch equals single",
        "scores",
        "varies",
        "labels",
        "favourable",
        "protected",
        "columns",
        "speed",
    ]
    assert "moves the scores of 100.0% of rows" in found.check("protected").sentence


def noisy() -> object:
    rng = np.random.default_rng(0)
    return lambda codes: rng.random(len(codes))


def trembling() -> object:
    rng = np.random.default_rng(0)
    return lambda codes: np.clip(chance(codes) + np.where(chance(codes) > 0.9, 1e-2 * rng.random(len(codes)), 0), 0, 1)


CASES = {
    "random answers": (noisy(), "deterministic", "fail", "changed its label"),
    "trembling scores": (trembling(), "deterministic", "warn", "its labels never"),
    "answers by company": (lambda c: chance(c - c.mean(axis=0) + [70, 1, 0.5]), "batch equals single", "fail", "depend on the company"),
    "labels only": (lambda c: np.where(chance(c) > 0.5, "high", "low"), "scores", "warn", "only says labels"),
    "constant": (lambda c: np.full(len(c), 0.3), "varies", "fail", "constant"),
    "one label": (lambda c: chance(c) / 3, "varies", "warn", "is labelled 'low'"),
    "swapped labels": (lambda c: 1 - chance(c), "labels", "fail", "With 'low' and 'high' exchanged it would be"),
    "bad accuracy": (lambda c: (c[:, 0] % 7) / 6.5, "labels", "warn", "are columns, codes and label order"),
    "wrong favourable": (lambda c: 1 - chance(c), "favourable", "fail", "is the favourable label the right one?"),
    "unused columns": (lambda c: c[:, 0] / 91 + c[:, 2] / 1000, "columns", "warn", "1 of 3 columns move no score: 'job'"),
    "blind to sex": (lambda c: (c[:, 0] + c[:, 1]) / 95, "protected", "warn", "changing sex moves no score"),
}


@pytest.mark.parametrize("case", CASES)
def test_each_mistake_is_found(case: str) -> None:
    function, name, status, words = CASES[case]
    check = look(function).check(name)
    assert (check.status, words in check.sentence) == (status, True), check


def test_a_model_that_breaks_is_reported_and_not_raised() -> None:
    calls = []

    def breaks(codes: np.ndarray) -> np.ndarray:
        calls.append(1)
        if len(calls) > 1:
            raise RuntimeError("out of memory")
        return chance(codes)

    found = look(breaks)
    assert found.status == "fail"
    assert "out of memory" in found.check("answers").sentence


def test_declarations_that_are_missing_are_named() -> None:
    bare = replace(DOMAIN, protected=(), label=Label("income", ("low", "high"), ()))
    found = look(chance, bare)
    assert found.check("protected").status == "warn"
    assert found.check("favourable").status == "warn"
    assert look(chance, replace(DOMAIN, label=Label("income", ("low", "high"), ("low", "high")))).check("favourable").status == "fail"


def test_without_rows_and_labels_it_asks_about_the_domain() -> None:
    found = examine(wrap(chance, DOMAIN, takes="codes"), DOMAIN)
    assert "labels" not in [check.name for check in found.checks]
    assert found.status == "ok"


def test_the_cost_of_a_scan_follows_from_speed_and_combinations() -> None:
    found = look(chance)
    cost = found.cost(1000)
    assert cost.rows == 2000
    assert cost.seconds == pytest.approx(2000 / found.rows_per_second)
    assert 0 < found.latency_seconds < 1


def test_three_classes() -> None:
    domain = replace(DOMAIN, label=Label("grade", ("a", "b", "c"), ("a",)))
    right = np.digitize(CODES[:, 0], [40, 60])
    soft = lambda c: np.eye(3)[np.digitize(c[:, 0], [40, 60])][:, [1, 0, 2]] * 0.8 + 0.1 + 0.001 * c[:, 1:2] + 0.01 * c[:, 2:]  # noqa: E731
    found = examine(wrap(soft, domain, takes="codes"), domain, CODES, right)
    assert found.check("labels").status in ("warn", "fail")


@pytest.mark.parametrize(
    ("options", "words"),
    [({"n": 1}, "n=1"), ({"rows": CODES[:, :2]}, "3 columns"), ({"rows": CODES, "labels": LABELS[:5]}, "5 entries for 600 rows")],
)
def test_mistakes_are_named(options: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidArgument, match=words):
        examine(wrap(chance, DOMAIN, takes="codes"), DOMAIN, **options)
    with pytest.raises(InvalidArgument, match="is no check"):
        look(chance).check("colour")
