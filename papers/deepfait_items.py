"""The tables and figures of DeepFAIT (Zhang, Wang, Sun, Wang, 2021) on drawn portraits whose bias was planted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from picture_cells import MEASURE_NAMES, chain_values, mutant_values
from redone import Effort, Grid, Redone, either, sorted_by_truth, told

from evenhand.report.charts.canvas import Axis, standalone
from evenhand.report.charts.heat_maps import HeatMap, heat_map
from evenhand.report.charts.plots import PlotColumn, columns
from parts.face_mutants import mean_correlation

SMALLER = "Nets of the same kinds with 16 to 128 neurons in a layer instead of VGG-16 and ResNet-50, portraits drawn from known factors instead of VGGFace and FairFace."
PUBLISHED_4 = """\
FC7, fair; 69.50; 61.00; 34.30; 31.04; 37.54
FC7, original; 78.30; 78.60; 42.50; 40.73; 49.21
FC7, fair+GG; 86.20; 87.10; 45.90; 37.41; 47.78
FC6, fair; 57.60; 46.10; 29.80; 41.44; 61.00
FC6, original; 65.00; 59.70; 36.70; 49.31; 68.52
FC6, fair+GG; 72.30; 67.40; 40.50; 47.62; 68.46
Conv5_3, fair; 16.40; 36.70; 29.20; 43.83; 78.92
Conv5_3, original; 17.60; 44.80; 34.50; 50.86; 82.45
Conv5_3, fair+GG; 17.60; 49.10; 37.40; 49.95; 83.84
Conv4_2, fair; 0.20; 13.70; 25.90; 26.40; 45.89
Conv4_2, original; 0.20; 14.80; 27.20; 29.35; 46.01
Conv4_2, fair+GG; 0.20; 15.10; 28.40; 27.76; 46.00"""
PUBLISHED_5 = """\
VGGFace race, tanimoto; 70.90; 84.00; 86.40; 84.00; 78.50
VGGFace race, cosine; 30.00; 38.20; 42.50; 52.60; 42.20
VGGFace race, spearman; 28.40; 38.50; 40.30; 42.70; 37.50
VGGFace race, absolute; 30.88; 46.66; 49.68; 48.01; 44.44
VGGFace race, relative; 31.10; 42.50; 53.54; 53.34; 46.65
VGGFace race, DeepImportance; 0.78; 1.10; 1.35; 1.42; 1.23
VGGFace gender, tanimoto; 69.50; 78.30; 86.20; 78.10; 74.00
VGGFace gender, cosine; 61.00; 78.60; 87.10; 77.70; 69.50
VGGFace gender, spearman; 34.30; 42.50; 45.90; 41.30; 37.90
VGGFace gender, absolute; 31.04; 40.73; 37.41; 39.27; 39.87
VGGFace gender, relative; 37.54; 49.21; 47.78; 51.34; 52.68
VGGFace gender, DeepImportance; 0.93; 1.28; 1.26; 1.38; 1.35
FairFace race, tanimoto; 20.30; 22.50; 35.90; 39.00; 24.80
FairFace race, cosine; 32.50; 46.10; 82.00; 79.80; 40.90
FairFace race, spearman; 20.10; 23.20; 45.30; 38.80; 22.00
FairFace race, absolute; 23.42; 31.13; 58.49; 41.55; 28.18
FairFace race, relative; 39.94; 53.37; 78.01; 58.48; 50.83
FairFace race, DeepImportance; 25.29; 29.68; 30.56; 32.61; 34.76
FairFace gender, tanimoto; 20.60; 23.70; 34.20; 32.90; 23.90
FairFace gender, cosine; 27.50; 46.10; 80.10; 57.30; 35.80
FairFace gender, spearman; 17.70; 23.30; 43.40; 28.90; 20.70
FairFace gender, absolute; 32.31; 45.43; 81.85; 37.57; 37.17
FairFace gender, relative; 39.85; 55.80; 68.47; 50.77; 47.29
FairFace gender, DeepImportance; 26.56; 32.61; 30.27; 33.20; 33.20"""
PUBLISHED_3 = """\
VGG FC7; 4096; 3471; 3272
VGG FC6; 4096; 2881; 2672
VGG Maxpool5; 512; 502; 492
VGG Conv5_3; 512; 504; 490
VGG Conv5_2; 512; 512; 509
ResNet Conv4.2_3; 2048; 2028; 2044
ResNet Conv4.2_2; 512; 487; 508
ResNet Conv4.2_1; 512; 484; 507
ResNet Conv4.1_3; 2048; 1904; 2036
ResNet Conv4.1_2; 512; 427; 509"""


def _cases(effort: Effort) -> list[tuple[str, str]]:
    return [("vgg", "tone")] if effort.is_quick else [(kind, name) for kind in ("vgg", "resnet") for name in ("tone", "gender_cue")]


def _chains(effort: Effort, kind: str, attribute: str) -> list[dict[str, Any]]:
    return [
        effort.cells.take(
            "deepfait",
            {"quick": effort.is_quick, "kind": kind, "attribute": attribute, "seed": seed},
            lambda seed=seed: chain_values(effort.is_quick, kind, attribute, seed),
        )
        for seed in effort.seeds
    ]


def _lines(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split(";")] for line in text.splitlines()]


def _seeds(effort: Effort) -> str:
    return f"0 to {max(effort.seeds)}"


def table_1(effort: Effort) -> Redone:
    """Accuracies of the classifiers."""
    rows = []
    for kind, attribute in _cases(effort):
        chains = _chains(effort, kind, attribute)
        rows.append([kind, attribute, *(told([100 * each[name] for each in chains], ".1f") for name in ("accuracy", "unfair"))])
    return Redone(
        (Grid("Percent of new portraits", ["classifier", "protected", "accuracy", "unfair pairs"], rows),),
        (Grid("Accuracy in percent", ["data", "model", "accuracy"], [["VGGFace", "VGG-16", "97.28"], ["FairFace", "ResNet-50", "96.08"]]),),
        differs=(SMALLER, "Labels are age groups with a bias planted on purpose, so that no classifier can be right everywhere."),
        seeds=_seeds(effort),
    )


def table_3(effort: Effort) -> Redone:
    """Fairness-related neurons by layer."""
    rows, shares = [], []
    for kind, attribute in _cases(effort):
        chains = _chains(effort, kind, attribute)
        for layer in list(chains[0]["layers"])[::-1][:5]:
            values = [each["layers"][layer] for each in chains]
            shares.append(float(np.mean([each["related"] / each["neurons"] for each in values])))
            cells = [told([each[name] for each in values], ".0f") for name in ("related", "printed", "corrected")]
            rows.append([kind, attribute, layer, str(values[0]["neurons"]), *cells])
    head = ["classifier", "protected", "layer", "neurons", "related, ties corrected", "as printed", "Benjamini-Hochberg"]
    agrees, differs = sorted_by_truth(
        [
            (
                min(shares) > 0.6,
                "Most neurons of every layer are related to fairness, as published.",
                f"{min(shares):.0%} to {max(shares):.0%} of a layer's neurons are related; in the paper 65 % to 100 %. It tests with 10,000 pairs, which "
                "makes nearly every difference significant; here there are 400.",
            ),
        ]
    )
    return Redone(
        (Grid("Neurons whose activation differs between fair and unfair pairs, p < .05", head, rows),),
        (Grid("Fairness-related neurons", ["layer", "neurons", "race", "gender"], _lines(PUBLISHED_3)),),
        agrees=agrees,
        differs=(*differs, "At p < .05 a twentieth of unrelated neurons is selected too; the last column corrects for that.", SMALLER),
        seeds=_seeds(effort),
    )


def table_4(effort: Effort) -> Redone:
    """Coverage by layer."""
    chains = _chains(effort, *_cases(effort)[-1])
    rows = []
    means: dict[str, float] = {}
    for layer in ("fc7", "fc6", "conv4", "conv2"):
        if layer not in chains[0]["coverages"]:
            continue
        for name in ("fair", "fair+unfair", "fair+GG"):
            rows.append([layer, name, *(told([100 * each["coverages"][layer][name][m] for each in chains], ".1f") for m in MEASURE_NAMES)])
        means[layer] = float(np.mean([each["coverages"][layer]["fair"]["tanimoto"] for each in chains]))
    for name in ("fair", "fair+unfair", "fair+GG"):
        every = [
            {m: 100 * float(np.mean([layer[name][m] for layer in each["coverages"].values()])) for m in MEASURE_NAMES} for each in chains
        ]
        rows.append(["all layers together", name, *(told([each[m] for each in every], ".1f") for m in MEASURE_NAMES)])
    ordered = list(means.values())
    agrees, differs = sorted_by_truth(
        [
            (
                ordered == sorted(ordered, reverse=True),
                "Tanimoto coverage falls from deep to shallow layers.",
                "Tanimoto coverage does not fall steadily from deep to shallow layers.",
            ),
        ]
    )
    return Redone(
        (Grid("Coverage in percent", ["layer", "pairs", *MEASURE_NAMES], rows),),
        (Grid("Coverage in percent, VGG, gender", ["layer, pairs", "Tan.", "Cos.", "Spe.", "Abs.", "Rel."], _lines(PUBLISHED_4)),),
        agrees=agrees,
        differs=(*differs, "More pairs cover more whatever they are: fair+unfair and fair+GG are larger sets than fair.", SMALLER),
        seeds=_seeds(effort),
    )


def table_5(effort: Effort) -> Redone:
    """Coverage of the deepest layer by data setting."""
    rows, grown = [], []
    settings = ("fair", "fair+unfair", "fair+GG", "fair+RG", "fair+GI")
    for kind, attribute in _cases(effort):
        chains = _chains(effort, kind, attribute)
        deepest = list(chains[0]["coverages"])[-1]
        for measure in (*MEASURE_NAMES, "deepimportance"):
            values = {name: [100 * each["coverages"][deepest][name][measure] for each in chains] for name in settings}
            grown.append(float(np.mean(values["fair+unfair"])) > float(np.mean(values["fair"])))
            rows.append([kind, attribute, measure, *(told(values[name], ".1f") for name in settings)])
    agrees, differs = sorted_by_truth(
        [(all(grown), "Adding unfair pairs raises every measure.", f"Adding unfair pairs raises {sum(grown)} of {len(grown)} measures.")]
    )
    head = ["data, measure", "fair", "fair+unfair", "fair+GG", "fair+RG", "fair+GI"]
    return Redone(
        (Grid("Coverage of the deepest layer in percent", ["classifier", "protected", "measure", *settings], rows),),
        (Grid("Coverage in percent", head, _lines(PUBLISHED_5)),),
        agrees=agrees,
        differs=(*differs, "As in Table 4, part of the growth is only the size of the set.", SMALLER),
        seeds=_seeds(effort),
    )


def figure_3(effort: Effort) -> Redone:
    """How far apart the activation differences of fair and unfair pairs are for each ranking's top neuron."""
    rows, best = [], []
    pictures = {}
    for kind, attribute in _cases(effort):
        chains = _chains(effort, kind, attribute)
        mean = {name: float(np.mean([each["gaps"][name] for each in chains])) for name in chains[0]["gaps"]}
        best.append(max(mean, key=lambda name: mean[name]))
        rows.append([kind, attribute, *(told([each["gaps"][name] for each in chains], ".2f") for name in mean)])
        pictures |= {f"deepfait-figure-3-{kind}-{attribute}-{name}.svg": chart for name, chart in chains[0]["figure 3"].items()}
    agrees, differs = sorted_by_truth(
        [
            (
                set(best) == {"DeepFAIT"},
                "DeepFAIT's neuron separates fair from unfair pairs best.",
                f"The neuron that separates best is that of {', '.join(best)}.",
            )
        ]
    )
    return Redone(
        (
            Grid(
                "Largest distance between the two cumulative curves on test pairs",
                ["classifier", "protected", "DeepFAIT", "DeepImportance", "activation"],
                rows,
            ),
        ),
        (
            Grid(
                "In words", ["figure"], [["The two curves of DeepFAIT's top neuron lie far apart, those of the other two close together."]]
            ),
        ),
        agrees=agrees,
        differs=(*differs, SMALLER),
        seeds=_seeds(effort),
        pictures=pictures,
    )


