"""Changes that leave the person as they are: exact, steady, and what they cost each group."""

from __future__ import annotations

import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest

import evenhand as eh
from evenhand import report
from evenhand.engine.gate import Gate
from evenhand.errors import UnknownName
from evenhand.measures.studies import robust_groups
from evenhand.media.album import Album, Attribute
from evenhand.media.disturbances import DISTURBANCES, chosen_disturbances
from evenhand.media.parts.disturbed_medium import DisturbedMedium
from evenhand.planted.portraits import synthetic_faces


@pytest.fixture(scope="module")
def portraits() -> np.ndarray:
    return synthetic_faces(6, np.random.default_rng(1), 32).pictures


@pytest.mark.parametrize("name", DISTURBANCES.entries())
def test_every_change_is_steady_and_leaves_its_input_alone(name: str, portraits: np.ndarray) -> None:
    change, kept = DISTURBANCES.make(name), portraits.copy()
    changed = change.changed(portraits)
    assert changed.dtype == np.uint8
    assert changed.shape == portraits.shape
    assert np.array_equal(portraits, kept)
    assert (changed != portraits).any(axis=(1, 2, 3)).all()
    assert np.array_equal(change.changed(portraits[3:4]), changed[3:4])  # whatever batch it comes in
    assert len(change.changed(portraits[:0])) == 0


def test_large_pictures_are_changed_a_few_at_a_time() -> None:
    """The numbers of all of them at once take ten times their bytes."""
    pictures = np.random.default_rng(3).integers(0, 255, (128, 256, 256, 3), dtype=np.uint8)
    seen = SimpleNamespace(show=lambda rows: pictures[rows[:, 0].astype(int)])
    medium = DisturbedMedium(seen, DISTURBANCES.make("blur"))
    tracemalloc.start()
    shown = medium.show(np.arange(128.0)[:, None])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 7 * pictures.nbytes
    assert np.array_equal(shown[:2], DISTURBANCES.make("blur").changed(pictures[:2]))


def test_a_model_is_shown_fewer_large_pictures_at_once() -> None:
    def asked_at_once(side: int) -> int:
        album = Album("grey", np.zeros((3, side, side, 3), np.uint8), {"group": Attribute(("one", "other"), np.array([0, 1, 0]))}, LABEL)
        data = eh.open(album, protected=["group"], settings={"editor": "none"})
        return int(eh.wrap(lambda pictures: np.full((len(pictures), 2), 0.5), data).batch_rows)

    assert asked_at_once(16) == 256
    assert asked_at_once(512) == 10


def test_an_unknown_change_is_named() -> None:
    with pytest.raises(UnknownName, match="fog"):
        chosen_disturbances(("fog",))


COUNT = 600
LABEL = Attribute(("no", "yes"), np.array([0, 1, 1]))


def _data() -> eh.Dataset:
    rng = np.random.default_rng(2)
    label, group = rng.integers(0, 2, COUNT), rng.integers(0, 2, COUNT)
    pictures = np.full((COUNT, 8, 8, 3), 60, np.uint8)
    pictures[:, :, 4:] = (100 + 100 * label).astype(np.uint8)[:, None, None, None]
    pictures[:, 0, 0] = (40 * group).astype(np.uint8)[:, None]
    attributes = {"group": Attribute(("one", "other"), group)}
    return eh.open(Album("halves", pictures, attributes, Attribute(("no", "yes"), label)), protected=["group"], settings={"editor": "none"})


def _scores(pictures: np.ndarray, hurt: bool) -> np.ndarray:
    """Right by the contrast of the halves; in dim light, half of the group whose first pixel is black is told no."""
    values = pictures.astype(float)
    yes = values[:, :, 4:].mean(axis=(1, 2, 3)) > 2.4 * values[:, 2:, :4].mean(axis=(1, 2, 3))
    if hurt:
        yes &= ~((values[:, 0, 0, 0] == 0) & (values[:, 2:, :4].mean(axis=(1, 2, 3)) < 40))
    return np.column_stack([~yes, yes]) * 0.8 + 0.1


@pytest.mark.parametrize(("hurt", "expected"), [(True, "violation"), (False, "pass")])
def test_a_group_that_is_hurt_more_is_found(hurt: bool, expected: str) -> None:
    data = _data()
    model = eh.wrap(lambda pictures: _scores(pictures, hurt), data)
    found = eh.measure(model, data, options=eh.MeasureOptions(studies=("robust_groups:changes=dim_light",), draws=199))
    assert found.as_dict()["body"]["studies"]["robust_groups"]["checks"][0]["outcome"] == expected
    assert found.outcome == expected or expected == "pass"
    assert found.studies["robust_groups"].figures["changes"][0]["detectable"] < 0.2


def test_pictures_that_lost_their_answer_are_shown_with_both_answers() -> None:
    data = _data()
    model = eh.wrap(lambda pictures: _scores(pictures, True), data)
    found = eh.measure(model, data, options=eh.MeasureOptions(studies=("robust_groups:changes=dim_light+mirror",), draws=99))
    dim, mirror = found.studies["robust_groups"].figures["pictures"]
    assert [each["said"] for each in dim["cases"]] == [["yes", "no"]] * 4
    assert {each["truth"] for each in dim["cases"]} == {"yes"}
    assert {each["who"] for each in dim["cases"]} == {"group = one"}
    assert dim["lost"] > 100
    html = report.render(found.as_dict())
    told = html.partition("Pictures under these changes")[2]
    for words in ("As it came", "Changed", "What differs", "true: yes", dim["cases"][0]["pictures"]["difference"]):
        assert words in told
    assert "Gap between groups, lost in less light, by group" in html.partition("In two minutes")[2]
    assert len(mirror["cases"]) == (1 if not mirror["lost"] else min(4, mirror["lost"]))


@pytest.mark.parametrize(("low", "high", "expected"), [(0.01, 0.12, "inconclusive"), (0.06, 0.12, "violation"), (0.0, 0.04, "pass")])
def test_only_a_gap_that_lies_wholly_beyond_the_tolerance_is_a_violation(monkeypatch, low: float, high: float, expected: str) -> None:
    monkeypatch.setattr(robust_groups, "_sentence", lambda _: "losses differ")
    size = SimpleNamespace(low=low, high=high, estimate=(low + high) / 2)
    figure = SimpleNamespace(title="Blur", attribute="tone", size=size, verdict="different" if low else "not shown")
    compared = SimpleNamespace(figure=figure, detectable=0.1, needed=900)
    ruling = Gate.rule(robust_groups._claim(compared, 0.05))
    assert ruling.outcome == expected
    assert ("about 900 pictures" in ruling.reason) == (expected == "inconclusive")
