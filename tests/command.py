"""The command in this process: what it prints and the code it exits with, without starting Python again."""

from __future__ import annotations

import contextlib
import importlib
import io
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from evenhand.cli.main import main


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    returncode: int
    stdout: str
    stderr: str


def evenhand(*words: object, cwd: Path, check: int | None = None) -> Done:
    """Run the command in a folder; with `check`, its exit code must be that one."""
    with contextlib.chdir(cwd), pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["evenhand", *map(str, words)])
        patch.setattr(sys, "path", list(sys.path))
        stdout, stderr = io.StringIO(), io.StringIO()
        known = set(sys.modules)
        with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr), pytest.raises(SystemExit) as end:
            main()
        forget_modules_of(Path.cwd(), set(sys.modules) - known)
    done = Done(end.value.code, stdout.getvalue(), stderr.getvalue())
    if check is not None:
        assert done.returncode == check, done.stdout + done.stderr
    return done


def forget_modules_of(folder: Path, names: set[str]) -> None:
    """A project's own modules are read again from the next project's folder."""
    for name in names:
        file = getattr(sys.modules[name], "__file__", None)
        if file and folder in Path(file).resolve().parents:
            del sys.modules[name]
    importlib.invalidate_caches()
