"""DeepFAIT's whole chain on drawn portraits: train, pairs, neurons, adequacy, generation, selection, retraining.  Needs torch.

Paper: P. Zhang, J. Wang, J. Sun, X. Wang, "Fairness Testing of Deep Image Classification with Adequacy Metrics" (DeepFAIT), 2021.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from deepfait_mending import EnhancementTrial, Remedy, remedy, score, unfair_of
from deepfait_neurons import Coverages, LayerStudy, coverage_table, study_layers
from picture_pairs import JudgedPairs, Jury, PicturePairs, assess, judge, leaning, make_pairs, train_jury

from evenhand.contract import Editor, Method
from evenhand.datasets.album_data import from_album
from evenhand.engine.run import Plan, Subject, run
from evenhand.errors import DataError
from evenhand.measures.neurons.kruskal import differences
from evenhand.measures.studies.jury import EditorFacts
from evenhand.measures.studies.leaning import Leaning
from evenhand.media.album import Album
from evenhand.media.album_medium import AlbumMedium
from evenhand.media.editors.rerender import Rerender
from evenhand.methods.gaussian_injection import GaussianInjection
from evenhand.methods.gradient_generation import GradientGeneration
from evenhand.methods.random_generation import RandomGeneration
from evenhand.models.budget import Budget
from evenhand.models.picture_training import Course, accuracy, train
from evenhand.models.shown import shown
from evenhand.models.torch_pictures import TorchClassifier
from evenhand.planted.portraits import DARKER_SKIN_LOOKS_OLDER, Bias, synthetic_faces
from evenhand.report.charts.canvas import Axis, standalone, tone
from evenhand.report.charts.plots import Frame, Line, Plot, plot
from evenhand.statistics.intervals import Interval, clopper_pearson

Say = Callable[[str], None]
GENERATORS: dict[str, Method] = {"RG": RandomGeneration(), "GG": GradientGeneration(), "GI": GaussianInjection()}


@dataclass(frozen=True, eq=False)
class Generated:
    """What a method made: the share of fair pairs, or of probed points, that became unfair, and these pairs."""

    share: Interval
    unfair: JudgedPairs


def generated(method: Method, seeds: Album, editor: Editor, classifier: TorchClassifier, seed: int) -> Generated:
    """Run a picture method of the package from these pictures, through the engine."""
    data = from_album(seeds, [editor])
    medium = data.medium
    assert isinstance(medium, AlbumMedium)
    subject = Subject(data.domain, shown(medium, classifier), data.rows, data.labels, medium=medium)
    done = run(method, subject, Plan(seed, Budget(seconds=float("inf"))))
    facts, found = done.facts, done.findings
    made = found.rows[:, 0] >= len(medium.album)
    rows, twins = found.rows[made], found.twins[made]
    origins = medium.origins(rows)
    labels = np.where(origins >= 0, medium.album.label.codes[origins], -1)  # a picture of its own has no label
    pairs = PicturePairs(medium.show(rows), medium.show(twins), labels, rows[:, 1].astype(np.intp), editor.attribute, editor.flip)
    counts = (facts["made_unfair"]["parted"], facts["made_unfair"]["fair_pictures"]) if "made_unfair" in facts else (
        facts["probed"]["hits"], facts["probed"]["points"])  # fmt: skip
    return Generated(clopper_pearson(*counts), judge(pairs, classifier))


@dataclass(frozen=True)
class ChainPlan:
    """What the chain is run on."""

    architecture: str = "vgg"
    attribute: str = "tone"
    biases: tuple[Bias, ...] = (DARKER_SKIN_LOOKS_OLDER,)
    size: int = 64
    training: int = 3000
    testing: int = 1000
    course: Course = field(default_factory=lambda: Course(epochs=6))
    seeds_of_generation: int = 300
    strategies: tuple[str, ...] = ("none", "random", "cosine", "twins")
    seed: int = 7
    jury: int = 800  # portraits that the independent classifiers of attributes learn from; 0 for no jury
    tolerance: float = 0.05
    ordered: bool = True  # whether the classes have an order, as age groups have
    study_pairs: int = 1000  # at most how many training pictures, with their twins, the neurons are studied on


@dataclass(frozen=True, eq=False)
class PictureChain:
    """Everything that came out."""

    plan: ChainPlan
    classifier: TorchClassifier
    accuracy: float
    training_pairs: JudgedPairs
    test_pairs: JudgedPairs
    leaning: Leaning
    facts: EditorFacts | None
    studies: dict[str, LayerStudy]
    generated: dict[str, Generated]
    coverages: dict[str, Coverages]  # by layer
    before: Remedy | None
    remedies: list[Remedy]
    cpu_seconds: dict[str, float]
    synthetic: bool = True


class Clock:
    """CPU seconds per stage, told as they end."""

    def __init__(self, say: Say | None) -> None:
        self.say, self.seconds, self.last = say, dict[str, float](), time.process_time()

    def done(self, stage: str, fact: str) -> None:
        """Close a stage."""
        now = time.process_time()
        self.seconds[stage] = now - self.last
        self.last = now
        if self.say:
            self.say(f"{stage}: {fact} ({self.seconds[stage]:.1f} CPU-s)")


USUAL = ChainPlan()


def run_chain(plan: ChainPlan = USUAL, say: Say | None = None) -> PictureChain:
    """Run every stage on rendered portraits, each stage on its own random stream."""
    rngs = np.random.default_rng(plan.seed).spawn(8)
    clock = Clock(say)
    training = synthetic_faces(plan.training, rngs[0], plan.size, plan.biases)
    test = synthetic_faces(plan.testing, rngs[1], plan.size, plan.biases)
    clock.done("render", f"{len(training)} training and {len(test)} test portraits, {plan.size} x {plan.size}")
    classifier = train(plan.architecture, training, rngs[2], plan.course)
    right = accuracy(classifier, test)
    clock.done("train", f"{plan.architecture}, accuracy {right:.1%}")
    return examine(plan, ChainMaterial(classifier, training, test, right), rngs[3:], clock)


@dataclass(frozen=True, eq=False)
class ChainMaterial:
    """A trained classifier with the albums it was trained and is tested on."""

    classifier: TorchClassifier
    training: Album
    test: Album
    accuracy: float
    editor: Editor | None = None  # who makes the twins; without one, exact re-rendering
    jury: Jury | None = None  # independent classifiers of attributes; without them, new ones learn from rendered portraits


def examine(plan: ChainPlan, material: ChainMaterial, rngs: list[np.random.Generator], clock: Clock) -> PictureChain:
    """Everything after training, for one protected attribute."""
    classifier = material.classifier
    editor = material.editor or Rerender(plan.attribute)
    training_pairs = judge(make_pairs(material.training[: plan.study_pairs], editor), classifier)
    test_pairs = judge(make_pairs(material.test, editor), classifier)
    clock.done("pairs", f"{test_pairs.share} of test pairs are unfair")
    facts = _judge_editor(plan, material, editor, rngs[3]) if plan.jury or material.jury else None
    clock.done("jury", f"flips confirmed in {facts.confirmed.estimate:.1%}" if facts else "not asked")
    if not training_pairs.unfair.any() or training_pairs.unfair.all():
        raise DataError(
            f"all of {len(training_pairs)} training pairs are {'un' * bool(training_pairs.unfair.all())}fair: neurons cannot be compared"
        )
    studies = study_layers(classifier, training_pairs, classifier.layers())
    deepest = studies[classifier.layers()[-1]]
    clock.done("neurons", f"{len(deepest.related)} of {deepest.neurons} neurons of {deepest.layer} are fairness-related")
    fair = np.flatnonzero(~training_pairs.unfair)
    seeds = material.training[: plan.study_pairs].known(plan.attribute)[fair[rngs[0].permutation(len(fair))[: plan.seeds_of_generation]]]
    made = {name: generated(method, seeds, editor, classifier, int(rngs[1].integers(2**31))) for name, method in GENERATORS.items()}
    clock.done("generation", ", ".join(f"{name} {found.share.estimate:.0%}" for name, found in made.items()))
    coverages = {layer: coverage_table(study, classifier, pair_sets(test_pairs, made)) for layer, study in studies.items()}
    clock.done("adequacy", f"cosine coverage of fair pairs {coverages[deepest.layer]['fair']['cosine']:.1%}")
    before, remedies = _mend(plan, material, Pool(deepest, test_pairs, made, training_pairs.pairs), rngs[2])
    clock.done(
        "mending", ", ".join(f"{each.strategy} {each.fair_share:.1%}" for each in remedies) + f" fair, before {before.fair_share:.1%}"
    )
    found = leaning(test_pairs, plan.tolerance, ordered=plan.ordered)
    return PictureChain(
        plan,
        classifier,
        material.accuracy,
        training_pairs,
        test_pairs,
        found,
        facts,
        studies,
        made,
        coverages,
        before,
        remedies,
        clock.seconds,
        material.test.is_synthetic,
    )


def _judge_editor(plan: ChainPlan, material: ChainMaterial, editor: Editor, rng: np.random.Generator) -> EditorFacts:
    """What independent classifiers say of the twins: the attribute itself and, for collateral change, the other protected one."""
    if material.jury is not None:
        return assess(editor, material.test, material.jury)
    album = synthetic_faces(plan.jury, rng, plan.size)
    others = [name for name in ("tone", "gender_cue") if name != plan.attribute]
    return assess(editor, material.test, train_jury(album, [plan.attribute, *others], rng))


def pair_sets(judged: JudgedPairs, generated: dict[str, Generated]) -> dict[str, list[PicturePairs]]:
    """The data settings of the paper's Table 5."""
    fair, unfair = judged[~judged.unfair].pairs, judged[judged.unfair].pairs
    sets = {"fair": [fair], "fair+unfair": [fair, unfair]}
    return sets | {f"fair+{name}": [fair, found.unfair.pairs] for name, found in generated.items()}


