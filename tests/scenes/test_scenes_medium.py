"""A medium of scenes shows what its rows say, whatever was asked before, in bounded memory; operators are found by name."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from evenhand.contract import Medium, Operator
from evenhand.errors import InvalidArgument, UnknownName
from evenhand.media import scenes as scenes_medium
from evenhand.media.operators import OPERATORS, chosen_operators
from evenhand.media.operators.insert import Insert
from evenhand.media.scenes import ChangeFacts, ChangePlan, Scenes

PLAN = ChangePlan(insert=("person",), change=("person", "car"), operators=("paper",))


@pytest.fixture(scope="module")
def medium(streets):
    return Scenes(streets[:6], PLAN)


def changed(rows):
    return np.hstack([rows[:, :2], np.ones((len(rows), 1))])


def possible(medium, rows):
    rows = changed(rows)
    return rows[medium.is_possible(rows)]


def test_every_operator_keeps_the_contract():
    assert set(OPERATORS.entries()) >= {"insert", "delete", "rotate", "put_back", "empty_patch"}
    for entry in OPERATORS.entries().values():
        assert isinstance(entry.make(), Operator)
    with pytest.raises(UnknownName, match="rotate"):
        chosen_operators(("rotation",))


def test_it_is_a_medium_with_a_domain_of_three_columns(medium):
    assert isinstance(medium, Medium)
    assert medium.domain.names == ("scene", "change", "changed")
    assert medium.domain.protected == ("changed",)
    names = [change.name for change in medium.changes]
    assert names == ["insert person", "delete person", "delete car", "rotate person", "rotate car", "empty patch", "put back"]
    assert len(medium.rows()) == 6 * 5
    assert len(medium.rows(null=True)) == 6 * 2


def test_repeats_are_for_changes_by_chance_only():
    names = [change.name for change in ChangePlan(("dog",), ("car",), ("paper",), repeats=2, controls=False).changes()]
    assert names == ["insert dog", "insert dog (2)", "delete car", "rotate car", "rotate car (2)"]
    usual = [change.name for change in ChangePlan(insert=("dog",), change=("car",), controls=False).changes()]
    assert usual[:4] == ["insert dog", "delete car", "lean car", "mirror car"]
    assert {"fog", "rain", "night", "exposure", "blur", "compression"} <= set(usual)  # of no class
    with pytest.raises(InvalidArgument, match="repeats=0"):
        ChangePlan(repeats=0)


def test_an_unchanged_row_shows_the_original_and_a_changed_one_another_picture(medium):
    rows = medium.rows()
    for place, picture in zip(rows[:, 0], medium.show(rows), strict=True):
        assert picture is medium.scenes[int(place)].picture
    shown = possible(medium, rows)
    assert len(shown) >= 6
    for row, picture in zip(shown, medium.show(shown), strict=True):
        assert (picture != medium.scenes[int(row[0])].picture).any()


def test_pictures_do_not_hang_on_the_order_of_asking(medium, streets):
    shown = possible(medium, np.vstack([medium.rows(), medium.rows(null=True)]))
    other = Scenes(streets[:6], PLAN)
    backwards = other.show(shown[::-1])[::-1]
    for one, again in zip(medium.show(shown), backwards, strict=True):
        np.testing.assert_array_equal(one, again)
    assert medium.digest() == other.digest()
    assert medium.digest() != Scenes(streets[:6], PLAN, seed=1).digest()


def test_changes_that_were_thrown_away_are_made_again_alike(medium, streets, monkeypatch):
    monkeypatch.setattr(scenes_medium, "MOST_BYTES", 1)
    forgetful = Scenes(streets[:6], PLAN)
    shown = possible(medium, medium.rows())[:4]
    for _ in range(2):
        for one, again in zip(medium.show(shown), forgetful.show(shown), strict=True):
            np.testing.assert_array_equal(one, again)
    assert len(forgetful._kept._patches) == 1


def test_what_cannot_be_made_is_an_impossible_twin_with_its_reason(medium):
    rows = medium.rows()
    twins = medium.domain.twins(rows)
    np.testing.assert_array_equal(twins.valid[1], medium.is_possible(changed(rows)))
    assert twins.valid[0].all()
    place, change = (int(code) for code in rows[~twins.valid[1]][0, :2])
    assert medium.facts(place, change).reason
    (shown,) = medium.show(np.array([[place, change, 1.0]]))
    assert shown is medium.scenes[place].picture


def test_insertion_leaves_the_distribution_as_the_truth_or_a_recogniser_sees_it(medium):
    doubled = medium.as_seen([Counter({label: 2 * n for label, n in truth.items()}) for truth in medium.truth])
    for one in (medium, doubled):
        for place in range(len(one.scenes)):
            facts = one.facts(place, 0)
            if isinstance(facts, ChangeFacts):
                most = one.ranges[one.clusters.of[place]]["person"].most
                assert one.seen[place]["person"] + facts.added == most + 1


def test_insertion_inside_the_distribution_stays_there(streets):
    inside = Scenes(streets, ChangePlan(insert=("person",), change=("person",), operators=(Insert(inside=True),)))
    facts = {place: inside.facts(place, 0) for place in range(len(streets))}
    made = {place: one for place, one in facts.items() if isinstance(one, ChangeFacts)}
    assert made
    for place, one in made.items():
        assert inside.truth[place]["person"] + one.added <= inside.ranges[inside.clusters.of[place]]["person"].most


def test_null_changes_alter_no_count(medium):
    rows = possible(medium, medium.rows(null=True))
    assert len(rows)
    for row, after in zip(rows, medium.shown_scenes(rows), strict=True):
        assert after.truth == medium.scenes[int(row[0])].truth
        assert medium.is_null(int(row[1]))
