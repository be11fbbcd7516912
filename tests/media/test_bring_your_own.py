"""Editors, ready-made twins, juries and generators that a user brings: in Python, in the project file, on the command line."""

from __future__ import annotations

import csv
import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import evenhand as eh
from evenhand.datasets.albums.reading import SkippedPictures
from evenhand.errors import DomainError, InvalidArgument, ModelFailed, UnknownName, UntrustedModel, WrongAnswer
from evenhand.media.album import Album, Attribute
from evenhand.media.png import write_png
from evenhand.models.own_generator import generator_space
from tests.command import evenhand

COUNT, SIDE = 160, 16


def _album(names: tuple[str, ...] = ("light", "dark")) -> Album:
    """Squares: the upper half tells the tone, the lower half the label."""
    rng = np.random.default_rng(5)
    tone, label = rng.integers(0, len(names), COUNT), rng.integers(0, 2, COUNT)
    pictures = rng.integers(0, 20, (COUNT, SIDE, SIDE, 3)).astype(np.uint8)
    pictures[:, :8] += (200 - 70 * tone).astype(np.uint8)[:, None, None, None]
    pictures[:, 8:] += (60 + 100 * label).astype(np.uint8)[:, None, None, None]
    sources = tuple(f"p{place:03d}.png" for place in range(COUNT))
    return Album("squares", pictures, {"tone": Attribute(names, tone), "verdict": Attribute(("no", "yes"), label)},
                 Attribute(("no", "yes"), label), sources=sources)  # fmt: skip


def repaint(pictures: np.ndarray, values: list[str]) -> np.ndarray:
    """An exact editor of the tone."""
    levels = {"light": 200, "middle": 130, "dark": 130, "darkest": 60}
    painted = pictures.copy()
    painted[:, :8] = np.array([levels[value] for value in values], np.uint8)[:, None, None, None]
    return painted


def read_tone(pictures: np.ndarray) -> np.ndarray:
    """A jury of the tone."""
    dark = (np.asarray(pictures)[:, :8].mean(axis=(1, 2, 3)) < 175).astype(float)
    return np.column_stack([1 - dark, dark])


def read_label(pictures: np.ndarray) -> np.ndarray:
    """The label, whatever the tone is."""
    yes = (np.asarray(pictures)[:, 8:].mean(axis=(1, 2, 3)) > 120).astype(float) * 0.8 + 0.1
    return np.column_stack([1 - yes, yes])


def lean(pictures: np.ndarray) -> np.ndarray:
    """As `read_label`, but the dark are told no."""
    scores = read_label(pictures)
    scores[read_tone(pictures)[:, 1] > 0.5] = (0.9, 0.1)
    return scores


MODULE = "import numpy as np\n\n" + "\n\n".join(__import__("inspect").getsource(one) for one in (repaint, read_tone, read_label, lean))


def _folder(tmp_path: Path, **settings: object) -> Path:
    """A project of files: pictures, twins beside them, a module, and what the settings say."""
    album = _album()
    (tmp_path / "pictures").mkdir()
    (tmp_path / "twins").mkdir()
    lines = ["file,tone,verdict"]
    for place, name in enumerate(album.sources):
        write_png(tmp_path / "pictures" / name, album.pictures[place])
        tone, other = ("dark", "light") if album.attributes["tone"].codes[place] else ("light", "dark")
        write_png(tmp_path / "twins" / name, repaint(album.pictures[place : place + 1], [other])[0])
        lines.append(f"{name},{tone},{'yes' if album.label.codes[place] else 'no'}")
    (tmp_path / "pictures" / "attributes.csv").write_text("\n".join(lines))
    (tmp_path / "own_squares.py").write_text(MODULE)
    medium = {"kind": "album", "size": SIDE, **settings}
    told = {"version": 1, "medium": medium, "label": {"column": "verdict", "favourable": ["yes"]}, "protected": ["tone"]}
    told |= {"data": "pictures", "model": "own_squares:lean"}
    (tmp_path / "evenhand.yaml").write_text(json.dumps(told))
    return tmp_path / "evenhand.yaml"


