"""The steps that the papers' overview figures draw, and where each of them stands in this repository."""

from __future__ import annotations

import importlib
import inspect
from dataclasses import dataclass


@dataclass(frozen=True)
class OverviewStep:
    """A step in the paper's words, and its place: `module:name`."""

    published: str
    place: str

    @property
    def meaning(self) -> str:
        """The first sentence that the code says about itself."""
        module, _, name = self.place.partition(":")
        thing = importlib.import_module(module)
        for part in filter(None, name.split(".")):
            thing = getattr(thing, part)
        return " ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split())


OVERVIEWS: dict[str, tuple[OverviewStep, ...]] = {
    "limi-figure-1": (
        OverviewStep("a generator learnt from the auxiliary data", "evenhand.synthesis.ctgan:Ctgan"),
        OverviewStep("latents labelled by the target model, the confident ones kept", "evenhand.methods.limi:Limi"),
        OverviewStep("the surrogate boundary: a linear SVM between them", "evenhand.methods.parts.boundary:fit_boundary"),
        OverviewStep("random latents moved onto the boundary in one step", "evenhand.methods.parts.boundary:Boundary"),
        OverviewStep("two further candidates, a step to either side", "evenhand.methods.parts.probing"),
    ),
    "neuronfair-figure-2": (
        OverviewStep("ActDiff of every neuron between an instance and its twin", "evenhand.measures.neurons.bias:measure_bias"),
        OverviewStep("the AS curve and the area below it", "evenhand.measures.neurons.curve:as_curve"),
        OverviewStep("the most biased layer and its biased neurons", "evenhand.measures.neurons.bias:LayerBias"),
        OverviewStep("the dynamic loss over biased and random neurons", "evenhand.methods.neuronfair:Dynamics"),
        OverviewStep("global generation: momentum along the sign of both gradients", "evenhand.methods.neuronfair:Pull"),
        OverviewStep("local generation: every attribute by its own probability", "evenhand.methods.neuronfair:SoftmaxSteps"),
    ),
    "neuronfair-figure-4": (
        OverviewStep("a face detector with a convolutional and a connected part", "face_detectors:detector_values"),
        OverviewStep("a classifier of the attribute on the frozen convolutional part", "evenhand.media.editors.fgsm"),
        OverviewStep("FGSM against that classifier flips the attribute", "evenhand.media.editors.fgsm:Fgsm"),
        OverviewStep("NeuronFair makes the bias that is added to both pictures", "evenhand.methods.neuronfair_pictures:NeuronFairPictures"),
    ),
    "aitest-figure-1": (
        OverviewStep("constraints inferred from the training data", "evenhand.synthesis.inference:infer"),
        OverviewStep("constraints of the user, which take precedence", "evenhand.synthesis.wishes:Wishes"),
        OverviewStep("the dependency graph without its cycles", "evenhand.synthesis.graph:break_cycles"),
        OverviewStep("the synthesiser, column by column", "evenhand.synthesis.generation:GenerationPlan"),
        OverviewStep("a surrogate tree of the model (TREPAN) and its paths", "evenhand.measures.coverage.surrogate:grow"),
        OverviewStep("tests for every path", "evenhand.measures.coverage.path_suite:path_suite"),
        OverviewStep("testers of robustness and fairness", "evenhand.measures.coverage.properties"),
    ),
    "deepfait-figure-1": (
        OverviewStep("pictures carried over to another value of the attribute", "evenhand.media.editors.cyclegan:CycleGan"),
        OverviewStep("fairness-related neurons by a significance test", "evenhand.measures.neurons.kruskal:kruskal_wallis"),
        OverviewStep("five measures of testing adequacy", "evenhand.measures.neurons.adequacy:adequacy"),
        OverviewStep("random generation (RG)", "evenhand.methods.random_generation:RandomGeneration"),
        OverviewStep("gradient-based generation (GG)", "evenhand.methods.gradient_generation:GradientGeneration"),
        OverviewStep("Gaussian-noise injection (GI)", "evenhand.methods.gaussian_injection:GaussianInjection"),
        OverviewStep("test selection (KM-ST) and further training", "evenhand.repairs.retrain_selected"),
    ),
    "deepfait-figure-2": (
        OverviewStep("two generators, A to B and B to A", "evenhand.media.editors.parts.cyclegan_nets:Quartet"),
        OverviewStep("a generator's network", "evenhand.media.editors.parts.cyclegan_nets:ResnetTranslator"),
        OverviewStep("a discriminator's network", "evenhand.media.editors.parts.cyclegan_nets:PatchDiscriminator"),
        OverviewStep("the adversarial loss", "evenhand.media.editors.parts.cyclegan_nets:discerned"),
        OverviewStep("identity and cycle-consistency losses, with their weights", "evenhand.media.editors.cyclegan:CycleSettings"),
    ),
    "distrofair-figure-1": (
        OverviewStep("pictures clustered into similar groups", "evenhand.media.scene_clusters:cluster"),
        OverviewStep("the distribution of detected objects in a cluster", "evenhand.media.scene_clusters:distribution"),
        OverviewStep("insertion beyond it", "evenhand.media.operators.insert:Insert"),
        OverviewStep("deletion", "evenhand.media.operators.delete:Delete"),
        OverviewStep("rotation", "evenhand.media.operators.rotate:Rotate"),
        OverviewStep("errors by class, before and after", "evenhand.measures.counted_changes:judge"),
        OverviewStep("classes above the mean error rate", "evenhand.measures.scene_tables:above_the_mean"),
    ),
}  # fmt: skip
