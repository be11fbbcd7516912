"""Faces: DeepFAIT's tables and figures redone on rendered portraits with planted bias, beside NeuronFair, LIMI, CycleGAN and a real system.

python benchmarks/faces.py --quick --json faces.json      one seed, small
python benchmarks/faces.py --pictures docs/pictures/faces --tables faces.md      five seeds, both architectures
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "papers"))  # DeepFAIT's chain stands outside the package

import numpy as np
import torch
from contact_picture import contact_picture
from deepfait import PictureChain, run_chain
from picture_pairs import judge, leaning, make_pairs

from evenhand.contract import EditorTools
from evenhand.measures.neurons.adequacy import Ruler, adequacy
from evenhand.measures.neurons.kruskal import kruskal_wallis
from evenhand.media.editors import editor_for
from evenhand.media.editors.rerender import Rerender
from evenhand.media.png import sheet
from evenhand.media.portraits import draw_factors, render
from evenhand.models.picture_training import Course, accuracy, train
from evenhand.planted.portraits import (
    album_of,
    planted_share,
    synthetic_faces,
)
from parts.face_editors import cyclegan, other_methods, real_system
from parts.face_harvest import BIASES, FULL, MUTATED, QUICK, Book, Harvest, Size, grow, plan_of, stage
from parts.face_mutants import correlation
from parts.face_tables import tell_coverage, tell_generation, tell_mending, tell_neurons, tell_selection, tell_verdicts

PARTS = ("speed", "chain", "seeds", "correlation", "real", "cyclegan")


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


def portraits(book: Book) -> None:
    """Sheets of portraits for the documentation."""
    if book.pictures is None:
        return
    book.keep("portraits", sheet(render(draw_factors(40, np.random.default_rng(11)), 128), 10, 2))
    rows = draw_factors(4, np.random.default_rng(12))
    tones = np.concatenate([np.repeat(rows[i : i + 1], 10, 0) for i in range(4)])
    tones[:, 0] = np.tile(np.arange(10.0), 4)
    book.keep("tones", sheet(album_of(tones, 128).pictures, 10, 2))
    people = synthetic_faces(120, np.random.default_rng(13), 96)
    shown, tools = people[np.arange(10)], EditorTools(np.random.default_rng(0))
    twins = [editor_for(name, people, "tone", tools).twins(shown).astype(np.uint8) for name in ("skin_shade", "rerender")]
    book.keep("skin_shade", sheet(np.concatenate([shown.pictures, *twins]), 10, 2))


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
