"""One progress callback: whatever is told of headway takes the same type, and nothing else is called back for its effect alone."""

import ast
import io
import re
import time
from pathlib import Path

import numpy as np
import pandas as pd
from rich.console import Console

import evenhand
from evenhand.cli import output
from evenhand.datasets.albums.reading import read_pictures
from evenhand.datasets.scene_data import drawn_streets
from evenhand.domain.infer import InferWishes, propose
from evenhand.media.png import write_png
from evenhand.synthesis.chained_trees import ChainedTrees
from evenhand.values import tell_watcher, watched

PACKAGE = Path(evenhand.__file__).parent
NOT_HEADWAY = ("checks", "dashboard", "models/torch_layers.py", "models/ward.py", "media/portraits/painting.py", "values.py")
"""Promises, the address of a page, hooks of torch, examiners of files, brushes, and the one type itself."""


def callbacks(file: Path) -> list[str]:
    """Arguments and fields that are called for their effect alone and do not say `Watch`."""
    found, text = [], file.read_text()
    if not re.search(r"\],\s*None,?\s*\]", text):
        return found
    for node in ast.walk(ast.parse(text)):
        written = ast.unparse(node.annotation) if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation else ""
        if "Callable[[" in written and "], None]" in written:
            found.append(written)
    return found


def test_everything_long_tells_one_kind_of_watcher():
    files = [path for path in PACKAGE.rglob("*.py") if not any(str(path.relative_to(PACKAGE)).startswith(name) for name in NOT_HEADWAY)]
    assert {str(path): told for path in files if (told := callbacks(path))} == {}
    assert sum("Watch | None" in path.read_text() for path in files) > 10


def told_by(work):
    """What was told of its headway while something was done."""
    told = []
    with watched(told.append):
        work()
    return told


def test_reading_and_learning_tell_whoever_watches(tmp_path):
    frame = pd.DataFrame({"sex": ["m", "w"] * 40, "income": list(range(40)) * 2, "town": ["n", "s", "e", "w"] * 20})
    frame.to_csv(tmp_path / "people.csv", index=False)
    looked = told_by(lambda: propose(tmp_path / "people.csv", InferWishes(protected=("sex",))))
    assert [each.note for each in looked] == ["reading", "sex", "income", "town", "relations between columns"]
    assert looked[-1].total == 4
    domain = propose(frame).domain
    learnt = told_by(lambda: ChainedTrees.fit(domain.encode(frame), domain, np.random.default_rng(0)))
    assert (learnt[0].what, learnt[0].done, learnt[-1].done, learnt[-1].total) == ("learning the population", 0, 3, 3)
    for place in range(3):
        write_png(tmp_path / f"{place}.png", np.zeros((8, 8, 3), np.uint8))
    read = told_by(lambda: read_pictures(sorted(tmp_path.glob("*.png")), 8))
    assert [(each.what, each.done, each.total) for each in read] == [("reading pictures", at, 3) for at in (1, 2, 3)]
    assert told_by(lambda: drawn_streets(2, 0))[-1].done == 2


def test_bars_have_an_estimate_on_a_terminal_and_are_silent_elsewhere(monkeypatch):
    for is_terminal in (True, False):
        written = io.StringIO()
        monkeypatch.setattr(output, "err", Console(file=written, force_terminal=is_terminal, width=80, color_system=None))
        with output.opening():
            for done in range(4):
                tell_watcher("learning the population", done, 4, f"column {done}")
                time.sleep(0.03)
        assert ("learning the population" in written.getvalue()) == is_terminal
        assert ("0:00:0" in written.getvalue()) == is_terminal


def test_the_running_command_is_known_whichever_copy_of_click_typer_carries():
    import typer
    from typer.testing import CliRunner

    app, heard = typer.Typer(), []

    @app.command()
    def ask(quiet: bool = False) -> None:
        heard.append(output.current_context(silent=True).params)

    assert CliRunner().invoke(app, ["--quiet"]).exit_code == 0
    assert heard == [{"quiet": True}]
    assert output.current_context(silent=True) is None


def test_nothing_of_the_package_needs_click_itself():
    from pathlib import Path

    import evenhand

    sources = Path(evenhand.__file__).parent.rglob("*.py")
    assert [path.name for path in sources if "import click" in path.read_text() or "from click" in path.read_text()] == []


def test_a_long_note_leaves_the_bar_and_the_estimate_in_a_narrow_terminal(monkeypatch):
    written = io.StringIO()
    monkeypatch.setattr(output, "err", Console(file=written, force_terminal=True, width=80, color_system=None))
    progress = output._progress()
    progress.add_task("evenhand", total=200, completed=60, note="findings " * 30)
    output.err.print(progress.get_renderable())
    assert "━" in written.getvalue()
    assert "60/200 -:--:--" in written.getvalue()
