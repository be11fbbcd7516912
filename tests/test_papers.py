"""The papers redone: every table and figure has a maker, cells hold only while nothing that they rest on has changed, pages say it all."""

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from cells import Cells, content_of, files_used
from inventory import ITEMS, NOTES, TITLES, WrittenPage, coverage_page, find
from pace import PACE
from redone import COUNTS, PERCENT, Grid, PageFacts, Redone, page, ranked, sorted_by_truth, told

ROOT = Path(__file__).parents[1]


def test_every_item_is_named_once_and_says_what_it_is():
    assert len({(item.paper, item.name) for item in ITEMS}) == len(ITEMS)
    assert {item.paper for item in ITEMS} == set(TITLES)
    assert [item.name for item in ITEMS if item.state == "part" and not item.note] == []


@pytest.mark.parametrize("module", sorted({item.module for item in (*ITEMS, *NOTES)}))
def test_every_item_has_a_maker_of_its_own(module):
    text = (ROOT / "papers" / f"{module}.py").read_text()
    makers = [item.maker for item in (*ITEMS, *NOTES) if item.module == module]
    assert [maker for maker in makers if f"def {maker}(effort" not in text and f"{maker} = overview(" not in text] == []


CAPTIONS = {
    "limi": (7, 4), "neuronfair": (11, 6), "aitest": (7, 2), "deepfait": (5, 6), "distrofair": (12, 4),
}  # fmt: skip
"""Tables and figures of each paper."""


@pytest.mark.parametrize("paper", CAPTIONS)
def test_every_table_and_figure_of_a_paper_is_named(paper):
    named = [item.name for item in ITEMS if item.paper == paper]
    tables, figures = CAPTIONS[paper]
    expected = [*(f"table-{n}" for n in range(1, tables + 1)), *(f"figure-{n}" for n in range(1, figures + 1))]
    assert [name for name in expected if name not in named] == []
    assert named[: len(expected)] == expected


def test_every_table_and_figure_has_a_page():
    assert [item.stem for item in (*ITEMS, *NOTES) if not (ROOT / "docs" / "papers" / f"{item.stem}.md").exists()] == []


@pytest.mark.slow  # loads torch and the editors
def test_every_step_of_an_overview_has_a_place():
    from overviews import OVERVIEWS

    assert {item.stem for item in ITEMS if item.title.startswith("overview")} <= OVERVIEWS.keys()
    assert [step.place for steps in OVERVIEWS.values() for step in steps if not step.meaning] == []


def test_the_coverage_page_has_every_item_with_its_command():
    shown = coverage_page({"limi-table-1": WrittenPage.of("`python -m papers limi table-1 --quick`, 2026-11-17. Cost: 1,002 CPU-seconds")})
    assert [item.line for item in ITEMS if f"`{item.line}`" not in shown] == []
    assert "(papers/limi-table-1.md)" in shown
    assert "(papers/limi-table-2.md)" not in shown
    assert "| short, 2026-11-17, 1,002 s |" in shown
    assert "| not run |" in shown


def test_the_pages_that_are_kept_are_of_items_and_say_their_command():
    for path in (ROOT / "docs" / "papers").glob("*.md"):
        item = next((each for each in (*ITEMS, *NOTES) if each.stem == path.stem), None)
        assert item is not None, path.name
        text = path.read_text()
        assert item.line in text
        assert "CPU-seconds" in text
        assert "## Redone" in text or "## What follows" in text


