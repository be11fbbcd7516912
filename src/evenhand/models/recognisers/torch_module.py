"""A PyTorch detector under test: a module that maps a list of (3, height, width) pictures to boxes, scores and labels."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evenhand.contract import Answer
from evenhand.errors import EvenhandError, ModelFailed, WrongAnswer, require
from evenhand.media.scene import Picture
from evenhand.models.recognisers.detectors import detections
from evenhand.models.recognisers.seen_objects import Suppression


@dataclass(frozen=True, eq=False)
class TorchDetector:
    """Any module with the common detection contract: it answers one dictionary of `boxes`, `scores` and `labels` for each picture."""

    module: Any
    names: Sequence[str]
    name: str = "torch detector"
    suppression: Suppression = field(default_factory=Suppression)
    first_label: int = 0

    def fingerprint(self) -> str:
        """A digest of every parameter and buffer."""
        digest = hashlib.sha256(repr((self.suppression, tuple(self.names), self.first_label)).encode())
        for key, value in sorted(self.module.state_dict().items()):
            digest.update(key.encode() + value.detach().cpu().numpy().tobytes())
        return digest.hexdigest()[:16]

    def recognise(self, pictures: Sequence[Picture]) -> list[Answer]:
        """One pass over all pictures, without gradients, in evaluation mode."""
        torch = require("torch", "torch")
        was_training = self.module.training
        self.module.eval()
        try:
            with torch.no_grad():
                batch = [torch.from_numpy(np.ascontiguousarray(one.transpose(2, 0, 1))).float() / 255 for one in pictures]
                raw = self.module(batch)
        except EvenhandError:
            raise
        except Exception as fault:  # foreign code
            raise ModelFailed(f"{self.name} raised {type(fault).__name__}: {fault}") from fault
        finally:
            self.module.train(was_training)
        if len(raw) != len(pictures):
            raise WrongAnswer(f"{self.name} answered {len(raw)} results for {len(pictures)} pictures")
        return [self._answer(one) for one in raw]

    def _answer(self, one: Any) -> Answer:
        try:
            boxes, scores, classes = (one[key].detach().cpu().numpy() for key in ("boxes", "scores", "labels"))
        except (KeyError, TypeError, AttributeError) as fault:
            raise WrongAnswer(f"{self.name} answered {type(one).__name__}; expected a dictionary with boxes, scores and labels") from fault
        return detections(
            boxes.reshape(-1, 4).astype(np.float32),
            scores.astype(np.float32),
            classes.astype(np.intp) - self.first_label,
            self.names,
            self.suppression,
        )
