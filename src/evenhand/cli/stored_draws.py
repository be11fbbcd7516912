"""What `evenhand synth` learns from and draws from: a table with the columns beside it, a stored model of data, partial rows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.cli.output import free_path, opening, tell, watching
from evenhand.errors import InvalidArgument

if TYPE_CHECKING:
    from evenhand.datasets.dataset import Dataset
    from evenhand.synthesis.companions import Companion
    from evenhand.verbs.synth import SynthOptions

PATHS = "paths"
"""The suite that asks a model."""


@dataclass(frozen=True)
class OpenedTable:
    """A table to learn from, and the columns beside its domain."""

    data: Dataset
    companions: tuple[Companion, ...] = ()


@dataclass(frozen=True)
class TableAsked:
    """A table by name or file, and how it is to be read."""

    name: str
    label: str | None = None
    protected: tuple[str, ...] = ()
    beside: bool = True  # make up the columns that no model should learn from
    most_rows: int = 1_000_000  # of a file
    seed: int = 0

    def frame(self) -> Any:
        """The cells; of a file with more rows, so many drawn evenly."""
        import numpy as np

        from evenhand.datasets.large_dataset import error_of_drawn_rows
        from evenhand.domain.csv_sample import sample_csv
        from evenhand.domain.frames import PARQUET
        from evenhand.domain.parquet_sample import sample_parquet

        path = Path(self.name)
        sample = sample_parquet if path.suffix.lower() in PARQUET else sample_csv
        drawn = sample(path, self.most_rows, np.random.default_rng([self.seed, 8]))
        if not drawn.is_whole:
            off = error_of_drawn_rows(len(drawn.frame), drawn.rows_in_file)
            tell(f"note: learnt from {len(drawn.frame):,} of {drawn.rows_in_file:,} rows, drawn evenly: {off}; --most-rows sets how many")
        return drawn.frame


def open_table(asked: TableAsked) -> OpenedTable:
    """A table by name or file; columns that no model should learn from are made up beside it, or named and left out."""
    from evenhand.cli.bench_command import open_dataset
    from evenhand.datasets.dataset import from_frame
    from evenhand.datasets.loaders.table_files import ENDINGS
    from evenhand.domain.infer import InferWishes, propose
    from evenhand.synthesis.companions import learn_companions

    path = Path(asked.name)
    if path.suffix.lower() not in ENDINGS:
        data = open_dataset(asked.name, asked.label, "readable")
        return OpenedTable(data.protect(*asked.protected) if asked.protected else data)
    frame = asked.frame()
    with opening():
        proposal = propose(frame, InferWishes(asked.label, protected=asked.protected), suggestions=False)
    if not asked.beside:
        for column, why in proposal.left_out.items():
            tell(f"note: column {column!r} is left out: {why}")
    companions = learn_companions(frame, list(proposal.left_out)) if asked.beside else ()
    return OpenedTable(from_frame(frame, proposal.domain, path.stem), companions)


@dataclass(frozen=True)
class StoredDraw:
    """What is drawn from a model of data: so many rows, or one for each line of a file of partial rows."""

    rows: int
    output: Path
    given: Path | None
    seed: int
    has_wishes: bool


def keep_model(source: Any, path: Path) -> Path:
    """What was learnt, in a file."""
    from evenhand.synthesis.chained_trees import ChainedTrees
    from evenhand.synthesis.population_files import save_model
    from evenhand.synthesis.steered_trees import SteeredTrees

    if not isinstance(source, ChainedTrees | SteeredTrees):
        raise InvalidArgument(f"--save keeps chained trees, and this is {source.name}; leave --synthesiser out")
    return save_model(source, path)


def draw_from(path: Path, draw: StoredDraw) -> None:
    """Rows of a stored model, streamed."""
    import numpy as np

    from evenhand.synthesis.chunks import Stream, write_rows
    from evenhand.synthesis.population_files import load_model

    if draw.has_wishes:
        raise InvalidArgument("--model draws what was learnt; give --wishes and --preset when it is learnt (together with --save)")
    source = load_model(path)
    if draw.given is not None:
        complete(source, draw)
        return
    with watching(quiet=False) as watch:
        left = write_rows(source, draw.rows, Stream(free_path(draw.output), (), watch), np.random.default_rng([draw.seed, 0]))
    tell(f"{left.rows:,} rows of {len(left.columns)} columns from {source.name}: {left.path}")


def complete(source: Any, draw: StoredDraw) -> None:
    """Partial rows of a file, their empty cells made up."""
    import numpy as np

    from evenhand.domain.frames import read_table
    from evenhand.synthesis.chained_trees import ChainedTrees
    from evenhand.synthesis.chunks import write_frame
    from evenhand.synthesis.completion import completed, partial_rows

    if not isinstance(source, ChainedTrees) or draw.given is None:
        raise InvalidArgument("--given completes rows with chained trees that no wish steers; leave wishes, presets and --synthesiser out")
    partial = partial_rows(read_table(draw.given), source.domain)
    rows = completed(source, partial.rows, partial.known, np.random.default_rng([draw.seed, 4]))
    path = write_frame(source.domain.decode(rows), free_path(draw.output))
    tell(f"{len(rows):,} rows completed, {partial.known.mean():.0%} of their cells given: {path}")


def write_suite(name: str, table: Dataset, draw: StoredDraw) -> None:
    """Rows at boundaries, rows that must be refused, or all combinations of the values of two or three columns."""
    import numpy as np

    from evenhand.domain.relations import under_relations
    from evenhand.errors import UnknownName
    from evenhand.synthesis.chunks import write_frame
    from evenhand.synthesis.edge_rows import boundary_rows, negative_frame
    from evenhand.synthesis.value_combinations import covering_rows

    ways, rng = {"pairs": 2, "triples": 3}, np.random.default_rng(draw.seed)
    domain = under_relations(table.rows, table.domain, rng)
    carriers = table.rows[domain.contains(table.rows)]
    if name == "boundary":
        found = boundary_rows(domain, carriers, rng)
        frame = domain.decode(found.rows).assign(reason=list(found.reasons))
        sentence = f"{len(frame):,} rows at boundaries" + "".join(f"; not found under the rules: {text}" for text in found.impossible[:5])
    elif name == "negative":
        frame = negative_frame(domain, carriers, rng)
        sentence = f"{len(frame):,} rows that must be refused, one fault in each"
    elif name in ways:
        covering = covering_rows(domain, carriers, rng, ways[name])
        frame, sentence = domain.decode(covering.rows), covering.sentence()
    else:
        raise UnknownName("suite", name, ("boundary", "negative", "pairs", "triples", PATHS))
    tell(f"{sentence}: {write_frame(frame, free_path(draw.output))}")


def write_paths(file: str, options: SynthOptions, draw: StoredDraw, trusted: bool) -> None:
    """Equally many rows for every path of the decision of a project's model."""
    import numpy as np

    from evenhand.cli.flags import ModelFlags
    from evenhand.cli.project import load_all
    from evenhand.measures.coverage.path_suite import path_suite
    from evenhand.synthesis.chunks import write_frame
    from evenhand.verbs.synth import synth

    if Path(file).suffix not in (".yaml", ".yml"):
        raise InvalidArgument(
            f"--suite {PATHS} asks a model, so it needs a project file that names one: evenhand synth evenhand.yaml --suite {PATHS}"
        )
    loaded = load_all(Path(file), ModelFlags(trusted=trusted))
    if not loaded.data.domain.has_classes:
        raise InvalidArgument(f"--suite {PATHS} needs a model that says labels; the paths of amounts are not told apart")
    source = synth(loaded.data, draw.rows, seed=draw.seed, options=options).source
    found = path_suite(loaded.model, loaded.data.rows, source, source.domain, draw.rows, np.random.default_rng([draw.seed, 5]))
    tell(f"{found.sentence()}: {write_frame(found.frame(), free_path(draw.output))}")
