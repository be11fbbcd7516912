"""What the user wants instead of what the data say: constraints added, modified and deleted, rules, and presets.

add:    [{column: salary, distribution: {name: normal, loc: 15000, scale: 1500}, range: [2000, 30000]}]
modify: [{column: salary, range: [5000, 50000]}, {column: sex, frequencies: {Female: 1, Male: 1}},
         {column: income, factor: 1.2}, {association: [sex, salary], value: Female, range: [5000, 50000]},
         {column: age, range: [18, null]}, {column: income, shift: 500}, {column: income, missing: 0.1}, {column: number, unique: true}]
delete: [{column: zip}, {association: [sex, salary]}, {range: salary}]
rules:  ["age >= 18 or marital_status == 'Never-married'"]
presets: ["1:1 sex", "income up 20 %", "income up 500", "age at least 18", "income 10 % missing", "number unique", "region X only"]

One end of a range may be null: the data's own end stands.  Dates are written 2024-03-31 and shifted by days.
`isUnique` is the paper's word for `unique`.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from evenhand.disk import read_utf8
from evenhand.domain.columns import Column, Value
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import ConstraintError, InvalidArgument, StoreError, UnknownName

Action = Literal["add", "modify", "delete"]
_KEYS = {"column", "association", "value", "range", "distribution", "frequencies", "factor", "shift", "missing", "unique", "isUnique"}


@dataclass(frozen=True)
class Wish:
    """One constraint of the user's on a column, or on an association when it has a source."""

    action: Action
    column: str
    source: str = ""
    value: Value | None = None  # the source's value that it speaks of
    range: tuple[float, float] | None = None
    distribution: Mapping[str, Any] | None = None
    frequencies: Mapping[Value, float] | None = None
    factor: float | None = None
    only_range: bool = False  # a deletion of the range alone
    shift: float | None = None  # what every number is moved by, after the factor
    missing: float | None = None  # share of missing cells
    is_unique: bool = False

    def is_partial(self, column: Column) -> bool:
        """Whether its shares leave something to values that it does not name."""
        named = self.frequencies or {}
        return bool(named) and sum(named.values()) < 1 - 1e-9 and len(named) < len(column.values)

    @property
    def text(self) -> str:
        """The wish on one line, for messages and tables."""
        what = f"range of {self.column}" if self.only_range else f"{self.source} -> {self.column}" if self.source else self.column
        parts = [f"{self.source} = {self.value}"] if self.value is not None else []
        parts += [f"range {self.range[0]:g} to {self.range[1]:g}"] if self.range else []
        parts += [f"distribution {dict(self.distribution)}"] if self.distribution else []
        parts += [f"frequencies {dict(self.frequencies)}"] if self.frequencies else []
        parts += [f"factor {self.factor:g}"] if self.factor is not None else []
        parts += [f"shift {self.shift:+g}"] if self.shift is not None else []
        parts += [f"{self.missing:.4g} missing"] if self.missing is not None else []
        parts += ["unique"] if self.is_unique else []
        return f"{self.action} {what}" + (f": {', '.join(parts)}" if parts else "")


