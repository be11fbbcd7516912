"""Models of data in files: arrays and JSON in one archive, sealed by a checksum.  Nothing in such a file is ever run.

Only the classes listed here are made from a file, each by its own constructor; everything else is numbers and texts.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.disk import digest_of, sealed, unsealed, whole_file
from evenhand.domain import conditions
from evenhand.domain.columns import Column
from evenhand.domain.constraints import CompiledConstraint
from evenhand.domain.products import Equation
from evenhand.domain.relations import Relation
from evenhand.domain.tabular import Label, TabularDomain
from evenhand.domain.twins import Comparison, Implied
from evenhand.errors import EvenhandError, StoreError
from evenhand.synthesis import derivations
from evenhand.synthesis.box import Box
from evenhand.synthesis.cells import Cells
from evenhand.synthesis.chained_trees import ChainedTrees
from evenhand.synthesis.conditional_wishes import ConditionalWish
from evenhand.synthesis.copy_limit import CopyLimit
from evenhand.synthesis.finishing import Finishing
from evenhand.synthesis.fitting import Fits
from evenhand.synthesis.generation import CategoryStep, NumberStep
from evenhand.synthesis.graph import Scaling
from evenhand.synthesis.guides import RelationGuide
from evenhand.synthesis.inference import JointTable
from evenhand.synthesis.links import Asked, GroupBorders, Link, Tilt, make_link
from evenhand.synthesis.missing_pattern import MissingPattern
from evenhand.synthesis.steered_trees import SteeredTrees
from evenhand.synthesis.stored_trees import StoredTree
from evenhand.synthesis.trends import Trend

FORMAT = 1
MOST_BYTES = 2 << 30
DAMAGED = (
    *(KeyError, TypeError, ValueError, IndexError, AttributeError, EvenhandError),
    *(zlib.error, EOFError, struct.error, RuntimeError),  # of the archive itself; RuntimeError where a bit says that it is encrypted
)
"""Of a file's content once it is unpacked."""
_PARTS = tuple(kind for part in (conditions, derivations) for kind in vars(part).values() if isinstance(kind, type) and is_dataclass(kind))
KINDS: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        *_PARTS, Column, CompiledConstraint, Equation, Relation, Label, TabularDomain, Comparison, Implied, Box, Cells, ChainedTrees,
        ConditionalWish, CopyLimit, Finishing, Fits, CategoryStep, NumberStep, Scaling, RelationGuide, JointTable, Link, Tilt, GroupBorders,
        SteeredTrees, StoredTree, Trend, MissingPattern,
    )
}  # fmt: skip
_COMPUTED = ("before", "ends")  # of a link: they follow from its shares
_GROUPS: dict[str, Any] = {"tuple": tuple, "list": list, "frozenset": frozenset}


def save_model(population: ChainedTrees | SteeredTrees, path: str | Path) -> Path:
    """A fitted population to a file that appears whole or not at all.

    >>> import tempfile, numpy as np
    >>> from evenhand import datasets
    >>> from evenhand.synthesis.chained_trees import ChainedTrees
    >>> from evenhand.synthesis.population_files import load_model, save_model
    >>> data = datasets.load("credit")
    >>> trees = ChainedTrees.fit(data.rows, data.domain, np.random.default_rng(0))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = load_model(save_model(trees, f"{folder}/credit.model"))
    >>> bool((again.sample(5, np.random.default_rng(1)) == trees.sample(5, np.random.default_rng(1))).all())
    True
    """
    arrays: list[bytes] = []
    content = _told(population, arrays)
    about = {"format": FORMAT, "arrays": [digest_of(each) for each in arrays], "model": content}
    target = Path(path)
    with whole_file(target) as new, zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.json", sealed(about))
        for number, each in enumerate(arrays):
            archive.writestr(f"{number}.npy", each)
    return target


def load_model(path: str | Path) -> ChainedTrees | SteeredTrees:
    """What `save_model` wrote; StoreError, in one line, for anything else."""
    source = Path(path)
    try:
        with zipfile.ZipFile(source) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > MOST_BYTES:
                raise StoreError(f"{source} unpacks to more than {MOST_BYTES:,} bytes, which no model of data does")
            return _model(archive, source)
    except OSError as fault:
        raise StoreError(f"cannot read {source}: {fault.strerror or fault}") from None
    except zipfile.BadZipFile:
        raise StoreError(f"{source} is no model of data; make one with synth --save") from None
    except StoreError:
        raise
    except DAMAGED as fault:
        raise StoreError(f"{source} is damaged ({type(fault).__name__}); restore it from a copy, or make it again") from None


def _model(archive: zipfile.ZipFile, source: Path) -> ChainedTrees | SteeredTrees:
    about = unsealed(archive.read("model.json"), source)
    if about.get("format") != FORMAT:
        raise StoreError(f"{source} is of another release (format {about.get('format')!r}, this one reads {FORMAT}); make it again")
    arrays = []
    for number, digest in enumerate(about["arrays"]):
        data = archive.read(f"{number}.npy")
        if digest_of(data) != digest:
            raise StoreError(f"{source} is damaged: the checksum of array {number} does not fit; restore it from a copy, or make it again")
        arrays.append(np.load(io.BytesIO(data), allow_pickle=False))
    made = _made(about["model"], arrays)
    if not isinstance(made, ChainedTrees | SteeredTrees):
        raise StoreError(f"{source} holds a {type(made).__name__}, not a model of data")
    return made


def _told(value: Any, arrays: list[bytes]) -> Any:
    """A value as JSON; arrays are put aside and stand by their number."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if np.isfinite(value) else {"float": repr(value)}
    if isinstance(value, np.ndarray):
        return {"array": _put_aside(value, arrays)}
    if isinstance(value, Mapping):
        return {"dict": [[_told(key, arrays), _told(each, arrays)] for key, each in value.items()]}
    if (name := _name_of(value)) in _GROUPS:
        return {name: [_told(each, arrays) for each in value]}
    return _told_parts(StoredTree.of(value) if name == "Tree" else value, arrays)


def _name_of(value: object) -> str:
    return type(value).__name__


def _put_aside(array: Any, arrays: list[bytes]) -> int:
    packed = io.BytesIO()
    np.save(packed, array, allow_pickle=False)
    arrays.append(packed.getvalue())
    return len(arrays) - 1


def _told_parts(value: Any, arrays: list[bytes]) -> dict[str, Any]:
    """One of the listed classes by its fields."""
    name = _name_of(value)
    if name not in KINDS or not isinstance(value, KINDS[name]):
        raise StoreError(f"a {name} cannot be part of a stored model")
    computed = _COMPUTED if isinstance(value, Link) else ()
    parts = {
        field.name: _told(getattr(value, field.name), arrays) for field in fields(KINDS[name]) if field.init and field.name not in computed
    }
    return {"is": name, "of": parts}


def _made(told: Any, arrays: list[Any]) -> Any:
    """The value that JSON tells of."""
    if not isinstance(told, dict):
        return told
    if "is" in told:
        parts = {name: _made(each, arrays) for name, each in told["of"].items()}
        if KINDS[told["is"]] is Link:
            plain = make_link(parts["cells"], Asked(parts["tree"], parts["parents"], parts["leaf_of_node"]), parts["share"])
            parts |= {name: getattr(plain, name) for name in _COMPUTED}
        return KINDS[told["is"]](**parts)
    ((kind, content),) = told.items()
    if kind == "float":
        return float(content)
    if kind == "array":
        return arrays[content]
    if kind == "dict":
        return {_made(key, arrays): _made(each, arrays) for key, each in content}
    return _GROUPS[kind](_made(each, arrays) for each in content)
