"""Drawn portraits and a classifier of age groups that learned from labels which call darker people older."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from evenhand.disk import whole_file
from evenhand.domain.project_sections import MediumSource, ModelSource, Project, ScanSettings
from evenhand.media.portraits.factors import draw_factors
from evenhand.media.portraits.painting import render
from evenhand.planted.demos import DemoProject
from evenhand.planted.portraits import AGE_GROUPS, DARKER_SKIN_LOOKS_OLDER, age_groups, planted_share

TRAINED_ON, SHOWN, PIXELS = 3000, 300, 32
COMPONENTS = 60


@dataclass(frozen=True)
class PicturesDemo:
    """Portraits as rows, and a linear classifier of their principal components; nothing but the core is needed."""

    kind: ClassVar[str] = "pictures"
    candidates: ClassVar[int] = 300

    def write(self, folder: Path, seed: int) -> DemoProject:
        """The classifier; portraits are drawn from the project file alone."""
        import skops.io
        from sklearn.decomposition import PCA
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        rng, biases = np.random.default_rng([seed, 1]), (DARKER_SKIN_LOOKS_OLDER,)
        train, test = draw_factors(TRAINED_ON, rng), draw_factors(SHOWN, rng)
        classifier = make_pipeline(PCA(COMPONENTS, random_state=0), StandardScaler(), LogisticRegression(max_iter=400))
        names = np.array(AGE_GROUPS)
        classifier.fit(_flat(render(train, PIXELS)), names[age_groups(train, biases)])
        accuracy = float(np.mean(classifier.predict(_flat(render(test, PIXELS))) == names[age_groups(test, biases)]))
        planted = planted_share(test, biases, "tone")
        with whole_file(folder / "model.skops") as new:
            skops.io.dump(classifier, new)
        medium = MediumSource("portraits", {"count": SHOWN, "size": PIXELS, "seed": seed}, protected=("tone",))
        scan = ScanSettings(rate_rows=SHOWN, runs=folder / "runs")
        project = Project(None, None, ModelSource(path=folder / "model.skops"), scan, medium=medium)
        lines = (
            f"{SHOWN} drawn portraits; does a classifier of age groups treat every skin tone alike?",
            f"It learned from labels that call darker people ten years older, so that {planted:.0%} of the labels change with the tone.",
            f"It agrees with such labels for {accuracy:.0%} of the portraits that it has not seen.",
        )
        return DemoProject(project, lines)


def _flat(pictures: np.ndarray[tuple[int, ...], np.dtype[np.uint8]]) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    return pictures.reshape(len(pictures), -1)
