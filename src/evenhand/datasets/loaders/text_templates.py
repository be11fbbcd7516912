"""Texts: a CSV of templates with a CSV of words beside it, or one YAML file with both."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from evenhand.contract import DataWishes
from evenhand.datasets.dataset import Dataset
from evenhand.datasets.text_data import TEXT, from_templates, read_templates, read_text_yaml, read_words
from evenhand.errors import DataError, InvalidArgument

HEAD = 4096


@dataclass(frozen=True)
class TextTemplates:
    """Reads templates whose slots stand in braces; `words` is the CSV of the words that fill them, beside the templates."""

    kind: ClassVar[str] = "text"

    words: str = "words.csv"

    def claims(self, source: object) -> int:
        """A CSV with a column of texts with slots, or a YAML file with templates."""
        if not isinstance(source, str | Path) or not Path(source).is_file():
            return 0
        with Path(source).open(encoding="utf-8-sig", errors="replace") as file:
            head = file.read(HEAD)
        if Path(source).suffix.lower() in (".yaml", ".yml"):
            return 3 if any(line.startswith("templates:") for line in head.splitlines()) else 0
        columns, _, rest = head.partition("\n")
        return 2 if TEXT in [name.strip().strip('"') for name in columns.split(",")] and "{" in rest else 0

    def load(self, source: object, wishes: DataWishes) -> Dataset:
        """Every sentence that templates and words give."""
        if not wishes.protected:
            raise InvalidArgument("protected: name at least one attribute of the words, or a slot whose words are compared")
        path = Path(str(source))
        if path.suffix.lower() in (".yaml", ".yml"):
            templates, words = read_text_yaml(path, wishes.label)
        else:
            if not (path.parent / self.words).exists():
                raise DataError(
                    f"{path.parent / self.words} does not exist; it lists the words of each slot (columns slot, word), see words"
                )
            templates, words = read_templates(path, wishes.label), read_words(path.parent / self.words)
        data = from_templates(templates, words, wishes.protected_names, wishes.favourable)
        return data.named(path.stem)
