"""Pictures that a result names by file: found beside it and taken into the page, so that the page fetches nothing."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

DATA_URI = "data:image/png;base64,"
SIGNATURE = b"\x89PNG\r\n\x1a\n"
LARGEST_BYTES = 8_000_000


def with_pictures(result: Mapping[str, Any], folders: Sequence[Path]) -> dict[str, Any]:
    """The result with data URIs in place of file names; a file that is not there, or is no PNG, is left out."""
    places = [place for folder in folders for place in (folder, folder / "witnesses")]
    told = dict(result)
    told["witnesses"] = [_witness(each, places) for each in result.get("witnesses") or []]
    body = result.get("body")
    if isinstance(body, Mapping) and body.get("sheets"):
        told["body"] = {**body, "sheets": [_sheet(each, places) for each in body["sheets"]]}
    return told


def _witness(witness: Any, places: Iterable[Path]) -> Any:
    if not isinstance(witness, Mapping) or not isinstance(witness.get("pictures"), Mapping):
        return witness
    found = {name: _data(file, places) for name, file in witness["pictures"].items()}
    return {**witness, "pictures": {name: uri for name, uri in found.items() if uri}}


def _sheet(sheet: Any, places: Iterable[Path]) -> Any:
    return {**sheet, "picture": _data(sheet.get("picture"), places)} if isinstance(sheet, Mapping) else sheet


def _data(name: Any, places: Iterable[Path]) -> str:
    """A data URI; a name is looked up only in the result's own folders, and leads nowhere else."""
    if not isinstance(name, str) or name.startswith(DATA_URI):
        return name if isinstance(name, str) else ""
    if not name or name != Path(name).name:
        return ""
    return next((DATA_URI + base64.b64encode(each).decode("ascii") for each in _found(name, places) if each.startswith(SIGNATURE)), "")


def _found(name: str, places: Iterable[Path]) -> Iterator[bytes]:
    """What files of this name hold; a name that no file can have is none."""
    for place in places:
        try:
            file = place / name
            if file.is_file() and file.stat().st_size <= LARGEST_BYTES:
                yield file.read_bytes()
        except (OSError, ValueError):  # too long for a file's name, or with a zero in it
            continue
