"""Letters of application and a classifier that learned to invite from decisions which closed two jobs to women."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from evenhand.disk import whole_file
from evenhand.domain.project_sections import DataSource, MediumSource, ModelSource, Project
from evenhand.media.text_medium import WordLists
from evenhand.planted.demos import DemoProject
from evenhand.planted.letters import ANSWERS, TEMPLATES, WORDS, LetterReader, letters


@dataclass(frozen=True)
class TextDemo:
    """Templates and words as CSV files, and a linear classifier of words and pairs of words."""

    kind: ClassVar[str] = "text"
    candidates: ClassVar[int] = 2_000

    def write(self, folder: Path, seed: int) -> DemoProject:
        """Templates, words and the classifier."""
        import skops.io
        from sklearn.feature_extraction.text import CountVectorizer
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline

        data = letters().data
        rows = data.domain.sample(600, np.random.default_rng([seed, 1]))
        texts = data.medium.show(rows)
        decided = np.array(ANSWERS)[LetterReader().scores(texts).argmax(axis=1)]
        classifier = make_pipeline(CountVectorizer(ngram_range=(1, 2)), LogisticRegression(max_iter=400)).fit(texts, decided)
        with whole_file(folder / "model.skops") as new:
            skops.io.dump(classifier, new)
        write_templates(TEMPLATES, folder / "templates.csv")
        write_words(WORDS, folder / "words.csv")
        medium = MediumSource("text", {"words": "words.csv"}, protected=("gender",))
        lines = (
            f"{len(TEMPLATES)} letters with slots for a name, a job and a tone; does a classifier invite women and men alike?",
            "It learned from decisions that turned down every woman who applied as a pilot or a surgeon.",
        )
        return DemoProject(
            Project(None, DataSource(folder / "templates.csv"), ModelSource(path=folder / "model.skops"), medium=medium), lines
        )


def write_templates(templates: tuple[str, ...], file: Path) -> None:
    """A CSV of templates."""
    with whole_file(file) as new, new.open("w", newline="", encoding="utf-8") as opened:
        csv.writer(opened).writerows([("text",), *((template,) for template in templates)])


def write_words(words: WordLists, file: Path) -> None:
    """A CSV of words: slot, word, and a column for every attribute."""
    names = list(words.attributes)
    with whole_file(file) as new, new.open("w", newline="", encoding="utf-8") as opened:
        writer = csv.writer(opened)
        writer.writerow(["slot", "word", *names])
        for slot in words.slots:
            for key, texts in slot.lists.items():
                values = dict(zip(slot.attributes, key, strict=True))
                writer.writerows([slot.name, text, *(values.get(name, "") for name in names)] for text in texts)
