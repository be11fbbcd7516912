"""Repairs of a picture classifier through the common verb: what it learns from, with which labels, and what that is worth."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="a picture classifier is fitted again with torch")

import evenhand as eh  # noqa: E402
from evenhand.campaign.repair_trial import Effort  # noqa: E402
from evenhand.contract import Trainable  # noqa: E402
from evenhand.datasets.album_data import from_album  # noqa: E402
from evenhand.engine.run import Plan, Subject, run  # noqa: E402
from evenhand.methods import METHODS  # noqa: E402
from evenhand.models.budget import Budget  # noqa: E402
from evenhand.models.picture_networks import NETWORKS  # noqa: E402
from evenhand.models.picture_training import Course, train  # noqa: E402
from evenhand.models.shown import shown  # noqa: E402
from evenhand.models.torch_pictures import torch_classifier  # noqa: E402
from evenhand.planted.portraits import AGE_GROUPS, DARKER_SKIN_LOOKS_OLDER, synthetic_faces  # noqa: E402
from evenhand.repairs import REPAIRS  # noqa: E402
from evenhand.repairs.parts.augmentation import lesson  # noqa: E402
from evenhand.repairs.parts.case import Case  # noqa: E402


@pytest.fixture(scope="module", autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def data():
    return from_album(synthetic_faces(160, np.random.default_rng(0), 16, (DARKER_SKIN_LOOKS_OLDER,)), ["tone"])


@pytest.fixture(scope="module")
def case(data):
    torch.manual_seed(0)
    network = NETWORKS["vgg"](3, 16)
    model = shown(data.medium, torch_classifier(network, AGE_GROUPS, network.readable))
    subject = Subject(data.domain, model, data.rows, data.labels, medium=data.medium)
    learned = model.refit(data.rows, data.labels, np.random.default_rng(1))
    subject = Subject(data.domain, learned, data.rows, data.labels, medium=data.medium)
    return Case.of(subject, run(METHODS.make("gradient_generation"), subject, Plan(0, Budget(candidates=500))).findings)


@pytest.mark.slow
def test_a_torch_classifier_behind_an_album_can_be_fitted_again(case, data):
    assert isinstance(case.model, Trainable)
    right = np.mean(case.model.scores(data.rows).argmax(axis=1) == data.labels)
    assert right > 0.6
    state = torch.random.get_rng_state()
    case.model.refit(data.rows[:40], data.labels[:40], np.random.default_rng(3))
    assert torch.equal(state, torch.random.get_rng_state())


@pytest.mark.slow
def test_a_made_picture_has_the_label_of_the_one_that_it_comes_from(case, data):
    made = case.findings[case.findings[:, 0] >= len(data.rows)]
    assert len(made)
    taught = lesson(case, made, "alone", np.random.default_rng(0))
    assert np.array_equal(taught.labels, data.labels[data.medium.origins(made)])


@pytest.mark.slow
@pytest.mark.parametrize("measure", ["spearman", "cosine", "tanimoto"])
def test_selection_by_a_layer_adds_the_share_that_was_asked_for(case, measure):
    mended = REPAIRS.make("retrain_selected", {"share": 0.2, "measure": measure}).mend(case, np.random.default_rng(0))
    assert mended.facts["findings_used"] == max(1, round(0.2 * len(case.findings)))
    assert mended.facts["rows_added"] == 2 * mended.facts["findings_used"]


@pytest.mark.slow
def test_the_common_verb_compares_repairs_on_an_album_with_their_controls(data):
    rng = np.random.default_rng(5)
    album = synthetic_faces(200, rng, 16, (DARKER_SKIN_LOOKS_OLDER,))
    model = shown(data.medium, train("vgg", album, rng, Course(epochs=4)))
    effort = Effort(candidates=600, judge_candidates=300, rate_rows=200)
    chosen = ["retrain_twins", "retrain_selected", "marginalise"]
    result = eh.repair(model, data, repairs=chosen, options=eh.RepairOptions(seeds=1, effort=effort))
    figures = result.outcomes[0].figures
    assert {*chosen, "no_change", "refit_again", "add_random_rows"} <= set(figures)
    assert figures["marginalise"]["if_o"] == 0.0
    assert figures["no_change"]["if_o"] > 0.0
    assert result.header.details["judge_method"].startswith("RandomGeneration")
