"""Whether models are read right, files and answers that mean harm are stopped, and damage on disk is noticed.

kinds_total, kinds_right        kinds of models in their wrappings (benchmarks/parts/wirings.py), and how many of them agree with the
                                model asked directly on 1,000 rows
miswired_total, miswired_caught wrong wirings, and how many are caught with a message that names the cure
sensible_total, sensible_failed fair models, strong and weak ones, and how many the checks before a scan call failed (none may be)
sensible_doubted         of these, left open: too weak for the labelled rows to show it, or one label for everybody
clearly_sensible_doubted of those that are clearly better than guessing (clearly_sensible_total), doubted all the same
hostile_total            hostile files and answers in the table (benchmarks/parts/hostile.py)
hostile_stopped          of these, opened as a user would in a process of its own: nothing ran, the process lives, it took less than
                         500 MB more than before, and Evenhand said so in one line
init_cpu_s_million_x_40  CPU-seconds of init on a table of 1,000,000 rows and 40 columns, in a process of its own
scan_start_cpu_s_million_x_40, scan_start_megabytes_million_x_40  the command scan on the same table, for 200 candidates: everything around
                         the search, whose own CPU-seconds the result tells; scan_whole_cpu_s_million_x_40: with it
seconds_budget_overrun_max  elapsed seconds of a scan by the seconds that it was given, the worst case over all methods on tables and
                         14, 70, 300 and 1,000 columns, for a second or more (benchmarks/parts/time_budgets.py); on a machine that does
                         nothing else.  half_second_overrun_max: the same for scans of half a second, where 50 ms are a tenth
seconds_budget_megabytes_max, wide_megabytes_max  memory of a process that makes such scans one after the other; of 300 columns and more

`--quick` takes about five CPU-minutes: the table of a million rows is written and read, and every hostile case has its own process.
bit_flips_noticed_share  share of single flipped bits, anywhere in the files of a run and its witnesses, that reading the run notices
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from parts.common import options, write_figures
from parts.hostile import CASES, Ending, run_in_a_child
from parts.sensible_models import sensible_figures
from parts.time_budgets import FULL, QUICK, init_figures, overrun_figures
from parts.wirings import kind_figures, miswiring_figures

PARTS = ("million", "budgets", "kinds", "miswired", "sensible", "hostile", "flips")


def hostile_figures() -> dict[str, Any]:
    """Every case of the table, each in a child of its own."""
    import lightgbm  # noqa: F401 - loaded once, so that every child has it
    import skops.io  # noqa: F401
    import xgboost  # noqa: F401

    endings: list[Ending] = []
    for each in CASES:
        with tempfile.TemporaryDirectory(prefix="evenhand-hostile-") as folder:
            endings.append(run_in_a_child(each, Path(folder)))
        last = endings[-1]
        print(f"{last.wrong or 'stopped':20.60} {last.megabytes:6.0f} MB {last.name:45} {last.said[:120]}", flush=True)
    worst = max(each.megabytes for each in endings)
    stopped = sum(not each.wrong for each in endings)
    return {"hostile_total": len(endings), "hostile_stopped": stopped, "hostile_megabytes_max": round(worst, 1)}


def flip_figures(flips: int, seed: int) -> dict[str, Any]:
    """Flip one bit at a time in a finished run and read everything."""
    from evenhand.errors import StoreError

    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory(prefix="evenhand-flips-") as base:
        home = _finished_run(Path(base))
        files = [path for path in sorted(home.rglob("*")) if path.suffix in (".json", ".jsonl", ".parquet", ".png")]
        noticed = 0
        for _ in range(flips):
            file = files[rng.integers(len(files))]
            whole = file.read_bytes()
            changed = bytearray(whole)
            changed[int(rng.integers(len(whole)))] ^= 1 << int(rng.integers(8))
            file.write_bytes(changed)
            try:
                _read_everything(home)
            except StoreError:
                noticed += 1
            file.write_bytes(whole)
    return {"bit_flips_total": flips, "bit_flips_noticed_share": noticed / flips}


def _finished_run(base: Path) -> Path:
    from evenhand.checks import standard_subject
    from evenhand.engine import witness
    from evenhand.engine.header import header_of
    from evenhand.engine.run import Plan, run
    from evenhand.engine.shrunk_findings import Hearing
    from evenhand.engine.store import RunFolder
    from evenhand.media.png import data_uri
    from evenhand.methods.themis import Themis
    from evenhand.models.budget import Budget
    from evenhand.oracles.flip import LabelFlip

    subject, plan, method = standard_subject(), Plan(3, Budget(candidates=2_000)), Themis(margin=0.0, batch=400)
    folder = RunFolder.for_header(base, header_of("scan", subject, "planted", plan).for_run(method))
    done = run(method, subject, plan, folder)
    if folder.result is None:
        folder.finish(done.as_dict())
    for each in witness.witnesses_of(done.findings[:5], subject.rows, Hearing(subject.domain, subject.model, LabelFlip())):
        picture = data_uri(np.random.default_rng(0).integers(0, 255, (16, 16, 3), dtype=np.uint8))  # as of rows that show pictures
        witness.save(replace(each, pictures={"person": picture, "twin": picture}), folder.path / "witnesses")
    return folder.path


def _read_everything(home: Path) -> None:
    from evenhand.engine import witness
    from evenhand.engine.store import RunFolder

    folder = RunFolder.open(home)
    folder.journal()
    folder.findings()
    _ = folder.result
    folder.events()
    for file in (home / "witnesses").glob("*.json"):
        witness.load(file)


def main() -> None:
    """Print the figures; write them where the user wants them."""
    chosen = options(__doc__ or "", PARTS)
    parts: dict[str, Callable[[], dict[str, Any]]] = {
        "million": lambda: init_figures(seed=chosen.seed),
        "budgets": lambda: overrun_figures(QUICK if chosen.quick else FULL, chosen.seed),
        "kinds": kind_figures,
        "miswired": miswiring_figures,
        "sensible": lambda: sensible_figures(60 if chosen.quick else 200, chosen.seed),
        "hostile": hostile_figures,
        "flips": lambda: flip_figures(300 if chosen.quick else 1000, chosen.seed),
    }
    figures: dict[str, Any] = {}
    for name in PARTS:
        figures |= parts[name]() if not chosen.only or name in chosen.only else {}
    write_figures(figures, chosen.json)


if __name__ == "__main__":
    main()
