"""What is found of each face detector, kept by set and seed; NeuronFair's tables on pictures share it."""

from __future__ import annotations

from typing import Any

from redone import Effort

ATTRIBUTES = {"gender_cue": "gender", "tone": "race"}
DRAWN = (
    "Face detectors of drawn portraits (small nets of VGG's and ResNet's kind, 32 pixels) instead of VGG16 on CelebA and ResNet50 on LFW "
    "with ImageNet; race stands for skin tone."
)
FLIP = "What FGSM flips is the reading of an attribute classifier, not the person: such pairs look alike to people."
STEP = "The paper's step size for pictures is lost; 5 of 255, at most ten steps, for all three methods."


def detector_seeds(effort: Effort) -> range:
    """Two in the short form: a detector takes a quarter of a minute."""
    return range(2) if effort.is_quick else effort.seeds


def detectors(effort: Effort) -> dict[str, list[dict[str, Any]]]:
    """What was found of each detector, by set and seed."""
    from face_detectors import SETS, detector_values

    def taken(name: str, seed: int) -> dict[str, Any]:
        work = lambda: detector_values(effort.is_quick, name, seed)  # noqa: E731
        return dict(effort.cells.take("face-detector", {"quick": effort.is_quick, "set": name, "seed": seed}, work))

    return {name: [taken(name, seed) for seed in detector_seeds(effort)] for name in SETS}
