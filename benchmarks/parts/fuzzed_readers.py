"""Everything that reads a file or a message, each with contents that it reads well, for fuzzers to change.

Reading must end in a value or in one of Evenhand's own errors; whatever else is raised is a crash.
"""

from __future__ import annotations

import io
import json
import tempfile
import time
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.disk import digest_of, sealed
from evenhand.domain.columns import Column
from evenhand.domain.tabular import Label, TabularDomain
from parts.fuzzed_models import MODEL_READERS

DOMAIN = TabularDomain(
    (Column("a", "integer", low=0, high=9), Column("b", "category", ("x", "y", "z")), Column("c", "real", low=0.0, high=1.0)),
    protected=("b",),
    label=Label("y", ("no", "yes"), ("yes",)),
)
COCO = {
    "images": [{"id": 1, "file_name": "a.png", "width": 4, "height": 4}],
    "annotations": [{"id": 1, "image_id": 1, "category_id": 3, "bbox": [0, 0, 2, 2], "segmentation": [[0, 0, 2, 0, 2, 2]], "iscrowd": 0}],
    "categories": [{"id": 3, "name": "car"}],
}
PROJECT = """version: 1
label: {column: y, values: ["no", "yes"], favourable: ["yes"]}
protected: [b]
columns:
  a: {kind: integer, low: 0, high: 9}
  b: {kind: category, values: [x, y]}
constraints:
- a <= 5
- b == 'x' => a > 1
data: a.csv
"""
RULES = ("a <= 5", "b == 'x' => a > 1 and c < 0.5", "a + 2 * c >= 3 or not (b in ['x', 'y'])", "3 <= a < 7 => c > 0.1")
ANSWERS = ('{"predictions": [[0.2, 0.8], [0.5, 0.5]]}', '{"predictions": ["yes", "no"]}', '{"predictions": [{"yes": 1}, 2]}')
WISHES = "delete:\n- column: a\nmodify:\n- column: c\n  range: [0.1, 0.9]\nrules: [a < 5]\npresets: ['1:1:1 b']\n"
MODELS: tuple[dict[str, Any], ...] = (
    {"evenhand_model": 1, "kind": "constant", "classes": ["no", "yes"], "chances": [0.5, 0.5]},
    {"evenhand_model": 1, "kind": "masked", "places": [0], "codes": [0.0], "base": {"path": "model/model.npz", "classes": ["no", "yes"]}},
    {"evenhand_model": 1, "kind": "thresholded", "places": [0], "groups": [[1.0]], "rule_of": [0], "rules": [], "base": {}},
    {"evenhand_model": 1, "kind": "shifted", "places": [1], "groups": [[1.0], [None]], "shifts": [2.5, -1.0], "base": {}},
    {"evenhand_model": 1, "kind": "mixture", "weights": [0.5, 0.5], "by_label": False, "bases": [{}, {}]},
)


@dataclass(frozen=True)
class FuzzedReader:
    """A file's name, how it is read, and contents that are read well."""

    file: str
    read: Callable[[Path], object]
    seeds: Callable[[], list[bytes]]


def _text(*texts: str) -> Callable[[], list[bytes]]:
    return lambda: [text.encode() for text in texts]


def _json(content: Any, is_sealed: bool = False) -> bytes:
    return sealed(content).encode() if is_sealed else json.dumps(content).encode()


@cache
def _kept() -> dict[str, bytes]:
    """A run, a witness and a result, as they are written."""
    from evenhand.checks import standard_subject
    from evenhand.engine import witness
    from evenhand.engine.header import header_of
    from evenhand.engine.run import Plan, run
    from evenhand.engine.shrunk_findings import Hearing
    from evenhand.engine.store import RunFolder
    from evenhand.media.png import png_bytes
    from evenhand.methods.themis import Themis
    from evenhand.models.budget import Budget
    from evenhand.oracles.flip import LabelFlip

    subject, plan, method = standard_subject(), Plan(3, Budget(candidates=200)), Themis(margin=0.0, batch=100)
    with tempfile.TemporaryDirectory() as base:
        folder = RunFolder.for_header(Path(base), header_of("scan", subject, "planted", plan).for_run(method))
        done = run(method, subject, plan, folder)
        hearing = Hearing(subject.domain, subject.model, LabelFlip())
        saved = witness.save(witness.witnesses_of(done.findings[:1], subject.rows, hearing)[0], Path(base))
        parts = {f"{kind}.parquet": next((folder.path / kind).glob("*.parquet")).read_bytes() for kind in ("journal", "findings")}
        return parts | {
            "witness.json": saved.read_bytes(),
            "header.json": (folder.path / "header.json").read_bytes(),
            "log.jsonl": (folder.path / "log.jsonl").read_bytes(),
            "a.png": png_bytes(np.arange(48, dtype=np.uint8).reshape(4, 4, 3)),
            "map.png": _grey_png(),
        }


