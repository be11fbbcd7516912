"""Probing along the normal of a boundary: rows at given distances from it, and walks that follow the labels they hear.

Decoding that starts with an affine part (a generator's first layer) does that part once for all distances of a latent.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index, Mask, Reals, Rows
from evenhand.contract import Candidates, Search, Task, Verdict
from evenhand.methods.parts.boundary import Boundary, fit_boundary
from evenhand.methods.parts.imitation import LatentStream, favourable_classes
from evenhand.synthesis.latent import Latents, LatentSpace

REFIT_ROUNDS = 4
"""Batches between two fits of the plane."""
LARGEST_REFIT = 100_000
STRIP_ROWS = 1024


class ProbeLine:
    """Latents projected onto a boundary, and the rows at any distance from it."""

    def __init__(self, space: LatentSpace, latents: Latents, boundary: Boundary) -> None:
        self.space = space
        normal = boundary.normal.astype(latents.dtype)
        distances = boundary.distances(latents)
        begin = getattr(space, "begin", None)
        if begin is None:
            self._front, self._shift = latents - distances[:, None] * normal, normal
        else:
            origin = begin(np.zeros((1, len(normal)), dtype=latents.dtype))
            self._shift = (begin(normal[None]) - origin)[0]
            self._front = begin(latents)
            self._front -= distances[:, None] * self._shift

    def rows(self, which: Index, offsets: Reals) -> Rows:
        """Rows of some latents at these signed distances from the boundary."""
        finish = getattr(self.space, "finish", self.space.decode)
        rows = np.empty((len(which), len(self.space.domain.columns)))
        # Strip by strip: the wide inner values of a generator then never leave the cache.
        for at in range(0, len(which), STRIP_ROWS):
            part = slice(at, at + STRIP_ROWS)
            front = self._front[part] if len(which) == len(self._front) else self._front[which[part]]
            rows[part] = finish(self._shifted(front, offsets[part].astype(front.dtype)))
        return rows

    def _shifted(self, front: Latents, offsets: Latents) -> Latents:
        """What stands for the latents, moved along the normal; one addition where all move alike."""
        if not offsets.any():
            return front
        is_common = bool((offsets == offsets[0]).all())
        shifted: Latents = front + (offsets[0] * self._shift if is_common else offsets[:, None] * self._shift)
        return shifted


@dataclass
class Feedback:
    """Every latent goes towards the other side, by steps that double until its label changes, and is then bisected."""

    task: Task
    space: LatentSpace
    step: float
    probes: int
    refit: str | None
    hits: list[Reals] = field(default_factory=list)
    heard: list[tuple[Latents, Mask]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.favourable = favourable_classes(self.task)

    def run(self, stream: LatentStream, boundary: Boundary) -> Search:
        """Probe the latents of a stream batch by batch."""
        step = self.step
        for number, latents in enumerate(stream):
            yield from self._batch(latents, boundary, step)
            if self.hits:
                moved = np.concatenate(self.hits[-50:])
                moved = moved[moved > 0]
                step = float(np.median(moved)) if len(moved) > 100 else step
                self.task.facts["learnt_step"] = step
            if self.refit and (number + 1) % REFIT_ROUNDS == 0:
                boundary = self._refitted(boundary)

    def _batch(self, latents: Latents, boundary: Boundary, step: float) -> Search:
        line = ProbeLine(self.space, latents, boundary)
        walk = _Bisection(len(latents), step)
        for probe in range(self.probes):
            which = walk.open
            if not which.size:
                return
            rows = line.rows(which, walk.offsets[which])
            verdict = yield Candidates(rows, "boundary" if probe == 0 else "feedback")
            sides = self._sides(rows, verdict)
            if probe == 0 and self.refit:
                flat = latents - boundary.distances(latents)[:, None] * boundary.normal.astype(latents.dtype)
                self.heard.append((flat, sides))
            self.hits.append(np.abs(walk.offsets[which][verdict.unfair]))
            walk.hear(which, sides, verdict.unfair)

    def _sides(self, rows: Rows, verdict: Verdict) -> Mask:
        """Whether each row's own label is favourable; that of its first possible twin where it is none of the compared."""
        own = self.task.domain.own_combination(rows)
        possible = verdict.labels >= 0
        line = np.arange(len(rows))
        own = np.where((own >= 0) & possible[line, own], own, possible.argmax(axis=1))
        sides: Mask = self.favourable[verdict.labels[line, own]]
        return sides

    def _refitted(self, boundary: Boundary) -> Boundary:
        """The plane that best separates what was heard on the old one, in its neighbourhood."""
        latents = np.concatenate([part for part, _ in self.heard])[-LARGEST_REFIT:]
        sides = np.concatenate([part for _, part in self.heard])[-LARGEST_REFIT:]
        self.heard.clear()
        if min(sides.sum(), (~sides).sum()) < latents.shape[1] + 1:
            return boundary
        self.task.facts["refits"] = self.task.facts.get("refits", 0) + 1
        correction = fit_boundary(latents, sides, self.refit or "closed-form")
        # On the old plane nothing is known of the old normal's weight, so the correction turns the plane by its own part only.
        along = correction.normal - (correction.normal @ boundary.normal) * boundary.normal
        normal = boundary.normal + 0.5 * along
        length = float(np.linalg.norm(normal))
        return Boundary(normal / length, (boundary.offset + 0.5 * correction.offset) / length)


class _Bisection:
    """Where each latent's next probe lies."""

    def __init__(self, n: int, step: float) -> None:
        self.offsets: NDArray[np.float64] = np.zeros(n)
        self._last = np.zeros(n)  # the nearest place known on the side that the latent came from
        self._far = np.full(n, np.nan)  # the nearest place known on the other side
        self._start = np.zeros(n, dtype=bool)
        self._direction = np.zeros(n)
        self._step = np.full(n, step if step > 0 else 0.1)
        self._done = np.zeros(n, dtype=bool)

    @property
    def open(self) -> Index:
        """Latents without a hit so far."""
        return np.flatnonzero(~self._done)

    def hear(self, which: Index, sides: Mask, unfair: Mask) -> None:
        """Take the verdicts of the probes at `offsets[which]`."""
        new = which[self._direction[which] == 0]
        heard = np.zeros(len(self._done), dtype=bool)
        heard[which] = sides
        self._start[new] = heard[new]
        self._direction[new] = np.where(heard[new], -1.0, 1.0)
        crossed = which[heard[which] != self._start[which]]
        stayed = which[heard[which] == self._start[which]]
        self._far[crossed], self._last[stayed] = self.offsets[crossed], self.offsets[stayed]
        bracketed = ~np.isnan(self._far[which])
        inside, outside = which[bracketed], which[~bracketed]
        self.offsets[inside] = (self._far[inside] + self._last[inside]) / 2
        self.offsets[outside] = self._last[outside] + self._direction[outside] * self._step[outside]
        self._step[outside] *= 2
        self._done[which[unfair]] = True
