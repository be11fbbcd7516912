"""Label maps of every known legend: read as what they are, from Python and from the command line, and never as another one's."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from tests.command import evenhand

import evenhand as eh
from evenhand.datasets.scene_data import found_scenes, read_scenes
from evenhand.datasets.scenes.legends import LEGENDS, MapLegend
from evenhand.datasets.scenes.map_layouts import MAP_LAYOUTS
from evenhand.datasets.scenes.picture_files import write_picture
from evenhand.errors import DataError
from evenhand.media.scene import Scene


def coded(scene: Scene, legend: MapLegend) -> np.ndarray:
    """A drawn street as a label map; cars, people and regions only."""
    codes = {name: code for code, name in legend.things.items()}
    regions = {region: code for code, region in reversed(legend.regions.items())}
    found = np.full(scene.shape, regions[0] if 0 in regions else max(legend.regions), np.uint8)
    for region, code in regions.items():
        found[scene.regions == region] = code
    for one in scene.instances:
        if one.label in ("car", "person"):
            found[one.mask(scene.shape)] = codes[one.label]
    return found


@pytest.fixture(scope="module")
def folders(streets, tmp_path_factory):
    root = tmp_path_factory.mktemp("legends")
    for name, legend in LEGENDS.items():
        for kind in ("frames", "labels"):
            (root / name / kind).mkdir(parents=True)
        for scene in streets[:2]:
            codes = coded(scene, legend)
            write_picture(root / name / "frames" / f"{scene.name}.png", scene.picture)
            cv2.imwrite(str(root / name / "labels" / f"{scene.name}.png"), codes)
    return root


@pytest.mark.parametrize("name", LEGENDS)
def test_a_map_shows_what_its_legend_says(folders, streets, name):
    seen = eh.open(folders / name, settings={"legend": name, "classes": ["car"]}).medium.scenes
    for read, drawn in zip(sorted(seen, key=lambda one: one.name), streets[:2], strict=True):
        cars = sum(one.mask(drawn.shape) for one in drawn.instances if one.label == "car")
        assert abs(sum(one.area for one in read.instances if one.label == "car") - np.count_nonzero(cars)) < 0.2 * np.count_nonzero(cars)


@pytest.mark.parametrize("name", [name for name in LEGENDS if name != "camvid"])
def test_a_map_of_another_legend_is_refused_with_the_command_that_reads_it(folders, name):
    with pytest.raises(DataError, match="--set legend=NAME"):
        eh.open(folders / name)


@pytest.mark.parametrize("layout", MAP_LAYOUTS, ids=lambda one: f"{one.maps}{one.ending}")
def test_a_data_set_as_it_is_unpacked_is_found_with_its_legend(tmp_path, layout):
    inner = "frankfurt/a_000001" if "gtFine" in layout.ending else "a_000001"
    legend = LEGENDS[layout.legend or "camvid"]
    codes = np.full((40, 60), next(iter(legend.regions)), np.uint8)
    codes[10:30, 20:50] = next(code for code, name in legend.things.items() if name == "car")
    ending = "_leftImg8bit" if "gtFine" in layout.ending else ""
    write_picture(tmp_path / layout.pictures / f"{inner}{ending}.png", np.full((40, 60, 3), 90, np.uint8))
    for name, grid in ((f"{inner}{layout.ending}", codes), (f"{inner}_color", codes * 0)):
        path = tmp_path / layout.maps / f"{name}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        cv2.imwrite(str(path), grid)
    if not layout.ending:
        path.unlink()  # only where names say which maps are meant may there be others beside them
    found = found_scenes(tmp_path)
    assert (found.form, found.legend) == ("maps", layout.legend)
    (scene,) = read_scenes(found)
    assert [one.label for one in scene.instances if one.counted] == ["car"]


def test_the_command_line_says_a_legend_and_writes_it_into_the_project(folders, tmp_path):
    evenhand("init", folders / "kitti", "--set", "legend=kitti", "--set", "count=2", cwd=tmp_path, check=0)
    assert "legend: kitti" in (tmp_path / "evenhand.yaml").read_text()
    assert len(eh.open(tmp_path / "evenhand.yaml").medium.scenes) == 2
    for wrong, told in (("legend=kiti", "did you mean 'kitti'"), ("legnd=kitti", "did you mean 'legend'"), ("legend", "name=value")):
        done = evenhand("init", folders / "kitti", "--set", wrong, "--out", "other.yaml", cwd=tmp_path, check=2)
        assert told in done.stderr


def test_a_table_has_no_such_settings(tmp_path):
    (tmp_path / "people.csv").write_text("age,sex\n30,f\n40,m\n")
    done = evenhand("init", "people.csv", "--set", "kind=table", cwd=tmp_path, check=2)
    assert "set" in done.stderr or "parameter" in done.stderr
    assert not (tmp_path / "evenhand.yaml").exists()


WRONG = [("kitti", "bdd100k"), ("bdd100k", "kitti"), ("mapillary", "kitti"), ("ade20k", "cityscapes-ids")]


@pytest.mark.parametrize(("true", "said"), WRONG)
def test_a_legend_that_was_said_wrongly_is_refused(folders, streets, tmp_path, true, said):
    for kind in ("frames", "labels"):
        (tmp_path / kind).mkdir()
    for k in range(4):
        write_picture(tmp_path / "frames" / f"{k}.png", streets[k].picture)
        cv2.imwrite(str(tmp_path / "labels" / f"{k}.png"), coded(streets[k], LEGENDS[true]))
    assert len(eh.open(tmp_path, settings={"legend": true, "classes": ["car"]}).medium.scenes) == 4
    with pytest.raises(DataError, match=r"legend ends at|ground lies in the upper half"):
        eh.open(tmp_path, settings={"legend": said})
