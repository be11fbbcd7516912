"""YAML with line numbers: a safe reader that knows where every value stands, and a writer of values that read back exactly.

The reader keeps texts as texts: only true and false are truth values (not yes, no, on, off), dates stay texts, and 007 is a
text.  Anchors, aliases, tags and repeated keys are refused.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import yaml

from evenhand.errors import DomainError

Path: TypeAlias = tuple[object, ...]
"""Keys and positions from the top of a document to a value."""

_NULL = re.compile(r"~|null|Null|NULL|")
_BOOL = re.compile(r"true|True|TRUE|false|False|FALSE")
_INT = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_PLAIN = re.compile(r"[^\W\d_](?:[\w ./+<>=()-]*[\w./+<>=()-])?")
_TAKEN = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null"))
_QUICK = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The same reader in C, ten times as quick, where PyYAML was built with it."""
_SURROGATE = re.compile("[\ud800-\udfff]")
"""Half of a character; no file can be written with it."""
_ESCAPED = re.compile(r"\\U([0-9a-fA-F]{8})")
_DEEPEST = 40
_LONGEST_KEY = 120
_WIDTH = 118


@dataclass
class Document:
    """The value of a YAML file, and the line of every part of it."""

    file: str
    value: Any = None
    lines: dict[Path, int] = field(default_factory=dict)

    def line(self, path: Sequence[object]) -> int:
        """The line of a value; of what holds it, when it is not there itself."""
        for length in range(len(path), -1, -1):
            if (found := self.lines.get(tuple(path[:length]))) is not None:
                return found
        return 1

    def error(self, message: str, path: Sequence[object]) -> DomainError:
        """An error at the place of a value."""
        return DomainError(message, file=self.file, line=self.line(path))


def read_yaml(text: str, file: str) -> Document:
    """The document in a text, or a DomainError that names file and line."""
    try:
        return _read(text, file, yaml.SafeLoader if "\t" in text else _QUICK)  # in C, some tabs pass that are refused here
    except (yaml.YAMLError, ValueError, OverflowError):
        return _read_slowly(text, file)  # whose words for a mistake are the same everywhere


def _read(text: str, file: str, loader: Any) -> Document:
    document = Document(file)
    _refuse_tricks(text, document, loader)
    node = yaml.compose(text, Loader=loader)
    if node is None:
        raise DomainError("the file is empty; expected keys such as columns, label, protected", file=file, line=1)
    document.value = _built(node, (), document)
    return document


def _read_slowly(text: str, file: str) -> Document:
    try:
        return _read(text, file, yaml.SafeLoader)
    except yaml.MarkedYAMLError as fault:
        mark = fault.problem_mark or fault.context_mark
        raise DomainError(_problem(fault), file=file, line=mark.line + 1 if mark else 1) from None
    except yaml.reader.ReaderError as fault:
        line = text[: fault.position].count("\n") + 1
        raise DomainError(f"character {fault.character!r} is not allowed in YAML; remove it", file=file, line=line) from None
    except (ValueError, OverflowError):  # from chr() inside the library
        place = next((each.start() for each in _ESCAPED.finditer(text) if int(each.group(1), 16) > sys.maxunicode), 0)
        message = f"{text[place : place + 10]!r} stands for no character; write the character itself"
        raise DomainError(message, file=file, line=text[:place].count("\n") + 1) from None


def _problem(fault: yaml.MarkedYAMLError) -> str:
    problem = fault.problem or fault.context or "not readable"
    if "'\\t'" in problem:
        return "a tab where YAML expects spaces; indent with spaces"
    if "mapping values are not allowed" in problem:
        return f"not valid YAML: {problem}; put texts that contain ': ' in quotes"
    if "'`'" in problem:
        return "not valid YAML: a value cannot begin with a backquote; put the whole text in single quotes"
    return f"not valid YAML: {problem}" + (f" ({fault.context})" if fault.context and fault.context != problem else "")


def _refuse_tricks(text: str, document: Document, loader: Any) -> None:
    documents = depth = 0
    for event in yaml.parse(text, Loader=loader):
        line = getattr(event.start_mark, "line", 0) + 1
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise DomainError(f"nested deeper than {_DEEPEST} levels; no section needs that", file=document.file, line=line)
        documents += isinstance(event, yaml.DocumentStartEvent)
        if getattr(event, "anchor", None) is not None:
            raise DomainError("anchors and aliases (& and *) are not used here; write the value out", file=document.file, line=line)
        if (tag := getattr(event, "tag", None)) is not None:
            raise DomainError(f"the tag {tag!r} is not used here; remove it", file=document.file, line=line)
        if documents > 1:
            raise DomainError("a second document begins here (---); a domain is one document", file=document.file, line=line)


