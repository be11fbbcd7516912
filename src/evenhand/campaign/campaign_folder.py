"""A campaign on disk: one file per finished run, never overwritten, and Parquet tables of all of them made again from these files."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from evenhand.disk import digest_of, locked, private_folder, read_bytes, read_sealed, sealed, whole_file, write_whole
from evenhand.engine.findings import Findings
from evenhand.engine.store import append_event, findings_table, read_events
from evenhand.errors import StoreError
from evenhand.models.paid_answers import ask_afresh

if TYPE_CHECKING:
    import pandas as pd

    from evenhand.domain.tabular import TabularDomain

NESTED = ("curve", "facts", "naturalness", "rate", "budget")
"""Parts of a record that are no single value: the table of records has them as JSON text, or not at all."""


def _out_of_the_way(file: Path) -> None:
    """Under the first name that is free."""
    free = next(p for n in range(1, 1_000_000) if not (p := file.with_suffix(f".old-{n}")).exists())
    file.rename(free)


@dataclass(frozen=True)
class CampaignFolder:
    """The records of a campaign, each found again by the id of its run."""

    path: Path

    def record(self, identity: str) -> dict[str, Any] | None:
        """The record of a run; None when it has not been made."""
        file = self._file(identity)
        try:
            return cast("dict[str, Any]", read_sealed(file)) if file.exists() else None
        except StoreError as fault:
            raise StoreError(f"{fault}; without the file, the run is made again") from fault

    def keep(self, record: Mapping[str, Any]) -> None:
        """Write a record, once."""
        self._new(self._file(str(record["id"])), sealed(plain(record)).encode())

    def sound_record(self, identity: str) -> dict[str, Any] | None:
        """The record of a run; one that is damaged, or whose findings are, is set aside and told in the log: the run is made again."""
        try:
            kept = self.record(identity)
            if kept is not None and any(file.exists() for file in self._findings_files(identity)):
                self._whole_findings(identity)
            return kept
        except StoreError as fault:
            self.set_aside(identity)
            self.log("damaged", str(fault))
            return None

    def by_order(self, leave_out: Sequence[str] = ()) -> dict[str, dict[str, Any]]:
        """Every sound record by the digest of what was ordered, without the parts that are left out."""
        found: dict[str, dict[str, Any]] = {}
        for file in sorted((self.path / "records").glob("*.json")):
            kept = self.sound_record(file.stem)
            if kept is not None and "order" in kept:
                found[kept["order"]] = {name: part for name, part in kept.items() if name not in leave_out}
        return found

    def keep_findings(self, identity: str, content: bytes) -> None:
        """Write a run's findings, once; those of a run whose record was never written make way for the same ones."""
        file, checksum = self._findings_files(identity)
        for left in (file, checksum):
            left.unlink(missing_ok=True)
        self._new(file, content)
        self._new(checksum, digest_of(content).encode())

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder for this process, so that two campaigns never mix."""
        with ExitStack() as held:
            try:
                private_folder(self.path)
                held.enter_context(locked(self.path / "lock"))
            except OSError as fault:
                raise StoreError(f"cannot write to {self.path}: {fault.strerror or fault}") from fault
            yield

    def log(self, event: str, detail: str = "") -> None:
        """Append one line to the campaign's log."""
        append_event(self.path / "log.jsonl", event, detail)

    def events(self) -> list[dict[str, Any]]:
        """What happened to the campaign, line by line."""
        return read_events(self.path / "log.jsonl")

    def findings(self, identity: str) -> pd.DataFrame:
        """A run's findings as a table; StoreError where the file is not the one that was written."""
        import pandas as pd

        return pd.read_parquet(io.BytesIO(self._whole_findings(identity)))

    def _whole_findings(self, identity: str) -> bytes:
        file, checksum = self._findings_files(identity)
        content, told = read_bytes(file), read_bytes(checksum).decode("ascii", "replace")
        if told != digest_of(content):
            raise StoreError(f"{file} is damaged: its checksum does not fit its content; restore it from a copy, or make the run again")
        return content

    def _findings_files(self, identity: str) -> tuple[Path, Path]:
        """Where a run's findings are, and their checksum."""
        file = self.path / "findings" / f"{identity}.parquet"
        return file, file.with_suffix(".parquet.sha256")

    def set_aside(self, identity: str) -> None:
        """Move a record and its findings out of the way, keeping them: the run is to be made again."""
        for file in (self._file(identity), *self._findings_files(identity)):
            if file.exists():
                _out_of_the_way(file)

    def begin_afresh(self) -> None:
        """Set every record and its findings aside, and what endpoints have answered: all runs are to be made again."""
        edition = ask_afresh(self.path)
        records = sorted((self.path / "records").glob("*.json"))
        for file in [*records, *sorted((self.path / "findings").glob("*.parquet*"))]:
            _out_of_the_way(file)
        self.log("afresh", f"{len(records):,} records are set aside, and everything is made again; answers of edition {edition}")

    def records(self) -> list[dict[str, Any]]:
        """Every record, in a fixed order."""
        found = [kept for file in sorted((self.path / "records").glob("*.json")) if (kept := self.record(file.stem)) is not None]
        return sorted(found, key=lambda r: (r["dataset"], r["protected"], r["model"], r["method"], r["seed"], r["id"]))

    def _file(self, identity: str) -> Path:
        return self.path / "records" / f"{identity}.json"

    def _new(self, file: Path, content: bytes) -> None:
        """Nobody reads half of the file, and nothing that exists is replaced."""
        try:
            private_folder(file.parent)
            if file.exists():
                raise StoreError(f"{file} exists already, and results are never overwritten")
            write_whole(file, content, private=True)
        except OSError as fault:
            raise StoreError(f"cannot write {file}: {fault.strerror or fault}; what was saved before is intact") from fault

    def write_tables(self, records: Sequence[Mapping[str, Any]], curves: bool = True) -> list[Path]:
        """`records.parquet` and, where they are at hand, `curves.parquet`: made from the records, so they are replaced by newer ones."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            written = [self._table("records", frame_of(records))]
            return [*written, self._table("curves", curves_of(records))] if curves else written
        except OSError as fault:
            raise StoreError(f"cannot write to {self.path}: {fault.strerror or fault}; the records themselves are intact") from fault

    def _table(self, name: str, frame: pd.DataFrame) -> Path:
        final = self.path / f"{name}.parquet"
        with whole_file(final) as new:
            frame.to_parquet(new, index=False)
        return final


def findings_parquet(found: Findings, domain: TabularDomain, classes: tuple[Any, ...]) -> bytes:
    """A run's findings as the content of a Parquet file."""
    import pyarrow.parquet as parquet

    content = io.BytesIO()
    parquet.write_table(findings_table(found, domain, classes), content, compression="zstd")
    return content.getvalue()


