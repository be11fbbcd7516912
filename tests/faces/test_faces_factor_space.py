"""Promises of portraits as rows: the tabular engine finds what an image classifier does to exact twins."""

from __future__ import annotations

import numpy as np

from evenhand.contract import Model
from evenhand.engine.run import Plan, Subject, run
from evenhand.media.portraits import draw_factors, render
from evenhand.media.portraits.rows import RenderedModel, factor_domain
from evenhand.methods import method
from evenhand.models.budget import Budget
from evenhand.models.picture_adapters import FunctionClassifier


def reads_skin(pictures):
    bright = pictures[:, 6:10, 6:10].reshape(len(pictures), -1).mean(axis=1) / 255.0
    return np.stack([bright, 1.0 - bright], axis=1)


MODEL = RenderedModel(FunctionClassifier(reads_skin, ("bright", "dark")), 16)


def test_rows_of_the_domain_are_portraits():
    domain = factor_domain()
    rows = domain.sample(30, np.random.default_rng(0))
    assert render(rows, 16).shape == (30, 16, 16, 3)
    drawn = draw_factors(30, np.random.default_rng(1))
    assert domain.contains(drawn).all()
    assert domain.decode(drawn)["tone"].iloc[0].startswith("monk")


def test_a_rendered_classifier_is_a_model_and_the_engine_finds_its_unfair_twins():
    assert isinstance(MODEL, Model)
    assert MODEL.fingerprint() == MODEL.fingerprint()
    found = run(method("themis"), Subject(factor_domain(), MODEL), Plan(0, Budget(candidates=60)))
    assert len(found.findings) > 20
    differing = (found.findings.rows != found.findings.twins).sum(axis=1)
    assert (differing == 1).all()
