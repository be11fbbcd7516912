"""The study, the report and the realism measures."""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from collections import Counter
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from scene_realism import frechet_distance, two_sample_auc

from evenhand.contract import Detection
from evenhand.errors import DataError, InvalidArgument
from evenhand.measures.believability import REAL, JudgedSlide, believability
from evenhand.media.operators.delete import delete
from evenhand.media.operators.parts.mutated import Mutation
from evenhand.media.operators.parts.seams import noise_ratio, seam_ratio
from evenhand.media.operators.rotate import rotate
from evenhand.media.scenes import ChangePlan, Scenes
from evenhand.models.shown import shown
from evenhand.report.study_page import write_study
from evenhand.verbs.study import (
    CountQuestion,
    checked,
    joined,
    own_order,
    read_key,
    read_sheets,
    scene_slides,
    serve,
    slides,
    street_slides,
    write_key,
)


@pytest.fixture(scope="module")
def deck(streets):
    rng = np.random.default_rng(0)
    made = [
        act
        for scene in streets
        for label in ("person", "car", "sign")
        for act in (delete(scene, label), rotate(scene, label, rng, least=25))
    ]
    made = [one for one in made if isinstance(one, Mutation)]
    assert len(made) >= 8
    return slides(made, rng, 8)


def sheet(deck, bias=0, miscount=0):
    return [
        {"key": k, "realism": 8 if one.operator == REAL else 6 - bias, "likelihood": 7, "count": one.count + miscount}
        for k, one in enumerate(deck)
    ]


def test_every_original_has_its_mutated_version_and_neighbours_differ(deck):
    assert len(deck) == 16
    assert sum(one.operator == REAL for one in deck) == 8
    for one, other in pairwise(deck):
        assert one.scene != other.scene
    with pytest.raises(InvalidArgument, match="pairs=30"):
        slides([], np.random.default_rng(0))


def test_sheets_that_cannot_count_are_left_out(deck):
    judged, rng = [one.judged for one in deck], np.random.default_rng(0)
    result = believability(judged, [sheet(deck), sheet(deck), sheet(deck), sheet(deck), sheet(deck, miscount=9)], rng)
    assert (result.sheets, result.valid) == (5, 4)
    assert result.realism_of_real.estimate == pytest.approx(6 / 8)
    assert result.test.p_value < 0.01
    with pytest.raises(DataError, match="no answer sheet"):
        believability(judged, [], rng)


def test_intervals_of_a_study_cover_what_people_and_scenes_have_in_common():
    rng, covered, runs = np.random.default_rng(5), 0, 60
    deck = [JudgedSlide(kind, f"scene {place}", 1) for place in range(12) for kind in (REAL, "delete")]
    for _ in range(runs):
        people, scenes = rng.normal(0, 1, (14, 1)), np.repeat(rng.normal(0, 1, 12), 2)
        marks = 6 + people + scenes + rng.normal(0, 1, (14, 24))
        sheets = [[{"key": k, "realism": mark, "likelihood": 5, "count": 1} for k, mark in enumerate(row)] for row in marks]
        covered += 6.0 in believability(deck, sheets, rng).realism["delete"]
    assert covered >= 0.85 * runs


def test_everybody_gets_an_order_of_their_own_with_neighbours_apart(deck):
    orders = [own_order(deck, np.random.default_rng(seed)) for seed in range(4)]
    assert len({tuple(order) for order in orders}) == 4
    for order in orders:
        assert sorted(order) == list(range(len(deck)))
        assert all(deck[one].scene != deck[other].scene for one, other in pairwise(order))


def test_a_study_of_own_scenes_counts_what_they_show(streets):
    medium = Scenes(streets[:6], ChangePlan(insert=("person",), change=("person",), operators=("fog", "mirror"), controls=True))
    made = scene_slides(medium, 0)
    assert {one.operator for one in made} == {REAL, "fog", "mirror"}
    assert Counter(one.operator for one in scene_slides(medium, 0, pairs=2))["fog"] == 2
    assert CountQuestion.about(medium).noun == "vehicles"
    people = [replace(scene, truth=Counter(person=2)) for scene in streets[:6]]
    assert CountQuestion.about(Scenes(people)).classes == ("person",)


def test_the_study_page_stores_whole_sheets_and_refuses_others(deck, tmp_path):
    server = serve(deck, tmp_path)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    base = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        text = urllib.request.urlopen(server.address).read().decode()
        assert "how realistic" in text
        assert "rotation" not in text
        assert "http://" not in text.replace(base, "")
        send = partial(_posted, base + "/answers?token=" + server.token)
        whole = {"sheet": "0" * 32, "answers": sheet(deck)}
        assert send(whole) == 200
        assert send(whole) == 409, "handed in twice, stored once"
        for bad in ([], {}, {**whole, "sheet": "../../etc"}, {**whole, "sheet": "f" * 32, "answers": sheet(deck)[1:]}, "[" * 9_000):
            assert send(bad) == 400
        huge = [{**one, "count": 10**400} for one in sheet(deck)]
        assert send({"sheet": "e" * 32, "answers": huge}) == 400
        assert _posted(base + "/answers?token=wrong", whole) == 403
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    (stored,) = tmp_path.glob("*.json")
    assert len(json.loads(stored.read_text())) == len(deck)
    with pytest.raises(DataError, match="scale"):
        checked([{**one, "realism": 11} for one in sheet(deck)], deck)


def _posted(address, told):
    content = told if isinstance(told, str) else json.dumps(told)
    try:
        with urllib.request.urlopen(urllib.request.Request(address, content.encode())) as reply:
            return reply.status
    except urllib.error.HTTPError as refused:
        refused.close()
        return refused.code