def test_a_function_edits_and_a_jury_confirms(tmp_path: Path) -> None:
    settings = {"editor": repaint, "jury": {"tone": read_tone, "verdict": read_label}}
    data = eh.open(_album(), label="verdict", favourable="yes", protected=["tone"], settings=settings)
    assert len(data.rows) == COUNT  # nothing is kept back to learn from
    found = eh.measure(eh.wrap(lean, data), data, options=eh.MeasureOptions(draws=199))
    jury = found.studies["jury"].figures["editors"][0]
    assert jury["given"] == ["tone", "verdict"]
    assert jury["confirmed"]["estimate"] == 1.0
    weighed = found.studies["leaning"].figures["leanings"][0]["weighed"]
    assert weighed["reason"] == ""
    assert weighed["reader_accuracy"] == 1.0
    assert found.outcome == "violation"
    page = found.report(tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Jury reads tone" in page
    assert "was made by a learned editor" in page
    assert "if only tone" not in page


def test_a_declared_exact_editor_of_many_values() -> None:
    def three(pictures: np.ndarray, values: list[str]) -> np.ndarray:
        return repaint(pictures, values)

    data = eh.open(
        _album(("light", "middle", "darkest")),
        label="verdict",
        protected=["tone"],
        favourable="yes",
        settings={"editor": three, "exact": True},
    )
    assert data.medium.doubt == ""
    row = data.rows[:1].copy()
    row[0, 1] = 2
    assert data.medium.show(row)[0, 0, 0, 0] in (60, *data.medium.album.pictures[0, 0, 0])


def test_ready_made_twins_from_the_command_line(tmp_path: Path) -> None:
    _folder(tmp_path, editor="none")
    jury = ("--jury", "tone=own_squares:read_tone", "--jury", "verdict=own_squares:read_label")
    done = evenhand("measure", "--pairs", "twins", *jury, "--quiet", "--json", cwd=tmp_path, check=1)
    told = json.loads(done.stdout)
    assert told["body"]["studies"]["jury"]["figures"]["editors"][0]["flip"] == "twins from twins"
    assert told["body"]["studies"]["leaning"]["figures"]["leanings"][0]["pairs"] == COUNT


def test_a_limit_from_the_command_line_draws_pictures_by_seed(tmp_path: Path) -> None:
    _folder(tmp_path, editor="none")
    done = evenhand("measure", "--limit", "60", "--quiet", "--json", cwd=tmp_path, check=None)
    groups = json.loads(done.stdout)["body"]["groups"]
    assert sum(part["rows"] for part in groups[0]["groups"]) == 60
    wrong = evenhand("measure", "--limit", "0", cwd=tmp_path, check=2)
    assert "limit=0 must be a whole number of at least 1" in wrong.stderr


def test_saved_pairs_are_asked_about_again(tmp_path: Path) -> None:
    settings = {"editor": repaint, "jury": {"tone": read_tone}}
    data = eh.open(_album(), label="verdict", favourable="yes", protected=["tone"], settings=settings)
    table = eh.save_pairs(eh.wrap(lean, data), data, tmp_path / "kept")
    lines = list(csv.DictReader(table.read_text().splitlines()))
    assert [line["file"] for line in lines] == list(data.medium.album.sources)
    first = lines[0]
    assert {first["value"], first["twin_value"]} == {"light", "dark"}
    assert first["twin_jury_tone"] == first["twin_value"]
    assert (first["answer"] != first["twin_answer"]) == (first["differs"] == "True")
    again = eh.open(_album(), label="verdict", favourable="yes", protected=["tone"], settings={"pairs": str(tmp_path / "kept")})
    twins = data.domain.twin(data.rows, 1 - data.rows[:, 1].astype(int))
    assert np.array_equal(again.medium.show(twins), data.medium.show(twins))


def test_pictures_without_a_ready_twin_are_left_out(tmp_path: Path) -> None:
    file = _folder(tmp_path, pairs="twins")
    for name in ("p000.png", "p001.png"):
        (tmp_path / "twins" / name).unlink()
    with pytest.warns(SkippedPictures, match=r"2 of \d+ pictures have no twin in twins and are left out \(p000.png, p001.png\)"):
        data = eh.open(file)
    assert len(data.rows) == COUNT - 2
    assert "by group: tone" in data.medium.left_out
    for twin in (tmp_path / "twins").iterdir():
        twin.unlink()
    with pytest.raises(DomainError, match="no picture of"):
        eh.open(file)


@pytest.mark.parametrize(
    ("settings", "kind", "message"),
    [
        ({"editor": "nowhere:edit"}, InvalidArgument, "cannot be imported"),
        ({"editor": "absent.onnx"}, InvalidArgument, "is not there"),
        ({"editor": lambda pictures, values: pictures[:, :4]}, WrongAnswer, "shape"),
        ({"editor": lambda pictures, values: pictures / 255.0}, WrongAnswer, "0 to 255"),
        ({"editor": lambda pictures, values: 1 / 0}, ModelFailed, "ZeroDivisionError"),
        ({"editor": "none", "jury": {"height": read_tone}}, UnknownName, "height"),
        (
            {"editor": "none", "jury": {"tone": lambda pictures: 1 / 0}},
            ModelFailed,
            "jury: the reader of 'tone' cannot be asked: .*ZeroDiv",
        ),
        ({"editor": "none", "jury": {"tone": lambda pictures: np.zeros((len(pictures), 5))}}, WrongAnswer, "jury: the reader of 'tone'"),
        ({"editor": "none", "jury": "not a reader"}, InvalidArgument, "module:object"),
        ({"editor": "rerender", "pairs": "twins"}, InvalidArgument, "keep one"),
    ],
)
def test_what_cannot_be_used_is_told(settings: dict[str, object], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        _first_twins(settings)


def _first_twins(settings: dict[str, object]) -> np.ndarray:
    data = eh.open(_album(), label="verdict", protected=["tone"], favourable="yes", settings=settings)
    return data.medium.show(data.domain.twin(data.rows[:4], np.array([1, 0, 1, 0])))


def test_nets_take_and_give_values_from_0_to_1() -> None:
    torch = pytest.importorskip("torch")

    class Darken(torch.nn.Module):
        def forward(self, pictures, wanted):
            level = torch.where(wanted > 0, 130 / 255, 200 / 255)[:, None, None, None].to(pictures.dtype)
            top = level.expand(-1, 3, 8, pictures.shape[3])
            return torch.cat([top, pictures[:, :, 8:]], dim=2)

    data = eh.open(_album(), label="verdict", protected=["tone"], favourable="yes", settings={"editor": Darken(), "exact": True})
    twins = data.medium.show(data.domain.twin(data.rows, 1 - data.rows[:, 1].astype(int)))
    assert set(np.unique(twins[:, :8])) == {130, 200}
    assert np.array_equal(twins[:, 8:], data.medium.album.pictures[:, 8:])


def test_a_torchscript_file_is_told_the_wanted_value(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")

    class Darken(torch.nn.Module):
        def forward(self, pictures, wanted):
            return pictures * 0 + torch.where(wanted > 0, 130 / 255, 200 / 255)[:, None, None, None]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.save(torch.jit.trace(Darken(), (torch.zeros(3, 3, SIDE, SIDE), torch.ones(3))), str(tmp_path / "darken.pt"))
    settings = {"editor": str(tmp_path / "darken.pt"), "trusted": True}
    data = eh.open(_album(), label="verdict", protected=["tone"], favourable="yes", settings=settings)
    wanted = 1 - data.rows[:, 1].astype(int)
    assert np.array_equal(data.medium.show(data.domain.twin(data.rows, wanted))[:, 0, 0, 0], np.where(wanted, 130, 200))


def test_a_net_that_wants_more_than_a_picture_and_a_value_is_refused_in_words(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    helper, shape = onnx.helper, ["n", 3, SIDE, SIDE]
    ports = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape) for name in ("one", "two", "three", "sum")]
    node = helper.make_node("Sum", ["one", "two", "three"], ["sum"])
    graph = helper.make_graph([node], "three", ports[:3], ports[3:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(tmp_path / "three.onnx"))
    with pytest.raises(InvalidArgument, match=r"three\.onnx takes 3 inputs \(one, two, three\)"):
        _first_twins({"editor": str(tmp_path / "three.onnx")})


def _cropped(pictures: np.ndarray, values: list[str]) -> np.ndarray:
    return pictures[:, :4]


def test_a_refused_editor_is_called_by_its_name() -> None:
    with pytest.raises(WrongAnswer, match="editor _cropped gave pictures of shape"):
        _first_twins({"editor": _cropped})


def test_torch_files_need_trust(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (tmp_path / "net.pt").write_bytes(b"PK")
    with pytest.raises(UntrustedModel, match="trusted"):
        eh.open(_album(), label="verdict", protected=["tone"], favourable="yes", settings={"editor": str(tmp_path / "net.pt")})


class _Sampler:
    """A generator that can only make pictures of points."""

    dimensions = 3

    def __call__(self, latents: np.ndarray) -> np.ndarray:
        pictures = np.full((len(latents), SIDE, SIDE, 3), 128.0)
        pictures[:, :8] += 30 * latents[:, 0, None, None, None]
        pictures[:, 8:] += 30 * latents[:, 1, None, None, None]
        pictures[:, :, :4] += 20 * latents[:, 2, None, None, None]
        return np.clip(pictures, 0, 255)


def test_a_generator_without_encode_learns_one_from_its_samples() -> None:
    space = generator_space(_Sampler(), (SIDE, SIDE, 3), "sampler")
    latents = space.sample(50, np.random.default_rng(1))
    assert np.corrcoef(space.encode(space.decode(latents)).ravel(), latents.ravel())[0, 1] > 0.98
    assert "R2 = 1.0" in space.name


class _Drawing:
    """A generator with points of four numbers that draws and reads what it is told to."""

    dimensions = 4

    def __init__(self, value: float = 90.0, read: int = 4) -> None:
        self.value, self.read = value, read

    def decode(self, latents: np.ndarray) -> np.ndarray:
        if self.value < 0:
            raise RuntimeError("no graphics card")
        return np.full((len(latents), SIDE, SIDE, 3), self.value)

    def encode(self, pictures: np.ndarray) -> np.ndarray:
        return np.zeros((len(pictures), self.read))


class _PictureSampler:
    """Samples pictures where points are asked for."""

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return np.zeros((n, SIDE, SIDE, 3))


@pytest.mark.parametrize(
    ("part", "kind", "words"),
    [
        (_Drawing(0.5), WrongAnswer, "values up to 0.5; expected 0 to 255"),
        (_Drawing(-1), ModelFailed, "generator raised RuntimeError: no graphics card"),
        (_Drawing(read=3), WrongAnswer, r"generator.encode gave an array of shape \(2, 3\)"),
        (_PictureSampler(), WrongAnswer, "expected points"),
        (lambda latents: latents, InvalidArgument, "nothing says how long"),
    ],
)
def test_a_generator_that_draws_something_else_is_refused_in_words(part: object, kind: type[Exception], words: str) -> None:
    def used() -> None:
        space = generator_space(part, (SIDE, SIDE, 3), "mine")
        space.encode(space.decode(space.sample(2, np.random.default_rng(0))))

    with pytest.raises(kind, match=words):
        used()


def test_a_net_that_generates_needs_no_attribute() -> None:
    torch = pytest.importorskip("torch")
    flat = torch.nn.Sequential(torch.nn.Linear(5, 3 * SIDE * SIDE), torch.nn.Unflatten(1, (3, SIDE, SIDE)), torch.nn.Sigmoid())
    maps = torch.nn.Sequential(torch.nn.ConvTranspose2d(6, 3, SIDE), torch.nn.Sigmoid())
    for net, dimensions in ((flat, 5), (maps, 6)):
        space = generator_space(net, (SIDE, SIDE, 3), "net")
        assert space.dimensions == dimensions
        assert space.decode(space.sample(3, np.random.default_rng(0))).shape == (3, SIDE, SIDE, 3)
    maps[1] = torch.nn.Sequential(torch.nn.Hardtanh(), torch.nn.Threshold(0.0, -1.0))
    with pytest.raises(WrongAnswer, match=r"let it end with \(x \+ 1\) / 2"):
        generator_space(maps, (SIDE, SIDE, 3), "net").decode(np.ones((3, 6)))


def test_limi_searches_in_the_generator_that_is_given() -> None:
    settings = {"editor": "latent_difference", "generator": _Sampler()}
    data = eh.open(_album(), label="verdict", protected=["tone"], favourable="yes", settings=settings)
    assert "_Sampler" in data.medium.editors[0].flip
    found = eh.scan(eh.wrap(lean, data), data, methods=["limi_pictures"], budget=eh.Budget(candidates=60))
    assert "_Sampler" in found.runs[0].facts["latent_space"]
