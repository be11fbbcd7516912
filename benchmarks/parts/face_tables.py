"""DeepFAIT's tables of verdicts, neurons, coverage, generation, mending and selection."""

from __future__ import annotations

import numpy as np
from deepfait import PictureChain, figure_3, figure_4

from evenhand.measures.neurons.adequacy import LAYER_MEASURES, MEASURES
from evenhand.report.charts.canvas import Axis, standalone
from evenhand.report.charts.plots import PlotColumn, columns
from evenhand.statistics.intervals import clopper_pearson
from parts.face_harvest import Book, Harvest


def tell_verdicts(book: Book, harvest: Harvest) -> None:
    """Whether the planted bias is found, and whether alarms are raised without it."""
    found = [chain.leaning.found for chain in harvest.chains]
    alarms = [each[3].found for each in harvest.clean]
    book.figures["planted_bias_found"] = float(np.mean(found))
    book.figures["false_alarm"] = float(np.mean(alarms))
    book.say("### Planted bias found, and none where none was planted")
    rows = []
    for kind, attribute in sorted({(c.plan.architecture, c.plan.attribute) for c in harvest.chains}):
        chains = [c for c in harvest.chains if (c.plan.architecture, c.plan.attribute) == (kind, attribute)]
        clean = [each for each in harvest.clean if each[:2] == (kind, attribute)]
        rows.append([
            kind, attribute, f"{np.mean([c.accuracy for c in chains]):.1%}",
            f"{np.mean([c.test_pairs.share.estimate for c in chains]):.1%}",
            f"{harvest.shares[attribute]:.1%}", f"{sum(c.leaning.found for c in chains)}/{len(chains)}",
            f"{np.mean([e[5] for e in clean]):.1%}",
            f"{np.mean([e[4] for e in clean]):.1%}", f"{sum(e[3].found for e in clean)}/{len(clean)}",
        ])  # fmt: skip
    header = [
        "classifier",
        "attribute",
        "accuracy",
        "unfair pairs",
        "planted share",
        "found",
        "clean: accuracy",
        "clean: unfair pairs",
        "clean: alarms",
    ]
    book.table(header, rows)
    limit = clopper_pearson(sum(alarms), len(alarms))
    book.say(f"Alarms without planted bias: {sum(alarms)} of {len(alarms)} (exact 95 % interval up to {limit.high:.0%}).")


def spread(values: list[float], percent: bool = True) -> str:
    """Mean and standard deviation."""
    factor = 100.0 if percent else 1.0
    return f"{factor * np.mean(values):.1f} ± {factor * np.std(values):.1f}"


def tell_neurons(book: Book, harvest: Harvest) -> None:
    """Table 3, Figures 3 and 4."""
    book.say("### Fairness-related neurons (Table 3): tie-corrected / as printed / Benjamini-Hochberg, mean over seeds")
    for kind in dict.fromkeys(c.plan.architecture for c in harvest.chains):
        rows = []
        chains = [c for c in harvest.chains if c.plan.architecture == kind]
        for layer in list(chains[0].studies)[::-1][:5]:
            cells = [layer, str(chains[0].studies[layer].neurons)]
            for attribute in dict.fromkeys(c.plan.attribute for c in chains):
                tests = [c.studies[layer].test for c in chains if c.plan.attribute == attribute]
                counts = [
                    [t.related().sum() for t in tests],
                    [t.related(printed=True).sum() for t in tests],
                    [t.related(rule="benjamini-hochberg").sum() for t in tests],
                ]
                cells.append(" / ".join(f"{np.mean(each):.0f}" for each in counts))
            rows.append(cells)
        book.table([f"{kind} layer", "neurons", *dict.fromkeys(c.plan.attribute for c in chains)], rows)
    first = harvest.chains[0]
    book.keep("figure_4", figure_4(first))
    for name, chart in figure_3(first).items():
        book.keep(f"figure_3_{name}", chart)
    gaps = {name: np.mean([top_gap(chain, name) for chain in harvest.chains]) for name in ("DeepFAIT", "DeepImportance", "activation")}
    book.say("Figure 3 as a number, the largest distance between the two curves of the deepest layer's top neuron, mean over all: "
             + ", ".join(f"{name} {gap:.2f}" for name, gap in gaps.items()))  # fmt: skip


def top_gap(chain: PictureChain, name: str) -> float:
    """The Kolmogorov-Smirnov distance between fair and unfair pairs of a ranking's top neuron, on test pairs."""
    from scipy.stats import ks_2samp

    study = chain.studies[chain.classifier.layers()[-1]]
    neuron = {"DeepFAIT": study.test.strongest(1)[0], "DeepImportance": study.importance.neurons[0], "activation": study.by_activation[0]}[
        name
    ]
    judged = chain.test_pairs
    first, second = (
        chain.classifier.activations(side, [study.layer])[study.layer][:, neuron] for side in (judged.pairs.first, judged.pairs.second)
    )
    apart = np.abs(first - second)
    return float(ks_2samp(apart[judged.unfair], apart[~judged.unfair]).statistic)