def test_results_are_a_page_and_another_study_is_not_mixed_in(deck, tmp_path):
    serve(deck, tmp_path).server_close()
    for number in range(4):
        (tmp_path / f"{number:032x}.json").write_text(json.dumps(sheet(deck, bias=number)), encoding="utf-8")
    kept = read_key(tmp_path)
    result = believability([one.judged for one in kept], read_sheets(tmp_path, kept), np.random.default_rng(0))
    assert result.realism_of_real.low < result.realism_of_real.estimate < result.realism_of_real.high
    page = write_study(result, tmp_path / "out" / "study.html").read_text(encoding="utf-8")
    assert "<svg" in page
    assert "as realistic as real ones" in page
    with pytest.raises(InvalidArgument, match="is there already"):
        write_study(result, tmp_path / "out" / "study.html")
    with pytest.raises(DataError, match="another study"):
        serve(deck[:-2], tmp_path)
    (tmp_path / "stray.json").write_text("{}", encoding="utf-8")
    with pytest.raises(DataError, match=r"stray\.json is no answer sheet"):
        read_sheets(tmp_path, kept)


@pytest.mark.slow
def test_slides_of_drawn_streets_hold_every_operator():
    deck = street_slides(12, 0)
    assert {one.operator for one in deck} == {REAL, "insert", "delete", "rotate"}
    assert sum(one.operator == REAL for one in deck) * 2 == len(deck)


def test_a_pasted_edge_and_a_smoothed_patch_are_noticed():
    rng = np.random.default_rng(0)
    picture = rng.normal(120, 6, (80, 80, 1)).repeat(3, axis=2).clip(0, 255).astype(np.uint8)
    patch = np.zeros((80, 80), bool)
    patch[25:55, 25:55] = True
    assert seam_ratio(picture, patch) == pytest.approx(1, abs=0.15)
    assert noise_ratio(picture, patch) == pytest.approx(1, abs=0.2)
    edge, smooth = picture.copy(), picture.copy()
    edge[patch] = np.clip(edge[patch].astype(int) + 60, 0, 255)
    smooth[patch] = 120
    assert seam_ratio(edge, patch) > 2
    assert noise_ratio(smooth, patch) < 0.3


@pytest.mark.slow
def test_samples_of_one_kind_cannot_be_told_and_others_can():
    rng = np.random.default_rng(0)
    groups = ([str(k % 12) for k in range(60)],) * 2
    same = two_sample_auc(rng.normal(size=(60, 5)), rng.normal(size=(60, 5)), groups, rng)
    other = two_sample_auc(rng.normal(size=(60, 5)), rng.normal(1.5, 1, size=(60, 5)), groups, rng)
    assert same < 0.68
    assert other > 0.9


def test_frechet_distance_of_equal_and_shifted_samples():
    rng = np.random.default_rng(0)
    sample = rng.normal(size=(400, 3))
    assert frechet_distance(sample, sample) == pytest.approx(0, abs=1e-6)
    assert frechet_distance(sample, sample + np.array([2.0, 0, 0])) == pytest.approx(4, rel=1e-3)


def test_marks_are_told_by_data_set_and_for_error_inducing_pictures():
    deck = [
        JudgedSlide(kind, f"{data} {place}", 1, data, kind != REAL and place < 3)
        for data in ("first", "second")
        for place in range(6)
        for kind in (REAL, "delete")
    ]
    rng = np.random.default_rng(0)
    sheet = [{"realism": 8 if one.operator == REAL else 2 if one.is_erring else 6, "likelihood": 5, "count": 1} for one in deck]
    told = believability(deck, [sheet, sheet], rng)
    cells = {(cell.data, cell.kind, cell.only_erring): cell for cell in told.table}
    assert cells["first", "delete", True].realism.estimate == pytest.approx(2.0)
    assert cells["first", "delete", False].realism.estimate == pytest.approx(4.0)
    assert cells["all", REAL, False].pictures == 12
    assert ("all", REAL, True) not in cells  # an original is never error-inducing
    assert any("error-inducing, delete (6)" in line for line in told.sentences)
    one_data = believability([replace(one, data="", is_erring=False) for one in deck], [sheet], rng)
    assert one_data.table == ()  # the means by operator say it all


def test_several_data_sets_and_a_recogniser_make_one_deck_with_both_noted(tmp_path, streets):
    plan = ChangePlan(("dog",), ("person",), ("exposure", "blur"), controls=False, clusters=1)
    media = [Scenes(streets[:2], plan), Scenes(streets[2:4], plan)]

    class Steady:
        name = "steady"

        def recognise_scenes(self, scenes):
            return [[Detection("tram", 1.0, (0, 0, 9, 9))] for _ in scenes]

        def fingerprint(self):
            return "steady"

    class LosesAllButOriginals(Steady):
        def recognise_scenes(self, scenes):
            originals = {id(scene) for medium in media for scene in medium.scenes}
            return [[Detection("tram", 1.0, (0, 0, 9, 9))] if id(scene) in originals else [] for scene in scenes]

    decks = {name: scene_slides(medium, 0, model=shown(medium, LosesAllButOriginals())) for name, medium in zip("ab", media, strict=True)}
    deck = joined(decks, 0)
    assert {one.data for one in deck} == {"a", "b"}
    assert len({one.key for one in deck}) == len(deck)
    assert all(one.is_erring == (one.operator != REAL) for one in deck)
    steady = scene_slides(media[0], 0, model=shown(media[0], Steady()))
    assert not any(one.is_erring for one in steady)
    write_key(deck, tmp_path)
    assert [one.told for one in read_key(tmp_path)] == [one.told for one in deck]
