"""Whatever a file or a message holds, reading it ends in a value or in one of our own errors, in one line."""

import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evenhand import report
from evenhand.datasets.albums.reading import read_table as read_album_table
from evenhand.datasets.scenes.coco import from_coco
from evenhand.datasets.scenes.rle import mask_from_rle
from evenhand.datasets.scenes.voc import read_boxes
from evenhand.disk import sealed
from evenhand.domain.frames import read_table
from evenhand.domain.project_file import read_project
from evenhand.engine import witness
from evenhand.engine.store import RunFolder
from evenhand.errors import EvenhandError
from evenhand.media.png import picture_of
from evenhand.models.dense import DenseNet
from evenhand.models.http_transport import retry_after, shown_url
from evenhand.models.saving import _read as read_description

FUZZ = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12)
TREES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4), max_leaves=12
)
KEYS = (
    "format",
    "witness",
    "evenhand_result",
    "evenhand_model",
    "verb",
    "header",
    "outcome",
    "images",
    "annotations",
    "categories",
    "kind",
)
OBJECTS = st.dictionaries(st.sampled_from(KEYS), TREES | st.sampled_from([1, 2]), max_size=6)
BYTES = st.binary(max_size=300) | OBJECTS.map(lambda told: json.dumps(told).encode()) | OBJECTS.map(lambda told: sealed(told).encode())

READERS = {
    "witness.json": witness.load,
    "result.json": report.load,
    "header.json": lambda path: RunFolder.open(path.parent).journal(),
    "evenhand-model.json": read_description,
    "coco.json": lambda path: list(from_coco(path, path.parent)),
    "a.xml": read_boxes,
    "attributes.csv": lambda path: read_album_table(path, ("file",)),
    "a.csv": read_table,
    "a.parquet": read_table,
    "evenhand.yaml": read_project,
    "model.npz": DenseNet.from_npz,
}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.filterwarnings("ignore")
@FUZZ
@given(content=BYTES)
def test_any_content_is_read_or_refused(tmp_path: Path, name: str, content: bytes):
    (tmp_path / name).write_bytes(content)
    try:
        READERS[name](tmp_path / name)
    except EvenhandError as fault:
        if name not in ("a.csv", "a.parquet", "evenhand.yaml"):  # these quote what they found
            assert "\n" not in str(fault), fault  # noqa: PT017


@FUZZ
@given(content=st.binary(max_size=200).map(lambda tail: b"\x89PNG\r\n\x1a\n" + tail))
def test_any_picture_is_read_or_refused(content: bytes):
    with contextlib.suppress(EvenhandError):
        picture_of(content)


@FUZZ
@given(counts=st.text(max_size=40) | st.lists(st.integers(-5, 70), max_size=8), size=st.tuples(st.integers(-2, 9), st.integers(-2, 9)))
def test_any_mask_is_read_or_refused(counts: object, size: tuple[int, int]):
    with contextlib.suppress(EvenhandError):
        assert mask_from_rle({"size": list(size), "counts": counts}).shape == size


@FUZZ
@given(text=st.text(max_size=60) | st.from_regex(r"-?[0-9]{1,30}(\.[0-9e]+)?", fullmatch=True))
def test_any_retry_after_is_a_short_pause_or_none(text: str):
    pause = retry_after(text)
    assert pause is None or 0 <= pause <= 120
    assert isinstance(shown_url(text), str)
