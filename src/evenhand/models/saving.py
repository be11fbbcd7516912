"""A mended model on disk in formats that run no code when read: plain arrays, ONNX, a booster's numbers, and JSON around them.

A dense network is one file that `evenhand.wrap` reads.  Any other model is a folder with `evenhand-model.json`, which `evenhand.wrap`
reads too, without trust.  Fitted estimators are written by `models/saved_estimators.py`.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.contract import Medium, Model
from evenhand.disk import digest_of, read_bytes, read_sealed, sealed, whole_file, write_whole
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import EvenhandError, InvalidArgument, MissingAbility, MissingExtra, StoreError
from evenhand.models.amount_models import AmountModel
from evenhand.models.composed import ConstantModel, Marginalised, Masked, Mixture, ScoreCut, Shifted, Thresholded, ThresholdRule
from evenhand.models.dense import DenseNet
from evenhand.models.estimator import EstimatorModel
from evenhand.models.inputs import first_line
from evenhand.models.onnx import OnnxModel
from evenhand.models.preparation import Preparation
from evenhand.models.saved_estimators import Fixed, read_estimator, write_estimator, write_session
from evenhand.models.shown import ShownModel
from evenhand.models.torch import TorchModel
from evenhand.models.torch_pictures import TorchClassifier

DESCRIPTION = "evenhand-model.json"
VERSION = 1


def save(model: Model, folder: Path) -> Path:
    """Write the model into a new folder; the file or folder to give to `evenhand.wrap`.  Nothing is ever overwritten."""
    folder = Path(folder)
    if folder.exists() and any(folder.iterdir() if folder.is_dir() else [folder]):
        raise StoreError(f"{folder} exists and is not empty; name another folder")
    folder.mkdir(parents=True, exist_ok=True)
    try:
        written = _write(model, folder, {})
    except OSError as fault:
        raise StoreError(f"cannot write the model to {folder}: {fault.strerror or fault}") from fault
    return written


def _write(model: Model, folder: Path, fixed: Fixed) -> Path:
    described = _described(model, folder, fixed)
    if described is None:
        return _plain(model, folder)
    path = folder / DESCRIPTION
    write_whole(path, sealed({"evenhand_model": VERSION, **described}))
    return folder


def _described(model: Model, folder: Path, fixed: Fixed) -> dict[str, Any] | None:
    """What the description of a model around others says; None for a plain model."""
    if isinstance(model, ConstantModel):
        return {"kind": "constant", "classes": list(model.classes), "chances": model.chances.tolist()}
    if isinstance(model, Masked):
        hidden = {**dict(zip(model.places, model.codes, strict=True)), **fixed}
        return {"kind": "masked", "places": list(model.places), "codes": list(model.codes), "base": _base(model.base, folder, hidden)}
    if isinstance(model, Marginalised):
        protected = list(model.domain.protected)
        return {"kind": "marginalised", "weights": model.weights.tolist(), "protected": protected, "base": _base(model.base, folder, fixed)}
    if isinstance(model, Thresholded):
        groups = [[None if np.isnan(code) else code for code in group] for group in model.groups.tolist()]
        rules = [asdict(rule) | {"first": _text(rule.first), "second": _text(rule.second)} for rule in model.rules]
        told = {"places": list(model.places), "groups": groups, "rule_of": list(model.rule_of), "rules": rules}
        return {"kind": "thresholded", **told, "base": _base(model.base, folder, fixed)}
    if isinstance(model, Shifted):
        groups = [[None if np.isnan(code) else code for code in group] for group in model.groups.tolist()]
        told = {"places": list(model.places), "groups": groups, "shifts": model.shifts.tolist()}
        return {"kind": "shifted", **told, "base": _base(model.base, folder, fixed)}
    if isinstance(model, Mixture):
        bases = [_base(each, folder, fixed, f"model-{place}") for place, each in enumerate(model.models)]
        return {"kind": "mixture", "weights": list(model.weights), "by_label": model.by_label, "bases": bases}
    if isinstance(model, EstimatorModel) or (isinstance(model, AmountModel) and hasattr(model.source, "predict")):
        return write_estimator(model, folder, fixed)
    if isinstance(model, OnnxModel):
        return write_session(model, folder, fixed)
    if isinstance(model, TorchModel):
        written = _torch(model, folder)
        return {"kind": "torch", "classes": list(model.classes), "path": written.name} | _sum(written)
    if isinstance(model, ShownModel) and isinstance(model.reader, TorchClassifier):
        written = _pictures(model.reader, _sides(model), folder)
        return {"kind": "pictures", "classes": list(model.reader.classes), "path": written.name} | _sum(written)
    return None


def _base(model: Model, folder: Path, fixed: Fixed, name: str = "model") -> dict[str, Any]:
    """Where the inner model lies, its classes, and how it takes rows."""
    inner = folder / name
    inner.mkdir(exist_ok=True)
    told: dict[str, Any] = {"classes": list(model.classes)}
    try:
        written = _write(model, inner, fixed)
    except MissingAbility as fault:
        inner.rmdir()
        return told | {"missing": str(fault)}
    return told | {"path": written.relative_to(folder).as_posix()} | _sum(written)


def _sum(file: Path) -> dict[str, str]:
    """The checksum of a file that a description names; a folder has a description of its own."""
    return {"sum": digest_of(file.read_bytes())} if file.is_file() else {}


def _plain(model: Model, folder: Path) -> Path:
    if isinstance(model, DenseNet):
        model.save(folder / "model.npz")
        return folder / "model.npz"
    raise MissingAbility(
        f"{type(model).__name__} cannot be written to a file that is safe to read; what was built around it can, and wants it again"
    )


def _torch(model: TorchModel, folder: Path) -> Path:
    """An ONNX graph from codes to scores, which needs none of the user's code."""
    import torch

    from evenhand.models.inputs import probe_rows

    return _written(_whole(model), torch.tensor(np.nan_to_num(probe_rows(model.domain, 4)), dtype=model.front.dtype), "codes", folder)


