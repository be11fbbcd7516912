"""What a torch module shows of itself when it is tried: whether it answers at all, in logits or probabilities, and steadily."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.errors import UnclearAnswers, UnsteadyModel, WrongAnswer
from evenhand.models.answer_shapes import SLACK, Scale
from evenhand.models.torch_adapter import Outputs, TorchAdapter
from evenhand.models.torch_inputs import CodesFront, flat

if TYPE_CHECKING:
    from evenhand.models.torch import TorchModel
    from evenhand.models.torch_pictures import TorchClassifier

PROBED = 64
PROBED_PICTURES = 8


def trial_answer(model: TorchAdapter, asked: Any) -> Any:
    """The module's own answer to a few things, checked to be a tensor with one entry for each."""
    import torch

    with torch.no_grad(), model.at_work():
        output = model.forward(model.front.tensor(asked))
    if not isinstance(output, torch.Tensor):
        raise WrongAnswer(f"the module answered with a {type(output).__name__}; expected one tensor of scores, a row for each input")
    if not output.ndim or len(output) != len(asked):
        raise WrongAnswer(f"the module answered {len(asked)} rows with a tensor of shape {tuple(output.shape)}")
    return output


def scale_of(model: TorchAdapter, outputs: Outputs) -> Scale:
    """Whether the module answers in logits or in probabilities."""
    return "logit" if _gives_logits(model, outputs) else "probability"


def _gives_logits(model: TorchAdapter, outputs: Outputs) -> bool:
    """Whether answers are logits: said, or seen from a trial; the output of a linear layer always is."""
    import torch

    if outputs != "auto":
        return outputs == "logits"
    ended_linear: list[Any] = []
    linear = [part for part in model.module.modules() if isinstance(part, torch.nn.Linear)]
    handles = [part.register_forward_hook(lambda _part, _inputs, out: ended_linear.append(out)) for part in linear]
    try:
        output = trial_answer(model, model.front.sample(PROBED if isinstance(model.front, CodesFront) else PROBED_PICTURES))
    finally:
        for handle in handles:
            handle.remove()
    values = flat(output).float()
    if any(output is out for out in ended_linear):
        return True
    if values.shape[1] == 1 and bool(values.min() >= -SLACK) and bool(values.max() > 1 + SLACK):
        raise UnclearAnswers(
            f"the module's one output goes from {float(values.min()):.4g} to {float(values.max()):.4g}, which is no probability, "
            "and it does not end in a linear layer; say what it is with returns='logit', or let the module return probabilities"
        )
    return not _are_probabilities(values)


def _are_probabilities(values: Any) -> bool:
    if not (bool((values >= -1e-4).all()) and bool((values <= 1 + 1e-4).all())):
        return False
    return values.shape[1] == 1 or bool(((values.sum(dim=1) - 1).abs() < 2e-2).all())


def check_steady(model: TorchModel | TorchClassifier) -> None:
    """Raise where an answer changes from one time to the next, or with the company of other rows."""
    rows = model.front.sample(8)
    together, again = model.scores(rows), model.scores(rows)
    # bfloat16 keeps 8 bits, so that a different order of summation shows.
    slack = 5e-2 if "bfloat16" in str(getattr(model.front, "dtype", "")) else 1e-3
    if not np.allclose(together, again, atol=slack, equal_nan=True):
        raise UnsteadyModel(
            "the module gives two answers to one question although it is in evaluation mode; look for functional dropout "
            "without training=self.training, or noise drawn in forward"
        )
    if not np.allclose(together[:3], model.scores(rows[:3]), atol=slack, equal_nan=True):
        raise UnsteadyModel(
            "the module's answer to a row depends on the other rows of its batch although it is in evaluation mode; look for batch norm "
            "with track_running_stats=False or functional batch norm with training=True"
        )
