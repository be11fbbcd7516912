"""Everything that reads a file or a message ends in a value or in one of our own errors, whatever was changed in what it reads."""

import base64
import io
import json
import re
import resource
import struct
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from evenhand.disk import sealed
from evenhand.errors import ModelFailed, StoreError
from evenhand.models.model_files import load_skops
from evenhand.models.tree_bounds import check_lightgbm_text
from parts.fuzzed_models import MODEL_READERS
from parts.fuzzed_readers import ODDITIES, READERS, crashes, reading_crash

for library in ("cv2", "PIL", "onnxruntime", "xgboost", "lightgbm", "catboost", "httpx"):
    pytest.importorskip(library)

NAMES = {reader.file: reader for reader in READERS}
HEAD = b"action,kind,source,value,column,outcome,share,low,high,distribution,error\n"

CRASHED = {
    "a mapping as a label": ("answer.json", b'{"predictions": ["yes", {"a": 1}]}'),
    "a table of constraints that is no UTF-8": ("constraints.csv", HEAD + b"\xbc"),
    "a table of constraints with a short line": ("constraints.csv", HEAD + b",number,,,a\n"),
    "wishes that are no UTF-8": ("wishes.yaml", b"delete:\n- column: \xea"),
    "a picture of two million columns": (
        "a.bmp",
        b"BM" + struct.pack("<IIIIiiHHIIIIII", 486, 0, 54, 40, 2_097_164, 12, 1, 24, *[0] * 6) + bytes(432),
    ),
    "texts that are no UTF-8": ("texts.yaml", b"templates: [\xea]"),
}


@pytest.mark.parametrize(("file", "content"), CRASHED.values(), ids=CRASHED)
def test_what_crashed_once_is_refused(file: str, content: bytes, tmp_path: Path):
    assert reading_crash(NAMES[file], content, tmp_path) == ""


def lightgbm_changed(change: Callable[[bytes], bytes]) -> bytes:
    return change(NAMES["a.txt"].seeds()[0])


LIGHTGBM = {
    "a line without a value": lambda text: text.replace(b"\nleaf_count=", b"\nleaf count ", 1),
    "a tree that does not end": lambda text: re.sub(rb"\n+", b"\n", text),
    "a tree at the beginning": lambda text: b"Tree=0\nno value\n" + text,
    "trees beyond the file": lambda text: re.sub(rb"tree_sizes=\d+", b"tree_sizes=99999999", text),
    "trees elsewhere": lambda text: re.sub(rb"tree_sizes=\d+", b"tree_sizes=7", text),
}


@pytest.mark.parametrize("change", LIGHTGBM.values(), ids=LIGHTGBM)
def test_a_lightgbm_text_that_would_be_read_beyond_is_refused_before_lightgbm_sees_it(change: Callable[[bytes], bytes]):
    with pytest.raises(ModelFailed, match="following it would read foreign memory"):
        check_lightgbm_text(lightgbm_changed(change).decode())
    check_lightgbm_text(lightgbm_changed(lambda text: text).decode())
    check_lightgbm_text(lightgbm_changed(lambda text: re.sub(rb"tree_sizes=.*", b"", text)).decode())


@pytest.fixture(scope="module")
def boosted() -> Any:
    import lightgbm

    rows = np.random.default_rng(0).normal(size=(80, 3))
    return lightgbm.LGBMClassifier(n_estimators=2, num_leaves=4, verbose=-1, n_jobs=1).fit(rows, rows[:, 0] > 0)


def in_skops(boosted: Any, path: Path, change: Callable[[str], str], as_array: bool) -> Path:
    """The classifier as skops writes it, with another text of its booster: as a plain word of the schema, or in an array of its own."""
    import skops.io

    with zipfile.ZipFile(io.BytesIO(skops.io.dumps(boosted))) as made:
        entries = {name: made.read(name) for name in made.namelist()}
    schema = json.loads(entries["schema.json"])
    holder = schema["content"]["content"]["_Booster"]["content"]["content"]
    text = change(json.loads(holder["_handle"]["content"]))
    holder["_handle"]["content"] = json.dumps(text)
    if as_array:
        hidden = io.BytesIO()
        np.save(hidden, np.str_(text))
        entries["hidden.npy"] = hidden.getvalue()
        holder["_handle"] = {
            "__class__": "str_",
            "__module__": "numpy",
            "__loader__": "NdArrayNode",
            "type": "numpy",
            "file": "hidden.npy",
            "__id__": 1,
        }
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in {**entries, "schema.json": json.dumps(schema).encode()}.items():
            archive.writestr(name, content)
    return path


