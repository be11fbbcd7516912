"""Names for the arrays that travel through the package.  Nothing here computes.

Rows hold codes: a category is its place in the column's values, a number is itself, and NaN is a missing cell.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Rows: TypeAlias = NDArray[np.float64]  # (n, columns)
Orbit: TypeAlias = NDArray[np.float64]  # (combinations, n, columns)
Scores: TypeAlias = NDArray[np.floating[Any]]  # (n, classes)
Labels: TypeAlias = NDArray[np.intp]  # (n,) positions in the model's classes
Mask: TypeAlias = NDArray[np.bool_]  # (n,)
Index: TypeAlias = NDArray[np.intp]  # (n,)
Keys: TypeAlias = NDArray[np.uint64]  # (n,)
Reals: TypeAlias = NDArray[np.float64]  # (n,)
