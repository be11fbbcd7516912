"""Tables that are not read whole: the same ranges, values, rates and groups as of the table in memory, whatever it is kept in."""

import sqlite3

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.campaign.sources import open_dataset
from evenhand.cli.flags import ModelFlags
from evenhand.cli.project import load_all
from evenhand.datasets import large_dataset, table_streams
from evenhand.datasets.large_dataset import LargeDataset
from evenhand.datasets.merged_columns import look_through
from evenhand.datasets.table_streams import FileStream, stream_of
from evenhand.domain import project_sections
from evenhand.domain.databases import is_database
from evenhand.errors import DataError, InvalidArgument
from evenhand.verbs.init import init

ROWS = 3_000


def people(rows=ROWS):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"sex": rng.choice(["f", "m"], rows), "age": rng.integers(18, 80, rows), "pay": rng.normal(30, 5, rows).round(3)})
    frame["last"] = frame["age"] + 5
    frame["town"] = rng.choice(["a", "b", "c"], rows)
    frame.loc[rows - 1, ["town", "age", "last"]] = ["rare", 97, 102]  # seen by whoever reads to the end
    frame.loc[5, "pay"] = np.nan
    frame["granted"] = np.where(frame["age"] + 8 * (frame["sex"] == "m") > 50, "yes", "no")
    return frame


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr(table_streams, "BATCH_ROWS", 700)
    monkeypatch.setattr(large_dataset, "ROWS_IN_MEMORY", 1_000)


WISHES = {"label": "granted", "favourable": "yes", "protected": ["sex"]}


def opened(source, **settings):
    return eh.open(source, **WISHES, settings={"sample_rows": 400, **settings})


def parquet(folder):
    people().to_parquet(folder / "people.parquet", row_group_size=500)
    return folder / "people.parquet"


def parts(folder):
    (folder / "people").mkdir()
    for at in range(0, ROWS, 1_000):
        people()[at : at + 1_000].to_csv(folder / "people" / f"part-{at}.csv", index=False)
    return folder / "people"


def arrow(folder):
    people().to_feather(folder / "people.arrow", compression="uncompressed")
    return folder / "people.arrow"


def duck(folder):
    duckdb = pytest.importorskip("duckdb")
    frame = people()
    with duckdb.connect(str(folder / "people.duckdb")) as base:
        base.execute("create table people as select * from frame")
    assert len(frame)
    return f"duckdb:///{folder}/people.duckdb#people"


def sqlite(folder):
    pytest.importorskip("sqlalchemy")
    with sqlite3.connect(folder / "people.sqlite") as base:
        people().to_sql("people", base, index=False)
    base.close()
    return f"sqlite:///{folder}/people.sqlite#select * from people"


@pytest.mark.parametrize("kept", [parquet, parts, arrow, duck, sqlite], ids=lambda kept: kept.__name__)
def test_a_table_is_described_by_all_its_rows_whatever_it_is_kept_in(tmp_path, kept):
    data = opened(kept(tmp_path))
    assert isinstance(data, LargeDataset)
    assert (data.total, len(data.frame)) == (ROWS, 400)
    whole = people()
    columns = {column.name: column for column in data.domain.columns}
    assert columns["town"].values == ("a", "b", "c", "rare")
    assert (columns["age"].low, columns["age"].high) == (18, 97)
    assert (columns["pay"].low, columns["pay"].high) == pytest.approx((whole["pay"].min(), whole["pay"].max()))
    assert columns["pay"].missing == pytest.approx(1 / ROWS)
    assert sum(len(part.rows) for part in data.parts()) == ROWS


def test_rates_and_groups_are_those_of_the_whole_table(tmp_path):
    model = lambda frame: (frame["age"] + 8 * (frame["sex"] == "m") > 55).astype(float)  # noqa: E731
    large = opened(parquet(tmp_path))
    measured = eh.measure(eh.wrap(model, large), large, options=eh.MeasureOptions(draws=99, groups_only=True))
    rate = measured.individual[0].rate
    frame = people()
    unfair = (frame["age"] + 8 > 55) != (frame["age"] > 55)
    assert (rate.interval.n, rate.unfair, rate.whole) == (ROWS, int(unfair.sum()), True)
    for sex in ("f", "m"):
        told = measured.studies["every row"].figures[f"sex: {sex}"]
        mine = frame["sex"] == sex
        said = model(frame)[mine] > 0.5
        assert told["rows"] == mine.sum()
        assert told["favourable answers"] == pytest.approx(said.mean())
        assert told["right answers"] == pytest.approx((said == (frame["granted"] == "yes")[mine]).mean())
    assert "3,000 rows and was not read whole" in measured.notes[-1]
    assert "a share among them is within" in measured.notes[-1]


def test_the_drawn_rows_depend_on_the_seed_alone(tmp_path):
    file = parquet(tmp_path)
    assert opened(file).frame.equals(opened(file).frame)
    assert not opened(file).frame.equals(opened(file, seed=1).frame)