def _grey_png() -> bytes:
    import cv2

    return bytes(cv2.imencode(".png", np.arange(16, dtype=np.uint8).reshape(4, 4))[1])


def _run_part(path: Path) -> object:
    """A part of a run whose checksum fits whatever it holds."""
    from evenhand.engine.store import RunFolder

    home = path.parent / "run"
    content, kind = path.read_bytes(), path.stem
    for each in ("journal", "findings"):
        (home / each).mkdir(parents=True, exist_ok=True)
        (home / each / "part-000001.parquet").write_bytes(content if each == kind else _kept()[f"{each}.parquet"])
    sums = {
        f"{each}/part-000001.parquet": digest_of((home / each / "part-000001.parquet").read_bytes()) for each in ("journal", "findings")
    }
    (home / "checksums.json").write_text(sealed(sums))
    (home / "header.json").write_bytes(_kept()["header.json"])
    folder = RunFolder.open(home)
    return folder.journal(), folder.findings()


def _log(path: Path) -> object:
    from evenhand.engine.store import RunFolder

    (path.parent / "header.json").write_bytes(_kept()["header.json"])
    return RunFolder.open(path.parent).events()


def _rule(path: Path) -> object:
    from evenhand.domain.constraints import compile_constraint

    return compile_constraint(path.read_text("utf-8", "replace"), DOMAIN.columns).holds(DOMAIN.sample(5, np.random.default_rng(0)))


def _answer(path: Path) -> object:
    """An endpoint's answer from its bytes to scores."""
    from evenhand.disk import check_depth
    from evenhand.errors import WrongAnswer
    from evenhand.models.answer_shapes import reader_for
    from evenhand.models.http_shape import parse_path

    try:
        text = path.read_text("utf-8")
        check_depth(text)
        answer = json.loads(text)
    except ValueError as fault:
        raise WrongAnswer(str(fault)) from fault
    told = parse_path("predictions").find(answer, "")
    reader = reader_for(DOMAIN, None)
    for form in ("labels", "favourable", "scores"):
        with suppress(WrongAnswer):
            replace(reader, form=form).read(told, 2)
    return told


def _coco(path: Path) -> object:
    from evenhand.datasets.scenes.coco import from_coco

    (path.parent / "a.png").write_bytes(_kept()["a.png"])
    return list(from_coco(path, path.parent))


def _label_map(path: Path) -> object:
    from evenhand.datasets.scenes.label_maps import from_label_maps

    for folder in ("frames", "maps"):
        (path.parent / folder).mkdir(exist_ok=True)
    (path.parent / "frames" / "a.png").write_bytes(_kept()["a.png"])
    (path.parent / "maps" / "a.png").write_bytes(path.read_bytes())
    return list(from_label_maps(path.parent / "frames", path.parent / "maps"))


def _templates(path: Path) -> object:
    import evenhand as eh

    (path.parent / "words.csv").write_text("slot,word,gender\nwho,Ann,f\nwho,Bob,m\nwhat,late,\n")
    return eh.open(path, protected=["gender"]).rows


def _texts(path: Path) -> object:
    from evenhand.datasets.text_data import read_text_yaml

    return read_text_yaml(path)


def _wishes_table(path: Path) -> object:
    from evenhand.synthesis.constraint_table import read_wishes

    return read_wishes(path, _graph(), DOMAIN)


@cache
def _graph() -> Any:
    from evenhand.synthesis.constraint_graph import ConstraintGraph

    return ConstraintGraph.fit(DOMAIN.sample(200, np.random.default_rng(0)), DOMAIN, np.random.default_rng(0)).graph


def _wishes_seed() -> list[bytes]:
    from evenhand.synthesis.constraint_table import write_table

    with tempfile.TemporaryDirectory() as base:
        write_table(_graph(), DOMAIN, Path(base) / "constraints.csv")
        return [(Path(base) / "constraints.csv").read_bytes()]


def _wishes(path: Path) -> object:
    from evenhand.synthesis.wishes import Wishes

    return Wishes.load(path, DOMAIN)


def _saved_model(path: Path) -> object:
    from evenhand.models.saving import load

    return load(path.parent, DOMAIN)


def _kept_answers(path: Path) -> object:
    from evenhand.models.recognisers.cache import _read

    return _read(path)


