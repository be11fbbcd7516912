"""Promises of open(): one door for every medium, from Python and from a project file, with mistakes told by their line."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.campaign.opened_project import open_project
from evenhand.contract import Loader
from evenhand.datasets.dataset import Dataset
from evenhand.datasets.loaders import LOADERS, loader_of_kind
from evenhand.domain.project_file import read_project, save_project
from evenhand.domain.project_sections import DataSource, MediumSource, Project
from evenhand.errors import DataError, DomainError, InvalidArgument, UnknownName
from evenhand.media.editors.rerender import Rerender
from evenhand.media.png import write_png
from evenhand.planted.portraits import synthetic_faces

TEMPLATES = 'text,mood\n"{name} is a {job}, and glad",good\n"{name} lost {his} work",bad\n'
WORDS = "slot,word,gender\nname,Emily,woman\nname,Greg,man\nhis,her,woman\nhis,his,man\njob,nurse,\njob,pilot,\n"


@pytest.fixture
def texts(tmp_path):
    (tmp_path / "templates.csv").write_text(TEMPLATES)
    (tmp_path / "words.csv").write_text(WORDS)
    return tmp_path


@pytest.fixture
def faces(tmp_path):
    pytest.importorskip("PIL")
    album = synthetic_faces(60, np.random.default_rng(0), 24)
    rows = ["file,tone,group,style"]
    for place, picture in enumerate(album.pictures):
        write_png(tmp_path / f"{place}.png", picture)
        words = [album.attribute(name).values[album.attribute(name).codes[place]] for name in ("tone", "age_group", "hair_style")]
        rows.append(",".join([f"{place}.png", *words]))
    (tmp_path / "attributes.csv").write_text("\n".join(rows) + "\n")
    return tmp_path


def people():
    rng = np.random.default_rng(0)
    sex, pay = rng.choice(["woman", "man"], 60), rng.integers(10, 99, 60)
    return pd.DataFrame({"sex": sex, "pay": pay, "loan": np.where(pay > 40, "yes", "no")})


def test_a_frame_a_file_and_an_embedded_name_are_tables(tmp_path):
    people().to_csv(tmp_path / "people.csv", index=False)
    for source in (people(), tmp_path / "people.csv", str(tmp_path / "people.csv")):
        data = eh.open(source, label="loan", favourable="yes", protected=["sex"])
        assert (data.medium.kind, data.domain.protected, data.label, data.favourable) == ("table", ("sex",), "loan", ("yes",))
        assert len(data.rows) == 60
    assert eh.open("credit", protected="sex").domain.protected == ("sex",)
    assert eh.open("german").name == "credit"
    with pytest.raises(InvalidArgument, match="label of the embedded table"):
        eh.open("credit", label="nothing")


def test_templates_are_texts(texts):
    data = eh.open(texts / "templates.csv", label="mood", favourable="good", protected=["gender"])
    assert data.medium.kind == "text"
    assert data.name == "templates"
    assert "Emily is a nurse, and glad" in data.medium.show(data.domain.twins(data.rows).rows.reshape(-1, data.rows.shape[1]))


def test_the_folder_of_templates_is_texts(texts):
    whole, file = (eh.open(source, protected=["gender"]) for source in (texts, texts / "templates.csv"))
    assert np.array_equal(whole.rows, file.rows)


def test_one_yaml_file_holds_templates_and_words(tmp_path):
    names = "{gender: {woman: {race: {white: [Emily], black: [Aisha]}}, man: {race: {white: [Greg], black: [Jamal]}}}}"
    (tmp_path / "letters.yaml").write_text(f'templates:\n  - "{{name}} is a {{job}}"\nwords:\n  job: [nurse, pilot]\n  name: {names}\n')
    data = eh.open(tmp_path / "letters.yaml", protected=["gender", "race"])
    assert data.medium.show(data.domain.twins(data.rows[:1]).rows[:, 0]) == [
        f"{name} is a nurse" for name in ("Emily", "Aisha", "Greg", "Jamal")
    ]
    (tmp_path / "letters.yaml").write_text("templates:\n  - 7\nwords:\n  job: [nurse]\n")
    with pytest.raises(DomainError, match=r"letters.yaml:2: a template is a text"):
        eh.open(tmp_path / "letters.yaml", protected=["job"])


def test_a_folder_of_pictures_is_an_album(faces):
    data = eh.open(faces, label="group", protected=["tone"], settings={"size": 24})
    assert data.medium.kind == "album"
    assert (data.label, len(data)) == ("group", 40)  # of sixty, the editor learned from a third
    assert data.medium.show(data.domain.twins(data.rows[:4]).rows.reshape(-1, 2)).shape == (8, 24, 24, 3)
    assert data.medium.editors[0].flip.startswith("difference of a latent reflection")
    grouped = eh.open(faces, label="group", protected=["style"], settings={"size": 24, "between": {"style": [["shaved", "cropped"], []]}})
    assert len(grouped.domain.combinations) == 2
    with pytest.raises(InvalidArgument, match="name at least one attribute"):
        eh.open(faces, label="group")
    with pytest.raises(UnknownName, match="parameter of album_folder"):
        eh.open(faces, label="group", protected=["tone"], settings={"sise": 24})


def test_an_album_is_opened_with_editors_or_names():
    album = synthetic_faces(12, np.random.default_rng(0), 16)
    by_name, by_editor = (eh.open(album, protected=[each]) for each in ("tone", Rerender("tone")))
    assert by_name.medium.digest() == by_editor.medium.digest()


def test_what_cannot_be_opened_is_told(tmp_path):
    with pytest.raises(DataError, match="does not exist"):
        eh.open(tmp_path / "nothing.csvv")
    with pytest.raises(DataError, match="folder of no known layout"):
        eh.open(tmp_path)
    with pytest.raises(InvalidArgument, match="source is a int"):
        eh.open(3)
    with pytest.raises(UnknownName, match="albumm"):
        eh.open(tmp_path, kind="albumm")


def project(folder, head, tail=""):
    (folder / "evenhand.yaml").write_text(f"version: 1\n{head}{tail}")
    return folder / "evenhand.yaml"


def test_a_project_of_every_medium_opens_from_its_file(texts, tmp_path):
    file = project(
        texts,
        "medium: {kind: text, words: words.csv}\nlabel: {column: mood, favourable: [good]}\nprotected: [gender]\ndata: templates.csv\n",
    )
    opened = open_project(file)
    assert opened.data.medium.kind == "text"
    assert opened.project.domain is opened.data.domain
    assert isinstance(eh.open(texts), Dataset)
    drawn = eh.open(project(tmp_path, "medium: {kind: portraits, count: 9, size: 16}\nprotected: [gender_cue]\n"))
    assert drawn.medium.show(drawn.rows).shape == (9, 16, 16, 3)
    assert eh.open(project(tmp_path, "medium: portraits\n")).domain.protected == ("tone",)


@pytest.mark.parametrize(
    ("head", "line", "message"),
    [
        ("medium: {kind: portrait}\n", 2, "unknown kind of medium 'portrait'"),
        ("medium:\n  kind: portraits\n  sise: 16\n", 4, "unknown parameter of drawn_portraits 'sise'"),
        ("medium:\n  kind: portraits\n  count: many\n", 4, "count='many' must be of the kind of its default 400"),
        ("medium: portraits\ncolumns: {a: {kind: boolean, values: [false, true]}}\n", 3, "columns are for a table"),
        ("medium: portraits\nprotected: [tune]\n", 2, "tune"),
        ("medium: {kind: text}\nprotected: [gender]\ndata: no.csv\n", 2, "words.csv does not exist"),
        ("medium: {size: 3}\n", 2, "the key 'kind' is missing in 'medium'"),
        ("protected: [a]\n", 1, "the key 'columns' is missing"),
    ],
)
def test_mistakes_in_a_medium_are_told_with_their_line(tmp_path, head, line, message):
    file = project(tmp_path, head)
    with pytest.raises(DomainError) as caught:
        open_project(file)
    assert message in str(caught.value)
    assert caught.value.line == line


def test_a_saved_project_of_a_medium_reads_back(texts):
    medium = MediumSource("text", {"words": "words.csv"}, "mood", ("good",), ("gender",))
    kept = Project(None, DataSource(texts / "templates.csv"), medium=medium)
    save_project(kept, texts / "evenhand.yaml")
    assert read_project(texts / "evenhand.yaml").medium == medium
    assert eh.open(texts).domain.protected == ("gender",)


def test_the_schema_accepts_a_medium(texts):
    jsonschema = pytest.importorskip("jsonschema")
    from evenhand.domain import schema

    checker = jsonschema.Draft202012Validator(schema.json_schema())
    assert checker.is_valid({"version": 1, "medium": {"kind": "album", "editor": "cyclegan"}, "data": "faces", "protected": ["tone"]})
    assert checker.is_valid({"version": 1, "medium": "portraits"})
    assert not checker.is_valid({"version": 1, "medium": {"size": 3}})


def test_every_loader_is_a_file_with_a_kind_of_its_own():
    kinds = [entry.make.kind for entry in LOADERS.entries().values()]
    assert len(set(kinds)) == len(kinds)
    assert {"album", "text", "portraits", "table", "embedded"} <= set(kinds)
    assert all(isinstance(entry.make(), Loader) for entry in LOADERS.entries().values())
    assert loader_of_kind("album").name == "album_folder"


def test_init_writes_a_project_for_pictures_and_for_texts(faces, tmp_path):
    from evenhand.verbs.init import init

    with pytest.raises(InvalidArgument, match=r"label: name the attribute.*group"):
        init(faces)
    written = init(faces, label="group", protected=["tone"], file=tmp_path / "album.yaml")
    assert eh.open(written.file).domain.protected == ("tone",)
    assert "layout 'folder'" in written.summary()
    (tmp_path / "templates.csv").write_text(TEMPLATES)
    (tmp_path / "words.csv").write_text(WORDS)
    texts = init(tmp_path / "templates.csv", label="mood", favourable="good", file=tmp_path / "text.yaml")
    data = eh.open(texts.file)
    assert (data.medium.kind, data.domain.protected, data.favourable) == ("text", ("gender",), ("good",))
    assert "2 templates give 3 texts" in texts.summary()


def test_the_label_of_an_album_in_memory_is_the_attribute_that_is_named():
    album = synthetic_faces(30, np.random.default_rng(1), 16)
    data = eh.open(album, label="gender_cue", protected=["tone"])
    assert data.domain.label.values == ("masculine", "feminine")
    assert np.array_equal(data.labels, album.attribute("gender_cue").codes)
    assert np.array_equal(eh.open(album, label="age_group", protected=["tone"]).labels, album.label.codes)


def test_init_takes_a_label_of_many_numbers_for_an_amount(tmp_path):
    from evenhand.verbs.init import init

    pictures = np.random.default_rng(0).integers(0, 256, (40, 16, 16, 3)).astype(np.uint8)
    (tmp_path / "people").mkdir()
    lines = ["file,years,side,sort"]
    for place, picture in enumerate(pictures):
        write_png(tmp_path / "people" / f"{place}.png", picture)
        lines.append(f"{place}.png,{18 + place},{'ab'[place % 2]},{place % 7}")
    (tmp_path / "people" / "attributes.csv").write_text("\n".join(lines) + "\n")
    written = init(tmp_path / "people", label="years", protected=["side"], file=tmp_path / "ages.yaml")
    assert "regression" in written.summary()
    assert "label: {column: years, unit: years}" in written.file.read_text()
    assert eh.open(written.file).domain.label.unit == "years"
    few = init(tmp_path / "people", label="sort", protected=["side"], file=tmp_path / "sorts.yaml")
    assert "unit" not in few.file.read_text()
    with pytest.raises(InvalidArgument, match="'side' is the label"):
        init(tmp_path / "people", label="side", protected=["side"], file=tmp_path / "no.yaml")


def test_the_examples_of_the_document_work(tmp_path):
    import re
    from pathlib import Path

    text = (Path(__file__).parents[2] / "docs" / "media.md").read_text()
    album, sentences, one_file = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    (tmp_path / "album.yaml").write_text(album)
    assert read_project(tmp_path / "album.yaml").medium.settings["editor"] == "latent_difference"
    (tmp_path / "evenhand.yaml").write_text(sentences)
    (tmp_path / "templates.csv").write_text('text\n"{name} applied as a {job}. {Pronoun} wrote kindly."\n')
    (tmp_path / "words.csv").write_text(
        "slot,word,gender\nname,Emily,woman\nname,Greg,man\npronoun,she,woman\npronoun,he,man\njob,nurse,\njob,pilot,\n"
    )
    assert len(eh.open(tmp_path)) == 2
    (tmp_path / "letters.yaml").write_text(one_file)
    assert len(eh.open(tmp_path / "letters.yaml", protected="gender")) == 4
    found = {}
    exec(re.search(r"```python\n(.*?)```", text, re.DOTALL).group(1), found)
    assert found["result"].outcome == "violation"
