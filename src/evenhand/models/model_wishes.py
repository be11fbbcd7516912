"""What a caller says about a model that is to be wrapped, and the medium that decides what the model is asked about."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from evenhand.contract import CountsObjects, Medium, Model, PictureModel, Recogniser, SeesScenes
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import InvalidArgument
from evenhand.media.table import Table
from evenhand.models.amount_models import AmountWishes
from evenhand.models.answer_shapes import declared_or_own, reader_for
from evenhand.models.function import FunctionClassifier
from evenhand.models.inputs import Takes, probe_places, probe_rows
from evenhand.models.preparation import Preparation
from evenhand.models.readings import Declared
from evenhand.models.shown import shown
from evenhand.models.trial_rows import SHOWN_TRIAL, USUAL_TRIAL, TrialRows, trial_of

if TYPE_CHECKING:
    from evenhand.models.torch_adapter import TorchSettings

Asked = Literal["rows", "pictures", "texts", "scenes"]
"""What a model is asked about."""


@dataclass(frozen=True)
class ObjectSettings:
    """How a recogniser of objects is used.

    names: the classes of a detector from a file or a module, in the order of its numbers; without, those that the file names, else COCO's.
    style: how an .onnx detector takes pictures and tells boxes: auto, yolox, yolo, rtdetr, detr, boxes, torchvision, ssd, tensorflow,
    efficientdet.
    first_label: the number of the first name, 1 where 0 means background.
    least, overlap: the least score of a box that is kept, and how far two boxes of a class may overlap; the recogniser's own without.
    endpoint, key: the address of a service instead of its usual one, "stand-in" for a local trial without a bill, and its key, in which
    ${NAME} stands for an environment variable.
    cache: a folder where answers are kept, so that no picture is ever asked twice.
    unboxed: whether what a service says of the whole picture, without a box, counts as one object of its class.
    batch: of a function that takes a list of pictures, how many at most; 0 for one that takes one picture.
    """

    names: Sequence[str] = ()
    style: str = "auto"
    first_label: int = 0
    least: float | None = None
    overlap: float | None = None
    endpoint: str | None = None
    key: str = field(default="", repr=False)
    cache: Path | None = None
    unboxed: bool = False
    batch: int = 0


@dataclass(frozen=True, eq=False)
class ModelWishes:
    """What the caller said: the data's medium and domain, and how the model is to be used."""

    medium: Medium
    domain: TabularDomain
    again: Callable[[Any, ModelWishes], Model]  # wraps what was found inside a file or behind a name
    classes: Sequence[Any] | None = None
    takes: Takes | None = None
    returns: str | None = None
    trusted: bool = False
    torch: TorchSettings | None = None
    prepare: Preparation | None = None
    objects: ObjectSettings = field(default_factory=ObjectSettings)
    threshold: float | str | None = None
    data: Any = None  # where rows and labels are, if the caller gave more than a domain
    preset: str | None = None  # the format in which an endpoint is spoken to
    output: int | None = None  # which of several labels or amounts

    @property
    def amounts(self) -> AmountWishes:
        """What concerns a regression, with rows and their true amounts where these are at hand."""
        few = self.trial()
        truth = getattr(self.data, "amounts", None) if self.data is not None else None
        if truth is None:
            return AmountWishes(self.takes, self.output)
        return AmountWishes(self.takes, self.output, few.rows, truth[probe_places(len(truth), USUAL_TRIAL)])

    def trial(self, most: int = USUAL_TRIAL) -> TrialRows:
        """At most so many rows to try out how answers are to be read."""
        rows = getattr(self.data, "rows", None)
        return trial_of(self.data, self.domain, Declared(self.returns, self.threshold, 0 if rows is None else len(rows)), most)

    @cached_property
    def asked(self) -> Asked:
        """What the model is asked about: the medium decides."""
        if isinstance(self.medium, Table):
            return "rows"
        if isinstance(self.medium, CountsObjects):
            return "scenes"
        return "texts" if self.sides is None else "pictures"

    @cached_property
    def sides(self) -> tuple[int, int] | None:
        """Height and width of the shown pictures; None for a medium that shows none."""
        sample = np.asarray(self.medium.show(probe_rows(self.domain, 1)))
        return (sample.shape[1], sample.shape[2]) if sample.ndim == 4 else None

    @cached_property
    def names(self) -> tuple[Any, ...]:
        """The classes of a model that does not say them itself."""
        if self.classes is not None:
            return tuple(self.classes)
        if self.domain.label is None:
            raise InvalidArgument(
                "the classes are unknown: declare a label in the domain, or pass classes=[...] in the model's order (--classes no,yes)"
            )
        return tuple(self.domain.label.values)

    def settled(self, classifier: FunctionClassifier) -> FunctionClassifier:
        """A classifier of shown things, whose answers are read as declared, or as those to a few of the rows call for."""
        trial, domain = self.trial(SHOWN_TRIAL), self.domain
        if domain.label is not None and domain.label.is_amount:
            return classifier
        is_silent = self.classes is None and domain.label is None  # then the classifier's own classes are all that is known
        own = classifier.classes if self.classes is not None or is_silent or classifier.classes != self.names else None
        reader = declared_or_own(domain, own) if self.classes is not None else reader_for(domain, own, _second(classifier, domain, own))
        return classifier.settled(reader, self.medium.show(trial.rows), trial)

    def behind(self, reader: PictureModel | Recogniser | SeesScenes) -> Model:
        """A reader of shown things as a model of the medium's rows."""
        if isinstance(reader, Recogniser) and self.objects.cache is not None:
            from evenhand.models.recognisers.cache import Kept

            reader = Kept(reader, Path(self.objects.cache))
        return shown(self.medium, reader)

    def refuse(self, what: str, cure: str) -> InvalidArgument:
        """That a kind of model cannot be asked about what the medium shows."""
        return InvalidArgument(f"model: {what} cannot be asked about {self.asked}; {cure}")


def _second(classifier: FunctionClassifier, domain: TabularDomain, own: tuple[Any, ...] | None) -> int | None:
    """One number speaks for the second of two classes."""
    return None if own is not None or domain.label is None or len(classifier.classes) != 2 else 1
