"""The tree of a constraint's text to a condition over codes: names become columns, literals become codes, types must fit."""

from __future__ import annotations

import bisect
import difflib
from collections.abc import Iterable

from evenhand.domain import parser
from evenhand.domain.columns import Column, listing
from evenhand.domain.conditions import Absent, Cell, Compare, Computed, Condition, Constant, Joined, Listed, OneOf, Term
from evenhand.domain.parser import Absence, Arithmetic, ComparisonChain, Literal, Logic, Membership, Name, Node
from evenhand.errors import ConstraintError, DataError

_MIRRORED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_ORDERS = ("<", "<=", ">", ">=")
_NOTHING = ("None", "none", "null", "NULL", "nan", "NaN", "NA")


def bind(node: Node, columns: tuple[Column, ...], text: str) -> Condition:
    """The condition that a tree stands for; mistakes point into the text."""
    return _Binder(columns, text).condition(node)


def find_column(name: str, columns: Iterable[Column], text: str = "", at: int = 0) -> int:
    """The position of a column, or an error that says which one was probably meant."""
    names = [column.name for column in columns]
    if name in names:
        return names.index(name)
    unquoted = [known for known in names if known != name and known.startswith(name) and text[at:].startswith(known)]
    if name in _NOTHING:
        message = f"unknown column {name!r}; a cell that is not there is asked for by `is missing`, as in `age is not missing`"
    elif unquoted:
        message = f"unknown column {name!r}; put names with signs or spaces in backquotes: {parser.quote_name(max(unquoted, key=len))}"
    else:
        message = f"unknown column {name!r}; {_hint(name, names)}"
    if text:
        raise parser.mistake(text, at, message)
    raise ConstraintError(message)


def _hint(name: str, known: Iterable[str]) -> str:
    known = list(known)
    lowered = {candidate.lower(): candidate for candidate in known}
    close = difflib.get_close_matches(name.lower(), list(lowered), n=1, cutoff=0.5)
    return f"did you mean {lowered[close[0]]!r}?" if close else f"known: {listing(known)}"


