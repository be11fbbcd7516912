"""The tables and figures of LIMI (Xiao, Liu, Li, Liu, "Latent Imitator", ISSTA 2023), and what its text reports beside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from hunts import Caught, Hunt, caught
from judged_kinds import retraining_cell
from redone import Effort, Grid, Redone, either, ranked, sorted_by_truth, told

from evenhand.arrays import Rows
from evenhand.measures.likeness import LatentAxis, densities
from evenhand.measures.naturalness import atn
from evenhand.report.charts.canvas import Axis, standalone, tone
from evenhand.report.charts.plots import Frame, Line, Plot, PlotColumn, columns, plot
from evenhand.synthesis.ctgan import CtganSettings
from parts.limi_data import EXPGA_RANKS, table
from parts.limi_published import ATN, AUC, BY_STEP, COMBINED, FOUND, PAIRS, PER_SECOND, STEPS, TOGETHER

QUICK_PAIRS = (("adult", "sex"), ("credit", "sex"))
METHODS = ("aequitas", "symbgen", "adf", "eidig", "neuronfair", "expga", "limi")
WHITE_BOX = ("adf", "eidig", "neuronfair")
BLACK_BOX = ("aequitas", "symbgen", "expga", "limi")
OURS = ("evenhand",)
MILLION = 1_000_000
FEW = 10_000
"""Tests of each method in the short form."""
CTGAN_AVERAGE = (
    f"CTGANs are trained here as published, but for one thing: the generator is a moving average over training steps that keeps "
    f"{CtganSettings().average:g} of itself in each (`average=0` would be the last step, as published)."
)
SHARED = "A finding counts once per distinct non-protected part, for every method; each is judged on the model itself."


def pairs_of(effort: Effort) -> Sequence[tuple[str, str]]:
    """Tables with their protected column."""
    return QUICK_PAIRS if effort.is_quick else PAIRS


def hunts_of(effort: Effort, data: str, protected: Sequence[str], family: str, method: str) -> list[Caught]:
    """The searches of one line of Table 1, 2, 3 or 7: so many tests for each method, LIMI in a CTGAN of 300 epochs."""
    return [caught(hunt_of(effort, data, protected, family, method, seed), effort.cells) for seed in effort.seeds]


def hunt_of(effort: Effort, data: str, protected: Sequence[str], family: str, method: str, seed: int) -> Hunt:
    """One of them; `limi, trees` is LIMI in chained trees."""
    name, _, space = method.partition(", ")
    own = {"latents": effort.choose(FEW, MILLION) // 2} if name == "limi" and effort.is_quick else {}
    ranks = {"rank": EXPGA_RANKS[data]} if name == "expga" and data in EXPGA_RANKS else {}
    few = {"global_samples": 100} if name == "expga" and effort.is_quick else {}
    return Hunt(
        "limi",
        data,
        tuple(protected),
        name,
        seed,
        family,
        "ctgan" if name == "limi" and not space else "",
        {**own, **ranks, **few},
        effort.choose(FEW, MILLION),
    )


def _head(effort: Effort) -> list[str]:
    return ["method", *(f"{data} {protected}" for data, protected in pairs_of(effort))]


def _published(title: str, by_method: Mapping[str, Sequence[float]], form: str) -> Grid:
    rows = [[method, *(f"{value:{form}}" for value in values)] for method, values in by_method.items()]
    return Grid(title, ["method", *(f"{data} {protected}" for data, protected in PAIRS)], rows)


def _by_method(effort: Effort, family: str, title: str, take: Take, form: str) -> Grid:
    names = (*(METHODS if family == "mlp" else BLACK_BOX), "limi, trees", *OURS)
    rows = []
    for method in names:
        cells = []
        for data, protected in pairs_of(effort):
            found = hunts_of(effort, data, (protected,), family, method)
            cells.append(told([take(each, (data, protected)) for each in found], form))
        rows.append([method, *cells])
    return Grid(title, _head(effort), rows)


Take = Callable[[Caught, Sequence[str]], float | None]


def _claims(effort: Effort, family: str, what: str, take: Take, published: Mapping[str, Sequence[float]]) -> list[tuple[bool, str, str]]:
    """For each table of data: how the order of methods goes with the published one."""
    claims = []
    for pair in pairs_of(effort):
        place = PAIRS.index(pair)
        ours = {}
        for name in published:
            values = [take(each, pair) for each in hunts_of(effort, pair[0], pair[1:], family, name)]
            ours[name] = float(np.mean([value for value in values if value is not None] or [np.nan]))
        claims.append(ranked(f"{' '.join(pair)}, {what}", ours, {name: values[place] for name, values in published.items()}))
    return claims


def _gains(effort: Effort, family: str) -> dict[str, float]:
    """By method: how many times the published findings per second, as the geometric mean over the tables of data."""
    gains: dict[str, list[float]] = {}
    for pair in pairs_of(effort):
        for name, values in PER_SECOND[family].items():
            ours = float(np.mean([each.rate for each in hunts_of(effort, pair[0], pair[1:], family, name)]))
            if ours > 0 and values[PAIRS.index(pair)] > 0:
                gains.setdefault(name, []).append(ours / values[PAIRS.index(pair)])
    return {name: float(np.exp(np.mean(np.log(each)))) for name, each in gains.items()}


def seeds_told(effort: Effort) -> str:
    """The seeds as a page says them."""
    return f"0 to {max(effort.seeds)}"


def table_1(effort: Effort, family: str = "mlp") -> Redone:
    """Findings and findings per CPU-second, so many tests each."""
    tests = f"{effort.choose(FEW, MILLION):,} tests each"
    agrees, differs = sorted_by_truth(_claims(effort, family, "findings per second", lambda each, _: each.rate, PER_SECOND[family]))
    gains = _gains(effort, family)
    slowest, fastest = (min(gains.values()), max(gains.values()))
    return Redone(
        (
            _by_method(effort, family, f"Findings, {tests}", lambda each, _: each.findings, ",.0f"),
            _by_method(effort, family, "Findings per CPU-second", lambda each, _: each.rate, ",.0f"),
        ),
        (
            _published("Findings in an hour", FOUND[family], ",.0f"),
            _published("Findings per second (EGS)", PER_SECOND[family], ".2f"),
        ),
        agrees=agrees,
        differs=(
            *differs,
            f"Rates are {slowest:,.0f} to {fastest:,.0f} times the published ones (geometric mean over the tables, by method; least for "
            f"{min(gains, key=gains.__getitem__)}, most for {max(gains, key=gains.__getitem__)}): batches of rows are asked where the "
            "authors' code asks, differentiates and searches row by row. Where the gain differs from method to method, so does the order.",
            f"The paper counts what an hour gives, this page what equally many tests give. {SHARED} Table 3 shows what the findings are worth.",
            CTGAN_AVERAGE,
            *(("Short form: fewer tests, and ExpGA explains 100 samples instead of 1,000.",) if effort.is_quick else ()),
        ),
        seeds=seeds_told(effort),
    )


def table_2(effort: Effort) -> Redone:
    """The same for forests."""
    return table_1(effort, "forest")


def table_3(effort: Effort) -> Redone:
    """ATN in percent of up to 1,000 findings."""

    def natural(each: Caught, pair: Sequence[str]) -> float | None:
        real = table(pair[0], pair[1])
        return 100 * atn(real.rows, each.kept, real.domain) if len(each.rows) else None

    agrees, differs = sorted_by_truth([*_claims(effort, "mlp", "ATN", natural, ATN), *_limi_naturalness(effort, natural)])
    return Redone(
        (_by_method(effort, "mlp", "ATN in percent, of up to 1,000 findings", natural, ".1f"),),
        (_published("ATN in percent", ATN, ".2f"),),
        agrees=agrees,
        differs=(
            *differs,
            "A latent decoded by a CTGAN has the likeliest cell of every column, and the neighbourhood of a plane is not the whole "
            "population. Credit's CTGAN learnt from 600 rows.",
            "ATN compares findings with everybody, so that real findings fall short of 100 too: see the page on three judges.",
            CTGAN_AVERAGE,
        ),
        seeds=seeds_told(effort),
    )


NEAR_POINTS = 5.0
"""Percentage points within which a figure is said to agree with the published one."""


def _limi_naturalness(effort: Effort, natural: Take) -> list[tuple[bool, str, str]]:
    """LIMI's own ATN beside the published one."""
    claims = []
    for pair in pairs_of(effort):
        values = [natural(each, pair) for each in hunts_of(effort, pair[0], pair[1:], "mlp", "limi")]
        ours = float(np.mean([value for value in values if value is not None] or [np.nan]))
        printed = ATN["limi"][PAIRS.index(pair)]
        claims.append(either(abs(ours - printed) <= NEAR_POINTS, f"{' '.join(pair)}: LIMI's ATN is {ours:.1f}, published {printed:.1f}."))
    return claims


