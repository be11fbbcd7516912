"""The one door for models: an object, a file, a folder, a URL or a name becomes a model of the data's rows.

The data's medium decides what the model is asked about; the kinds of models live in `models/adapters`, one file each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from evenhand.contract import Adapter, Medium, Model
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import InvalidArgument
from evenhand.media.table import Table
from evenhand.models.inputs import check_takes
from evenhand.models.model_wishes import ModelWishes, ObjectSettings
from evenhand.models.preparation import Preparation

if TYPE_CHECKING:
    from evenhand.models.torch_adapter import TorchSettings


@runtime_checkable
class _Data(Protocol):
    """Data that is shown by a medium."""

    @property
    def domain(self) -> TabularDomain: ...
    @property
    def medium(self) -> Medium: ...


def wrap(
    model: Any,
    data: TabularDomain | Medium | _Data,
    *,
    classes: Sequence[Any] | None = None,
    takes: str | None = None,
    returns: str | None = None,
    threshold: float | str | None = None,
    trusted: bool = False,
    torch: TorchSettings | None = None,
    prepare: Preparation | None = None,
    objects: ObjectSettings | None = None,
    preset: str | None = None,
    output: int | None = None,
) -> Model:
    """Any model as one that answers rows: of a table, an album, portraits, scenes or texts.

    model: a fitted estimator or pipeline, a booster of XGBoost, LightGBM or CatBoost, a torch module, a callable, a path (.onnx .skops
    .npz .json .ubj .txt .cbm .tl .pt .pth .pt2 .pkl .joblib, an MLflow folder), a URL or HttpModel, `package.module:name`,
    a recogniser's name, or a model of this package, which is returned as it is.
    data: what `evenhand.open` returned, its domain, or its medium; it decides what the model is asked about.
    A label that is an amount makes an estimator or a callable a regression, whose one score is the amount itself.
    classes: the model's classes in its own order, when it does not say them itself.
    takes: 'frame', 'matrix', 'codes' or 'codes_frame', for rows of a table.
    returns: what it says, where that is not plain: 'label', 'probability', 'logit', 'percent', 'score' (with a threshold), 'amount' or
    'counts'.  One number per row speaks for the last of `classes` where they are given, else for the favourable class.
    threshold: from which number on the answer is the class that the number speaks for, or 'best 100' or 'best 10%' of a ranking.
    trusted: allows what can run code when loaded: pickles, torch files, MLflow's Python functions.  torch: how a torch module is used.
    prepare: how pictures become a network's input.  objects: how a recogniser is used.
    preset: the format that a URL is spoken to in: dataframe_split, dataframe_records, kserve_v2, sagemaker_csv, sagemaker_json or vertex.
    output: which label or amount, counted from 0, where the model predicts several at once.

    >>> import evenhand as eh
    >>> data = eh.datasets.load("credit")
    >>> model = eh.wrap(lambda frame: frame["age"] / 100, data)
    >>> model.scores(data.rows[:3]).shape
    (3, 2)
    """
    if classes is not None and (isinstance(classes, str) or len(classes) < 2):
        raise InvalidArgument(f"classes={classes!r} must be a list of at least two labels in the model's own order")
    medium, domain = _shown_by(data)
    _check_amount(domain, {"returns": None if returns in ("amount", "counts") else returns, "threshold": threshold, "classes": classes})
    told = objects or ObjectSettings()
    holder = data if isinstance(data, _Data) else None
    wishes = ModelWishes(
        medium, domain, _dispatch, classes, check_takes(takes), returns, trusted, torch, prepare, told, threshold, holder, preset, output
    )  # fmt: skip
    return _dispatch(model, wishes)


def _check_amount(domain: TabularDomain, declared: Mapping[str, Any]) -> None:
    """A declaration that only classes have is no way to read amounts, and would be passed over in silence."""
    if domain.label is None or not domain.label.is_amount:
        return
    for name, value in declared.items():
        if value is not None:
            label = domain.label.column
            raise InvalidArgument(
                f"{name}={value!r} is for a label with classes, but the label {label!r} is an amount; leave it out, or declare its values"
            )


def _shown_by(data: Any) -> tuple[Medium, TabularDomain]:
    if isinstance(data, TabularDomain):
        return Table(data), data
    if isinstance(data, _Data):
        return (Table(data.domain) if isinstance(data.medium, Table) else data.medium), data.domain
    if isinstance(data, Medium):
        return data, data.domain
    raise InvalidArgument(
        f"data={type(data).__name__} must be what evenhand.open(...) returns, a TabularDomain (evenhand.infer(frame) makes one) or a medium"
    )


def _dispatch(model: Any, wishes: ModelWishes) -> Model:
    if isinstance(model, type):
        raise InvalidArgument(f"model={model.__name__} is a class; pass a fitted object of it")
    if isinstance(model, Model):
        return model
    for given in _readings(model):
        adapter = _adapter(given) if not isinstance(given, Path) or given.exists() else None
        if adapter is not None:
            return adapter.adapt(given, wishes)
    raise _unknown(model)


def _readings(model: Any) -> list[Any]:
    """A text may be a name, an address or a path; a path without an ending that is not there may be a name."""
    if isinstance(model, Path) and not model.exists() and not model.suffix:
        return [model.name, model]
    return [model, Path(model)] if isinstance(model, str) else [model]


def _adapter(given: Any) -> Adapter | None:
    """The first that accepts; adapters of other packages are asked first."""
    from evenhand.models.adapters import ADAPTERS

    known = sorted(ADAPTERS.entries().values(), key=lambda entry: entry.module.startswith("evenhand."))
    return next((adapter for adapter in (entry.make() for entry in known) if adapter.accepts(given)), None)


def _unknown(model: Any) -> InvalidArgument:
    from evenhand.models.adapters.object_files import LOADERS
    from evenhand.models.native_boosters import ENDINGS
    from evenhand.models.recognisers import RECOGNISERS

    if not isinstance(model, str | Path):
        return InvalidArgument(
            f"model is a {type(model).__module__}.{type(model).__name__}; expected a fitted estimator, a torch module, a callable, "
            "a path to a model file, a URL or an HttpModel"
        )
    path = Path(model)
    if path.is_file():
        endings = " ".join([".onnx", ".npz", *LOADERS, *ENDINGS])
        if path.suffix.lower() in ENDINGS:
            return InvalidArgument(f"model={path.name!r} does not begin as a model that XGBoost, LightGBM or CatBoost saved")
        return InvalidArgument(f"model={path.name!r} has the ending {path.suffix!r}; known are {endings}, MLflow folders and URLs")
    what = "is a folder without an MLmodel file" if path.is_dir() else "is not there"
    return InvalidArgument(
        f"model={str(model)!r} {what}; expected a model file, an MLflow folder, a URL, package.module:name, "
        f"or the name of a recogniser ({', '.join(RECOGNISERS.entries())})"
    )
