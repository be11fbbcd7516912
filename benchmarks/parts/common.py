"""What the benchmark scripts share: the options, the papers' data when it is at hand, CPU timing, and the figures file."""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")  # before NumPy is loaded: figures are for one thread
threadpool_limits(1)  # and for a NumPy that was loaded before this module


def options(description: str, parts: tuple[str, ...] = ()) -> argparse.Namespace:
    """--quick, --json FILE, --seed; --only PART where there are parts."""
    parser = argparse.ArgumentParser(description=description)
    if parts:
        parser.add_argument("--only", choices=parts, action="append", help="measure only this part; repeat for several")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="a smaller part of everything: a minute or two, of some scripts five; their description says so",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures as one flat object")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def papers_data() -> Path | None:
    """The papers' data and published nets: $EVENHAND_DATA, else ../shared/data beside the repository; None where absent."""
    given = os.environ.get("EVENHAND_DATA")
    path = Path(given) if given else Path(__file__).resolve().parents[3] / "shared" / "data"
    return path if (path / "models").is_dir() else None


def cpu(work: Callable[[], Any], times: int = 1) -> tuple[float, Any]:
    """The best CPU time of several tries, and the last result."""
    best, result = float("inf"), None
    for _ in range(times):
        started = time.process_time()
        result = work()
        best = min(best, time.process_time() - started)
    return best, result


def write_figures(figures: dict[str, Any], path: Path | None) -> None:
    """Print the figures; write them where the user wants them."""
    for name, value in figures.items():
        print(f"{name:40} {value}")
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