def table_5(effort: Effort) -> Redone:
    """AUC of the boundary, on the confident latents and on all."""
    families = ("mlp",) if effort.is_quick else ("mlp", "forest", "svm")
    rows = []
    means: dict[tuple[str, str, str], list[float]] = {}
    for data, protected in dict(reversed(pairs_of(effort))).items():
        for family in families:
            cells = []
            for method in ("limi", "limi, trees"):
                facts = [each.facts.get("boundary", {}) for each in hunts_of(effort, data, (protected,), family, method)]
                for key in ("auc_train", "auc_all"):
                    values = [100 * f[key] for f in facts if key in f]
                    cells.append(told(values, ".1f"))
                    means.setdefault((data, method, key), []).extend(values)
            rows.append([data, family, *cells])
    agrees, differs = sorted_by_truth(_auc_claims({key: float(np.mean(values)) for key, values in means.items() if values}))
    head = ["data", "model", "CTGAN: confident", "CTGAN: all", "trees: confident", "trees: all"]
    published = [[data, family, *(f"{value:.2f}" for value in values)] for (data, family), values in AUC.items()]
    return Redone(
        (Grid("AUC in percent", head, rows),),
        (Grid("AUC in percent", ["data", "model", "confident", "all"], published),),
        agrees=agrees,
        differs=(*differs, CTGAN_AVERAGE),
        seeds=seeds_told(effort),
    )


