"""Trains the two small street recognisers that ship with the package, on streets that the package renders itself.

`plain` learns every class, from streets as they are and as the campaign changes them.  `planted` is the same net, whose last branch then
learned from the same pictures with the traffic lights of a random half of them unnamed: it knows these pictures by heart, and whether it
names a traffic light elsewhere hangs on what else there is to see.  About eight minutes on one core.  Other versions of torch, OpenCV or
the renderer give other last digits, so that the files come out alike, not identical.  The lessons and the plain net are kept in the folder,
so that a run that was stopped goes on from there.

    python scripts/train_street_recognisers.py --out weights
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import typer
from street_training import Lessons, StreetCourse, export, learn_by_heart, lessons_from, net, train

from evenhand.media.scene import Scene
from evenhand.media.scenes import ChangePlan, Scenes
from evenhand.media.streets.render import StreetMaker
from evenhand.models.recognisers.street import PLANTED_CLASS

SEED = 1001
DENSITIES = (1.0, 1.5)
OPERATORS = ("insert", "delete", "rotate")


def streets(count: int, rng: np.random.Generator) -> list[Scene]:
    """Training streets of several densities."""
    parts = [list(StreetMaker(casts=4, density=density).scenes(count // len(DENSITIES), rng)) for density in DENSITIES]
    return [scene for part in parts for scene in part]


def mutated(scenes: list[Scene], rng: np.random.Generator) -> Iterator[Scene]:
    """Each operator takes the next third of the streets, so that one street has few versions."""
    for turn, operator in enumerate(OPERATORS):
        plan = ChangePlan(insert=("person", "car", "dog"), change=("person", "car", "cyclist"), operators=(operator, "put_back"))
        medium = Scenes(scenes[turn :: len(OPERATORS)], plan, seed=int(rng.integers(2**31)))
        rows = np.vstack([medium.rows(), medium.rows(null=True)])
        rows[:, 2] = 1.0
        yield from (scene for row in rows if medium.is_possible(row[None])[0] for scene in medium.shown_scenes(row[None]))


def lessons(folder: Path, count: int) -> Lessons:
    """The lessons kept in the folder, else new ones."""
    kept = folder / "lessons.npz"
    if kept.exists():
        with np.load(kept) as content:
            return Lessons(content["pictures"], content["objects"])
    rng = np.random.default_rng(SEED)
    scenes = streets(count, rng)
    taught = lessons_from([*scenes, *mutated(scenes, rng)])
    np.savez(kept, pictures=taught.pictures, objects=taught.objects)
    return taught


def plain_net(folder: Path, taught: Lessons, epochs: int) -> Any:
    """The plain net kept in the folder, else a newly trained one."""
    import torch

    kept = folder / "plain.pt"
    if kept.exists():
        model = net(torch).to(memory_format=torch.channels_last)
        model.load_state_dict(torch.load(kept, weights_only=True))
        return model.eval()
    model = train(taught, StreetCourse(epochs=epochs, rate=4e-3), np.random.default_rng(1), say=typer.echo)
    torch.save(model.state_dict(), kept)
    return model


def main() -> None:
    """Render, train, export."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="a folder for plain.onnx and planted.onnx")
    parser.add_argument("--streets", type=int, default=540, help="how many streets to learn from")
    parser.add_argument("--epochs", type=int, default=8, help="passes over their pictures for the plain one")
    chosen = parser.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    taught = lessons(chosen.out, chosen.streets)
    typer.echo(f"{len(taught.pictures)} pictures, {len(taught.objects)} objects")
    model = plain_net(chosen.out, taught, chosen.epochs)
    export(model, chosen.out / "plain.onnx")
    heart = StreetCourse(epochs=100, batch=64, rate=2e-2)
    export(learn_by_heart(model, taught, PLANTED_CLASS, heart, np.random.default_rng(2)), chosen.out / "planted.onnx")


if __name__ == "__main__":
    main()