@dataclass(frozen=True)
class Wishes:
    """All of a user's constraints; they take precedence over the data's."""

    wishes: tuple[Wish, ...] = ()
    rules: tuple[str | Mapping[str, Any], ...] = ()

    @classmethod
    def parse(cls, words: Mapping[str, Any], domain: TabularDomain) -> Wishes:
        """From the mapping that a YAML file holds."""
        unknown = set(words) - {"add", "modify", "delete", "rules", "presets"}
        if unknown:
            raise UnknownName("part of the user's constraints", str(min(unknown)), ("add", "modify", "delete", "rules", "presets"))
        found = [_wish(action, entry, domain) for action in ("delete", "add", "modify") for entry in _entries(words, action)]
        rules: list[str | Mapping[str, Any]] = list(_entries(words, "rules"))
        for text in _entries(words, "presets"):
            preset = cls.preset(str(text), domain)
            found += preset.wishes
            rules += preset.rules
        wishes = cls(tuple(found), tuple(rules))
        wishes.check()
        return wishes

    @classmethod
    def load(cls, file: str | Path, domain: TabularDomain) -> Wishes:
        """From a YAML file."""
        import yaml

        try:
            words = yaml.safe_load(read_utf8(Path(file))) or {}
        except StoreError as fault:
            raise ConstraintError(f"the file cannot be read: {fault}", file=str(file)) from fault
        except (yaml.YAMLError, ValueError, RecursionError) as fault:
            raise ConstraintError(f"this is no YAML: {fault}", file=str(file)) from fault
        if not isinstance(words, Mapping):
            raise ConstraintError("expected add:, modify:, delete:, rules: or presets: at the top", file=str(file), line=1)
        return cls.parse(words, domain)

    @classmethod
    def preset(cls, text: str, domain: TabularDomain) -> Wishes:
        """A what-if in words: "1:1 sex", "2:1 sex Male:Female", "income up 20 %", "income down 5 %", "income up 500", "age at least 18",
        "age at most 65", "income 10 % missing", "number unique", "region X only".

        A value that only one column has may stand for it: "1:1 Female", "X only".
        """
        for pattern, make in _PRESETS:
            match = re.fullmatch(pattern, text.strip(), flags=re.IGNORECASE)
            if match:
                return make(match, domain)
        raise InvalidArgument(
            f"preset {text!r} is not understood; expected for example '1:1 sex', '2:1 sex Male:Female', 'income up 20 %', 'income up 500', "
            f"'age at least 18', 'income 10 % missing', 'number unique', 'region X only'"
        )

    def __add__(self, other: Wishes) -> Wishes:
        both = Wishes(self.wishes + other.wishes, self.rules + other.rules)
        both.check()
        return both

    def check(self) -> None:
        """Raise, naming the two, when one wish decides what another one decides otherwise."""
        decided: dict[tuple[object, ...], Wish] = {}
        for wish in self.wishes:
            for key in _decides(wish):
                other = decided.setdefault(key, wish)
                if other is not wish and _differs(other, wish, str(key[0])):
                    raise ConstraintError(f"these two contradict each other: {other.text}  |  {wish.text}")


def _decides(wish: Wish) -> list[tuple[object, ...]]:
    """What a wish has the last word on."""
    if wish.action == "delete":
        return [("deleted", wish.source, wish.column)] if not wish.only_range else [("range", "", wish.column, None)]
    aspects = [name for name in ("range", "distribution", "frequencies", "factor", "shift", "missing") if getattr(wish, name) is not None]
    keys: list[tuple[object, ...]] = [(aspect, wish.source, wish.column, wish.value) for aspect in aspects]
    return [*keys, ("deleted", wish.source, wish.column), ("deleted", "", wish.column)]


def _differs(first: Wish, second: Wish, aspect: str) -> bool:
    if aspect == "deleted":
        return (first.action == "delete") != (second.action == "delete")
    return bool(getattr(first, aspect) != getattr(second, aspect))


def _entries(words: Mapping[str, Any], part: str) -> Sequence[Any]:
    entries = words.get(part) or []
    if isinstance(entries, str | Mapping) or not isinstance(entries, Sequence):
        raise ConstraintError(f"{part}: must be a list, got {entries!r}")
    return entries


def _wish(action: Action, entry: Any, domain: TabularDomain) -> Wish:
    if not isinstance(entry, Mapping):
        raise ConstraintError(f"{action}: {entry!r} must be a mapping such as {{column: age, range: [18, 65]}}")
    if action == "delete" and set(entry) == {"range"}:
        return _bound(Wish(action, str(entry["range"]), only_range=True), domain)
    unknown = set(entry) - _KEYS
    if unknown:
        raise UnknownName(f"key of {action}", str(min(unknown)), _KEYS)
    pair = entry.get("association")
    if (pair is None) == ("column" not in entry):
        raise ConstraintError(f"{action}: {dict(entry)} must name either a column or an association: [source, target]")
    if pair is not None and (not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2):
        raise ConstraintError(f"{action}: association must be [source, target], got {pair!r}")
    source, column = (str(pair[0]), str(pair[1])) if pair is not None else ("", str(entry["column"]))
    wish = Wish(
        action,
        column,
        source,
        entry.get("value"),
        _range(entry["range"], domain.columns[domain.place(column)]) if entry.get("range") is not None else None,
        entry.get("distribution"),
        entry.get("frequencies"),
        entry.get("factor"),
        shift=entry.get("shift"),
        missing=entry.get("missing"),
        is_unique=_is_true(entry, "unique") or _is_true(entry, "isUnique"),
    )
    return _bound(wish, domain)


def _is_true(entry: Mapping[str, Any], key: str) -> bool:
    if not isinstance(entry.get(key, False), bool):
        raise ConstraintError(f"{dict(entry)}: {key} must be true or false, got {entry[key]!r}")
    return bool(entry.get(key, False))