def _net(path: Path) -> object:
    from evenhand.models.dense import DenseNet

    return DenseNet.from_npz(path)


def _net_seed() -> list[bytes]:
    from evenhand.models.dense import DenseNet

    with tempfile.TemporaryDirectory() as base:
        rng = np.random.default_rng(0)
        DenseNet((rng.normal(size=(3, 2)),), (np.zeros(2),), ("no", "yes")).save(Path(base) / "model.npz")
        return [(Path(base) / "model.npz").read_bytes()]


def _table(path: Path) -> object:
    from evenhand.domain.frames import read_table
    from evenhand.domain.infer import propose

    return propose(read_table(path))


def _parquet_seed() -> list[bytes]:
    import pandas as pd

    made = io.BytesIO()
    pd.DataFrame({"a": [1, 2, 3], "b": ["x", "y", None], "y": ["no", "yes", "no"]}).to_parquet(made)
    return [made.getvalue()]


def _lazy(module: str, name: str) -> Callable[[Path], object]:
    """A reader that is loaded when it is first used."""

    def read(path: Path) -> object:
        import importlib

        return getattr(importlib.import_module(module), name)(path)

    return read


def _old_results() -> list[bytes]:
    folder = Path(__file__).parents[2] / "tests" / "report" / "version_1"
    return [file.read_bytes() for file in sorted(folder.glob("*.json"))] or [b'{"evenhand_result": 1}']


TEXTS = "templates: ['{name} is a {job}']\nwords: {job: [nurse], name: {gender: {woman: [Emily], man: [Greg]}}}\n"
VOC = "<annotation><filename>a.png</filename><object><name>car</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>3</xmax><ymax>3</ymax></bndbox></object></annotation>"  # noqa: E501
READERS = (
    FuzzedReader("evenhand.yaml", _lazy("evenhand.domain.project_file", "read_project"), _text(PROJECT)),
    FuzzedReader("rule.txt", _rule, _text(*RULES)),
    FuzzedReader("a.csv", _table, _text("a,b,y\n1,x,no\n2,y,yes\n", 'a;b\n1;"2,5"\n', "zip,when\n04109,2020-01-02\n")),
    FuzzedReader("a.parquet", _table, _parquet_seed),
    FuzzedReader("journal.parquet", _run_part, lambda: [_kept()["journal.parquet"]]),
    FuzzedReader("findings.parquet", _run_part, lambda: [_kept()["findings.parquet"]]),
    FuzzedReader("log.jsonl", _log, lambda: [_kept()["log.jsonl"]]),
    FuzzedReader("witness.json", _lazy("evenhand.engine.witness", "load"), lambda: [_kept()["witness.json"]]),
    FuzzedReader("result.json", _lazy("evenhand.report", "load"), _old_results),
    FuzzedReader("evenhand-model.json", _saved_model, lambda: [_json(each, is_sealed=True) for each in MODELS]),
    FuzzedReader("model.npz", _net, _net_seed),
    FuzzedReader("answer.json", _answer, _text(*ANSWERS)),
    FuzzedReader("kept.jsonl", _kept_answers, _text('{"picture": "ab", "answer": [["car", 0.5, [0, 0, 2, 2]]]}\n')),
    FuzzedReader("coco.json", _coco, lambda: [_json(COCO)]),
    FuzzedReader("a.xml", _lazy("evenhand.datasets.scenes.voc", "read_boxes"), _text(VOC)),
    FuzzedReader("map.png", _label_map, lambda: [_kept()["map.png"]]),
    FuzzedReader("a.png", _lazy("evenhand.datasets.scenes.picture_files", "read_picture"), lambda: [_kept()["a.png"]]),
    FuzzedReader("templates.csv", _templates, _text("text\nDear {who} you are {what}\n")),
    FuzzedReader("texts.yaml", _texts, _text(TEXTS)),
    FuzzedReader("constraints.csv", _wishes_table, _wishes_seed),
    FuzzedReader("wishes.yaml", _wishes, _text(WISHES)),
    *(FuzzedReader(file, read, seeds) for file, (read, seeds) in MODEL_READERS.items()),
)  # fmt: skip


MOST_SECONDS = 20.0
"""No small file is worth more of this process's time; other processes that look at a file first have limits of their own."""


