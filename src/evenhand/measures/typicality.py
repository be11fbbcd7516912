"""How likely findings are beside real rows: quantiles of both under trees that were fitted on other real rows."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from evenhand.arrays import Rows
from evenhand.domain.tabular import TabularDomain
from evenhand.measures.plausible import Plausibility

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
MOST_ROWS, FEWEST_REAL, FEWEST_FOUND = 2_000, 100, 20
"""Rows of each kind that are looked at, and so few that nothing is said."""
MOST_COLUMNS = 400
"""Of wider tables a likelihood takes minutes to learn, and is not told."""


@dataclass(frozen=True)
class Typicality:
    """Quantiles of the log-likelihood of real rows and of findings, and the share of findings that are natural.

    natural_share: at least as likely as all but the unlikeliest twentieth of the real rows.
    """

    levels: tuple[float, ...]
    real: tuple[float, ...]
    found: tuple[float, ...]
    real_rows: int
    found_rows: int
    natural_share: float

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}


def typicality(real: Rows, found: Rows, domain: TabularDomain, rng: np.random.Generator) -> Typicality | None:
    """Real rows against findings; None where one of the two is too few, or the table very wide."""
    if real.shape[1] > MOST_COLUMNS or len(real) < FEWEST_REAL or len(found) < FEWEST_FOUND:
        return None
    rows = real[rng.choice(len(real), min(len(real), MOST_ROWS), replace=False)]
    judged = found[rng.choice(len(found), min(len(found), MOST_ROWS), replace=False)]
    fitted = Plausibility.fit(rows, domain, rng)
    unseen = rows[len(rows) // 2 :]  # most of these the trees have not seen; how likely a real row is shows on them
    likely = [np.quantile(fitted.population.log_density(each), LEVELS) for each in (unseen, judged)]
    natural = float(fitted.natural(judged).mean())
    told = [tuple(float(value) for value in each) for each in likely]
    return Typicality(LEVELS, told[0], told[1], len(unseen), len(judged), natural)
