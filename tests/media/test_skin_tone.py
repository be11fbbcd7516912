"""Skin tone from pixels: right where it is sure, under every light; and gaps that are the model's, not the light's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import evenhand as eh
from evenhand.contract import StudyCase, StudySection
from evenhand.engine.gate import Gate
from evenhand.errors import InvalidArgument
from evenhand.measures.studies.tone_gaps import ToneGaps
from evenhand.media.album import UNKNOWN, Album, Attribute
from evenhand.media.png import write_png
from evenhand.media.portraits.factors import draw_factors, place
from evenhand.media.portraits.painting import render
from evenhand.media.skin_tone import BORDER, LIGHT, STEPS, TONE, skin_tones, to_lab, typology_angle, with_tones
from evenhand.models.meter import Meter
from evenhand.verbs.init import init

LIGHTS = {
    "plain": (1.0, 1.0, 1.0),
    "dim": (0.5, 0.5, 0.5),
    "bright": (1.25, 1.25, 1.25),
    "warm": (1.12, 1.0, 0.75),
    "cool": (0.85, 1.0, 1.1),
}


@pytest.fixture(scope="module")
def people() -> tuple[np.ndarray, np.ndarray]:
    factors = draw_factors(160, np.random.default_rng(7))
    return render(factors, 32), factors[:, place("tone")]


def test_known_colours_have_their_known_places() -> None:
    assert to_lab(np.array([255.0, 0.0, 0.0])) == pytest.approx([53.24, 80.09, 67.20], abs=0.1)
    assert typology_angle(np.array([65.0, 10.0, 15.0])) == pytest.approx(45.0)
    assert (np.diff(STEPS) < 0).all()
    assert STEPS[4] > BORDER > STEPS[5]


@pytest.mark.parametrize("light", LIGHTS)
def test_the_side_of_the_border_is_right_where_it_is_sure(light: str, people: tuple[np.ndarray, np.ndarray]) -> None:
    pictures, tone = people
    read = skin_tones(np.clip(pictures * np.array(LIGHTS[light]), 0, 255).astype(np.uint8))
    right = (read.angle < BORDER) == (tone >= 5)
    assert read.is_sure.mean() > 0.6
    assert right[read.is_sure].mean() > 0.97
    assert (np.abs(read.steps - 1 - tone) <= 2).mean() > 0.85
    assert read.misread.max() < 0.05


def test_what_is_unsure_is_unknown_and_the_light_is_told(people: tuple[np.ndarray, np.ndarray]) -> None:
    pictures = people[0].copy()
    pictures[::2] //= 3
    album = with_tones(Album("people", pictures, {}, Attribute(("a", "b"), np.arange(len(pictures)) % 2)))
    codes = album.attribute(TONE).codes
    assert (codes == UNKNOWN).any()
    assert np.array_equal(codes == UNKNOWN, ~skin_tones(pictures).is_sure)
    assert np.array_equal(album.attribute(LIGHT).codes, (np.arange(len(pictures)) % 2 == 0).astype(int))


def test_a_picture_without_a_face_says_nothing() -> None:
    noise = np.random.default_rng(0).integers(0, 255, (3, 32, 32, 3), dtype=np.uint8)
    assert not skin_tones(noise).is_sure.any()


def _study(unfair: bool, seed: int = 1, count: int = 500) -> StudySection:
    """Darker people are photographed in the dark twice as often, and whoever is in the dark is misread; unfair: the darker are, too."""
    rng = np.random.default_rng(seed)
    factors = draw_factors(count, rng)
    pictures, darker = render(factors, 32), factors[:, place("tone")] >= 5
    dim = rng.random(count) < np.where(darker, 0.6, 0.3)
    pictures[dim] = (pictures[dim] * 0.5).astype(np.uint8)
    label = rng.integers(0, 2, count)
    wrong = rng.random(count) < 0.05 + 0.35 * dim + (0.25 * darker if unfair else 0.0)
    said = {picture.tobytes(): answer for picture, answer in zip(pictures, np.where(wrong, 1 - label, label), strict=True)}
    data = eh.open(
        Album("people", pictures, {}, Attribute(("no", "yes"), label)), protected=[TONE], settings={"tone": True, "editor": "none"}
    )
    model = eh.wrap(lambda shown: np.eye(2)[[said.get(one.tobytes(), 0) for one in shown]] * 0.8 + 0.1, data)
    case = StudyCase(data.domain, Meter(model), data.medium, data.rows, data.labels, data.frame, 0.05)
    return ToneGaps().study(case, np.random.default_rng(seed))


@pytest.mark.slow
def test_the_light_is_no_gap_and_a_planted_gap_is_found() -> None:
    fair, unfair = _study(unfair=False), _study(unfair=True)
    assert Gate.rule(fair.claims[0]).outcome != "violation"
    assert abs(fair.figures["gap"]["estimate"]) < 0.1
    assert Gate.rule(unfair.claims[0]).outcome == "violation"
    assert unfair.figures["gap"]["estimate"] == pytest.approx(0.25, abs=0.1)
    assert "dimmer" in unfair.sentences[0]


@pytest.mark.slow
def test_fair_classifiers_are_not_blamed_for_the_light() -> None:
    outcomes = [Gate.rule(_study(unfair=False, seed=seed, count=800).claims[0]).outcome for seed in range(40)]
    assert outcomes.count("violation") <= 2


def test_init_proposes_the_tone_of_pictures_that_nobody_labelled(tmp_path: Path, people: tuple[np.ndarray, np.ndarray]) -> None:
    for place_, picture in enumerate(people[0][:40]):
        folder = tmp_path / "album" / ("smiling" if place_ % 2 else "serious")
        folder.mkdir(parents=True, exist_ok=True)
        write_png(folder / f"{place_}.png", picture)
    with pytest.raises(InvalidArgument, match="--tone"):
        init(tmp_path / "album", label="class", file=tmp_path / "no.yaml")
    written = init(tmp_path / "album", label="class", file=tmp_path / "evenhand.yaml", tone=True)
    assert "read from the pixels" in written.summary()
    data = eh.open(tmp_path / "evenhand.yaml")
    assert data.domain.protected == (TONE,)
    assert 10 < len(data.rows) < 40


def test_tables_have_no_tone(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,2\n3,4\n")
    with pytest.raises(InvalidArgument, match="tone"):
        init(tmp_path / "t.csv", label="b", tone=True, file=tmp_path / "evenhand.yaml")