def _range(ends: Any, column: Column) -> tuple[float, float]:
    """Both ends of a wished range; one that is null is the data's."""
    is_pair = isinstance(ends, Sequence) and not isinstance(ends, str) and len(ends) == 2
    if is_pair and column.is_moment:
        ends = [None if end is None else _moment(end, column) for end in ends]
    if not is_pair or not all(end is None or (isinstance(end, int | float) and not isinstance(end, bool)) for end in ends):
        raise ConstraintError(f"{column.name}: range must be [lowest, highest], one of which may be null, got {ends!r}")
    if column.is_listed:
        raise ConstraintError(
            f"{column.name}: range {list(ends)!r} is for numbers, and {column.name!r} is a category; it takes frequencies"
        )
    low, high = (column.lowest if ends[0] is None else float(ends[0])), (column.highest if ends[1] is None else float(ends[1]))
    return (min(low, high), high) if ends[0] is None else (low, max(low, high)) if ends[1] is None else (low, high)


def _moment(end: object, column: Column) -> float:
    if not isinstance(end, str | dt.date):
        raise ConstraintError(
            f"{column.name}: an end of its range must be a {column.kind} such as {column.value(column.highest)}, got {end!r}"
        )
    return column.code(end)


def _bound(wish: Wish, domain: TabularDomain) -> Wish:
    """Check a wish against the columns."""
    column = domain.columns[domain.place(wish.column)]
    if wish.source:
        source = domain.columns[domain.place(wish.source)]
        if not source.is_listed:
            raise ConstraintError(
                f"{wish.text}: the source of an association must be a category, and {source.name!r} is a number; {_as_category(source)}"
            )
        if wish.value is not None:
            source.code(wish.value)
        elif wish.action != "delete":
            raise ConstraintError(f"{wish.text}: say for which value of {wish.source} (value: ...)")
    if wish.action != "delete" and not (wish.is_unique or any(getattr(wish, name) is not None for name in _WANTED)):
        raise ConstraintError(f"{wish.text}: say what is wanted: range, distribution, frequencies, factor, shift, missing or unique")
    if wish.range is not None and wish.range[0] > wish.range[1]:
        raise ConstraintError(f"{wish.text}: the range is empty, its lowest end lies above its highest")
    if wish.source and (wish.missing is not None or wish.is_unique):
        raise ConstraintError(f"{wish.text}: missing and unique speak of a whole column; name the column instead of an association")
    if column.is_listed and any((wish.range, wish.distribution, wish.factor is not None, wish.shift is not None, wish.only_range)):
        raise ConstraintError(f"{wish.text}: {column.name!r} is a category; it takes frequencies")
    if wish.frequencies is not None:
        _check_frequencies(wish, domain)
    if wish.factor is not None and not (isinstance(wish.factor, int | float) and wish.factor > 0):
        raise ConstraintError(f"{wish.text}: factor must be a number above 0")
    if wish.factor is not None and column.is_moment:
        raise ConstraintError(f"{wish.text}: a {column.kind} has no multiples; move it by a number of {_UNITS[column.kind]} (shift: 30)")
    if wish.shift is not None and not (isinstance(wish.shift, int | float) and math.isfinite(wish.shift)):
        raise ConstraintError(f"{wish.column}: shift must be a number, got {wish.shift!r}")
    if wish.missing is not None and not (isinstance(wish.missing, int | float) and 0 <= wish.missing <= 1):
        raise ConstraintError(f"{wish.column}: missing must be a share between 0 and 1, got {wish.missing!r}")
    return wish


_UNITS = {"date": "days", "datetime": "seconds"}
_WANTED = ("range", "distribution", "frequencies", "factor", "shift", "missing")


def _as_category(column: Column) -> str:
    """What a person does about codes that were read as numbers."""
    few = column.is_integral and column.highest - column.lowest < 20
    values = f"[{column.low:g}, ..., {column.high:g}]" if few else "[...]"
    return f"where its numbers are codes, declare it so in the project file: {column.name}: {{kind: category, values: {values}}}"


def _check_frequencies(wish: Wish, domain: TabularDomain) -> None:
    column = domain.columns[domain.place(wish.column)]
    if not column.is_listed:
        raise ConstraintError(f"{wish.text}: {column.name!r} is a number; it takes a range or a distribution, or {_as_category(column)}")
    if not isinstance(wish.frequencies, Mapping) or not wish.frequencies:
        raise ConstraintError(f"{wish.column}: frequencies must map values to shares, got {wish.frequencies!r}")
    for value, share in wish.frequencies.items():
        column.code(value)
        if not isinstance(share, int | float) or share < 0:
            raise ConstraintError(f"{wish.text}: the share of {value!r} must be a number of at least 0")
    if not sum(wish.frequencies.values()) > 0:
        raise ConstraintError(f"{wish.text}: at least one share must be above 0")


