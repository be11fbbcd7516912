"""Promises of verdicts on texts: single names are not taken for a gender, a gender is, and what is too little to say so is called that."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import evenhand as eh
from evenhand.datasets.text_data import Templates, from_templates
from evenhand.measures.exchanged_words import doubt_about, exchanges_of, least_p_value, words_needed
from evenhand.media.text_medium import Slot, WordLists
from evenhand.models.function import FunctionClassifier
from evenhand.models.meter import Meter
from evenhand.models.shown import ShownModel
from evenhand.oracles import oracle_of
from evenhand.statistics.permutation import distances_test

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from parts.name_noise import NameReader, named_letters

EIGHT, THREE = named_letters(8), named_letters(3)


def exchange(reader, data=EIGHT):
    return exchanges_of(data.medium, Meter(ShownModel(data.medium, reader)), oracle_of("flip"), data.domain, data.rows)


def test_readers_that_only_names_move_are_rarely_blamed():
    assert sum(not doubt_about(exchange(NameReader(seed)), 0.95) for seed in range(16)) <= 2


def test_a_reader_that_leans_is_found():
    found = exchange(NameReader(1, lean=5.0))
    assert found[0].p_value < 0.01
    assert found[0].across > found[0].within
    assert not doubt_about(found, 0.95)


@pytest.mark.parametrize(
    "verb",
    [
        pytest.param(
            lambda model, data: eh.measure(model, data, options=eh.MeasureOptions(rate_rows=200, compare_rows=0, draws=199)),
            marks=pytest.mark.slow,
        ),
        lambda model, data: eh.scan(model, data, budget=eh.Budget(candidates=300)),
    ],
    ids=["measure", "scan"],
)
def test_both_verbs_tell_a_lean_from_single_names(verb):
    named = verb(ShownModel(EIGHT.medium, NameReader(3)), EIGHT)
    assert named.outcome == "inconclusive"
    assert "the single words may be what matters" in named.reason
    assert verb(ShownModel(EIGHT.medium, NameReader(1, lean=5.0)), EIGHT).outcome == "violation"


def test_few_words_are_said_to_be_few():
    doubt = doubt_about(exchange(NameReader(1, lean=5.0), THREE), 0.95)
    assert "3 words of the slot 'name'" in doubt
    assert "4 or more a value" in doubt
    assert words_needed(0.05) == 4
    assert least_p_value(4, 2) == pytest.approx(1 / 35)


def test_a_single_word_for_each_value_is_all_that_is_compared():
    words = WordLists((Slot("pronoun", {("woman",): ("she",), ("man",): ("he",)}, ("gender",)),), {"gender": ("woman", "man")})
    data = from_templates(Templates(("Yesterday {pronoun} wrote.", "Today {pronoun} writes.")), words, ["gender"])
    reader = FunctionClassifier(lambda texts: np.array([[0.2, 0.8] if " he " in text else [0.8, 0.2] for text in texts]), ("no", "yes"))
    assert exchange(reader, data) == ()
    assert eh.scan(ShownModel(data.medium, reader), data).outcome == "violation"


def test_texts_with_pronouns_alone_prove_what_names_cannot():
    lists = {("woman",): ("Emily", "Anne"), ("man",): ("Greg", "Brad")}
    pronouns = Slot("pronoun", {("woman",): ("she",), ("man",): ("he",)}, ("gender",))
    words = WordLists((Slot("name", lists, ("gender",)), pronouns), {"gender": ("woman", "man")})
    data = from_templates(Templates(("{name} wrote.", "Yesterday {pronoun} wrote.")), words, ["gender"])
    reader = FunctionClassifier(lambda texts: np.array([[0.2, 0.8] if " he " in text else [0.8, 0.2] for text in texts]), ("no", "yes"))
    assert exchange(reader, data)[0].plain == 1
    assert not doubt_about(exchange(reader, data), 0.95)


def test_protected_values_are_dealt_to_texts_without_regard_to_their_words():
    frame = EIGHT.frame
    shares = frame.groupby("job")["gender"].apply(lambda each: (each == "woman").mean())
    assert shares.between(0.2, 0.8).all()
    assert (frame["gender"] == "woman").mean() == 0.5


def test_a_reader_that_nothing_moves_passes_when_every_text_was_read():
    reader = FunctionClassifier(lambda texts: np.array([[0.2, 0.8] if "pilot" in text else [0.8, 0.2] for text in texts]), ("no", "yes"))
    done = eh.scan(ShownModel(EIGHT.medium, reader), EIGHT)
    assert done.outcome == "pass"
    assert "all 128 possible inputs were judged" in done.reason


def test_distances_are_dealt_in_every_way_there_is():
    groups = np.repeat([0, 1], 4)
    apart = (groups[:, None] != groups).astype(float)
    assert distances_test(apart, groups, np.random.default_rng(0)).p_value == pytest.approx(2 / 70)
    assert distances_test(np.zeros((8, 8)), groups, np.random.default_rng(0)).p_value == 1.0
    many = np.repeat([0, 1, 2], 6)
    drawn = distances_test((many[:, None] != many).astype(float), many, np.random.default_rng(0), draws=199)
    assert (drawn.kind, drawn.p_value) == ("permutation", pytest.approx(1 / 200))
