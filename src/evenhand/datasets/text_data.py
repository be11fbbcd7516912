"""Templates and word lists as a data set: every sentence that they give, or an even choice of them where they are many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from evenhand.arrays import Rows
from evenhand.datasets.albums.reading import read_table
from evenhand.datasets.dataset import Dataset
from evenhand.disk import read_utf8
from evenhand.domain.tabular import Label, TabularDomain
from evenhand.domain.yamltext import Document, read_yaml
from evenhand.errors import DataError
from evenhand.media.text_medium import Slot, TextMedium, WordLists

MOST_ROWS = 10_000
"""More sentences than this are not listed one by one: so many are drawn, always the same."""

TEXT = "text"


@dataclass(frozen=True)
class Templates:
    """Texts with slots, and what each is labelled, where somebody says so."""

    texts: tuple[str, ...]
    labels: tuple[str, ...] = ()
    label: str = "label"

    def __post_init__(self) -> None:
        if self.labels and len(self.labels) != len(self.texts):
            raise DataError(f"{len(self.labels)} labels for {len(self.texts)} templates; every template needs one, or none has any")


def from_templates(templates: Templates, words: WordLists, protected: Sequence[str], favourable: Sequence[str] = ()) -> Dataset:
    """The sentences of these templates; `protected` names attributes of the words, or slots whose words are compared."""
    values = tuple(dict.fromkeys(templates.labels))
    label = Label(templates.label, values, tuple(favourable)) if len(values) > 1 else None
    medium = TextMedium(templates.texts, words, tuple(protected), label)
    rows = _sentences(medium.domain)
    frame = medium.domain.decode(rows)
    frame[TEXT] = medium.show(rows)
    if label:
        frame[label.column] = np.array(templates.labels, dtype=object)[rows[:, 0].astype(np.intp)]
    return Dataset("texts", frame, medium.domain, shown_by=medium)


def _sentences(domain: TabularDomain) -> Rows:
    """Every text once: protected values are dealt out evenly, for the twins of a row are asked about anyway."""
    rng = np.random.default_rng(0)
    free = [domain.columns[place].cardinality or 1 for place in domain.free_places]
    total = int(np.prod(free, dtype=np.float64))
    rows = _listed(domain, free) if total <= MOST_ROWS else domain.sample(MOST_ROWS, rng)
    if total <= MOST_ROWS and domain.protected:
        # Dealt by lot: in the order of the list, every second text would have the same word in some slot and the same protected value.
        turn = rng.permutation(len(rows)) % len(domain.combinations)
        turned = domain.twin(rows, turn)
        rows = np.where(domain.keeps_constraints(turned)[:, None], turned, rows)
    _, first = np.unique(domain.keys(rows), return_index=True)
    return rows[np.sort(first)]


def _listed(domain: TabularDomain, counts: Sequence[int]) -> Rows:
    """Every valid choice of what is not protected, the protected columns at their first values."""
    grid = np.stack(np.unravel_index(np.arange(int(np.prod(counts))), counts), axis=1)
    rows = np.zeros((len(grid), len(domain.columns)))
    rows[:, list(domain.free_places)] = grid
    return rows[domain.keeps_constraints(rows)]


def read_templates(file: Path | str, label: str | None = None) -> Templates:
    """A CSV with a column `text`, whose slots stand in braces, and perhaps one of labels."""
    rows = _read(Path(file), (TEXT, *([label] if label else [])))
    texts = tuple(row[TEXT] for row in rows)
    return Templates(texts, tuple(row[label] for row in rows), label) if label else Templates(texts)


def read_words(file: Path | str) -> WordLists:
    """A CSV with the columns `slot` and `word`; every other column is an attribute, and names the value that a word belongs to.

    slot,word,gender
    job,nurse,
    name,Emily,woman
    name,Greg,man
    """
    rows = _read(Path(file), ("slot", "word"))
    names = [name for name in (rows[0] if rows else {}) if name not in ("slot", "word")]
    slots = [_slot(slot, [row for row in rows if row["slot"] == slot], names) for slot in dict.fromkeys(row["slot"] for row in rows)]
    used = [name for name in names if any(name in slot.attributes for slot in slots)]
    values = {name: tuple(dict.fromkeys(row[name] for row in rows if row[name])) for name in used}
    return WordLists(tuple(slots), values)


def _slot(name: str, rows: Sequence[dict[str, str]], names: Sequence[str]) -> Slot:
    attributes = tuple(each for each in names if any(row[each] for row in rows))
    lists: dict[tuple[str, ...], tuple[str, ...]] = {}
    for row in rows:
        key = tuple(row[each] for each in attributes)
        if not all(key):
            raise DataError(
                f"slot {name!r}: the word {row['word']!r} says no {attributes[key.index('')]!r}, which other words of the slot do"
            )
        lists[key] = (*lists.get(key, ()), row["word"])
    return Slot(name, lists, attributes)


def _read(file: Path, needed: Sequence[str]) -> list[dict[str, str]]:
    rows = read_table(file, needed)
    if not rows:
        raise DataError(f"{file} has no rows below its header")
    return rows


def read_text_yaml(file: Path, label: str | None = None) -> tuple[Templates, WordLists]:
    """One YAML file: `templates` are texts, or texts with labels; `words` are lists by slot, or lists by the values of an attribute.

    templates: ["{name} is a {job}", {text: "{name} sleeps", label: calm}]
    words: {job: [nurse, clerk], name: {gender: {woman: [Emily, Anne], man: [Greg, Brad]}}}
    """
    document = read_yaml(read_utf8(file), str(file))
    content = document.value
    if not isinstance(content, dict) or not isinstance(content.get("templates"), list) or not isinstance(content.get("words"), dict):
        raise document.error("the file must hold templates: [...] and words: {...}", ())
    texts, labels = [], []
    for place, each in enumerate(content["templates"]):
        text, said = (
            (each, None)
            if isinstance(each, str)
            else (each.get(TEXT), each.get(label or "label"))
            if isinstance(each, dict)
            else (None, None)
        )
        if not isinstance(text, str) or (label is not None and said is None):
            raise document.error(
                f"a template is a text, or a mapping with text{f' and {label}' if label else ''}; got {each!r}", ("templates", place)
            )
        texts.append(text)
        labels.append(str(said))
    slots = tuple(Slot(name, *_lists(words, document, ("words", name))) for name, words in content["words"].items())
    values: dict[str, tuple[str, ...]] = {}
    for slot in slots:
        for place, name in enumerate(slot.attributes):
            values[name] = tuple(dict.fromkeys((*values.get(name, ()), *(key[place] for key in slot.lists))))
    return Templates(tuple(texts), tuple(labels) if label else (), label or "label"), WordLists(slots, values)


def _lists(words: object, document: Document, path: tuple[object, ...]) -> tuple[dict[tuple[str, ...], tuple[str, ...]], tuple[str, ...]]:
    """Word lists by the values of attributes, and the attributes; they may be nested."""
    if isinstance(words, list) and all(isinstance(word, str) for word in words):
        return {(): tuple(words)}, ()
    if not isinstance(words, dict) or len(words) != 1 or not isinstance(next(iter(words.values())), dict):
        raise document.error("words are a list of texts, or one attribute with a list for each of its values", path)
    attribute, by_value = next(iter(words.items()))
    found: dict[tuple[str, ...], tuple[str, ...]] = {}
    inner: tuple[str, ...] = ()
    for value, part in by_value.items():
        lists, inner = _lists(part, document, (*path, attribute, value))
        found |= {(str(value), *key): texts for key, texts in lists.items()}
    return found, (str(attribute), *inner)
