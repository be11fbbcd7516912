"""LIMI's ablation: the same probing along a plane whose direction is drawn at random instead of fitted to the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from cells import Cells
from hunts import Hunt, subject_for

from evenhand.contract import Candidates, Model, Search, Task
from evenhand.engine.run import Plan, run
from evenhand.methods.parts.boundary import Boundary
from evenhand.methods.parts.latent_at_hand import space_named
from evenhand.methods.parts.probing import ProbeLine
from evenhand.models.budget import Budget


@dataclass(frozen=True)
class RandomPlane:
    """Latents are moved onto a plane through the origin with a random normal, then `step` to either side; the first hit counts."""

    space: str = "chained-trees"
    step: float = 0.3
    batch: int = 4096

    needs: ClassVar[type] = Model
    media: ClassVar[tuple[str, ...]] = ("table",)

    def search(self, task: Task, rng: np.random.Generator) -> Search:
        """Probe until the budget ends."""
        space = space_named(self.space, task, rng)
        normal = rng.normal(size=space.latents(1, rng).shape[1])
        plane = Boundary(normal / np.linalg.norm(normal), 0.0)
        while n := task.fitting(self.batch):
            latents = space.latents(n, rng)
            line, missed = ProbeLine(space, latents, plane), np.arange(len(latents))
            for phase, offset in (("boundary", 0.0), ("plus", self.step), ("minus", -self.step)):
                if missed.size:
                    verdict = yield Candidates(line.rows(missed, np.full(len(missed), offset)), phase)
                    missed = missed[~verdict.unfair]


def random_findings(hunt: Hunt, cells: Cells) -> int:
    """How many a random plane finds where LIMI's would be searched along by this hunt."""
    parameters = {"protected": hunt.protected, "space": hunt.space, "tests": hunt.candidates, "seed": hunt.seed}
    return int(cells.take("random-plane", parameters, lambda: _findings(hunt)))


def _findings(hunt: Hunt) -> int:
    probing = RandomPlane(hunt.space or "chained-trees", 0.3)
    return run(probing, subject_for(hunt), Plan(hunt.seed, Budget(candidates=hunt.candidates))).ledger.findings