def write_parquet(records: Sequence[Mapping[str, Any]], path: Path) -> Path:
    """The records as one Parquet file."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as new:
            frame_of(records).to_parquet(new, index=False)
    except OSError as fault:
        raise StoreError(f"cannot write {path}: {fault.strerror or fault}") from fault
    return path


def frame_of(records: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """One row per run; nested parts as JSON text, curves left to their own table."""
    import pandas as pd

    rows = []
    for each in map(plain, records):
        row = {name: value for name, value in each.items() if name not in NESTED}
        row |= {name: json.dumps(each[name]) for name in NESTED[1:] if each.get(name) is not None}
        rows.append(row)
    return pd.DataFrame(rows)


def curves_of(records: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """One row per point of every discovery curve."""
    import pandas as pd

    named = ("id", "method", "dataset", "protected", "model", "seed")
    parts = []
    for each in records:
        if curve := each.get("curve"):
            filled = {name: column or [None] * len(curve["model_rows"]) for name, column in curve.items()}
            parts.append(pd.DataFrame({**{name: each[name] for name in named}, **filled}))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=[*named, "model_rows", "candidates", "findings"])


def plain(value: Any) -> Any:
    """What JSON can say: NumPy's numbers as Python's, what is not finite as null, everything unknown as text."""
    if isinstance(value, Mapping):
        return {str(name): plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, str | bool | int | float) else str(value)