SKOPS = {
    "a line without a value": lambda text: text.replace("\nleaf_count=", "\nleaf count ", 1),
    "trees elsewhere": lambda text: re.sub(r"tree_sizes=\d+", "tree_sizes=7", text),
    "a parameter without a colon": lambda text: text.replace("[boosting: gbdt]", "[boosting gbdt]"),
}


@pytest.mark.parametrize("as_array", [False, True], ids=["word", "array"])
@pytest.mark.parametrize("change", SKOPS.values(), ids=SKOPS)
def test_a_lightgbm_text_inside_skops_is_looked_at_before_lightgbm_sees_it(change: Any, as_array: bool, boosted: Any, tmp_path: Path):
    with pytest.raises(ModelFailed, match="following it would read foreign memory"):
        load_skops(in_skops(boosted, tmp_path / "a.skops", change, as_array))


@pytest.mark.parametrize("as_array", [False, True], ids=["word", "array"])
def test_a_lightgbm_model_inside_skops_is_loaded(as_array: bool, boosted: Any, tmp_path: Path):
    loaded = load_skops(in_skops(boosted, tmp_path / "a.skops", str, as_array))
    rows = np.random.default_rng(1).normal(size=(9, 3))
    assert np.array_equal(loaded.predict_proba(rows), boosted.predict_proba(rows))


def test_an_array_whose_head_is_cut_is_refused(tmp_path: Path):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr(
            "linear.kernel.npy",
            b"\x93NUMPY\x01\x00v\x00" + b"{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2), (".ljust(117) + b"\n",
        )
    assert reading_crash(NAMES["model.npz"], made.getvalue(), tmp_path) == ""


@pytest.mark.parametrize("field", ["pictures", "protected", "person", "answers"])
def test_a_witness_that_holds_another_kind_is_refused(field: str, tmp_path: Path):
    told = json.loads(NAMES["witness.json"].seeds()[0])
    del told["checksum"]
    file = tmp_path / "witness.json"
    file.write_text(sealed({**told, field: 1.5}))
    with pytest.raises(StoreError, match=f"field '{field}' is not what a witness holds there"):
        NAMES["witness.json"].read(file)


def test_a_picture_whose_part_is_longer_than_it_takes_no_room(tmp_path: Path):
    content = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAQAAAAECAAAAACMmsGifgAAF0lEQVQIHWNkYASC")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert reading_crash(NAMES["a.png"], content, tmp_path) == ""
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500 * 1024


MODELS = tuple(file for file in MODEL_READERS if file.endswith((".skops", ".onnx", ".json", ".ubj", ".txt", ".cbm", ".npz")))
"""Files that a process of their own opens first, which takes a while each."""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("file", [pytest.param(file, marks=pytest.mark.slow) if file in MODELS else file for file in NAMES])
def test_changed_contents_are_read_or_refused(file: str):
    assert crashes(NAMES[file], 12, np.random.default_rng(0)) == {}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("file", ["a.onnx", "repair.npz"])
def test_a_few_changed_models_are_read_or_refused(file: str):
    assert crashes(NAMES[file], 3, np.random.default_rng(0)) == {}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("file", NAMES)
def test_many_changed_contents_are_read_or_refused(file: str):
    assert crashes(NAMES[file], 60 if file in MODELS else 500, np.random.default_rng(1)) == {}


EDITS = st.lists(
    st.tuples(st.integers(0, 1 << 16), st.integers(0, 12), st.one_of(st.binary(max_size=6), st.sampled_from(ODDITIES).map(str.encode))),
    min_size=1,
    max_size=6,
)
"""Where, how many bytes are taken away, and what is put there."""


def _edited(seed: bytes, edits: list[Any]) -> bytes:
    content = bytearray(seed)
    for at, gone, new in edits:
        place = at % (len(content) + 1)
        content[place : place + gone] = new
    return bytes(content)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "file", [pytest.param(file, marks=pytest.mark.slow) if file not in ("rule.txt", "answer.http") else file for file in NAMES]
)
def test_hypothesis_finds_no_content_that_crashes(file: str, tmp_path: Path):
    seeds = NAMES[file].seeds()

    @settings(max_examples=15, deadline=None, database=None)
    @given(st.sampled_from(seeds), EDITS)
    def read(seed: bytes, edits: list[Any]) -> None:
        assert reading_crash(NAMES[file], _edited(seed, edits), tmp_path) == ""

    read()
