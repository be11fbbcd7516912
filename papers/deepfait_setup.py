"""DeepFAIT's tables and figures that hold no result: parameters and overviews."""

from __future__ import annotations

import inspect

from redone import Effort, Redone
from setups import Setting, compared, defaults, overview

from evenhand.measures.neurons.adequacy import BINS, TOP
from evenhand.measures.neurons.kruskal import KruskalWallis
from evenhand.media.editors.cyclegan import CycleSettings
from evenhand.methods.gaussian_injection import GaussianInjection
from evenhand.methods.gradient_generation import GradientGeneration
from evenhand.methods.random_generation import RandomGeneration

figure_1 = overview("deepfait-figure-1")
figure_2 = overview("deepfait-figure-2")


def table_2(effort: Effort) -> Redone:  # noqa: ARG001 - as every maker is called
    """DeepFAIT's parameters."""
    cycle, noise = defaults(CycleSettings), defaults(GaussianInjection)
    random, gradient = defaults(RandomGeneration), defaults(GradientGeneration)
    alpha = inspect.signature(KruskalWallis.related).parameters["alpha"].default
    return compared(
        [
            Setting("gamma", "weight of the identity loss in CycleGAN", 5, cycle["gamma"]),
            Setting("eta", "weight of the cycle loss in CycleGAN", 10, cycle["eta"]),
            Setting("alpha", "significance level", 0.05, alpha),
            Setting("step_size, RG", "step of a perturbation, of 255", 5, random["step_size"]),
            Setting("step_size, GG", "step of a perturbation, of 255", 5, gradient["step_size"]),
            Setting("mu", "mean of the noise in GI", 0, noise["mean"]),
            Setting("sigma", "standard deviation of the noise in GI", 7, noise["deviation"]),
            Setting("maxIt", "iterations of generation at most", 10, gradient["steps"]),
            Setting("topK", "neurons that get a distance", 10, TOP),
            Setting("Z", "bins of coverage", 1000, BINS),
        ],
        "published",
    )
