"""A table that is not read whole: rows drawn evenly from it stand for it in memory, and all of it can be gone through in parts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from evenhand.datasets.dataset import Dataset
from evenhand.datasets.merged_columns import look_through, widened
from evenhand.datasets.table_streams import TableStream, format_of, stream_of
from evenhand.domain.constraints import CompiledConstraint, compile_constraint
from evenhand.domain.databases import is_database
from evenhand.domain.frames import as_frame
from evenhand.domain.infer import InferWishes, Proposal, propose
from evenhand.domain.tabular import TabularDomain

ROWS_IN_MEMORY = 2_000_000
"""Parquet and Arrow files with more rows are streamed."""
CSV_BYTES_IN_MEMORY = 1 << 30
SAMPLE_ROWS = 200_000
"""Rows that stand for a table that is not read whole."""
NORMAL, MISSED = 1.96, 0.05
"""Of 100 draws, five may be further off than is said."""


@dataclass(frozen=True, eq=False)
class LargeDataset(Dataset):
    """`frame`, `rows` and `labels` are those of the drawn rows; `parts` gives all of them in turn."""

    stream: TableStream | None = None
    total: int = 0

    @property
    def note(self) -> str:
        """For a reader of any result."""
        return (
            f"the table has {self.total:,} rows and was not read whole: ranges, values and missing shares are those of all rows; "
            f"what is learnt, searched from or tested by chance rests on {len(self.frame):,} rows that were drawn evenly from it: "
            f"{error_of_drawn_rows(len(self.frame), self.total)}"
        )

    def parts(self) -> Iterator[Dataset]:
        """All rows, a batch at a time."""
        assert self.stream is not None
        for batch in self.stream.batches():
            yield Dataset(self.name, batch.to_pandas(), self.domain, shown_by=self.shown_by)

    def within(self, domain: TabularDomain) -> LargeDataset:
        """The same rows in another domain."""
        return replace(self, domain=domain)


def error_of_drawn_rows(drawn: int, total: int) -> str:
    """How far a share among rows that were drawn evenly may be from that of all rows, and what may not be among them at all.

    The first is the normal interval at its widest, for a half, with what is gained by drawing from a limited number; the second is the
    share of rows of which one is drawn in 95 of 100 cases.

    >>> error_of_drawn_rows(200_000, 20_000_000)  # doctest: +NORMALIZE_WHITESPACE
    'a share among them is within 0.22 points of that of all rows, and a kind of row that makes up at least one in 66,762 is among them
    (each with 95% confidence)'
    >>> error_of_drawn_rows(500, 500)
    'these are all rows, so that nothing is left to chance'
    """
    if drawn >= total:
        return "these are all rows, so that nothing is left to chance"
    points = 100 * NORMAL * math.sqrt(0.25 / drawn * (total - drawn) / (total - 1))
    rarest = 1 - MISSED ** (1 / drawn)
    return (
        f"a share among them is within {points:.2g} points of that of all rows, and a kind of row that makes up at least one in "
        f"{1 / rarest:,.0f} is among them (each with {1 - MISSED:.0%} confidence)"
    )


def is_large(source: str | Path) -> bool:
    """Whether a file, a folder or a table of a database is streamed rather than read."""
    if is_database(source):
        return True
    path = Path(source)
    ending = format_of(path)
    if ending is None or not path.exists():  # whoever reads it says so
        return False
    if path.is_dir() or ending in (".arrow", ".feather", ".ipc"):
        return True
    if ending == ".csv":
        return path.stat().st_size > CSV_BYTES_IN_MEMORY
    return _parquet_rows(path) > ROWS_IN_MEMORY


def _parquet_rows(path: Path) -> int:
    """From the file's footer; 0 for a file that has none, whose reader will say so."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    try:
        return int(parquet.read_metadata(path).num_rows)
    except (pa.ArrowException, OSError):
        return 0


def large_in_domain(source: str | Path, domain: TabularDomain, sample_rows: int = SAMPLE_ROWS) -> LargeDataset:
    """A large file, or a table of a database, in a domain that is declared already."""
    stream = stream_of(source)
    looked = look_through(stream, sample_rows, np.random.default_rng(0))
    return LargeDataset(stream.name, as_frame(looked.frame), domain, stream=stream, total=looked.rows)


def propose_large(source: str | Path, wishes: InferWishes, sample_rows: int = SAMPLE_ROWS) -> Proposal:
    """What a large table suggests: looked for in drawn rows, then held against every row, whose exact shares are told."""
    stream = stream_of(source)
    looked = look_through(stream, sample_rows, np.random.default_rng(0))
    proposal = propose(looked.frame, wishes)
    domain = widened(proposal.domain, looked.columns)
    rows = domain.encode(looked.frame)
    suggested = [compile_constraint(each.source, domain.columns, rows) for each in proposal.constraints]
    related = [replace(each, rule=compile_constraint(each.rule.source, domain.columns, rows)) for each in proposal.relations]
    broken = _broken_shares(stream, domain, [*suggested, *(each.rule for each in related)])
    kept = [replace(each, broken=share) for each, share in zip(proposal.constraints, broken, strict=False)]
    relations = [replace(each, support=1.0 - share) for each, share in zip(related, broken[len(kept) :], strict=True)]
    note = (
        f"ranges, values and shares are those of all {looked.rows:,} rows; relations were looked for in {len(looked.frame):,} of them, and "
        f"what stands beside them about shapes and kinds rests on these: {error_of_drawn_rows(len(looked.frame), looked.rows)}"
    )
    notes = (*proposal.notes, note, *(_truth_notes(domain) if is_database(source) else ()))
    return replace(proposal, domain=domain, notes=notes, constraints=tuple(kept), relations=tuple(relations))


def _truth_notes(domain: TabularDomain) -> tuple[str, ...]:
    """Databases make truth values of the words no and yes when they import a file; the model may have been trained on the words."""
    names = [column.name for column in domain.columns if column.values and all(isinstance(value, bool) for value in column.values)]
    if not names:
        return ()
    told = f"{', '.join(map(repr, names))}: truth values in the database; if the model was trained on words such as no and yes, "
    return (told + 'write `kind: boolean, values: ["no", "yes"], dtype: object` there',)


def _broken_shares(stream: TableStream, domain: TabularDomain, rules: Sequence[CompiledConstraint]) -> list[float]:
    """For every rule, the share of all rows that break it."""
    broken, total = np.zeros(len(rules)), 0
    for batch in stream.batches() if rules else ():
        rows = domain.encode(as_frame(batch.to_pandas()))
        broken += [int((~rule.holds(rows)).sum()) for rule in rules]
        total += len(rows)
    return [float(share) for share in broken / max(1, total)]
