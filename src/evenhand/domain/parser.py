"""The text of a constraint to a tree.  Knows the grammar and nothing of columns, values or arrays.

    rule        = names "determines" names | implication
    implication = choice ["=>" implication]                       a => b binds loosest and to the right
    choice      = both {"or" both}          both = negation {"and" negation}
    negation    = "not" negation | comparison
    comparison  = sum { ("=="|"!="|"<"|"<="|">"|">=") sum }       18 <= age <= 65 is both at once
                | sum "==" sum "within" number                    equal but for rounding: bmi == weight / size within 0.05
                | sum ["not"] "in" "[" literal {"," literal} "]"
                | sum "is" ["not"] "missing"
    sum         = product {("+"|"-") product}        product = unary {("*"|"/") unary}
    unary       = "-" unary | number | text | true | false | name | "(" implication ")"

A name is a word (dots allowed) or anything in backquotes, a backquote inside being written twice.  Text stands in double
or single quotes with the escapes \\\\ \\" \\' \\n \\r \\t.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from evenhand.errors import ConstraintError

RESERVED = ("and", "or", "not", "in", "is", "missing", "true", "false", "determines")
SPELLINGS = {"True": "true", "TRUE": "true", "False": "false", "FALSE": "false"}
"""Truth values as other languages write them."""
COMPARISONS = ("==", "!=", "<=", ">=", "<", ">")
DEEPEST = 60
"""Parentheses, negations, implications and chained arithmetic nest at most this deep."""


@dataclass(frozen=True)
class Literal:
    """A number, a text or a truth value."""

    value: str | int | float | bool
    at: int


@dataclass(frozen=True)
class Name:
    """A column."""

    name: str
    at: int


@dataclass(frozen=True)
class Arithmetic:
    """Two numbers joined by + - * or /."""

    operator: str
    left: Node
    right: Node
    at: int


@dataclass(frozen=True)
class ComparisonChain:
    """Comparisons that hold together: a <= b < c."""

    operands: tuple[Node, ...]
    operators: tuple[str, ...]
    places: tuple[int, ...]
    slack: float = 0.0  # of a single ==: how far the two sides may be apart

    @property
    def at(self) -> int:
        """Where the first operator stands."""
        return self.places[0]


@dataclass(frozen=True)
class Membership:
    """Whether an operand is one of the listed literals."""

    operand: Node
    options: tuple[Literal, ...]
    negated: bool
    at: int


@dataclass(frozen=True)
class Absence:
    """Whether a cell is missing."""

    operand: Node
    negated: bool
    at: int


@dataclass(frozen=True)
class Logic:
    """Conditions joined by `and`, `or`, `=>`, or one condition under `not`."""

    operator: str
    operands: tuple[Node, ...]
    at: int


@dataclass(frozen=True)
class Determines:
    """A functional dependency: equal sources have equal targets."""

    sources: tuple[Name, ...]
    target: Name
    at: int


Node: TypeAlias = Literal | Name | Arithmetic | ComparisonChain | Membership | Absence | Logic | Determines


@dataclass(frozen=True)
class Token:
    """A piece of the text: its kind, its text (or value) and where it begins."""

    kind: str
    value: str | int | float
    at: int


_PATTERN = re.compile(
    r"(?P<space>\s+)"
    r"|(?P<number>(?:\d+\.\d*|\.\d+|\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<word>[^\W\d]\w*(?:\.\w+)*)"
    r"|(?P<quoted>`(?:[^`]|``)*`)"
    r"|(?P<text>\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')"
    r"|(?P<operator>=>|==|!=|<=|>=|[<>+\-*/()\[\],])",
    re.DOTALL,
)
_ESCAPES = {"\\": "\\", '"': '"', "'": "'", "n": "\n", "r": "\r", "t": "\t"}
_CURES = {
    "=": "write == to compare",
    "&": "write `and`",
    "|": "write `or`",
    "!": "write `not`, or != to compare",
    '"': "the text has no closing quote",
    "'": "the text has no closing quote",
    "`": "the name has no closing backquote",
    "%": "only + - * / are known",
}


def mistake(text: str, at: int, message: str) -> ConstraintError:
    """An error that shows the line and points at the place."""
    before = text[:at]
    line_start = before.rfind("\n") + 1
    line_end = text.find("\n", at)
    line = text[line_start : line_end if line_end >= 0 else len(text)]
    return ConstraintError(f"{message}\n  {line}\n  {' ' * (at - line_start)}^")


def parse(text: str) -> Node:
    """The tree of one constraint."""
    return _Parser(text).rule()


def quote_name(name: str) -> str:
    """A column name as the grammar reads it back: bare where it can be, in backquotes elsewhere."""
    bare = re.fullmatch(r"[^\W\d]\w*(?:\.\w+)*", name) and name not in RESERVED and name not in SPELLINGS
    return name if bare else "`" + name.replace("`", "``") + "`"


def quote_value(value: object) -> str:
    """A value as the grammar reads it back."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        back = {raw: "\\" + letter for letter, raw in _ESCAPES.items() if raw != "'"}
        return '"' + "".join(back.get(letter, letter) for letter in value) + '"'
    return repr(value)