LONG_TAIL = 20.0
"""Percent of H that the top tenth of the neurons must have for a long tail: twice what an even spread would give."""


def figure_4(effort: Effort) -> Redone:
    """How H is spread over the neurons of a layer."""
    rows, pictures, means = [], {}, []
    for kind, attribute in _cases(effort):
        chains = _chains(effort, kind, attribute)
        for layer in list(chains[0]["layers"])[::-1][:5]:
            shares = [100 * each["layers"][layer]["share of H in the top tenth"] for each in chains]
            means.append(float(np.mean(shares)))
            rows.append([kind, attribute, layer, told(shares, ".0f")])
        pictures[f"deepfait-figure-4-{kind}-{attribute}.svg"] = chains[0]["figure 4"]
    spread = f"The top tenth of a layer's neurons holds {min(means):.0f} to {max(means):.0f} % of H; spread evenly it would be 10 %."
    agrees, differs = sorted_by_truth([either(min(means) >= LONG_TAIL, spread)])
    return Redone(
        (Grid("Percent of the sum of H that the top tenth of a layer's neurons has", ["classifier", "protected", "layer", "share"], rows),),
        (Grid("In words", ["figure"], [["H follows a long-tailed distribution: only a small share of neurons is strongly correlated."]]),),
        agrees=agrees,
        differs=(*differs, SMALLER),
        seeds=_seeds(effort),
        pictures=pictures,
    )


