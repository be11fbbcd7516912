"""Neurons of a picture classifier: which of them have to do with fairness, and how much of each measure's range the pairs cover.

Paper: P. Zhang et al., "DeepFAIT", 2021: activation differences of unfair and fair pairs are compared neuron by neuron (Kruskal-Wallis),
and adequacy is the share of bins of five measures that pairs fall into.

The ranges are learned from half of the pairs, coverage is of the other half.  Where all pairs are treated alike, or none, no neuron can
be singled out: the neurons that tell the two pictures apart most stand in, and the adequacy is reported all the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index, Mask, Rows
from evenhand.contract import PixelTransparent, StudyCase, StudySection, labels_of
from evenhand.measures.neurons.adequacy import BINS, TOP, Adequacy, Ruler, adequacy
from evenhand.measures.neurons.kruskal import KruskalWallis, differences, kruskal_wallis
from evenhand.methods.parts.chosen_twin import Partners

LEAST_NEURONS = 3
MOST_PAIRS = 2_000
ALPHA = 0.05


@dataclass(frozen=True, eq=False)
class StudiedPairs:
    """Rows, the twin of each, and which pairs get two labels."""

    rows: Rows
    twins: Rows
    unfair: Mask

    def __getitem__(self, chosen: Any) -> StudiedPairs:
        return StudiedPairs(self.rows[chosen], self.twins[chosen], self.unfair[chosen])

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, eq=False)
class StudiedLayer:
    """One layer: its neurons, those that the measures look at, and the ranges of the measures."""

    name: str
    neurons: int
    test: KruskalWallis | None  # None where all pairs are treated alike, or none is
    related: Index
    top: Index  # places in `related` of the strongest ones
    ruler: Ruler

    def measured(self, first: NDArray[Any], second: NDArray[Any]) -> Adequacy:
        """The five measures of pairs with these activations."""
        return adequacy(first[:, self.related], second[:, self.related], self.top)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        told: dict[str, Any] = {
            "neurons": self.neurons,
            "measured_neurons": len(self.related),
            "strongest": self.related[self.top].tolist(),
        }
        if self.test is not None:
            told["related"] = int(self.test.related(ALPHA).sum())
            told["related_corrected"] = int(self.test.related(ALPHA, "benjamini-hochberg").sum())
        return told


@dataclass(frozen=True)
class NeuronStudy:
    """Every readable layer.  bins: how many bins each measure's range is cut into."""

    bins: int = BINS

    media: ClassVar[tuple[str, ...]] = ("album", "portraits")
    needs_twins: ClassVar[bool] = True

    def study(self, case: StudyCase, rng: np.random.Generator) -> StudySection:
        """Related neurons and coverage, layer by layer; nothing but a sentence where layers cannot be read."""
        if not isinstance(case.model.model, PixelTransparent):
            reason = "the classifier's layers cannot be read, so that its neurons were not studied"
            return StudySection({"reason": reason}, (reason,))
        if len(case.rows) < 4:
            reason = f"{len(case.rows)} pictures are too few to study neurons with; 4 would do"
            return StudySection({"reason": reason}, (reason,))
        pairs = _pairs(case, rng)
        learning, held = pairs[: len(pairs) // 2], pairs[len(pairs) // 2 :]
        layers = case.model.layers()
        before = [case.model.activations(rows, layers) for rows in (learning.rows, learning.twins)]
        after = [case.model.activations(rows, layers) for rows in (held.rows, held.twins)]
        told: dict[str, Any] = {}
        for name in layers:
            if before[0][name].shape[1] < 2:
                continue
            layer = self._layer(name, (before[0][name], before[1][name]), learning.unfair)
            told[name] = {**layer.as_dict(), "coverage": _coverage(layer, (after[0][name], after[1][name]), held.unfair)}
        figures = {"pairs": len(pairs), "unfair": int(pairs.unfair.sum()), "bins": self.bins, "alpha": ALPHA, "layers": told}
        figures["all_layers"] = _together(told)
        return StudySection(figures, tuple(_sentences(told, pairs)))

    def _layer(self, name: str, values: tuple[NDArray[Any], NDArray[Any]], unfair: Mask) -> StudiedLayer:
        apart = differences(*values)
        test = kruskal_wallis(apart, unfair) if 0 < unfair.sum() < len(unfair) else None
        strength = test.corrected if test is not None else apart.mean(axis=0)
        strongest = np.argsort(-strength, kind="stable")
        chosen = test.related(ALPHA) if test is not None else np.zeros(len(strength), dtype=bool)
        chosen[strongest[: LEAST_NEURONS if test is not None else TOP]] = True
        related = np.flatnonzero(chosen)
        top = np.argsort(-strength[related], kind="stable")[:TOP]
        ruler = Ruler.of(adequacy(values[0][:, related], values[1][:, related], top), self.bins)
        return StudiedLayer(name, len(strength), test, related, top, ruler)


def _pairs(case: StudyCase, rng: np.random.Generator) -> StudiedPairs:
    """Pictures in random order, each with one twin: both are what the medium shows."""
    rows = case.rows[rng.permutation(len(case.rows))[:MOST_PAIRS]]
    partners = Partners(case.domain, case.model)
    twins = partners.twins(rows, partners.choose(rows))
    one, other = (labels_of(case.model.scores(each)) for each in (rows, twins))
    return StudiedPairs(rows, twins, one != other)


def _coverage(layer: StudiedLayer, values: tuple[NDArray[Any], NDArray[Any]], unfair: Mask) -> dict[str, dict[str, float]]:
    """The data settings of the paper's Table 5 that need no generated pairs."""
    chosen = {"fair": ~unfair, "fair and unfair": np.ones(len(unfair), dtype=bool)}
    return {name: layer.ruler.coverages(layer.measured(values[0][mask], values[1][mask])) for name, mask in chosen.items() if mask.any()}


def _together(told: dict[str, Any]) -> dict[str, dict[str, float]]:
    """The coverage of all layers as one: covered bins among the bins of every layer, which all have equally many."""
    settings = dict.fromkeys(name for layer in told.values() for name in layer["coverage"])
    found = {name: [layer["coverage"][name] for layer in told.values() if name in layer["coverage"]] for name in settings}
    return {name: {measure: float(np.mean([each[measure] for each in every])) for measure in every[0]} for name, every in found.items()}


def _sentences(told: dict[str, Any], pairs: StudiedPairs) -> list[str]:
    if not pairs.unfair.any() or pairs.unfair.all():
        how = "none of" if not pairs.unfair.any() else "every one of"
        what = "no neuron can be singled out, and adequacy is of the neurons that differ most"
        said = [f"{how} {len(pairs):,} pairs gets two labels: {what}"]
    else:
        said = [
            f"layer {name!r}: {each['related']:,} of {each['neurons']:,} neurons answer unfair pairs differently from fair ones "
            f"(p < {ALPHA}; {each['related_corrected']:,} after correction)"
            for name, each in told.items()
            if "related" in each
        ]
    said += [f"layer {name!r}: the pairs cover {_best(each):.1%} of the bins of cosine similarity" for name, each in told.items()]
    most = max((found["cosine"] for found in _together(told).values()), default=0.0)
    return (
        [*said, f"all {len(told)} layers together: the pairs cover {most:.1%} of the bins of cosine similarity"] if len(told) > 1 else said
    )


def _best(layer: dict[str, Any]) -> float:
    return float(max(found["cosine"] for found in layer["coverage"].values()))
