"""`draw portraits` writes an album that `open` reads."""

from importlib.util import find_spec

import numpy as np
import pytest

import evenhand as eh
from evenhand.campaign.sources import Named
from evenhand.errors import InvalidArgument
from evenhand.planted.portraits import synthetic_faces
from evenhand.verbs.draw import draw_portraits


def test_drawn_portraits_are_an_album_on_disk(tmp_path):
    pytest.importorskip("PIL")
    table = draw_portraits(tmp_path / "album", 60, 16, seed=2)
    assert (tmp_path / "album" / "sheet.png").read_bytes().startswith(b"\x89PNG")
    data = eh.open(tmp_path / "album", label="age_group", protected=["gender_cue"], settings={"size": 16})
    assert len(data.rows) == 40  # the editor learned from the others
    shown = data.medium.show(data.rows)
    assert shown.shape == (40, 16, 16, 3)
    assert len(table.read_text().splitlines()) == 61
    again = draw_portraits(tmp_path / "again", 60, 16, seed=2)
    assert again.read_text() == table.read_text()
    assert np.unique(shown.reshape(40, -1), axis=0).shape[0] == 40


def spying(seen):
    """`editor_for`, overheard."""
    from evenhand.media.editors import editor_for

    def heard(name, album, attribute, tools):
        seen.append(album)
        return editor_for(name, album, attribute, tools)

    return heard


@pytest.fixture
def hurried(monkeypatch):
    """A CycleGAN that takes two steps, an autoencoder that takes ten."""
    if find_spec("torch") is None:
        return
    from evenhand.synthesis.picture_latent import convolutional

    monkeypatch.setattr(convolutional.AutoencoderSpace.fit.__func__, "__defaults__", (1, 10))
    from evenhand.media.editors import cyclegan

    learn, settings = cyclegan.train_cyclegan, cyclegan.CycleSettings(steps=2, batch=4, width=8)
    monkeypatch.setattr(
        cyclegan, "train_cyclegan", lambda album, attribute, rng, _, workshop: learn(album, attribute, rng, settings, workshop)
    )


@pytest.mark.parametrize("editor", ["reflection", "autoencoder", "fgsm", "cyclegan"])
@pytest.mark.usefixtures("hurried")
def test_every_learned_editor_is_reached_by_name_and_never_tested_on_what_it_learned_from(editor, monkeypatch):
    if editor != "reflection":
        pytest.importorskip("torch")
    album = synthetic_faces(90, np.random.default_rng(0), 32)
    seen = []
    monkeypatch.setattr("evenhand.datasets.loaders.album_folder.editor_for", spying(seen))
    data = eh.open(album, protected=["tone"], settings={"editor": editor}, seed=1)
    assert len(data.rows) == 60
    learned = {picture.tobytes() for picture in seen[0].pictures}
    assert len(learned) == 30
    tested = album.pictures[[at for at in range(90) if album.pictures[at].tobytes() not in learned]]
    assert len(tested) == 60
    twins = data.rows.copy()
    twins[:, 1] = 1 - twins[:, 1]
    assert (data.medium.show(twins) != data.medium.show(data.rows)).any()


def test_bench_opens_an_album_by_its_project_and_a_model_by_its_name(tmp_path, monkeypatch):
    pytest.importorskip("PIL")
    draw_portraits(tmp_path / "album", 60, 16, seed=2)
    medium = "medium: {kind: album, size: 16, editor: reflection}\nlabel: {column: smile, favourable: ['yes']}\nprotected: [tone]\n"
    (tmp_path / "evenhand.yaml").write_text(f"version: 1\n{medium}data: album\n")
    (tmp_path / "drawn_readers.py").write_text("from evenhand.planted.pixel_net import PixelNet\nnet = PixelNet(16)\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    arena = Named("evenhand.yaml", model="drawn_readers:net", trusted=True).open()
    assert arena.data.medium.kind == "album"
    assert arena.model.scores(arena.data.rows).shape == (40, 2)
    with pytest.raises(InvalidArgument, match="family of models of tables"):
        Named("evenhand.yaml", model="mlp").check()
