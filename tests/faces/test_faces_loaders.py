"""Promises of the loaders, on small folders of rendered portraits in each layout."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from evenhand.campaign.opened_project import editor_tools
from evenhand.contract import DataWishes
from evenhand.datasets.album_data import from_album
from evenhand.datasets.albums import LAYOUTS, celeba, class_folders, fairface, folder, lfw, utkface
from evenhand.datasets.albums.reading import Reading, SkippedPictures
from evenhand.datasets.loaders.album_folder import AlbumFolder
from evenhand.errors import DataError, UnknownName
from evenhand.media.png import write_png
from evenhand.media.portraits import draw_factors, render
from evenhand.media.without_twins import WithoutTwins

pytest.importorskip("PIL", reason="the loaders need pillow")
PORTRAITS = render(draw_factors(6, np.random.default_rng(0)), 32)


def save(root, names):
    for name, portrait in zip(names, PORTRAITS, strict=False):
        write_png(root / name, portrait)


def test_a_folder_with_a_table(tmp_path):
    save(tmp_path, [f"p{i}.png" for i in range(6)])
    rows = [f"p{i}.png,{'ab'[i % 2]},{'' if i == 3 else i * 10}" for i in range(6)]
    (tmp_path / "attributes.csv").write_text("\n".join(["file,group,age", *rows]))
    album = folder.read(tmp_path, Reading("group", 32))
    assert np.array_equal(album.pictures, PORTRAITS)
    assert album.label.values == ("a", "b")
    assert album.attribute("age").values == ("0", "10", "20", "40", "50")
    assert album.attribute("age").codes[3] == -1
    assert not album.is_synthetic
    with pytest.raises(UnknownName, match="did you mean 'group'"):
        album.attribute("grup")


def test_a_table_with_semicolons_an_amount_and_pictures_that_are_small(tmp_path):
    import evenhand as eh

    (tmp_path / "album" / "pictures").mkdir(parents=True)
    save(tmp_path / "album" / "pictures", [f"p[{i}].png" for i in range(6)])
    rows = [f"pictures/p[{i}].png;{'ab'[i % 2]};{20 + i}" for i in range(6)]
    (tmp_path / "album" / "people.csv").write_text("\n".join(["image path;group;age", *rows]))
    proposed = AlbumFolder().propose(tmp_path / "album", DataWishes(editor_tools(0), "age", (), ("group",)))
    assert proposed.settings["size"] == 32  # as they are, not enlarged to the usual 64
    project = tmp_path / "evenhand.yaml"
    project.write_text(
        "version: 1\nmedium: {kind: album, size: 32, editor: none}\nlabel: {column: age, unit: years}\nprotected: [group]\ndata: album\n"
    )
    data = eh.open(project)
    assert data.domain.label.unit == "years"
    assert sorted(data.frame["age"].astype(int)) == [20, 21, 22, 23, 24, 25]


def test_celeba_layout(tmp_path):
    save(tmp_path, [f"img_align_celeba/{i:06d}.png" for i in range(1, 5)])
    rows = [f"{i:06d}.png  {1 if i % 2 else -1} -1" for i in range(1, 5)]
    (tmp_path / "list_attr_celeba.txt").write_text("\n".join(["4", "Male Young", *rows]))
    album = celeba.read(tmp_path, Reading("Young", 16))
    assert album.pictures.shape == (4, 16, 16, 3)
    assert [album.attribute("Male").values[code] for code in album.attribute("Male").codes] == ["yes", "no", "yes", "no"]
    for place in ("img_align_celeba/img_align_celeba", "Img/img_align_celeba", "Img/img_align_celeba_png"):
        root = tmp_path / place.replace("/", "-")
        save(root, [f"{place}/{i:06d}.png" for i in range(1, 5)])
        table = root / ("Anno" if place.startswith("Img") else "") / "list_attr_celeba.txt"
        table.parent.mkdir(exist_ok=True)
        kind = ".jpg" if place.endswith("_png") else ".png"
        table.write_text("\n".join(["4", "Male Young", *rows]).replace(".png", kind))
        assert celeba.fits(root)
        assert celeba.read(root, Reading("Young", 16)).label.codes.tolist() == album.label.codes.tolist()
    (tmp_path / "list_attr_celeba.txt").write_text("1\nMale Young\n000001.png 1")
    with pytest.raises(DataError, match=r"list_attr_celeba\.txt:3"):
        celeba.read(tmp_path, Reading("Young"))


def test_fairface_layout_keeps_ages_in_order(tmp_path):
    save(tmp_path, [f"val/{i}.png" for i in range(1, 5)])
    ages = ["20-29", "3-9", "more than 70", "0-2"]
    rows = [f"val/{i}.png,{age},Male,East Asian,True" for i, age in enumerate(ages, start=1)]
    (tmp_path / "fairface_label_val.csv").write_text("\n".join(["file,age,gender,race,service_test", *rows]))
    album = fairface.read(tmp_path, Reading("age", 32, limit=4))
    assert album.label.values == ("0-2", "3-9", "20-29", "more than 70")
    assert album.label.codes.tolist() == [2, 1, 3, 0]
    (tmp_path / "val" / "2.png").unlink()
    with pytest.warns(SkippedPictures, match=r"1 of 4 files are left out: 2\.png is not there"):
        assert len(fairface.read(tmp_path, Reading("age"))) == 3


def test_fairface_is_read_where_only_the_training_part_is_there(tmp_path):
    save(tmp_path, [f"train/{i}.png" for i in range(1, 4)])
    rows = [f"train/{i}.png,20-29,{gender},Black" for i, gender in enumerate(("Male", "Female", "Male"), start=1)]
    (tmp_path / "fairface_label_train.csv").write_text("\n".join(["file,age,gender,race", *rows]))
    assert len(fairface.read(tmp_path, Reading("gender", 32))) == 3


def test_parts_of_utkface_in_folders_are_no_classes(tmp_path):
    save(tmp_path, ["part1/25_1_2_20170116174525125.png", "part2/71_0_4_20170116174525126.png"])
    assert AlbumFolder()._fitting(tmp_path) == ["utkface"]
    save(tmp_path / "classes", ["young/a.png", "old/b.png"])
    assert AlbumFolder()._fitting(tmp_path / "classes") == ["class_folders"]


def test_utkface_layout_reads_names(tmp_path):
    save(tmp_path, ["25_1_2_20170116174525125.png", "71_0_4_20170116174525126.png"])
    album = utkface.read(tmp_path, Reading("gender", 32))
    assert [album.label.values[code] for code in album.label.codes] == ["female", "male"]
    assert album.attribute("age_group").values == ("20-29", "70-79")
    save(tmp_path, ["portrait.png"])
    with pytest.warns(SkippedPictures, match=r"portrait\.png must be named"):
        assert len(utkface.read(tmp_path, Reading("gender"))) == 2


def test_lfw_layout_reads_scores(tmp_path):
    save(tmp_path / "lfw", ["Ada_Example/Ada_Example_0001.jpg", "Bo_Example/Bo_Example_0002.jpg"])
    table = "# lfw attributes\n#\tperson\timagenum\tMale\tSmiling\nAda Example\t1\t-1.5\t0.5\nBo Example\t2\t1.2\t-0.4\nNobody\t1\t1\t1\n"
    (tmp_path / "lfw_attributes.txt").write_text(table.replace("#\tperson", "# person"))
    album = lfw.read(tmp_path, Reading("Smiling", 32))
    assert len(album) == 2
    assert [album.attribute("Male").values[code] for code in album.attribute("Male").codes] == ["no", "yes"]


def test_a_file_that_is_no_picture_is_named(tmp_path):
    (tmp_path / "25_1_2_1.jpg").write_text("no picture")
    with pytest.raises(DataError, match=r"25_1_2_1\.jpg"):
        utkface.read(tmp_path, Reading("gender"))


def test_pictures_of_every_kind_are_read_as_colour(tmp_path):
    from PIL import Image

    portrait = Image.fromarray(PORTRAITS[0])
    clear = portrait.convert("RGBA")
    clear.putalpha(0)
    kinds = {"grey": portrait.convert("L"), "clear": clear, "palette": portrait.convert("P"), "wide": portrait.resize((64, 40))}
    kinds["deep"] = Image.fromarray(np.asarray(portrait.convert("L")).astype(np.uint16) * 257)
    for name, picture in kinds.items():
        picture.save(tmp_path / f"{name}.png")
    (tmp_path / "attributes.csv").write_text("\n".join(["file,group", *(f"{name}.png,a" for name in kinds)]))
    album = folder.read(tmp_path, Reading("group", 32))
    by_name = dict(zip(kinds, album.pictures, strict=True))
    assert (by_name["clear"] == 255).all()  # transparency is white
    assert np.abs(by_name["grey"].astype(int) - by_name["deep"]).max() <= 1
    assert by_name["wide"].shape == (32, 32, 3)


def test_a_published_name_that_leaves_a_part_out_is_unknown_there(tmp_path):
    save(tmp_path, ["61_1_20170109142408075.png", "25_1_2_20170116174525125.png", "53__0_20170116184028385.png"])
    album = utkface.read(tmp_path, Reading("gender", 32))
    said = dict(zip(album.sources, album.attribute("race").codes.tolist(), strict=True))
    assert said["61_1_20170109142408075.png"] == -1
    assert album.label.codes[album.sources.index("53__0_20170116184028385.png")] == -1


def test_two_groups_of_a_many_valued_attribute(tmp_path):
    save(tmp_path, [f"p{i}.png" for i in range(6)])
    groups = ["white", "black", "asian", "", "nan", "white"]
    (tmp_path / "attributes.csv").write_text("\n".join(["file,race", *(f"p{i}.png,{group}" for i, group in enumerate(groups))]))
    album = folder.read(tmp_path, Reading("race", 32))
    with pytest.raises(DataError, match="--between"):
        album.sides("race")
    assert len(album.between("race", ["white"], ["black"])) == 3
    rest = album.between("race", ["white"])
    assert rest.attribute("race").values == ("white", "asian or black")
    assert rest.sides("race").tolist() == [0, 1, 1, 0]
    with pytest.raises(UnknownName):
        album.between("race", ["whit"])


def test_any_table_whose_column_names_pictures_describes_a_folder(tmp_path):
    save(tmp_path, [f"a folder/p{i}.png" for i in range(6)])
    (tmp_path / "labels.csv").write_text("\n".join(["id,picture,group", *(f"{i},a folder/p{i}.png,{'ab'[i % 2]}" for i in range(6))]))
    (tmp_path / "a folder" / "p2.png").write_text("broken")
    assert folder.fits(tmp_path)
    with pytest.warns(SkippedPictures, match=r"1 of 6 files are left out: .*p2\.png cannot be read"):
        album = folder.read(tmp_path, Reading("group", 32))
    assert album.sources == ("p0.png", "p1.png", "p3.png", "p4.png", "p5.png")
    assert album.label.codes.tolist() == [0, 1, 1, 0, 1]
    assert np.array_equal(album.pictures[2], PORTRAITS[3])


def test_folders_are_classes_and_what_holds_them_is_a_part(tmp_path):
    save(tmp_path, ["train/old/1.png", "train/young/2.png", "test/old/3.png", "test/young/4.png"])
    album = class_folders.read(tmp_path, Reading("class", 32))
    assert album.label.values == ("old", "young")
    assert album.attribute("part").values == ("test", "train")
    assert [name for name, entry in LAYOUTS.entries().items() if entry.make().fits(tmp_path)] == ["class_folders"]


def test_a_limit_is_drawn_by_seed_and_not_by_the_alphabet(tmp_path):
    save(tmp_path, [f"{'ab'[i // 3]}/p{i}.png" for i in range(6)])
    drawn = [class_folders.read(tmp_path, Reading("class", 32, limit=3, seed=seed)).sources for seed in range(8)]
    assert all(len(names) == 3 and list(names) == sorted(names) for names in drawn)
    assert len(set(drawn)) > 3
    assert drawn[0] == class_folders.read(tmp_path, Reading("class", 32, limit=3, seed=0)).sources


def test_values_get_the_names_that_the_reader_gives_them(tmp_path):
    save(tmp_path, ["0/p.png", "1/q.png"])
    album = class_folders.read(tmp_path, Reading("class", 32, names={"class": {"0": "man", "1": "woman"}}))
    assert album.label.values == ("man", "woman")


@pytest.mark.parametrize(
    ("names", "told"), [({"clas": {"0": "man"}}, "'clas'; did you mean 'class'"), ({"class": {"7": "man"}}, "'7'; known: 0, 1")]
)
def test_new_names_for_what_no_picture_has_are_refused(tmp_path, names, told):
    save(tmp_path, [f"{i % 2}/{i}.png" for i in range(4)])
    with pytest.raises(UnknownName, match=told):
        class_folders.read(tmp_path, Reading("class", 32, names=names))


def test_a_folder_of_which_most_cannot_be_used_is_another_layout(tmp_path):
    save(tmp_path, ["25_1_2_1.png", "holiday.png", "beach.png", "cat.png"])
    with pytest.raises(DataError, match="3 files cannot be used and 1 can; is it another layout"):
        utkface.read(tmp_path, Reading("gender"))


def test_aligned_faces_have_their_eyes_in_one_place(monkeypatch):
    from evenhand.datasets.albums import face_alignment
    from evenhand.media.aligned_face import USUAL_PLACES

    picture = np.zeros((120, 160, 3), np.uint8)
    eyes = face_alignment.Eyes((60.0, 70.0), (100.0, 50.0))  # a head that leans
    for x, y in (eyes.left, eyes.right):
        picture[int(y) - 3 : int(y) + 4, int(x) - 3 : int(x) + 4] = 255
    monkeypatch.setattr(face_alignment, "_eyes_of", lambda _picture: eyes)
    bright = face_alignment.aligned(picture, 64)[..., 0] > 100
    down, right = np.nonzero(bright)
    assert np.abs(down / 64 - USUAL_PLACES.eye_height).max() < 0.1
    apart = right[right > 32].mean() - right[right < 32].mean()
    assert apart / 64 == pytest.approx(USUAL_PLACES.eye_distance, abs=0.03)


def test_pictures_without_a_face_are_left_out_and_named(tmp_path):
    for place in range(4):
        write_png(tmp_path / f"{20 + place}_0_0_2017.png", np.full((80, 80, 3), 40 * place, np.uint8))
    with pytest.raises(DataError, match="no face was found"):
        utkface.read(tmp_path, Reading("gender", 32, align=True))
    assert len(utkface.read(tmp_path, Reading("gender", 32))) == 4


def test_missed_faces_are_told_by_group(tmp_path, monkeypatch):
    from evenhand.datasets.albums import reading

    for place in range(60):
        (tmp_path / f"25_{place % 2}_{place % 3}_{place}.png").touch()

    def only_men(file, size):
        if file.name.split("_")[1] == "1" and int(file.name.split("_")[3][:-4]) < 40:
            raise DataError(f"{file.name}: no face was found in it")
        return np.zeros((size, size, 3), np.uint8)

    monkeypatch.setattr(reading, "read_face", only_men)
    with pytest.warns(SkippedPictures) as told:
        album = utkface.read(tmp_path, Reading("gender", 16, align=True))
    assert len(album) == 40
    by_group = str(told[-1].message)
    assert "gender (UNEQUAL, p = " in by_group
    assert "female 66.7% of 30, male 0.0% of 30" in by_group
    assert "race (no difference shown, p = " in by_group
    assert album.left_out in by_group
    assert from_album(album, [WithoutTwins("race")], ("female",), "gender").medium.left_out == album.left_out  # `measure` notes it


def test_a_face_that_fills_the_picture_is_found(monkeypatch):
    """The finder needs room around a face: it is given the picture with its edge repeated, and places are told without it."""
    from evenhand.datasets.albums import face_alignment

    class Finder:
        def __init__(self, file):
            self.file = file

        def detectMultiScale(self, grey, *_rest, **_named):
            assert "eye" in self.file or grey.shape == (160, 160)
            return [] if "eye" in self.file or "alt2" in self.file else [(30, 30, 100, 100)]

    monkeypatch.setattr(face_alignment, "_finder", Finder)
    eyes = face_alignment._eyes_of(np.zeros((100, 100, 3), np.uint8))
    assert eyes.left == pytest.approx((30.0, 39.0))
    assert eyes.right == pytest.approx((70.0, 39.0))


@pytest.mark.slow
def test_faces_of_synthetic_people_are_found():
    import os

    from evenhand.datasets.albums.reading import read_face

    folder = Path(os.environ.get("EVENHAND_DATA", Path(__file__).parents[3] / "shared" / "data")) / "images" / "portraits"
    files = sorted(folder.glob("*.jpg"))
    if not files:
        pytest.skip("the portraits of synthetic people are not at hand")
    assert {read_face(file, 48).shape for file in files} == {(48, 48, 3)}
