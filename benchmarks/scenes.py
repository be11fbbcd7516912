"""What the figures about scenes come from: planted and fair recognisers, the paper's tables on real detectors, speed, realism.

python benchmarks/scenes.py --quick --json figures.json
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
from dataclasses import replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import evenhand as eh
from evenhand.datasets.scenes.coco import from_coco
from evenhand.datasets.scenes.label_maps import from_label_maps
from evenhand.datasets.scenes.picture_files import write_picture
from evenhand.errors import DataError
from evenhand.measures.class_counts import ClassRules, class_verdicts
from evenhand.measures.counted_changes import (
    EXCLUSION,
    GROUND_TRUTH,
    INCLUSION,
    KINDS,
    CountedChange,
    CountedScenes,
    counted_scenes,
    reference,
)
from evenhand.measures.scene_tables import inducing_by_scene, ratio_over_scenes, share_over_scenes, summed, unfair_on_originals
from evenhand.measures.studies.classes import class_part
from evenhand.media.operators.insert import Insert
from evenhand.media.operators.parts.mutated import DELETE, INSERT, ROTATE, Mutation
from evenhand.media.scene import Scene
from evenhand.media.scenes import ChangePlan, Scenes
from evenhand.media.streets.render import CLASSES, StreetMaker
from evenhand.media.vocabulary import PARTS_ONLY, Labels
from evenhand.models.recognisers.detectors import OnnxDetector, SsdDetector
from evenhand.models.recognisers.street import PLANTED_CLASS, StreetRecogniser
from evenhand.models.shown import shown
from evenhand.planted.recognisers import Simulated, false_alarm_share
from evenhand.report.scene_sheets import pair, sheet
from evenhand.verbs.init import init
from parts.scene_misuses import MISUSES, is_caught
from parts.scene_sizes import size_figures
from parts.scene_verdicts import verdict_figures

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "papers"))
from distrofair import (
    accuracy_beside_real,
    compared,
    picture_error_rates,
    scene_error_rates,
)
from scene_realism import FEATURE_LAYERS, realism, region_auc

from parts.judged_sheets import HALVES, REPEATS, JudgedPictures, write_judged_sheets
from parts.judged_sheets import OPERATORS as JUDGED

OPERATORS = (INSERT, DELETE, ROTATE)
OUT, IN = "out of distribution", "in distribution"

DATA = Path(os.environ.get("EVENHAND_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
SHORT = {INSERT: "insert", DELETE: "delete", ROTATE: "rotate"}
RUNS = 100
QUICK_RUNS = 50
ROTATIONS_TIMED = 24  # in a quick run
FIGURES = (
    "false_alarm_max_over_confounds",
    "false_alarm_held_out",
    "power_factor_2",
    "power_factor_2_held_out",
    "power_level_3",
    "misuse_total",
    "misuse_caught",
    "bare_pictures_run",
    "cost_hd_over_small_per_pixel",
    "planted_class_found",
    "false_alarm_exact",
    "false_alarm_paper_rule",
    "insert_cpu_ms",
    "delete_cpu_ms",
    "rotate_cpu_ms",
    "region_c2st_insert",
    "region_c2st_delete",
    "ood_over_id_error_rate",
)


def say(*words: object) -> None:
    """Print at once, with the CPU-seconds so far."""
    print(f"[{time.process_time():4.0f} s]", *words, flush=True)


def by_operator(changes, operator):
    """One operator's changes, with the null changes."""
    return [change for change in changes if change.operator == operator or change.is_null]


def as_the_paper(scenes, plan, labels, recogniser, seed) -> Scenes:
    """The medium whose usual counts are the recogniser's own answers to the originals."""
    medium = Scenes(scenes, plan, labels, seed)
    originals = np.zeros((len(scenes), 3))
    originals[:, 0] = np.arange(len(scenes))
    return medium.as_seen(shown(medium, recogniser).counts(originals))


def asked(medium: Scenes, recogniser) -> CountedScenes:
    """Every change and null change of a medium."""
    return counted_scenes(medium, shown(medium, recogniser), np.vstack([medium.rows(), medium.rows(null=True)]))


