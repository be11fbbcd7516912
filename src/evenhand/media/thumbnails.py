"""Pictures in small, for sheets and cards: the mean of blocks of pixels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def thumbnail(picture: NDArray[np.uint8], high: int) -> NDArray[np.uint8]:
    """At most about so many pixels high; a small picture as it is.

    >>> thumbnail(np.full((200, 100, 3), 7, np.uint8), 96).shape
    (66, 33, 3)
    """
    step = -(-picture.shape[0] // high)
    rows, columns = (picture.shape[0] // step) * step, (picture.shape[1] // step) * step
    if step == 1 or not columns:
        return picture
    blocks = picture[:rows, :columns].reshape(rows // step, step, columns // step, step, 3).mean(axis=(1, 3))
    return np.asarray(blocks.astype(np.uint8))
