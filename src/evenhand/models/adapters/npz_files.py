"""Dense networks in .npz files, as `DenseNet.save` writes them; asked about rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evenhand.contract import Model
from evenhand.errors import InvalidArgument
from evenhand.models.model_wishes import ModelWishes


def accepts(given: Any) -> bool:
    """A path that ends in .npz."""
    return isinstance(given, Path) and given.suffix.lower() == ".npz"


def adapt(given: Path, wishes: ModelWishes) -> Model:
    """The net, once it takes as many columns as there are."""
    from evenhand.models.dense import DenseNet

    if wishes.asked != "rows":
        raise wishes.refuse(f"the dense net {given.name}", "it takes rows of a table")
    net = DenseNet.from_npz(given)
    if len(net.kernels[0]) != len(wishes.domain.columns):
        raise InvalidArgument(f"{given.name} takes {len(net.kernels[0])} columns, the domain has {len(wishes.domain.columns)}")
    return net.named(wishes.classes if wishes.classes is not None else net.classes, wishes.domain)
