"""The figures of the LIMI paper (Xiao, Liu, Li, Liu, "Latent Imitator", ISSTA 2023): Tables 1 to 3 and 5 to 7."""

from __future__ import annotations

PAIRS = (("adult", "sex"), ("adult", "race"), ("adult", "age"), ("credit", "sex"), ("credit", "age"), ("bank", "age"), ("meps", "SEX"))
COMBINED = (("adult", "sex", "race"), ("adult", "sex", "age"), ("adult", "race", "age"), ("credit", "sex", "age"))
STEPS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)

# By method, in the order of PAIRS.  The paper prints SG on Adult age as "148,58".
FOUND = {
    "mlp": {
        "aequitas": (3484, 3393, 3982, 1671, 1645, 1435, 1549), "symbgen": (1806, 2893, 14858, 9241, 12854, 9276, 5922),
        "adf": (11540, 11827, 12078, 4842, 6090, 3979, 5555), "eidig": (12503, 11330, 12382, 5201, 6494, 4731, 4914),
        "neuronfair": (12791, 11991, 13214, 4469, 6532, 5143, 3970), "expga": (40877, 4215, 45615, 158687, 43202, 24691, 32580),
        "limi": (86065, 132018, 148221, 164569, 261504, 145901, 109701),
    },
    "forest": {
        "aequitas": (441, 100, 846, 219, 153, 186, 276), "symbgen": (2487, 1316, 5152, 7338, 7908, 6104, 3865),
        "expga": (10283, 286, 9402, 1799, 946, 4071, 3472), "limi": (13360, 10398, 14185, 15010, 11972, 6578, 3958),
    },
    "svm": {},
}  # fmt: skip
"""Findings in an hour (Tables 1 and 2); those of the SVM are not printed in the paper."""

PER_SECOND = {
    "mlp": {
        "aequitas": (1.09, 0.94, 1.11, 0.53, 0.46, 0.40, 0.43), "symbgen": (0.50, 0.80, 4.13, 2.70, 3.57, 2.58, 1.65),
        "adf": (3.20, 3.29, 3.36, 1.35, 1.69, 1.11, 1.54), "eidig": (3.47, 3.15, 3.44, 1.44, 1.80, 1.31, 1.37),
        "neuronfair": (3.55, 3.33, 3.67, 1.24, 1.81, 1.43, 1.10), "expga": (39.08, 9.73, 12.61, 44.05, 11.98, 6.84, 46.78),
        "limi": (41.71, 36.67, 41.17, 69.38, 72.64, 40.53, 48.67),
    },
    "forest": {
        "aequitas": (0.12, 0.03, 0.24, 0.06, 0.04, 0.05, 0.08), "symbgen": (0.69, 0.37, 1.43, 2.04, 2.20, 1.70, 1.07),
        "expga": (2.85, 0.08, 2.61, 0.50, 0.26, 1.13, 0.96), "limi": (3.71, 2.89, 3.94, 4.17, 3.33, 1.83, 1.10),
    },
    "svm": {},
}  # fmt: skip
"""Findings per second (EGS in Tables 1 and 2)."""

ATN = {
    "aequitas": (50.53, 48.02, 46.22, 67.84, 65.02, 60.85, 69.45), "symbgen": (43.23, 46.10, 46.03, 55.45, 54.49, 41.78, 53.03),
    "adf": (63.79, 66.91, 64.24, 73.13, 74.37, 71.14, 70.17), "eidig": (63.45, 66.73, 64.69, 73.67, 73.97, 69.62, 71.09),
    "neuronfair": (63.93, 66.89, 64.33, 73.97, 74.18, 71.56, 71.11), "expga": (41.20, 48.76, 50.23, 60.53, 63.30, 58.54, 64.83),
    "limi": (80.98, 81.94, 82.10, 80.15, 80.05, 80.84, 82.93),
}  # fmt: skip
"""ATN in percent of the findings against nets (Table 3)."""

AUC = {
    ("adult", "mlp"): (96.71, 86.43), ("adult", "forest"): (99.78, 89.72), ("adult", "svm"): (99.98, 93.94),
    ("credit", "mlp"): (82.16, 67.82), ("credit", "forest"): (96.69, 76.54), ("credit", "svm"): (99.93, 75.36),
    ("bank", "mlp"): (95.47, 85.61), ("bank", "forest"): (99.69, 94.59), ("bank", "svm"): (99.65, 96.40),
    ("meps", "mlp"): (93.52, 84.09), ("meps", "forest"): (99.96, 97.20), ("meps", "svm"): (99.42, 90.50),
}  # fmt: skip
"""AUC of the boundary in percent, on the confident latents and on all (Table 5)."""

BY_STEP = {
    ("adult", "sex"): (38974, 80947, 89348, 86065, 78188, 69989), ("adult", "race"): (76294, 100587, 109761, 132018, 109826, 114051),
    ("adult", "age"): (54644, 99365, 110158, 148221, 115063, 110951), ("credit", "sex"): (90210, 168876, 164561, 164569, 165417, 165550),
    ("credit", "age"): (152493, 204704, 196113, 261504, 196799, 201052), ("bank", "age"): (50820, 77396, 94739, 145901, 116837, 118272),
    ("meps", "SEX"): (49769, 130152, 128876, 109701, 88500, 73054),
}  # fmt: skip
"""Findings in an hour by lambda, in the order of STEPS (Table 6)."""

TOGETHER = {
    "aequitas": (1752, 0.49, 50.85), "adf": (10158, 2.82, 67.21), "eidig": (8972, 2.49, 65.41),
    "neuronfair": (9897, 2.75, 64.87), "expga": (23422, 6.51, 53.81), "limi": (120164, 33.38, 82.39),
}  # fmt: skip
"""Findings in an hour, per second, and ATN in percent, means over COMBINED (Table 7)."""