def tokens(text: str) -> list[Token]:
    """The pieces of a text, an `end` piece last."""
    found: list[Token] = []
    at = 0
    while at < len(text):
        match = _PATTERN.match(text, at)
        if match is None:
            cure = _CURES.get(text[at])
            raise mistake(text, at, f"unexpected {text[at]!r}" + (f"; {cure}" if cure else ""))
        if match.lastgroup != "space":
            found.append(_token(str(match.lastgroup), match.group(), text, at))
        at = match.end()
    found.append(Token("end", "the end", len(text)))
    return found


def _token(kind: str, piece: str, text: str, at: int) -> Token:
    if kind == "number":
        number = int(piece) if piece.isdecimal() and len(piece) < 400 else float(piece)
        if number == float("inf"):
            raise mistake(text, at, f"the number {piece[:20]} is too large")
        return Token("number", number, at)
    if kind == "quoted":
        return Token("name", piece[1:-1].replace("``", "`"), at)
    if kind == "text":
        return Token("text", _unescape(piece[1:-1], text, at + 1), at)
    if kind == "word":
        word = SPELLINGS.get(piece, piece)
        return Token(word if word in RESERVED else "name", piece, at)
    return Token(piece, piece, at)


def _unescape(body: str, text: str, at: int) -> str:
    for match in re.finditer(r"\\(.)", body, re.DOTALL):
        if match.group(1) not in _ESCAPES:
            raise mistake(text, at + match.start(), f"unknown escape {match.group()!r}; write \\\\ for a backslash")
    return re.sub(r"\\(.)", lambda match: _ESCAPES[match.group(1)], body, flags=re.DOTALL)