@dataclass(frozen=True, eq=False)
class Pool:
    """What mending chooses from and is scored by."""

    study: LayerStudy
    test_pairs: JudgedPairs
    generated: dict[str, Generated]
    twins: PicturePairs


def _mend(plan: ChainPlan, material: ChainMaterial, seen: Pool, rng: np.random.Generator) -> tuple[Remedy, list[Remedy]]:
    study, test_pairs, twins = seen.study, seen.test_pairs, seen.twins
    pool = seen.generated["GG"].unfair.pairs
    if len(pool) < 2:
        raise DataError(f"gradient generation found {len(pool)} unfair pairs: too few to choose from; raise seeds_of_generation")
    held_out = unfair_of(test_pairs)
    trial = EnhancementTrial(
        material.training[: len(material.training) // 2], pool, study, material.test, test_pairs.pairs, held_out, twins, share=0.1
    )
    before = score("before", material.classifier, trial)
    return before, [
        remedy(strategy, material.classifier, trial, each)[0]
        for strategy, each in zip(plan.strategies, rng.spawn(len(plan.strategies)), strict=True)
    ]


def figure_3(chain: PictureChain) -> dict[str, str]:
    """Cumulative activation differences of the deepest layer's top neuron, fair and unfair pairs, with the baselines' neurons."""
    study = chain.studies[chain.classifier.layers()[-1]]
    judged = chain.training_pairs
    first = chain.classifier.activations(judged.pairs.first, [study.layer])[study.layer]
    second = chain.classifier.activations(judged.pairs.second, [study.layer])[study.layer]
    apart = differences(first, second)
    top = {"deepfait": study.test.strongest(1)[0], "deepimportance": study.importance.neurons[0], "activation": study.by_activation[0]}
    charts = {}
    for name, neuron in top.items():
        samples = {"fair pairs": apart[~judged.unfair, neuron], "unfair pairs": apart[judged.unfair, neuron]}
        told = f"{study.layer}, top neuron by {name}: #{neuron}, H {study.test.corrected[neuron]:.0f}"
        charts[name] = _drawn(told, _cumulative(samples), ("activation difference", "share of pairs"))
    return charts


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
