"""What every search method promises, as checks that anyone can run on their own method.

Each check takes a way to make the method and a subject, and raises AssertionError with the broken promise.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import is_dataclass, replace
from typing import Any, ClassVar

import numpy as np

from evenhand.arrays import Rows, Scores
from evenhand.contract import SCORES, Candidates, Method, Model, Search, Task, media_of, parameters
from evenhand.engine.run import Plan, Run, Subject, run
from evenhand.models.budget import Budget
from evenhand.models.meter import Meter
from evenhand.models.shown import shown
from evenhand.oracles.flip import LabelFlip
from evenhand.planted import shapes
from evenhand.planted.pixel_net import PixelNet, labelled_portraits

Make = Callable[[], Method]
Check = Callable[[Make, Subject], None]

CANDIDATES = 3_000


def for_method() -> tuple[Check, ...]:
    """Every check, in the order in which a new method usually fails them."""
    return (
        check_is_a_frozen_dataclass,
        check_proposes_rows_inside_the_domain,
        check_keeps_the_budget_of_candidates,
        check_keeps_the_budget_of_model_rows,
        check_ends_cleanly_with_one_candidate,
        check_same_seed_same_findings,
        check_other_seed_other_findings,
        check_findings_are_verified_by_the_model,
        check_findings_are_distinct,
        check_leaves_global_randomness_alone,
        check_does_not_write_to_its_seeds,
    )


def standard_subject(shape: str = "wide_band", n: int = 600) -> Subject:
    """A planted model with real rows, gradients and readable layers: any method can run on it."""
    planted = shapes()[shape]
    rows = planted.domain.sample(n, np.random.default_rng(5))
    labels = Meter(planted.model).scores(rows).argmax(axis=1)
    return Subject(planted.domain, planted.model, rows, labels)


def picture_subject(n: int = 120) -> Subject:
    """A planted net on drawn portraits, with gradients by their pixels and a readable layer: any picture method can run on it."""
    data = labelled_portraits(n, seed=5)
    return Subject(data.domain, shown(data.medium, PixelNet()), data.rows, data.labels, medium=data.medium)


def subject_for(make: Make) -> Subject:
    """A subject of a kind that the method works on."""
    return picture_subject() if "album" in media_of(make()) else standard_subject()


def _run(make: Make, subject: Subject, seed: int = 0, budget: Budget | None = None) -> Run:
    return run(make(), subject, Plan(seed, budget or Budget(candidates=CANDIDATES)))


def check_is_a_frozen_dataclass(make: Make, _: Subject) -> None:
    """Parameters are frozen fields, and the fields rebuild the method."""
    method = make()
    kind: Any = type(method)
    rebuilt = kind(**parameters(method))
    assert is_dataclass(kind), f"{type(method).__name__} must be a dataclass"
    assert getattr(kind, "__dataclass_params__").frozen, f"{type(method).__name__} must be frozen"  # noqa: B009
    assert rebuilt == method, "the method's fields must rebuild it"


def check_proposes_rows_inside_the_domain(make: Make, subject: Subject) -> None:
    """Every proposed row lies inside the domain."""
    seen: list[Rows] = []
    _run(lambda: _Spied(make(), seen), subject)
    assert seen, "the method proposed nothing"
    for rows in seen:
        assert subject.domain.inside(rows).all(), "a proposed row lies outside the domain"


def check_keeps_the_budget_of_candidates(make: Make, subject: Subject) -> None:
    """Exactly the allowed candidates are judged unless the method is done earlier."""
    done = _run(make, subject, budget=Budget(candidates=777))
    assert done.ledger.candidates <= 777, f"{done.ledger.candidates} candidates judged with a budget of 777"
    if done.ended == "budget spent":
        assert done.ledger.candidates == 777, f"the run ended with {777 - done.ledger.candidates} candidates unused"


def check_keeps_the_budget_of_model_rows(make: Make, subject: Subject) -> None:
    """The model is never asked for a row more than allowed."""
    counted = _Counted(subject.model)
    done = _run(make, replace(subject, model=counted), budget=Budget(model_rows=1_001))
    probes = 2 * min(64, len(subject.rows) if subject.rows is not None else 64)  # asked before the run, outside its budget
    assert counted.rows - probes <= 1_001, f"the model was asked for {counted.rows - probes} rows with a budget of 1001"
    assert done.ledger.model_rows <= 1_001, f"{done.ledger.model_rows} rows counted with a budget of 1001"


def check_ends_cleanly_with_one_candidate(make: Make, subject: Subject) -> None:
    """A budget of a single candidate is no reason to crash."""
    done = _run(make, subject, budget=Budget(candidates=1))
    assert done.ledger.candidates <= 1, f"{done.ledger.candidates} candidates judged with a budget of 1"


def check_same_seed_same_findings(make: Make, subject: Subject) -> None:
    """The same header gives the same findings, in the same order."""
    first, second = (_run(make, subject, seed=3) for _ in range(2))
    assert first.ledger == second.ledger, f"two runs with one seed counted {first.ledger} and {second.ledger}"
    assert np.array_equal(first.findings.rows, second.findings.rows, equal_nan=True), "two runs with one seed found different rows"


def check_other_seed_other_findings(make: Make, subject: Subject) -> None:
    """Another seed leads elsewhere."""
    first, second = (_run(make, subject, seed=seed).findings.rows for seed in (3, 4))
    assert len(first) or len(second), "neither seed found anything on a model with 30 % unfair inputs"
    assert not np.array_equal(first, second), "two seeds found exactly the same rows: the generator is not used"


def check_findings_are_verified_by_the_model(make: Make, subject: Subject) -> None:
    """Asked again, the model treats every finding and its twin differently."""
    found = _run(make, subject).findings
    if len(found):
        labels = [Meter(subject.model).scores(rows).argmax(axis=1) for rows in (found.rows, found.twins)]
        assert (labels[0] != labels[1]).all(), "a finding's two twins get the same label"
        assert LabelFlip().judge(found.rows, subject.domain, subject.model).unfair.all(), "a finding is judged fair"


def check_findings_are_distinct(make: Make, subject: Subject) -> None:
    """No two findings share their non-protected part."""
    found = _run(make, subject).findings
    keys = subject.domain.keys(found.rows)
    assert len(np.unique(keys)) == len(keys), "two findings differ only in what is protected"


def check_leaves_global_randomness_alone(make: Make, subject: Subject) -> None:
    """Nobody else's random numbers are touched."""
    # The legacy state is what is watched here, so it has to be read.
    before, python_before = np.random.get_state()[1].copy(), random.getstate()  # type: ignore[index]  # noqa: NPY002
    _run(make, subject)
    assert np.array_equal(before, np.random.get_state()[1]), "NumPy's global generator was used"  # type: ignore[index]  # noqa: NPY002
    assert python_before == random.getstate(), "Python's global generator was used"


