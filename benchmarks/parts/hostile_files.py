"""Runs, witnesses, results, pictures, annotations and tables that were tampered with."""

from __future__ import annotations

import gzip
import json
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from parts.hostile_cases import DOMAIN, ROWS, add, case


def _in_file(name: str, content: bytes, read: Callable[[Path], Any]) -> Callable[[Path], None]:
    def attack(folder: Path) -> None:
        (folder / name).write_bytes(content)
        read(folder / name)

    return attack


def _open_run(path: Path) -> None:
    from evenhand.engine.store import RunFolder

    run = RunFolder.open(path.parent)
    run.journal(), run.findings(), run.result


def _open_witness(path: Path) -> None:
    from evenhand.engine import witness

    witness.load(path)


def _open_result(path: Path) -> None:
    from evenhand import report

    report.load(path)


_DEEP = b'{"a":[' * 100_000 + b"]}" * 100_000
for _name, _read in (("header.json", _open_run), ("witness.json", _open_witness), ("result.json", _open_result)):
    add(f"{_name}_garbage", _in_file(_name, b"\x00\xff{", _read))
    add(f"{_name}_too_deep", _in_file(_name, _DEEP, _read))
    add(f"{_name}_a_list", _in_file(_name, b"[1, 2]", _read))
    add(f"{_name}_unsealed", _in_file(_name, b'{"format": 2, "witness": 2, "evenhand_result": "two", "method": "x"}', _read))


@case()
def run_part_of_another_run(folder: Path) -> None:
    from evenhand.disk import sealed

    (folder / "header.json").write_text(sealed({"format": 2, "method": "x"}))
    (folder / "journal").mkdir()
    (folder / "journal" / "part-000001.parquet").write_bytes(b"PAR1" + b"\xff" * 200 + b"PAR1")
    (folder / "checksums.json").write_text(sealed({"journal/part-000001.parquet": "0" * 64}))
    _open_run(folder / "header.json")


@case(is_harmless=True)
def witness_picture_outside(folder: Path) -> None:
    from evenhand.engine.exhibits import read_pictures

    shown = read_pictures({"person": "../../../../etc/passwd", "twin": "/etc/passwd\0.png"}, folder)
    assert not any(text.startswith("data:") for text in shown.values())


