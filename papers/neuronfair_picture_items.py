"""NeuronFair's tables on pictures: the global phase, retrained detectors, and how large the changes are."""

from __future__ import annotations

import numpy as np
from face_cells import ATTRIBUTES, DRAWN, FLIP, STEP, detector_seeds, detectors
from redone import COUNTS, PERCENT, Effort, Grid, Redone, in_words, sorted_by_truth, told

from parts.whitebox_tables import geometric

SEARCHES = ("ADF", "EIDIG", "NeuronFair")


def table_10(effort: Effort) -> Redone:
    """Findings and success rates of the global phase on face detectors."""
    rows, ratios = [], {"ADF": [], "EIDIG": []}
    for name, values in detectors(effort).items():
        for attribute, called in ATTRIBUTES.items():
            found = {method: [each["attributes"][attribute]["found"][method] for each in values] for method in SEARCHES}
            cells = [
                text
                for method in SEARCHES
                for text in (
                    told([each["findings"] for each in found[method]], within=COUNTS),
                    told([100 * each["findings"] / max(each["tests"], 1) for each in found[method]], ".1f", PERCENT),
                )
            ]
            rows.append([name, called, *cells])
            ours = max(float(np.mean([each["findings"] for each in found["NeuronFair"]])), 0.5)
            for rival in ratios:
                ratios[rival].append(ours / max(float(np.mean([each["findings"] for each in found[rival]])), 0.5))
    agrees, differs = sorted_by_truth(
        [
            (
                min(values) > 1,
                f"NeuronFair finds more than {rival} on every set and attribute ({geometric(np.array(values)):.2f} times as many).",
                f"NeuronFair finds {geometric(np.array(values)):.2f} times as many as {rival} (geometric mean), not more everywhere.",
            )
            for rival, values in ratios.items()
        ]
    )
    head = ["set", "attribute", *(f"{method}: {what}" for method in SEARCHES for what in ("findings", "GSR %"))]
    return Redone(
        (Grid("Global phase from all faces; GSR: findings among distinct tests", head, rows),),
        (
            in_words(
                "On pictures NeuronFair generates more than ADF and EIDIG in the global phase, at a higher success rate; more for race than for gender."
            ),
        ),
        agrees=agrees,
        differs=(*differs, FLIP, STEP, DRAWN),
        seeds=f"0 to {max(detector_seeds(effort))}",
    )


def table_11(effort: Effort) -> Redone:
    """Discrimination (AUC) and detection rate before and after further training with each method's findings."""
    columns = ("before", "no findings", *SEARCHES)
    rows, areas, rates = [], {name: [] for name in columns}, {name: [] for name in columns}
    for name, values in detectors(effort).items():
        for attribute, called in ATTRIBUTES.items():
            after = [each["attributes"][attribute]["after"] for each in values]
            cells = []
            for column in columns:
                areas[column].append(float(np.mean([each[column]["area"] for each in after])))
                rates[column].append(100 * float(np.mean([each[column]["rate"] for each in after])))
                cells += [
                    told([each[column]["area"] for each in after], ".3f", COUNTS),
                    told([100 * each[column]["rate"] for each in after], ".1f", PERCENT),
                ]
            rows.append([name, called, *cells])
    fall = {name: 100 * (1 - geometric(np.array(areas[name]) / np.maximum(areas["before"], 1e-9))) for name in columns[1:]}
    lost = {name: float(np.mean(rates["before"]) - np.mean(rates[name])) for name in columns[1:]}
    agrees, differs = sorted_by_truth(
        [
            (
                fall["NeuronFair"] > max(fall["ADF"], fall["EIDIG"], fall["no findings"]),
                f"The area falls most with NeuronFair's findings ({_falls(fall)}).",
                f"The area does not fall most with NeuronFair's findings ({_falls(fall)}).",
            ),
            (
                lost["NeuronFair"] < 1.0,
                f"The detection rate hardly suffers from NeuronFair's findings ({-lost['NeuronFair']:+.1f} points).",
                f"The detection rate falls by {lost['NeuronFair']:.1f} points with NeuronFair's findings.",
            ),
        ]
    )
    head = ["set", "attribute", *(f"{column}: {what}" for column in columns for what in ("AUC", "DR %"))]
    return Redone(
        (Grid("Largest area under an AS curve, and the share of test faces that are found", head, rows),),
        (in_words("Detectors that are retrained with NeuronFair's instances discriminate less (AUC) and detect nearly as well (DR)."),),
        agrees=agrees,
        differs=(
            *differs,
            "The paper has no further training without findings beside its own; here it is the column `no findings`.",
            FLIP,
            DRAWN,
        ),
        seeds=f"0 to {max(detector_seeds(effort))}",
    )


def _falls(fall: dict[str, float]) -> str:
    return ", ".join(f"{name} {-value:+.0f} %" for name, value in fall.items())


def perturbation_norms(effort: Effort) -> Redone:
    """How large the changes are: what is added to both pictures of a pair, and what lies between them."""
    rows, larger = [], []
    for name, values in detectors(effort).items():
        for attribute, called in ATTRIBUTES.items():
            found = {method: [each["attributes"][attribute]["found"][method] for each in values] for method in SEARCHES}
            sizes = {method: float(np.mean([each["bias"] for each in found[method]])) for method in SEARCHES}
            larger.append(sizes["NeuronFair"] / max(min(sizes["ADF"], sizes["EIDIG"]), 1e-9))
            between = told([each["attribute"] for each in found["NeuronFair"]], ".2f", COUNTS)
            rows.append([name, called, *(told([each["bias"] for each in found[method]], ".2f", COUNTS) for method in SEARCHES), between])
    agrees, differs = sorted_by_truth(
        [
            (
                max(larger) < 1,
                f"NeuronFair's changes are the smallest everywhere (at most {max(larger):.2f} of the next).",
                f"NeuronFair's changes are {geometric(np.array(larger)):.2f} times as large as the smaller of the others'.",
            )
        ]
    )
    return Redone(
        (
            Grid(
                "Mean L2 norm over findings that needed a change, pixels from 0 to 1",
                ["set", "attribute", *(f"bias, {method}" for method in SEARCHES), "between the pictures of a pair"],
                rows,
            ),
        ),
        (in_words("The L2 norm of NeuronFair's bias perturbation is much lower than that of ADF and EIDIG."),),
        agrees=agrees,
        differs=(*differs, FLIP, STEP, DRAWN),
        seeds=f"0 to {max(detector_seeds(effort))}",
    )
