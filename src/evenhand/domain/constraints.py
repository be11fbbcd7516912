"""Rules that a possible person keeps, compiled against the columns to array operations.

A rule is a text (its grammar stands in `parser`) or a mapping:

    {columns: [city, country], allowed: [[Paris, France], [Bonn, Germany]]}      or forbidden: [...]
    {columns: [education], determines: education_num, map: {Bachelors: 13}}      or map: [[Bachelors, 13], ...]

A dependency without a map, `education determines education_num` or the mapping without `map`, is learned from rows.
Categories compare by value, ordinals by the order of their values, and a missing cell breaks nothing (see `conditions`).
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from evenhand.arrays import Mask, Rows
from evenhand.domain import parser
from evenhand.domain.binding import bind, find_column
from evenhand.domain.columns import Column, Value, listing
from evenhand.domain.conditions import Combination, Condition, Dependency, Lookup
from evenhand.errors import ConstraintError, DataError


@dataclass(frozen=True)
class CompiledConstraint:
    """A rule bound to the positions of its columns."""

    text: str  # one line for a reader
    source: str | Mapping[str, object] = field(hash=False)  # what goes back into a file; a learned dependency carries its map
    columns: tuple[int, ...]
    condition: Condition = field(repr=False)
    disagreement: float = field(default=0.0, compare=False)  # of a learned dependency: the share of its rows that break it
    is_relation: bool = field(default=False, compare=False)  # stands under `relations` in its file

    def holds(self, rows: Rows) -> Mask:
        """Which rows keep the rule; unknown counts as kept."""
        broken = self.condition.truth(rows)[1]
        return ~np.broadcast_to(broken, len(rows))


def compile_constraints(sources: Sequence[object], columns: Sequence[Column], rows: Rows | None = None) -> tuple[CompiledConstraint, ...]:
    """Every rule compiled; `rows` are what dependencies without a map are learned from."""
    return tuple(compile_constraint(source, columns, rows) for source in sources)


def compile_constraint(source: object, columns: Sequence[Column], rows: Rows | None = None) -> CompiledConstraint:
    """One rule compiled, or a ConstraintError that says what is wrong with it and where."""
    if isinstance(source, str):
        return _from_text(source, tuple(columns), rows)
    if isinstance(source, Mapping):
        return _from_mapping(source, tuple(columns), rows)
    raise ConstraintError(f"a constraint is a text or a mapping, not {source!r}; put the text in quotes")


def is_learned(source: object) -> bool:
    """Whether a rule is a dependency without a map, which only data rows can complete."""
    if isinstance(source, str):
        return any(token.kind == "determines" for token in parser.tokens(source))
    return isinstance(source, Mapping) and "determines" in source and "map" not in source


def _from_text(source: str, columns: tuple[Column, ...], rows: Rows | None) -> CompiledConstraint:
    text = source.strip()
    node = parser.parse(text)
    if isinstance(node, parser.Determines):
        places = [find_column(name.name, columns, text, name.at) for name in (*node.sources, node.target)]
        return _learned(places, columns, rows)
    condition = bind(node, columns, text)
    return CompiledConstraint(" ".join(text.split()), text, tuple(sorted(condition.places)), condition)


_FORMS = "expected {columns: [...], allowed: [...]}, {columns: [...], forbidden: [...]} or {columns: [...], determines: column, map: {...}}"


def _from_mapping(source: Mapping[object, object], columns: tuple[Column, ...], rows: Rows | None) -> CompiledConstraint:
    keys = set(source)
    names = source.get("columns")
    if not isinstance(names, Sequence) or isinstance(names, str) or not names or not all(isinstance(n, str) for n in names):
        raise ConstraintError(f"the key `columns` must be a list of column names, got {names!r}; {_FORMS}")
    places = [find_column(str(name), columns) for name in names]
    if len(set(places)) < len(places):
        raise ConstraintError(f"the key `columns` names a column twice: {list(names)}")
    if keys == {"columns", "allowed"} or keys == {"columns", "forbidden"}:
        kind = "allowed" if "allowed" in keys else "forbidden"
        return _combination(places, columns, source[kind], kind)
    if keys in ({"columns", "determines"}, {"columns", "determines", "map"}):
        target = find_column(str(source["determines"]), columns)
        return _learned([*places, target], columns, rows) if "map" not in keys else _mapped([*places, target], columns, source["map"])
    raise ConstraintError(f"the keys {sorted(map(str, keys))} make no known constraint; {_FORMS}")


def _combination(places: list[int], columns: tuple[Column, ...], entries: object, kind: str) -> CompiledConstraint:
    if len(places) < 2:
        raise ConstraintError("a combination needs at least two columns; for one column write a rule such as `column in [...]`")
    table = _table(entries, places, columns, kind)
    names = [columns[place].name for place in places]
    text = f"({', '.join(map(parser.quote_name, names))}) in {len(table)} {kind} combination{'s' * (len(table) != 1)}"
    source = {"columns": names, kind: [_values(entry, places, columns) for entry in table]}
    condition = Combination(tuple(places), Lookup(table), kind == "forbidden")
    return CompiledConstraint(text, source, tuple(sorted(places)), condition)


def _mapped(places: list[int], columns: tuple[Column, ...], entries: object) -> CompiledConstraint:
    if places[-1] in places[:-1]:
        raise ConstraintError(f"column {columns[places[-1]].name!r} cannot determine itself")
    if isinstance(entries, Mapping):
        if len(places) != 2:
            raise ConstraintError("with several columns, `map` is a list of lists: [[first, second, determined], ...]")
        entries = [[key, value] for key, value in entries.items()]
    table = _table(entries, places, columns, "map")
    sources = tuple(entry[:-1] for entry in table)
    if len(set(sources)) < len(sources):
        twice = next(entry for place, entry in enumerate(sources) if entry in sources[:place])
        raise ConstraintError(f"map: {_values(twice, places[:-1], columns)} is determined twice, and differently")
    names = [columns[place].name for place in places]
    text = f"{', '.join(map(parser.quote_name, names[:-1]))} determines {parser.quote_name(names[-1])}"
    back = [_values(entry, places, columns) for entry in table]
    # A mapping reads best, but holds only what has different keys in YAML and Python: 1 and True are one key there.
    as_mapping = len(places) == 2 and len({entry[0] for entry in back}) == len(back)
    source = {"columns": names[:-1], "determines": names[-1], "map": {entry[0]: entry[1] for entry in back} if as_mapping else back}
    condition = Dependency(tuple(places[:-1]), places[-1], Lookup(sources), tuple(entry[-1] for entry in table))
    return CompiledConstraint(text, source, tuple(sorted(places)), condition)


def _table(entries: object, places: list[int], columns: tuple[Column, ...], key: str) -> tuple[tuple[float, ...], ...]:
    """The entries as codes, each once, in their order."""
    if not isinstance(entries, Sequence) or isinstance(entries, str) or not entries:
        raise ConstraintError(f"the key `{key}` must be a list of lists with one value per column, got {entries!r}")
    codes: dict[tuple[float, ...], None] = {}
    for entry in entries:
        if not isinstance(entry, Sequence) or isinstance(entry, str) or len(entry) != len(places):
            names = [columns[place].name for place in places]
            raise ConstraintError(f"{key}: {entry!r} must be a list of {len(places)} values, one for each of {listing(names)}")
        codes[tuple(_code(columns[place], value, key) for place, value in zip(places, entry, strict=True))] = None
    return tuple(codes)


def _code(column: Column, value: object, key: str) -> float:
    try:
        code = column.code(value)
    except DataError as wrong:
        close = difflib.get_close_matches(str(value), [str(known) for known in column.values], n=1)
        raise ConstraintError(f"{key}: {wrong}" + (f"; did you mean {close[0]!r}?" if close else "")) from None
    if np.isnan(code):
        raise ConstraintError(f"{key}: a missing cell belongs to no combination; write a rule with `is missing` instead")
    if not column.inside(np.array([code]))[0]:
        raise ConstraintError(f"{key}: {value!r} is outside the range of column {column.name!r}, {column.low} to {column.high}")
    return code


def _values(entry: Sequence[float], places: Sequence[int], columns: tuple[Column, ...]) -> list[Value | None]:
    return [columns[place].value(code) for place, code in zip(places, entry, strict=True)]


def _learned(places: list[int], columns: tuple[Column, ...], rows: Rows | None) -> CompiledConstraint:
    """A dependency whose map is the most frequent target of every source seen in the rows."""
    names = [columns[place].name for place in places]
    rule = f"{', '.join(names[:-1])} determines {names[-1]}"
    if rows is None:
        raise ConstraintError(f"`{rule}` has no map, and there are no data rows to learn it from; give data, or write the map out")
    cells = rows[:, places]
    cells = cells[~np.isnan(cells).any(axis=1)]
    if not len(cells):
        raise ConstraintError(f"`{rule}` cannot be learned: no data row has all of these cells; write the map out")
    table, counts = np.unique(cells, axis=0, return_counts=True)
    # Rarest first, so that the last entry of a source in the dictionary is its most frequent target.
    majority = {tuple(table[at, :-1]): table[at] for at in np.argsort(counts, kind="stable")}
    entries = sorted(tuple(map(float, entry)) for entry in majority.values())
    learned = _mapped(places, columns, [_values(entry, places, columns) for entry in entries])
    broken = ~learned.holds(rows)
    return replace(learned, disagreement=float(broken.mean()))
