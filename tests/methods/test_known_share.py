"""How much of what can be found is known: counts that forget, in words."""

from __future__ import annotations

import pytest

from evenhand.methods.parts.known_share import KnownShare


@pytest.mark.parametrize(("known", "words"), [(0, "hardly any"), (50, "about half"), (74, "about three quarters"), (100, "nearly all")])
def test_the_share_is_said_in_words(known, words):
    seen = KnownShare(500)
    seen.add(known, 100)
    assert seen.sentence == f"{words} of the plausible affected people are in the list"


def test_nobody_drawn_is_not_everybody_known():
    assert KnownShare(500).share is None


def test_what_was_drawn_long_ago_is_forgotten():
    seen = KnownShare(500)
    for _ in range(10):
        seen.add(0, 250)
    for _ in range(4):
        seen.add(250, 250)
    assert seen.share > 0.9


def test_what_is_told_is_of_the_list_as_it_has_become():
    seen = KnownShare(2_000)
    for known in (24, 35, 44, 47, 48, 47, 48):  # of a list that has grown
        seen.add(known, 50)
    assert seen.share == pytest.approx(0.95, abs=0.02)
    assert seen.known / seen.drawn < 0.85