@pytest.mark.parametrize(("words", "code", "said"), [
    (["--list"], 0, "perturbation-norms"),
    (["limi", "table-99"], 1, "it has table-1"),
    (["nobody"], 2, "invalid choice"),
    (["limi", "table-1", "--quick", "--full"], 2, "not allowed with"),
])  # fmt: skip
def test_the_command_line(words, code, said):
    done = subprocess.run([sys.executable, "-m", "papers", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert said in done.stdout + done.stderr


def test_a_cell_is_computed_once(tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules[Cells.__module__], "_opened", set())  # what other tests have read, others still may be writing
    asked = []
    for _ in range(2):
        cells = Cells(tmp_path)
        assert cells.take("sum", {"n": 3}, lambda: asked.append(1) or 6) == 6
        assert cells.spent >= 0
    assert len(asked) == 1


def test_a_cell_costs_as_many_sorts_as_the_machine_made_in_its_time(tmp_path, monkeypatch):
    """A cell of a busy machine is not told in the sorts of a quiet one."""
    clock = iter([0.0, 12.0])
    monkeypatch.setattr(time, "process_time", lambda: next(clock, 12.0))
    monkeypatch.setattr(PACE, "now", lambda: 0.5)
    Cells(tmp_path).take("slow", {}, lambda: 1)
    monkeypatch.undo()
    kept = Cells(tmp_path)
    kept.take("slow", {}, lambda: 1)
    assert kept.spent == 12.0
    assert kept.sorts(unit=0.2) == 24.0


def test_a_cell_with_other_parameters_is_another(tmp_path):
    cells = Cells(tmp_path)
    assert [cells.take("n", {"n": n}, lambda n=n: n) for n in (1, 2, 1)] == [1, 2, 1]


def test_a_cell_ends_with_the_data_that_it_rests_on(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    (data / "table.csv").write_text("1")
    read = lambda: int((data / "table.csv").read_text())  # noqa: E731
    assert Cells(tmp_path).take("read", {}, read, [data]) == 1
    (data / "table.csv").write_text("22")
    assert Cells(tmp_path).take("read", {}, read, [data]) == 22


def test_a_cell_ends_with_the_source_that_it_rests_on(tmp_path, monkeypatch):
    import cells as module

    monkeypatch.setattr(module, "ROOT", tmp_path)
    source = tmp_path / "some_maker.py"
    source.write_text("VALUE = 1")
    monkeypatch.syspath_prepend(str(tmp_path))
    import some_maker

    assert Cells(tmp_path / "kept").take("value", {}, lambda: some_maker.VALUE) == 1
    source.write_text("VALUE = 2  # changed")
    some_maker.VALUE = 2
    assert Cells(tmp_path / "kept").take("value", {}, lambda: some_maker.VALUE) == 2


def test_a_cell_of_another_checkout_is_judged_by_the_files_of_this_one(tmp_path, monkeypatch):
    import cells as module

    for checkout, value in (("old", 1), ("new", 2), ("same", 1)):
        (tmp_path / checkout).mkdir()
        (tmp_path / checkout / "checked_out_maker.py").write_text(f"VALUE = {value}")
    monkeypatch.syspath_prepend(str(tmp_path / "old"))
    import checked_out_maker  # noqa: F401

    taken = []
    for checkout in ("old", "same", "new"):
        monkeypatch.setattr(module, "ROOT", tmp_path / checkout)
        taken.append(Cells(tmp_path / "kept").take("value", {}, lambda checkout=checkout: checkout))
    assert taken == ["old", "old", "new"]


def test_modules_that_only_word_pages_are_no_reason_to_compute_again():
    import limi_items  # noqa: F401

    assert not [path for path in files_used(lambda: None) if path.endswith("limi_items.py")]
    assert [path for path in files_used(lambda: None) if path.endswith("hunts.py")]


def test_a_broken_cell_is_computed_again(tmp_path):
    Cells(tmp_path).take("x", {}, lambda: 1)
    for path in tmp_path.glob("*.json"):
        path.write_text("{")
    assert Cells(tmp_path).take("x", {}, lambda: 5) == 5
    assert content_of(tmp_path / "absent") == ""


def test_a_page_shows_everything():
    done = Redone([Grid("Ours", ["a"], [["1"]])], [Grid("Theirs", ["a"], [["2"]])], ["One."], ["Two."], "0 to 2", {"x.svg": "<svg/>"})
    text = page(done, PageFacts("LIMI, table 1", "python -m papers limi table-1", 30.0, 60.0, "fewer rows"))
    for part in (
        "Published",
        "Redone",
        "What agrees",
        "What does not, and why",
        "30 CPU-seconds",
        "60 times",
        "seeds 0 to 2",
        "![x.svg](x.svg)",
        "fewer rows",
    ):
        assert part in text


def test_figures_over_seeds_have_intervals_and_nothing_is_a_dash():
    assert told([1.0, 2.0, 3.0], ".1f").startswith("2.0 (-0.5 to ")
    assert told([4.0], ".0f") == "4"
    assert told([None, float("nan")]) == "-"


def test_sentences_follow_the_figures():
    same, other = {"a": 1, "b": 2, "c": 3, "d": 4}, {"a": 4, "b": 3, "c": 2, "d": 1}
    assert ranked("x", same, same)[0]
    assert not ranked("x", same, other)[0]
    assert sorted_by_truth([(True, "yes", "no"), (False, "yes", "no")]) == (["yes"], ["no"])


def test_classifiers_tell_shifted_rows_apart_and_equal_ones_not():
    from tell_apart import nearest_distance, share_told_apart

    from evenhand import datasets

    given = datasets.load("credit")
    rng = np.random.default_rng(0)
    rows = rng.permutation(given.rows)[:400]
    uniform = given.domain.sample(200, rng)
    for kind in ("LR", "SVC"):
        assert share_told_apart(rows[:200], rows[200:], given.domain, kind, np.random.default_rng(1)) < 0.65
        assert share_told_apart(rows, uniform, given.domain, kind, np.random.default_rng(1)) > 0.9
    assert nearest_distance(rows[:5], rows, given.domain) == pytest.approx(
        0, abs=1e-6
    )  # squares are subtracted, and their rounding is left
    assert nearest_distance(uniform, rows, given.domain) > 1


def test_accuracy_on_untouched_classes():
    from collections import Counter

    from evenhand.measures.counted_changes import CountedChange
    from evenhand.measures.scene_tables import untouched_accuracy

    truth = Counter(car=2, dog=2)
    change = CountedChange("insert", "dog", False, "s", 0, truth, Counter(car=2), Counter(car=1, dog=3), Counter(), frozenset({"dog"}), 1)
    before, after = untouched_accuracy([change], {"s": truth}, np.random.default_rng(0))
    assert (before.estimate, after.estimate) == (1.0, 0.5)


def test_an_unknown_item_is_none():
    assert find("limi", "table-99") is None


def test_half_of_the_classes_of_a_fair_recogniser_lie_above_the_mean():
    from judged_kinds import mean_rule

    found = mean_rule(20, 50, 0.1, 500, 0)
    assert 0.35 < found["mean"] < 0.55
    assert found["any_mean"] == 1.0
    assert found["any_exact"] < 0.1


def test_no_page_says_that_something_agrees_whatever_the_figures_are():
    import ast

    fixed = []
    for file in sorted((ROOT / "papers").glob("*_items.py")):
        for call in ast.walk(ast.parse(file.read_text())):
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "Redone":
                told = [each.value for each in call.keywords if each.arg == "agrees"]
                fixed += [f"{file.name}:{value.lineno}" for value in told if isinstance(value, ast.Tuple) and value.elts]
    assert fixed == []


def test_table_10_shows_the_marks_of_people_where_a_study_is_named(tmp_path, monkeypatch):
    import json

    from people_marks import FOLDER, people_marks

    from evenhand.verbs.study import Slide, write_key

    monkeypatch.delenv(FOLDER, raising=False)
    assert people_marks(["data"], ["insert"]) == ()
    kinds = [(data, kind) for data in ("street", "coco") for kind in ("real", "insert", "delete")]
    blank = np.zeros((1, 1, 3), np.uint8)
    deck = [Slide(str(k), blank, kind, f"{data} {k}", 1, data, kind == "delete") for k, (data, kind) in enumerate(kinds)]
    write_key(deck, tmp_path)
    marks = {"real": 9, "insert": 4, "delete": 6}
    for person in range(3):
        sheet = [{"key": one.key, "realism": marks[one.operator], "likelihood": 5, "count": 1} for one in deck]
        (tmp_path / f"{person:032x}.json").write_text(json.dumps(sheet))
    monkeypatch.setenv(FOLDER, str(tmp_path))
    (shown,) = people_marks(["data", "real", "all changed", "insertion", "deletion"], ["insert", "delete"])
    assert "by 3 people" in shown.title
    assert [row[0] for row in shown.rows] == ["coco", "street", "all", "likelihood, all"]
    assert [cell.split(" [")[0] for cell in shown.rows[2][1:]] == ["9.00", "5.00", "4.00", "6.00"]
    assert shown.rows[2][4].endswith("(6.00)")
    assert "(" not in shown.rows[2][3]


def test_intervals_over_two_seeds_end_where_the_figure_must():
    assert told([10.0, 30.0], ".1f") == "20.0 (-107.1 to 147.1)"
    assert told([10.0, 30.0], ".1f", PERCENT) == "20.0 (0.0 to 100.0)"
    assert told([10.0, 30.0], within=COUNTS) == "20 (0 to 147)"