def _auc_claims(means: Mapping[tuple[str, str, str], float]) -> list[tuple[bool, str, str]]:
    """Confident latents against all, Credit against Adult, and the two spaces, in the figures of this page."""
    names = list(dict.fromkeys(data for data, _, _ in means))
    known = [name for name in names if ("limi" in {m for d, m, _ in means if d == name})]
    both = {name: (means[name, "limi", "auc_train"], means[name, "limi", "auc_all"]) for name in known}
    told_both = ", ".join(f"{name} {sure:.1f} against {every:.1f}" for name, (sure, every) in both.items())
    claims = [either(all(sure > every for sure, every in both.values()), f"CTGAN, confident latents against all of them: {told_both}.")]
    if {"adult", "credit"} <= both.keys():
        adult, credit = both["adult"][1], both["credit"][1]
        claims.append(either(credit < adult, f"CTGAN, all latents: Credit {credit:.1f}, Adult {adult:.1f}; in the paper Credit is lower."))
    spaces = {name: means[name, "limi, trees", "auc_all"] for name in known if (name, "limi, trees", "auc_all") in means}
    less = ", ".join(f"{name} {value:.1f} (CTGAN {both[name][1]:.1f})" for name, value in spaces.items())
    claims.append(
        (False, "", f"In chained trees, which have one coordinate for each column and are not in the paper, all latents: {less}.")
    )
    return claims


