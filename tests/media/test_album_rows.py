"""Promises of an album as rows: the engine's figures are those of the pairs, and made pictures have rows of their own."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from picture_pairs import judge, make_pairs

import evenhand as eh
from evenhand.contract import Growing, Medium, Model
from evenhand.datasets.album_data import from_album
from evenhand.errors import BudgetSpent, DataError, InvalidArgument
from evenhand.media.album_medium import AlbumMedium, KeptTwins
from evenhand.media.editors.rerender import Rerender
from evenhand.media.made_pictures import MadePicture, MadePictures
from evenhand.media.table import Table
from evenhand.models.function import FunctionClassifier
from evenhand.models.shown import ShownModel
from evenhand.planted.portraits import synthetic_faces


def reads_skin(pictures):
    bright = pictures[:, 8:16, 8:16].reshape(len(pictures), -1).mean(axis=1) / 255.0
    near = np.stack([np.exp(-((bright - middle) ** 2) / 0.02) for middle in (0.3, 0.5, 0.7)], axis=1)
    return near / near.sum(axis=1, keepdims=True)


READER = FunctionClassifier(reads_skin, ("young", "middle", "older"))


@pytest.fixture(scope="module")
def album():
    return synthetic_faces(120, np.random.default_rng(0), 24)


@pytest.fixture(scope="module")
def data(album):
    return from_album(album, ["tone"])


def test_the_engine_gives_the_share_that_the_pairs_give(album, data):
    model = ShownModel(data.medium, READER)
    assert isinstance(model, Model)
    found = eh.scan(model, data, methods=["themis"], budget=eh.Budget(candidates=600), seed=1)
    apart = judge(make_pairs(album, Rerender("tone")), READER)
    assert found.rate.unfair == int(apart.unfair.sum()) > 0
    assert found.rate.interval.estimate == apart.share.estimate
    flipped = set(np.flatnonzero(apart.unfair))
    assert set(found.findings.findings.rows[:, 0].astype(int)) <= flipped


def test_a_row_shows_its_own_picture_or_the_editors_twin(album, data):
    assert isinstance(data.medium, Medium)
    assert isinstance(data.medium, Growing)
    assert np.array_equal(data.medium.show(data.rows), album.pictures)
    turned = data.rows.copy()
    turned[:, 1] = 1 - turned[:, 1]
    twins = Rerender("tone").twins(album)
    assert np.array_equal(data.medium.show(turned), twins)
    mixed = np.concatenate([turned[5:6], data.rows[3:4], turned[5:6]])
    assert np.array_equal(data.medium.show(mixed), np.stack([twins[5], album.pictures[3], twins[5]]))


def test_two_attributes_are_edited_one_after_the_other(album):
    both = from_album(album, ["tone", "gender_cue"])
    row = both.rows[:1].copy()
    row[:, 1:] = 1 - row[:, 1:]
    twice = Rerender("gender_cue").edited(Rerender("tone").edited(album[:1], row[:, 1].astype(int)), row[:, 2].astype(int))
    assert np.array_equal(both.medium.show(row), twice.pictures)
    assert len(both.domain.combinations) == 4


def test_an_attribute_with_many_values_shows_each_of_them(album):
    styles = from_album(album, ["hair_style"])
    orbit = styles.domain.twins(styles.rows[:1]).rows[:, 0]
    shown = styles.medium.show(orbit)
    assert len(orbit) == 8
    assert len({picture.tobytes() for picture in shown}) > 4


def test_a_derived_picture_is_its_parent_plus_one_offset_for_every_twin(data):
    medium = data.medium
    offsets = np.random.default_rng(1).normal(0.0, 20.0, (4, 24, 24, 3))
    derived = medium.derive(data.rows[:4], offsets)
    assert data.domain.inside(derived).all()
    expected = np.clip(np.rint(medium.show(data.rows[:4]).astype(np.float32) + offsets), 0, 255)
    assert np.array_equal(medium.show(derived), expected.astype(np.uint8))
    change = expected - medium.show(data.rows[:4]).astype(np.int16)
    twins, turned = data.rows[:4].copy(), derived.copy()
    twins[:, 1], turned[:, 1] = 1 - twins[:, 1], 1 - turned[:, 1]
    assert np.array_equal(medium.show(turned), np.clip(medium.show(twins) + change, 0, 255).astype(np.uint8))
    assert np.array_equal(data.domain.keys(derived), data.domain.keys(turned))


def test_a_picture_derived_from_a_derived_one_shows_exactly_what_was_asked_for(data):
    once = data.medium.derive(data.rows[:2], np.full((2, 24, 24, 3), 200.0))
    twice = data.medium.derive(once, np.full((2, 24, 24, 3), -200.0))
    expected = np.clip(data.medium.show(once).astype(int) - 200, 0, 255)
    assert np.array_equal(data.medium.show(twice), expected)


def test_the_same_picture_has_the_same_code_in_any_order_and_process(album):
    first, second = (from_album(album, ["tone"]) for _ in range(2))
    offsets = np.random.default_rng(2).normal(0.0, 9.0, (3, 24, 24, 3))
    forth = first.medium.derive(first.rows[:3], offsets)
    back = second.medium.derive(second.rows[:3][::-1], offsets[::-1])
    assert np.array_equal(forth, back[::-1])
    copied = pickle.loads(pickle.dumps(first.medium))
    assert np.array_equal(copied.show(forth), first.medium.show(forth))


def test_pictures_added_as_a_whole_are_shown_under_each_combination(data):
    pictures = np.random.default_rng(3).integers(0, 256, (2, 5, 24, 24, 3)).astype(np.uint8)
    rows = data.medium.add(pictures)
    orbit = data.domain.twins(rows).rows
    assert np.array_equal(data.medium.show(orbit.reshape(-1, 2)).reshape(pictures.shape), pictures)
    with pytest.raises(InvalidArgument, match="add what is derived"):
        data.medium.derive(rows, np.zeros((5, 24, 24, 3)))
    with pytest.raises(InvalidArgument, match="combinations"):
        data.medium.add(pictures[0])


def test_nothing_draws_or_clips_to_a_made_picture(data):
    assert data.domain.sample(5000, np.random.default_rng(0))[:, 0].max() < 120
    assert data.domain.clip(np.array([[1e9, 0.0]]))[0, 0] == 119
    with pytest.raises(DataError, match="not in the album"):
        data.medium.show(np.array([[4000.0, 0.0]]))


def test_room_on_disk_and_memory_for_twins_are_bounded(album):
    room = MadePictures((24, 24), room_bytes=5000)
    noises = np.random.default_rng(0).integers(-255, 256, (2, 24, 24, 3)).astype(np.int16)
    room.keep(MadePicture(0, noises[0]))
    room.keep(MadePicture(0, noises[0]))  # once kept, it takes no more room
    with pytest.raises(BudgetSpent, match="room for made pictures"):
        room.keep(MadePicture(0, noises[1]))
    kept = KeptTwins(most_bytes=2 * 24 * 24 * 3)
    for place in range(5):
        kept.put((place, 0), album.pictures[place])
    assert kept.get((0, 0)) is None
    assert np.array_equal(kept.get((4, 0)), album.pictures[4])


def test_the_frame_tells_everything_that_is_known_of_a_picture(album, data):
    assert {"picture", "tone", "smile", "label"} <= set(data.frame)
    assert list(data.labels) == list(album.label.codes)
    assert data.domain.names == ("picture", "tone")


def test_unknown_values_are_left_out_and_pictures_without_factors_need_an_editor(album):
    from dataclasses import replace

    from evenhand.media.album import Attribute

    codes = album.attribute("tone").codes.copy()
    codes[:7] = -1
    partly = replace(album, attributes={**album.attributes, "tone": Attribute(album.attribute("tone").values, codes)})
    assert len(from_album(partly, ["tone"])) == 113
    with pytest.raises(InvalidArgument, match="needs an editor"):
        from_album(replace(album, factors=None), ["tone"])
    with pytest.raises(DataError, match="two sides"):
        AlbumMedium(replace(album, factors=None), (Flat("hair_style"),))


class Flat:
    """A learned editor of two sides, given an attribute of eight."""

    flip = "nothing"

    def __init__(self, attribute):
        self.attribute = attribute

    def twins(self, album):
        return album.pictures


def test_a_table_is_the_medium_of_a_table():
    data = eh.datasets.credit()
    assert isinstance(data.medium, Table)
    assert data.medium.show(data.rows[:3]).equals(data.domain.decode(data.rows[:3]))
    assert data.medium.kind == "table"


def test_rules_speak_of_attributes_and_never_of_picture_numbers():
    from evenhand.planted.doors import door_camera

    subject = door_camera(400, np.random.default_rng(2), 24)
    found = eh.scan(subject.model, subject.data, methods=["themis"], budget=eh.Budget(candidates=50), seed=1)
    told = str(found.where.as_dict()["rules"])
    assert "picture" not in told
    assert "tone" in data_columns(subject)
    described = subject.data.medium.described(subject.data.rows[:3])
    assert subject.data.medium.description.inside(described).all()


def data_columns(subject):
    return subject.data.medium.description.names


def test_many_pictures_are_read_into_a_file(tmp_path, monkeypatch):
    pytest.importorskip("PIL")
    from evenhand.datasets.albums import reading
    from evenhand.media.png import write_png

    pictures = synthetic_faces(3, np.random.default_rng(0), 16).pictures
    for place, picture in enumerate(pictures):
        write_png(tmp_path / f"{place}.png", picture)
    monkeypatch.setattr(reading, "MOST_BYTES_IN_MEMORY", 100)
    read = reading.read_pictures(sorted(tmp_path.glob("*.png")), 16)
    assert isinstance(read, np.memmap)
    assert np.array_equal(read, pictures)
