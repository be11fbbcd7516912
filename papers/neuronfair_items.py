"""The tables and figures of NeuronFair (Zheng et al., ICSE 2022), numbered by the order of their captions; most digits of the text are lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from diversity import generation_diversity
from face_cells import ATTRIBUTES, DRAWN, detector_seeds, detectors
from hunts import Caught, Hunt, caught, net_folder
from phase_trials import CONTENDERS, global_cell, local_cell, nets, neurons_reached, retrained_versions, subject
from rank_agreement import agreement
from redone import COUNTS, PERCENT, Effort, Grid, Redone, either, in_words, sorted_by_truth, told

from evenhand.measures.neurons import measure_bias
from evenhand.measures.neurons.curve import Curve
from evenhand.report.charts.canvas import Axis, standalone, tone
from evenhand.report.charts.plots import Frame, Line, Plot, plot
from parts.whitebox_tables import TABLES, geometric, net

QUICK = (("census", "sex"), ("credit", "age"))
FULL = (
    ("census", "sex"),
    ("census", "race"),
    ("census", "age"),
    ("credit", "sex"),
    ("credit", "age"),
    ("bank", "age"),
    ("compas", "race"),
    ("meps", "SEX"),
)
RIVALS = ("aequitas_full", "adf", "eidig")
LOST = "The figures of this table are lost in the text at hand; what its words say is compared."
SEEN_ACCURACY = {"ADF": (88.15, 100.0, 92.27), "NeuronFair": (86.00, 99.67, 91.42)}
SEEN_AREAS = (0.293, 0.752, 0.673, 0.253, 0.250)


def pairs_of(effort: Effort) -> Sequence[tuple[str, str]]:
    """Tables with their protected column."""
    return QUICK if effort.is_quick else FULL


def _seeds(effort: Effort) -> str:
    return f"0 to {max(effort.seeds)}"


def totals(effort: Effort, pair: tuple[str, str], name: str) -> list[Caught]:
    """The searches of Tables 4 and 8: equally many tests with the published parameters."""
    tests = effort.choose(6_000, 1_041_000)
    return [caught(Hunt("adf", pair[0], pair[1:], name, seed, candidates=tests), effort.cells) for seed in effort.seeds]


SAME_POINTS = 0.1
SAME_AREA = 0.005
"""Differences that rounding explains: of accuracies in points, of areas under a curve."""


def table_3(effort: Effort) -> Redone:
    """Accuracy of the published nets on their data, and of face detectors with their readers of attributes."""
    rows, apart = [], []
    for author in ("ADF", "NeuronFair"):
        for place, data in enumerate(("census", "credit", "bank")):
            given = TABLES[data]("papers")
            right = float((net(net_folder(), author, data).scores(given.rows).argmax(axis=1) == given.labels).mean())
            apart.append(abs(100 * right - SEEN_ACCURACY[author][place]))
            rows.append([author, data, f"{100 * right:.2f}", f"{SEEN_ACCURACY[author][place]:.2f}"])
    seen = [
        [
            name,
            told([100 * each["accuracy"] for each in values], ".1f", PERCENT),
            *(told([100 * each["readers"][attribute] for each in values], ".1f", PERCENT) for attribute in ATTRIBUTES),
        ]
        for name, values in detectors(effort).items()
    ]
    words = f"Accuracy here and with the authors' code differs by at most {max(apart):.2f} points."
    agrees, differs = sorted_by_truth([either(max(apart) <= SAME_POINTS, words)])
    return Redone(
        (
            Grid("Accuracy in percent on the whole table", ["net", "data", "here", "seen with the authors' code"], rows),
            Grid(
                "Face detectors: accuracy in percent on pictures they have not seen",
                ["set", "face or not", "reader of gender", "reader of skin tone"],
                seen,
            ),
        ),
        (in_words(LOST),),
        agrees=agrees,
        differs=(
            *differs,
            "Accuracy on the rows that the nets were trained on says nothing about new rows; the paper reports it so.",
            DRAWN,
        ),
        seeds=f"none for the tables, 0 to {max(detector_seeds(effort))} for the detectors",
    )


def table_4(effort: Effort) -> Redone:
    """Findings and success rate of equally many tests."""
    names = (*RIVALS, "neuronfair")
    rows, counts = [], {name: [] for name in names}
    for pair in pairs_of(effort):
        for name in names:
            found = totals(effort, pair, name)
            counts[name].append(float(np.mean([each.findings for each in found])))
            rows.append(
                [
                    " ".join(pair),
                    name,
                    told([each.findings for each in found], within=COUNTS),
                    told([100 * each.success for each in found], ".1f", PERCENT),
                ]
            )
    more = {name: geometric(np.array(counts["neuronfair"]) / np.maximum(counts[name], 1)) for name in RIVALS}
    claims = [
        (
            ratio > 1.05,
            f"NeuronFair finds {ratio:.2f} times as many as {name}.",
            f"NeuronFair finds {ratio:.2f} times as many as {name}, not more.",
        )
        for name, ratio in more.items()
    ]
    agrees, differs = sorted_by_truth(claims)
    return Redone(
        (
            Grid(
                f"{effort.choose(6_000, 1_041_000):,} tests each, published parameters",
                ["data", "method", "findings", "success rate %"],
                rows,
            ),
        ),
        (
            in_words(
                "NeuronFair generates 5.84 times the instances of the baselines on average, each method with its own counting and stopping."
            ),
        ),
        agrees=agrees,
        differs=(
            *differs,
            f"Published: 5.84 times as many on average; with equal budgets and equal counting {geometric(np.array(list(more.values()))):.2f} times: "
            "see the page on equal counting.",
        ),
        seeds=_seeds(effort),
    )


def table_5(effort: Effort) -> Redone:
    """SG and NeuronFair in equal CPU time."""
    seconds = effort.choose(2, 60)
    rows, ratios = [], []
    for pair in pairs_of(effort):
        found = {
            name: [caught(Hunt("adf", pair[0], pair[1:], name, seed, cpu_seconds=float(seconds)), effort.cells) for seed in effort.seeds]
            for name in ("symbgen", "neuronfair")
        }
        for name, runs in found.items():
            rows.append([" ".join(pair), name, told([each.findings for each in runs]), told([100 * each.success for each in runs], ".1f")])
        ratios.append(
            np.mean([each.findings for each in found["neuronfair"]]) / max(np.mean([each.findings for each in found["symbgen"]]), 1)
        )
    ratio = geometric(np.array(ratios))
    agrees, differs = sorted_by_truth(
        [
            (
                bool(min(ratios) > 1),
                f"NeuronFair finds more than SG on every table ({ratio:.2f} times as many).",
                f"NeuronFair finds {ratio:.2f} times as many as SG (geometric mean), not more on every table: this SG shares one tree among up to "
                "256 inputs and needs no solver, which makes it thousands of times as fast as the published one.",
            ),
        ]
    )
    return Redone(
        (Grid(f"{seconds} CPU-seconds each", ["data", "method", "findings", "success rate %"], rows),),
        (in_words("In equal time NeuronFair generates much more than SymbGen on all datasets."),),
        agrees=agrees,
        differs=differs,
        seeds=_seeds(effort),
    )


def table_6(effort: Effort) -> Redone:
    """Global phase: distinct tests from common seeds.  Local phase: distinct tests from a common mixture of findings."""
    tests, count, each = effort.choose(1_000, 10_000), effort.choose(20, 100), effort.choose(100, 1_000)
    rows = []
    best: dict[str, list[str]] = {"global": [], "local": []}
    for pair in pairs_of(effort):
        means: dict[str, dict[str, float]] = {"global": {}, "local": {}}
        for name in CONTENDERS:
            first = [global_cell(effort.cells, name, *pair, tests, seed)["findings"] for seed in effort.seeds]
            later = [local_cell(effort.cells, name, *pair, (tests, count, each), seed) for seed in effort.seeds]
            local = [cell["findings"] / max(cell["seeds"], 1) for cell in later]
            rows.append([" ".join(pair), name, told(first), told(local, ".1f")])
            means["global"][name], means["local"][name] = float(np.mean(first)), float(np.mean(local))
        for phase, by_name in means.items():
            best[phase].append(max(by_name, key=lambda name: by_name[name]))
    claims = [
        (
            set(names) == {"neuronfair"},
            f"NeuronFair finds most in the {phase} phase.",
            f"Most in the {phase} phase: {', '.join(names)} (one for each table).",
        )
        for phase, names in best.items()
    ]
    agrees, differs = sorted_by_truth(claims)
    return Redone(
        (
            Grid(
                f"Global: of {tests:,} distinct tests. Local: for each of {count} common seeds, of {each} tests",
                ["data", "method", "global", "local, for each seed"],
                rows,
            ),
        ),
        (in_words("NeuronFair generates more than all baselines in the global phase and returns more for each seed in the local phase."),),
        agrees=agrees,
        differs=differs,
        seeds=_seeds(effort),
    )


def _versions(effort: Effort) -> dict[tuple[str, str], list[dict[str, Any]]]:
    pairs = (
        (("credit", "sex"),)
        if effort.is_quick
        else (("census", "sex"), ("census", "race"), ("census", "age"), ("credit", "sex"), ("credit", "age"))
    )
    tests = effort.choose(5_000, 20_000)
    found = {}
    for pair in pairs:
        found[pair] = [
            effort.cells.take(
                "retrained",
                {"pair": pair, "tests": tests, "seed": seed},
                lambda pair=pair, seed=seed: retrained_versions(*pair, tests, seed),
                nets(),
            )
            for seed in effort.seeds
        ]
    return found


def table_7(effort: Effort) -> Redone:
    """DM-RS before and after retraining with each method's findings."""
    rows, claims = [], []
    for pair, seeds in _versions(effort).items():
        for name in seeds[0]:
            values = [told([100 * each[name][figure] for each in seeds], ".2f") for figure in ("rate", "accuracy")]
            rows.append([" ".join(pair), name, *values])
        mean = {name: float(np.mean([each[name]["rate"] for each in seeds])) for name in seeds[0]}
        lowest = min((name for name in mean if name not in ("before", "fitted again")), key=lambda name: mean[name])
        claims.append(
            (
                lowest == "neuronfair",
                f"{' '.join(pair)}: least with NeuronFair's findings.",
                f"{' '.join(pair)}: least with the findings of {lowest}.",
            )
        )
    agrees, differs = sorted_by_truth(claims)
    return Redone(
        (Grid("Fitted again with findings worth 30 % of the rows", ["data", "net", "DM-RS %", "accuracy %"], rows),),
        (in_words("In all cases NeuronFair obtains the smallest DM-RS. The table has no net that is only fitted again."),),
        agrees=agrees,
        differs=(*differs, "A net that is only fitted again moves DM-RS as well; only what goes beyond it belongs to the findings."),
        seeds=_seeds(effort),
    )


