"""Methods on pictures: what they change, how often they succeed, and where they refuse to run."""

import numpy as np
import pytest

import evenhand as eh
from evenhand import checks
from evenhand.contract import media_of
from evenhand.engine.run import Plan, Subject, run
from evenhand.errors import InvalidArgument, MissingAbility
from evenhand.methods import METHODS
from evenhand.models.budget import Budget
from evenhand.models.shown import shown
from evenhand.oracles.flip import LabelFlip
from evenhand.planted.pixel_net import PixelNet, labelled_portraits

PERTURBING = ("random_generation", "gradient_generation", "gaussian_injection", "eidig_pictures", "neuronfair_pictures")
SMALL = Budget(candidates=2_000)


def subject(n=80, face_share=0.25, protected=("tone",)):
    data = labelled_portraits(n, 3, protected=protected)
    return Subject(data.domain, shown(data.medium, PixelNet(face_share=face_share)), data.rows, data.labels, medium=data.medium)


@pytest.mark.parametrize("name", PERTURBING)
def test_every_twin_gets_the_same_change(name):
    ground = subject()
    found = run(METHODS.make(name), ground, Plan(0, SMALL)).findings
    made = found.rows[found.rows[:, 0] >= len(ground.rows)]
    assert len(made), f"{name} made no finding of its own"
    medium = ground.medium
    parents = made.copy()
    parents[:, 0] = [medium._parent(int(code)) for code in made[:, 0]]
    both, before = ground.domain.twins(made).rows, ground.domain.twins(parents).rows
    change = [medium.show(b).astype(int) - medium.show(a).astype(int) for a, b in zip(before, both, strict=True)]
    free = np.ones(change[0].shape, dtype=bool)
    for rows in both:
        shown_now = medium.show(rows)
        free &= (shown_now > 0) & (shown_now < 255)
    assert free.mean() > 0.5
    assert np.array_equal(change[0][free], change[1][free]), "twins were changed differently"
    assert np.abs(change[0]).max() > 0


def test_gradients_beat_chance():
    shares = {}
    for name in ("random_generation", "gradient_generation"):
        shares[name] = run(METHODS.make(name), subject(), Plan(0, SMALL)).facts["made_unfair"]
    assert shares["gradient_generation"]["low"] > shares["random_generation"]["estimate"]
    assert shares["gradient_generation"]["fair_pictures"] == shares["random_generation"]["fair_pictures"]


@pytest.mark.parametrize("name", PERTURBING)
def test_a_net_that_never_looks_at_the_face_is_never_blamed(name):
    done = run(METHODS.make(name), subject(face_share=0.0), Plan(0, SMALL))
    assert done.ledger.findings == 0
    assert done.ledger.candidates > 100


def test_limi_finds_more_on_the_boundary_than_among_all_pictures():
    ground = subject()
    found = run(METHODS.make("limi_pictures", {"drawn": 1_000, "points": 1_000}), ground, Plan(0, Budget(candidates=600)))
    plain = LabelFlip().judge(ground.rows, ground.domain, ground.model).unfair.mean()
    assert found.ledger.findings / found.ledger.candidates > plain
    assert "PCA" in found.facts["latent_space"]


def test_limi_mirrors_one_attribute_with_two_values_only():
    with pytest.raises(InvalidArgument, match="two values"):
        run(METHODS.make("limi_pictures"), subject(protected=("tone", "gender_cue")), Plan(0, SMALL))


def test_several_protected_attributes_are_perturbed_alike():
    done = run(METHODS.make("gradient_generation"), subject(protected=("tone", "gender_cue")), Plan(0, SMALL))
    assert done.facts["made_unfair"]["parted"] > 0


@pytest.mark.parametrize("name", [name for name, entry in METHODS.entries().items() if media_of(entry.make) == ("album",)])
def test_a_picture_method_on_a_table_is_refused_in_words(name):
    with pytest.raises(MissingAbility, match="works on album data, not on table data"):
        run(METHODS.make(name), checks.standard_subject(), Plan(0, SMALL))


@pytest.mark.parametrize("name", ["aequitas", "adf", "symbgen"])
def test_a_method_that_walks_along_columns_is_refused_on_an_album(name):
    with pytest.raises(MissingAbility, match="not on album data"):
        run(METHODS.make(name), subject(), Plan(0, SMALL))


def test_scan_reaches_a_picture_method_by_name():
    data = labelled_portraits(60, 3)
    result = eh.scan(shown(data.medium, PixelNet()), data, methods=["gradient_generation"], budget=eh.Budget(candidates=300), seed=1)
    assert result.outcome == "violation"
    assert result.runs[0].facts["made_unfair"]["parted"] > 0
