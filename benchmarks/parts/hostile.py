"""Hostile files and answers, one function each: it makes the thing in a folder and opens it as a user would.

A case is stopped when Evenhand says so in one clear line (or, where `is_harmless`, when it comes to no harm), nothing ran, the process
lives, and it took little memory.  Used by `benchmarks/wiring.py` and by the tests.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from parts import hostile_endpoints, hostile_files, hostile_models  # each adds its cases
from parts.hostile_cases import CASES, SPRUNG, Hostile

__all__ = ["CASES", "Ending", "Hostile", "hostile_endpoints", "hostile_files", "hostile_models", "run_case", "run_in_a_child"]


@dataclass(frozen=True)
class Ending:
    """How a case ended: the line that was said, the memory it took, and what is wrong with that; nothing where it was stopped."""

    name: str
    said: str
    megabytes: float
    wrong: str


MOST_MEGABYTES = 500.0
LONGEST_LINE = 700


def run_case(hostile: Hostile, folder: Path) -> tuple[str, str]:
    """What was said and what is wrong, in this process."""
    from evenhand.errors import EvenhandError

    said, wrong = "", "" if hostile.is_harmless else "nothing was said"
    try:
        hostile.attack(folder)
    except EvenhandError as fault:
        said = str(fault)
        wrong = "more than one line" if "\n" in said else "a very long line" if len(said) > LONGEST_LINE else ""
    except Exception as fault:
        wrong = f"{type(fault).__name__}: {fault}"[:300]
    if (folder / SPRUNG).exists() or Path(SPRUNG).exists():
        wrong = "code ran"
    return said, wrong


def _megabytes(name: str) -> float:
    """A figure of this process as the kernel keeps it: VmRSS is what it holds now, VmHWM the most it ever held."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(f"{name}:"))
    return int(line.split()[1]) / 1024


def run_in_a_child(hostile: Hostile, folder: Path) -> Ending:
    """The same in a fork, which measures itself: a fork's peak begins at what it holds, whatever its parent once held."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        base = _megabytes("VmRSS")
        said, wrong = run_case(hostile, folder)
        os.write(write, json.dumps([said[:2000], wrong, _megabytes("VmHWM") - base]).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        told = pipe.read()
    _, status = os.waitpid(child, 0)
    said, wrong, taken = json.loads(told) if told else ("", f"the process died (status {status})", 0.0)
    if not wrong and taken > MOST_MEGABYTES:
        wrong = f"it took {taken:.0f} MB"
    return Ending(hostile.name, said, taken, wrong)