def table_8(effort: Effort) -> Redone:
    """CPU-seconds for a thousand findings."""
    names = (*RIVALS, "neuronfair")
    rows, times = [], {name: [] for name in names}
    for pair in pairs_of(effort):
        for name in names:
            runs = [1000 / max(each.rate, 1e-9) for each in totals(effort, pair, name)]
            times[name].append(float(np.mean(runs)))
            rows.append([" ".join(pair), name, told(runs, ".4f")])
    faster = {name: geometric(np.array(times[name]) / np.array(times["neuronfair"])) for name in RIVALS}
    claims = [
        (ratio > 1.05, f"NeuronFair is {ratio:.2f} times as fast as {name}.", f"NeuronFair is {ratio:.2f} times as fast as {name}.")
        for name, ratio in faster.items()
    ]
    agrees, differs = sorted_by_truth(claims)
    return Redone(
        (Grid("CPU-seconds per 1,000 findings", ["data", "method", "seconds"], rows),),
        (in_words("NeuronFair produces instances with an average speed-up of 534.56 %."),),
        agrees=agrees,
        differs=(*differs, "All methods are batched here; the published ratio compares implementations as much as methods."),
        seeds=_seeds(effort),
    )


def table_9(effort: Effort) -> Redone:
    """AUC of the AS curve against DM-RS over one net and its retrained versions."""
    rows, ranks, spreads = [], [], []
    for pair, seeds in _versions(effort).items():
        for seed, versions in enumerate(seeds):
            both = agreement([each["auc"] for each in versions.values()], [each["rate"] for each in versions.values()])
            ranks.append(both.spearman)
            spreads.append(both.significance)
            cells = [f"{versions[name]['rate']:.4f} / {versions[name]['auc']:.3f}" for name in versions]
            rows.append([" ".join(pair), str(seed), *cells, f"{both.spearman:+.2f}"])
    agrees, differs = sorted_by_truth(
        [
            (
                bool(np.mean(ranks) > 0.9),
                f"AUC and DM-RS rank the versions alike (mean correlation {np.mean(ranks):+.2f}).",
                f"AUC and DM-RS do not rank the versions alike: the mean rank correlation is {np.mean(ranks):+.2f}, where the paper has 1 in "
                "every case. A net's neurons can react to a column that its answer hardly depends on.",
            ),
            (
                bool(np.mean(spreads) > 1),
                f"AUC spreads {np.mean(spreads):.1f} times as far as DM-RS.",
                f"AUC spreads only {np.mean(spreads):.1f} times as far as DM-RS.",
            ),
        ]
    )
    names = list(next(iter(_versions(effort).values()))[0])
    return Redone(
        (Grid("DM-RS / AUC of every version, and their rank correlation", ["data", "seed", *names, "correlation"], rows),),
        (in_words("All S values (rank correlation) are 1: rankings by AUC are completely consistent with those by DM-RS; AUC is larger."),),
        agrees=agrees,
        differs=differs,
        seeds=_seeds(effort),
        interval="Every seed is shown.",
    )


