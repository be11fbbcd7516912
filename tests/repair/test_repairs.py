"""Every repair keeps its promises: a new model, the old one untouched, odd tables included."""

from __future__ import annotations

import numpy as np
import pytest

import evenhand as eh
from evenhand.contract import Pairs, labels_of
from evenhand.engine.run import Subject
from evenhand.errors import InvalidArgument, MissingAbility
from evenhand.oracles.flip import LabelFlip
from evenhand.repairs import REPAIRS
from evenhand.repairs.add_random_rows import AddRandomRows
from evenhand.repairs.marginalise import Marginalise
from evenhand.repairs.parts.augmentation import Choice, all_twins, lesson, twin_pairs
from evenhand.repairs.parts.case import Case, Repair
from evenhand.repairs.parts.labelling import fit_ensemble
from evenhand.repairs.parts.retraining import retrain
from evenhand.verbs.repair import FOR_AMOUNTS

from .tables import net_subject, table, tree_subject

DATA = table(300)
SUBJECT = tree_subject(DATA)
NETS = table(120)
NET = net_subject(NETS)


def unfair(model, rows, domain):
    return LabelFlip().judge(rows, domain, model).unfair


FOUND = DATA.rows[unfair(SUBJECT.model, DATA.rows, DATA.domain)]
CASE = Case.of(SUBJECT, FOUND)
NET_FOUND = NETS.rows[unfair(NET.model, NETS.rows, NETS.domain)]
NET_CASE = Case.of(NET, NET_FOUND)
NEED_NEURONS = ("damp_neurons", "retrain_consistently", "retrain_selected")


def rng(seed=3):
    return np.random.default_rng(seed)


def test_the_planted_model_is_unfair_to_begin_with():
    assert len(FOUND) > 0.1 * len(DATA.rows)


@pytest.mark.parametrize("name", [name for name in REPAIRS.entries() if name not in FOR_AMOUNTS])
def test_every_repair_makes_a_working_model_and_leaves_the_old_one_alone(name):
    made, case = REPAIRS.entries()[name].make(), NET_CASE if name in NEED_NEURONS else CASE
    assert isinstance(made, Repair)
    before, rows = case.model.fingerprint(), case.rows.copy()
    mended = made.mend(case, rng())
    scores = mended.model.scores(DATA.rows)
    assert scores.shape == (len(DATA.rows), 2)
    assert np.isfinite(scores).all()
    assert case.model.fingerprint() == before
    np.testing.assert_array_equal(case.rows, rows)
    assert mended.model.fingerprint() == made.mend(case, rng()).model.fingerprint(), "the same seed must give the same model"


@pytest.mark.parametrize("name", ["marginalise", "drop_protected", "hide_protected", "constant_answer"])
def test_trivial_baselines_never_flip(name):
    model = REPAIRS.entries()[name].make().mend(CASE, rng()).model
    assert not unfair(model, DATA.domain.sample(500, rng()), DATA.domain).any()


def test_marginalising_weighs_twins_by_how_common_they_are():
    model = Marginalise().mend(CASE, rng()).model
    person = DATA.rows[:1]
    shares = np.bincount(DATA.domain.own_combination(DATA.rows), minlength=3) / len(DATA.rows)
    expected = sum(share * SUBJECT.model.scores(twin) for share, twin in zip(shares, DATA.domain.twins(person).rows, strict=True))
    np.testing.assert_allclose(model.scores(person), expected, atol=1e-6)


def test_twins_help_where_the_finding_alone_helps_less():
    share = {form: unfair(retrain(SUBJECT, FOUND, rng(), form), DATA.rows, DATA.domain).mean() for form in ("alone", "twins")}
    assert share["twins"] < 0.7 * unfair(SUBJECT.model, DATA.rows, DATA.domain).mean()
    assert share["twins"] < share["alone"]


def test_a_consistency_loss_helps():
    model = retrain(NET, NET_FOUND, rng(), "consistency")
    assert unfair(model, NETS.rows, NETS.domain).mean() < 0.5 * len(NET_FOUND) / len(NETS.rows)


def test_all_twins_of_a_person_get_one_label():
    added = lesson(CASE, FOUND[:20], "twins", rng())
    keys = DATA.domain.keys(added.rows)
    assert len(added.rows) == 3 * 20
    for key in np.unique(keys):
        assert len(set(added.labels[keys == key])) == 1


def test_the_vote_ignores_what_is_protected():
    ensemble = fit_ensemble(DATA.rows, DATA.labels, DATA.domain, 2, rng())
    rows, person = all_twins(DATA.rows, DATA.domain, rng())
    np.testing.assert_array_equal(ensemble.label(rows), ensemble.label(DATA.rows)[person])