class Table8:
    """Insertion out of the distribution against insertion inside it, over all data sets and recognisers, as the paper's Table 8 adds up."""

    def __init__(self) -> None:
        self.sums: dict[tuple[str, str], dict[str, tuple[float, float]]] = {}

    def add(self, data: str, out: list[CountedChange], inside: list[CountedChange], rng) -> None:
        """One data set and recogniser; prints its own row, and the same for scenes and classes where both insertions could be made."""
        both = {(t.scene, t.label) for t in out} & {(t.scene, t.label) for t in inside}
        for kind in (EXCLUSION, INCLUSION):
            rows = {style: inducing_by_scene(trials, kind, data) for style, trials in ((OUT, out), (IN, inside))}
            for style, row in rows.items():
                total = self.sums.setdefault((kind, style), {})
                for scene, (bad, n) in row.items():
                    before = total.get(scene, (0.0, 0.0))
                    total[scene] = before[0] + bad, before[1] + n
            self._say(f"{data} {kind}", rows[OUT], rows[IN], rng)
            alike = [inducing_by_scene([t for t in trials if (t.scene, t.label) in both], kind, data) for trials in (out, inside)]
            self._say(f"{data} {kind}, where both could be made", *alike, rng)

    def ratio(self, kind: str, rng) -> float:
        """Out of over in distribution, all rows together."""
        return self._say(f"all {kind}", self.sums.get((kind, OUT), {}), self.sums.get((kind, IN), {}), rng)

    @staticmethod
    def _say(words: str, first, second, rng) -> float:
        ratio = ratio_over_scenes(first, second, rng)
        counts = [(int(sum(bad for bad, _ in part.values())), int(sum(n for _, n in part.values()))) for part in (first, second)]
        say(f"  T8 {words}: out {counts[0]}, in {counts[1]}, ratio {ratio.estimate:.2f} ({ratio.low:.2f} to {ratio.high:.2f})")
        return ratio.estimate


def verdicts(quick: bool) -> dict[str, float]:
    """Part 0: fair recognisers with every confound, planted differences, and ten misuses."""
    say("0 simulated recognisers")
    figures = verdict_figures(quick, DATA, QUICK_RUNS if quick else RUNS, say)
    with TemporaryDirectory() as folder:
        caught = {name: is_caught(misuse, _made(Path(folder) / name))[0] for name, misuse in MISUSES.items()}
    say(f"  misuses: {caught}")
    return figures | {"misuse_total": len(caught), "misuse_caught": sum(caught.values())}


