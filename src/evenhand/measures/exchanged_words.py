"""Whether a protected value matters, or only the single words that stand for it.

A name stands for a gender, and for itself: a classifier that is moved by rare names gives "Emily" another answer than "Greg", and
"Anne" another than "Emily".  So every word of a value is exchanged for every other word of that value and of the others, in the same
texts.  Were the value of no consequence, the words could be dealt to the values in any other way; the exact permutation test over the
words asks whether the answers change more often across values than they would then.  Words are what is dealt, not
texts: a thousand texts with the same four names hold four names.

Where a single word stands for each value, as "she" and "he" do, the words are all that there is to compare, and nothing is in doubt.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from evenhand.arrays import Mask, Reals, Rows
from evenhand.contract import Medium, Model, Oracle, PairOracle
from evenhand.domain.tabular import TabularDomain
from evenhand.measures.group_figures import Figure
from evenhand.media.text_medium import TextMedium
from evenhand.statistics.permutation import distances_test

MOST_PAIRS = 20_000
"""So many exchanges of two words are judged at most; where words are many, in fewer texts."""

MOST_WORDS = 24
"""Of each value so many words take part at most, the first ones: more would not make the test sharper than it needs to be."""


@dataclass(frozen=True)
class WordExchange:
    """What exchanging the words of one slot does, across the values of an attribute and within them.

    least_p: the smallest p-value that so few words allow.  plain: unfair texts in which one word alone stands for each value.
    """

    attribute: str
    slot: str
    words: int
    texts: int
    across: float
    within: float
    p_value: float
    least_p: float
    plain: int = 0

    @property
    def sentence(self) -> str:
        """For a reader."""
        return (
            f"in {self.texts:,} texts, a {self.slot} of another {self.attribute} changes the answer in {self.across:.1%} of exchanges, "
            f"one of the same {self.attribute} in {self.within:.1%} ({self.words} words a value, p = {self.p_value:.2g})"
        )

    def doubt(self, level: float) -> str:
        """Why pairs of texts do not show yet that the attribute matters; empty where they do."""
        if self.plain or self.p_value <= level:
            return ""
        if self.least_p > level:
            return (
                f"{self.words} words of the slot {self.slot!r} stand for each {self.attribute}: so few cannot tell the {self.attribute} "
                f"from the single words; {words_needed(level)} or more a value can"
            )
        return f"the single words may be what matters, not the {self.attribute}: {self.sentence}"

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**vars(self), "sentence": self.sentence}


def words_needed(level: float, values: int = 2) -> int:
    """How many words each value needs before the smallest possible p-value is below the level."""
    return next(count for count in range(2, 100) if least_p_value(count, values) <= level)


def least_p_value(words: int, values: int) -> float:
    """One over the number of ways to deal all words to values that are told apart by nothing."""
    ways = math.factorial(words * values) / (math.factorial(words) ** values * math.factorial(values))
    return float(1.0 / ways)


@dataclass(frozen=True)
class WordCase:
    """Texts before a model, and what counts as another answer."""

    domain: TabularDomain
    medium: TextMedium
    model: Model
    oracle: PairOracle
    rows: Rows


def exchanges(case: WordCase, rng: np.random.Generator) -> tuple[WordExchange, ...]:
    """For every protected attribute, and every slot of several words that follows it; none where single words stand for the values."""
    return tuple(
        _exchange(case, attribute, slot, rng) for attribute in case.domain.protected for slot in case.medium.slots_following(attribute)
    )


def exchanges_of(medium: Medium | None, model: Model, oracle: Oracle, domain: TabularDomain, rows: Rows | None) -> tuple[WordExchange, ...]:
    """The same for any medium and oracle: nothing where rows are no texts, or where the oracle cannot judge a pair."""
    if not isinstance(medium, TextMedium) or not isinstance(oracle, PairOracle) or rows is None or not len(rows):
        return ()
    return exchanges(WordCase(domain, medium, model, oracle, rows), np.random.default_rng([len(rows), 17]))


def doubt_about(found: Sequence[WordExchange], confidence: float) -> str:
    """Why no protected attribute is shown to matter; empty where one is, or where nothing had to be exchanged."""
    attributes = dict.fromkeys(each.attribute for each in found)
    doubts = [
        next((told for each in found if each.attribute == name and (told := each.doubt((1.0 - confidence) / len(attributes)))), "")
        for name in attributes
    ]
    return doubts[0] if doubts and all(doubts) else ""


def held_by_words(figures: Sequence[Figure], found: Sequence[WordExchange]) -> tuple[Figure, ...]:
    """Figures of groups of texts: a difference counts only where the words show one too, for texts with the same word are no strangers."""
    if not found:
        return tuple(figures)
    shown = {
        name: max(0.0 if each.plain else each.p_value for each in found if each.attribute == name)
        for name in dict.fromkeys(each.attribute for each in found)
    }
    least = [max(each.adjusted, shown.get(each.attribute, min(shown.values()))) for each in figures]
    return tuple(replace(each, adjusted=p).at_level(each.alpha) for each, p in zip(figures, least, strict=True))


def _exchange(case: WordCase, attribute: str, slot: str, rng: np.random.Generator) -> WordExchange:
    domain, place, column = case.domain, case.domain.place(attribute), case.domain.place(slot)
    values = len(domain.columns[place].values)
    words = min(MOST_WORDS, len(domain.columns[column].values))
    uses = case.medium.uses(slot, case.rows)
    texts = _texts(case.rows[uses], (place, column))
    units = values * words
    most = max(1, MOST_PAIRS // (units * (units - 1) // 2))
    texts = texts[rng.permutation(len(texts))[:most]]
    differs = _differs(case, texts, (place, column), (values, words))
    labels = np.repeat(np.arange(values), words)
    is_within = labels[:, None] == labels
    apart = ~np.eye(units, dtype=bool)
    return WordExchange(
        attribute, slot, words, len(texts), float(differs[~is_within].mean()), float(differs[is_within & apart].mean()),
        distances_test(differs, labels, rng).p_value, least_p_value(words, values), _plain(case, attribute, ~uses),
    )  # fmt: skip


def _texts(rows: Rows, exchanged: Sequence[int]) -> Rows:
    """The texts with what is exchanged at its first value, each once."""
    blank = rows.copy()
    blank[:, list(exchanged)] = 0
    return np.unique(blank, axis=0)


def _differs(case: WordCase, texts: Rows, places: Sequence[int], sizes: Sequence[int]) -> Reals:
    """(units, units): the share of texts in which two words, of one value or of two, get different answers."""
    units = [(value, word) for value in range(sizes[0]) for word in range(sizes[1])]
    shown = np.repeat(texts[None], len(units), axis=0)
    for unit, cells in enumerate(units):
        shown[unit][:, list(places)] = cells
    pairs = list(combinations(range(len(units)), 2))
    first = shown[[one for one, _ in pairs]].reshape(-1, texts.shape[1])
    second = shown[[other for _, other in pairs]].reshape(-1, texts.shape[1])
    unfair: Mask = case.oracle.judge_pairs(first, second, case.domain, case.model).unfair
    share = unfair.reshape(len(pairs), len(texts)).mean(axis=1)
    differs = np.zeros((len(units), len(units)))
    for (one, other), each in zip(pairs, share, strict=True):
        differs[one, other] = differs[other, one] = each
    return differs


def _plain(case: WordCase, attribute: str, others: Mask) -> int:
    """How many texts without the slot are unfair: there a single word stands for each value, and its change is the attribute's."""
    rows = case.rows[others & case.medium.uses(attribute, case.rows)]
    if not len(rows):
        return 0
    domain = case.domain.protect(attribute)
    return int(case.oracle.judge(rows, domain, case.model).unfair.sum())
