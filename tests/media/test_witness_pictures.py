"""Promises of witnesses on pictures and texts: what was shown is kept beside them, and a replay asks about the same."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import evenhand as eh
from evenhand.contract import Candidates
from evenhand.datasets.album_data import from_album
from evenhand.engine import witness
from evenhand.engine.exhibits import decoded, exhibit
from evenhand.engine.run import Plan, Subject, run
from evenhand.engine.shrunk_findings import Hearing, shrink
from evenhand.errors import DataError, StoreError
from evenhand.media.png import picture_of, png_bytes
from evenhand.media.without_twins import WithoutTwins
from evenhand.models.shown import ShownModel
from evenhand.oracles.flip import LabelFlip
from evenhand.planted.doors import DoorCamera, door_camera
from evenhand.planted.letters import letters
from evenhand.planted.portraits import album_of
from evenhand.report import record
from evenhand.report.sections.witness_cards import pairs_of
from evenhand.verbs import jury_of_pairs


@pytest.fixture(scope="module")
def door():
    return door_camera(60, np.random.default_rng(1), 24)


def test_a_png_file_is_read_back_exactly():
    picture = np.random.default_rng(0).integers(0, 256, (7, 5, 3)).astype(np.uint8)
    assert np.array_equal(picture_of(png_bytes(picture)), picture)
    with pytest.raises(DataError, match="no PNG"):
        picture_of(b"nothing")


def test_witnesses_of_a_scan_show_their_pictures_and_are_replayed(door, tmp_path):
    found = eh.scan(door.model, door.data, methods=["themis"], budget=eh.Budget(candidates=100), seed=1)
    assert found.witnesses
    for kept in found.witnesses:
        path = witness.save(kept, tmp_path)
        told = json.loads(path.read_text())
        assert told["pictures"] == {side: f"{kept.id}-{side}.png" for side in ("person", "twin", "difference")}
        row = np.array([[kept.person["picture"], ["lighter", "darker"].index(kept.person["tone"])]], dtype=float)
        assert np.array_equal(picture_of((tmp_path / f"{kept.id}-person.png").read_bytes()), door.data.medium.show(row)[0])
        assert witness.load(path) == kept
        assert kept.changed == {}
        again = witness.replay(witness.load(path), door.data.domain, door.model)
        assert again.is_unfair
        assert (again.outcome, again.twin_outcome) == (kept.outcome, kept.twin_outcome)


def test_a_jury_that_learnt_from_other_pictures_reads_the_pairs_of_a_scan(door, monkeypatch):
    taught = []

    class Reader:
        def __init__(self, pictures, values):
            taught.extend(picture.tobytes() for picture in pictures)
            self.classes = values

        def scores(self, pictures):
            light = pictures.mean(axis=(1, 2, 3)) > 128
            return np.column_stack([~light, light])

    monkeypatch.setattr(jury_of_pairs, "attribute_reader", lambda pictures, codes, values, rng: Reader(pictures, values))
    monkeypatch.setattr("evenhand.measures.studies.jury.FEWEST_PICTURES", 3)
    found = eh.scan(
        door.model, door.data, methods=["themis"], budget=eh.Budget(candidates=100), seed=1, options=eh.Options(most_witnesses=4)
    )
    label = door.data.domain.label.column
    for pair in found.witnesses:
        assert set(pair.readings) == {"tone", label}
        shown = [decoded(pair.pictures[side]) for side in ("person", "twin")]
        assert pair.readings["tone"] == [["lighter", "darker"][int(side.mean() > 128)] for side in shown]
        assert not {side.tobytes() for side in shown} & set(taught)
    assert taught
    assert any("further ones" in note for note in found.notes)
    assert any(card.readings for card in pairs_of(record.read(found.as_dict())))
    hasty = eh.scan(door.model, door.data, methods=["themis"], budget=eh.Budget(seconds=1), seed=1)
    assert not any(pair.readings for pair in hasty.witnesses)
    assert any("trains no jury" in note for note in hasty.notes)


def test_a_witness_names_the_file_of_its_picture(door):
    medium = door.data.medium
    named = replace(medium, album=replace(medium.album, sources=tuple(f"{place}.jpg" for place in range(len(medium.album)))))
    shown = exhibit(np.array([[7.0, 0.0], [7.0, 1.0]]), named)
    assert shown.source == "7.jpg"
    assert exhibit(np.array([[7.0, 0.0], [7.0, 1.0]]), medium).source == ""


class Dimmer:
    """A method that makes every picture darker, so that the backdrop becomes of middling light."""

    from evenhand.contract import Model as needs

    def search(self, task, rng):
        rows = task.medium.derive(task.rows, np.full((len(task.rows), 24, 24, 3), -30.0))
        yield Candidates(rows)


def made_witnesses(door):
    rows = door.data.rows[~LabelFlip().judge(door.data.rows, door.data.domain, door.model).unfair]  # none flips before it is dimmed
    subject = Subject(door.data.domain, door.model, rows, medium=door.data.medium)
    found = run(Dimmer(), subject, Plan(0, eh.Budget(candidates=200)))
    assert len(found.findings)
    return witness.witnesses_of(found.findings, rows, Hearing(door.data.domain, door.model, LabelFlip(), door.data.medium))


def test_a_derived_picture_is_told_beside_its_parent(door):
    kept = made_witnesses(door)
    for one in kept:
        assert one.person["picture"] >= 60
        assert one.changed["picture"]["real"] == one.real_row or one.changed["picture"]["real"] < 60


def test_a_derived_picture_is_replayed_where_nobody_derived_it(door, tmp_path):
    kept = made_witnesses(door)[0]
    path = witness.save(kept, tmp_path)
    elsewhere = door_camera(60, np.random.default_rng(1), 24)
    again = witness.replay(witness.load(path), elsewhere.data.domain, elsewhere.model)
    assert again.is_unfair
    assert (again.outcome, again.twin_outcome) == (kept.outcome, kept.twin_outcome)
    fair = ShownModel(door_camera(60, np.random.default_rng(1), 24).data.medium, DoorCamera(is_unfair=False))
    assert not witness.replay(witness.load(path), elsewhere.data.domain, fair).is_unfair
    (tmp_path / f"{kept.id}-twin.png").unlink()
    third = door_camera(60, np.random.default_rng(1), 24)
    with pytest.raises(StoreError, match="PNG files are missing"):
        witness.replay(witness.load(path), third.data.domain, third.model)


def test_a_parent_that_flips_too_stands_for_its_picture(door):
    rows = door.data.rows[LabelFlip().judge(door.data.rows, door.data.domain, door.model).unfair][:5]
    derived = door.data.medium.derive(rows, np.ones((5, 24, 24, 3)))
    verdict = LabelFlip().judge(derived, door.data.domain, door.model)
    from evenhand.engine.findings import findings_of

    found = findings_of(derived, verdict, door.data.domain, np.arange(5), "test")
    shrunk, places, _ = shrink(found, door.data.rows, Hearing(door.data.domain, door.model, LabelFlip(), door.data.medium))
    assert (shrunk.rows[:, 0] < 60).all()
    assert np.array_equal(door.data.rows[places][:, 0], shrunk.rows[:, 0])


def test_witnesses_on_texts_keep_both_texts(tmp_path):
    subject = letters()
    found = eh.scan(subject.model, subject.data, methods=["themis"], budget=eh.Budget(candidates=100), seed=1)
    kept = found.witnesses[0]
    assert kept.texts["person"] != kept.texts["twin"]
    path = witness.save(kept, tmp_path)
    assert witness.load(path) == kept
    assert witness.replay(witness.load(path), subject.data.domain, subject.model).is_unfair


def test_a_table_shows_no_exhibit():
    from evenhand.engine.exhibits import Exhibit, exhibit

    data = eh.datasets.credit()
    assert exhibit(data.rows[:2], data.medium) == Exhibit() == exhibit(data.rows[:2], None)
    album = album_of(door_camera(3, np.random.default_rng(0), 16).data.medium.album.factors, 16)
    assert set(exhibit(from_album(album, ["tone"]).rows[:2], from_album(album, ["tone"]).medium).pictures) == {
        "person",
        "twin",
        "difference",
    }


def test_only_the_differing_pixels_are_marked():
    from evenhand.media.pixel_differences import marked_difference

    rng = np.random.default_rng(0)
    first = rng.integers(0, 256, (12, 9, 3), dtype=np.uint8)
    second = first.copy()
    second[2:5, 3:6] ^= 1  # the smallest difference that there is
    second[8, 8, 0] ^= 128
    shown = marked_difference(first, second).astype(int)
    is_marked = shown.max(axis=2) != shown.min(axis=2)
    assert np.array_equal(is_marked, (first != second).any(axis=2))
    assert shown[8, 8].tolist() == [213, 94, 0]
    assert not (marked_difference(first, first).std(axis=2) > 0).any()


def test_a_replay_with_another_album_asks_about_the_kept_pictures(door, tmp_path):
    found = eh.scan(door.model, door.data, methods=["themis"], budget=eh.Budget(candidates=100), seed=1)
    kept = witness.load(witness.save(found.witnesses[0], tmp_path))
    own = door.data.medium.album
    elsewhere = replace(own, pictures=np.full_like(own.pictures, 128), factors=None)
    data = from_album(elsewhere, [WithoutTwins("tone")], favourable=("open",), label="door")
    model = ShownModel(data.medium, DoorCamera())
    again = witness.replay(kept, data.domain, model)
    assert again.is_unfair
    assert (again.outcome, again.twin_outcome) == (kept.outcome, kept.twin_outcome)
    forgetful = from_album(elsewhere, [WithoutTwins("tone")], favourable=("open",), label="door")
    assert not witness.replay(replace(kept, pictures={}), forgetful.domain, ShownModel(forgetful.medium, DoorCamera())).is_unfair