def bare_pictures(quick: bool) -> dict[str, float]:
    """Part 5: a folder of street frames without annotations, from `init` to a verdict: 1 where every step was taken, else 0."""
    net, frames = DATA / "models" / "yolox_nano.onnx", sorted((DATA / "images" / "street" / "frames").glob("*.png"))
    with TemporaryDirectory() as folder:
        pictures = _made(Path(folder) / "pictures")
        for path in frames[:: 4 if quick else 1]:
            shutil.copy(path, pictures)
        written = init(pictures, model=net, file=Path(folder) / "evenhand.yaml")
        data = eh.open(written.file)
        result = eh.scan(eh.wrap(net, data), data, oracle="counts")
        told = result.as_dict()["body"]["studies"]["classes"]
        say(f"5 bare pictures: {len(data.medium.scenes)} of them, {result.outcome}: {result.reason}")
        for sentence in told["sentences"]:
            say(f"    {sentence}")
        page = result.report(Path(folder) / "report.html")
        changed = sum(part["pictures"] for part in told["figures"]["parts"] if part["oracle"] == EXCLUSION)
        return {"bare_pictures_run": int(changed > 0 and page.is_file() and result.outcome in ("pass", "violation", "inconclusive"))}


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def planted(quick: bool, seed: int, table8: Table8) -> dict[str, float]:
    """Part 1: the planted class under three operators and two oracles; the same net without the plant; simulated fair recognisers."""
    rng = np.random.default_rng(seed)
    count = 120 if quick else 240  # fewer leave too few deletions to judge, of which every filling that shows is skipped
    say(f"1 rendering {count} synthetic streets")
    scenes = list(StreetMaker(kinds=("junction",), casts=8, most={"person": 9, "car": 8, "traffic light": 6}).scenes(count, rng))
    plan = ChangePlan(
        insert=("dog",) if quick else ("dog", "person"), change=("person", "car", "cyclist", "motorcycle", "sign"), operators=("paper",)
    )
    net, plain = StreetRecogniser("planted"), StreetRecogniser("plain")
    medium = as_the_paper(scenes, plan, Labels(), net, seed)
    say(f"  {medium.clusters.count} clusters, silhouettes { ({k: round(v, 2) for k, v in medium.clusters.silhouettes.items()}) }")
    say(f"  {net.name}:")
    found, _, _ = _judged(asked(medium, net), rng)
    say(f"  {plain.name}, the same pictures:")
    counted = asked(medium, plain)
    also, exact, mean = _judged(counted, rng)
    flagged, above, every = sum(map(sum, exact)), sum(map(sum, mean)), sum(map(len, exact))
    say(f"  {PLANTED_CLASS} found in {found} of 6 with the planted bias, in {also} of 6 without")
    say(f"  without planted bias: exact rule {flagged}, paper's rule {above} of {every} class verdicts")
    inserted = [t for t in counted.changes if t.operator == INSERT]
    inside = as_the_paper(scenes, replace(plan, operators=(Insert(inside=True),)), Labels(), plain, seed)
    table8.add("synthetic streets", inserted, list(asked(inside, plain).changes), rng)
    exact_share, mean_share = simulated(medium, rng, 3 if quick else 20)
    return {"planted_class_found": found, "false_alarm_exact": exact_share, "false_alarm_paper_rule": mean_share}


def _judged(outcome, rng) -> tuple[int, list[list[bool]], list[list[bool]]]:
    """In how many of six the planted class is found; and every class verdict by the exact and by the paper's rule."""
    expected, found, exact, mean = reference([outcome]), 0, [], []
    for operator in OPERATORS:
        trials = by_operator(outcome.changes, operator)
        verdicts = {kind: [one for one in class_verdicts(trials, kind, expected, rng) if one.enough] for kind in KINDS}
        flags = {kind: [one.label for one in listed if one.unfair] for kind, listed in verdicts.items()}
        found += (PLANTED_CLASS in flags[GROUND_TRUTH]) + (PLANTED_CLASS in flags[EXCLUSION] or PLANTED_CLASS in flags[INCLUSION])
        exact += [[one.unfair for one in listed] for listed in verdicts.values()]
        mean += [[one.unfair_by_mean for one in listed] for listed in verdicts.values()]
        say(f"    {operator}: {sum(not t.is_null for t in trials)} pictures; unfair by exact rule {flags}")
        for kind, listed in verdicts.items():
            shown = next((one for one in listed if one.label == PLANTED_CLASS), None)
            if shown is not None:
                quiet = "none" if shown.control is None else f"{shown.control:.1%}"
                say(f"      {PLANTED_CLASS}, {kind}: wrong {shown.wrong}, under null mutations {quiet}, p {shown.p_value:.2g}")
    return found, exact, mean


def simulated(medium, rng, runs: int) -> tuple[float, float]:
    """Recognisers of known fairness on the same pictures: the shares of classes that the two rules accuse although all are treated alike.

    A trained net has weaknesses of its own, so that only here every alarm is known to be false.
    """
    exact, mean = [], []
    truth = {scene.name: one for scene, one in zip(medium.scenes, medium.truth, strict=True)}
    for run in range(runs):
        trials = asked(medium, Simulated(seed=run)).changes
        for operator in OPERATORS:
            for kind in KINDS:
                verdicts = [one for one in class_verdicts(by_operator(trials, operator), kind, truth, rng) if one.enough]
                exact.append([one.unfair for one in verdicts])
                mean.append([one.unfair_by_mean for one in verdicts])
    say(
        f"  {runs} simulated recognisers that treat all classes alike, {sum(map(len, exact))} class verdicts: "
        f"exact rule {false_alarm_share(exact):.2%}, paper's rule {false_alarm_share(mean):.1%}"
    )
    return false_alarm_share(exact), false_alarm_share(mean)