def t_test(effort: Effort) -> Redone:
    """Welch's test on findings, NeuronFair against each other method."""
    from scipy.stats import ttest_ind

    rows, claims = [], []
    for pair in QUICK if effort.is_quick else FULL[:5]:
        ours = [each.findings for each in totals(effort, pair, "neuronfair")]
        for name in RIVALS:
            others = [each.findings for each in totals(effort, pair, name)]
            found = ttest_ind(ours, others, equal_var=False)
            more = float(np.mean(ours) - np.mean(others))
            rows.append([" ".join(pair), name, f"{more:+,.0f}", f"{found.pvalue:.3g}"])
            words = f"{' '.join(pair)} against {name}: {more:+,.0f} findings, p {found.pvalue:.2g}"
            claims.append((bool(found.pvalue < 0.05 and more > 0), f"{words}.", f"{words}: not significantly more."))
    agrees, differs = sorted_by_truth(claims)
    return Redone(
        (Grid("NeuronFair minus the other method, Welch's t-test over seeds", ["data", "against", "difference of means", "p"], rows),),
        (in_words("A preliminary t-test on Adult and Credit: all p-values are small enough to reject the null hypothesis."),),
        agrees=agrees,
        differs=differs,
        seeds=_seeds(effort),
        interval=f"Each side has {len(effort.seeds)} runs.",
    )