def check_does_not_write_to_its_seeds(make: Make, subject: Subject) -> None:
    """The user's rows are read, never changed."""
    if subject.rows is None:
        return
    rows = subject.rows.copy()
    _run(make, replace(subject, rows=rows))
    assert np.array_equal(rows, subject.rows, equal_nan=True), "the method changed the rows that it was given"


class _Spied:
    """A method that is overheard."""

    needs: ClassVar[type] = Model

    def __init__(self, method: Method, seen: list[Rows]) -> None:
        self.method, self.seen = method, seen

    def search(self, task: Task, rng: np.random.Generator) -> Search:
        search = self.method.search(task, rng)
        try:
            candidates: Candidates = next(search)
            while True:
                self.seen.append(np.array(candidates.rows, dtype=np.float64))
                candidates = search.send((yield candidates))
        except StopIteration:
            return
        finally:
            search.close()


class _Counted:
    """A model that counts what really reaches it, whatever the meter says."""

    def __init__(self, model: Any) -> None:
        self._model, self.rows = model, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def scores(self, rows: Rows) -> Scores:
        """The model's scores, counted."""
        self.rows += len(rows)
        scores: Scores = self._model.scores(rows)
        return scores

    def gradient(self, rows: Rows, cotangent: Any, layer: str = SCORES) -> Rows:
        """The model's gradient, counted."""
        self.rows += len(rows)
        gradient: Rows = self._model.gradient(rows, cotangent, layer)
        return gradient

    def pixel_gradient(self, rows: Rows, cotangent: Any, layer: str = SCORES) -> Any:
        """The model's gradient by the pixels, counted."""
        self.rows += len(rows)
        return self._model.pixel_gradient(rows, cotangent, layer)

    def layers(self) -> tuple[str, ...]:
        """The model's own layers."""
        layers: tuple[str, ...] = self._model.layers()
        return layers

    def pullback(self, rows: Rows, slope: Any, layer: str = SCORES) -> Rows:
        """The gradient of a loss, counted."""
        meter = Meter(self._model)
        gradient = meter.pullback(rows, slope, layer)
        self.rows += meter.rows_asked
        return gradient

    def activations(self, rows: Rows, layers: Any) -> Any:
        """The model's hidden values, counted."""
        self.rows += len(rows)
        return self._model.activations(rows, layers)
