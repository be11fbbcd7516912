"""Pictures as torch tensors and back; torch is imported when they are made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evenhand.contract import Pictures

if TYPE_CHECKING:
    from torch import Tensor


def to_tensor(pictures: Pictures, device: Any = "cpu") -> Tensor:
    """Pictures as float32 (n, 3, height, width), still between 0 and 255."""
    import torch

    values = torch.from_numpy(np.ascontiguousarray(pictures)).to(device).permute(0, 3, 1, 2)
    return values.to(torch.float32).contiguous(memory_format=torch.channels_last)


def to_pictures(values: Tensor) -> NDArray[np.float32]:
    """The way back from `to_tensor`."""
    return np.ascontiguousarray(values.detach().permute(0, 2, 3, 1).cpu().numpy())