RADII = (0.001, 0.005, 0.01, 0.02, 0.05)


def figure_5(effort: Effort) -> Redone:
    """Generation diversity of the published local phases from common seeds."""
    plan = (effort.choose(1_000, 10_000), effort.choose(20, 100), effort.choose(100, 1_000))
    rows, lines, above = [], [], []
    for pair in pairs_of(effort):
        for rival in ("aequitas_full", "adf"):
            ratios = []
            for seed in effort.seeds:
                kept = [np.asarray(local_cell(effort.cells, name, *pair, plan, seed)["rows"]) for name in ("neuronfair", rival)]
                if min(map(len, kept)):
                    ratios.append([each.ratio for each in generation_diversity(kept[0], kept[1], subject(*pair).domain, RADII)])
            if not ratios:
                continue
            mean = np.nanmean(np.where(np.isinf(ratios), np.nan, ratios), axis=0)
            above.append(bool((mean > 1).all()))
            rows.append([" ".join(pair), rival, *(told([each[k] for each in ratios], ".2f") for k in range(len(RADII)))])
            points = [(radius, float(value)) for radius, value in zip(RADII, mean, strict=True) if np.isfinite(value)]
            lines.append(Line(f"{' '.join(pair)}, {rival}", tuple(points), tone(len(lines))))
    ys = [y for line in lines for _, y in line.points] or [1.0]
    drawn = Plot(
        "Generation diversity",
        Axis.over([0.0, RADII[-1]], "radius"),
        Axis.over([*ys, 1.0], "GD of NeuronFair", floor=0.0),
        lines,
        frame=Frame(width=640, height=320),
        names_inside=True,
    )
    agrees, differs = sorted_by_truth(
        [
            (
                all(above),
                "NeuronFair's findings cover the other's more than the other way round, at every radius.",
                f"GD is above 1 at every radius in {sum(above)} of {len(above)} comparisons: from the same seeds, walks that stay among findings "
                "spread as far.",
            ),
        ]
    )
    return Redone(
        (
            Grid(
                f"GD of NeuronFair; {plan[1]} common seeds, {plan[2]} tests each",
                ["data", "against", *(f"radius {r:g}" for r in RADII)],
                rows,
            ),
        ),
        (in_words("GD is above 1 for all radii, and converges to 1 as the radius grows."),),
        agrees=agrees,
        differs=differs,
        seeds=_seeds(effort),
        pictures={"neuronfair-figure-5.svg": standalone(plot(drawn))},
    )


