"""Table 4 of the LIMI paper as printed: ACC, IF_r and IF_o in percent, SPD, AOD, by table, protected attribute and method.

The paper's row "Bank gender" stands here as Bank age (Bank has no gender column), and its row "Meps gender" repeats its row "Bank age"
number by number, so that one of the two is a slip; it stands here as MEPS.
"""

from __future__ import annotations

TITLES = {"symbgen": "SG", "adf": "ADF", "neuronfair": "NeuronFair", "expga": "ExpGA", "limi": "LIMI", "evenhand": "evenhand"}

PUBLISHED: dict[tuple[str, str], dict[str, tuple[float, float, float, float, float]]] = {
    ("adult", "sex"): {
        "before": (88.16, 3.59, 8.20, 0.17, 0.04), "symbgen": (87.94, 3.45, 7.72, 0.16, 0.04), "adf": (87.51, 3.02, 7.52, 0.17, 0.04),
        "neuronfair": (87.62, 3.18, 7.03, 0.16, 0.04), "expga": (88.44, 3.34, 8.23, 0.16, 0.03),
        "limi": (86.92, 1.67, 5.50, 0.14, 0.03),
    },
    ("adult", "race"): {
        "before": (88.16, 7.13, 16.31, 0.09, 0.04), "symbgen": (88.21, 6.33, 14.05, 0.08, 0.04), "adf": (87.66, 6.45, 13.56, 0.08, 0.04),
        "neuronfair": (87.42, 6.15, 13.13, 0.09, 0.04), "expga": (88.33, 6.94, 15.95, 0.09, 0.06),
        "limi": (87.04, 2.51, 8.63, 0.08, 0.02),
    },
    ("adult", "age"): {
        "before": (88.16, 10.72, 26.92, 0.21, 0.19), "symbgen": (88.18, 9.10, 24.70, 0.20, 0.10), "adf": (87.78, 8.95, 25.64, 0.21, 0.11),
        "neuronfair": (87.73, 7.78, 25.49, 0.22, 0.12), "expga": (88.34, 10.30, 25.47, 0.20, 0.11),
        "limi": (86.86, 5.91, 17.34, 0.17, 0.05),
    },
    ("credit", "sex"): {
        "before": (100, 14.09, 15.50, 0.07, 0.00), "symbgen": (99.17, 15.76, 16.00, 0.07, 0.00), "adf": (99.23, 12.11, 10.33, 0.07, 0.00),
        "neuronfair": (99.20, 11.65, 10.87, 0.07, 0.00), "expga": (99.90, 14.04, 11.20, 0.07, 0.00),
        "limi": (99.83, 11.18, 9.30, 0.07, 0.00),
    },
    ("credit", "age"): {
        "before": (100, 41.96, 42.17, 0.00, 0.00), "symbgen": (99.20, 36.40, 37.20, 0.01, 0.01), "adf": (99.80, 36.74, 34.90, 0.00, 0.00),
        "neuronfair": (99.97, 36.61, 35.67, 0.00, 0.00), "expga": (100, 37.82, 38.20, 0.00, 0.00),
        "limi": (99.97, 29.57, 34.60, 0.00, 0.00),
    },
    ("bank", "age"): {
        "before": (93.65, 25.79, 27.94, 0.23, 0.07), "symbgen": (93.37, 25.83, 27.33, 0.29, 0.13), "adf": (93.34, 24.57, 27.13, 0.24, 0.08),
        "neuronfair": (93.28, 24.15, 26.38, 0.23, 0.07), "expga": (93.10, 24.38, 25.73, 0.28, 0.12),
        "limi": (92.50, 13.15, 16.98, 0.21, 0.07),
    },
    ("meps", "SEX"): {
        "before": (95.07, 7.78, 11.72, 0.08, 0.02), "symbgen": (94.13, 8.44, 10.85, 0.07, 0.01), "adf": (93.98, 6.86, 11.46, 0.08, 0.01),
        "neuronfair": (94.13, 6.70, 10.14, 0.07, 0.02), "expga": (93.05, 7.02, 10.83, 0.07, 0.01),
        "limi": (94.77, 3.32, 9.74, 0.07, 0.01),
    },
}  # fmt: skip

STATED = {"limi": (0.4567, 0.3281)}
"""What the paper says that IF_r and IF_o fall by on average."""


def improvement(method: str) -> tuple[float, float] | None:
    """What the printed rows above give: by how much of itself IF_r and IF_o fall, the mean over rows; None for what is not printed."""
    rows = [(row["before"], row[method]) for row in PUBLISHED.values() if method in row]
    if not rows:
        return None
    falls = [sum(1 - after[place] / before[place] for before, after in rows) / len(rows) for place in (1, 2)]
    return falls[0], falls[1]
