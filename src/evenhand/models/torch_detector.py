"""Torch modules that find objects: one dictionary of boxes, scores and labels for each picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evenhand.contract import Answer
from evenhand.errors import WrongAnswer, require
from evenhand.media.scene import Picture
from evenhand.models.recognisers.detectors import detections
from evenhand.models.recognisers.seen_objects import Suppression
from evenhand.models.torch_adapter import TorchAdapter
from evenhand.models.torch_inputs import DetectionFront


@dataclass(frozen=True, eq=False)
class TorchDetector(TorchAdapter):
    """Any module with the common detection contract: it answers one dictionary of `boxes`, `scores` and `labels` for each picture."""

    front: DetectionFront
    names: Sequence[str]
    name: str = "torch detector"
    suppression: Suppression = field(default_factory=Suppression)
    first_label: int = 0

    def fingerprint(self) -> str:
        """A digest of every parameter and buffer."""
        return str(self._weights_digest(repr((self.suppression, tuple(self.names), self.first_label))).hexdigest()[:16])

    def recognise(self, pictures: Sequence[Picture]) -> list[Answer]:
        """One pass over all pictures, without gradients, in evaluation mode."""
        import torch

        with torch.no_grad(), self.at_work():
            raw = self.forward(self.front.tensor(pictures))
        if len(raw) != len(pictures):
            raise WrongAnswer(f"{self.name} answered {len(raw)} results for {len(pictures)} pictures")
        return [self._detections(one) for one in raw]

    def _detections(self, one: Any) -> Answer:
        try:
            boxes, scores, classes = (one[key].detach().cpu().numpy() for key in ("boxes", "scores", "labels"))
        except (KeyError, TypeError, AttributeError) as fault:
            raise WrongAnswer(f"{self.name} answered {type(one).__name__}; expected a dictionary with boxes, scores and labels") from fault
        corners, kinds = boxes.reshape(-1, 4).astype(np.float32), classes.astype(np.intp) - self.first_label
        return detections(corners, scores.astype(np.float32), kinds, self.names, self.suppression)


def torch_detector(module: Any, names: Sequence[str], suppression: Suppression | None = None, first_label: int = 0) -> TorchDetector:
    """A module as a recogniser; `first_label` is what it calls the first name: 1 where 0 means background."""
    require("torch", "torch")
    return TorchDetector(module, DetectionFront(), tuple(names), suppression=suppression or Suppression(), first_label=first_label)
