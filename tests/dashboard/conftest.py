"""One small project with its scan, and one whose every name is an attack; made once, copied for tests that change something."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
from visitors import TOKEN, Visitor

from evenhand.dashboard.guard import Credentials
from evenhand.dashboard.site import build
from parts.dashboard_store import HOSTILE, scan_project, write_project


@pytest.fixture(scope="session")
def made_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = tmp_path_factory.mktemp("made-store")
    scan_project(write_project(store / "loans"))
    scan_project(write_project(store / "attack <b>'\"", HOSTILE))
    return store


@pytest.fixture
def store(made_store: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made_store, tmp_path / "store")


@pytest.fixture
def visit(store: Path) -> Callable[..., Visitor]:
    """A visitor who knows the token; `visit(False)` is one who does not."""

    def made(knows: bool = True, is_trusted: bool = False) -> Visitor:
        app = build(store, Credentials(TOKEN, 8765), is_trusted)
        return Visitor(app, {"x-evenhand-token": TOKEN} if knows else {})

    return made
