"""Means and shares of values that come in clusters: those of one may be as alike as they like, only clusters are independent."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Reals
from evenhand.statistics.intervals import Interval, clopper_pearson


def clustered_mean(values: Reals, clusters: NDArray[np.intp], confidence: float = 0.95) -> Interval | None:
    """The mean with Student's interval over the clusters' sums of residuals; None with fewer than two clusters.

    >>> import numpy as np
    >>> spread = clustered_mean(np.array([0.0, 0.0, 1.0, 1.0]), np.array([0, 0, 1, 1]))
    >>> spread.estimate, spread.n
    (0.5, 4)
    """
    from scipy.stats import t

    _, which = np.unique(clusters, return_inverse=True)
    count = int(which.max()) + 1 if len(which) else 0
    if count < 2:
        return None
    mean = float(values.mean())
    sums = np.bincount(which, weights=values - mean, minlength=count)
    error = float(np.sqrt(count / (count - 1) * np.square(sums).sum())) / len(values)
    reach = float(t.ppf((1 + confidence) / 2, count - 1)) * error
    return Interval(mean, mean - reach, mean + reach, len(values), confidence)


def clustered_share(hits: Reals, clusters: NDArray[np.intp], confidence: float = 0.95) -> Interval | None:
    """The same for a share; where all values are equal, the exact bounds of as many trials as there are clusters.

    >>> import numpy as np
    >>> never = clustered_share(np.zeros(60), np.arange(60) // 2)
    >>> never.estimate, round(never.high, 2)
    (0.0, 0.12)
    """
    spread = clustered_mean(hits, clusters, confidence)
    if spread is None:
        return None
    if spread.width > 0:
        return Interval(spread.estimate, max(0.0, spread.low), min(1.0, spread.high), spread.n, confidence)
    count = len(np.unique(clusters))
    bounds = clopper_pearson(round(spread.estimate * count), count, confidence)
    return Interval(spread.estimate, bounds.low, bounds.high, spread.n, confidence)
