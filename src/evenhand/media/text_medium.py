"""Templates as rows: a column for the template, one for every slot with a choice of words, one for every protected attribute.

A slot is filled with a word of its list.  Where the words of a slot belong to attributes ("she" to women, "he" to men), the row's values of
these attributes choose the list, so that a twin changes every word that goes with them and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import product

import numpy as np

from evenhand.arrays import Index, Mask, Rows
from evenhand.domain.columns import Column
from evenhand.domain.constraints import compile_constraint
from evenhand.domain.tabular import Constraint, Label, TabularDomain
from evenhand.errors import DataError, UnknownName

TEMPLATE = "template"
"""The name of the column that says which template is filled."""

_SLOT = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True)
class Slot:
    """The words of one slot: one list, or one of equal length for every combination of the values of its attributes.

    `lists` is keyed by these values; without attributes its only key is ().
    """

    name: str
    lists: Mapping[tuple[str, ...], tuple[str, ...]]
    attributes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        lengths = {key: len(words) for key, words in self.lists.items()}
        if not lengths or min(lengths.values()) == 0:
            raise DataError(f"slot {self.name!r} has no words")
        if len(set(lengths.values())) > 1:
            told = ", ".join(f"{' '.join(key)}: {count}" for key, count in lengths.items())
            raise DataError(f"slot {self.name!r} needs as many words for every value, so that each has its counterparts; it has {told}")

    @property
    def choices(self) -> tuple[str, ...]:
        """What a reader sees: the words, or their counterparts side by side, as in "Emily / Greg"."""
        return tuple(" / ".join(dict.fromkeys(words)) for words in zip(*self.lists.values(), strict=True))


@dataclass(frozen=True)
class WordLists:
    """All slots, and the values of the attributes that some of them follow."""

    slots: tuple[Slot, ...]
    attributes: Mapping[str, tuple[str, ...]]

    def __post_init__(self) -> None:
        for slot in self.slots:
            wanted = set(product(*(self.attributes[name] for name in slot.attributes)))
            if missing := sorted(wanted - set(slot.lists)):
                raise DataError(f"slot {slot.name!r} has no words for {' '.join(missing[0])}; every combination needs its own")

    def slot(self, name: str) -> Slot:
        """The slot of this name."""
        known = {slot.name: slot for slot in self.slots}
        if name not in known:
            raise UnknownName("slot", name, known)
        return known[name]


@dataclass(frozen=True, eq=False)
class TextMedium:
    """Fills templates such as "{name} applied as a {job}" with words.  A slot in capitals at its start gets a capital letter."""

    templates: tuple[str, ...]
    words: WordLists
    protected: tuple[str, ...]
    label: Label | None = None

    def __post_init__(self) -> None:
        if not self.templates:
            raise DataError("there is no template to fill")
        if len(set(self.templates)) < len(self.templates):
            raise DataError(f"template {_twice(self.templates)!r} is listed twice")
        for name in self.protected:
            if name not in self.domain.names:
                raise UnknownName("protected slot or attribute", name, self.domain.names)

    @property
    def kind(self) -> str:
        """For a reader."""
        return "text"

    @cached_property
    def domain(self) -> TabularDomain:
        """Templates, slots and attributes; what a template does not use stands at its first value."""
        columns = [Column(TEMPLATE, "category", self.templates)]
        columns += [Column(slot.name, "category", slot.choices) for slot in self._chosen]
        columns += [Column(name, "category", self.words.attributes[name]) for name in self._attributes]
        rules = tuple(rule for column in columns[1:] if (rule := self._rule(column, columns)) is not None)
        protected = tuple(name for name in self.protected if name in [column.name for column in columns])
        return TabularDomain(tuple(columns), protected, self.label, rules)

    @cached_property
    def _used(self) -> tuple[Slot, ...]:
        """The slots that some template has."""
        names = dict.fromkeys(name for template in self.templates for name in self._slots_of(template))
        return tuple(self.words.slot(name) for name in names)

    @property
    def _chosen(self) -> tuple[Slot, ...]:
        return tuple(slot for slot in self._used if len(slot.choices) > 1)

    @property
    def _attributes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for slot in self._used for name in slot.attributes))

    def slots_following(self, attribute: str) -> tuple[str, ...]:
        """The slots with a choice of words whose words go with this attribute."""
        return tuple(slot.name for slot in self._chosen if attribute in slot.attributes)

    def uses(self, name: str, rows: Rows) -> Mask:
        """Whether each row's template has this slot, or one whose words go with this attribute."""
        used = np.array([self._uses(template, name) for template in self.templates], dtype=bool)
        found: Mask = used[rows[:, self.domain.place(TEMPLATE)].astype(np.intp)]
        return found

    def _slots_of(self, template: str) -> list[str]:
        """The slots in a template, in the spelling of the word lists."""
        known = {slot.name for slot in self.words.slots}
        found = []
        for name in _SLOT.findall(template):
            plain = name if name in known else name[:1].lower() + name[1:]
            if plain not in known:
                raise DataError(f"template {template!r}: no words for the slot {{{name}}}; there are {', '.join(sorted(known)) or 'none'}")
            found.append(plain)
        return found

    def _rule(self, column: Column, columns: Sequence[Column]) -> Constraint | None:
        """A template that does not use the column leaves it at its first value, so that no text stands for two rows."""
        uses = [self._uses(template, column.name) for template in self.templates]
        if all(uses):
            return None
        cells = [
            [template, value]
            for template, used in zip(self.templates, uses, strict=True)
            for value in (column.values if used else column.values[:1])
        ]
        return compile_constraint({"columns": [TEMPLATE, column.name], "allowed": cells}, columns)

    def _uses(self, template: str, name: str) -> bool:
        slots = [self.words.slot(each) for each in self._slots_of(template)]
        return any(name == slot.name or name in slot.attributes for slot in slots)

    def show(self, rows: Rows) -> list[str]:
        """One text for every row."""
        codes = np.asarray(rows).astype(np.intp)
        return [self._filled(line) for line in codes]

    def _filled(self, line: Index) -> str:
        cells = {column.name: int(code) for column, code in zip(self.domain.columns, line, strict=True)}
        values = {name: self.words.attributes[name][cells[name]] for name in self._attributes}

        def word(match: re.Match[str]) -> str:
            name = match.group(1)
            slot = self._by_spelling[name]
            said = slot.lists[tuple(values[each] for each in slot.attributes)][cells.get(slot.name, 0)]
            return said if name == slot.name else said[:1].upper() + said[1:]

        return _SLOT.sub(word, self.templates[cells[TEMPLATE]])

    @cached_property
    def _by_spelling(self) -> dict[str, Slot]:
        spelled = {slot.name[:1].upper() + slot.name[1:]: slot for slot in self._used}
        return spelled | {slot.name: slot for slot in self._used}

    def digest(self) -> str:
        """Equal for the same templates and words."""
        told = (self.templates, [(slot.name, sorted(slot.lists.items())) for slot in self._used])
        return sha256(repr(told).encode()).hexdigest()[:16]


def _twice(texts: Sequence[str]) -> str:
    return next(text for place, text in enumerate(texts) if text in texts[:place])