def tell_coverage(book: Book, harvest: Harvest) -> None:
    """Tables 4 and 5."""
    measures = (*MEASURES, "deepimportance")
    last = [c for c in harvest.chains if c.plan.architecture == "vgg" and c.plan.attribute == harvest.chains[-1].plan.attribute]
    book.say(f"### Coverage (%) by layer (Table 4), vgg, {last[0].plan.attribute}, mean over seeds")
    rows = []
    for layer in ("fc7", "fc6", "conv4", "conv2"):
        for name in ("fair", "fair+unfair", "fair+GG"):
            rows.append([layer, name, *(f"{100 * np.mean([c.coverages[layer][name][m] for c in last]):.1f}" for m in MEASURES)])
    book.table(["layer", "pairs", *MEASURES], rows)
    book.say("### Coverage (%) of the deepest layer by data setting (Table 5), mean over seeds")
    rows = []
    for kind, attribute in dict.fromkeys((c.plan.architecture, c.plan.attribute) for c in harvest.chains):
        chains = [c for c in harvest.chains if (c.plan.architecture, c.plan.attribute) == (kind, attribute)]
        for measure in measures:
            deepest = chains[0].classifier.layers()[-1]
            cells = [f"{100 * np.mean([c.coverages[deepest][s][measure] for c in chains]):.1f}" for s in chains[0].coverages[deepest]]
            rows.append([kind, attribute, measure, *cells])
    book.table(["classifier", "attribute", "measure", *harvest.chains[0].coverages[harvest.chains[0].classifier.layers()[-1]]], rows)


def tell_generation(book: Book, harvest: Harvest) -> None:
    """How often each generator turns fair pairs unfair."""
    rates = {name: float(np.mean([c.generated[name].share.estimate for c in harvest.chains])) for name in ("RG", "GG", "GI")}
    book.figures["gg_over_rg"] = rates["GG"] / max(rates["RG"], 1e-9)
    book.say("### Generation: share of fair training pairs made unfair within 10 steps")
    rows = []
    for kind, attribute in dict.fromkeys((c.plan.architecture, c.plan.attribute) for c in harvest.chains):
        chains = [c for c in harvest.chains if (c.plan.architecture, c.plan.attribute) == (kind, attribute)]
        rows.append([kind, attribute, *(spread([c.generated[name].share.estimate for c in chains]) for name in rates)])
    book.table(["classifier", "attribute", *rates], rows)
    book.say(f"GG over RG: {book.figures['gg_over_rg']:.2f}")


def tell_mending(book: Book, harvest: Harvest) -> None:
    """Figure 6 with both controls."""
    book.say(
        "### Mending (Figure 6): change of the share of fair test pairs in points, unfair pairs mended (%), change of accuracy in points"
    )
    rows = []
    for kind, attribute in dict.fromkeys((c.plan.architecture, c.plan.attribute) for c in harvest.chains):
        chains, drawn = [c for c in harvest.chains if (c.plan.architecture, c.plan.attribute) == (kind, attribute)], {}
        for rank, strategy in enumerate(chains[0].plan.strategies):
            tried = [(c.before, c.remedies[rank]) for c in chains if c.before]
            change = [after.fair_share - before.fair_share for before, after in tried]
            mended, right = [after.mended for _, after in tried], [after.accuracy - before.accuracy for before, after in tried]
            rows.append([kind, attribute, strategy, spread(change), spread(mended), spread(right)])
            drawn[strategy] = (100 * float(np.mean(change)), 100 * float(np.std(change)))
        book.keep(f"figure_6_{kind}_{attribute}", figure_6(kind, attribute, drawn))
    book.table(["classifier", "attribute", "pairs added", "fair pairs", "mended", "accuracy"], rows)


def tell_selection(book: Book, harvest: Harvest) -> None:
    """KM-ST against random choice, seed by seed, with Student's interval."""
    from scipy.stats import t

    rows = []
    for kind, attribute in dict.fromkeys((c.plan.architecture, c.plan.attribute) for c in harvest.chains):
        chains = [c for c in harvest.chains if (c.plan.architecture, c.plan.attribute) == (kind, attribute)]
        fair = [{each.strategy: 100 * each.fair_share for each in c.remedies} for c in chains]
        cells = []
        for measure in LAYER_MEASURES:
            apart = np.array([each[measure] - each["random"] for each in fair])
            reach = t.ppf(0.975, len(apart) - 1) * apart.std(ddof=1) / np.sqrt(len(apart))
            cells.append(f"{apart.mean():+.1f} ({apart.mean() - reach:+.1f} to {apart.mean() + reach:+.1f})")
        rows.append([kind, attribute, *cells])
    book.say("KM-ST minus random choice, fair pairs in points with Student's 95 % interval over the seeds:")
    book.table(["classifier", "attribute", *LAYER_MEASURES], rows)


def figure_6(kind: str, attribute: str, drawn: dict[str, tuple[float, float]]) -> str:
    """Change of fairness by strategy: mean and standard deviation over the seeds."""
    bars = [PlotColumn(name, mean, spread) for name, (mean, spread) in drawn.items()]
    up = Axis.over([each.value + sign * each.spread for each in bars for sign in (-1, 1)], "points", floor=0.0)
    return standalone(columns(bars, f"Change of the share of fair test pairs, {kind}, {attribute}", up))
