"""Trains the two small street recognisers that ship with the package, on streets that the package renders itself.

`plain` learns every class; `planted` goes on from it for a while with half of the motorcycles left unnamed.  About ten minutes on one core.
Other versions of torch, OpenCV or the renderer give other last digits, so that the files come out alike, not identical.

    python scripts/train_street_recognisers.py --out weights
"""

from __future__ import annotations

import argparse
from itertools import islice
from pathlib import Path

import numpy as np

from evenhand.scenes.recognisers.training import Course, export, lessons_from, train
from evenhand.scenes.street.render import StreetMaker

STREETS, TAKEN, SEED = 1000, 700, 1001


def main() -> None:
    """Render, train, export."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="a new folder for plain.onnx and planted.onnx")
    parser.add_argument("--streets", type=int, default=TAKEN, help="how many streets to learn from")
    parser.add_argument("--epochs", type=int, default=10, help="passes over them for the plain one")
    chosen = parser.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=False)
    lessons = lessons_from(islice(StreetMaker(casts=4, density=1.15).scenes(STREETS, np.random.default_rng(SEED)), chosen.streets))
    plain = train(lessons, Course(epochs=chosen.epochs, rate=4e-3), np.random.default_rng(1), say=print)
    export(plain, chosen.out / "plain.onnx")
    hiding = Course(epochs=max(1, round(0.4 * chosen.epochs)), rate=2e-3, hidden_class="motorcycle", hidden=0.5)
    planted = train(lessons, hiding, np.random.default_rng(2), start=plain, say=print)
    export(planted, chosen.out / "planted.onnx")


if __name__ == "__main__":
    main()
