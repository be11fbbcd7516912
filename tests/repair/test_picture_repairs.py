"""Repairs of a picture classifier through the common verb: what it learns from, with which labels, and what that is worth."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="a picture classifier is fitted again with torch")

import evenhand as eh  # noqa: E402
from evenhand.campaign.repair_trial import Effort  # noqa: E402
from evenhand.contract import Trainable  # noqa: E402
from evenhand.datasets.album_data import from_album  # noqa: E402
from evenhand.engine.run import Plan, Subject, run  # noqa: E402
from evenhand.measures.neurons.zeroing import unfair_share  # noqa: E402
from evenhand.methods import METHODS  # noqa: E402
from evenhand.models.budget import Budget  # noqa: E402
from evenhand.models.picture_networks import NETWORKS  # noqa: E402
from evenhand.models.picture_training import Course, train  # noqa: E402
from evenhand.models.preparation import Preparation  # noqa: E402
from evenhand.models.saving import save  # noqa: E402
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
def tiny(data):
    """A small net that is not trained, behind the album."""
    torch.manual_seed(0)
    parts = (torch.nn.Conv2d(3, 4, 3, stride=2), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(4 * 7 * 7, 6), torch.nn.ReLU())
    return eh.wrap(torch.nn.Sequential(*parts, torch.nn.Linear(6, 3)), data, prepare=Preparation(mean=(0.4, 0.4, 0.4), blue_first=True))


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


def test_neurons_of_a_picture_model_stay_damped_when_others_are_damped_too(tiny, data):
    damped = tiny.without("1", [0, 2]).without("4", [1])
    for _ in range(2):  # copies must count the calls of their own passes
        seen = damped.activations(data.rows[:30], ["1", "4"])
        assert not seen["1"][:, [0, 2]].any()
        assert not seen["4"][:, 1].any()
    assert seen["1"][:, [1, 3]].any()
    assert tiny.activations(data.rows[:30], ["1"])["1"][:, [0, 2]].any()


def test_neurons_of_a_picture_model_are_damped_where_that_mends_it(data):
    """The second hidden unit is whether the picture is dark, and it alone decides: without it nobody is treated differently."""
    light, gain = data.medium.show(data.rows).mean() / 255, 200.0
    middle = torch.nn.Linear(1, 2)
    last = torch.nn.Linear(2, 3)
    with torch.no_grad():
        middle.weight[:], middle.bias[:] = torch.tensor([[0.0], [-gain]]), torch.tensor([1.0, gain * light])
        last.weight[:], last.bias[:] = torch.tensor([[3.0, 0.0], [0.0, 9.0], [0.0, 0.0]]), torch.zeros(3)
    net = torch.nn.Sequential(torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.AvgPool1d(3), middle, torch.nn.ReLU(), last)
    model = eh.wrap(net, data)
    case = Case.of(Subject(data.domain, model, data.rows, np.zeros(len(data.rows), np.intp), medium=data.medium), np.empty((0, 2)))
    mended = REPAIRS.make("damp_neurons", {}).mend(case, np.random.default_rng(0))
    assert mended.facts["damped"] == ["4[1]"]
    twins = data.domain.twins(data.rows).rows
    assert unfair_share(model, data.domain, data.rows).estimate > 0.2
    assert (mended.model.scores(twins.reshape(-1, 2)).argmax(axis=1) == 0).all()


def test_a_picture_model_comes_back_from_its_folder(tiny, data, tmp_path):
    damped = tiny.without("1", [0])
    path = save(damped, tmp_path / "model")
    again = eh.wrap(path, data)
    assert np.abs(again.scores(data.rows) - damped.scores(data.rows)).max() < 1e-5
    assert again.classes == damped.classes
    assert np.abs(tiny.scores(data.rows) - damped.scores(data.rows)).max() > 1e-4
