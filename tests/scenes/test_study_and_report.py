"""The study, the report and the realism measures."""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from itertools import pairwise

import numpy as np
import pytest
from scene_realism import frechet_distance, two_sample_auc

from evenhand.errors import DataError, InvalidArgument
from evenhand.media.operators.delete import delete
from evenhand.media.operators.parts.mutated import Mutation
from evenhand.media.operators.parts.seams import noise_ratio, seam_ratio
from evenhand.media.operators.rotate import rotate
from evenhand.verbs.study import REAL, analyse, checked, serve, slides, street_slides


@pytest.fixture(scope="module")
def deck(streets):
    rng = np.random.default_rng(0)
    made = [act for scene in streets for label in ("person", "car") for act in (delete(scene, label), rotate(scene, label, rng, least=25))]
    made = [one for one in made if isinstance(one, Mutation)]
    assert len(made) >= 8
    return slides(made, rng, 8)


def sheet(deck, bias=0, miscount=0):
    return [
        {"key": k, "realism": 8 if one.operator == REAL else 6 - bias, "likelihood": 7, "vehicles": one.vehicles + miscount}
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
    result = analyse(deck, [sheet(deck), sheet(deck), sheet(deck), sheet(deck), sheet(deck, miscount=9)], np.random.default_rng(0))
    assert (result.sheets, result.valid) == (5, 4)
    assert result.realism_of_real == pytest.approx(6 / 8)
    assert result.test.p_value < 0.01
    with pytest.raises(DataError, match="no answer sheet"):
        analyse(deck, [], np.random.default_rng(0))


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
        request = urllib.request.Request(base + "/answers?token=" + server.token, json.dumps(sheet(deck)).encode())
        assert urllib.request.urlopen(request).read() == b"stored"
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(urllib.request.Request(base + "/answers?token=" + server.token, b"[]"))
        refused.value.close()
        assert refused.value.code == 400
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    (stored,) = tmp_path.glob("*.json")
    assert len(json.loads(stored.read_text())) == len(deck)
    with pytest.raises(DataError, match="scale"):
        checked([{**one, "realism": 11} for one in sheet(deck)], deck)


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