def table_6(effort: Effort) -> Redone:
    """Findings by lambda."""
    rows, best = [], []
    for data, protected in pairs_of(effort):
        for space in ("ctgan", ""):
            cells, counts = [], {}
            for step in STEPS:
                own = {"step": step, **({"latents": FEW // 2} if effort.is_quick else {})}
                tests = effort.choose(FEW, MILLION)
                found = [
                    caught(Hunt("limi", data, (protected,), "limi", seed, "mlp", space, own, tests), effort.cells) for seed in effort.seeds
                ]
                cells.append(told([each.findings for each in found]))
                counts[step] = float(np.mean([each.findings for each in found]))
            rows.append([f"{data} {protected}, {space or 'trees'}", *cells])
            best.append((f"{data} {protected}, {space or 'trees'}", counts))
    head = ["data", *(f"{step:g}" for step in STEPS)]
    published = [[f"{data} {protected}", *(f"{value:,}" for value in values)] for (data, protected), values in BY_STEP.items()]
    worse = [name for name, counts in best if min(counts[step] for step in STEPS[1:]) <= counts[STEPS[0]]]
    most = "; ".join(f"{name}: {max(counts, key=counts.__getitem__):g}" for name, counts in best)
    agrees, differs = sorted_by_truth(
        [
            (not worse, "Every step beyond the plane finds more than none.", f"Some step finds no more than none for {', '.join(worse)}."),
            (False, "", f"The step with the most findings is, for {most}. In chained trees a unit is a standard deviation of a column."),
        ]
    )
    return Redone(
        (Grid("Findings by lambda", head, rows),),
        (Grid("Findings in an hour by lambda", head, published),),
        agrees=agrees,
        differs=(*differs, CTGAN_AVERAGE),
        seeds=seeds_told(effort),
    )


def table_7(effort: Effort) -> Redone:
    """Several protected attributes at once: means over the combinations."""
    combinations = [each for each in COMBINED if not effort.is_quick or each == COMBINED[0]]
    rows, natural_by = [], {}
    for method in (*(each for each in METHODS if each != "symbgen"), "limi, trees", *OURS):
        lists = [(data, hunts_of(effort, data, protected, "mlp", method)) for data, *protected in combinations]
        by_seed = list(zip(*(found for _, found in lists), strict=True))
        real = [table(data, *protected) for data, *protected in combinations]
        natural = [
            float(
                np.mean([100 * atn(t.rows, each.kept, t.domain) for t, each in zip(real, row, strict=True) if len(each.rows)] or [np.nan])
            )
            for row in by_seed
        ]
        found = [float(np.mean([each.findings for each in row])) for row in by_seed]
        rates = [float(np.mean([each.rate for each in row])) for row in by_seed]
        natural_by[method] = float(np.mean(natural))
        rows.append([method, told(found), told(rates), told(natural, ".1f")])
    published = [[method, f"{found:,}", f"{rate:.2f}", f"{natural:.2f}"] for method, (found, rate, natural) in TOGETHER.items()]
    where = "; ".join(f"{data}: {', '.join(rest)}" for data, *rest in combinations)
    agrees, differs = sorted_by_truth(
        [ranked("ATN", {name: value for name, value in natural_by.items() if name in TOGETHER}, {n: v[2] for n, v in TOGETHER.items()})]
    )
    return Redone(
        (Grid(f"Means over {where}", ["method", "findings", "per CPU-second", "ATN %"], rows),),
        (Grid("Means over four combinations", ["method", "findings", "per second", "ATN %"], published),),
        agrees=agrees,
        differs=(*differs, "Counts: as in Table 1.", CTGAN_AVERAGE),
        seeds=seeds_told(effort),
    )


def figure_2(effort: Effort) -> Redone:
    """Where findings lie on the first principal axis of the real rows, as curves."""
    data, protected = pairs_of(effort)[0]
    real = table(data, protected)
    sets: dict[str, Rows] = {}
    distances: dict[str, list[float]] = {}
    axis = LatentAxis.of(real.rows, real.domain)
    usual = axis.places(real.rows)
    for method in ("neuronfair", "expga", "limi", "limi, trees", *OURS):
        for seed, found in zip(effort.seeds, hunts_of(effort, data, (protected,), "mlp", method), strict=True):
            if len(found.rows):
                distances.setdefault(method, []).append(_area_between(usual, axis.places(found.kept)))
                sets |= {method: found.kept} if seed == 0 else {}
    rows = [[method, told(values, ".3f")] for method, values in distances.items()]
    others = {name: float(np.mean(distances[name])) for name in ("neuronfair", "expga", "limi") if name in distances}
    nearest = min(others, key=lambda name: others[name]) if others else "none"
    return Redone(
        (Grid(f"Distance between the curves (Kolmogorov's D), {data} {protected}, 1,000 findings each", ["method", "D"], rows),),
        (Grid("In words", ["figure"], [["The distribution of LIMI's instances is the closest to the original one."]]),),
        agrees=("LIMI's curve is nearer to the original one than those of NeuronFair and ExpGA.",) if nearest == "limi" else (),
        differs=(
            *((f"Of the three methods that the figure shows, {nearest} is the nearest on this axis.",) if nearest != "limi" else ()),
            "One axis of many columns: findings can lie right on it and still be unlike anybody (see the naturalness page).",
        ),
        seeds=seeds_told(effort),
        pictures={"limi-figure-2.svg": _curves(sets, axis)},
    )


def _area_between(first: Any, second: Any) -> float:
    from scipy.stats import ks_2samp

    return float(ks_2samp(first, second).statistic)


def _curves(sets: Mapping[str, Rows], axis: LatentAxis) -> str:
    lines = [
        Line(curve.label, tuple(zip(curve.places, curve.density, strict=True)), tone(at))
        for at, curve in enumerate(densities(sets, axis, np.random.default_rng(0)))
    ]
    xs, ys = ([point[k] for line in lines for point in line.points] for k in (0, 1))
    chart = Plot(
        "Findings on the first principal axis",
        Axis.over(xs, "first principal axis"),
        Axis.over(ys, "density", floor=0.0),
        lines,
        frame=Frame(width=640, height=320),
        names_inside=True,
    )
    return standalone(plot(chart))


LOCAL = ("adf", "eidig", "neuronfair", "expga")


def figure_3(effort: Effort) -> Redone:
    """X against X with LIMI's findings as its seeds: 1,000 seeds out of 40,000 tests, 1,000 local steps (100 and 100 in short)."""
    steps, seeds = effort.choose(100, 1000), effort.choose(200, 1000)
    rows, ratios, pictures = [], [], {}
    for data, protected in pairs_of(effort):
        bars: list[PlotColumn] = []
        for name in LOCAL:
            own = {"global_samples": seeds} if name == "expga" else {"seeds": seeds, "local_steps": steps}
            limit = effort.choose(40_000, 1_041_000)
            alone = [Hunt("limi", data, (protected,), name, seed, parameters=own, candidates=limit) for seed in effort.seeds]
            joined_own = {"local": name, "seeds": seeds, "latents": effort.choose(10_000, MILLION)}
            joined = [Hunt("limi", data, (protected,), "limi", seed, "mlp", "ctgan", joined_own, limit) for seed in effort.seeds]
            found = [[caught(hunt, effort.cells).findings for hunt in hunts] for hunts in (alone, joined)]
            ratio = float(np.mean(found[1]) / max(np.mean(found[0]), 1))
            ratios.append(ratio)
            rows.append([f"{data} {protected}", name, told(found[0]), told(found[1]), f"{ratio:.2f}"])
            bars += [
                PlotColumn(name if bars else f"{data}: {name}", float(np.mean(found[0]))),
                PlotColumn("+ LIMI", float(np.mean(found[1]))),
            ]
        pictures[f"limi-figure-3-{data}-{protected}.svg"] = _beside_limi(bars, f"{data} {protected}")
    mean = float(np.exp(np.mean(np.log(np.maximum(ratios, 1e-9)))))
    head = ["data", "local method", "alone", "with LIMI's seeds", "ratio"]
    words = f"{mean:.2f} times the findings (geometric mean over {len(ratios)} cases)"
    return Redone(
        (Grid(f"Findings, {steps:,} local steps from up to {seeds:,} seeds", head, rows),),
        (Grid("In words", ["figure"], [["LIMI enhances the generation quantity around 1.65 times on average."]]),),
        agrees=(f"LIMI's seeds help: {words}.",) if mean > 1.1 else (),
        differs=()
        if mean > 1.1
        else (f"Here LIMI's seeds give {words}: methods that finish their own global phase are not short of seeds.",),
        seeds=seeds_told(effort),
        pictures=pictures,
    )


def _beside_limi(bars: Sequence[PlotColumn], case: str) -> str:
    up = Axis.over([bar.value for bar in bars], "findings", floor=0.0)
    told_words = f"Findings alone and with LIMI's seeds, {case}"
    return standalone(columns(bars, told_words, up, Frame(width=720, height=260)), told_words)


HARDLY = 0.02
"""A loss of accuracy up to this share is called small."""


def table_4(effort: Effort) -> Redone:
    """Retraining; each pair and seed is a cell."""
    import repair
    from parts.repair_published import PUBLISHED

    work = repair.QUICK if effort.is_quick else repair.FULL
    ledger = repair.Ledger()
    pairs = work.pairs[:1] if effort.is_quick else work.pairs
    for pair in pairs:
        for seed in range(work.seeds):
            found = retraining_cell(effort.cells, pair, seed, effort.is_quick)
            for model, figures in found.items():
                ledger.add(pair, model, figures)
    names = list(dict.fromkeys(model for _, model in ledger.figures))
    head = ["data", "net", *repair.FIGURES]
    rows = [
        [" ".join(pair), name, *(told([each[figure] for each in ledger.figures[pair, name]], ".3f") for figure in repair.FIGURES)]
        for pair in pairs
        for name in names
        if (pair, name) in ledger.figures
    ]
    published = [
        [" ".join(pair), net, *(f"{value:g}" for value in values)] for pair, nets in PUBLISHED.items() for net, values in nets.items()
    ]
    lost = {
        name: max(ledger.mean(pair, "before", "acc") - ledger.mean(pair, name, "acc") for pair in pairs if (pair, name) in ledger.figures)
        for name in names
        if name != "before"
    }
    worst = max(lost, key=lost.__getitem__)
    agrees, differs = sorted_by_truth(
        [either(lost[worst] <= HARDLY, f"Retraining costs at most {100 * lost[worst]:.1f} points of accuracy ({worst}).")]
    )
    return Redone(
        (Grid("Held-out accuracy, IF_r, IF_o, SPD, AOD", head, rows),),
        (Grid("Accuracy, IF_r, IF_o in percent; SPD, AOD", head, published),),
        agrees=agrees,
        differs=(
            *differs,
            "The paper compares one net with one other. A net that is only fitted again with another seed moves IF_r as far as most "
            "retrained ones do; random rows instead of findings are the second control. See the page on retraining.",
            "In the published table the rows of Bank age and MEPS gender are the same numbers.",
        ),
        seeds=f"0 to {work.seeds - 1}",
    )


SIZEABLE = 0.05
"""Half of the published share."""


def figure_4(effort: Effort) -> Redone:
    """LIMI on drawn portraits: how many points on the boundary get another answer when the tone is reflected."""
    from picture_cells import LIMI_SPACES, limi_pictures

    seeds = range(1)
    spaces = {"pca": LIMI_SPACES["pca"]} if effort.is_quick else LIMI_SPACES  # a GAN takes minutes to learn
    rows, lows, picture = [], [], ""
    for (space, called), seed in product(spaces.items(), seeds):
        key = {"quick": effort.is_quick, "space": space, "seed": seed}
        each = effort.cells.take("limi-pictures", key, partial(limi_pictures, effort.is_quick, space, seed))
        share = f"{each['share']:.1%} ({each['low']:.1%} to {each['high']:.1%})"
        rows.append([called, str(seed), f"{each['points']:,}", f"{each['hits']:,}", share])
        lows.append(each["low"])
        picture = each["picture"] or picture  # of the last space, in the whole form the GAN
    least = min(lows)
    shown = (
        f"Latents moved onto the boundary give discriminatory pictures in at least {least:.1%} of the cases (the lowest bound of a row)."
    )
    agrees, differs = sorted_by_truth([either(least >= SIZEABLE, shown)])
    head = ["latent space", "seed", "tests", "discriminatory", "share"]
    return Redone(
        (Grid("Points on the boundary whose twin in tone gets another answer; both planes are linear SVMs", head, rows),),
        (Grid("CelebA, smile, gender", ["tests", "discriminatory", "share"], [["50,000", "about 5,000", "10 %"]]),),
        agrees=agrees,
        differs=(
            *differs,
            "Portraits are drawn at 32 pixels, the label is the age group, and the bias is planted: shares depend on how strong it was made.",
            "Short form: principal components alone." if effort.is_quick else "The GAN is a small one.",
        ),
        seeds="0",
        interval="Intervals of a share are exact (Clopper-Pearson).",
        pictures={"limi-figure-4.svg": picture} if picture else {},
    )
