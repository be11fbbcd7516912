"""The figures that a repair is judged by: what each is called, what it means, which way is better.  They are measured elsewhere."""

from __future__ import annotations

import math
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
    is_share: bool = True  # else it is in the label's unit
    least: float = 0.0  # below which it cannot be

    @property
    def most(self) -> float:
        """Above which it cannot be."""
        return 1.0 if self.is_share else math.inf

    def as_dict(self) -> dict[str, str | bool]:
        """For JSON."""
        told = ("name", "title", "meaning", "kind", "better", "is_share")
        return {each: getattr(self, each) for each in told}


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
AMOUNT_MEASURES = (
    Measure(
        "explained",
        "Explained",
        "share of the variance of held-out amounts that the model explains (R²)",
        "accuracy",
        "higher",
        least=-math.inf,
    ),
    Measure("mean_error", "Mean error", "how far the amounts said of held-out rows lie from the true ones", "accuracy", "lower", False),
    Measure("worst_group_error", "Worst group", "mean error in the protected group where it is largest", "worst case", "lower", False),
    Measure("if_o", "IF_o", "held-out real rows whose amount another protected value moves beyond the tolerance", "individual", "lower"),
    *(measure for measure in MEASURES if measure.name in ("if_r", "still_found", "found_anew")),
    Measure(
        "worst_gap", "Worst gap", "the largest difference of amounts between two twins among held-out rows", "worst case", "lower", False
    ),
    Measure("mean_gap", "Gap of means", "largest gap between protected groups in the mean amount", "group", "lower", False),
    Measure("error_gap", "Gap of errors", "the same of amounts said beyond the true ones, on average", "group", "lower", False),
    Measure("one_answer", "One answer", "share of held-out rows that get the most common amount", "accuracy", "lower"),
)


@dataclass(frozen=True)
class Scorecard:
    """The figures for one kind of answer.

    kept: the figure that a repair may not lose.  groups: what differs between groups, first what a repair of groups must mend.
    unit: of figures that are no shares.
    """

    measures: tuple[Measure, ...]
    kept: str
    groups: tuple[str, ...]
    shown: tuple[str, ...]
    unit: str = ""

    def __getitem__(self, name: str) -> Measure:
        return next(measure for measure in self.measures if measure.name == name)

    def title(self, name: str) -> str:
        """What a figure is called; a name that is no figure is its own."""
        return next((measure.title for measure in self.measures if measure.name == name), name)

    def text(self, name: str, value: float) -> str:
        """A figure for a reader: in percent, or in the label's unit."""
        if self[name].is_share:
            return f"{100 * value:.2f}%"
        return f"{value:,.4g}{f' {self.unit}' if self.unit else ''}"


LABELS = Scorecard(MEASURES, "accuracy", ("spd", "aod"), ("accuracy", "if_o", "if_r", "found_anew", "spd"))


def amounts_card(unit: str) -> Scorecard:
    """The figures of models that say amounts."""
    shown = ("explained", "mean_error", "if_o", "if_r", "found_anew", "mean_gap")
    return Scorecard(AMOUNT_MEASURES, "explained", ("mean_gap", "error_gap"), shown, unit)


AS_GIVEN = "as_given"
"""The line of the model that was given, beside those of its repairs."""
