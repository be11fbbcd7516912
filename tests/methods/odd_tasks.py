"""A task unlike the papers': missing cells, real numbers, rules between columns, two protected columns, three labels, no scores."""

from __future__ import annotations

import numpy as np

from evenhand.domain.columns import Column
from evenhand.domain.constraints import compile_constraints
from evenhand.domain.tabular import TabularDomain
from evenhand.engine.run import Subject
from evenhand.models.function import from_callable

COLUMNS = (
    Column("sex of person", "category", ("f", "m")),
    Column("age", "integer", low=18, high=80),
    Column("years worked", "integer", low=0, high=60, missing=0.2),
    Column("income (€)", "real", low=0.0, high=90_000.0, missing=0.1),
    Column("region", "category", ("north", "south", "east"), missing=0.3),
    Column("band", "integer", low=1, high=3),
)
RULES = ("`years worked` <= age - 16", 'region == "south" => band >= 2')


def decide(x: np.ndarray) -> np.ndarray:
    """Three labels; women in band 3 and men in band 1 are treated differently around a threshold of income and work."""
    points = np.nan_to_num(x[:, 3], nan=30_000.0) / 3_000 + np.nan_to_num(x[:, 2], nan=10.0) / 2 + 4.0 * ((x[:, 0] == 1) & (x[:, 5] < 3))
    return np.digitize(points, [18.0, 30.0])


def odd_subject(rules: tuple[str, ...] = RULES, n: int = 400) -> Subject:
    """The hard model over the odd columns, with rows."""
    domain = TabularDomain(COLUMNS, ("sex of person", "band"), constraints=compile_constraints(list(rules), COLUMNS))
    model = from_callable(decide, domain, classes=(0, 1, 2), takes="codes")
    return Subject(domain, model, domain.sample(n, np.random.default_rng(0)))
