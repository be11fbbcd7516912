"""`draw portraits` writes an album that `open` reads."""

import numpy as np
import pytest

import evenhand as eh
from evenhand.verbs.draw import draw_portraits


def test_drawn_portraits_are_an_album_on_disk(tmp_path):
    pytest.importorskip("PIL")
    table = draw_portraits(tmp_path / "album", 30, 16, seed=2)
    assert (tmp_path / "album" / "sheet.png").read_bytes().startswith(b"\x89PNG")
    data = eh.open(tmp_path / "album", label="age_group", protected=["gender_cue"], settings={"size": 16})
    assert len(data.rows) == 30
    shown = data.medium.show(data.rows)
    assert shown.shape == (30, 16, 16, 3)
    assert len(table.read_text().splitlines()) == 31
    again = draw_portraits(tmp_path / "again", 30, 16, seed=2)
    assert again.read_text() == table.read_text()
    assert np.unique(shown.reshape(30, -1), axis=0).shape[0] == 30
