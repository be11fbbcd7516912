"""Torch modules that are asked about rows of codes: scores of classes, or amounts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Labels, Rows, Scores
from evenhand.contract import SCORES, Model, Pairs, Slope
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import EvenhandError, InvalidArgument, ModelFailed, UnsteadyModel, WrongAnswer, require
from evenhand.media.picture_batches import PICTURES_AT_ONCE
from evenhand.models.answer_shapes import Reader, declared_or_own
from evenhand.models.differences import Steps, in_batches, neighbour_gradient
from evenhand.models.fitting_again import check_labels, seed_of
from evenhand.models.inputs import first_line, probe_rows
from evenhand.models.readings import confirm
from evenhand.models.torch_adapter import TorchAdapter, TorchSettings, at_least_float32, constant_slope
from evenhand.models.torch_inputs import CodesFront, Front, PictureFront, flat, make_front
from evenhand.models.torch_training import train
from evenhand.models.torch_trials import PROBED, check_steady, scale_of, trial_answer
from evenhand.models.trial_rows import TrialRows

SMALLEST = 1e-12


@dataclass(frozen=True, eq=False)
class TorchModel(TorchAdapter):
    """A module that is asked about rows of codes."""

    front: CodesFront
    reader: Reader

    @property
    def domain(self) -> TabularDomain:
        """What the rows may be."""
        return self.front.domain

    @property
    def classes(self) -> tuple[Any, ...]:
        """The label values, in the order of the score columns."""
        return self.reader.classes

    @property
    def is_hard(self) -> bool:
        """A module gives scores."""
        return False

    def gradient_rows(self, columns: int) -> int:
        """How many rows the module is asked for one gradient: more than one where some columns go by differences."""
        cut = len(self.front.cut_places)
        return 1 + cut + (1 if 0 < cut < columns else 0)

    def _answer(self, output: Any, asked: int) -> Any:
        return _scores(output, self.reader, asked)

    def scores(self, rows: Rows) -> Scores:
        """Probabilities, (n, classes)."""
        return self._values(rows, (SCORES,))[SCORES]

    def gradient(self, rows: Rows, cotangent: NDArray[Any], layer: str = SCORES) -> Rows:
        """Per row, the gradient by the codes of sum(cotangent * layer's values), (n, columns)."""
        self._check_layers((layer,))
        if len(cotangent) != len(rows):
            raise InvalidArgument(f"cotangent has {len(cotangent)} rows for {len(rows)} rows of codes")
        out = np.zeros(rows.shape)
        size, cut = self.batch_rows, self.front.cut_places
        for at in range(0, len(rows), size):
            part = slice(at, at + size)
            if len(cut) < rows.shape[1]:
                out[part] = self._autograd(rows[part], constant_slope(cotangent[part]), layer)
            if cut:
                out[part][:, list(cut)] = self._by_neighbours(rows[part], cotangent[part], layer)[:, list(cut)]
        return out

    def _by_neighbours(self, rows: Rows, cotangent: NDArray[Any], layer: str) -> Rows:
        steps = Steps(self.front.cut_places, 1.0, self.domain.low, self.domain.high)
        values = self._values
        return neighbour_gradient(
            lambda asked: in_batches(lambda batch: values(batch, (layer,))[layer], asked, self.batch_rows), rows, cotangent, steps
        )

    def pullback(self, rows: Rows, slope: Slope, layer: str = SCORES) -> Rows:
        """Per row, the gradient by the codes of the loss with this slope; one pass unless some columns go by differences."""
        self._check_layers((layer,))
        if self.front.cut_places:
            return self.gradient(rows, slope(self._values(rows, (layer,))[layer]), layer)
        return self._autograd(rows, slope, layer)

    def refit(self, rows: Rows, labels: Labels, rng: np.random.Generator) -> Model:
        """A re-initialised copy trained with Adam; the global state of torch's randomness stays as it is."""
        check_labels(rows, labels, len(self.classes))
        model = self.copy()
        train(model, rows, labels, seed_of(rng))
        return model

    def refit_consistently(self, rows: Rows, labels: Labels, pairs: Pairs, rng: np.random.Generator) -> Model:
        """A re-initialised copy trained to answer both sides of each pair alike too."""
        check_labels(rows, labels, len(self.classes))
        model = self.copy()
        train(model, rows, labels, seed_of(rng), pairs)
        return model

    def fingerprint(self) -> str:
        """A digest of parameters, buffers and the answers to fixed rows."""
        inputs = "a callable" if callable(self.settings.inputs) else self.settings.inputs
        digest = self._weights_digest(f"{self.reader} {inputs}")
        digest.update(np.round(self.scores(probe_rows(self.domain)), 4).tobytes())
        return f"torch-{digest.hexdigest()[:24]}"


def from_module(
    module: Any,
    domain: TabularDomain,
    classes: Sequence[Any] | None = None,
    settings: TorchSettings | None = None,
    trial: TrialRows | None = None,
) -> TorchModel:
    """A torch module as a model, once it answers a few rows alike alone and in company, and alike twice.

    A single output speaks for the second of `classes`, as in training with binary cross-entropy.
    """
    require("torch", "torch")
    settings = settings or TorchSettings()
    reader = declared_or_own(domain, classes)
    reader = replace(reader, single=reader.classes.index(reader.columns[-1]))
    model = TorchModel(module, make_front(module, domain, settings), reader, settings=settings)
    model = replace(model, reader=_settled(model))
    check_steady(model)
    if trial is None or trial.labels is None or model.reader.form == "favourable":
        return model
    return replace(model, reader=confirm(model.reader, flat(trial_answer(model, trial.rows)).float().numpy(), trial.labels))


def _settled(model: TorchModel) -> Reader:
    rows = probe_rows(model.domain)
    values = flat(trial_answer(model, rows)).float()
    form: Literal["favourable", "scores"] = "favourable" if values.shape[1] == 1 else "scores"
    reader = replace(model.reader, form=form, scale=scale_of(model, model.settings.outputs))
    reader.read(values.numpy(), len(rows))
    return reader


def _scores(output: Any, reader: Reader, rows: int) -> Any:
    """A differentiable tensor of probabilities in the order of the classes."""
    import torch

    values = at_least_float32(flat(output))
    if values.shape[0] != rows:
        raise WrongAnswer(f"the module answered {rows} rows with a tensor of shape {tuple(output.shape)}")
    if reader.form == "favourable":
        chance = torch.sigmoid(values[:, 0]) if reader.logits else values[:, 0]
        pair = (1 - chance, chance)
        return torch.stack(pair if reader.single == 1 else pair[::-1], dim=1)
    values = torch.softmax(values, dim=1) if reader.logits else values
    if reader.columns == reader.classes:
        return values
    blank = torch.zeros_like(values[:, 0])
    by_name = {name: values[:, at] for at, name in enumerate(reader.columns)}
    return torch.stack([by_name.get(name, blank) for name in reader.classes], dim=1)


@dataclass(frozen=True, eq=False)
class TorchAmounts(TorchAdapter):
    """A module that says one number, or several, for each row of codes, or for each picture."""

    front: Front

    def _answer(self, output: Any, asked: int) -> Any:
        import torch

        if not isinstance(output, torch.Tensor) or not output.ndim or len(output) != asked:
            shape = tuple(output.shape) if isinstance(output, torch.Tensor) else type(output).__name__
            raise WrongAnswer(f"the module answered {asked} rows with {shape}; expected a tensor with one amount for each row")
        return output.reshape(asked, -1)

    def __call__(self, rows: NDArray[Any]) -> NDArray[np.floating[Any]]:
        """The module's own numbers, (n, outputs)."""
        return self._values(rows, (SCORES,))[SCORES]


def torch_amounts(module: Any, domain: TabularDomain, settings: TorchSettings | None = None) -> TorchAmounts:
    """A torch module as a regression, once it answers a few rows alike alone and in company, and alike twice."""
    require("torch", "torch")
    settings = settings or TorchSettings()
    return _steady(TorchAmounts(module, make_front(module, domain, settings), settings=settings), probe_rows(domain, PROBED))


def torch_picture_amounts(module: Any, front: PictureFront) -> TorchAmounts:
    """The same for a regression of pictures."""
    require("torch", "torch")
    asked = TorchAmounts(module.to(front.device), front, settings=TorchSettings(batch_rows=PICTURES_AT_ONCE))
    return _steady(asked, front.sample(PROBED))


def _steady(asked: TorchAmounts, things: NDArray[Any]) -> TorchAmounts:
    """The regression; raises where its answers change by themselves, or with the company."""
    first, again = _amounts(asked, things), _amounts(asked, things)
    alone = np.concatenate([_amounts(asked, things[at : at + 1]) for at in range(8)])
    scale = max(float(np.nanstd(first)), float(np.abs(first).mean()) * 1e-3, SMALLEST)
    if not np.allclose(first, again, rtol=0, atol=1e-4 * scale, equal_nan=True):
        raise UnsteadyModel("the module answers the same rows differently the second time; switch off dropout and sampling in its forward")
    if not np.allclose(first[:8], alone, rtol=0, atol=1e-3 * scale, equal_nan=True):
        raise UnsteadyModel("the module answers rows differently alone and in company; does it normalise over the batch?")
    return asked


def _amounts(asked: TorchAmounts, rows: NDArray[Any]) -> NDArray[np.floating[Any]]:
    try:
        return asked(rows)
    except EvenhandError:
        raise
    except Exception as fault:  # a module may raise anything
        raise ModelFailed(
            f"{type(asked.module).__name__} raised {type(fault).__name__} on {len(rows)} rows: {first_line(fault)}.  {asked.front.advice}"
        ) from fault
