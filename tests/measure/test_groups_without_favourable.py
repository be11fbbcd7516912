"""Groups where no outcome is better to get than another: people of one true class are compared, whatever the classes' mix."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from evenhand.measures.group import Outcomes
from evenhand.measures.group_figures import Figure, GroupSettings, corrected
from evenhand.measures.groups import Grouping
from evenhand.verbs.group_tasks import FigureWork
from evenhand.verbs.measure_result import worst_sentence
from evenhand.verbs.measurement import Answer

CLASSES = ("young", "middle", "older")
SAID = np.array([[0.9, 0.1, 0.0], [0.1, 0.8, 0.1], [0.0, 0.4, 0.6]])
"""What is said of each true class, whatever the group: the older are read worst."""


def _figures(mixes: np.ndarray, laws: np.ndarray, has_favourable: bool = False) -> dict[str, Figure]:
    """Of groups of 500 with these mixes of true classes, in which exactly these shares are said."""
    counts = np.rint(500 * mixes[:, :, None] * laws).astype(int)  # (groups, true classes, said)
    codes, truth, said = (np.repeat(each.ravel(), counts.ravel()) for each in np.indices(counts.shape))
    answer = Answer(Outcomes(said == 0, (truth == 0).astype(np.int8)), said, truth, True, (), np.eye(3)[said], has_favourable)
    grouping = Grouping("race", codes.astype(np.intp), ("one", "two"))
    work = FigureWork(answer, (grouping,), (), CLASSES, GroupSettings(draws=199))
    found = [each for task in work.every() for each in work.open()(replace(task, rng=np.random.default_rng(0)))]
    return {each.metric: each for each in corrected(found)}


UNLIKE = np.array([[0.7, 0.2, 0.1], [0.2, 0.2, 0.6]])


def test_a_group_with_more_people_who_are_hard_to_read_is_not_treated_worse() -> None:
    found = _figures(UNLIKE, np.repeat(SAID[None], 2, axis=0))
    accuracy = found["label_accuracy"]
    assert [part.estimate for part in accuracy.groups] == pytest.approx([0.85, 0.70])  # as they are, for the reader
    assert accuracy.verdict == "not shown"
    assert "different" not in {each.verdict for each in found.values()}
    assert "of one true label" in accuracy.meaning


def test_the_older_of_one_group_who_are_read_worse_are_named() -> None:
    laws = np.repeat(SAID[None], 2, axis=0)
    laws[1, 2] = [0.0, 0.8, 0.2]
    found = _figures(np.full((2, 3), 1 / 3), laws)
    assert found["equal_opportunity[older]"].verdict == "different"
    assert found["label_accuracy"].verdict == "different"
    assert found["equal_opportunity[young]"].verdict == "not shown"


def test_how_often_a_class_is_said_is_compared_only_where_one_is_favourable() -> None:
    laws = np.repeat(SAID[None], 2, axis=0)
    assert {"statistical_parity[older]", "calibration[older]"} <= set(_figures(UNLIKE, laws, has_favourable=True))
    assert not [name for name in _figures(UNLIKE, laws) if name.startswith(("statistical_parity", "calibration"))]


def _of_ages(years: float) -> dict[str, Figure]:
    """A regression that draws every age towards the middle, in a young and an old group; so many years more are said in the young one."""
    rng = np.random.default_rng(3)
    codes = np.repeat([0, 1], 300)
    actual = rng.normal(np.array([32.0, 50.0])[codes], 9.0)
    said = 40.0 + 0.6 * (actual - 40.0) + rng.normal(0, 4.0, len(codes)) + years * (codes == 0)
    return _compared(codes, said, actual)


def _compared(codes: np.ndarray, said: np.ndarray, actual: np.ndarray) -> dict[str, Figure]:
    answer = Answer(Outcomes(amount=said, actual=actual), np.zeros(len(codes), int), None, False, (), has_favourable=False)
    work = FigureWork(answer, (Grouping("race", codes, ("one", "two")),), (), ("years",), GroupSettings(draws=199))
    found = [each for task in work.every() for each in work.open()(replace(task, rng=np.random.default_rng(0)))]
    return {each.metric: each for each in corrected(found)}


def test_errors_of_ages_are_compared_among_people_of_like_age() -> None:
    fair, planted = _of_ages(0.0), _of_ages(5.0)
    assert set(fair) == {"mean_error", "absolute_error"}  # what is said on average follows from who is older
    assert abs(fair["mean_error"].groups[0].estimate - fair["mean_error"].groups[1].estimate) > 5  # as it is, for the reader
    assert "different" not in {each.verdict for each in fair.values()}
    assert planted["mean_error"].verdict == "different"


@pytest.mark.parametrize("people", [1_200, 110_000])  # shuffled, and by the law of large samples
def test_a_fair_regression_that_jumps_between_two_ages_is_not_blamed(people: int) -> None:
    rng = np.random.default_rng(8)
    codes = rng.integers(0, 2, people)
    actual = rng.normal(np.array([32.0, 50.0])[codes], 9.0)
    said = np.where(actual < 41.0, 28.0, 58.0) + rng.normal(0, 2.0, people)
    found = _compared(codes, said, actual)
    assert "different" not in {each.verdict for each in found.values()}
    assert _compared(codes, said + 5.0 * (codes == 0), actual)["mean_error"].verdict == "different"


def test_a_figure_that_shows_no_difference_blames_no_group() -> None:
    worse = np.array([[0.5, 0.4, 0.1], [0.3, 0.5, 0.2], [0.2, 0.4, 0.4]])
    alike, apart = (_figures(np.full((2, 3), 1 / 3), np.stack([SAID, second])) for second in (SAID, worse))
    assert worst_sentence(list(alike.values())).startswith("no difference is shown in accuracy of the label by race; ")
    assert worst_sentence(list(apart.values())).startswith("Accuracy of the label is lowest for race = two: ")
