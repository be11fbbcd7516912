"""Training further on chosen unfair pairs, with the controls that say whether the choice mattered.

Paper: P. Zhang et al., DeepFAIT, 2021, section 4, RQ3.  Plain further training moves the fairness score by itself, so every remedy is
reported beside "none" (further training without pairs) and "random" (pairs chosen by chance).  "twins" is not the paper's: training
pictures with their twins as they are, each twin under its picture's label.  Imported only by code that has torch.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from deepfait_neurons import LayerStudy, pair_measures
from picture_pairs import JudgedPairs, PicturePairs, judge

from evenhand.arrays import Index
from evenhand.contract import PictureModel
from evenhand.measures.neurons.adequacy import LAYER_MEASURES
from evenhand.media.album import Album, as_bytes
from evenhand.models.picture_training import Course, train_further
from evenhand.models.torch_pictures import TorchClassifier
from evenhand.repairs.parts.pair_selection import by_chance, k_multisection

STRATEGIES = ("none", "random", *LAYER_MEASURES, "twins")
FURTHER = Course(epochs=2, rate=5e-4)


@dataclass(frozen=True, eq=False)
class EnhancementTrial:
    """What a remedy is tried on: training pictures, pairs to choose from, and what it is scored by."""

    training: Album
    pool: PicturePairs  # unfair pairs generated from training pictures
    study: LayerStudy
    test: Album  # scored for accuracy
    test_pairs: PicturePairs  # scored for fairness: the share of pairs with one label
    unfair_pairs: PicturePairs  # unfair before; scored for the share that is mended
    twins: PicturePairs  # training pictures with their twins
    share: float = 0.1  # of the pool
    sections: int = 10


@dataclass(frozen=True)
class Remedy:
    """One further training and its scores."""

    strategy: str
    fair_share: float
    mended: float
    accuracy: float


def remedy(
    strategy: str, classifier: TorchClassifier, trial: EnhancementTrial, rng: np.random.Generator, course: Course = FURTHER
) -> tuple[Remedy, TorchClassifier]:
    """Choose pairs, train a copy further, score it."""
    count = max(1, round(trial.share * len(trial.pool)))
    added = _added(strategy, classifier, trial, count, rng)
    pictures = np.concatenate([trial.training.pictures, as_bytes(added.first), as_bytes(added.second)])
    labels = np.concatenate([trial.training.label.codes, np.tile(added.labels, 2)])
    further = train_further(classifier, pictures, labels, rng, course)
    return score(strategy, further, trial), further


def _added(strategy: str, classifier: TorchClassifier, trial: EnhancementTrial, count: int, rng: np.random.Generator) -> PicturePairs:
    """The pairs to train on; both pictures get the label of the first."""
    if strategy == "none":
        return trial.pool[:0]
    return trial.twins if strategy == "twins" else trial.pool[_chosen(strategy, classifier, trial, count, rng)]


def _chosen(strategy: str, classifier: TorchClassifier, trial: EnhancementTrial, count: int, rng: np.random.Generator) -> Index:
    values = np.zeros(len(trial.pool))
    if strategy == "random":
        return by_chance(values, count, rng)
    values = pair_measures(trial.study, classifier, trial.pool).measure(strategy)
    return k_multisection(values, count, trial.sections, rng)


def score(strategy: str, model: PictureModel, trial: EnhancementTrial) -> Remedy:
    """Fairness and accuracy of a model on what the trial holds out."""
    tested, mended = judge(trial.test_pairs, model), judge(trial.unfair_pairs, model)
    right = float(np.mean(model.scores(trial.test.pictures).argmax(axis=1) == trial.test.label.codes))
    return Remedy(strategy, 1.0 - float(tested.unfair.mean()), 1.0 - float(mended.unfair.mean()), right)


def unfair_of(*parts: JudgedPairs) -> PicturePairs:
    """The unfair pairs of several judged batches as one."""
    return PicturePairs.joined(*(part[part.unfair].pairs for part in parts))
