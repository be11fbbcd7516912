"""NeuronFair's attribute classifier: a new head on the frozen convolutional part of the classifier under test.

Paper: H. Zheng et al., NeuronFair, ICSE 2022.  Pictures reach the frozen part as they reach the classifier, through its own preparation.
Imported only by code that has torch.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn

from evenhand.errors import InvalidArgument
from evenhand.media.album import Album
from evenhand.media.picture_tensors import to_tensor
from evenhand.models.picture_training import Course, fit
from evenhand.models.torch_layers import watching
from evenhand.models.torch_pictures import TorchClassifier, torch_classifier

USUAL = Course(epochs=4)


class SharedReader(nn.Module):
    """The trunk up to one layer, which never learns, and a small dense head, which does."""

    def __init__(self, trunk: TorchClassifier, layer: str, sample: Tensor, values: int) -> None:
        super().__init__()
        self.trunk, self.layer, self.prepare = trunk.copy().module.requires_grad_(False), layer, trunk.front.prepare
        width = self._features(sample).shape[1]
        self.head = nn.Sequential(nn.Linear(width, 64), nn.ReLU(), nn.Linear(64, values))

    def _features(self, pictures: Tensor) -> Tensor:
        self.trunk.eval()
        with watching(self.trunk, (self.layer,), "graph") as seen:
            self.trunk(self.prepare(pictures))
        values: Tensor = seen[self.layer]
        return values.flatten(1)

    def train(self, mode: bool = True) -> SharedReader:
        """Only the head ever enters training mode."""
        super().train(mode)
        self.trunk.eval()
        return self

    def forward(self, pictures: Tensor) -> Tensor:
        """Logits of the attribute's values."""
        return self.head(self._features(pictures))  # type: ignore[no-any-return]


def shared_reader(
    classifier: TorchClassifier, album: Album, attribute: str, rng: np.random.Generator, course: Course = USUAL
) -> TorchClassifier:
    """A reader of an attribute, as the editor `Fgsm(attribute, reader)` needs one: the trunk is cut at the deepest convolutional layer.

    classifier: the net under test as `torch_classifier` makes it, or the `reader` of what `wrap` gives.
    """
    layer = _deepest_map(classifier, album)
    torch.manual_seed(int(rng.integers(2**31)))
    labelled = replace(album, label=album.attribute(attribute))
    labelled = labelled.known(attribute)
    module = SharedReader(classifier, layer, to_tensor(album.pictures[:2]), len(labelled.label.values))
    reader = torch_classifier(module, labelled.label.values, ("head.1",))
    fit(reader, labelled.pictures, labelled.label.codes, rng, course)
    return reader


def _deepest_map(classifier: TorchClassifier, album: Album) -> str:
    maps = classifier.maps(album.pictures[:2])
    if not maps:
        raise InvalidArgument(f"none of the layers {classifier.layers()} is convolutional: there is no trunk to share")
    return maps[-1]