def draw_sheets(folder: Path, seed: int) -> None:
    """Sheets of all operators on synthetic streets, for looking at: original | mutated, the first that were made and not the best."""
    rng = np.random.default_rng(seed)
    scenes = list(StreetMaker(casts=3, density=1.1).scenes(24, rng))
    write_picture(folder / "streets.jpg", sheet([scene.picture for scene in scenes[::4]], 3))
    medium = Scenes(scenes, ChangePlan(insert=("person", "car", "dog"), change=("person", "car", "motorcycle")), Labels(), seed)
    by_name: dict[str, list[Mutation]] = {}
    for place, change, _ in np.vstack([medium.rows(), medium.rows(null=True)]):
        made = medium.made(int(place), int(change))
        if isinstance(made, Mutation):
            by_name.setdefault(made.operator, []).append(made)
    for operator, listed in by_name.items():
        chosen = [listed[k] for k in rng.permutation(len(listed))[:6]]
        write_picture(folder / f"{operator.replace('_', '-')}.jpg", sheet([pair(made, made.how, 360) for made in chosen], 2))


def timings(spent: dict[str, list[float]]) -> dict[str, float]:
    """Part 3: CPU-milliseconds of each operator at 480 x 360."""
    means = {operator: 1000 * float(np.mean(seconds)) for operator, seconds in spent.items()}
    say("3 CPU-milliseconds per picture:", {name: (len(spent[name]), round(value, 1)) for name, value in means.items()})
    return {f"{SHORT[name]}_cpu_ms": means[name] for name in OPERATORS if name in means}


def detectors(quick: bool):
    """The detectors in the data folder."""
    models = DATA / "models"
    yolox = OnnxDetector(models / "yolox_nano.onnx")
    folder = models / "ssd_mobilenet_v3"
    ssd = SsdDetector(folder / "frozen_inference_graph.pb", folder / "ssd_mobilenet_v3_large_coco_2020_01_14.pbtxt", folder / "labels.txt")
    return [yolox] if quick else [yolox, ssd]


def data_sets(quick: bool):
    """The real scenes and what is tried on them; a quick run asks its detector about insertion only."""
    street = DATA / "images" / "street"
    own = ("car", "person", "cyclist")
    plan = ChangePlan(insert=own, change=own, operators=("paper",))
    yield "street", list(from_label_maps(street / "frames", street / "labels")), plan
    if not quick:
        coco = DATA / "images" / "coco128"
        yield "coco128", list(from_coco(coco / "instances.json", coco / "images")), ChangePlan(operators=("paper",))


class Street:
    """What is kept of the street frames: the first detector's changes, for the regions, and the CPU-seconds of all of them."""

    def __init__(self) -> None:
        self.scenes: list[Scene] = []
        self.mutations: list[Mutation] = []
        self.spent: dict[str, list[float]] = {}

    def add(self, medium: Scenes, operators, most: int | None = None) -> None:
        """Changes by these operators, made here where nobody has asked for them yet; at most so many of each."""
        for operator in operators:
            places = [k for k, one in enumerate(medium.changes) if one.operator == operator]
            made = ((at, k, medium.made(at, k)) for k in places for at in range(len(medium.scenes)))
            for at, k, one in islice((each for each in made if isinstance(each[2], Mutation)), most):
                self.mutations.append(one)
                self.spent.setdefault(operator, []).append(medium.facts(at, k).cpu_seconds)


