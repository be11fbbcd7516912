"""LIMI: latents moved onto a flat imitation of the model's decision boundary, and a little to either side of it.

Paper: Xiao, Liu, Li, Liu, "Latent Imitator: Generating Natural Individual Discriminatory Instances for Black-Box Fairness
Testing", ISSTA 2023.

Agrees with the paper and its code: a million latents, labelled by the model; the most confident 50,000 of each class (at least
.7), the smaller class repeated; a linear SVM; one step onto its plane, then `step` to either side, first hit wins.  With
space="ctgan" the space is the published one too (128 noise numbers joined with the condition, generator in evaluation mode), but for
one thing: a CTGAN that is fitted here keeps a moving average of its generator's weights (`CtganSettings.average`; 0 is as published).

Differs: the default space is chained trees, which fit in a second, decode and invert exactly, and always give a boundary when there
is one.  All latents advance together.  The plane's offset is divided by |w| (Eq. 7 as printed divides it by one).  With a budget
below the million, as many latents are labelled as the budget may later probe, and of a budget of time no more than a third of it pays
for: where a million take longer than the whole search, nothing would ever be probed; probing goes on with latents that were not
labelled.  A model that only says labels has no
confidence: every latent then counts alike.  More than two classes are two sides, favourable and not.

Better beside it: probing="feedback" follows the label that was heard instead of trying both sides, bisects once the sides differ,
learns the length of the first step from earlier hits, and (`refit`) fits the plane again to what was heard beside it.  Where the
plane is useless (`facts["boundary"]["verdict"]` says so), `fallback` goes on with plain samples of the space.  `local` names
a method whose local phase goes on from LIMI's findings: the paper's scalability study with 1,000 seeds out of 40,000 candidates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.contract import Candidates, Model, Search, Task
from evenhand.errors import InvalidArgument
from evenhand.limits import Count, NotNegative, ShareBelowOne, check_limits
from evenhand.methods.parts.boundary import BOUNDARIES, Boundary
from evenhand.methods.parts.handover import first_findings, local_phase, method_class
from evenhand.methods.parts.imitation import Imitation, Recipe, imitate
from evenhand.methods.parts.latent_at_hand import space_named
from evenhand.methods.parts.probing import Feedback, ProbeLine
from evenhand.synthesis.latent import LatentSpace

SMALLEST_BATCH = 128
LABELLED = 1 / 3
"""The share of the budget that may go into the auxiliary set."""
PROBINGS = ("paper", "feedback")


@dataclass(frozen=True)
class Limi:
    """Latent imitation; the parameters are the paper's lambda (step), epsilon (confidence) and counts."""

    space: str = "chained-trees"
    latents: Count = 1_000_000
    confidence: ShareBelowOne = 0.7
    per_class: Count = 50_000
    boundary: str = "svm"
    step: NotNegative = 0.3
    probing: str = "paper"
    probes: Count = 5
    refit: bool = False
    fallback: bool = True
    local: str = ""
    seeds: Count = 1000
    global_candidates: Count = 40_000
    batch: Count = 8192

    needs: ClassVar[type] = Model
    media: ClassVar[tuple[str, ...]] = ("table", "portraits", "text")

    def __post_init__(self) -> None:
        check_limits(self)
        if self.boundary not in BOUNDARIES:
            raise InvalidArgument(f"boundary={self.boundary!r} must be one of {', '.join(BOUNDARIES)}")
        if self.probing not in PROBINGS:
            raise InvalidArgument(f"probing={self.probing!r} must be one of {', '.join(PROBINGS)}")

    def search(self, task: Task, rng: np.random.Generator) -> Search:
        """Imitate the boundary, then probe along it; with `local`, go on from what was found."""
        if not self.local:
            yield from self._global(task, rng)
            return
        method_class(self.local)  # a name that nothing bears is refused before anything is asked
        seeds = yield from first_findings(self._global(task, rng), self.seeds, self.global_candidates)
        task.facts["global_seeds"] = len(seeds)
        if len(seeds):
            yield from local_phase(self.local, seeds, task, rng)

    def _global(self, task: Task, rng: np.random.Generator) -> Search:
        space = space_named(self.space, task, rng)
        imitation = imitate(space, task, self._recipe(space, task, rng), rng)
        task.facts["space"] = space.name
        task.facts["boundary"] = imitation.facts
        if not imitation.is_useful and self.fallback:
            task.facts["fallback"] = f"plain samples of {space.name}, since there is no useful boundary to move to"
            yield from plain(space, task, self.batch, rng)
        elif imitation.boundary is not None:
            yield from self._probe(imitation, imitation.boundary, task)

    def _recipe(self, space: LatentSpace, task: Task, rng: np.random.Generator) -> Recipe:
        """The paper's million, or what the budget can use: a third of its rows or of its time may go into the auxiliary set."""
        fitting, left = task.fitting(self.latents), task.model.rows_left
        n = max(1, fitting if left is None else min(fitting, left // 3))
        # Several batches even of a small budget: else all of it would go into the first of the three probes.
        batch = min(self.batch, max(SMALLEST_BATCH, min(n, self._in_time(space, task, rng)) // 8))
        return Recipe(n, self.confidence, self.per_class, self.boundary, batch, LABELLED if task.deadline.is_set else 1.0)

    def _in_time(self, space: LatentSpace, task: Task, rng: np.random.Generator) -> int:
        """How many latents a third of the time labels: a few are drawn and labelled to see what one takes.  Without a clock, all."""
        if not task.deadline.is_set:
            return self.latents
        before = task.left()
        task.model.scores(space.decode(space.latents(SMALLEST_BATCH, rng)))
        after = task.left()
        return min(self.latents, int(LABELLED * after / max(1e-12, before - after)) * SMALLEST_BATCH)

    def _probe(self, imitation: Imitation, boundary: Boundary, task: Task) -> Search:
        if self.probing == "feedback":
            feedback = Feedback(task, imitation.stream.space, self.step, self.probes, self.boundary if self.refit else None)
            yield from feedback.run(imitation.stream, boundary)
            return
        for latents in imitation.stream:
            line = ProbeLine(imitation.stream.space, latents, boundary)
            missed = np.arange(len(latents))
            for phase, offset in (("boundary", 0.0), ("plus", self.step), ("minus", -self.step)):
                if not missed.size or (offset == 0.0 and phase != "boundary"):
                    break
                verdict = yield Candidates(line.rows(missed, np.full(len(missed), offset)), phase)
                missed = missed[~verdict.unfair]


def plain(space: LatentSpace, task: Task, batch: int, rng: np.random.Generator) -> Search:
    """Samples of the space until the budget ends."""
    while n := task.fitting(batch):
        yield Candidates(space.decode(space.latents(n, rng)), "population")