def figure_6(effort: Effort) -> Redone:
    """Biased neurons that findings and misses activate."""
    tests = effort.choose(40_000, 1_041_000)
    found = [
        effort.cells.take(
            "neurons", {"tests": tests, "seed": seed}, lambda seed=seed: neurons_reached("census", "sex", tests, seed), nets()
        )
        for seed in effort.seeds
    ]
    rows = [[name, *(told([100 * each[name][what] for each in found], ".0f") for what in found[0][name])] for name in found[0]]
    mean = {name: np.mean([each[name]["findings"] - each[name]["misses"] for each in found]) for name in found[0]}
    agrees, differs = sorted_by_truth(
        [
            (
                min(mean.values()) > 0.05,
                "Findings activate more of the biased neurons than misses do, for every method.",
                "Findings and misses activate nearly the same biased neurons: activating them is no sign of unfair treatment.",
            ),
            (
                bool(
                    np.mean([each["neuronfair"]["findings"] for each in found])
                    >= max(np.mean([each[n]["findings"] for each in found]) for n in found[0])
                ),
                "NeuronFair's findings activate at least as many as those of the others.",
                "NeuronFair's findings activate fewer than those of another method.",
            ),
        ]
    )
    return Redone(
        (
            Grid(
                "Percent of the biased neurons of the most biased layer",
                ["method", "100 findings", "one finding", "100 misses", "one miss"],
                rows,
            ),
        ),
        (in_words("NeuronFair's instances activate all biased neurons, those of ADF and EIDIG fewer; misses cover little."),),
        agrees=agrees,
        differs=differs,
        seeds=_seeds(effort),
    )


def figure_3(effort: Effort) -> Redone:
    """The areas under the AS curves of the census net's layers, and the curves."""
    given = TABLES["census"]("papers")
    bias = measure_bias(net(net_folder(), "NeuronFair", "census"), given.domain.protect("sex"), given.rows)
    rows = [[name, f"{area:.3f}", f"{seen:.3f}"] for (name, area), seen in zip(bias.areas.items(), SEEN_AREAS, strict=True)]
    worst = max(abs(area - seen) for area, seen in zip(bias.areas.values(), SEEN_AREAS, strict=True))
    third = bias["relu_3"]
    agrees, differs = sorted_by_truth([either(worst <= SAME_AREA, f"The largest difference of an area is {worst:.4f}.")])
    return Redone(
        (
            Grid("Area under the AS curve, census, sex", ["layer", "here", "seen with the authors' nets"], rows),
            Grid(
                "relu_3",
                ["crossing T_d", "biased neurons"],
                [[f"{third.curve.crossing:.3f}", f"{int(third.biased.sum())} of {len(third.biased)}"]],
            ),
        ),
        (in_words("Figures of the curves are drawn, not printed; .625 and 10 of 16 neurons were seen on the same net."),),
        agrees=agrees,
        differs=differs,
        seeds="none",
        interval="Nothing is random.",
        pictures={"neuronfair-figure-3.svg": _as_curves({name: bias[name].curve for name in bias.areas})},
    )


def _as_curves(curves: Mapping[str, Curve]) -> str:
    """Every layer's share of neurons above a threshold; where a curve meets y = x lies its T_d."""
    lines = [
        Line(name, tuple(zip(curve.thresholds.tolist(), curve.shares.tolist(), strict=True)), tone(at))
        for at, (name, curve) in enumerate(curves.items())
    ]
    lines.append(Line("y = x", ((0.0, 0.0), (1.0, 1.0)), tone(len(lines)), is_dashed=True))
    drawn = Plot(
        "AS curves of the census net",
        Axis.over([0.0, 1.0], "threshold of ActDiff"),
        Axis.over([0.0, 1.0], "share of neurons above it", floor=0.0),
        lines,
        frame=Frame(width=640, height=360, right=70),
        names_inside=True,
    )
    return standalone(plot(drawn))
