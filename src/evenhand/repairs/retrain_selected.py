"""Retraining on twins of findings that are chosen by k-multisection of how alike a hidden layer answers a finding and its twin.

Paper: P. Zhang et al., "DeepFAIT", 2021, section 3.4: equally many pairs from every section of a layer measure's range, 10 % of them added,
each with its label.  In our trials the choice was hardly better than chance: `retrain_twins` is the control that says whether it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.arrays import Reals
from evenhand.contract import PixelTransparent, Trainable, Transparent
from evenhand.errors import InvalidArgument, MissingAbility, UnknownName
from evenhand.limits import ShareAboveZero, check_limits
from evenhand.measures.neurons.adequacy import cosine, spearman, tanimoto
from evenhand.models.meter import Meter
from evenhand.repairs.parts.augmentation import lesson
from evenhand.repairs.parts.case import Case, Mended, Role
from evenhand.repairs.parts.chosen_pairs import finding_twins
from evenhand.repairs.parts.pair_selection import k_multisection
from evenhand.repairs.parts.retraining import trainable

LIKENESS = {"cosine": cosine, "spearman": spearman, "tanimoto": tanimoto}


@dataclass(frozen=True)
class RetrainSelected:
    """A new model of the same kind.

    share: of the findings, how many are added.
    measure: how alike two answers of the layer are: cosine, spearman or tanimoto.
    sections: of the measure's range, from each of which equally many are chosen.
    """

    share: ShareAboveZero = 0.1
    measure: str = "cosine"
    sections: int = 10

    needs: ClassVar[type] = Trainable
    role: ClassVar[Role] = "repair"

    def __post_init__(self) -> None:
        if self.measure not in LIKENESS:
            raise UnknownName("measure", self.measure, LIKENESS)
        check_limits(self)

    def mend(self, case: Case, rng: np.random.Generator) -> Mended:
        """Choose findings, add their twins and fit again."""
        case.check_classes("findings are selected by the hidden layer of a classifier")
        model = trainable(case.model)
        if not len(case.findings):
            raise InvalidArgument("there are no findings to learn from; search with another method or a larger budget")
        count = max(1, round(self.share * len(case.findings)))
        chosen = k_multisection(self._alike(case), count, self.sections, rng)
        added = lesson(case, case.findings[chosen], "twins", rng)
        return Mended(model.refit(*added.joined(case), rng), added.facts(case))

    def _alike(self, case: Case) -> Reals:
        """How alike the deepest layer answers each finding and its twin."""
        model = case.model
        if not isinstance(model, PixelTransparent | Transparent) or not model.layers():
            raise MissingAbility(f"{type(model).__name__} has no hidden layer that can be read; retrain_twins needs none")
        layer, meter = model.layers()[-1], Meter(model)
        both = [meter.activations(rows, (layer,))[layer].astype(np.float32) for rows in (case.findings, finding_twins(case))]
        return LIKENESS[self.measure](both[0], both[1])