def test_a_project_of_a_large_table_is_written_and_opened_again(tmp_path, monkeypatch):
    monkeypatch.setattr(large_dataset, "SAMPLE_ROWS", 400)
    written = init(parquet(tmp_path), **WISHES, file=tmp_path / "evenhand.yaml")
    assert "all 3,000 rows" in written.summary()
    assert "nothing is left to chance" in written.summary()
    data = eh.open(tmp_path / "evenhand.yaml")
    assert isinstance(data, LargeDataset)
    assert data.domain.columns[1].high == 97
    found = eh.scan(
        eh.wrap(lambda frame: (frame["sex"] == "m").astype(float), data), data, methods=["themis"], budget=eh.Budget(candidates=300)
    )
    assert found.runs[0].ledger.findings > 0
    assert "was not read whole" in found.notes[-1]


def test_what_rests_on_drawn_rows_says_how_far_it_may_be_off(tmp_path):
    told = large_dataset.propose_large(parquet(tmp_path), large_dataset.InferWishes(WISHES["label"]), 400).notes[-1]
    assert "relations were looked for in 400 of them" in told
    assert "a share among them is within 4.6 points of that of all rows" in told
    stream, share = FileStream(tmp_path / "people.parquet"), float((people()["sex"] == "m").mean())
    drawn = [look_through(stream, 400, np.random.default_rng(seed)).frame["sex"] for seed in range(120)]
    off = [100 * abs(float((each == "m").mean()) - share) for each in drawn]
    assert sum(each > 4.6 for each in off) <= 14
    assert sum(each > 2.3 for each in off) >= 20, "what is said is far more than what happens"


def test_a_table_of_a_database_is_a_project_as_a_file_is(tmp_path, monkeypatch):
    duckdb = pytest.importorskip("duckdb")
    frame = people()
    with duckdb.connect(tmp_path / "loans.duckdb") as base:
        base.register("given", frame)
        base.execute("create table loans as select * from given")
    (tmp_path / "far").mkdir()
    monkeypatch.chdir(tmp_path)
    beside = init("duckdb:///loans.duckdb#loans", **WISHES, file="evenhand.yaml")
    far = init("duckdb:///loans.duckdb#select * from loans", **WISHES, file="far/evenhand.yaml")
    assert 'data: "duckdb:///loans.duckdb#loans"' in beside.file.read_text()
    monkeypatch.chdir(tmp_path.parent)
    for file in (tmp_path / "evenhand.yaml", tmp_path / far.file):
        data = eh.open(file)
        assert isinstance(data, LargeDataset)
        assert data.total == ROWS
        assert data.domain.columns[1].high == 97


def test_truth_values_of_a_database_are_read_as_the_words_that_the_model_knows(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(tmp_path / "loans.duckdb") as base:
        base.execute("create table loans as select i % 2 = 0 as car, i % 40 + 20 as age, i % 3 = 0 as granted from range(300) t(i)")
    wishes = {"label": "granted", "favourable": "yes", "protected": ["age"]}
    written = init(f"duckdb:///{tmp_path}/loans.duckdb#loans", **wishes, file=tmp_path / "evenhand.yaml")
    cure = 'kind: boolean, values: ["no", "yes"], dtype: object'
    assert any("'car'" in line and cure in line for line in written.lines)
    told = written.file.read_text()
    assert "favourable: [true]" in told
    told = told.replace("kind: boolean, values: [false, true], dtype: bool", cure).replace("[false, true]", '["no", "yes"]')
    written.file.write_text(told.replace("favourable: [true]", 'favourable: ["yes"]'))
    data = eh.open(written.file)
    assert data.domain.decode(data.rows)["car"].value_counts().to_dict() == {"yes": 150, "no": 150}
    assert data.labels.sum() == 100


def test_no_command_reads_a_large_table_whole(tmp_path, monkeypatch):
    init(parquet(tmp_path), **WISHES, file=tmp_path / "evenhand.yaml")
    (tmp_path / "mine.py").write_text("def model(frame):\n    return (frame['age'] > 50).astype(float)\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(project_sections, "read_formatted", lambda *_: pytest.fail("the table was read whole"))
    for may_lack_labels in (False, True):
        loaded = load_all(tmp_path / "evenhand.yaml", ModelFlags("mine:model", trusted=True), may_lack_labels=may_lack_labels)
        assert isinstance(loaded.data, LargeDataset)
    assert isinstance(open_dataset(str(tmp_path / "people.parquet"), "granted", "readable"), LargeDataset)


def test_databases_are_only_read(tmp_path):
    source = sqlite(tmp_path)
    assert is_database(source)
    with pytest.raises(InvalidArgument, match="single select"):
        list(stream_of(source.partition("#")[0] + "#drop table people").batches())
    with pytest.raises(InvalidArgument, match="single select"):
        list(stream_of(source.partition("#")[0] + "#select 1; drop table people").batches())
    with pytest.raises(DataError, match="no such table"):
        list(stream_of(source.partition("#")[0] + "#nobody").batches())
    assert stream_of(source).rows == ROWS
