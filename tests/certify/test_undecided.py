"""Where time is short: rows drawn in the undecided boxes bound the share, and rows of proven boxes are unfair without being asked about."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.engine.gate import Gate
from evenhand.measures.proofs import ProofLimits, certify
from evenhand.measures.proofs.undecided import ERROR, Region
from evenhand.measures.rates import judge_all
from evenhand.oracles.flip import LabelFlip

from .test_exact import counted_share, domain_of, estimators, wrapped

DOMAIN = domain_of()
LIMITS = ProofLimits(boxes=1)


@pytest.fixture(scope="module")
def model():
    return wrapped(estimators()["forest"], DOMAIN)


def test_the_likely_bounds_hold_the_counted_share_and_are_close(model) -> None:
    certificate = certify(model, DOMAIN, limits=LIMITS, sample_rows=256)
    truth = counted_share(model, DOMAIN)
    assert certificate.ended == "boxes"
    assert certificate.lower <= certificate.likely.lower <= truth <= certificate.likely.upper <= certificate.upper
    assert certificate.likely.upper < 2 * certificate.likely.lower
    assert certificate.upper > 2 * certificate.lower, "the proof alone leaves it open"
    assert "one in 1,000,000" in certificate.summary()


def test_the_gate_goes_by_the_proof_alone_and_tells_what_is_likely(model) -> None:
    certificate = certify(model, DOMAIN, limits=LIMITS, sample_rows=256)
    ruling = Gate.rule(certificate.claim(certificate.likely.lower / 2))
    assert ruling.outcome == "inconclusive"
    assert "which is no proof" in ruling.reason


def test_rows_of_proven_boxes_are_unfair_without_asking(model) -> None:
    certificate = certify(model, DOMAIN, sample_rows=256)
    people = certificate.people(3_000, np.random.default_rng(0))
    assert judge_all(people, DOMAIN, model, LabelFlip()).unfair.all()
    assert 0.99 * certificate.lower < certificate.proven.weight <= certificate.lower, "ties that the model itself decided are no boxes"
    assert len(np.unique(DOMAIN.keys(people))) > 200
    assert DOMAIN.inside(people).all()
    assert certificate.likely is None, "nothing is undecided"


def test_rows_are_drawn_by_the_domains_own_measure() -> None:
    """Missing cells are rarer than others, and boxes count by their weight."""

    class Line:
        def draw(self, boxes, rng):
            return boxes[:, None] + rng.random((len(boxes), 1))

        def take(self, boxes, chosen):
            return boxes[chosen]

    drawn = Region(Line(), np.arange(3.0), np.array([0.1, 0.6, 0.05])).draw(20_000, np.random.default_rng(0))
    shares = np.bincount(drawn.ravel().astype(int), minlength=3) / 20_000
    np.testing.assert_allclose(shares, np.array([0.1, 0.6, 0.05]) / 0.75, atol=0.01)
    model = wrapped(estimators()["hist"], DOMAIN)
    certificate = certify(model, DOMAIN, limits=ProofLimits(boxes=1), sample_rows=256)
    assert certificate.likely.error == ERROR
    assert certificate.likely.lower <= counted_share(model, DOMAIN) <= certificate.likely.upper


def test_networks_have_likely_bounds_too() -> None:
    from sklearn.impute import SimpleImputer
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline

    model = wrapped(make_pipeline(SimpleImputer(), MLPClassifier((6,), solver="lbfgs", max_iter=3_000, random_state=0)), DOMAIN)
    certificate = certify(model, DOMAIN, limits=LIMITS, sample_rows=256)
    truth = counted_share(model, DOMAIN)
    assert certificate.likely.lower <= truth <= certificate.likely.upper
