"""Every oracle keeps every promise, on an unfair subject that was made for it."""

from functools import cache

import numpy as np
import pytest

from evenhand.checks import for_oracle
from evenhand.checks.examples import few_scenes
from evenhand.engine.subject import Subject
from evenhand.media.scenes import ChangePlan, Scenes
from evenhand.models.shown import shown
from evenhand.oracles import ORACLES, oracle_of
from evenhand.planted.recognisers import Simulated
from evenhand.planted.treatments import treatments

TREATMENTS = {each.oracle.partition(":")[0]: each for each in treatments().values() if each.rate}
OF_SCENES = ("counts", "objects")
LINES = {"robustness": "robustness:neighbours=24,reach=1", "counts": "counts:errors=both"}


@cache
def subject_for(name):
    if name in OF_SCENES:
        medium = Scenes(few_scenes(), ChangePlan(insert=("person",), change=("car",), operators=("paper",)))
        return Subject(medium.domain, shown(medium, Simulated(handicap={"car": 2.0})), medium.rows(), medium=medium)
    treatment = TREATMENTS[name]
    chosen = np.random.default_rng(1).permutation(len(treatment.rows))[:800]
    return Subject(treatment.domain, treatment.model, treatment.rows[chosen])


@pytest.mark.parametrize("check", for_oracle(), ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", ORACLES.entries())
def test_every_oracle_keeps_every_promise(name, check):
    line = LINES.get(name) or (name if name in OF_SCENES else TREATMENTS[name].oracle)
    check(lambda: oracle_of(line), subject_for(name))


@pytest.mark.parametrize("name", ORACLES.entries())
def test_the_subject_has_something_to_find(name):
    subject = subject_for(name)
    line = LINES.get(name) or (name if name in OF_SCENES else TREATMENTS[name].oracle)
    made = oracle_of(line)
    judge = made.learned(subject.rows, subject.domain, subject.model) if hasattr(made, "learned") else made
    assert judge.judge(subject.rows, subject.domain, subject.model).unfair.any()
