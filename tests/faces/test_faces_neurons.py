"""Promises of the neuron tests and adequacy measures, checked against scipy and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from importance import ImportanceCoverage, by_activation, by_relevance
from scipy import stats

from evenhand.errors import InvalidArgument
from evenhand.measures.neurons import adequacy as measures
from evenhand.measures.neurons.kruskal import kruskal_wallis

KINDS = {
    "without ties": lambda rng: rng.random((300, 40)),
    "half zeros": lambda rng: np.maximum(rng.normal(size=(300, 40)), 0),
    "whole numbers": lambda rng: rng.integers(0, 4, (300, 40)).astype(float),
    "float32": lambda rng: np.maximum(rng.normal(size=(300, 40)), 0).astype(np.float32),
    "negative": lambda rng: rng.normal(size=(300, 40)).round(1),
    "signed zeros": lambda rng: np.where(rng.random((300, 40)) < 0.5, 0.0, -0.0) + rng.integers(0, 2, (300, 40)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_kruskal_wallis_equals_scipy(kind):
    rng = np.random.default_rng(4)
    values, unfair = KINDS[kind](rng), rng.random(300) < 0.3
    wide = values.astype(np.float64)
    expected = [stats.kruskal(wide[unfair, j], wide[~unfair, j]) for j in range(values.shape[1])]
    found = kruskal_wallis(values, unfair)
    assert np.allclose(found.corrected, [each.statistic for each in expected], atol=1e-9, rtol=0)
    assert np.allclose(found.p_values, [each.pvalue for each in expected], atol=1e-12)


def test_as_printed_ignores_ties_and_a_silent_neuron_is_never_related():
    rng = np.random.default_rng(5)
    values, unfair = np.maximum(rng.normal(size=(400, 6)), 0), rng.random(400) < 0.5
    values[:, 2] = 0.0
    found = kruskal_wallis(values, unfair)
    assert np.all(found.as_printed[[0, 1, 3]] < found.corrected[[0, 1, 3]])
    assert found.corrected[2] == 0.0
    assert not found.related()[2]


def test_benjamini_hochberg_lets_fewer_innocent_neurons_in():
    rng = np.random.default_rng(6)
    unfair = rng.random(400) < 0.4
    values = rng.random((400, 2000))
    values[unfair, :200] += 0.3
    found = kruskal_wallis(values, unfair)
    by_level, by_share = found.related(), found.related(rule="benjamini-hochberg")
    assert by_level[200:].sum() > 60
    assert by_share[200:].sum() < 30
    assert by_share[:200].sum() > 190


@pytest.mark.parametrize("unfair", [np.zeros(10, bool), np.ones(10, bool), np.ones(9, bool)])
def test_one_group_alone_is_refused(unfair):
    with pytest.raises(InvalidArgument, match="unfair"):
        kruskal_wallis(np.ones((10, 3)), unfair)


def test_values_that_are_not_finite_are_refused():
    values = np.ones((10, 3))
    values[4, 1] = np.nan
    with pytest.raises(InvalidArgument, match="finite"):
        kruskal_wallis(values, np.arange(10) < 5)


@pytest.fixture(scope="module")
def activations():
    rng = np.random.default_rng(7)
    first = np.maximum(rng.normal(size=(150, 60)), 0).astype(np.float32)
    return first, np.maximum(first + 0.4 * rng.normal(size=first.shape), 0).astype(np.float32)


def test_the_three_similarities_equal_their_references(activations):
    first, second = activations
    found = measures.adequacy(first, second, np.arange(10))
    for row in range(0, 150, 15):
        one, other = first[row] > 0, second[row] > 0
        assert found.tanimoto[row] == pytest.approx((one & other).sum() / (one | other).sum())
        assert found.spearman[row] == pytest.approx(stats.spearmanr(first[row], second[row]).statistic, abs=1e-5)
        angle = first[row] @ second[row] / np.linalg.norm(first[row]) / np.linalg.norm(second[row])
        assert found.cosine[row] == pytest.approx(angle, abs=1e-5)


def test_midranks_equal_scipys(activations):
    values = activations[0] - np.float32(0.5)
    assert np.array_equal(measures.midranks(values), stats.rankdata(values, axis=1))


def test_equal_activations_are_alike_by_every_similarity(activations):
    silent = np.zeros((3, 8), np.float32)
    for first in (activations[0], silent):
        found = measures.adequacy(first, first, np.arange(4))
        for name in measures.LAYER_MEASURES:
            assert np.allclose(found.measure(name), 1.0, atol=1e-6)


def test_the_printed_spearman_is_right_only_without_ties(activations):
    rng = np.random.default_rng(0)
    distinct = rng.permuted(np.tile(np.arange(1, 31, dtype=np.float32), (5, 1)), axis=1)
    other = rng.permuted(distinct, axis=1)
    assert np.allclose(measures.spearman_as_printed(distinct, other), measures.spearman(distinct, other), atol=1e-5)
    assert np.abs(measures.spearman_as_printed(*activations) - measures.spearman(*activations)).max() > 0.005


def test_distances_count_only_where_both_pictures_wake_the_neuron():
    first, second = np.array([[2.0, 0.0, 3.0]], np.float32), np.array([[1.0, 5.0, 6.0]], np.float32)
    absolute, relative = measures.distances(first, second)
    assert absolute[0, 0] == 1.0
    assert relative[0, 2] == 2.0
    assert np.isnan(absolute[0, 1])


def test_coverage_counts_bins_and_never_falls_when_pairs_are_added(activations):
    assert measures.covered(np.array([0.0, 0.05, 0.5, 1.0, 2.0, np.nan]), 0.0, 1.0, 10) == pytest.approx(0.3)
    whole = measures.adequacy(*activations, np.arange(10))
    part = measures.adequacy(activations[0][:60], activations[1][:60], np.arange(10))
    ruler = measures.Ruler.of(whole)
    for name in measures.MEASURES:
        assert 0.0 < ruler.coverage(part, name) <= ruler.coverage(whole, name) <= 1.0
        assert ruler.coverage(measures.joined(part, whole), name) == ruler.coverage(whole, name)


def test_importance_ranks_and_covers(activations):
    first, second = activations
    assert by_activation(first)[0] == first.mean(axis=0).argmax()
    assert by_relevance(-first)[0] == first.mean(axis=0).argmax()
    goals = ImportanceCoverage.of(first, by_activation(first)[:4])
    assert goals.goals >= 16
    assert 0.0 < goals.coverage(first[:20]) <= goals.coverage(np.concatenate([first, second])) <= 1.0