CORRELATED = {
    "tanimoto": "at least +.85",
    "cosine": "at least +.85",
    "spearman": "at least +.85",
    "absolute": "-.69 or -.90",
    "relative": "-.69 or -.90",
}


def _correlations(mutants: Sequence[Any]) -> list[Any]:
    """How coverage and fairness go together over the mutants of a seed; nothing where fewer than four mutants work."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return [np.corrcoef(each.T) for each in mutants if len(each) > 3]


def _over_seeds(values: Sequence[float]) -> str:
    """Correlations of several seeds in words."""
    known = [value for value in values if abs(value) < 1.0]
    return mean_correlation(known) if len(known) > 1 else told(known, "+.2f") if known else "too few"


def figure_5(effort: Effort) -> Redone:
    """Coverage of fair pairs against fairness, over mutated classifiers."""
    seeds = range(2) if effort.is_quick else effort.seeds
    found = [
        each
        for seed in seeds
        for each in effort.cells.take(
            "mutants", {"quick": effort.is_quick, "seed": seed}, lambda seed=seed: mutant_values(effort.is_quick, seed)
        )
    ]
    rows, pictures, signs = [], {}, []
    for kind, attribute in dict.fromkeys((each["architecture"], each["attribute"]) for each in found):
        these = [np.asarray(each["rows"]) for each in found if (each["architecture"], each["attribute"]) == (kind, attribute)]
        tables = _correlations(these)
        cells = [_over_seeds([table[-1, k] for table in tables]) for k in range(len(MEASURE_NAMES))]
        rows.append([kind, attribute, str(sum(map(len, these))), *cells])
        if not tables:
            continue
        known = [table[-1, 1] for table in tables if np.isfinite(table[-1, 1])]
        signs.append(float(np.mean(known)) if known else 0.0)
        mean = np.nan_to_num(np.mean(tables, axis=0)).tolist()
        names = [*MEASURE_NAMES, "fairness"]
        chart = HeatMap(f"{kind}, {attribute}", names, names, mean, 1.0, [[f"{value:.2f}" for value in line] for line in mean])
        pictures[f"deepfait-figure-5-{kind}-{attribute}.svg"] = standalone(heat_map(chart))
    agrees, differs = sorted_by_truth(
        [
            (
                min(signs, default=0.0) > 0.5,
                "Cosine coverage goes with fairness.",
                "Coverage does not go with fairness as published: at equal numbers of fair pairs the correlations are weak or have the other sign.",
            )
        ]
    )
    return Redone(
        (Grid("Correlation with the share of fair pairs", ["classifier", "protected", "mutants", *MEASURE_NAMES], rows),),
        (Grid("VGGFace, gender", list(CORRELATED), [list(CORRELATED.values())]),),
        agrees=agrees,
        differs=(*differs, SMALLER),
        seeds=f"0 to {max(seeds)}",
        pictures=pictures,
    )


def figure_6(effort: Effort) -> Redone:
    """Further training with pairs chosen in several ways: fairness, and the share mended of each of the paper's validation sets."""
    rows, checked, bars, better = [], [], [], []
    for kind, attribute in _cases(effort):
        chains = _chains(effort, kind, attribute)
        sets = list(dict.fromkeys(name for each in chains for by in each["validation"].values() for name in by))
        for strategy in chains[0]["remedies"]:
            change = [100 * (each["remedies"][strategy][0] - each["before"]) for each in chains]
            lost = [100 * each["remedies"][strategy][2] for each in chains]
            rows.append([kind, attribute, strategy, told(change, "+.1f"), told(lost, "+.1f")])
            bars.append(PlotColumn(f"{strategy}", float(np.mean(change)), float(np.std(change))))
            checked.append(
                [
                    kind,
                    attribute,
                    strategy,
                    *(
                        told([100 * each["validation"][strategy][name] for each in chains if name in each["validation"][strategy]], ".0f")
                        for name in sets
                    ),
                ]
            )
        better.append(float(np.mean([each["remedies"]["cosine"][0] - each["remedies"]["random"][0] for each in chains])))
    up = Axis.over([bar.value + sign * bar.spread for bar in bars for sign in (-1, 1)], "points", floor=0.0)
    agrees, differs = sorted_by_truth(
        [
            (
                min(better) > 0.01,
                "Selection by cosine similarity improves more than chance.",
                f"Selection by cosine similarity is {100 * np.mean(better):+.1f} points from random choice: not told apart.",
            )
        ]
    )
    return Redone(
        (
            Grid(
                "Change of the share of fair test pairs and of accuracy, in points",
                ["classifier", "protected", "pairs added", "fair pairs", "accuracy"],
                rows,
            ),
            Grid(
                "Percent mended of each validation set: unfair pairs of new portraits, and what each generator makes of fair ones",
                ["classifier", "protected", "pairs added", *sets],
                checked,
            ),
        ),
        (
            Grid(
                "FairFace",
                ["figure"],
                [["KM-ST by cosine similarity improves by 5.15 (race) and 4.08 (gender) points; accuracy falls by at most 1.44 points."]],
            ),
        ),
        agrees=agrees,
        differs=(*differs, "`none` is further training without any pair, which the paper does not show: it moves fairness too.", SMALLER),
        seeds=_seeds(effort),
        pictures={"deepfait-figure-6.svg": standalone(columns(bars, "Change of the share of fair test pairs", up))},
    )
