"""One self-contained page about a chain's run: what was tested, how sure, which neurons, what was covered, what mending did."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from evenhand.measures.neurons.adequacy import MEASURES
from evenhand.measures.neurons.kruskal import differences
from evenhand.report.charts.canvas import Axis, standalone, tone
from evenhand.report.charts.plots import Column, Frame, Line, Plot, columns, plot
from evenhand.report.contact_sheet import contact_html
from evenhand.report.picture_style import document, facts_html, synthetic_line, table_html, verdict_html
from evenhand.verbs.picture_chain import PictureChain


def chain_page(chain: PictureChain) -> str:
    """The page's HTML."""
    parts = [
        _verdict(chain),
        _editor(chain),
        _contact(chain),
        _neurons(chain),
        _coverage(chain),
        _generation(chain),
        _mending(chain),
    ]
    title = f"Faces: {chain.plan.attribute} in a {chain.plan.architecture} classifier"
    return document(title, "".join(parts))


def _verdict(chain: PictureChain) -> str:
    word = "The classifier leans" if chain.leaning.found else "No leaning beyond the tolerance"
    share = f"<p>Test pairs with two different labels: {escape(str(chain.test_pairs.share))}. Accuracy {chain.accuracy:.1%}.</p>"
    return synthetic_line(chain.synthetic) + verdict_html(chain.leaning, word) + share


def _editor(chain: PictureChain) -> str:
    if chain.facts is None:
        return f"<h2>The twins</h2><p>{escape(chain.test_pairs.pairs.flip)}; no independent classifier was asked in this run.</p>"
    return f"<h2>The twins</h2>{facts_html(chain.facts)}"


def _contact(chain: PictureChain) -> str:
    return f"<h2>Contact sheet</h2><p>Picture, twin, what differs; widest gap first.</p>{contact_html(chain.test_pairs, 18)}"


def _neurons(chain: PictureChain) -> str:
    rows = []
    for layer, study in reversed(chain.studies.items()):
        hochberg, printed = int(study.test.related(rule="benjamini-hochberg").sum()), int(study.test.related(printed=True).sum())
        related = int(study.test.related().sum())
        rows.append([layer, str(study.neurons), str(related), str(printed), str(hochberg), f"{study.test.corrected.max():.0f}"])
    header = ("layer", "neurons", "related (tie-corrected)", "as printed", "Benjamini-Hochberg", "largest H")
    return f"<h2>Fairness-related neurons</h2>{table_html(header, rows)}<p>{figure_3(chain)}{figure_4(chain)}</p>"


def figure_3(chain: PictureChain) -> str:
    """Cumulative activation differences of the deepest layer's top neuron, fair and unfair pairs, with the baselines' neurons."""
    study = chain.studies[chain.classifier.layers()[-1]]
    judged = chain.training_pairs
    first = chain.classifier.activations(judged.pairs.first, [study.layer])[study.layer]
    second = chain.classifier.activations(judged.pairs.second, [study.layer])[study.layer]
    apart = differences(first, second)
    top = {"DeepFAIT": study.test.strongest(1)[0], "DeepImportance": study.importance.neurons[0], "activation": study.by_activation[0]}
    charts = []
    for name, neuron in top.items():
        samples = {"fair pairs": apart[~judged.unfair, neuron], "unfair pairs": apart[judged.unfair, neuron]}
        told = f"{study.layer}, top neuron by {name}: #{neuron}, H {study.test.corrected[neuron]:.0f}"
        charts.append(_drawn(told, _cumulative(samples), ("activation difference", "share of pairs")))
    return "".join(charts)


def figure_4(chain: PictureChain) -> str:
    """The sorted statistic of each layer's neurons."""
    series = {}
    for layer, study in list(chain.studies.items())[-5:]:
        values = np.sort(study.test.corrected)[::-1]
        series[layer] = (np.linspace(0, 1, len(values)), values)
    return _drawn("H of every neuron, largest first", series, ("share of the layer's neurons", "H"))


def _cumulative(samples: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    grid = np.linspace(0.0, max(float(values.max()) for values in samples.values()) or 1.0, 120)
    return {name: (grid, np.searchsorted(np.sort(values), grid, side="right") / len(values)) for name, values in samples.items()}


def _drawn(told: str, series: dict[str, tuple[Any, Any]], titles: tuple[str, str]) -> str:
    lines = [Line(name, list(zip(x.tolist(), y.tolist(), strict=True)), tone(at)) for at, (name, (x, y)) in enumerate(series.items())]
    across, up = (Axis.over([point[at] for line in lines for point in line.points], title, floor=0.0) for at, title in enumerate(titles))
    return standalone(plot(Plot(told, across, up, lines, frame=Frame(520, 300), names_inside=True)), told)


def _coverage(chain: PictureChain) -> str:
    parts = ["<h2>Coverage (%)</h2>"]
    for layer in reversed(chain.classifier.layers()):
        rows = [
            [name, *(f"{100 * cover[key]:.1f}" for key in (*MEASURES, "deepimportance"))] for name, cover in chain.coverages[layer].items()
        ]
        parts.append(f"<h3>{escape(layer)}</h3>" + table_html(("pairs", *MEASURES, "DeepImportance"), rows))
    return "".join(parts)


def _generation(chain: PictureChain) -> str:
    rows = [
        [name, str(found.share), f"{found.steps[found.found].mean() if found.found.any() else 0:.1f}"]
        for name, found in chain.generated.items()
    ]
    return "<h2>Generation from fair pairs</h2>" + table_html(("method", "made unfair", "mean steps"), rows)


def _mending(chain: PictureChain) -> str:
    if chain.before is None:
        return ""
    every = [chain.before, *chain.remedies]
    rows = [[each.strategy, f"{each.fair_share:.1%}", f"{each.mended:.1%}", f"{each.accuracy:.1%}"] for each in every]
    bars = [Column(each.strategy, each.fair_share - chain.before.fair_share) for each in chain.remedies]
    told = "Fair test pairs after further training, minus before"
    drawn = columns(bars, told, Axis.over([each.value for each in bars], "change of share", "share", 0.0), Frame(520, 300))
    return (
        "<h2>Mending</h2>"
        + table_html(("pairs added", "fair test pairs", "unfair pairs mended", "accuracy"), rows)
        + standalone(drawn, told)
    )
