"""Every kind of model, wrapped for every medium, keeps every promise of a model."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import evenhand as eh
from evenhand import checks
from evenhand.checks import examples
from evenhand.media.scenes import ChangePlan, Scenes
from evenhand.models.differences import DifferenceGradients
from evenhand.models.fitting_again import fit_dense
from evenhand.models.shown import shown
from evenhand.planted import shapes
from evenhand.planted.letters import letters
from evenhand.planted.recognisers import Simulated

PLANTED = shapes()["wide_band"]
DOMAIN, CLASSES = PLANTED.domain, list(PLANTED.domain.label.values)
CODES = DOMAIN.sample(120, np.random.default_rng(0))
LABELS = PLANTED.model.scores(CODES).argmax(axis=1)


def fitted(estimator):
    return eh.wrap(estimator.fit(CODES, LABELS), DOMAIN, takes="codes", classes=CLASSES), CODES


def function():
    return eh.wrap(lambda codes: (codes[:, 1] > 4).astype(float), DOMAIN, takes="codes", classes=CLASSES), CODES


def torch_module():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(CODES.shape[1], 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    return eh.wrap(module, DOMAIN, classes=CLASSES), CODES


def album():
    subject = checks.picture_subject(20)
    return subject.model, subject.rows[:8]


def text():
    subject = letters()
    return subject.model, subject.data.rows[:12]


def recogniser():
    streets = Scenes(examples.few_scenes(), ChangePlan(insert=("person",), change=("car",), operators=("paper",), clusters=2))
    return shown(streets, Simulated()), streets.rows()[:8]


MODELS = {
    "planted net": lambda: (PLANTED.model, CODES),
    "dense net": lambda: (fit_dense(CODES, LABELS, tuple(CLASSES), np.random.default_rng(0), hidden=(6,)), CODES),
    "forest": lambda: fitted(RandomForestClassifier(8, random_state=0)),
    "logistic regression": lambda: fitted(LogisticRegression()),
    "differences": lambda: (DifferenceGradients(fitted(LogisticRegression())[0], domain=DOMAIN), CODES),
    "function": function,
    "torch module": torch_module,
    "album": album,
    "text": text,
    "recogniser": recogniser,
}


@pytest.fixture(scope="module")
def models():
    return {}


@pytest.mark.parametrize("check", checks.for_model(), ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", MODELS)
def test_every_model_keeps_every_promise(models, name, check):
    if name not in models:
        models[name] = MODELS[name]()
    check(*models[name])
