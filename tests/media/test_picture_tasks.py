"""Beyond one label of one picture: ages in years, many labels, pairs, faces that are found, embeddings; all through `measure`."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import evenhand as eh
from evenhand import report
from evenhand.datasets.albums.reading import SkippedPictures
from evenhand.engine.gate import Gate
from evenhand.errors import DataError, InvalidArgument, UnknownName, WrongAnswer
from evenhand.media.album import Album, Attribute
from evenhand.media.png import write_png
from evenhand.models.picture_tasks import FaceFinder, ManyLabels, Verifier, ZeroShot
from evenhand.report.record import plain
from evenhand.verbs.init import init

COUNT = 400
RNG = np.random.default_rng(5)
GROUP = RNG.integers(0, 2, COUNT)
OPTIONS = eh.MeasureOptions(draws=199, groups_only=False)


def _pictures(first: np.ndarray, second: np.ndarray | None = None) -> np.ndarray:
    """The first pixel says one number, the last one another, the corner the group."""
    pictures = np.full((COUNT, 8, 8, 3), 90, np.uint8)
    pictures[:, 0, 0] = first[:, None]
    pictures[:, 7, 7] = (first if second is None else second)[:, None]
    pictures[:, 0, 7] = (100 * GROUP)[:, None]
    return pictures


def _attribute(values: tuple[str, ...], codes: np.ndarray) -> Attribute:
    return Attribute(values, codes.astype(np.intp))


def _open(album: Album, **settings: object) -> eh.Dataset:
    return eh.open(album, label=str(settings.pop("label", "label")), favourable=settings.pop("favourable", None), protected=["group"],
                   settings={"editor": "none", **settings})  # fmt: skip


def test_ages_in_years_are_compared_by_their_errors() -> None:
    age = RNG.integers(18, 80, COUNT)
    ages = tuple(str(year) for year in range(18, 80))
    album = Album("ages", _pictures(age), {"group": _attribute(("one", "other"), GROUP)}, _attribute(ages, age - 18))
    data = _open(album, label="age", unit="years")
    model = eh.wrap(lambda pictures: pictures[:, 0, 0, 0] + 6.0 * (pictures[:, 0, 7, 0] > 50), data)
    found = eh.measure(model, data, options=OPTIONS)
    parts = {part.name: part.estimate for part in found.figure("mean_error", "group").groups}
    assert parts == {"one": pytest.approx(0.0), "other": pytest.approx(6.0)}
    assert found.figure("mean_error", "group").verdict == "different"
    assert "years" in model.reading
    assert "leaning" not in found.studies


def test_an_amount_must_be_numbers_and_one_for_each_picture() -> None:
    album = Album("ages", _pictures(GROUP), {"group": _attribute(("one", "other"), GROUP)}, _attribute(("young", "old"), GROUP))
    with pytest.raises(InvalidArgument, match="'young', which is no number"):
        _open(album, unit="years")
    album = Album("ages", _pictures(GROUP), {"group": _attribute(("one", "other"), GROUP)}, _attribute(("20", "30"), GROUP))
    data = _open(album, unit="years")
    with pytest.raises(WrongAnswer, match="one number for each"):
        eh.wrap(lambda pictures: np.zeros((len(pictures), 2)), data).scores(data.rows)


def test_many_labels_are_measured_beside_the_main_one() -> None:
    smiling, young, hat = (RNG.integers(0, 2, COUNT) for _ in range(3))
    attributes = {"group": _attribute(("one", "other"), GROUP), "Young": _attribute(("no", "yes"), young),
                  "Hat": _attribute(("no", "yes"), hat)}  # fmt: skip
    pictures = _pictures(100 * smiling + 50 * young, 200 * hat)
    data = _open(Album("CelebA", pictures, attributes, _attribute(("no", "yes"), smiling)), label="Smiling", favourable="yes")

    def said(shown: np.ndarray) -> np.ndarray:
        first, last, other = shown[:, 0, 0, 0].astype(int), shown[:, 7, 7, 0], shown[:, 0, 7, 0] > 50
        wrong = other & (shown.sum(axis=(1, 2, 3)) % 3 == 0)
        return np.column_stack([first >= 100, (first % 100 == 50) ^ other, (last > 100) ^ wrong, first < 0]) * 0.8 + 0.1

    model = eh.wrap(ManyLabels(said, ("Smiling", "Young", "Hat", "Bald"), main="Smiling"), data)
    found = eh.measure(model, data, options=OPTIONS)
    assert found.figure("accuracy", "group").verdict != "different"
    body = found.studies["other_labels"].figures
    assert body["labels"] == ["Young", "Hat"]
    assert body["unknown"] == ["Bald"]
    young_right = next(each for each in body["figures"] if each["metric"] == "accuracy[Young]")
    assert [part["estimate"] for part in young_right["groups"]] == [1.0, 0.0]
    assert found.outcome == "violation"


def test_a_label_that_is_more_common_in_one_group_blames_no_model_that_reads_everybody_alike() -> None:
    rng = np.random.default_rng(5)
    smiling, young = rng.integers(0, 2, COUNT), (rng.random(COUNT) < np.where(GROUP == 1, 0.85, 0.15)).astype(int)
    attributes = {"group": _attribute(("one", "other"), GROUP), "Young": _attribute(("no", "yes"), young)}
    data = _open(Album("CelebA", _pictures(100 * smiling + 50 * young), attributes, _attribute(("no", "yes"), smiling)), label="Smiling")

    def said(shown: np.ndarray) -> np.ndarray:
        first = shown[:, 0, 0, 0].astype(int)
        return np.column_stack([first >= 100, first % 100 == 50]) * 0.8 + 0.1

    found = eh.measure(eh.wrap(ManyLabels(said, ("Smiling", "Young"), main="Smiling"), data), data, options=OPTIONS)
    assert found.outcome != "violation", found.reason
    assert all(each["verdict"] != "different" for each in found.studies["other_labels"].figures["figures"])


def _verification(folder: Path, count: int, fragile: bool) -> eh.Dataset:
    """Faces of one grey each; of the group `other`, different people are alike where that is wanted."""
    rng, lines = np.random.default_rng(3), ["first,second,same,group"]
    folder.mkdir()
    for grey in range(0, 250, 10):
        write_png(folder / f"{grey}.png", np.full((8, 8, 3), grey, np.uint8))
    for at in range(count):
        one, same, group = 10 * int(rng.integers(0, 25)), at % 2, ("one", "other")[at // 2 % 2]
        near = fragile and group == "other" and at % 3 == 0
        two = one if same else (one + (10 if near else 120)) % 250
        lines.append(f"{one}.png,{two}.png,{same},{group}")
    (folder / "pairs.csv").write_text("\n".join(lines))
    return eh.open(folder, label="same", favourable="same", protected=["group"], settings={"size": 8})


def _turned(pictures: np.ndarray) -> np.ndarray:
    angle = pictures[:, 0, 0, 0] / 250 * 2 * np.pi
    return np.column_stack([np.cos(angle), np.sin(angle)])


@pytest.mark.parametrize(("fragile", "expected"), [(True, "violation"), (False, "pass")])
def test_false_matches_are_counted_by_group(tmp_path: Path, fragile: bool, expected: str) -> None:
    data = _verification(tmp_path / "pairs", 800, fragile)
    assert data.medium.album.pictures.shape[1:3] == (8, 16)
    found = eh.measure(eh.wrap(Verifier(_turned, threshold=0.9), data), data, options=OPTIONS)
    errors = {each["metric"]: each for each in found.studies["match_errors"].figures["errors"]}
    matched = {part["name"]: part["estimate"] for part in errors["false_match"]["groups"]}
    assert matched["one"] == 0.0
    assert (matched["other"] > 0.2) == fragile
    assert [part["estimate"] for part in errors["false_non_match"]["groups"]] == [0.0, 0.0]
    assert Gate.rule(found.studies["match_errors"].claims[0]).outcome == expected
    assert (found.outcome == "violation") == fragile


def test_too_few_pairs_are_told_first_and_no_group_is_blamed(tmp_path: Path) -> None:
    data = _verification(tmp_path / "pairs", 120, fragile=False)
    found = eh.measure(eh.wrap(Verifier(_turned, threshold=0.9), data), data, options=OPTIONS)
    assert found.outcome == "inconclusive"
    told = plain(found.as_dict())
    assert not any("is lowest for" in each for each in told["sentences"])
    page = report.render(told)
    first = page.partition('<h1 id="verdict-title">')[2].partition("</h1>")[0]
    assert "Too few pairs to say whether groups differ by more than the tolerated 5.0%: false" in first
    assert page.partition("In two minutes")[0].count("by group:") == len(told["body"]["studies"]["match_errors"]["sentences"])


def test_pairs_of_nobody_knows_what_are_refused(tmp_path: Path) -> None:
    write_png(tmp_path / "a.png", np.zeros((4, 4, 3), np.uint8))
    (tmp_path / "pairs.csv").write_text("first,second,same,group\na.png,a.png,perhaps,one\n")
    with pytest.raises(DataError, match="perhaps"):
        eh.open(tmp_path, label="same", protected=["group"])


def test_pairs_of_pictures_that_cannot_be_read_are_left_out_and_named(tmp_path: Path) -> None:
    for name in "abc":
        write_png(tmp_path / f"{name}.png", np.full((4, 4, 3), 40 * ord(name) % 200, np.uint8))
    (tmp_path / "c.png").write_bytes(b"no picture")
    pairs = ["a.png,b.png,no,one", "a.png,c.png,no,one", "b.png,b.png,yes,other", "gone.png,a.png,no,other"]
    (tmp_path / "pairs.csv").write_text("\n".join(["first,second,same,group", *pairs]))
    with pytest.warns(SkippedPictures, match=r"2 of 4 files are left out: gone\.png is not there; .*c\.png cannot be read"):
        data = eh.open(tmp_path, protected=["group"], settings={"size": 8})
    assert data.frame["file"].tolist() == ["a.png b.png", "b.png b.png"]
    assert data.domain.label.column == "same"


def test_a_project_of_pairs_is_proposed_without_twins(tmp_path: Path) -> None:
    _labels_of_pairs(tmp_path / "pairs", ("yes", "no"))
    written = init(tmp_path / "pairs", label="same", protected=["group"], file=tmp_path / "evenhand.yaml")
    assert any("two pictures side by side" in line for line in written.lines)
    assert "editor: none" in (tmp_path / "evenhand.yaml").read_text()


def _labels_of_pairs(folder: Path, words: tuple[str, str], **settings: object) -> tuple[tuple[str, ...], list[str]]:
    """Values and labels of four pairs, of which the first two show one person."""
    for name in "ab":
        write_png(folder / f"{name}.png", np.full((4, 4, 3), 40 * ord(name) % 200, np.uint8))
    pairs = [f"a.png,{name}.png,{word},one" for name, word in zip("abab", (words[0], words[0], words[1], words[1]), strict=True)]
    (folder / "pairs.csv").write_text("\n".join(["first,second,same,group", *pairs[:3], pairs[3].replace("one", "other")]))
    data = eh.open(folder, protected=["group"], settings={"size": 8, **settings})
    return data.domain.label.values, data.frame["same"].tolist()


def test_what_pairs_are_called_can_be_chosen(tmp_path: Path) -> None:
    assert _labels_of_pairs(tmp_path, ("mated", "non-mated")) == (("different", "same"), ["same", "same", "different", "different"])
    own = {"same": {"1": "one person", "0": "two people"}}
    assert _labels_of_pairs(tmp_path, ("1", "0"), names=own) == (("two people", "one person"), ["one person"] * 2 + ["two people"] * 2)
    foreign = {"same": {"oui": "same", "non": "different"}}
    assert _labels_of_pairs(tmp_path, ("oui", "non"), names=foreign)[1] == ["same", "same", "different", "different"]
    with pytest.raises(UnknownName, match="in names"):
        _labels_of_pairs(tmp_path, ("1", "0"), names=foreign)


def test_faces_that_are_missed_are_counted_by_group() -> None:
    album = Album("faces", _pictures(GROUP), {"group": _attribute(("one", "other"), GROUP)}, Attribute((), np.full(COUNT, -1)))
    data = _open(album, faces=True)
    model = eh.wrap(FaceFinder(lambda shown: [[(1, 1, 7, 7)] if one[0, 7, 0] < 50 or one.sum() % 2 else [] for one in shown]), data)
    found = eh.measure(model, data, options=OPTIONS)
    assert [(figure.metric, figure.title) for figure in found.figures] == [("equal_opportunity", "Recall")]
    assert "Recall by group" in found.reason
    assert "share answered 'found', which is right for everybody" in found.reason
    recalls = {part.name: part.estimate for part in found.figure("equal_opportunity", "group").groups}
    assert recalls["one"] == 1.0
    assert recalls["other"] < 1.0
    assert found.outcome == "violation"


def test_a_box_beside_the_face_does_not_count() -> None:
    found = FaceFinder(lambda pictures: [[(0, 0, 2, 2)], [(2, 2, 6, 6)], []])(np.zeros((3, 8, 8, 3), np.uint8))
    assert found.argmax(axis=1).tolist() == [0, 1, 0]


def test_a_zero_shot_classifier_is_a_function_like_any_other() -> None:
    label = RNG.integers(0, 2, COUNT)
    data = _open(
        Album("shots", _pictures(200 * label), {"group": _attribute(("one", "other"), GROUP)}, _attribute(("dark", "light"), label))
    )
    embed = lambda pictures: np.column_stack([200.0 - pictures[:, 0, 0, 0], pictures[:, 0, 0, 0] + 1.0])  # noqa: E731
    model = eh.wrap(ZeroShot(embed, {"dark": [1.0, 0.0], "light": [0.0, 1.0]}), data)
    found = eh.measure(model, data, options=OPTIONS)
    assert {part.estimate for part in found.figure("label_accuracy", "group").groups} == {1.0}


def test_a_zero_shot_classifier_names_its_classes_in_any_order() -> None:
    light = np.tile(["dark", "light"], COUNT // 2)
    pictures, group = _pictures(200 * (light == "light")), _attribute(("one", "other"), GROUP)
    data = _open(Album("shots", pictures, {"group": group}, _attribute(("dark", "light"), (light == "light").astype(int))))
    embed = lambda shown: np.column_stack([200.0 - shown[:, 0, 0, 0], shown[:, 0, 0, 0] + 1.0])  # noqa: E731
    wrong = eh.wrap(ZeroShot(embed, {"light": [1.0, 0.0], "dark": [0.0, 1.0]}), data)  # its prompts are exchanged
    right = eh.wrap(ZeroShot(embed, {"light": [0.0, 1.0], "dark": [1.0, 0.0]}), data)
    said = [np.array(model.classes)[model.scores(data.rows).argmax(axis=1)] for model in (right, wrong)]
    assert (said[0] == light).all()
    assert not (said[1] == light).any()


def test_a_classifier_that_answers_with_no_numbers_is_told_so():
    from evenhand.planted.portraits import synthetic_faces

    data = eh.open(synthetic_faces(60, np.random.default_rng(2), 16), protected=["tone"])
    with pytest.raises(WrongAnswer, match="scores must be finite"):
        eh.wrap(lambda pictures: np.full((len(pictures), 3), np.nan), data)


def test_a_regression_may_be_a_torch_module_or_an_onnx_file(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnx")
    net = torch.nn.Sequential(torch.nn.AvgPool2d(8), torch.nn.Flatten(), torch.nn.Linear(3, 1))
    with torch.no_grad():
        net[2].weight[:], net[2].bias[:] = torch.tensor([[60.0, 0.0, 0.0]]), torch.tensor([5.0])
    names = {"input_names": ["pictures"], "output_names": ["years"], "dynamic_axes": {"pictures": {0: "n"}, "years": {0: "n"}}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(net, (torch.zeros(1, 3, 8, 8),), str(tmp_path / "age.onnx"), dynamo=False, **names)
    ages = _attribute(tuple(str(year) for year in range(18, 80)), RNG.integers(0, 62, COUNT))
    data = _open(Album("ages", _pictures(RNG.integers(18, 80, COUNT)), {"group": _attribute(("one", "other"), GROUP)}, ages), unit="years")
    said = 5.0 + 60.0 / 255.0 * data.medium.show(data.rows).mean(axis=(1, 2))[:, 0]
    for given in (net, tmp_path / "age.onnx"):
        assert np.abs(eh.wrap(given, data).scores(data.rows)[:, 0] - said).max() < 1e-3
    twice = torch.nn.Sequential(torch.nn.AvgPool2d(8), torch.nn.Flatten(), torch.nn.Linear(3, 9))
    with pytest.raises(WrongAnswer, match="expected one number for each"):
        eh.wrap(twice, data).scores(data.rows)
