"""Commands that were started from a page: processes of the same CLI, each with a folder for what it says; Ctrl-C stops them."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from evenhand.cli.output import HEADWAY_FILE
from evenhand.dashboard.catalogue import Catalogue
from evenhand.disk import private_folder, read_bytes, read_sealed, sealed, write_whole
from evenhand.domain.project_file import read_project
from evenhand.errors import EvenhandError, InvalidArgument, StoreError, UntrustedModel

MOST_AT_ONCE = 4
"""So many commands may run at the same time."""
MOST_SHOWN_BYTES = 20_000
EXITS = {0: "pass", 1: "violation", 2: "usage error", 3: "inconclusive", 4: "the model failed", 5: "internal error", 130: "interrupted"}


@dataclass(frozen=True)
class StartedCommand:
    """One command: what was asked of which project, and its process."""

    id: str
    project: str  # below the store
    words: tuple[str, ...]  # of the command line, after `evenhand`
    started: float
    process: int = 0
    code: int | None = None  # None while it runs
    ended: float | None = None

    @property
    def line(self) -> str:
        """For a reader."""
        return " ".join(("evenhand", *self.words))

    @property
    def ending(self) -> str:
        """How it ended, in words."""
        if self.code is None:
            return "running"
        return EXITS.get(self.code, f"ended by signal {-self.code}" if self.code < 0 else f"exit code {self.code}")

    @property
    def can_resume(self) -> bool:
        """Whether the same command would go on where this one stopped."""
        return self.code is not None and self.words[:1] == ("scan",) and self.code not in (0, 1, 2, 3)


@dataclass(frozen=True)
class CommandNews:
    """How far a command has come, as it tells itself."""

    what: str = ""
    done: int = 0
    total: int | None = None
    note: str = ""

    @property
    def words(self) -> str:
        """For a reader."""
        if not self.what:
            return "preparing data and model"
        of = f" of {self.total:,}" if self.total else ""
        return f"{self.what}: {self.done:,}{of}{'; ' if self.note else ''}{self.note}"


class Commands:
    """All commands of one store; their folders are found again after a restart."""

    def __init__(self, catalogue: Catalogue, is_trusted: bool) -> None:
        self.catalogue, self.is_trusted = catalogue, is_trusted
        self._lock = threading.Lock()
        self._known: dict[str, StartedCommand] = {}
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._recall()

    @property
    def folder(self) -> Path:
        """Where the commands' folders are."""
        return private_folder(self.catalogue.private / "commands")

    def all(self) -> list[StartedCommand]:
        """The newest first."""
        return sorted((self._settled(each) for each in list(self._known.values())), key=lambda each: -each.started)

    def running(self) -> list[StartedCommand]:
        """Those that go on."""
        return [each for each in self.all() if each.code is None]

    def find(self, identity: str) -> StartedCommand | None:
        """The command of this id."""
        found = self._known.get(identity)
        return self._settled(found) if found else None

    def start(self, project: str, words: Sequence[str]) -> StartedCommand:
        """A new process, in the project's folder; what it says goes to files."""
        self._check_trust(self.catalogue.root / project)
        with self._lock:
            if len(self.running()) >= MOST_AT_ONCE:
                raise InvalidArgument(f"{MOST_AT_ONCE} commands are running already; wait for one, or stop one")
            made = StartedCommand(secrets.token_hex(5), project, tuple(words), time.time())
            home = private_folder(self.folder / made.id)
            with (home / "out.txt").open("wb") as out, (home / "err.txt").open("wb") as err:
                process = subprocess.Popen(
                    [sys.executable, "-m", "evenhand", *words],
                    cwd=(self.catalogue.root / project).parent,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    env={**os.environ, HEADWAY_FILE: str(home / "headway.json"), "NO_COLOR": "1"},
                    start_new_session=True,  # Ctrl-C at the dashboard's terminal is not for it
                )
            made = replace(made, process=process.pid)
            self._processes[made.id] = process
            self._keep(made)
        threading.Thread(target=self._await, args=(made.id,), daemon=True).start()
        return made

    def _check_trust(self, file: Path) -> None:
        """A file that declares its model trusted is run only where the dashboard was started so."""
        source = read_project(file).model
        if source is not None and source.trusted and not self.is_trusted:
            raise UntrustedModel(
                "the project file declares its model trusted, and loading it can run code; "
                "start the dashboard with --trusted to run it from here, or run the command at a terminal"
            )

    def stop(self, identity: str) -> None:
        """As Ctrl-C: what was found is kept, and the same command continues."""
        command = self.find(identity)
        if command is None:
            raise StoreError("there is no such command")
        process = self._processes.get(identity)
        if process is None:
            raise StoreError("it was started by another dashboard; stop it there, or with Ctrl-C at its terminal")
        if process.poll() is None:
            process.send_signal(signal.SIGINT)

    def output(self, command: StartedCommand) -> str:
        """The end of what it said: errors first."""
        home = self.folder / command.id
        told = [_tail(home / name) for name in ("err.txt", "out.txt")]
        return "\n".join(each for each in told if each)

    def news(self, command: StartedCommand) -> CommandNews:
        """How far it has come."""
        try:
            told = json.loads(read_bytes(self.folder / command.id / "headway.json", 100_000))
            total = told.get("total")
            return CommandNews(str(told["what"])[:80], int(told["done"]), int(total) if total else None, str(told.get("note", ""))[:300])
        except (EvenhandError, ValueError, KeyError, TypeError, AttributeError):
            return CommandNews()

    def _await(self, identity: str) -> None:
        code = self._processes[identity].wait()
        self._keep(replace(self._known[identity], code=code, ended=time.time()))

    def _settled(self, command: StartedCommand) -> StartedCommand:
        """One of an earlier dashboard whose process is gone has ended, nobody knows how."""
        if command.code is not None or command.id in self._processes:
            return command
        return command if _lives(command.process) else replace(command, code=130, ended=command.started)

    def _keep(self, command: StartedCommand) -> None:
        self._known[command.id] = command
        with contextlib.suppress(OSError):
            write_whole(self.folder / command.id / "command.json", sealed(asdict(command)), private=True)

    def _recall(self) -> None:
        for file in (self.catalogue.root / ".evenhand" / "commands").glob("*/command.json"):
            try:
                told: Mapping[str, Any] = read_sealed(file)
                command = StartedCommand(**{**told, "words": tuple(told["words"])})
                self._known[command.id] = command
            except (EvenhandError, KeyError, TypeError):
                continue


def _lives(process: int) -> bool:
    """Whether a process of this number is one of ours; numbers are used again."""
    try:
        os.kill(process, 0)
        line = Path(f"/proc/{process}/cmdline")
        return b"evenhand" in line.read_bytes() if line.exists() else True
    except (OSError, OverflowError):
        return False


def _tail(file: Path) -> str:
    try:
        content = read_bytes(file)
    except StoreError:
        return ""
    return content[-MOST_SHOWN_BYTES:].decode("utf-8", "replace").strip()
