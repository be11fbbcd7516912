"""The finished shards of one run on disk: one sealed file each, written once by the process that shared the work out."""

from __future__ import annotations

import io
import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.campaign.campaign_folder import plain
from evenhand.disk import digest_of, private_folder, read_bytes, write_whole
from evenhand.engine.court import Discovery, Ledger
from evenhand.engine.findings import Findings
from evenhand.engine.kept_pairs import KeptPairs, Packing
from evenhand.engine.run import Run
from evenhand.engine.store import append_event
from evenhand.errors import StoreError

SEAL_BYTES = 65
"""A checksum in hexadecimal digits and the end of its line stand before the arrays."""

PACKING = tuple(each.name for each in fields(Packing))
PAIRS = tuple(each.name for each in fields(KeptPairs) if each.name != "packing")
FINDINGS = tuple(each.name for each in fields(Findings) if each.name not in ("pairs", "phase"))
"""The arrays of a file, by name."""


@dataclass(frozen=True)
class ShardShelf:
    """A folder with a file for each finished shard; what is damaged is set aside, told, and made again."""

    path: Path

    def kept(self, place: int) -> Run | None:
        """A shard that was finished before; None where it was not, or its file is not the one that was written."""
        file = self._file(place)
        if not file.exists():
            return None
        content = read_bytes(file)
        if content[: SEAL_BYTES - 1].decode("ascii", "replace") == digest_of(content[SEAL_BYTES:]):
            return run_from(content[SEAL_BYTES:])
        free = next(name for n in range(1, 1_000_000) if not (name := file.with_suffix(f".damaged-{n}")).exists())
        file.rename(free)
        append_event(self.path.parent / "log.jsonl", "damaged", f"shard {place} is set aside as {free.name} and made again")
        return None

    def keep(self, place: int, run: Run) -> None:
        """Write a finished shard."""
        content = bytes_of(run)
        try:
            private_folder(self.path)
            write_whole(self._file(place), f"{digest_of(content)}\n".encode() + content, private=True)
        except OSError as fault:
            raise StoreError(
                f"cannot write to {self.path}: {fault.strerror or fault}; the shards that were saved before are intact, and the same "
                "command continues once there is room and permission"
            ) from fault

    def _file(self, place: int) -> Path:
        return self.path / f"shard-{place:05d}.npz"


def bytes_of(run: Run) -> bytes:
    """A run as arrays; its words and counts as JSON among them."""
    found = run.findings
    arrays: dict[str, Any] = {name: getattr(found, name) for name in FINDINGS}
    arrays |= {name: getattr(found.pairs, name) for name in PAIRS} | {name: getattr(found.pairs.packing, name) for name in PACKING}
    told = {
        "method": run.method,
        "ledger": asdict(run.ledger),
        "facts": plain(run.facts),
        "ended": run.ended,
        "cpu_seconds": run.cpu_seconds,
        "wall_seconds": run.wall_seconds,
        "curve": [list(point) for point in run.curve],
    }
    arrays |= {"phase": np.array(found.phase, dtype=str), "told": np.frombuffer(json.dumps(told).encode(), dtype=np.uint8)}
    if run.sample is not None:
        arrays["sample"] = run.sample
    content = io.BytesIO()
    np.savez_compressed(content, allow_pickle=False, **arrays)
    return content.getvalue()


def run_from(content: bytes) -> Run:
    """What `bytes_of` wrote."""
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        told = json.loads(bytes(arrays["told"]))
        packing = Packing(**{name: arrays[name] for name in PACKING})
        pairs = KeptPairs(packing, **{name: arrays[name] for name in PAIRS})
        parts, phase = {name: arrays[name] for name in FINDINGS}, arrays["phase"].astype(object)
        sample = arrays["sample"] if "sample" in arrays.files else None
    found = Findings(pairs, phase=phase, **parts)
    curve = tuple(Discovery(*point) for point in told["curve"])
    ledger, ended = Ledger(**told["ledger"]), told["ended"]
    return Run(told["method"], ledger, found, told["facts"], ended, told["cpu_seconds"], told["wall_seconds"], curve, sample)
