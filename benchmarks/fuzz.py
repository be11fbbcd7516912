"""Changed files and messages before everything that reads one: does reading end in a value or in one of Evenhand's own errors?

Contents that are read well are changed: by drawn mutations everywhere, and by atheris (libFuzzer, guided by the lines that are
reached) where it is installed, each reader in a process of its own.  What crashed, what took too long and what ended the process is
kept in the folder fuzz-found; `--only a.onnx` is for one reader.

fuzz_readers  readers (benchmarks/parts/fuzzed_readers.py)
fuzz_runs     contents that were read
fuzz_guided   of these, how many were chosen by atheris; 0 where it is not installed
fuzz_crashes  different errors that were not Evenhand's own, or that ended the process
"""

from __future__ import annotations

import hashlib
import importlib.util
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

from parts.common import options, write_figures
from parts.fuzzed_readers import READERS, FuzzedReader, crashes, reading_crash

LIMITS = ("-max_len=4096", "-rss_limit_mb=2048", "-timeout=200", "-verbosity=0")
"""A model's file may take the process that opens it first some minutes on a busy machine (models/quarantine.py); what is read in the
fuzzer's own process is watched by `reading_crash`."""
FOUND = Path("fuzz-found")


def kept(reader: FuzzedReader, content: bytes) -> Path:
    """Where a content stands from now on, for whoever mends what it shows."""
    FOUND.mkdir(exist_ok=True)
    path = FOUND / f"{hashlib.sha256(content).hexdigest()[:12]}-{reader.file}"
    path.write_bytes(content)
    return path


def guided(reader: FuzzedReader, runs: int, seed: int) -> list[str]:
    """What atheris finds in so many runs, in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="evenhand-corpus-") as base:
        corpus, home = Path(base) / "corpus", Path(base) / "home"
        for folder in (corpus, home):
            folder.mkdir()
        for place, content in enumerate(reader.seeds()):
            (corpus / str(place)).write_bytes(content)
        words = ["--guide", reader.file, str(home), str(corpus), f"-runs={runs}", f"-seed={seed + 1}", f"-artifact_prefix={base}/", *LIMITS]
        done = subprocess.run([sys.executable, __file__, *words], capture_output=True, text=True, errors="replace", check=False)
        found = [line.removeprefix("CRASH ") for line in done.stdout.splitlines() if line.startswith("CRASH ")]
        if done.returncode:  # whatever was read last ended the process, or was read when its time was over
            last = kept(reader, (home / reader.file).read_bytes()) if (home / reader.file).exists() else "before anything was read"
            found.append(f"ended with {done.returncode}: {' '.join(done.stderr[-300:].split())} | {last}")
    return found


def guide(file: str, home: Path, arguments: list[str]) -> None:
    """The child: atheris chooses contents until it has had its runs."""
    import atheris

    reader = next(each for each in READERS if each.file == file)
    seen: set[str] = set()

    def read(content: bytes) -> None:
        crash = reading_crash(reader, content, home)
        if crash and crash not in seen:
            seen.add(crash)
            print(f"CRASH {crash} | {kept(reader, content)}", flush=True)

    with atheris.instrument_imports(include=["evenhand"]):
        for content in reader.seeds():
            read(content)
    atheris.Setup([sys.argv[0], *arguments], read)
    atheris.Fuzz()


def main() -> None:
    """Print the figures; write them where the user wants them."""
    warnings.simplefilter("ignore")
    if "--guide" in sys.argv:
        guide(sys.argv[2], Path(sys.argv[3]), sys.argv[4:])
        return
    chosen = options(__doc__ or "", tuple(reader.file for reader in READERS))
    readers = [reader for reader in READERS if not chosen.only or reader.file in chosen.only]
    drawn, led = (100, 1_000) if chosen.quick else (3_000, 50_000)
    has_atheris = importlib.util.find_spec("atheris") is not None
    found = 0
    for reader in readers:
        here = [
            f"{crash} | {kept(reader, content)}" for crash, content in crashes(reader, drawn, np.random.default_rng(chosen.seed)).items()
        ]
        here += guided(reader, led, chosen.seed) if has_atheris else []
        found += len(here)
        print(f"{reader.file:22} {len(here)} crashes", *here, sep="\n    ", flush=True)
    led_runs = led * len(readers) * has_atheris
    figures = {"fuzz_readers": len(readers), "fuzz_runs": drawn * len(readers) + led_runs, "fuzz_guided": led_runs}
    write_figures(figures | {"fuzz_crashes": found}, chosen.json)


if __name__ == "__main__":
    main()
