"""The Adult census table and the papers' network: are women and men treated alike?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from evenhand import datasets
from evenhand.disk import whole_file
from evenhand.domain.project_sections import DataSource, ModelSource, Project
from evenhand.models import zoo
from evenhand.planted.demos import DemoProject


@dataclass(frozen=True)
class CensusDemo:
    """People of the census, and a network that predicts their income."""

    kind: ClassVar[str] = "table"
    candidates: ClassVar[int] = 100_000

    def write(self, folder: Path, seed: int) -> DemoProject:
        """The test half of the table, and the network trained on the other."""
        adult = datasets.adult()
        train, test = adult.split(0.25, np.random.default_rng(seed))
        model = zoo.load_or_train("mlp", train.rows, train.labels, adult.domain, seed)
        accuracy = float(np.mean(model.scores(test.rows).argmax(axis=1) == test.labels))
        with whole_file(folder / "people.parquet") as new:
            test.frame[[*test.domain.names, test.label]].to_parquet(new, index=False)
        model.save(folder / "model.npz")  # type: ignore[attr-defined]
        project = Project(test.domain.protect("sex"), DataSource(folder / "people.parquet"), ModelSource(path=folder / "model.npz"))
        lines = (
            f"Adult census: {len(adult):,} people, {len(adult.domain.columns)} columns; does the model treat women and men alike?",
            f"The model predicts the income of people it has not seen with an accuracy of {accuracy:.1%}.",
        )
        return DemoProject(project, lines)
