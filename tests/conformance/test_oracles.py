"""Every oracle on rows keeps every promise, on an unfair subject that was made for it."""

import numpy as np
import pytest

from evenhand.checks import for_oracle
from evenhand.engine.subject import Subject
from evenhand.oracles import ORACLES, oracle_of
from evenhand.planted.treatments import treatments

TREATMENTS = {each.oracle.partition(":")[0]: each for each in treatments().values() if each.rate}
OF_SCENES = {"counts", "objects"}


def subject_of(treatment):
    rng = np.random.default_rng(1)
    return Subject(treatment.domain, treatment.model, treatment.rows[rng.permutation(len(treatment.rows))[:800]])


@pytest.mark.parametrize("check", for_oracle(), ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", [name for name in ORACLES.entries() if name not in OF_SCENES])
def test_every_oracle_keeps_every_promise(name, check):
    each = TREATMENTS[name]
    line = "robustness:neighbours=24,reach=1" if name == "robustness" else each.oracle
    check(lambda: oracle_of(line), subject_of(each))
