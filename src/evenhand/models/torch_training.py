"""How a torch module is fitted again: Adam from fresh weights, and a loss that may also ask for equal answers to pairs of rows.

A part without `reset_parameters` keeps its weights, so that a module of only such parts is trained further instead of from scratch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.arrays import Labels, Rows
from evenhand.contract import Pairs
from evenhand.errors import InvalidArgument, MissingAbility
from evenhand.models.torch_inputs import flat

if TYPE_CHECKING:
    from evenhand.models.torch import TorchModel

BATCH = 256
FLOOR = 1e-7


def train(model: TorchModel, rows: Rows, labels: Labels, seed: int, pairs: Pairs | None = None) -> None:
    """Fit the model's module in place; the global state of torch's randomness stays as it is."""
    import torch

    order = np.array([model.reader.columns.index(name) if name in model.reader.columns else -1 for name in model.classes])
    if (order[labels] < 0).any():
        raise InvalidArgument("labels holds a class that the module has no output for")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        reset(model.module)
        modes = [(part, part.training) for part in model.module.modules()]
        set_mode(model.module, True)
        _descend(model, rows, torch.as_tensor(order[labels]), pairs)
        for part, training in modes:
            part.training = training


def set_mode(module: Any, training: bool) -> None:
    """Training or evaluation, also for exported programs."""
    try:
        module.train(training)
    except NotImplementedError:  # exported programs refuse train() and eval(): they were fixed when exported
        for part in module.modules():
            part.training = training


def _descend(model: TorchModel, rows: Rows, targets: Any, pairs: Pairs | None) -> None:
    import torch

    parameters = [p for p in model.module.parameters() if p.requires_grad]
    if not parameters:
        raise MissingAbility("the module has no parameters that can be trained (all have requires_grad=False)")
    optimiser = torch.optim.Adam(parameters, lr=model.settings.learning_rate)
    inputs = model.front.tensor(rows)
    sides = None if pairs is None else (model.front.tensor(pairs.first), model.front.tensor(pairs.second))
    for _ in range(model.settings.epochs):
        shuffled = torch.randperm(len(rows))
        for batch in torch.split(shuffled, BATCH):
            if len(batch) > 1 or len(rows) == 1:  # batch norm cannot train on a single row
                optimiser.zero_grad()
                loss = _loss(model, inputs[batch], targets[batch])
                if pairs is not None and sides is not None and len(sides[0]):
                    some = torch.randint(len(sides[0]), (BATCH,))
                    loss = loss + pairs.weight * _apart(model, sides[0][some], sides[1][some])
                loss.backward()
                optimiser.step()


def _loss(model: TorchModel, inputs: Any, targets: Any) -> Any:
    import torch

    values = flat(model.forward(inputs)).float()
    if model.reader.form == "favourable":
        towards = (targets == 1).float()
        chance = torch.sigmoid(values[:, 0]) if model.reader.logits else values[:, 0]
        return torch.nn.functional.binary_cross_entropy(chance.clamp(FLOOR, 1 - FLOOR), towards)
    if model.reader.logits:
        return torch.nn.functional.cross_entropy(values, targets)
    return torch.nn.functional.nll_loss(values.clamp_min(FLOOR).log(), targets)


def _apart(model: TorchModel, first: Any, second: Any) -> Any:
    """The mean squared distance of the two sides' centred logits."""
    import torch

    both = _centred(model, flat(model.forward(torch.cat([first, second]))).float())
    return (both[: len(first)] - both[len(first) :]).square().mean()


def _centred(model: TorchModel, values: Any) -> Any:
    import torch

    if model.reader.form == "favourable":
        odds = values[:, :1] if model.reader.logits else torch.logit(values[:, :1], eps=FLOOR)
        return torch.cat([-odds, odds], dim=1) / 2
    logits = values if model.reader.logits else values.clamp_min(FLOOR).log()
    return logits - logits.mean(dim=1, keepdim=True)


def reset(module: Any) -> None:
    """Fresh weights for every part that can have them."""
    for part in module.modules():
        if hasattr(part, "reset_parameters"):
            part.reset_parameters()