class _Parser:
    """Recursive descent over the tokens of one text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokens(text)
        self.place = 0
        self.depth = 0

    @property
    def now(self) -> Token:
        return self.tokens[self.place]

    def take(self) -> Token:
        token = self.now
        self.place += 1
        return token

    def accept(self, *kinds: str) -> Token | None:
        return self.take() if self.now.kind in kinds else None

    def expect(self, kind: str, what: str) -> Token:
        if self.now.kind != kind:
            raise self.unexpected(f"expected {what}")
        return self.take()

    def unexpected(self, message: str) -> ConstraintError:
        came = self.now
        shown = "the text ends here" if came.kind == "end" else f"got {self.text[came.at : self._end_of(came)]!r}"
        hint = f"; {came.value!r} is a word of the language, put it in backquotes if it is a column" if came.kind in RESERVED else ""
        return mistake(self.text, came.at, f"{message}, {shown}{hint}")

    def _end_of(self, token: Token) -> int:
        match = _PATTERN.match(self.text, token.at)
        return match.end() if match else token.at + 1

    def deeper(self, at: int) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            raise mistake(self.text, at, f"nested deeper than {DEEPEST} levels; split the rule into several")

    def rule(self) -> Node:
        if self.now.kind == "end":
            raise mistake(self.text, 0, "the constraint is empty")
        node = self.dependency() if any(token.kind == "determines" for token in self.tokens) else self.implication()
        if self.now.kind != "end":
            raise self.unexpected("expected an operator or the end")
        return node

    def dependency(self) -> Node:
        sources = self.names()
        at = self.expect("determines", "`determines`").at
        target = self.names()
        if len(target) > 1:
            raise mistake(self.text, target[1].at, "a dependency determines one column; write one rule for each")
        return Determines(sources, target[0], at)

    def names(self) -> tuple[Name, ...]:
        found: list[Name] = []
        while not found or self.accept(","):
            token = self.expect("name", "a column name")
            found.append(Name(str(token.value), token.at))
        return tuple(found)

    def implication(self) -> Node:
        left = self.joined("or", lambda: self.joined("and", self.negation))
        if (arrow := self.accept("=>")) is None:
            return left
        self.deeper(arrow.at)
        right = self.implication()
        self.depth -= 1
        return Logic("=>", (left, right), arrow.at)

    def joined(self, word: str, part: Callable[[], Node]) -> Node:
        at = self.now.at
        found = [part()]
        while self.accept(word):
            found.append(part())
        return Logic(word, tuple(found), at) if len(found) > 1 else found[0]

    def negation(self) -> Node:
        if (word := self.accept("not")) is None:
            return self.comparison()
        self.deeper(word.at)
        operand = self.negation()
        self.depth -= 1
        return Logic("not", (operand,), word.at)

    def comparison(self) -> Node:
        operand = self.sum()
        at = self.now.at
        if self.accept("is"):
            negated = self.accept("not") is not None
            self.expect("missing", "`missing`")
            return Absence(operand, negated, at)
        if self.accept("in"):
            return Membership(operand, self.options(), False, at)
        if self.now.kind == "not" and self.tokens[self.place + 1].kind == "in":
            self.place += 2
            return Membership(operand, self.options(), True, at)
        return self.chain(operand)

    def chain(self, first: Node) -> Node:
        operands, operators, places = [first], [], []
        while operator := self.accept(*COMPARISONS):
            operators.append(operator.kind)
            places.append(operator.at)
            operands.append(self.sum())
        if not operators:
            return first
        return ComparisonChain(tuple(operands), tuple(operators), tuple(places), self.slack(operators))

    def slack(self, operators: list[str]) -> float:
        """What stands after `within`; a column may have that name too, as no name can follow a comparison otherwise."""
        if self.now.kind != "name" or self.now.value != "within":
            return 0.0
        if operators != ["=="]:
            raise self.unexpected("only a single == can hold `within` a number")
        self.take()
        return float(self.expect("number", "a number such as 0.05").value)

    def options(self) -> tuple[Literal, ...]:
        self.expect("[", "a list such as [1, 2]")
        found: list[Literal] = []
        while not found or self.accept(","):
            option = self.unary()
            if not isinstance(option, Literal):
                raise mistake(self.text, option.at, "a list holds numbers, texts in quotes, true or false")
            found.append(option)
        self.expect("]", "`,` or `]`")
        return tuple(found)

    def sum(self) -> Node:
        return self.arithmetic(("+", "-"), self.product)

    def product(self) -> Node:
        return self.arithmetic(("*", "/"), self.unary)

    def arithmetic(self, signs: tuple[str, ...], part: Callable[[], Node]) -> Node:
        node, entered = part(), self.depth
        while operator := self.accept(*signs):
            self.deeper(operator.at)
            node = Arithmetic(operator.kind, node, part(), operator.at)
        self.depth = entered
        return node

    def unary(self) -> Node:
        if (minus := self.accept("-")) is None:
            return self.atom()
        self.deeper(minus.at)
        operand = self.unary()
        self.depth -= 1
        if isinstance(operand, Literal) and isinstance(operand.value, int | float) and not isinstance(operand.value, bool):
            return Literal(-operand.value, minus.at)
        return Arithmetic("-", Literal(0, minus.at), operand, minus.at)

    def atom(self) -> Node:
        token = self.now
        if token.kind not in ("number", "text", "name", "true", "false", "("):
            raise self.unexpected("expected a column, a value or `(`")
        self.take()
        if token.kind == "(":
            self.deeper(token.at)
            inside = self.implication()
            self.depth -= 1
            self.expect(")", "`)`")
            return inside
        if token.kind == "name":
            return Name(str(token.value), token.at)
        return Literal(token.kind == "true" if token.kind in ("true", "false") else token.value, token.at)