def _built(node: yaml.Node, path: Path, document: Document) -> Any:
    document.lines.setdefault(path, node.start_mark.line + 1)
    if isinstance(node, yaml.SequenceNode):
        return [_built(item, (*path, place), document) for place, item in enumerate(node.value)]
    if isinstance(node, yaml.MappingNode):
        return _built_mapping(node, path, document)
    return _scalar(node, document)


def _built_mapping(node: yaml.MappingNode, path: Path, document: Document) -> dict[Any, Any]:
    built: dict[Any, Any] = {}
    for key_node, value_node in node.value:
        line = key_node.start_mark.line + 1
        if not isinstance(key_node, yaml.ScalarNode):
            raise DomainError("a key must be a single text or number", file=document.file, line=line)
        key = _scalar(key_node, document)
        if key in built:
            raise DomainError(f"the key {key!r} stands twice in one mapping; remove one", file=document.file, line=line)
        document.lines[*path, key] = line
        built[key] = _built(value_node, (*path, key), document)
    return built


def _scalar(node: yaml.Node, document: Document) -> object:
    text: str = node.value
    if not text.isascii() and (half := _SURROGATE.search(text)):
        raise DomainError(f"{half.group()!r} stands for no character; write the character itself", file=document.file, line=_line(node))
    if getattr(node, "style", None):  # of plain text None, in C an empty one
        return text
    if _NULL.fullmatch(text):
        return None
    if _BOOL.fullmatch(text):
        return text.lower() == "true"
    if len(text) > 4_000 and text.lstrip("+-").isdigit():
        raise DomainError("the number is too long", file=document.file, line=_line(node))
    if _INT.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def flow(value: object) -> str:
    """A value on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(key)}: {flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(flow(item) for item in value) + "]"
    return scalar(value)


def scalar(value: object) -> str:
    """One value, quoted where plain text would be read as something else."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise DomainError(f"{value!r} cannot be written; numbers must be finite")
        text = repr(value)
        return text.replace("e", ".0e", 1) if "e" in text and "." not in text else text
    assert isinstance(value, str), value
    return value if _PLAIN.fullmatch(value) and value.isprintable() and value.lower() not in _TAKEN else _quoted(value)


def _quoted(text: str) -> str:
    named = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    return '"' + "".join(named.get(letter) or (letter if letter.isprintable() else f"\\U{ord(letter):08X}") for letter in text) + '"'


def _key(key: object) -> str:
    text = scalar(key)
    # YAML looks only a limited way ahead for the colon of a key; an explicit key has no such limit.
    return f"? {text} " if len(text) > _LONGEST_KEY else text


def entry(key: str, value: object, indent: int) -> str:
    """`key: value` as a line of a block mapping, broken into several where it is long."""
    space = " " * indent
    name = scalar(key)
    head = f"{space}? {name}\n{space}: " if len(name) > _LONGEST_KEY else f"{space}{name}: "
    line = head + flow(value)
    if len(line) <= _WIDTH or not isinstance(value, Mapping | list | tuple) or not value or head.lstrip().startswith("?"):
        return line + "\n"
    if isinstance(value, Mapping):
        if all(isinstance(inner, str) for inner in value):
            return f"{space}{name}:\n" + "".join(entry(inner, item, indent + 2) for inner, item in value.items())
        return head + "{" + _wrapped([f"{_key(inner)}: {flow(item)}" for inner, item in value.items()], indent + 2) + "}\n"
    return head + "[" + _wrapped([flow(item) for item in value], indent + 2) + "]\n"


def _wrapped(items: list[str], indent: int) -> str:
    lines, now = [], ""
    for place, item in enumerate(items):
        piece = item + ("," if place < len(items) - 1 else "")
        if now and len(now) + len(piece) + indent > _WIDTH:
            lines.append(now)
            now = ""
        now = f"{now} {piece}" if now else piece
    lines.append(now)
    space = "\n" + " " * indent
    return space + space.join(lines)


def item_text(text: str) -> str:
    """A rule as an item of a block list: as it is where YAML lets it, in single quotes elsewhere."""
    plain = re.fullmatch(r"[^\W\d_][^\n]*", text) and ": " not in text and " #" not in text and not text.endswith(":")
    if plain and text.isprintable() and text == text.strip() and text.lower() not in _TAKEN:
        return text
    return "'" + text.replace("'", "''") + "'" if text.isprintable() else _quoted(text)