def reading_crash(reader: FuzzedReader, content: bytes, folder: Path) -> str:
    """What is raised beside Evenhand's own errors when this content is read, or that it took too long here; empty for nothing."""
    from evenhand.errors import EvenhandError

    (folder / reader.file).write_bytes(content)
    started = time.process_time()
    try:
        with suppress(EvenhandError):
            reader.read(folder / reader.file)
    except Exception as fault:
        import traceback

        place = traceback.extract_tb(fault.__traceback__)[-1]
        return f"{type(fault).__name__}: {str(fault)[:100]} ({Path(place.filename).name}:{place.lineno})"
    return f"it takes more than {MOST_SECONDS:g} CPU-seconds" if time.process_time() - started > MOST_SECONDS else ""


def mutated(seed: bytes, rng: np.random.Generator) -> bytes:
    """A few bytes flipped, cut out, doubled or drawn again; of JSON, one of its leaves replaced and the seal made to fit again.

    Of an archive, one of its members is changed, and the archive is whole again.
    """
    if seed[:2] == b"PK" and rng.random() < 0.8:
        return _member_changed(seed, rng)
    if seed[:1] == b"{" and rng.random() < 0.6:
        try:
            return _leaf_replaced(seed, rng)
        except ValueError:
            pass
    changed = bytearray(seed)
    for _ in range(int(rng.integers(1, 6))):
        at, kind = int(rng.integers(max(len(changed), 1))), int(rng.integers(5))
        if kind == 0 and changed:
            changed[at] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            del changed[at : at + int(rng.integers(1, 20))]
        elif kind == 2:
            changed[at:at] = changed[at : at + int(rng.integers(1, 30))]
        elif kind == 3:
            changed[at : at + 1] = rng.integers(0, 256, int(rng.integers(1, 4)), dtype=np.uint8).tobytes()
        else:
            changed[at:at] = ODDITIES[int(rng.integers(len(ODDITIES)))].encode()
    return bytes(changed)


ODDITIES = (
    "nan",
    "-1",
    "1e999",
    "\0",
    "é",
    "null",
    "[]",
    "{}",
    '""',
    "99999999999999999999",
    "%s",
    "../..",
    "{",
    "=>",
    "(" * 50,
    "\n",
    ",",
    ";",
)
LEAVES: tuple[Any, ...] = (None, True, -1, 0, 1e308, float("nan"), 10**30, "", "x" * 50, "../a", [], {}, [[]], [None], {"a": 1}, "nan")


def _member_changed(seed: bytes, rng: np.random.Generator) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(seed)) as old, zipfile.ZipFile(made, "w") as new:
        names = old.namelist()
        chosen = names[int(rng.integers(len(names)))]
        for name in names:
            content = old.read(name)
            new.writestr(name, _npy_changed(content, rng) if name == chosen else content)
    return made.getvalue()


def _npy_changed(content: bytes, rng: np.random.Generator) -> bytes:
    """Of an array mostly its cells, which are what compiled code follows; its head otherwise."""
    if content[:6] != b"\x93NUMPY" or rng.random() < 0.2:
        return mutated(content, rng)
    array = np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
    cells = bytearray(array.tobytes())
    if cells and array.dtype == np.uint8 and cells[:1] == b"{":
        changed = mutated(bytes(cells), rng)
        array = np.frombuffer(changed, dtype=np.uint8)
    elif cells:
        for _ in range(int(rng.integers(1, 4))):
            cells[int(rng.integers(len(cells)))] ^= 1 << int(rng.integers(8))
        array = np.frombuffer(bytes(cells), dtype=array.dtype).reshape(array.shape)
    made = io.BytesIO()
    np.lib.format.write_array(made, array, allow_pickle=False)
    return made.getvalue()


def _leaf_replaced(seed: bytes, rng: np.random.Generator) -> bytes:
    content = json.loads(seed)
    was_sealed = isinstance(content, dict) and content.pop("checksum", None) is not None
    node: Any = content
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        if not keys:
            return seed
        key = keys[int(rng.integers(len(keys)))]
        if isinstance(node[key], dict | list) and node[key] and rng.random() < 0.8:
            node = node[key]
            continue
        if rng.random() < 0.2:
            del node[key]
        else:
            node[key] = LEAVES[int(rng.integers(len(LEAVES)))]
        return _json(content, was_sealed)


def crashes(reader: FuzzedReader, runs: int, rng: np.random.Generator) -> dict[str, bytes]:
    """Every different crash among so many changed contents, with a content that shows it."""
    found: dict[str, bytes] = {}
    seeds = reader.seeds()
    with tempfile.TemporaryDirectory(prefix="evenhand-fuzz-") as base:
        for _ in range(runs):
            content = mutated(seeds[int(rng.integers(len(seeds)))], rng)
            if (crash := reading_crash(reader, content, Path(base))) and crash not in found:
                found[crash] = content
    return found