def _pictures(reader: TorchClassifier, sides: tuple[int, int], folder: Path) -> Path:
    """An ONNX graph from pictures (n, 3, height, width) between 0 and 1 to scores, whatever the module itself wants."""
    import torch

    return _written(_whole_of_pictures(reader), torch.rand(2, 3, *sides), "pictures", folder)


def _sides(model: ShownModel) -> tuple[int, int]:
    """Height and width of what the model is shown."""
    from evenhand.models.inputs import probe_rows

    height, width = np.asarray(model.medium.show(probe_rows(model.medium.domain, 1))).shape[1:3]
    return int(height), int(width)


def _written(whole: Any, sample: Any, asked: str, folder: Path) -> Path:
    """The graph; the bare weights where the module cannot be exported."""
    try:
        with whole_file(folder / "model.onnx") as new:
            _export(whole.eval(), sample, asked, new)
        return folder / "model.onnx"
    except OSError:
        raise
    except Exception:  # a module may contain anything; its weights can always be written
        weights = {name: tensor.detach().cpu().numpy() for name, tensor in whole.module.state_dict().items()}
        with whole_file(folder / "weights.npz") as new:
            np.savez(new, **weights)
        return folder / "weights.npz"


def _export(whole: Any, sample: Any, asked: str, path: Path) -> None:
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            whole,
            (sample,),
            str(path),
            dynamo=False,
            input_names=[asked],
            output_names=["scores"],
            dynamic_axes={asked: {0: "rows"}, "scores": {0: "rows"}},
        )


def _whole(model: Any) -> Any:
    """A copy of the module with what stands before and behind it: missing cells filled, categories spread out, answers as scores."""
    import torch

    from evenhand.contract import SCORES

    class Whole(torch.nn.Module):
        """Codes in, scores out."""

        def __init__(self) -> None:
            super().__init__()
            self.module = copy.deepcopy(model.module)
            self.model = [replace(model, module=self.module)]  # in a list, so that it is no part of the program

        def forward(self, codes: Any) -> Any:
            """Scores in the order of the label's values."""
            front = model.front
            if front.fill is not None:
                codes = torch.where(torch.isnan(codes), torch.as_tensor(front.fill, dtype=codes.dtype), codes)
            if front.spread:
                blocks = [
                    (codes[:, p : p + 1] == torch.arange(width, dtype=codes.dtype)).to(codes.dtype)
                    if p in front.spread
                    else codes[:, p : p + 1]
                    for p, width in enumerate(front._widths)
                ]
                codes = torch.cat(blocks, dim=1)
            return self.model[0]._value(codes, SCORES, codes.shape[0])

    return Whole()


def _whole_of_pictures(reader: TorchClassifier) -> Any:
    """A copy of the module with what stands before and behind it: pictures prepared, answers as scores."""
    import torch

    class Whole(torch.nn.Module):
        """Pictures in, scores out."""

        def __init__(self) -> None:
            super().__init__()
            self.module = copy.deepcopy(reader.module)
            self.reader = [replace(reader, module=self.module)]  # in a list, so that it is no part of the program

        def forward(self, pictures: Any) -> Any:
            """Scores in the order of the module's classes."""
            return torch.softmax(self.reader[0].answers(pictures * 255.0), dim=1)

    return Whole()


def load(path: Path, data: TabularDomain | Medium, base: Model | None = None, trusted: bool = False) -> Model:
    """A model that `save` wrote; `base` stands in for an inner model that could not be written.

    data: the domain of a table, or the medium of pictures.
    """
    from evenhand.models.wrap import wrap

    path = Path(path)
    if not path.is_dir():
        return wrap(path, data, trusted=trusted)
    domain = data if isinstance(data, TabularDomain) else data.domain
    try:
        told = _read(path / DESCRIPTION)
        if told.get("kind") == "estimator":
            return read_estimator(told, path, domain)
        return _built(told, domain, lambda told: _inner(told, path, data, base, trusted))
    except (KeyError, TypeError, AttributeError, IndexError, ValueError, RecursionError) as fault:
        if isinstance(fault, EvenhandError):
            raise
        raise StoreError(f"{path / DESCRIPTION} does not describe a model: {first_line(fault)}") from fault