class _Binder:
    """Walks one tree; holds the columns and the text that errors point into."""

    def __init__(self, columns: tuple[Column, ...], text: str) -> None:
        self.columns = columns
        self.text = text

    def mistake(self, at: int, message: str) -> ConstraintError:
        return parser.mistake(self.text, at, message)

    def place(self, node: Name) -> int:
        return find_column(node.name, self.columns, self.text, node.at)

    def condition(self, node: Node) -> Condition:
        match node:
            case ComparisonChain():
                return self.chain(node)
            case Membership():
                return self.membership(node)
            case Absence():
                return self.absence(node)
            case Logic():
                return Joined(node.operator, tuple(self.condition(operand) for operand in node.operands))
            case Name():
                return self.flag(node)
        raise self.mistake(node.at, "expected a condition such as a comparison, got a value")

    def flag(self, node: Name) -> Condition:
        place = self.place(node)
        column = self.columns[place]
        if not column.values or not all(isinstance(value, bool) for value in column.values):
            raise self.mistake(node.at, f"column {column.name!r} is not true or false by itself; compare it with a value")
        return OneOf(Cell(place), tuple(float(code) for code, value in enumerate(column.values) if value))

    def chain(self, node: ComparisonChain) -> Condition:
        if node.slack:
            left, right = (self.number(operand) for operand in node.operands)
            ends = (Compare(way, left, Computed(sign, right, Constant(node.slack))) for way, sign in ((">=", "-"), ("<=", "+")))
            return Joined("and", tuple(ends))
        pairs = zip(node.operands, node.operators, node.places, node.operands[1:], strict=False)
        parts = tuple(self.comparison(operator, left, right, at) for left, operator, at, right in pairs)
        return parts[0] if len(parts) == 1 else Joined("and", parts)

    def comparison(self, operator: str, left: Node, right: Node, at: int) -> Condition:
        if isinstance(left, Literal) and isinstance(right, Literal):
            raise self.mistake(at, "this compares two constants; name a column")
        first, second = self.listed(left), self.listed(right)
        if first is not None and isinstance(right, Literal):
            return self.with_literal(operator, first, right, at)
        if second is not None and isinstance(left, Literal):
            return self.with_literal(_MIRRORED[operator], second, left, at)
        if first is not None and second is not None:
            return self.between_listed(operator, first, second, at)
        return Compare(operator, self.number(left), self.number(right))

    def listed(self, node: Node) -> int | None:
        """The position of a listed column; None for anything else."""
        if not isinstance(node, Name):
            return None
        place = self.place(node)
        return place if self.columns[place].is_listed else None

    def with_literal(self, operator: str, place: int, literal: Literal, at: int) -> Condition:
        column = self.columns[place]
        if operator in _ORDERS and column.kind != "ordinal":
            raise self.mistake(at, f"column {column.name!r} is of kind {column.kind} without order; use == or in, or declare it as ordinal")
        between = self.between_values(column, literal) if operator in _ORDERS else None
        return Compare(operator, Cell(place), Constant(self.code(column, literal) if between is None else between))

    def between_values(self, column: Column, literal: Literal) -> float | None:
        """A code between two neighbours, for a number that an ascending list of numbers does not hold."""
        if not _are_numbers(column.values) or not _are_numbers((literal.value,)) or literal.value in column.values:
            return None
        if list(column.values) != sorted(column.values):
            return None
        return bisect.bisect_left(column.values, literal.value) - 0.5

    def code(self, column: Column, literal: Literal) -> float:
        """The code of a literal in a column, with a cure for the usual slips."""
        try:
            return column.code(literal.value)
        except DataError:
            pass
        shown = parser.quote_value(literal.value)
        if not column.is_listed:
            raise self.mistake(literal.at, f"column {column.name!r} holds numbers, {shown} is not one; compare it with a number")
        if (twin := next((value for value in column.values if str(value) == str(literal.value)), None)) is not None:
            raise self.mistake(literal.at, f"column {column.name!r} has no value {shown}; write {parser.quote_value(twin)}")
        raise self.mistake(literal.at, f"column {column.name!r} has no value {shown}; {_hint(str(literal.value), map(str, column.values))}")

    def between_listed(self, operator: str, first: int, second: int, at: int) -> Condition:
        left, right = self.columns[first], self.columns[second]
        if operator not in _ORDERS:
            shared = {_identity(value): float(number) for number, value in enumerate((*left.values, *right.values))}
            return Compare(operator, *(Listed(p, tuple(shared[_identity(v)] for v in self.columns[p].values)) for p in (first, second)))
        if _are_numbers(left.values) and _are_numbers(right.values) and left.kind == right.kind == "ordinal":
            return Compare(operator, Listed(first, _floats(left)), Listed(second, _floats(right)))
        if left.kind != "ordinal" or right.kind != "ordinal" or left.values != right.values:
            raise self.mistake(at, f"columns {left.name!r} and {right.name!r} share no order; both must be ordinal with the same values")
        return Compare(operator, Cell(first), Cell(second))

    def number(self, node: Node) -> Term:
        match node:
            case Literal():
                if isinstance(node.value, str | bool):
                    shown = parser.quote_value(node.value)
                    raise self.mistake(node.at, f"{shown} is not a number, but it is compared or computed with numbers")
                return Constant(float(node.value))
            case Arithmetic():
                return Computed(node.operator, self.number(node.left), self.number(node.right))
            case Name():
                return self.number_of_column(node)
        raise self.mistake(node.at, "expected a number or a column, got a condition; use `and`, `or`, `=>` between conditions")

    def number_of_column(self, node: Name) -> Term:
        place = self.place(node)
        column = self.columns[place]
        if not column.is_listed:
            return Cell(place)
        if not _are_numbers(column.values) and not (column.values and all(isinstance(value, bool) for value in column.values)):
            raise self.mistake(node.at, f"column {column.name!r} of kind {column.kind} holds no numbers to compute or compare with here")
        return Listed(place, _floats(column))

    def membership(self, node: Membership) -> Condition:
        if isinstance(node.operand, Name):
            place = self.place(node.operand)
            column = self.columns[place]
            inside: Condition = OneOf(Cell(place), tuple(self.code(column, option) for option in node.options))
        else:
            term = self.number(node.operand)
            equals = tuple(Compare("==", term, self.number(option)) for option in node.options)
            inside = Joined("or", equals)
        return Joined("not", (inside,)) if node.negated else inside

    def absence(self, node: Absence) -> Condition:
        if not isinstance(node.operand, Name):
            raise self.mistake(node.at, "only a column can be missing")
        absent = Absent(self.place(node.operand))
        return Joined("not", (absent,)) if node.negated else absent


def _are_numbers(values: Iterable[object]) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def _floats(column: Column) -> tuple[float, ...]:
    return tuple(float(value) for value in column.values)


def _identity(value: object) -> object:
    """1 and 1.0 are equal cells, 1 and True are not."""
    return (isinstance(value, bool), isinstance(value, str), value)