def tables(quick: bool, seed: int, table8: Table8) -> Street:
    """Part 2: Tables 6, 7, 8, 9 and 11 with intervals; returns what is kept of the street frames."""
    street = Street()
    for name, scenes, plan in data_sets(quick):
        for detector in detectors(quick):
            rng = np.random.default_rng(seed)
            labels = Labels(made_of=PARTS_ONLY)
            medium = as_the_paper(scenes, plan, labels, detector, seed)
            say(f"2 {name}, {detector.name}: {len(scenes)} scenes, {medium.clusters.count} clusters")
            is_first = not street.scenes
            rows = np.vstack([medium.rows(), medium.rows(null=True)])
            wanted = [k for k, one in enumerate(medium.changes) if one.operator == INSERT or not quick]
            started = time.process_time()
            out = counted_scenes(medium, shown(medium, detector), rows[np.isin(rows[:, 1], wanted)])
            spent = time.process_time() - started
            say(f"  {len(out.changes)} changed pictures made and answered; {1000 * spent / len(out.changes):.0f} CPU-seconds for 1,000")
            inside = asked(as_the_paper(scenes, replace(plan, operators=(Insert(inside=True),)), labels, detector, seed), detector)
            _rows(out, inside, rng)
            table8.add(name, [t for t in out.changes if t.operator == INSERT], list(inside.changes), rng)
            if is_first:
                street.scenes = scenes
                street.add(medium, (INSERT, DELETE) if quick else (*OPERATORS, "put_back", "empty_patch"))
                street.add(medium, (ROTATE,) if quick else (), ROTATIONS_TIMED)
    return street


def _rows(out, inside, rng) -> None:
    expected = reference([out, inside])
    for operator in [one for one in OPERATORS if any(t.operator == one for t in out.changes)]:
        for kind in KINDS:
            part = class_part(operator, kind, out, rng, ClassRules())
            row = part.as_dict()
            say(
                f"  T6/7 {operator:9} {kind:12} classes {row['classes']:2} above mean {row['unfair_by_mean']:2} exact {row['unfair']:2} "
                f"error-inducing {part.error_inducing:4} of {part.pictures:4} = {part.error_rate}"
            )
    _ranks(out, inside, expected)
    say(f"  below the mean accuracy on originals alone: {sorted(unfair_on_originals(out, expected))}")
    for operator in sorted({t.operator for t in out.changes}):
        spent = share_over_scenes(summed((t.scene, 1000 * t.cpu_seconds, 1.0) for t in out.changes if t.operator == operator), rng)
        n = sum(t.operator == operator for t in out.changes)
        say(f"  T9 {operator}: {n} pictures, {spent.estimate:.0f} CPU-milliseconds ({spent.low:.0f} to {spent.high:.0f})")
    beside = accuracy_beside_real(out, sorted({t.label for t in out.changes if t.operator == INSERT and t.label != "cyclist"}), rng)
    say(f"  T11 {beside.pairs} pairs: inserted {beside.mutated}; real {beside.real}")


def _ranks(out, inside, expected) -> None:
    """Mann-Whitney as in the paper, picture by picture, and with one value for each scene."""
    tried = [t for t in out.changes if not t.is_null]
    inserted = [t for t in tried if t.operator == INSERT]
    for words, rates in (("picture by picture", picture_error_rates), ("one value a scene", scene_error_rates)):
        mutated, originals = rates(tried, expected)
        first, second = rates(inserted, expected)[0], rates(inside.changes, expected)[0]
        say(f"  error rates, {words}: original {np.mean(originals):.3f}, mutated {np.mean(mutated):.3f}; {compared(mutated, originals)}")
        say(f"     out {np.mean(first):.3f} against in {np.mean(second) if second else float('nan'):.3f}: {compared(first, second)}")


def street_changes(seed: int) -> Street:
    """Every insertion, deletion and rotation of the street frames, asked of nobody."""
    _, scenes, plan = next(data_sets(quick=True))
    street = Street()
    street.scenes = scenes
    street.add(Scenes(scenes, plan, Labels(made_of=PARTS_ONLY), seed), OPERATORS)
    return street


