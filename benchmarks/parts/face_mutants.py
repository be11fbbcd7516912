"""Whether coverage and fairness go together over mutated classifiers: DeepFAIT's fifth figure."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from deepfait_neurons import LayerStudy, pair_measures, study_layers
from mutated_copies import OPERATORS, mutate
from picture_pairs import PicturePairs, judge, make_pairs

from evenhand.measures.neurons.adequacy import MEASURES
from evenhand.media.editors.rerender import Rerender
from evenhand.models.picture_training import Course, train
from evenhand.planted.portraits import (
    synthetic_faces,
)
from evenhand.report.charts.canvas import standalone
from evenhand.report.charts.heat_maps import HeatMap, heat_map
from parts.face_harvest import BIASES, FAIR_PAIRS, Book, Remembered, Size


@dataclass(frozen=True)
class Mutants:
    """Mutated copies of one classifier: a row each, the five coverages of its fair pairs and then its fairness."""

    architecture: str
    attribute: str
    seed: int
    rows: Any

    @property
    def correlation(self) -> Any:
        """Correlations of the columns."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.corrcoef(self.rows.T)


def mutants_of_seed(size: Size, seed: int) -> list[Mutants]:
    """Train both classifiers with planted bias and mutate them, for each attribute."""
    torch.set_num_threads(1)
    rngs, found = np.random.default_rng(500 + seed).spawn(4), []
    training, test = (synthetic_faces(count, rng, 64, BIASES) for count, rng in zip((size.training, size.testing), rngs[:2], strict=True))
    editors = {name: Remembered(Rerender(name)) for name in size.attributes}
    for architecture in size.architectures:
        classifier = train(architecture, training, rngs[2], Course(epochs=size.epochs))
        layer = classifier.layers()[-1]
        for attribute, editor in editors.items():
            study = study_layers(classifier, judge(make_pairs(training[:400], editor), classifier), [layer])[layer]
            rows = mutant_rows(study, classifier, (make_pairs(test, editor), size.mutants), rngs[3])
            found.append(Mutants(architecture, attribute, seed, rows))
            shown = ", ".join(f"{name} {r:+.2f}" for name, r in zip(MEASURES, found[-1].correlation[-1], strict=False))
            print(f"  seed {seed}, {architecture}, {attribute}, {len(rows)} mutants: {shown}", flush=True)
    return found


def mutant_rows(study: LayerStudy, classifier: Any, tested: tuple[PicturePairs, int], rng: np.random.Generator) -> Any:
    """Coverage of equally many fair pairs, and fairness, of every mutant that has as many as that."""
    rows, (pairs, mutants) = [], tested
    for operator in OPERATORS:
        for number in range(mutants):
            mutant = mutate(classifier, operator, 0.04 + 0.36 * number / max(1, mutants - 1), rng)
            judged = judge(pairs, mutant)
            fair = np.flatnonzero(~judged.unfair)
            if len(fair) >= FAIR_PAIRS:
                found = pair_measures(study, mutant, pairs[fair[:FAIR_PAIRS]])
                rows.append([*(study.ruler.coverage(found, m) for m in MEASURES), 1.0 - judged.unfair.mean()])
    return np.array(rows)


def mean_correlation(values: Any) -> str:
    """Mean over the seeds with Student's 95 % interval, both taken on Fisher's z."""
    from scipy.stats import t

    turned = np.arctanh(np.asarray(values))
    reach = t.ppf(0.975, len(turned) - 1) * turned.std(ddof=1) / np.sqrt(len(turned))
    middle, low, high = np.tanh([turned.mean(), turned.mean() - reach, turned.mean() + reach])
    return f"{middle:+.2f} ({low:+.2f} to {high:+.2f})"


def correlation(book: Book, size: Size, workers: int) -> None:
    """Figure 5: coverage of fair pairs against the fairness of mutated models, over the seeds."""
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        tell_correlation(book, [each for part in pool.map(mutants_of_seed, [size] * size.seeds, range(size.seeds)) for each in part])


def tell_correlation(book: Book, found: list[Mutants]) -> None:
    """Figure 5 as a table with intervals over the seeds, and as pictures of the mean correlations."""
    book.say("### Correlation of coverage with fairness over mutated models (Figure 5): mean over seeds and 95 % interval")
    rows = []
    for kind, attribute in dict.fromkeys((each.architecture, each.attribute) for each in found):
        these = [each for each in found if (each.architecture, each.attribute) == (kind, attribute)]
        fairness = np.concatenate([each.rows[:, -1] for each in these])
        cells = [mean_correlation([each.correlation[-1, place] for each in these]) for place in range(len(MEASURES))]
        rows.append([kind, attribute, str(len(fairness)), f"{100 * fairness.min():.0f} to {100 * fairness.max():.0f} %", *cells])
        title = f"{kind}, {attribute}: {len(fairness)} mutants, plain means"
        names, found_here = [*MEASURES, "fairness"], np.mean([each.correlation for each in these], axis=0).tolist()
        words = [[f"{value:.2f}" for value in line] for line in found_here]
        book.keep(f"figure_5_{kind}_{attribute}", standalone(heat_map(HeatMap(title, names, names, found_here, 1.0, words))))
    book.table(["classifier", "attribute", "mutants", "their fairness", *MEASURES], rows)