def test_pairs_are_a_person_and_someone_of_another_protected_value():
    pairs = twin_pairs(DATA.rows[:50], DATA.domain, 1.0, rng())
    place = DATA.domain.protected_places[0]
    assert len(pairs.first) == 100
    assert (pairs.first[:, place] != pairs.second[:, place]).all()
    np.testing.assert_array_equal(DATA.domain.keys(pairs.first), DATA.domain.keys(pairs.second))


@pytest.mark.parametrize("select", ["random", "km_st"])
def test_selection_gives_as_many_different_findings_as_asked_for(select):
    case = Case(CASE.domain, CASE.model, CASE.rows, CASE.labels, FOUND, np.linspace(0, 1, len(FOUND)))
    chosen = Choice(share=20 / len(CASE.rows), select=select).of(case, rng())
    assert len(np.unique(chosen)) == len(chosen) == 20


def test_km_st_takes_from_every_section_of_the_gaps():
    gaps = np.append(np.zeros(len(FOUND) - 10), np.linspace(0.1, 1, 10))
    case = Case(CASE.domain, CASE.model, CASE.rows, CASE.labels, FOUND, gaps)
    chosen = Choice(share=20 / len(CASE.rows), select="km_st").of(case, rng())
    assert (gaps[chosen] > 0).sum() >= 8, "chance alone would take about two"


def test_no_findings_is_said_and_not_a_crash():
    with pytest.raises(InvalidArgument, match="no findings"):
        retrain(SUBJECT, FOUND[:0], rng())


def test_a_vote_of_one_label_is_noted():
    rich = DATA.rows[np.nan_to_num(DATA.rows[:, DATA.domain.place("income")]) > 90]
    added = lesson(CASE, rich, "alone", rng())
    assert added.facts(CASE)["note"] == "the vote gave all of them the same label"


def test_data_of_one_class_is_refused():
    labels = np.zeros_like(DATA.labels)
    with pytest.raises(InvalidArgument, match="at least two classes"):
        retrain(Subject(DATA.domain, SUBJECT.model, DATA.rows, labels), FOUND, rng())


def test_a_callable_cannot_be_retrained_and_is_told_what_can_be_done():
    model = eh.wrap(lambda frame: np.where(frame["income"].fillna(0) > 50, "grant", "deny"), DATA.domain, takes="frame")
    with pytest.raises(MissingAbility, match="marginalise"):
        retrain(Subject(DATA.domain, model, DATA.rows, DATA.labels), FOUND, rng())


def test_several_protected_columns_and_three_classes():
    data = table(400, classes=3, protected=("sex of person", "race"))
    under = tree_subject(data)
    found = data.rows[unfair(under.model, data.rows, data.domain)]
    model = retrain(under, found, rng(), "twins")
    assert unfair(model, data.rows, data.domain).mean() < len(found) / len(data.rows)
    with pytest.raises(MissingAbility, match="two classes"):
        REPAIRS.entries()["adjust_thresholds"].make().mend(Case.of(under, found), rng())


def test_random_rows_are_as_many_as_the_findings_would_be():
    facts = AddRandomRows(share=0.1).mend(CASE, rng()).facts
    assert facts["findings_used"] == round(0.1 * len(DATA.rows))


@pytest.mark.slow
def test_fairlearns_reduction_narrows_the_gap_between_groups():
    model = SUBJECT.model
    mended = REPAIRS.entries()["reduce_disparity"].make().mend(CASE, rng()).model
    sex = DATA.rows[:, DATA.domain.protected_places[0]]

    def gap(made):
        chosen = labels_of(made.scores(DATA.rows))
        return abs(chosen[sex == 0].mean() - chosen[sex == 1].mean())

    assert gap(mended) < gap(model)


def test_damping_never_costs_more_accuracy_on_its_rows_than_allowed():
    mended = REPAIRS.entries()["damp_neurons"].make(tolerance=0.0).mend(NET_CASE, rng())
    right = [(labels_of(model.scores(NETS.rows)) == NETS.labels).mean() for model in (NET.model, mended.model)]
    assert right[1] >= right[0]
    assert mended.facts["tried"] > 0


@pytest.mark.slow
def test_a_consistent_network_answers_pairs_alike():
    pairs = twin_pairs(NETS.rows, NETS.domain, 1.0, rng())
    strict = Pairs(pairs.first, pairs.second, 100.0)
    model = NET.model.refit_consistently(NETS.rows, NETS.labels, strict, rng())
    apart = np.abs(model.scores(pairs.first) - model.scores(pairs.second))[:, 1]
    before = np.abs(NET.model.scores(pairs.first) - NET.model.scores(pairs.second))[:, 1]
    assert apart.mean() < 0.3 * before.mean()
    assert len(np.unique(labels_of(model.scores(NETS.rows)))) == 2
