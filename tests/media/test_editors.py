"""Promises of the editors: found by name, made for an attribute of an album, and usable as the hand of an album of rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from evenhand.contract import Editor, EditorTools
from evenhand.datasets.album_data import from_album
from evenhand.errors import DataError, InvalidArgument, UnknownName
from evenhand.media.editors import EDITORS, editor_for
from evenhand.planted.portraits import synthetic_faces
from evenhand.synthesis.picture_latent.pca import PcaSpace


@pytest.fixture(scope="module")
def album():
    return synthetic_faces(80, np.random.default_rng(0), 16)


def tools(**given):
    return EditorTools(np.random.default_rng(0), latent=lambda name, album, rng: PcaSpace.fit(album.pictures, 12, rng), **given)


class Uphill:
    """A reader of tone that can be followed back to the pixels: dark pictures are of the darker half."""

    classes = ("lighter", "darker")

    def scores(self, pictures):
        bright = pictures.reshape(len(pictures), -1).mean(axis=1) / 255.0
        return np.stack([bright, 1.0 - bright], axis=1)

    def loss_gradient(self, pictures, labels):
        sign = np.where(labels == 0, -1.0, 1.0)[:, None, None, None]
        return np.broadcast_to(sign, pictures.shape).astype(np.float32)

    def gradient(self, pictures, cotangent, layer="scores"):
        raise NotImplementedError


def test_every_editor_is_a_file():
    assert {"rerender", "reflection", "fgsm"} <= set(EDITORS.entries())
    assert "cyclegan" in {**EDITORS.entries(), **EDITORS.missing()}


@pytest.mark.parametrize("name", ["rerender", "reflection", "fgsm"])
def test_an_editor_by_name_is_the_hand_of_an_album(album, name):
    editor = editor_for(name, album, "tone", tools(reader=lambda album, attribute, rng: Uphill()))
    assert isinstance(editor, Editor)
    data = from_album(album, [editor])
    shown = data.medium.show(data.domain.twins(data.rows).rows.reshape(-1, 2)).reshape(2, len(data), -1)
    assert (shown[0] != shown[1]).any(axis=1).mean() > 0.9
    assert data.medium.digest() != from_album(album, ["gender_cue"]).medium.digest()


def test_what_a_latent_space_cannot_draw_is_lost_in_both_pictures_of_a_pair(album):
    editor = editor_for("reflection", album, "tone", tools())
    data = from_album(album, [editor])
    assert np.array_equal(data.medium.show(data.rows), editor.decoded(album).pictures)
    assert not np.array_equal(data.medium.show(data.rows), album.pictures)


def test_what_an_editor_lacks_is_named(album):
    with pytest.raises(InvalidArgument, match="latent space"):
        editor_for("reflection", album, "tone", EditorTools(np.random.default_rng(0)))
    with pytest.raises(InvalidArgument, match="classifier of the attribute"):
        editor_for("fgsm", album, "tone", tools())
    with pytest.raises(DataError, match="no factors"):
        editor_for("rerender", replace(album, factors=None), "tone", tools())
    with pytest.raises(UnknownName, match="rerendre"):
        editor_for("rerendre", album, "tone", tools())
