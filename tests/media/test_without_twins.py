"""Labelled pictures without twins: groups through the same `measure` as tables, and nothing about individuals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from fairlearn.metrics import MetricFrame, true_positive_rate
from sklearn.metrics import accuracy_score

import evenhand as eh
from evenhand.errors import InvalidArgument
from evenhand.media.album import Album, Attribute

COUNT = 450


def _album() -> Album:
    """Grey squares: how light the left half is says the label, how light the right half is says the group."""
    rng = np.random.default_rng(3)
    label, race, sex = rng.integers(0, 3, COUNT), rng.integers(0, 3, COUNT), rng.integers(0, 2, COUNT)
    pictures = np.zeros((COUNT, 8, 8, 3), np.uint8)
    pictures[:, :, :4] = (40 + 80 * label)[:, None, None, None]
    pictures[:, :, 4:] = (race * 3 + sex)[:, None, None, None]
    attributes = {"race": Attribute(("a", "b", "c"), race), "sex": Attribute(("f", "m"), sex)}
    return Album("squares", pictures, attributes, Attribute(("no", "maybe", "yes"), label))


class _Squares:
    """Right about everybody but race b and sex f, whom it tells no."""

    classes = ("no", "maybe", "yes")

    def scores(self, pictures: np.ndarray) -> np.ndarray:
        label, code = (pictures[:, 0, 0, 0].astype(int) - 40) // 80, pictures[:, 0, 7, 0]
        return np.eye(3)[np.where(code == 3, 0, label)] * 0.8 + 0.2 / 3


@pytest.fixture(scope="module")
def measured() -> eh.Measurement:
    data = eh.open(_album(), protected=["race", "sex"], favourable="yes")
    return eh.measure(eh.wrap(_Squares(), data), data, options=eh.MeasureOptions(draws=199, smallest_gap=0.3))


def test_many_values_need_no_twins(measured: eh.Measurement) -> None:
    assert not measured.individual
    assert not measured.studies
    assert measured.outcome == "violation"
    assert any("no twins" in note for note in measured.notes)


def test_worst_intersection_is_named(measured: eh.Measurement) -> None:
    assert measured.figure("label_accuracy", "race and sex").worst.name == "b, f"
    assert "race and sex = b, f" in measured.as_dict()["sentences"][0]


def test_groups_have_fairlearns_values(measured: eh.Measurement) -> None:
    album = _album()
    said, groups = _Squares().scores(album.pictures).argmax(axis=1), np.array(["a", "b", "c"])[album.attribute("race").codes]
    theirs = MetricFrame(metrics=accuracy_score, y_true=album.label.codes, y_pred=said, sensitive_features=groups).by_group
    ours = {part.name: part.estimate for part in measured.figure("label_accuracy", "race").groups}
    assert ours == pytest.approx(theirs.to_dict(), abs=1e-12)
    theirs = MetricFrame(metrics=true_positive_rate, y_true=album.label.codes == 1, y_pred=said == 1, sensitive_features=groups).by_group
    ours = {part.name: part.estimate for part in measured.figure("equal_opportunity[maybe]", "race").groups}
    assert ours == pytest.approx(theirs.to_dict(), abs=1e-12)


def test_calibration_of_every_class(measured: eh.Measurement) -> None:
    for name in ("no", "maybe", "yes"):
        for metric in ("statistical_parity", "equal_opportunity", "predictive_equality", "calibration"):
            assert measured.figure(f"{metric}[{name}]", "race and sex").groups


def test_everything_else_asks_for_an_editor() -> None:
    data = eh.open(_album(), protected=["sex"], favourable="yes", settings={"editor": "none"})
    model = eh.wrap(_Squares(), data)
    with pytest.raises(InvalidArgument, match="without an editor"):
        eh.scan(model, data, budget=eh.Budget(candidates=10))
    with pytest.raises(InvalidArgument, match="compares twins"):
        eh.measure(model, data, options=eh.MeasureOptions(studies=("jury",)))


def test_two_values_have_twins_as_before() -> None:
    album = replace(_album()[np.arange(60)], name="two")
    data = eh.open(album, protected=["sex"], favourable="yes")
    assert data.medium.has_twins
    assert len(data.rows) < len(album)  # the editor has learnt from the others


def test_groups_are_compared_where_nobody_hopes_for_an_outcome() -> None:
    """Two classes, neither better to get: the accuracy of the label and the recall of each class, Fairlearn's values; no empty figures."""
    album = _album()
    sides = Attribute(("left", "right"), (album.label.codes > 0).astype(np.int64))
    data = eh.open(replace(album, label=sides), protected=["race"])

    def side(pictures: np.ndarray) -> np.ndarray:
        scores = _Squares().scores(pictures)
        return np.stack([scores[:, 0], 1 - scores[:, 0]], axis=1)

    measured = eh.measure(eh.wrap(side, data, classes=["left", "right"]), data, options=eh.MeasureOptions(draws=199, smallest_gap=0.3))
    assert {each.metric for each in measured.figures} == {"label_accuracy", "equal_opportunity[left]", "equal_opportunity[right]"}
    assert measured.figure("equal_opportunity[right]", "race").title == "Recall: right"
    groups = np.array(["a", "b", "c"])[album.attribute("race").codes]
    said = side(album.pictures).argmax(axis=1)
    theirs = MetricFrame(metrics=accuracy_score, y_true=sides.codes, y_pred=said, sensitive_features=groups).by_group
    ours = {part.name: part.estimate for part in measured.figure("label_accuracy", "race").groups}
    assert ours == pytest.approx(theirs.to_dict(), abs=1e-12)
    assert measured.outcome == "violation"


def test_a_right_classifier_is_not_blamed_for_what_groups_are() -> None:
    """Classes that are unevenly common among groups, none of them hoped for, and a classifier that is always right."""
    album = _album()
    race = album.attribute("race").codes
    sides = Attribute(("left", "right"), (np.random.default_rng(0).random(COUNT) < 0.2 + 0.3 * race).astype(np.int64))
    pictures = album.pictures.copy()
    pictures[:, 0, 0, 0] = sides.codes
    data = eh.open(replace(album, pictures=pictures, label=sides), protected=["race"])
    model = eh.wrap(lambda shown: np.eye(2)[shown[:, 0, 0, 0]] * 0.8 + 0.1, data, classes=["left", "right"])
    assert eh.measure(model, data, options=eh.MeasureOptions(draws=199, smallest_gap=0.3)).outcome != "violation"
