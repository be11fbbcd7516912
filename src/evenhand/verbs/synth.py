"""synth(): any number of realistic rows, learnt from a table and steered by the user's wishes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from evenhand.arrays import Rows
from evenhand.campaign.work_folder import WorkFolder, happened
from evenhand.claims import Claim
from evenhand.contract import Executor, Outcome, Watch
from evenhand.datasets.large_dataset import LargeDataset
from evenhand.disk import digest_of, read_bytes
from evenhand.domain.relations import FEWEST_ROWS
from evenhand.domain.tabular import TabularDomain
from evenhand.engine.digest import rows_digest
from evenhand.engine.gate import Gate
from evenhand.engine.header import Header, domain_part
from evenhand.engine.result import Telling, result_dict
from evenhand.engine.subject import Data
from evenhand.errors import InvalidArgument
from evenhand.limits import Count, check_argument
from evenhand.measures.naturalness import pair_scores
from evenhand.measures.synthesis_quality import SynthesisQuality, synthesis_quality
from evenhand.report.rendered import Rendered
from evenhand.shared_work import kept_or_made
from evenhand.synthesis import fit_steered, synthesiser
from evenhand.synthesis.chunks import Source, Stream, Written, write_rows
from evenhand.synthesis.companions import Companion, beside
from evenhand.synthesis.constraint_graph import ConstraintGraph
from evenhand.synthesis.steered_trees import SteeredTrees
from evenhand.synthesis.wishes import Wishes

if TYPE_CHECKING:
    import pandas as pd

Unfitted = Literal["range", "quantiles"]
FEWEST_FOR_QUALITY = 200
"""Rows that a fit is measured on at least; of fewer, half is too little to say anything."""
MOST_BARS = 30
"""Bins of a column that has more values than this."""


@dataclass(frozen=True)
class SynthOptions:
    """How rows are made.

    synthesiser: trees, chained trees; graph, AITEST's constraint graph.  wishes: a .yaml file, or the edited .csv table of a graph.
    presets: what-ifs such as '1:1 sex' or 'income up 20 %'.  unfitted: for the graph, numbers that no distribution fits come from
    their range or by quantiles.  companions: columns beside the domain, such as numbers of people (`learn_companions`).
    executor: who grows the trees, column by column; the same ones whoever it is.  folder: where what is finished is kept, so that the
    same call goes on after an interruption.

    >>> SynthOptions(synthesiser="graph", presets=["1:1 sex"]).synthesiser
    'graph'
    """

    synthesiser: str = "trees"
    wishes: Path | None = None
    presets: Sequence[str] = ()
    unfitted: Unfitted = "range"
    companions: tuple[Companion, ...] = ()
    executor: Executor | None = None
    folder: Path | None = None

    def __post_init__(self) -> None:
        synthesiser(self.synthesiser)  # an unknown name is said at once
        if self.unfitted not in ("range", "quantiles"):
            raise InvalidArgument(f"unfitted={self.unfitted!r} must be range or quantiles")


@dataclass(frozen=True, repr=False)
class SynthResult(Rendered):
    """Rows to come: drawn when they are asked for, the same ones each time."""

    header: Header
    source: Any
    data: Data
    rows: int
    seed: int
    left_out: tuple[str, ...] = ()
    companions: tuple[Companion, ...] = ()  # columns beside the domain
    fit: Any = None  # learns from rows again, for the report on the fit; None where wishes make the rows unlike the data
    place: WorkFolder | None = None  # where what is finished is kept

    @cached_property
    def quality(self) -> SynthesisQuality | None:
        """How well the synthesiser fits the data, measured on rows that it did not learn from; None for steered rows."""
        if self.fit is None or len(self.data.rows) < FEWEST_FOR_QUALITY:
            return None
        labels = self.data.labels if self.data.domain.has_classes else None
        domain = replace(self.data.domain, finds_relations=True)  # declared rules are left out there, those of the data found again
        return synthesis_quality(self.fit, self.data.rows, labels, domain, np.random.default_rng([self.seed, 2]))

    @property
    def caution(self) -> str:
        """What a small table cannot tell; empty for one that is large enough."""
        count = len(self.data.rows)
        if count >= FEWEST_FOR_QUALITY:
            return ""
        relations = "" if count >= FEWEST_ROWS else f", and no relation between columns is believed below {FEWEST_ROWS}"
        return f"learnt from {count:,} rows only: how well they are matched is not measured below {FEWEST_FOR_QUALITY}{relations}"

    @property
    def outcome(self) -> Outcome:
        """Rows are made; it stays open whether they can stand for the data where the fit finds a gap between groups hidden."""
        hidden = "; ".join(self.quality.warnings) if self.quality is not None else ""
        return Gate.rule(Claim("rows", open=hidden, holds=self.reason)).outcome

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the rows; companions stand between them in a table."""
        return tuple(name for name in self._source.domain.names if name not in self.left_out)

    @property
    def reason(self) -> str:
        """How many rows, and where they come from."""
        count = len(self.columns) + len(self.companions)
        return f"{self.rows:,} rows of {count} column{'s' if count != 1 else ''} from {self.source.name}"

    @property
    def _source(self) -> Source:
        source: Source = self.source
        return source

    def summary(self) -> str:
        """One line for a person."""
        return f"{self.reason}."

    def frame(self) -> pd.DataFrame:
        """The rows as a table in memory."""
        drawn = self.source.sample(self.rows, self._rng())
        return self._completion()(self._source.domain.decode(drawn)[list(self.columns)])

    def _completion(self) -> Callable[[pd.DataFrame], pd.DataFrame]:
        """What sets companions beside every batch of rows; they never repeat over the batches."""
        taken: dict[str, set[object]] = {}
        rng = np.random.default_rng([self.seed, 3])
        return lambda frame: beside(frame, self.companions, taken, rng)

    def write(self, path: str | Path, watch: Watch | None = None) -> Written:
        """The rows to a .parquet or .csv file, a batch at a time, so that memory does not grow with them."""
        stream = Stream(Path(path), list(self.left_out), watch, self._completion())
        if self.place is None:
            return write_rows(self._source, self.rows, stream, self._rng())
        with self.place.held():
            left = write_rows(self._source, self.rows, replace(stream, shelf=self.place.shelf("rows")), self._rng())
        self.place.clear()
        return left

    @property
    def overridden(self) -> tuple[str, ...]:
        """What every row of the data keeps, and these rows do not, because a wish is against it."""
        rules = self.source.overridden if isinstance(self.source, SteeredTrees) else ()
        return tuple(f"the wishes are against a relation that every row of the data keeps, and take precedence: {rule}" for rule in rules)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the rows rest on where the table was not read whole, what wishes override, and what happened on the way."""
        drawn = ((self.data.note,) if isinstance(self.data, LargeDataset) else ()) + self.overridden
        return drawn if self.place is None or not self.place.path.exists() else (*drawn, *happened(self.place.events()))

    def as_dict(self) -> dict[str, Any]:
        """The versioned JSON that every rendering reads."""
        quality = {"quality": self.quality.as_dict()} if self.quality is not None else {}
        body = {"synthesis": {"sentence": f"{self.reason}.", "rows": self.rows, **self._fit(), **quality}}
        told = [f"{self.reason}.", *([f"{self.caution}."] if self.caution else []), *self.notes] + (
            [f"The rows are {self.quality.sentence()}.", *self.quality.warnings] if self.quality is not None else []
        )
        return result_dict(self, Telling(told, (), (), body))

    def _fit(self) -> dict[str, Any]:
        """How alike the rows are to the data: each column, and of every two columns how alike their relation is."""
        domain = self._source.domain
        drawn = self.source.sample(min(5_000, max(1_000, len(self.data.rows))), np.random.default_rng([self.seed, 1]))
        pairs = {"names": list(domain.names), "scores": np.asarray(pair_scores(self.data.rows, drawn, domain)).tolist()}
        return {"pairs": pairs, "columns": [_panel(at, self.data.rows, drawn, domain) for at in range(len(domain.columns))]}

    def _rng(self) -> np.random.Generator:
        return np.random.default_rng([self.seed, 0])


def _panel(at: int, real: Rows, drawn: Rows, domain: TabularDomain) -> dict[str, Any]:
    """One column: shares of real rows and of drawn ones, in the same bins."""
    column = domain.columns[at]
    known = [cells[~np.isnan(cells)] for cells in (real[:, at], drawn[:, at])]
    every = np.concatenate(known)
    if not every.size:
        return {"name": column.name, "real": [], "synthetic": []}
    values = np.unique(every)
    edges = np.append(values, values[-1] + 1) if len(values) <= MOST_BARS else np.histogram_bin_edges(every, MOST_BARS)
    shares = [(np.histogram(cells, edges)[0] / max(1, len(cells))).tolist() for cells in known]
    first, last = (str(column.value(code)) for code in (values[0], values[-1]))
    return {"name": column.name, "real": shares[0], "synthetic": shares[1], "first": first, "last": last}


def synth(data: Data, rows: int = 1_000, *, seed: int = 0, options: SynthOptions | None = None) -> SynthResult:
    """Realistic rows, learnt from a table: `result.frame()` has them, `result.write(path)` streams any number to a file.

    data: a table with its domain; the label is not synthesised.  rows: how many.  seed: the same seed gives the same rows.

    >>> import evenhand as eh
    >>> made = eh.synth(eh.open("credit", protected=["age"]), rows=100)
    >>> made.frame().shape
    (100, 21)
    """
    check_argument(Count, rows=rows)
    options = options or SynthOptions()
    header, kind = _header(data, rows, seed, options), synthesiser(options.synthesiser)
    if options.folder is None:
        learnt, place = _learnt(data, seed, options), None
    else:
        place = WorkFolder.of(options.folder, "synth", _fixed(header, options))
        with place.held():
            learnt = kept_or_made(place.shelf("source"), lambda: _learnt(data, seed, options))
    plain = options.wishes is None and not options.presets
    return SynthResult(header, learnt.source, data, rows, seed, learnt.left_out, options.companions, kind.fit if plain else None, place)


@dataclass(frozen=True)
class _Learnt:
    """Where rows come from, and the columns that they lack."""

    source: Any
    left_out: tuple[str, ...]


def _learnt(data: Data, seed: int, options: SynthOptions) -> _Learnt:
    kind, rng = synthesiser(options.synthesiser), np.random.default_rng(seed)
    if kind is ConstraintGraph:
        graph = steered_graph(data, options, rng)
        return _Learnt(graph, tuple(data.domain.names[at] for at in graph.graph.dropped))
    wishes = _wishes(data, options, None)
    left_out = tuple(wish.column for wish in wishes.wishes if wish.action == "delete" and not wish.source)
    return _Learnt(fit_steered(kind, data.rows, data.domain, wishes, rng, options.executor), left_out)


def _fixed(header: Header, options: SynthOptions) -> dict[str, Any]:
    """What fixes the rows: the header, what the file of wishes says, and whether columns are learnt apart."""
    wished = "" if options.wishes is None else digest_of(read_bytes(options.wishes))
    beside = [repr(each) for each in options.companions]
    return {**header.fixed(), "wished": wished, "companions": beside, "apart": options.executor is not None}


def steered_graph(data: Data, options: SynthOptions, rng: np.random.Generator) -> ConstraintGraph:
    """AITEST's constraint graph of the data, steered by what is wished."""
    graph = ConstraintGraph.fit(data.rows, data.domain, rng, options.unfitted)
    wishes = _wishes(data, options, graph)
    return graph.steered(wishes, rng) if wishes.wishes or wishes.rules else graph


def _wishes(data: Data, options: SynthOptions, graph: ConstraintGraph | None) -> Wishes:
    """The file's wishes and the presets', together."""
    from evenhand.synthesis.constraint_table import read_wishes

    file, found = options.wishes, Wishes()
    if file is not None and file.suffix == ".csv":
        if graph is None:
            raise InvalidArgument(f"{file}: an edited table belongs to the synthesiser graph")
        found = read_wishes(file, graph.graph, data.domain)
    elif file is not None:
        found = Wishes.load(file, data.domain)
    for text in options.presets:
        found += Wishes.preset(text, data.domain)
    return found


def _header(data: Data, rows: int, seed: int, options: SynthOptions) -> Header:
    """What fixes the rows; no model has a part in it."""
    wishes = {"wishes": str(options.wishes or ""), "presets": list(options.presets), "unfitted": options.unfitted}
    return Header(
        verb="synth",
        seed=seed,
        data={"name": data.name, "digest": rows_digest(data.rows), "rows": len(data.rows)},
        domain=domain_part(data.domain),
        details={"rows": rows, "synthesiser": options.synthesiser, **wishes},
    )
