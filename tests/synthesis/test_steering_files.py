"""Rows on disk, the editable table, steered trees, boxes of trees, pictures, and the command that offers them."""

from __future__ import annotations

import csv
import xml.etree.ElementTree as ET

import numpy as np
import pandas as pd
import pytest
import typer
from typer.testing import CliRunner

from evenhand.cli import synth_command as synth
from evenhand.domain.columns import Column
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import ConstraintError, InvalidArgument
from evenhand.measures.naturalness import pair_scores
from evenhand.report.charts.canvas import standalone
from evenhand.report.sections.synthesis_fit import columns_picture, graph_picture, pairs_picture
from evenhand.synthesis.box import Box
from evenhand.synthesis.chained_trees import ChainedTrees
from evenhand.synthesis.chunks import Stream, write_rows
from evenhand.synthesis.constraint_graph import ConstraintGraph
from evenhand.synthesis.constraint_table import read_wishes, write_table
from evenhand.synthesis.fit_facts import columns_told, graph_told, pairs_told
from evenhand.synthesis.steered_trees import SteeredTrees
from evenhand.synthesis.wishes import Wishes

DOMAIN = TabularDomain(
    (
        Column("sex", "category", ("Female", "Male")),
        Column("region", "category", ("North", "South"), missing=0.1),
        Column("age", "integer", low=18, high=90),
        Column("pay", "real", low=0.0, high=1_000.0, missing=0.1),
    ),
    protected=("sex",),
)


def people(n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    sex = (rng.random(n) < 0.7).astype(float)
    region = np.where(rng.random(n) < 0.1, np.nan, (rng.random(n) < 0.3 + 0.4 * sex).astype(float))
    age = np.clip(np.rint(rng.normal(45, 12, n)), 18, 90)
    pay = np.where(rng.random(n) < 0.1, np.nan, np.round(np.clip(100 + 4 * age + 100 * sex + rng.normal(0, 30, n), 0, 1_000), 2))
    return np.column_stack([sex, region, age, pay])


@pytest.fixture(scope="module")
def graph() -> ConstraintGraph:
    return ConstraintGraph.fit(people(2_000, 0), DOMAIN, np.random.default_rng(0))


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_rows_are_streamed_whole_and_decoded(graph, tmp_path, monkeypatch, suffix):
    monkeypatch.setattr("evenhand.synthesis.chunks.BATCH_ROWS", 300)
    path = tmp_path / f"rows{suffix}"
    seen = []
    write_rows(graph, 1_000, Stream(path, left_out=["age"], watch=seen.append), np.random.default_rng(0))
    table = pd.read_parquet(path) if suffix == ".parquet" else pd.read_csv(path)
    assert table.shape == (1_000, 3)
    assert set(table["sex"]) == {"Female", "Male"}
    assert [(each.done, each.total) for each in seen] == [(done, 1_000) for done in (300, 600, 900, 1_000)]


def test_other_endings_are_refused(graph, tmp_path):
    with pytest.raises(InvalidArgument, match=r"\.parquet or \.csv"):
        write_rows(graph, 1, Stream(tmp_path / "rows.xlsx"), np.random.default_rng(0))


def edit(path, change) -> None:
    with path.open(newline="") as file:
        lines = list(csv.DictReader(file))
    for line in lines:
        change(line)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, lines[0].keys())
        writer.writeheader()
        writer.writerows(lines)


def test_an_untouched_table_wishes_nothing(graph, tmp_path):
    write_table(graph.graph, DOMAIN, tmp_path / "table.csv")
    assert read_wishes(tmp_path / "table.csv", graph.graph, DOMAIN).wishes == ()


def test_edited_lines_become_wishes_that_rows_keep(graph, tmp_path):
    path = tmp_path / "table.csv"
    write_table(graph.graph, DOMAIN, path)

    def change(line):
        if line["kind"] == "category" and line["column"] == "sex":
            line["share"] = "0.5"
        if line["kind"] == "number" and line["column"] == "age":
            line["low"], line["high"] = "30", "40"
        if line["kind"] == "category -> number" and line["column"] == "pay":
            line["action"] = "delete" if line["source"] == "region" else ""

    edit(path, change)
    wishes = read_wishes(path, graph.graph, DOMAIN)
    assert len(wishes.wishes) == 3
    steered = graph.steered(wishes, np.random.default_rng(0))
    rows = steered.sample(400, np.random.default_rng(0))
    assert steered.obeyed(rows).all()
    assert (rows[:, 0] == 0).sum() == 200
    assert rows[:, 2].min() >= 30
    assert rows[:, 2].max() <= 40