def _ratio(match: re.Match[str], domain: TabularDomain) -> Wishes:
    parts = [float(part) for part in match["ratio"].split(":")]
    name = match["column"].strip()
    values: list[str]
    if match["values"]:
        values = [part.strip() for part in match["values"].split(":")]
    elif name not in domain.names and (owner := _owner(name, domain)) is not None:
        name, first = owner
        values = [str(first), *(str(v) for v in domain.columns[domain.place(name)].values if v != first)]
    else:
        column = domain.columns[domain.place(name)]
        if not column.is_listed:
            raise ConstraintError(f"preset {match[0]!r}: {name!r} is a number, which has no shares; {_as_category(column)}")
        values = [str(v) for v in column.values]
    if len(values) != len(parts):
        raise InvalidArgument(f"preset {match[0]!r}: {len(parts)} shares for the {len(values)} values {values} of {name!r}")
    known = {str(v): v for v in domain.columns[domain.place(name)].values}
    shares = {known.get(value, value): part for value, part in zip(values, parts, strict=True)}
    return Wishes((_bound(Wish("modify", name, frequencies=shares), domain),))


def _move(match: re.Match[str], domain: TabularDomain) -> Wishes:
    percent = float(match["percent"]) * (1 if match["way"].lower() == "up" else -1)
    return Wishes((_bound(Wish("modify", match["column"].strip(), factor=1 + percent / 100), domain),))


def _by(match: re.Match[str], domain: TabularDomain) -> Wishes:
    amount = float(match["amount"].replace(",", "")) * (1 if match["way"].lower() == "up" else -1)
    return Wishes((_bound(Wish("modify", match["column"].strip(), shift=amount), domain),))


def _one_sided(match: re.Match[str], domain: TabularDomain) -> Wishes:
    name, words = match["column"].strip(), match["end"]
    end = words if domain.columns[domain.place(name)].is_moment else float(words.replace(",", ""))
    ends = [end, None] if match["side"].lower() == "least" else [None, end]
    return Wishes((_bound(Wish("modify", name, range=_range(ends, domain.columns[domain.place(name)])), domain),))


def _blank(match: re.Match[str], domain: TabularDomain) -> Wishes:
    return Wishes((_bound(Wish("modify", match["column"].strip(), missing=float(match["percent"]) / 100), domain),))


def _unique(match: re.Match[str], domain: TabularDomain) -> Wishes:
    return Wishes((_bound(Wish("modify", match["column"].strip(), is_unique=True), domain),))


def _only(match: re.Match[str], domain: TabularDomain) -> Wishes:
    words = match["words"]
    for name in sorted(domain.names, key=len, reverse=True):
        if words.lower().startswith(name.lower() + " "):
            column = domain.columns[domain.place(name)]
            wanted = words[len(name) + 1 :].strip()
            value = next((v for v in column.values if str(v).lower() == wanted.lower()), wanted)
            return Wishes((_bound(Wish("modify", name, frequencies={value: 1.0}), domain),))
    if (owner := _owner(words.strip(), domain)) is not None:
        return Wishes((_bound(Wish("modify", owner[0], frequencies={owner[1]: 1.0}), domain),))
    raise UnknownName("column", words.split()[0], domain.names)


def _owner(value: str, domain: TabularDomain) -> tuple[str, Value] | None:
    """The one column that has such a value, and the value; None where no column or several have it."""
    found = [(column.name, known) for column in domain.columns for known in column.values if str(known).lower() == value.lower()]
    return found[0] if len(found) == 1 else None


_PRESETS = (
    (r"(?P<ratio>\d+(?:\.\d+)?(?::\d+(?:\.\d+)?)+)\s+(?P<column>[^:]+?)(?:\s+(?P<values>[^\s:]+(?::[^\s:]+)+))?", _ratio),
    (r"(?P<column>.+?)\s+(?P<way>up|down)\s+(?P<percent>\d+(?:\.\d+)?)\s*%", _move),
    (r"(?P<column>.+?)\s+(?P<way>up|down)\s+(?:by\s+)?(?P<amount>\d[\d,]*(?:\.\d+)?)", _by),
    (r"(?P<column>.+?)\s+at\s+(?P<side>least|most)\s+(?P<end>-?\d[\d,]*(?:\.\d+)?|\d{4}-\d\d-\d\d(?:T[\d:]+)?)", _one_sided),
    (r"(?P<column>.+?)\s+(?P<percent>\d+(?:\.\d+)?)\s*%\s+missing", _blank),
    (r"(?P<column>.+?)\s+unique", _unique),
    (r"(?P<words>.+)\s+only", _only),
)
