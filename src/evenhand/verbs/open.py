"""open(): the one door for data, whatever the medium: a frame, a file, a folder, a project, or the name of an embedded table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from evenhand.campaign.opened_project import editor_tools, open_project
from evenhand.contract import DataWishes, Editor, Loader
from evenhand.datasets.dataset import Dataset
from evenhand.datasets.loaders import LOADERS, loader_of_kind
from evenhand.domain.columns import Value
from evenhand.errors import DataError, EvenhandError, InvalidArgument
from evenhand.registry import Entry

PROJECT = "evenhand.yaml"


def open(  # noqa: A001 - the public name is evenhand.open
    source: object,
    *,
    label: str | None = None,
    favourable: object = None,
    protected: Sequence[str | Editor] | str = (),
    kind: str | None = None,
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    abstention: object = None,
) -> Dataset:
    """Data of any medium, ready to be scanned.

    source: a pandas or polars frame, an Album, a path (a CSV or Parquet table, a folder of pictures, templates of texts, scenes, an
    evenhand.yaml or its folder), or the name of an embedded table.
    label: what the model predicts.  favourable: the outcome or outcomes that a person hopes for.
    protected: columns, attributes or slots that must not change the answer; for pictures also editors.
    kind: album, text, portraits, table, ... where the source leaves that open.  settings: what a loader of this kind takes, the same keys
    as below `medium:` in evenhand.yaml.  seed: of what an editor learns.
    abstention: a label that only the model says, where it leaves a case to a person; it becomes one of the label's values.

    >>> import evenhand as eh
    >>> eh.open("credit", protected=["age"]).domain.protected
    ('age',)
    >>> letters = eh.open("portraits", protected=["tone"], settings={"count": 20, "size": 16})
    >>> letters.medium.show(letters.rows[:3]).shape
    (3, 16, 16, 3)
    """
    names = (protected,) if isinstance(protected, str) else tuple(protected)
    if isinstance(source, Dataset):
        return source.protect(*(str(name) for name in names)) if names else source
    if (project := _project_file(source)) is not None and kind is None:
        data = open_project(project).data
        return data.protect(*(str(name) for name in names)) if names else data
    wishes = DataWishes(editor_tools(seed), label, as_tuple(favourable), names)
    entry = loader_of_kind(kind) if kind else loader_for(source)
    loaded = entry.with_parameters(settings or {}).load(source, wishes)
    return loaded if abstention is None else _with_abstention(loaded, abstention)


def _with_abstention(data: Dataset, abstention: object) -> Dataset:
    """The same data whose label may also be this."""
    label = data.domain.label
    if label is None or label.is_amount:
        raise InvalidArgument(f"abstention={abstention!r} needs a label with classes; name it with label=...")
    values = label.values if abstention in label.values else (*label.values, abstention)
    return replace(data, domain=replace(data.domain, label=replace(label, values=cast("tuple[Value, ...]", values))))


def _project_file(source: object) -> Path | None:
    """The project file that a source is or holds."""
    if not isinstance(source, str | Path):
        return None
    path = Path(source)
    if path.is_dir():
        return path / PROJECT if (path / PROJECT).exists() else None
    is_yaml = path.suffix.lower() in (".yaml", ".yml")
    return path if is_yaml and not any(entry.make().claims(source) for entry in LOADERS.entries().values()) else None


def loader_for(source: object) -> Entry[Loader]:
    """The loader that is surest of a source."""
    claims = {name: entry.make().claims(source) for name, entry in LOADERS.entries().items()}
    best = max(claims, key=lambda name: claims[name])
    if claims[best] == 0:
        raise _unknown(source)
    return LOADERS.entry(best)


def _unknown(source: object) -> EvenhandError:
    if not isinstance(source, str | Path):
        return InvalidArgument(f"source is a {type(source).__name__}; expected a frame, an album, a path, or the name of an embedded table")
    from evenhand.datasets import names

    what = (
        "is a folder of no known layout" if Path(source).is_dir() else "is of no known kind" if Path(source).exists() else "does not exist"
    )
    return DataError(
        f"source={str(source)!r} {what}; expected a CSV or Parquet table, a folder of pictures, annotated scenes, templates.csv with "
        f"words.csv, an evenhand.yaml, or an embedded table: {', '.join(names())}"
    )


def as_tuple(favourable: object) -> tuple[Any, ...]:
    """One outcome or several, as several."""
    if favourable is None:
        return ()
    return tuple(favourable) if isinstance(favourable, list | tuple) else (favourable,)