def test_a_broken_table_is_explained(graph, tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(ConstraintError, match="action, kind"):
        read_wishes(path, graph.graph, DOMAIN)


WISHES = [
    {"presets": ["1:1 sex"]},
    {"presets": ["region North only"], "rules": ["age > 40"]},
    {"modify": [{"column": "age", "range": [30, 40]}]},
    {"modify": [{"column": "pay", "factor": 2}]},
    {"modify": [{"association": ["sex", "pay"], "value": "Male", "range": [10, 20]}]},
    {"add": [{"column": "age", "distribution": {"name": "uniform", "loc": 20, "scale": 5}, "range": [20, 25]}]},
    {"rules": ["pay < 5 * age"], "presets": ["1:1 sex"]},
    {"delete": [{"column": "region"}]},
]


@pytest.mark.parametrize("words", WISHES, ids=str)
def test_steered_trees_keep_every_wish(graph, words):
    rng = np.random.default_rng(0)
    wishes = Wishes.parse(words, DOMAIN)
    rows = SteeredTrees.of(people(2_000, 0), DOMAIN, wishes, rng).sample(500, rng)
    assert len(rows) == 500
    assert graph.steered(wishes, rng).obeyed(rows).all()


def test_trees_say_which_wish_only_the_graph_can_grant():
    wishes = Wishes.parse({"delete": [{"association": ["sex", "pay"]}]}, DOMAIN)
    with pytest.raises(InvalidArgument, match="constraint graph"):
        SteeredTrees.of(people(300, 0), DOMAIN, wishes, np.random.default_rng(0))


def test_trees_in_a_box_stay_in_it():
    rng = np.random.default_rng(0)
    trees = ChainedTrees.fit(people(2_000, 0), DOMAIN, rng)
    box = Box().with_values(1, np.array([True, False])).with_interval(2, 70.0, 75.0).with_interval(3, 333.0, 333.5)
    rows = trees.within(box).sample(800, rng)
    assert box.contains(rows).all()
    assert DOMAIN.contains(rows).all()
    assert len(np.unique(rows[:, 2])) > 3


def test_pictures_name_every_column(graph):
    rows = graph.sample(300, np.random.default_rng(0))
    pictures = [
        graph_picture(graph_told(graph.graph, graph.plan, DOMAIN)),
        columns_picture(columns_told(people(500, 0), rows, DOMAIN)),
        pairs_picture(pairs_told(pair_scores(people(500, 0), rows, DOMAIN), DOMAIN.names)),
    ]
    for picture in pictures:
        assert ET.fromstring(standalone(picture)).tag.endswith("svg")
        assert all(name in picture for name in DOMAIN.names)


@pytest.fixture
def app() -> typer.Typer:
    made = typer.Typer()
    made.callback()(lambda: None)
    synth.register(made)
    return made


def test_the_command_writes_rows_and_explains(app, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()
    done = runner.invoke(app, ["synth", "credit", "--rows", "50", "--out", "a.csv", "--preset", "1:1 sex"], catch_exceptions=False)
    assert done.exit_code == 0
    assert pd.read_csv("a.csv")["sex"].value_counts().tolist() == [25, 25]
    done = runner.invoke(app, ["synth", "credit", "--explain", "why"], catch_exceptions=False)
    assert done.exit_code == 0
    assert {path.name for path in (tmp_path / "why").iterdir()} == {"graph.svg", "columns.svg", "pairs.svg", "constraints.csv"}
    edited = ["synth", "credit", "--rows", "20", "-o", "b.parquet", "--synthesiser", "graph", "--wishes", "why/constraints.csv"]
    assert runner.invoke(app, edited, catch_exceptions=False).exit_code == 0
    assert len(pd.read_parquet("b.parquet")) == 20


def test_the_command_learns_from_part_of_a_large_file_and_warns_of_a_small_one(app, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = DOMAIN.decode(people(900, 3)).assign(granted=np.arange(900) % 2)
    frame.to_parquet("people.parquet")
    wanted = ["synth", "people.parquet", "--label", "granted", "--protected", "sex", "--no-quality", "--rows", "30", "--out", "a.csv"]
    done = CliRunner().invoke(app, [*wanted, "--most-rows", "150"], catch_exceptions=False)
    assert "learnt from 150 of 900 rows" in done.output
    assert "Warning: learnt from 150 rows only" in done.output
    assert list(pd.read_csv("a.csv").columns) == ["sex", "region", "age", "pay"]
