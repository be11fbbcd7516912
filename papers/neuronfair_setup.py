"""NeuronFair's tables and figures that hold no result: data, parameters, an example, overviews."""

from __future__ import annotations

import numpy as np
from hunts import Hunt, caught, subject_for
from redone import Effort, Grid, Redone
from setups import FIXED, LOST, Setting, compared, defaults, overview

from evenhand.arrays import Rows
from evenhand.domain.tabular import TabularDomain
from evenhand.methods.neuronfair import NeuronFair
from parts.whitebox_tables import TABLES

figure_2 = overview("neuronfair-figure-2")
figure_4 = overview("neuronfair-figure-4")


def table_2(effort: Effort) -> Redone:  # noqa: ARG001 - as every maker is called
    """NeuronFair's parameters."""
    own = defaults(NeuronFair)
    return compared(
        [
            Setting("n_c", "clusters for the global phase", 4, own["clusters"]),
            Setting("num_g", "seeds of the global phase", 1000, own["seeds"]),
            Setting("max_iter, global", "iterations for each seed", 40, own["iterations"]),
            Setting("max_iter, local", "iterations for each finding", 1000, own["local_steps"]),
            Setting("step size", "of each iteration", 1.0, own["step"]),
            Setting("decay, global", "of the momentum", 0.1, own["decay"]),
            Setting("decay, local", "of the momentum", 0.05, own["local_decay"]),
            Setting("p_r", "share of random neurons", 0.05, own["random_share"]),
            Setting("r_step", "steps between their draws", 1, own["random_every"]),
        ],
        "in code that repeats the paper",
    )


PROTECTED = {"census": "sex, race, age", "credit": "sex, age", "bank": "age", "compas": "sex, race, age", "meps": "SEX, RACE, AGE"}


def table_1(effort: Effort) -> Redone:  # noqa: ARG001 - as every maker is called
    """The tables of data."""
    rows = []
    for name, load in TABLES.items():
        given = load("papers")
        rows.append([name, f"{len(given.rows):,}", str(given.rows.shape[1]), PROTECTED[name], f"{100 * given.labels.mean():.1f}"])
    return Redone(
        (Grid("Tables in the papers' integer coding", ["data", "rows", "columns", "sensitive attributes", "label 1 in percent"], rows),),
        (
            Grid(
                "In words",
                ["text"],
                [[f"Adult, German Credit, Bank Marketing, COMPAS, MEPS; CelebA and LFW, each with ImageNet. {LOST}"]],
            ),
        ),
        differs=("The sets of pictures are drawn here: see Tables 3, 10 and 11.",),
        seeds="none",
        interval=FIXED,
    )


def figure_1(effort: Effort) -> Redone:
    """A person who is treated fairly, the smallest bias that a finding adds, and the pair that it gives."""
    hunt = Hunt("adf", "census", ("sex",), "neuronfair", 0, candidates=effort.choose(5_000, 50_000))
    subject, found = subject_for(hunt), caught(hunt, effort.cells)
    assert subject.rows is not None
    label = lambda rows: subject.model.scores(rows).argmax(axis=1)  # noqa: E731
    at = subject.domain.protected_places[0]
    real = subject.rows
    fair = real[label(real) == label(_flipped(real, at))]
    apart = np.array([(np.delete(fair, at, axis=1) != np.delete(row, at)).sum(axis=1) for row in found.kept])
    place, near = np.unravel_index(int(apart.argmin()), apart.shape)
    normal, finding = fair[near : near + 1], found.kept[place : place + 1].copy()
    finding[:, at] = normal[:, at]
    people = {"x": normal, "x'": _flipped(normal, at), "x_d = x + bias": finding, "x'_d": _flipped(finding, at)}
    answers = {name: subject.domain.label.values[int(label(row)[0])] for name, row in people.items()} if subject.domain.label else {}
    rows = [[name, *_cells(row, subject.domain), str(answers.get(name, ""))] for name, row in people.items()]
    steps = int(apart.min())
    return Redone(
        (Grid("A normal pair and a discriminatory pair", ["", *(c.name for c in subject.domain.columns), "answer"], rows),),
        (Grid("In words", ["figure"], [["A normal pair, which gets one label, and a bias that is added to both: the labels part."]]),),
        agrees=(f"A bias in {steps} of {len(subject.domain.columns) - 1} attributes parts the pair; both people stand in the domain.",),
        differs=("The figure is a sketch; this is the finding of 1,000 that lies nearest to a person of the table.",),
        seeds="0",
        interval="One example.",
    )


def _flipped(rows: Rows, at: int) -> Rows:
    other = rows.copy()
    other[:, at] = 1 - other[:, at]
    return other


def _cells(row: Rows, domain: TabularDomain) -> list[str]:
    return [f"{value:g}" for value in row[0][: len(domain.columns)]]
