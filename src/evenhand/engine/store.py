"""A run on disk: a folder with a JSON header, Parquet parts appended as findings come, and a log.  Nothing is overwritten.

Part k of the findings is written before part k of the journal, each under a temporary name first; a part counts only when its
journal is there and `checksums.json` lists it, so a folder is readable after a kill at any moment, and a changed bit is noticed.
It holds people's rows: folders and files are for their owner only.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Keys, Reals
from evenhand.disk import digest_of, locked, private_folder, read_bytes, read_sealed, sealed, sealed_line, unsealed_line, write_whole
from evenhand.domain.tabular import TabularDomain
from evenhand.engine.findings import RESERVED, Findings
from evenhand.errors import StoreError

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

FORMAT = 2
MOST_LOG_BYTES = 1 << 26
MOST_LINE_BYTES = 1 << 16
_LINE_END = re.compile(r'"[0-9a-f]{16}"\}')
CHECKSUMS = "checksums.json"


@dataclass(frozen=True)
class Journal:
    """Every judged key with its verdict: what a resumed run need not ask again."""

    keys: Keys
    labels: NDArray[np.int16]  # (n, combinations)
    gap: Reals
    unfair: NDArray[np.bool_]
    rows: NDArray[np.int32] | None = None  # model rows that each batch was charged, at its first row; None in older folders


def run_id(header: Mapping[str, Any]) -> str:
    """Twelve hexadecimal digits that are equal for equal headers."""
    return hashlib.sha256(json.dumps(header, sort_keys=True, default=str).encode()).hexdigest()[:12]


class RunFolder:
    """One run's folder."""

    def __init__(self, path: Path, header: Mapping[str, Any]) -> None:
        self.path, self.header = path, dict(header)

    @classmethod
    def for_header(cls, base: Path, header: Mapping[str, Any]) -> RunFolder:
        """The folder of this header below `base`: a new one, or the one to continue."""
        path = base / f"{header['method']}-{run_id(header)}"
        return cls.at(path, header)

    @classmethod
    def at(cls, path: Path, header: Mapping[str, Any]) -> RunFolder:
        """A given folder for this header; refuses a folder that holds another run."""
        if (path / "header.json").exists():
            folder = cls.open(path)
            for name, theirs in folder.header.items():
                if json.dumps(header.get(name), default=str) != json.dumps(theirs, default=str):
                    raise StoreError(
                        f"{path} holds a run with another {name} ({_short(theirs)}, now {_short(header.get(name))}); "
                        "choose another folder, or restore what has changed to continue it"
                    )
            return folder
        folder = cls(path, header)
        with folder._writing():
            for part in (path, path / "journal", path / "findings"):
                private_folder(part)
            folder._write_new("header.json", sealed({"format": FORMAT, **header}, str))
        folder.log("created")
        return folder

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """An existing run."""
        if not (path / "header.json").exists():
            raise StoreError(f"{path} is no run folder: it has no header.json")
        header = read_sealed(path / "header.json", required=False)
        if not isinstance(header, dict) or header.get("format") != FORMAT:
            raise StoreError(f"{path} was written by another version of the run format; this one reads format {FORMAT}")
        header = read_sealed(path / "header.json")
        del header["format"]
        return cls(path, header)

    @property
    def result(self) -> dict[str, Any] | None:
        """The finished run's result; None while it is unfinished."""
        file = self.path / "result.json"
        return cast("dict[str, Any]", read_sealed(file)) if file.exists() else None

    def finish(self, result: Mapping[str, Any]) -> None:
        """Write the result, once."""
        with self._writing():
            self._write_new("result.json", sealed(result, _plain))
        self.log("finished")

    def log(self, event: str, detail: str = "") -> None:
        """Append one line to the log."""
        with self._writing():
            append_event(self.path / "log.jsonl", event, detail)

    def events(self) -> list[dict[str, Any]]:
        """What happened to the run, line by line; a last line that was cut off has not happened."""
        return read_events(self.path / "log.jsonl")

    def append(self, journal: Journal, findings: Findings, domain: TabularDomain, classes: tuple[Any, ...]) -> None:
        """Add one part: what was judged, and what was found among it."""
        with self._writing():
            number = 1 + max([_number(p) for part in ("journal", "findings") for p in (self.path / part).glob("part-*.parquet")], default=0)
            name = f"part-{number:06d}.parquet"
            found, judged = _parquet(findings_table(findings, domain, classes)), _parquet(_journal_table(journal))
            sums = {f"findings/{name}": digest_of(found), f"journal/{name}": digest_of(judged)}
            write_whole(self.path / "findings" / name, found, private=True)
            write_whole(self.path / CHECKSUMS, sealed(self._counted() | sums), private=True)
            write_whole(self.path / "journal" / name, judged, private=True)  # last: a part counts when its journal is there

    def journal(self) -> Journal | None:
        """All that has been judged so far; None when nothing was."""
        tables = [self._read(f"journal/{name}") for name in self._parts()]
        if not tables:
            return None
        keys = np.concatenate([t["key"].to_numpy() for t in tables]).astype(np.uint64)
        labels = np.array([labels for t in tables for labels in t["labels"]], dtype=np.int16)
        gap = np.concatenate([t["gap"].to_numpy() for t in tables]).astype(np.float64)
        unfair = np.concatenate([t["unfair"].to_numpy() for t in tables]).astype(bool)
        told = all("rows" in t.columns for t in tables)
        rows = np.concatenate([t["rows"].to_numpy() for t in tables]).astype(np.int32) if told else None
        return Journal(keys, labels, gap, unfair, rows)

    def findings(self) -> pd.DataFrame:
        """All findings so far, in the data's own words."""
        import pandas as pd

        tables = [self._read(f"findings/{name}") for name in self._parts()]
        full = [table for table in tables if len(table)] or tables[:1]
        return pd.concat(full, ignore_index=True) if full else pd.DataFrame()

    def _checksums(self) -> dict[str, str]:
        """Of every part, written before the part itself."""
        file = self.path / CHECKSUMS
        return cast("dict[str, str]", read_sealed(file)) if file.exists() else {}

    def _parts(self) -> list[str]:
        """Those that are listed and there; only the last may be missing, where a kill came before it."""
        listed = sorted(name.removeprefix("journal/") for name in self._checksums() if name.startswith("journal/"))
        there = {part.name for part in (self.path / "journal").glob("part-*.parquet")}
        lost = sorted((set(listed[:-1]) - there) | (there - set(listed)))
        if lost:
            raise StoreError(f"{self.path / 'journal' / lost[0]} and {CHECKSUMS} do not fit together; restore them, or start a new run")
        return [name for name in listed if name in there]

    def _counted(self) -> dict[str, str]:
        """The checksums without those of a part that a kill prevented."""
        parts = self._parts()
        return {name: checksum for name, checksum in self._checksums().items() if name.partition("/")[2] in parts}

    def _read(self, name: str) -> pd.DataFrame:
        path = self.path / name
        content = read_bytes(path)
        if digest_of(content) != self._checksums().get(name):
            raise StoreError(f"{path} is damaged: its checksum does not fit its content; restore it from a copy, or start a new run")
        return _frame(content, path)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder for this process, so that two runs never mix."""
        with ExitStack() as held:
            with self._writing():
                held.enter_context(locked(self.path / "lock"))
            yield

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as fault:
            raise StoreError(
                f"cannot write to {self.path}: {fault.strerror or fault}; what was saved before is intact, "
                "and the same command continues once there is room and permission"
            ) from fault

    def _write_new(self, name: str, text: str) -> None:
        if (self.path / name).exists():
            raise StoreError(f"{self.path / name} exists already, and results are never overwritten")
        write_whole(self.path / name, text, private=True)


def append_event(file: Path, event: str, detail: str = "") -> None:
    """One more sealed line in a log, on a line of its own even where the one before was cut off."""
    _end_last_line(file)
    line = {"time": datetime.now(UTC).isoformat(timespec="seconds"), "event": event} | ({"detail": detail} if detail else {})
    with os.fdopen(os.open(file, os.O_APPEND | os.O_CREAT | os.O_WRONLY, 0o600), "a") as log:
        log.write(sealed_line(line))


def _end_last_line(file: Path) -> None:
    """A last line that is whole gets its end; one that was cut off has not happened, and goes."""
    if not file.exists() or not (size := file.stat().st_size):
        return
    with file.open("rb+") as log:
        log.seek(max(0, size - MOST_LINE_BYTES))
        last = log.read().rpartition(b"\n")[2]
        if last and _LINE_END.search(last.decode("utf-8", "replace")):
            log.write(b"\n")
        elif last:
            log.truncate(size - len(last))


def read_events(file: Path) -> list[dict[str, Any]]:
    """The lines of a log; a last one that was cut off has not happened."""
    if not file.exists():
        return []
    lines = read_bytes(file, MOST_LOG_BYTES).decode("utf-8", "replace").splitlines(keepends=True)
    return [unsealed_line(line, file) for line in lines if line.endswith("\n") or _LINE_END.search(line)]


ROWS_TOGETHER = 4_096
"""Rows of a part that are read together at least: whoever wants a few out of a million reads little else."""


def _parquet(table: pa.Table) -> bytes:
    import pyarrow.parquet as parquet

    content = io.BytesIO()
    parquet.write_table(table, content, compression="zstd", row_group_size=ROWS_TOGETHER)
    return content.getvalue()


def findings_table(findings: Findings, domain: TabularDomain, classes: tuple[Any, ...]) -> pa.Table:
    """Findings with readable cells, and the exact codes of both twins beside them."""
    import pyarrow as pa

    frame = findings.frame(domain, classes)
    table = pa.table({name: _column(frame[name]) for name in frame.columns})
    width = len(domain.columns)
    for name, rows in (("row_codes", findings.rows), ("twin_codes", findings.twins)):
        codes = pa.FixedSizeListArray.from_arrays(pa.array(np.ascontiguousarray(rows).ravel()), width)
        table = table.append_column(f"{RESERVED}{name}", codes)
    return table


def _column(cells: pd.Series) -> pa.Array:
    """A column as Parquet takes it; mixed or huge values are written as text (their exact codes are kept beside)."""
    import pyarrow as pa

    try:
        return pa.array(cells, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return pa.array([None if missing else str(cell) for cell, missing in zip(cells, cells.isna(), strict=True)])


def _journal_table(journal: Journal) -> pa.Table:
    import pyarrow as pa

    labels = pa.FixedSizeListArray.from_arrays(pa.array(np.ascontiguousarray(journal.labels).ravel()), journal.labels.shape[1])
    columns = {"key": journal.keys, "labels": labels, "gap": journal.gap, "unfair": journal.unfair}
    return pa.table(columns if journal.rows is None else {**columns, "rows": journal.rows})


def _frame(content: bytes, path: Path) -> pd.DataFrame:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    try:
        table: pd.DataFrame = parquet.read_table(pa.BufferReader(content)).to_pandas()
        return table
    except (pa.ArrowException, OSError, ValueError) as fault:
        raise StoreError(f"{path} is damaged ({fault}); restore it from a copy, or start a new run") from fault


def _number(path: Path) -> int:
    return int(path.stem.removeprefix("part-"))


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _plain(value: object) -> object:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    return str(value)