def regions(street: Street, seed: int, quick: bool) -> dict[str, float]:
    """Part 4: how well a classifier tells mutated regions from untouched ones, on all street frames; a quick run takes no other marks."""
    figures = {}
    for operator in (INSERT, DELETE) if quick else OPERATORS:
        made = [one for one in street.mutations if one.operator == operator]
        rng = np.random.default_rng(seed)
        if quick:
            try:
                auc = region_auc(made, street.scenes, rng)
            except DataError as error:  # a sample of few changes: nothing can be said of them, and the other figures stand
                say(f"4 {operator}: {error}")
                continue
            say(f"4 {operator}: region two-sample AUC {auc:.3f}")
        else:
            net = FEATURE_LAYERS["yolox_nano.onnx"](DATA / "models" / "yolox_nano.onnx")
            marks = realism(made, street.scenes, rng, net, anchor=True)
            auc = marks.auc
            say(f"4 {operator}: {marks}")
        if operator != ROTATE:
            figures[f"region_c2st_{SHORT[operator]}"] = auc
    return figures


def main() -> None:
    """Run, print, and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--part", choices=("all", "verdict", "planted", "real", "regions"), default="all", help="one part only")
    parser.add_argument("--pictures", type=Path, help="only write before-and-after sheets of synthetic streets to this folder")
    parser.add_argument(
        "--of", type=Path, help="with --pictures: sheets of 24 changes by each operator of this folder, or of drawn 'streets', for judging"
    )
    parser.add_argument("--recogniser", type=Path, help="with --of: the pictures are bare, and what this detector names are the objects")
    parser.add_argument("--segmenter", type=Path, help="with --recogniser: a file that describes a segmenter which takes boxes")
    parser.add_argument("--inpainter", type=Path, help="with --of: a net that fills holes")
    parser.add_argument("--reader", type=Path, help="with --of: a detector by which inserted objects are checked")
    parser.add_argument("--half", choices=HALVES, help="with --of: change only every first or every second picture")
    parser.add_argument("--repeats", type=int, default=REPEATS, help="with --of: how often a change by chance is tried on each picture")
    parser.add_argument("--operators", nargs="+", default=JUDGED, help="with --of: only these")
    options = parser.parse_args()
    import cv2

    cv2.setNumThreads(1)
    if options.pictures and options.of:
        nets = options.recogniser, options.segmenter, options.inpainter, options.reader
        given = JudgedPictures(options.of, *nets, operators=tuple(options.operators), half=options.half, repeats=options.repeats)
        for operator, told in write_judged_sheets(given, options.pictures, options.seed).items():
            say(f"  {operator}: {told}")
        return
    if options.pictures:
        draw_sheets(options.pictures, options.seed)
        return
    started = time.process_time()
    figures: dict[str, float] = {}
    table8 = Table8()
    if options.part == "regions":
        street = street_changes(options.seed)
        _write(timings(street.spent) | regions(street, options.seed, options.quick), options.json)
        return
    if options.part in ("all", "verdict"):
        figures |= verdicts(options.quick)
    if options.part in ("all", "planted"):
        figures |= planted(options.quick, options.seed, table8)
    if options.part in ("all", "real"):
        figures |= size_figures(say)
    if options.part in ("planted", "verdict"):
        pass
    elif DATA.is_dir():
        street = tables(options.quick, options.seed, table8)
        figures |= timings(street.spent) | regions(street, options.seed, options.quick) | bare_pictures(options.quick)
    else:
        say(f"{DATA} is absent: the parts on real pictures are skipped")
    if options.part == "verdict":
        _write(figures, options.json)
        return
    ratios = {kind: table8.ratio(kind, np.random.default_rng(options.seed)) for kind in (EXCLUSION, INCLUSION)}
    figures["ood_over_id_error_rate"] = ratios[EXCLUSION]
    say(f"{time.process_time() - started:.0f} CPU-seconds; classes of the streets: {', '.join(CLASSES)}")
    _write(figures, options.json)


def _write(figures: dict[str, float], path: Path | None) -> None:
    if path:
        path.write_text(json.dumps({name: figures[name] for name in FIGURES if name in figures}, indent=1), encoding="utf-8")
    print(json.dumps({name: figures.get(name) for name in FIGURES}))


if __name__ == "__main__":
    main()
