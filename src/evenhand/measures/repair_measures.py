"""The figures that a repair is judged by: what each is called, what it means, which way is better.  They are measured elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["accuracy", "individual", "group", "worst case"]


@dataclass(frozen=True)
class Measure:
    """One figure: what it is called, what it means, and which way is better."""

    name: str
    title: str
    meaning: str
    kind: Kind
    better: Literal["higher", "lower"]


MEASURES = (
    Measure("accuracy", "Accuracy", "held-out real rows judged rightly", "accuracy", "higher"),
    Measure("worst_group_accuracy", "Worst group", "accuracy in the protected group where it is lowest", "worst case", "higher"),
    Measure(
        "if_o", "IF_o", "held-out real rows that would get a different outcome with a different protected value", "individual", "lower"
    ),
    Measure("if_r", "IF_r", "the same among inputs drawn from the whole domain", "individual", "lower"),
    Measure("still_found", "Still found", "of what another method found before, the share that is still unfair", "individual", "lower"),
    Measure("found_anew", "Found by a new search", "of what another method tries now, the share that is unfair", "worst case", "lower"),
    Measure("worst_gap", "Worst gap", "the largest difference of scores between two twins among held-out rows", "worst case", "lower"),
    Measure("spd", "SPD", "largest gap between protected groups in the share of favourable outcomes", "group", "lower"),
    Measure("aod", "AOD", "the same among those who deserve it and among those who do not, averaged", "group", "lower"),
    Measure("one_answer", "One answer", "share of held-out rows that get the most common answer", "accuracy", "lower"),
)
BY_MEASURE = {measure.name: measure for measure in MEASURES}

AS_GIVEN = "as_given"
"""The line of the model that was given, beside those of its repairs."""
