"""Runs what a page shows: `python scripts/page_blocks.py docs/start.md` carries out its blocks from top to bottom, in an empty folder.

- `python` is executed; all blocks of a page share their names.
- `bash` is run line by line; a line may say `exit code 1` in its comment, else the command must end with 0.  What ends in `&` runs until
  the page is done.
- A block with `title="evenhand.yaml"` is written to that file.  Any other `yaml`, `csv` or `toml` must be looked at by a hidden block that
  follows it, where it is called `shown`.
- `text` is what somebody would see; it is not run.
- A comment `<!-- python ... -->` is hidden from the reader and executed: what the page takes for granted (`page_subjects` helps), or a
  check of what it claims.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

BASH = "/bin/bash"
ROOT = Path(__file__).resolve().parents[1]
FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w*)(?: +(?P<rest>.*))?$")
HIDDEN = re.compile(r"^<!-- python *$")
EXIT_CODE = re.compile(r"#.*\bexit code (\d+)")
RUN, SEEN_ONLY = ("python", "bash"), ("text",)


@dataclass(frozen=True)
class Block:
    """Something that a page shows, or does without showing it."""

    page: Path
    line: int
    language: str
    text: str
    title: str = ""
    is_hidden: bool = False

    def __str__(self) -> str:
        return f"{self.page.name}:{self.line}"

    @property
    def counts(self) -> bool:
        """Whether a reader would copy it."""
        return not self.is_hidden and self.language not in SEEN_ONLY


def pages() -> list[Path]:
    """Every page of the site that shows blocks, and the front page of the repository."""
    found = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [page for page in found if any(block.counts for block in blocks_of(page))]


def blocks_of(page: Path) -> list[Block]:
    """The blocks of a page in their order."""
    found: list[Block] = []
    lines = iter(enumerate(page.read_text(encoding="utf-8").splitlines(), start=1))
    for number, line in lines:
        if HIDDEN.match(line):
            found.append(Block(page, number, "python", _until("-->", lines), is_hidden=True))
        elif fence := FENCE.match(line):
            title = re.search(r'title="([^"]+)"', fence["rest"] or "")
            text = _until(fence["indent"] + "```", lines, len(fence["indent"]))
            found.append(Block(page, number, fence["language"], text, title[1] if title else ""))
    return found


def _until(end: str, lines: Any, indent: int = 0) -> str:
    taken = []
    for _, line in lines:
        if line.rstrip() == end:
            return "\n".join(taken) + "\n"
        taken.append(line[indent:])
    raise ValueError(f"a block never ends; expected {end!r}")


def unchecked(page: Path) -> list[Block]:
    """Blocks that are neither done nor written to a file, and that no hidden block looks at before the next of their kind or the end."""
    found, waiting = [], None
    for block in blocks_of(page):
        if block.is_hidden:
            waiting = None
        elif block.counts and not block.title and block.language not in RUN:
            found += [waiting] if waiting else []
            waiting = block
    return [*found, waiting] if waiting else found


@dataclass
class Reader:
    """Somebody who does in one folder what a page says."""

    folder: Path
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "page"})
    unchecked: Block | None = None
    beside: list[subprocess.Popen[bytes]] = field(default_factory=list)
    done: int = 0

    def follow(self, block: Block) -> None:
        """Do what one block says."""
        if block.title:
            self._write(block)
        elif block.language == "python":
            self._execute(block)
        elif block.language == "bash":
            for command in commands_of(block.text):
                self._command(command, block)
        elif block.language not in SEEN_ONLY:
            self._expect_check(block)
        self.done += block.counts

    def _write(self, block: Block) -> None:
        path = self.folder / block.title
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, encoding="utf-8")

    def _execute(self, block: Block) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            exec(compile("\n" * block.line + block.text, str(block), "exec"), self.names)  # noqa: S102 - our own pages
        if block.is_hidden:
            self.unchecked = None

    def _expect_check(self, block: Block) -> None:
        self.expect_nothing_unchecked()
        self.names["shown"], self.unchecked = block.text, block

    def expect_nothing_unchecked(self) -> None:
        """Whatever was shown so far was looked at."""
        if self.unchecked is not None:
            raise AssertionError(f"{self.unchecked}: nothing looks at this {self.unchecked.language}; give it a title or a hidden check")

    def _command(self, command: str, block: Block) -> None:
        if command.startswith("cd "):
            self.folder = self.folder / shlex.split(command, comments=True)[1]
            return
        if command.split("#")[0].rstrip().endswith("&"):
            self._start(command)
            return
        expected = int(code[1]) if (code := EXIT_CODE.search(command)) else 0
        ended = subprocess.run([BASH, "-c", command], cwd=self.folder, capture_output=True, text=True, env=environment(), check=False)
        if ended.returncode != expected:
            told = f"{ended.stdout[-3000:]}\n{ended.stderr[-3000:]}"
            raise AssertionError(f"{block}: {command}\nended with {ended.returncode}, not {expected}\n{told}")

    def _start(self, command: str) -> None:
        words = shlex.split(command.split("#")[0])[:-1]
        self.beside.append(
            subprocess.Popen(words, cwd=self.folder, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        )
        time.sleep(2.0)

    def leave(self) -> None:
        """End what still runs."""
        for each in self.beside:
            each.terminate()
            each.wait()


def environment() -> dict[str, str]:
    """The commands of this environment first, and this tree."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT / "src"), "COLUMNS": "140"}


def commands_of(text: str) -> list[str]:
    """The commands of a block, long ones joined."""
    return [line for line in text.replace("\\\n", " ").splitlines() if line.strip() and not line.lstrip().startswith("#")]


def follow(page: Path) -> int:
    """Do everything that a page says; how many blocks that were."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
        reader = Reader(Path(folder))
        sys.path[:0] = [folder, str(ROOT / "scripts")]
        try:
            for block in blocks_of(page):
                reader.follow(block)
            reader.expect_nothing_unchecked()
        finally:
            reader.leave()
        return reader.done


if __name__ == "__main__":
    os.environ.update(environment())  # hidden blocks start commands too
    for name in sys.argv[1:] or [str(page) for page in pages()]:
        print(f"{name}: {follow(Path(name).resolve())} blocks run")  # noqa: T201 - told to whoever asked