def png(width: int, height: int, packed: bytes) -> bytes:
    """A PNG file with any head and content."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", packed) + chunk(b"IEND", b"")


def _zeros(megabytes: int) -> bytes:
    deflate, parts = zlib.compressobj(9), []
    for _ in range(megabytes):
        parts.append(deflate.compress(b"\0" * (1 << 20)))
    return b"".join([*parts, deflate.flush()])


@case()
def witness_picture_bomb(folder: Path) -> None:  # noqa: ARG001
    from evenhand.media.png import picture_of

    picture_of(png(2, 2, _zeros(300)))


# --- data: annotations, pictures, tables -------------------------------------------------------------------------------------------------


def _picture(folder: Path, name: str = "a.png") -> Path:
    from evenhand.media.png import write_png

    write_png(folder / name, np.zeros((8, 8, 3), np.uint8))
    return folder / name


def _coco(annotation: dict[str, Any], file_name: str = "a.png") -> Callable[[Path], None]:
    def attack(folder: Path) -> None:
        from evenhand.datasets.scenes.coco import from_coco

        _picture(folder)
        told = {"images": [{"id": 1, "file_name": file_name}], "categories": [{"id": 1, "name": "car"}]}
        one = {"id": 1, "image_id": 1, "category_id": 1, **annotation}
        (folder / "coco.json").write_text(json.dumps({**told, "annotations": [one]}))
        list(from_coco(folder / "coco.json", folder, 0))

    return attack


add("coco_picture_outside", _coco({"bbox": [0, 0, 4, 4]}, "../../../../../../etc/passwd"))
add("coco_picture_absolute", _coco({"bbox": [0, 0, 4, 4]}, "/etc/passwd"))
add("coco_picture_with_a_null", _coco({"bbox": [0, 0, 4, 4]}, "a\0.png"), is_harmless=True)
add("coco_mask_far_too_large", _coco({"segmentation": {"size": [10**6, 10**6], "counts": [10**12]}}))
add("coco_mask_that_never_ends", _coco({"segmentation": {"size": [8, 8], "counts": "o" * 1_000_000}}))
add("coco_polygon_of_no_numbers", _coco({"segmentation": [[float("nan")] * 6]}))
add("coco_polygon_far_away", _coco({"segmentation": [[1e300, 1e300, -1e300, 0, 5, 5]]}))
add("coco_box_without_end", _coco({"bbox": [0, 0, float("inf"), 4]}))
add("coco_of_another_shape", _coco({"category_id": {"a": 1}}))


@case()
def coco_picture_through_a_link(folder: Path) -> None:
    (folder / "inside").mkdir()
    secret = _picture(folder, "secret.png")
    (folder / "inside" / "a.png").symlink_to(secret)
    from evenhand.datasets.scenes.picture_files import picture_path

    picture_path(folder / "inside", "a.png")


def _voc(text: str) -> Callable[[Path], None]:
    def attack(folder: Path) -> None:
        from evenhand.datasets.scenes.voc import from_voc

        (folder / "a.xml").write_text(text)
        list(from_voc(folder, folder))

    return attack


_LAUGHS = '<!DOCTYPE a [<!ENTITY b "ha"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]><annotation><filename>&c;</filename></annotation>'
_SECRET = '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><annotation><filename>&b;</filename></annotation>'
add("voc_entities", _voc(_LAUGHS))
add("voc_foreign_file", _voc(_SECRET))
add("voc_picture_outside", _voc("<annotation><filename>../../../../etc/passwd</filename></annotation>"))


@case()
def album_picture_outside(folder: Path) -> None:
    from evenhand.datasets.albums.folder import read
    from evenhand.datasets.albums.reading import Reading

    (folder / "attributes.csv").write_text("file,age\n../../../../etc/passwd,young\n")
    read(folder, Reading("age", 16))


def _opened_picture(content: Callable[[], bytes], name: str = "a.png") -> Callable[[Path], None]:
    def attack(folder: Path) -> None:
        from evenhand.datasets.albums.reading import read_pictures
        from evenhand.datasets.scenes.picture_files import read_picture
        from evenhand.errors import DataError

        (folder / name).write_bytes(content())
        try:
            read_picture(folder / name)
        except DataError:
            read_pictures([folder / name], 16)

    return attack


add("picture_far_too_large", _opened_picture(lambda: png(60_000, 60_000, _zeros(1))))
add("picture_just_too_large", _opened_picture(lambda: png(9_000, 9_000, _zeros(232))))
add("picture_that_is_a_program", _opened_picture(lambda: b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "a.jpg"))
add("picture_with_a_part_longer_than_it", _opened_picture(lambda: png(4, 4, _zeros(4))[:33] + b"\x7e\0\0\x17IDAT\x08"))
add("picture_cut_short", _opened_picture(lambda: png(64, 64, zlib.compress(b"\0" * 5000)[:20])))


def _table(name: str, content: Callable[[Path], bytes]) -> Callable[[Path], None]:
    def attack(folder: Path) -> None:
        from evenhand.domain.frames import read_table

        (folder / name).write_bytes(content(folder))
        read_table(folder / name)

    return attack


def _many_rows(folder: Path) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    column = pa.array(np.zeros(1 << 20, np.int8)).dictionary_encode()
    with parquet.ParquetWriter(folder / "made.parquet", pa.schema([("a", column.type)])) as writer:
        for _ in range(300):
            writer.write_table(pa.table({"a": column}), row_group_size=1 << 20)
    return (folder / "made.parquet").read_bytes()


add("parquet_garbage", _table("a.parquet", lambda _: b"PAR1" + b"\xff" * 64 + b"PAR1"))
add("parquet_bomb", _table("a.parquet", _many_rows))
add("csv_of_null_bytes", _table("a.csv", lambda _: b"\0" * 1000))
add("csv_that_is_an_archive", _table("a.csv", lambda _: gzip.compress(b"a,b\n1,2\n")))


def _project(text: str) -> Callable[[Path], None]:
    def attack(folder: Path) -> None:
        from evenhand.domain.project_file import read_project

        (folder / "evenhand.yaml").write_text(text)
        read_project(folder / "evenhand.yaml")

    return attack


CODE_AS_CONDITION = 'columns: {a: {values: [1, 2]}}\nconstraints: ["__import__(os).system(touch) > 1"]\n'
add("project_with_an_object", _project("columns: !!python/object/apply:os.system ['touch sprung']\n"))
add("project_of_laughs", _project("a: &a [x]\nb: [*a, *a]\n"))
add("project_too_deep", _project("[" * 5000))
add(
    "project_condition_that_is_code",
    _project('columns: {a: {values: [1, 2]}}\nconstraints: [\'__import__("os").system("touch sprung") > 1\']\n'),
)


@case()
def answer_cache_of_garbage(folder: Path) -> None:
    from evenhand.models.http import HttpModel
    from evenhand.models.wrap import wrap

    (folder / "answers.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 4096)
    wrap(HttpModel("http://127.0.0.1:9/", cache=folder / "answers.db", retries=0), DOMAIN).scores(ROWS)


@case()
def kept_answers_of_garbage(folder: Path) -> None:
    from evenhand.models.recognisers.cache import _read

    (folder / "a.jsonl").write_bytes(b'{"picture": "x", "answer": 3}\n')
    _read(folder / "a.jsonl")


# --- answers of endpoints ----------------------------------------------------------------------------------------------------------------
