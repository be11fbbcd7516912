"""What DeepFAIT's tables and LIMI's pictures rest on: chains on drawn portraits, as plain values."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))

import torch
from contact_picture import widest
from deepfait import GENERATORS, ChainPlan, Generated, PictureChain, figure_3, figure_4, generated, run_chain
from deepfait_mending import EnhancementTrial, remedy, unfair_of
from picture_pairs import judge, make_pairs
from picture_sheets import captioned

from evenhand.measures.neurons.adequacy import MEASURES
from evenhand.media.album import as_bytes
from evenhand.media.editors.rerender import Rerender
from evenhand.methods.limi_pictures import LimiPictures
from evenhand.models.picture_training import Course, train
from evenhand.planted.portraits import synthetic_faces
from parts.face_harvest import BIASES, FULL, QUICK, plan_of
from parts.face_mutants import mutants_of_seed
from parts.face_tables import top_gap

SMALL = replace(QUICK, training=560, testing=220, epochs=5, seeds_of_generation=60, strategies=("none", "random", "cosine"))


def chain_of(is_quick: bool, architecture: str, attribute: str, seed: int) -> PictureChain:
    """The whole chain on portraits of its own."""
    torch.set_num_threads(1)
    size = SMALL if is_quick else FULL
    plan: ChainPlan = replace(plan_of(replace(size, seeds=2), attribute, architecture, seed), jury=0)
    return run_chain(plan)


def chain_values(is_quick: bool, architecture: str, attribute: str, seed: int) -> dict[str, Any]:
    """Everything that Tables 1, 3, 4, 5 and Figures 3, 4, 6 show of one classifier."""
    chain = chain_of(is_quick, architecture, attribute, seed)
    assert chain.before is not None
    return {
        "accuracy": chain.accuracy,
        "unfair": chain.test_pairs.share.estimate,
        "layers": {
            name: {
                "neurons": study.neurons,
                "related": int(study.test.related().sum()),
                "printed": int(study.test.related(printed=True).sum()),
                "corrected": int(study.test.related(rule="benjamini-hochberg").sum()),
                "share of H in the top tenth": _top_share(study.test.corrected),
            }
            for name, study in chain.studies.items()
        },
        "gaps": {name: top_gap(chain, name) for name in ("DeepFAIT", "DeepImportance", "activation")},
        "coverages": chain.coverages,
        "generated": {name: found.share.estimate for name, found in chain.generated.items()},
        "before": chain.before.fair_share,
        "remedies": {each.strategy: [each.fair_share, each.mended, each.accuracy - chain.before.accuracy] for each in chain.remedies},
        "validation": validation(chain, seed),
        "figure 3": figure_3(chain),
        "figure 4": figure_4(chain),
    }


def _top_share(values: Any) -> float:
    """How much of the sum the largest tenth has."""
    ordered = np.sort(np.asarray(values))[::-1]
    return float(ordered[: max(1, len(ordered) // 10)].sum() / max(ordered.sum(), 1e-9))


def validation(chain: PictureChain, seed: int) -> dict[str, dict[str, float]]:
    """The paper's validation sets: unfair pairs of the test set and of what each generator makes of fair test pairs, and the share of each
    that a further training mends."""
    editor, plan = Rerender(chain.plan.attribute), chain.plan
    rng = np.random.default_rng([seed, 77])
    album = synthetic_faces(plan.testing, rng, plan.size, plan.biases)
    judged = judge(make_pairs(album, editor), chain.classifier)
    seeds = album.known(plan.attribute)[np.flatnonzero(~judged.unfair)[: plan.seeds_of_generation]]
    sets = {"test set": unfair_of(judged)} | {
        name: unfair_of(generated(method, seeds, editor, chain.classifier, seed).unfair) for name, method in GENERATORS.items()
    }
    training = synthetic_faces(plan.training // 2, np.random.default_rng([seed, 78]), plan.size, plan.biases)
    study = chain.studies[chain.classifier.layers()[-1]]
    pool = chain.generated["GG"].unfair.pairs
    trial = EnhancementTrial(training, pool, study, album, judged.pairs, sets["test set"], chain.training_pairs.pairs, share=0.1)
    told = {}
    for strategy in plan.strategies:
        mended = remedy(strategy, chain.classifier, trial, np.random.default_rng([seed, 79]))[1]
        told[strategy] = {name: 1.0 - float(judge(pairs, mended).unfair.mean()) for name, pairs in sets.items() if len(pairs)}
    return told


def mutant_values(is_quick: bool, seed: int) -> list[dict[str, Any]]:
    """Figure 5: coverages of fair pairs and fairness of mutated classifiers."""
    size = replace(SMALL, mutants=6, testing=420) if is_quick else replace(FULL, training=800, testing=320, epochs=5)
    return [
        {"architecture": each.architecture, "attribute": each.attribute, "rows": each.rows.tolist()} for each in mutants_of_seed(size, seed)
    ]


MEASURE_NAMES = tuple(MEASURES)


LIMI_SPACES = {"pca": "principal components", "adversarial": "a GAN trained here"}
LIMI_SIDE = 32


def limi_pictures(is_quick: bool, space: str, seed: int) -> dict[str, Any]:
    """LIMI's pictures: tests on the boundary of a classifier of drawn portraits, whose twins are latent reflections."""
    torch.set_num_threads(1)
    counts, rng = (1_000, 600, 1_000, 2_000) if is_quick else (2_000, 1_200, 10_000, 50_000), np.random.default_rng([seed, 31])
    training, learnt, drawn, points = counts
    classifier = train("vgg", synthetic_faces(training, rng, LIMI_SIDE, BIASES), rng, Course(epochs=5))
    album = synthetic_faces(learnt, np.random.default_rng([seed, 32]), LIMI_SIDE)
    probed = generated(LimiPictures(drawn=drawn, points=points, space=space), album, Rerender("tone"), classifier, seed)
    return {
        "share": probed.share.estimate,
        "low": probed.share.low,
        "high": probed.share.high,
        "points": probed.share.n,
        "hits": round(probed.share.estimate * probed.share.n),
        "picture": _shown_pairs(probed),
    }


SHOWN_PAIRS = 8


def _shown_pairs(probed: Generated) -> str:
    """Some of the pairs that get two answers, widest gap first: above the picture, below its twin, each with the answer."""
    chosen = widest(probed.unfair, SHOWN_PAIRS)
    if not len(chosen):
        return ""
    judged = probed.unfair
    pictures = [*as_bytes(judged.pairs.first[chosen]), *as_bytes(judged.pairs.second[chosen])]
    captions = [judged.classes[int(label)] for labels in judged.labels for label in labels[chosen]]
    return captioned(pictures, captions, len(chosen), 96)
