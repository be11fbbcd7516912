"""LIMI and the natural chains: the published geometry, the verdict on useless boundaries, and natural findings through the engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from evenhand.contract import Task
from evenhand.domain.columns import Column
from evenhand.domain.tabular import Label, TabularDomain
from evenhand.engine.run import Plan, Run, Subject, run
from evenhand.errors import InvalidArgument, MissingAbility, UnknownName
from evenhand.methods.chains import Chains
from evenhand.methods.limi import Limi
from evenhand.methods.parts.boundary import BOUNDARIES, Boundary, fit_boundary, ranking_auc
from evenhand.methods.parts.imitation import LatentStream, Recipe, imitate, noise_auc
from evenhand.methods.parts.probing import ProbeLine
from evenhand.methods.themis import Themis
from evenhand.models.budget import Budget
from evenhand.models.meter import Meter
from evenhand.synthesis.chained_trees import ChainedTrees
from evenhand.synthesis.copula import Copula

DOMAIN = TabularDomain(
    (
        Column("sex", "category", ("f", "m")),
        Column("age", "integer", low=0, high=99),
        Column("hours", "integer", low=0, high=99),
        Column("debt", "integer", low=0, high=49),
    ),
    protected=("sex",),
    label=Label("loan", ("no", "yes"), ("yes",)),
)


def people(n: int = 2000) -> np.ndarray:
    rng = np.random.default_rng(0)
    sex = rng.integers(0, 2, n)
    age = np.clip(np.rint(rng.normal(40, 12, n)), 0, 99)
    hours = np.clip(np.rint(rng.normal(20 + age / 2, 6)), 0, 99)
    return np.column_stack([sex, age, hours, np.clip(np.rint(rng.exponential(8, n)), 0, 49)]).astype(np.float64)


ROWS = people()


@dataclass(frozen=True)
class Scorer:
    """A loan where hours exceed a threshold that is higher for women by `gap`."""

    gap: float = 3.0
    threshold: float = 48.0
    is_hard: bool = False
    classes: tuple[Any, ...] = ("no", "yes")
    batch_rows: int = 8192

    def scores(self, rows: np.ndarray) -> np.ndarray:
        margin = rows[:, 2] - 0.2 * rows[:, 3] - self.threshold - self.gap * (rows[:, 0] == 0)
        chance = (margin > 0).astype(float) if self.is_hard else 1 / (1 + np.exp(-np.clip(margin / 4, -30, 30)))
        return np.column_stack([1 - chance, chance])

    def fingerprint(self) -> str:
        return repr(self)


def outcome(method: Any, model: Scorer | None = None, candidates: int = 20_000, **more: Any) -> Run:
    subject = Subject(more.pop("domain", DOMAIN), model or Scorer(), ROWS, **more)
    return run(method, subject, Plan(3, Budget(candidates=candidates)))


@pytest.mark.parametrize("kind", sorted(BOUNDARIES))
def test_every_boundary_finds_a_separating_plane(kind: str) -> None:
    rng = np.random.default_rng(0)
    latents = rng.standard_normal((4000, 5))
    above = latents @ [3.0, 4.0, 0, 0, 0] > 2.5
    boundary = fit_boundary(latents, above, kind)
    assert np.linalg.norm(boundary.normal) == pytest.approx(1.0)
    assert boundary.normal[:2] @ [0.6, 0.8] > 0.99
    assert ranking_auc(boundary.distances(latents), above) > 0.99


def test_svm_is_the_linear_svm_of_scikit_learn() -> None:
    from sklearn.svm import LinearSVC

    rng = np.random.default_rng(1)
    latents = rng.standard_normal((3000, 6))
    above = latents[:, 0] + 0.5 * latents[:, 1] + rng.normal(size=3000) > 0.3
    boundary = fit_boundary(latents, above, "svm")
    reference = LinearSVC(dual=False, tol=1e-8, intercept_scaling=1000.0).fit(latents, above)
    length = np.linalg.norm(reference.coef_)
    np.testing.assert_allclose(boundary.normal, reference.coef_[0] / length, atol=1e-4)
    assert boundary.offset == pytest.approx(reference.intercept_[0] / length, abs=1e-4)


def test_a_plane_fitted_to_noise_ranks_as_expected() -> None:
    rng = np.random.default_rng(3)
    latents, above = rng.standard_normal((4000, 80)), rng.random(4000) < 0.3
    fitted = ranking_auc(fit_boundary(latents, above, "closed-form").distances(latents), above)
    assert fitted == pytest.approx(noise_auc(80, int(above.sum()), int((~above).sum())), abs=0.02)
    assert fitted > 0.57


def test_auc_counts_ties_by_half() -> None:
    assert ranking_auc(np.array([1.0, 1.0, 2.0, 0.0]), np.array([True, False, True, False])) == pytest.approx(0.875)
    assert np.isnan(ranking_auc(np.ones(3), np.ones(3, dtype=bool)))


def test_line_puts_latents_at_the_asked_distances() -> None:
    space = Copula.fit(ROWS, DOMAIN, np.random.default_rng(0))
    boundary = Boundary(np.array([0.6, 0.0, 0.8, 0.0]), 0.25)
    latents = space.latents(50, np.random.default_rng(1))
    line = ProbeLine(space, latents, boundary)
    flat = latents - boundary.distances(latents)[:, None] * boundary.normal
    np.testing.assert_allclose(boundary.distances(flat), 0.0, atol=1e-12)
    np.testing.assert_array_equal(line.rows(np.arange(50), np.zeros(50)), space.decode(flat))
    np.testing.assert_array_equal(line.rows(np.array([7]), np.array([0.3])), space.decode(flat[[7]] + 0.3 * boundary.normal))


def test_stream_draws_the_same_latents_twice() -> None:
    stream = LatentStream.new(Copula.fit(ROWS, DOMAIN, np.random.default_rng(0)), 250, 100, np.random.default_rng(2))
    first, second = list(stream), list(stream)
    assert [len(part) for part in first] == [100, 100, 50]
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)


def test_stream_gives_back_single_latents() -> None:
    stream = LatentStream.new(Copula.fit(ROWS, DOMAIN, np.random.default_rng(0)), 250, 100, np.random.default_rng(2))
    places = np.array([249, 3, 100, 99])
    np.testing.assert_array_equal(stream.take(places), np.concatenate(list(stream))[np.sort(places)])


@pytest.mark.parametrize("kind", sorted(BOUNDARIES))
def test_a_latent_that_counts_twice_is_a_latent_that_is_there_twice(kind: str) -> None:
    rng = np.random.default_rng(5)
    latents, counts = rng.standard_normal((900, 4)), rng.integers(1, 4, 900)
    above = latents[:, 0] + rng.normal(size=900) > 0.5
    counted = fit_boundary(latents, above, kind, counts.astype(float))
    repeated = fit_boundary(np.repeat(latents, counts, axis=0), np.repeat(above, counts), kind)
    np.testing.assert_allclose(counted.normal, repeated.normal, atol=1e-6)
    assert counted.offset == pytest.approx(repeated.offset, abs=1e-6)


def test_auxiliary_set_keeps_the_confident_and_balances() -> None:
    space = Copula.fit(ROWS, DOMAIN, np.random.default_rng(0))
    task = Task(DOMAIN, Meter(Scorer()), ROWS)
    found = imitate(space, task, Recipe(6000, 0.7, 500, "svm", 1000), np.random.default_rng(0))
    assert found.facts["confident_unfavourable"] == 500
    assert 0 < found.facts["confident_favourable"] <= 500
    assert found.facts["auc_train"] > 0.9
    assert found.facts["auc_all"] > 0.8
    assert found.is_useful


def test_labelling_ends_with_its_share_of_the_budget_and_the_rest_is_probed() -> None:
    """The boundary comes from what was labelled; the stream goes on behind it."""
    space, ends = Copula.fit(ROWS, DOMAIN, np.random.default_rng(0)), iter(np.arange(1.0, 0.0, -0.061))
    task = Task(DOMAIN, Meter(Scorer()), ROWS, left=lambda: float(next(ends)))
    found = imitate(space, task, Recipe(10_000, 0.7, 500, "svm", 1000, share=0.3), np.random.default_rng(0))
    assert found.facts["latents"] == found.facts["auc_all_latents"] == task.model.rows_asked == 5_000
    assert found.stream.total == sum(map(len, found.stream)) == 10_000
    assert found.facts["auc_train"] > 0.9


def test_a_budget_of_time_leaves_most_of_it_for_probing() -> None:
    """A million latents would take several times as long as the search."""
    outcome(Limi(), candidates=200)  # loads what it needs
    found = run(Limi(), Subject(DOMAIN, Scorer(), ROWS), Plan(3, Budget(cpu_seconds=0.8)))
    assert found.ledger.findings > 0
    assert found.facts["boundary"]["latents"] < 1_000_000
    assert found.ledger.candidates > found.facts["boundary"]["latents"] / 8
    assert found.ended == "budget spent"


@pytest.mark.parametrize(
    "method", [Limi(), Limi(boundary="closed-form"), Limi(probing="feedback"), Limi(probing="feedback", refit=True), Chains()]
)
def test_finds_many_more_than_plain_samples(method: Any) -> None:
    plain = outcome(Themis(population="data", margin=0.0))
    found = outcome(method)
    assert found.ledger.findings > 1.2 * plain.ledger.findings
    assert DOMAIN.contains(found.findings.rows).all()


def test_probes_follow_the_published_order_and_stop_at_the_first_hit() -> None:
    found = outcome(Limi(latents=2000, batch=2000), candidates=6000)
    phases = found.findings.phase
    first = int(np.sum(phases == "boundary"))
    assert set(phases) <= {"boundary", "plus", "minus"}
    assert first > 0
    assert found.ledger.candidates < 6000 - first  # hits on the boundary are not probed on its sides


def test_hard_labels_are_enough_and_the_facts_say_what_changes() -> None:
    found = outcome(Limi(), Scorer(is_hard=True))
    assert found.ledger.findings > 0
    assert "labels only" in found.facts["boundary"]["ranking"]


def test_one_sided_model_has_no_boundary_and_plain_samples_go_on() -> None:
    found = outcome(Limi(), Scorer(threshold=500.0))
    assert "no boundary" in found.facts["boundary"]["verdict"]
    assert "plain samples" in found.facts["fallback"]
    assert found.ledger.candidates == 20_000


def test_useless_boundary_is_called_useless() -> None:
    @dataclass(frozen=True)
    class Parity(Scorer):
        """Odd and even ages: no plane in any latent space separates them."""

        def scores(self, rows: np.ndarray) -> np.ndarray:
            chance = 0.1 + 0.8 * ((rows[:, 1] + (rows[:, 0] == 1) * (rows[:, 3] > 20)) % 2)
            return np.column_stack([1 - chance, chance])

    found = outcome(Limi(), Parity())
    assert "useless here" in found.facts["boundary"]["verdict"]
    assert found.ledger.findings > 0
    without = outcome(Limi(fallback=False), Parity())
    assert set(without.findings.phase) <= {"boundary", "plus", "minus"}


def test_chains_stay_natural() -> None:
    """Findings of a walk are about as likely as findings among plain samples."""
    trees = ChainedTrees.fit(ROWS, DOMAIN, np.random.default_rng(0))
    walked = outcome(Chains(chains=512, seeds=256), candidates=15_000, population=trees)
    sampled = outcome(Themis(population="chained trees", margin=0.0), candidates=15_000, population=trees)
    walk = walked.findings.rows[walked.findings.phase == "walk"]
    gap = trees.log_density(sampled.findings.rows).mean() - trees.log_density(walk).mean()
    assert walked.ledger.findings > 2 * sampled.ledger.findings
    assert gap < 1.0


def test_chains_without_a_seed_say_so() -> None:
    found = outcome(Chains(), Scorer(gap=0.0), candidates=3000)
    assert found.ledger.findings == 0
    assert found.ledger.candidates == 3000  # as long as there is no seed, the whole budget looks for one
    assert "nothing to walk from" in found.facts["stopped"]


def test_chains_end_where_nobody_else_can_be_reached() -> None:
    others = (Column("age", "category", (30,)), Column("hours", "category", (50,)), Column("debt", "category", (0,)))
    alone = TabularDomain((DOMAIN.columns[0], *others), ("sex",), DOMAIN.label)
    rows = alone.sample(50, np.random.default_rng(0))
    found = run(Chains(seeds=4), Subject(alone, Scorer(threshold=-1.0), rows), Plan(0, Budget(candidates=5000)))
    assert found.ledger.findings == 1
    assert "nobody else" in found.facts["stopped"]


def test_several_protected_columns_and_another_space() -> None:
    domain = TabularDomain(DOMAIN.columns, ("sex", "debt"), DOMAIN.label)
    for method in (Limi(space="copula"), Chains(space="copula", seeds=64)):
        assert outcome(method, candidates=1500, domain=domain).ledger.findings > 0


def test_constraints_are_kept_by_every_candidate() -> None:
    @dataclass(frozen=True)
    class AtMostAge:
        text: str = "debt <= age"

        def holds(self, rows: np.ndarray) -> np.ndarray:
            return rows[:, 3] <= rows[:, 1]

    domain = TabularDomain(DOMAIN.columns, ("sex",), DOMAIN.label, (AtMostAge(),))
    kept = ROWS[ROWS[:, 3] <= ROWS[:, 1]]
    for method in (Limi(latents=2000), Chains(chains=256, seeds=64)):
        found = run(method, Subject(domain, Scorer(), kept), Plan(1, Budget(candidates=4000)))
        assert found.ledger.findings > 0
        assert found.findings.valid.all()


def test_names_that_nothing_bears_are_refused() -> None:
    with pytest.raises(UnknownName, match="chained-trees"):
        outcome(Limi(space="chained-treez"))
    with pytest.raises(InvalidArgument, match="needs a population"):
        outcome(Limi(space="task"))
    for wrong in ({"boundary": "curve"}, {"probing": "guess"}, {"confidence": 1.0}, {"latents": 0}, {"step": -1.0}):
        with pytest.raises(InvalidArgument):
            Limi(**wrong)
    for wrong in ({"chains": 0}, {"seed_share": 0.0}, {"favour": 2.0}, {"reaches": ()}):
        with pytest.raises(InvalidArgument):
            Chains(**wrong)


def test_space_is_learnt_from_data_or_brought_along() -> None:
    with pytest.raises(InvalidArgument, match="learnt from data"):
        run(Limi(), Subject(DOMAIN, Scorer()), Plan(0, Budget(candidates=100)))


def test_same_seed_gives_the_same_findings() -> None:
    for method in (Limi(latents=1000), Chains(chains=256, seeds=64)):
        first, second = (outcome(method, candidates=3000).findings.rows for _ in range(2))
        np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("local", ["adf", "neuronfair"])
def test_findings_seed_the_local_phase_of_another_method(local: str) -> None:
    from evenhand.models.fitting_again import fit_dense

    labels = Scorer().scores(ROWS)[:, 1] > 0.5
    net = fit_dense(ROWS, labels.astype(np.intp), ("no", "yes"), np.random.default_rng(0), hidden=(16, 8))
    found = run(Limi(latents=3000, local=local, seeds=20), Subject(DOMAIN, net, ROWS), Plan(0, Budget(candidates=6000)))
    assert found.facts["global_seeds"] == 20
    assert {"boundary", "plus", "minus"} & set(found.findings.phase)
    assert set(found.findings.phase) - {"boundary", "plus", "minus"}
    assert found.ledger.findings > 40


def test_local_phase_of_nothing_and_of_a_model_without_gradients_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="local phase"):
        outcome(Limi(local="nothing"))
    with pytest.raises(MissingAbility, match="needs a differentiable"):
        outcome(Limi(local="adf", latents=2000))


@pytest.mark.parametrize("local", ["aequitas", "aequitas_semi", "aequitas_full", "expga", "grft"])
def test_local_phases_without_gradients_go_on_from_the_findings_alone(local: str) -> None:
    done = outcome(Limi(latents=2000, local=local, seeds=20), candidates=3000)
    phases = set(done.findings.phase)
    assert "global" not in phases
    assert {"local", "genetic"} & phases
    assert "explanations" not in done.facts