def _read(file: Path) -> dict[str, Any]:
    try:
        told = read_sealed(file, required=False)
    except StoreError as fault:
        raise StoreError(f"the description of a model cannot be read: {fault}") from fault
    if not isinstance(told, dict) or told.get("evenhand_model") != VERSION:
        raise StoreError(f"{file} is not a model description of version {VERSION}")
    return told


def _inner(told: dict[str, Any], folder: Path, data: TabularDomain | Medium, base: Model | None, trusted: bool) -> Model:
    from evenhand.models.wrap import wrap

    if "path" not in told:
        if base is None:
            raise InvalidArgument(
                f"{folder} was built around a model that is not in it ({told.get('missing')}); open it in Python with that model: "
                "evenhand.models.saving.load(folder, domain, base=model)"
            )
        return base
    inner = (folder / str(told["path"])).resolve()
    if not inner.is_relative_to(folder.resolve()) or inner == folder.resolve():
        raise StoreError(f"{folder / DESCRIPTION} points outside its folder: {told['path']!r}")
    if "sum" in told and told["sum"] != digest_of(read_bytes(inner)):
        raise StoreError(f"{inner} is damaged: its checksum is not the one in {folder / DESCRIPTION}; restore it from a copy")
    if inner.is_dir():
        return load(inner, data, base, trusted)
    if inner.suffix == ".onnx" and told.get("kind") == "pictures":
        return _of_pictures(inner, data, told["classes"])
    if inner.suffix == ".onnx" and isinstance(data, TabularDomain):
        return _graph(inner, data, told["classes"])
    return wrap(inner, data, classes=told["classes"], takes=told.get("takes"), trusted=trusted)


def _graph(file: Path, domain: TabularDomain, classes: list[Any]) -> Model:
    """As a torch module, whose gradients can be read, where every step of the graph is known; else through the ONNX session."""
    from evenhand.models.inputs import probe_rows
    from evenhand.models.onnx import from_onnx
    from evenhand.models.onnx_torch import torch_from_onnx
    from evenhand.models.readings import Declared
    from evenhand.models.torch_adapter import TorchSettings
    from evenhand.models.trial_rows import TrialRows

    try:
        return torch_from_onnx(file, domain, classes, TorchSettings(inputs=_as_they_are, outputs="probabilities"))
    except (MissingAbility, MissingExtra):
        return from_onnx(file, domain, classes, "codes", TrialRows(probe_rows(domain), declared=Declared("scores")))


def _of_pictures(file: Path, data: TabularDomain | Medium, classes: list[Any]) -> Model:
    """As a torch module where every step of the graph is known; else through the ONNX session."""
    from evenhand.models.onnx_torch import convert
    from evenhand.models.torch_adapter import TorchSettings
    from evenhand.models.wrap import wrap

    try:
        return wrap(convert(file), data, classes=classes, prepare=Preparation(), torch=TorchSettings(outputs="probabilities"))
    except (MissingAbility, MissingExtra):
        return wrap(file, data, classes=classes, prepare=Preparation(), returns="probability")


def _as_they_are(codes: Any) -> Any:
    """A written program prepares codes itself, missing cells too."""
    return codes.clone()


def _built(told: dict[str, Any], domain: TabularDomain, inner: Callable[[dict[str, Any]], Model]) -> Model:
    kind = told.get("kind")
    if kind in ("torch", "pictures"):
        return inner(told)
    if kind == "constant":
        return ConstantModel(tuple(told["classes"]), np.array(told["chances"], dtype=np.float64))
    if kind == "masked":
        return Masked(inner(told["base"]), tuple(told["places"]), tuple(told["codes"]))
    if kind == "marginalised":
        return Marginalised(inner(told["base"]), domain.protect(*told["protected"]), np.array(told["weights"]))
    if kind == "thresholded":
        groups = np.array([[np.nan if code is None else code for code in group] for group in told["groups"]], dtype=np.float64)
        rules = tuple(_rule(each) for each in told["rules"])
        return Thresholded(inner(told["base"]), tuple(told["places"]), groups, tuple(told["rule_of"]), rules)
    if kind == "shifted":
        groups = np.array([[np.nan if code is None else code for code in group] for group in told["groups"]], dtype=np.float64)
        return Shifted(inner(told["base"]), tuple(told["places"]), groups, np.array(told["shifts"], dtype=np.float64))
    if kind == "mixture":
        models = tuple(inner(each) for each in told["bases"])
        return Mixture(models, tuple(told["weights"]), bool(told["by_label"]))
    raise StoreError(f"unknown kind of model {kind!r}; it was written by another release")


def _rule(told: dict[str, Any]) -> ThresholdRule:
    first, second = (_cut(*told[name]) for name in ("first", "second"))
    return ThresholdRule(told["constant"], told["constant_share"], told["first_share"], first, second)


def _text(cut: ScoreCut) -> list[str]:
    """As text, because JSON has no infinity."""
    return [cut.sign, repr(cut.threshold)]


def _cut(sign: str, threshold: str) -> ScoreCut:
    return ScoreCut(">" if sign == ">" else "<", float(threshold))
