"""A domain from a table: kinds, ranges, missing shares, and what a person should look at before trusting it.

Nothing is guessed that changes a result: protected columns, the favourable outcome and constraints are proposed, not set.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from evenhand.domain.added_codes import added_up
from evenhand.domain.co_changes import CoChange, learn_co_changes
from evenhand.domain.code_texts import MOST_DIFFERENT, is_named_postcode, kind_of_codes
from evenhand.domain.column_kinds import KindGuess, distinct_count, guess, is_float, is_whole, moments_in, same_answer, values_of
from evenhand.domain.columns import LARGEST_EXACT_INTEGER, Column, listing
from evenhand.domain.frames import as_frame, read_table, suspected_missing
from evenhand.domain.protected_words import concept_of, concept_of_values, meant
from evenhand.domain.relations import Relation, find_relations
from evenhand.domain.suggestions import Suggestion, spread_rows, suggest_constraints
from evenhand.domain.tabular import Label, TabularDomain
from evenhand.domain.twins import Comparison
from evenhand.errors import DataError, DomainError, UnknownName
from evenhand.values import tell_watcher

if TYPE_CHECKING:
    import pandas as pd

MOST_CLASSES = 100
FEWEST_IDENTIFIED = 20
"""Tables with fewer rows have no columns that could be told to be identifiers."""
FIRST_CELLS = 5_000
"""A column that repeats itself among this many first cells is neither an identifier nor free text."""
MOST_CATEGORIES = 2_000
LONG_TEXT = 60
_IDENTIFIER = re.compile(r"(^|[^a-z])(id|uuid|guid|key|index|idx|nr|no|number|ssn|row|record|unnamed: 0)$")


class InferenceWarning(UserWarning):
    """Something about a table that a person should know before the inferred domain is used."""


@dataclass(frozen=True)
class Proposal:
    """An inferred domain, and what a person should decide: nothing of it is in force until it is written into the domain."""

    domain: TabularDomain
    left_out: dict[str, str]  # column: why
    notes: tuple[str, ...]
    protected_candidates: tuple[str, ...]
    constraints: tuple[Suggestion, ...]
    relations: tuple[Relation, ...] = ()
    co_changes: tuple[CoChange, ...] = ()
    looked_at: pd.DataFrame | None = field(default=None, repr=False, compare=False)  # the table, or rows drawn from a large one

    @property
    def further(self) -> tuple[Suggestion, ...]:
        """The constraints between columns that no relation speaks of already."""
        told = [set(each.rule.columns) for each in self.relations]
        return tuple(each for each in self.constraints if not any(set(each.columns) <= columns for columns in told))


@dataclass(frozen=True)
class InferWishes:
    """What the caller already knows: the label, its favourable value(s), protected columns, columns to keep at any rate."""

    label: str | None = None
    favourable: object = None
    protected: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()  # columns of few whole numbers that are amounts or counts, not codes


def infer(
    table: object,
    *,
    label: str | None = None,
    favourable: object = None,
    protected: Sequence[str] = (),
    keep: Sequence[str] = (),
    numbers: Sequence[str] = (),
) -> TabularDomain:
    """The domain of a table (pandas, polars, or the path of one); warns about columns that it leaves out.

    label: the column that the model predicts.  favourable: the outcome(s) that a person hopes for.  protected: columns that must not
    change the answer.  keep: columns to use although they look like identifiers or free text.  numbers: columns of few whole numbers
    that are amounts or counts; without it they are read as the codes of a category.

    >>> import pandas as pd
    >>> import evenhand as eh
    >>> people = pd.DataFrame({"age": range(20, 60), "sex": ["f", "m"] * 20, "granted": ["no", "yes"] * 20})
    >>> domain = eh.infer(people, label="granted", favourable="yes", protected=["sex"])
    >>> [column.kind for column in domain.columns]
    ['integer', 'category']
    """
    chosen = InferWishes(label, favourable, _names(protected, "protected"), _names(keep, "keep"), _names(numbers, "numbers"))
    proposal = propose(table, chosen, suggestions=False)
    for name, why in proposal.left_out.items():
        warnings.warn(f"column {name!r} is left out: {why}; name it in keep=[...] to use it", InferenceWarning, stacklevel=2)
    return proposal.domain


def _names(names: Sequence[str], argument: str) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(_checked_names(names, argument))


def _checked_names(names: Sequence[str], argument: str) -> Sequence[str]:
    for name in names:
        if not isinstance(name, str):
            raise DomainError(f"{argument}={list(names)!r} must be a list of column names")
    return names


def propose(table: object, wishes: InferWishes | None = None, *, suggestions: bool = True) -> Proposal:
    """The domain of a table together with notes, protected candidates and constraints that the data suggests."""
    wishes = wishes or InferWishes()
    tell_watcher("looking at the table", 0, None, "reading")
    frame = read_table(table) if isinstance(table, str | Path) else as_frame(table)
    _check_frame(frame, wishes)
    chosen = _label(frame, wishes) if wishes.label is not None else None
    inputs = [name for name in frame.columns if name != wishes.label]
    left_out = {name: why for name in inputs if name not in (*wishes.keep, *wishes.protected) and (why := _useless(frame[name]))}
    guesses = _guesses(frame, [name for name in inputs if name not in left_out], wishes)
    columns = tuple(each.column for each in guesses)
    if not columns:
        unused = "; ".join(f"{name!r}: {why}" for name, why in left_out.items())
        raise DataError(f"no column is left to test: {unused or 'there is only the label'}")
    bins = {name: edges for name in wishes.protected if (edges := _bins(frame[name], next(c for c in columns if c.name == name)))}
    domain = TabularDomain(columns, wishes.protected, chosen, comparisons=bins)
    suggested = _suggested(domain, frame) if suggestions else _Suggested()
    candidates = tuple(column.name for column in columns if concept_of(column.name) or concept_of_values(column.values[:3]))
    reasons = tuple(f"column {each.column.name!r}: {each.reason}" for each in guesses if each.reason)
    return Proposal(
        domain,
        left_out,
        (*reasons, *_notes(frame, domain, wishes)),
        candidates,
        suggested.constraints,
        suggested.relations,
        suggested.co_changes,
        frame,
    )


def _guesses(frame: pd.DataFrame, names: list[str], wishes: InferWishes) -> list[KindGuess]:
    """What every column is, one after the other; then relations are looked for, which is the last step."""
    found = []
    for place, name in enumerate(names):
        tell_watcher("looking at the table", place, len(names) + 1, name)
        found.append(guess(frame[name], name in wishes.numbers))
    tell_watcher("looking at the table", len(names), len(names) + 1, "relations between columns")
    sums = added_up(frame, [each.column for each in found], [each.column.name for each in found if _may_be_amounts(each, frame, wishes)])
    return [_as_amounts(frame, each.column.name, sums) if each.column.name in sums else each for each in found]


def _may_be_amounts(found: KindGuess, frame: pd.DataFrame, wishes: InferWishes) -> bool:
    """Whether a column is read as codes only because its whole numbers are few."""
    name = found.column.name
    return found.column.kind == "category" and name not in wishes.protected and is_whole(frame[name]) and not is_named_postcode(name)


def _as_amounts(frame: pd.DataFrame, name: str, sums: Mapping[str, str]) -> KindGuess:
    why = f"whole numbers that add up ({sums[name]}), read as amounts; if they are codes, write kind: category in the project file"
    return replace(guess(frame[name], as_number=True), reason=why)


@dataclass(frozen=True)
class _Suggested:
    """What a table says about its columns together."""

    relations: tuple[Relation, ...] = ()
    constraints: tuple[Suggestion, ...] = ()
    co_changes: tuple[CoChange, ...] = ()


def _suggested(domain: TabularDomain, frame: pd.DataFrame) -> _Suggested:
    """The relations that evenly spread rows keep, the constraints that the table seems to keep, and what goes along with protection."""
    rows = spread_rows(domain, frame)
    relations = find_relations(rows, domain, np.random.default_rng(0))
    return _Suggested(relations, suggest_constraints(domain, frame, rows), learn_co_changes(domain, rows))


def _check_frame(frame: pd.DataFrame, wishes: InferWishes) -> None:
    for name in frame.columns:
        if not isinstance(name, str):
            raise DataError(f"column name {name!r} is not text; rename the columns (frame.columns = frame.columns.map(str))")
    if frame.columns.duplicated().any():
        raise DataError(f"the table has two columns called {frame.columns[frame.columns.duplicated()][0]!r}; rename one of them")
    if not len(frame):
        raise DataError("the table has no rows; ranges and values cannot be inferred from it")
    labels = () if wishes.label is None else (wishes.label,)
    for what, names in (("label", labels), ("protected column", wishes.protected), ("column", (*wishes.keep, *wishes.numbers))):
        for name in names:
            if name not in frame.columns:
                raise _unknown(what, name, list(frame.columns))
    for name in wishes.protected:
        if name == wishes.label:
            raise DomainError(f"protected column {name!r} is the label; protect an input")
        if frame[name].nunique(dropna=True) < 2:
            raise DomainError(f"protected column {name!r} has a single value in the data: there is nobody to compare with")


def _unknown(what: str, name: str, names: list[str]) -> UnknownName:
    """The error for a name that is not there; it points to the column that means the same in another language."""
    same = meant(name, names) if what == "protected column" else None
    return UnknownName(what, name, names, same)


def _label(frame: pd.DataFrame, wishes: InferWishes) -> Label:
    cells = frame[wishes.label].dropna()
    values = tuple(values_of(cells))
    if len(values) > MOST_CLASSES and wishes.favourable is None and cells.dtype.kind in "if":
        return Label(str(wishes.label), unit="")  # so many different numbers are amounts
    if len(values) > MOST_CLASSES:
        raise DomainError(f"label {wishes.label!r} has {len(values):,} different values; cut it into classes first")
    wanted = wishes.favourable
    asked = () if wanted is None else tuple(wanted) if isinstance(wanted, list | tuple | set) else (wanted,)
    favourable = tuple(one if (found := same_answer(one, values)) is None else found for one in asked)
    return Label(str(wishes.label), values, favourable)


def _useless(cells: pd.Series) -> str:
    """Why a column says nothing about a person that a test could use; empty when it does."""
    head = cells.head(FIRST_CELLS).dropna()
    if 2 * len(head) >= FIRST_CELLS and distinct_count(head) < 0.1 * len(head):
        return ""  # most columns are settled by their first cells
    if is_float(cells) or concept_of(str(cells.name)) is not None:
        return ""
    present = cells.dropna()
    if len(present) < FEWEST_IDENTIFIED or isinstance(present.iloc[0], bool | np.bool_):
        return ""
    if distinct_count(present.head(FIRST_CELLS)) < 0.1 * FIRST_CELLS <= 0.1 * len(present):
        return ""
    distinct = distinct_count(present)
    if distinct < len(present) and (codes := _codes_in(cells, present)):
        return "" if distinct <= MOST_DIFFERENT else f"it has {distinct:,} different {codes}, more than can be listed"
    is_named = bool(_IDENTIFIER.search(_words(str(cells.name))))
    if is_whole(cells):
        low, high = int(present.min()), int(present.max())
        is_given = is_named or high - low + 1 == len(present) or max(-low, high) > LARGEST_EXACT_INTEGER
        return "every row has its own value, as an identifier has" if distinct == len(present) and is_given else ""
    if moments_in(present):
        return ""
    if distinct == len(present) or (is_named and distinct > 0.9 * len(present)):
        return "every row has its own value, as an identifier or free text has"
    if distinct > MOST_CATEGORIES or (distinct > 0.5 * len(present) and distinct > 50):
        return f"it has {distinct:,} different texts in {len(present):,} rows, as free text has"
    return ""


def _codes_in(cells: pd.Series, present: pd.Series) -> str:
    """Which kind of codes a column of texts holds, or of numbers that are called postcodes; empty for another column."""
    if is_whole(cells):
        return "postcodes" if is_named_postcode(str(cells.name)) else ""
    return kind_of_codes(str(cells.name), present.head(FIRST_CELLS))


def _bins(cells: pd.Series, column: Column) -> Comparison | None:
    """Quartile bins for protected real numbers: comparing every real number is impossible."""
    if column.is_integral and not column.is_moment:
        return None
    codes = column.encode(cells.dropna())
    edges = np.unique(np.quantile(codes, [0, 0.25, 0.5, 0.75, 1]))
    return Comparison(edges=tuple(map(float, edges))) if len(edges) >= 3 else None


def _notes(frame: pd.DataFrame, domain: TabularDomain, wishes: InferWishes) -> tuple[str, ...]:
    notes = [
        f"{mark!r} is kept as an answer in {listing(names)}; if it means missing, read the table with missing_values=['', {mark!r}]"
        for mark, names in suspected_missing(frame, {column.name: column.values for column in domain.columns if column.is_listed}).items()
    ]
    for column in domain.columns:
        if column.missing == 1.0:
            notes.append(f"column {column.name!r} has only missing cells")
        elif column.lowest == column.highest:
            notes.append(f"column {column.name!r} has a single value, {column.value(column.lowest)!r}")
    if domain.label is not None:
        if domain.label.is_amount:
            what = f"label {domain.label.column!r} has so many different numbers that it is read as an amount"
            notes.append(f"{what}; write its unit beside it, and the tolerance by which two amounts may differ")
        elif not domain.label.favourable:
            choices = listing(domain.label.values)
            notes.append(f"the favourable value of label {domain.label.column!r} is not declared; it is one of {choices}")
        if gaps := int(frame[wishes.label].isna().sum()):
            notes.append(f"label {domain.label.column!r} is missing in {gaps:,} rows; leave them out before labels are used")
    return tuple(notes)


def _words(name: str) -> str:
    """A column name in lower case, camelCase taken apart."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
