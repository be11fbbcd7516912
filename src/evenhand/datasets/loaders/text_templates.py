"""Texts: a CSV of templates with a CSV of words beside it, their folder, or one YAML file with both."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from evenhand.contract import DataWishes, MediumProposal
from evenhand.datasets.dataset import Dataset
from evenhand.datasets.text_data import TEXT, Templates, from_templates, read_templates, read_text_yaml, read_words
from evenhand.errors import DataError, InvalidArgument
from evenhand.media.text_medium import WordLists

HEAD = 4096
TEMPLATES = "templates.csv"
YAML = (".yaml", ".yml")


@dataclass(frozen=True)
class TextTemplates:
    """Reads templates whose slots stand in braces; `words` is the CSV of the words that fill them, beside the templates."""

    kind: ClassVar[str] = "text"

    words: str = "words.csv"

    def claims(self, source: object) -> int:
        """A CSV with a column of texts with slots, a folder with one of the usual name, or a YAML file with templates."""
        if not isinstance(source, str | Path) or not _templates(Path(source)).is_file():
            return 0
        with _templates(Path(source)).open(encoding="utf-8-sig", errors="replace") as file:
            head = file.read(HEAD)
        if Path(source).suffix.lower() in YAML:
            return 3 if any(line.startswith("templates:") for line in head.splitlines()) else 0
        columns, _, rest = head.partition("\n")
        return 3 if TEXT in [name.strip().strip('"') for name in columns.split(",")] and "{" in rest else 0

    def propose(self, source: Path, wishes: DataWishes) -> MediumProposal:
        """The words' file, and every attribute of the words where nothing is named."""
        templates, words = self._read(source, wishes.label)
        named = wishes.protected_names or tuple(words.attributes)
        if not named:
            slots = ", ".join(slot.name for slot in words.slots)
            raise InvalidArgument(
                f"protected: no word says what it belongs to; name one of the slots {slots}, whose words are then compared"
            )
        data = from_templates(templates, words, named, wishes.favourable)
        lines = (f"{len(templates.texts)} templates give {len(data):,} texts; protected: {', '.join(named)}",)
        return MediumProposal({} if source.suffix.lower() in YAML else {"words": self.words}, named, lines)

    def load(self, source: object, wishes: DataWishes) -> Dataset:
        """Every sentence that templates and words give."""
        if not wishes.protected:
            raise InvalidArgument("protected: name at least one attribute of the words, or a slot whose words are compared")
        path = Path(str(source))
        templates, words = self._read(path, wishes.label)
        return from_templates(templates, words, wishes.protected_names, wishes.favourable).named(path.stem)

    def _read(self, given: Path, label: str | None) -> tuple[Templates, WordLists]:
        path = _templates(given)
        if path.suffix.lower() in YAML:
            return read_text_yaml(path, label)
        words = path.parent / self.words
        if not words.exists():
            raise DataError(f"{words} does not exist; it lists the words of each slot (columns slot and word); name another with words")
        return read_templates(path, label), read_words(words)


def _templates(source: Path) -> Path:
    """The file of templates that a source is or holds."""
    return source / TEMPLATES if source.is_dir() else source
