"""The largest memory of a whole measurement of large pictures, in a process of its own: python benchmarks/parts/picture_memory.py 2000."""

from __future__ import annotations

import resource
import sys
from dataclasses import replace

import numpy as np

import evenhand as eh
from evenhand.media.album import Album
from evenhand.models.attribute_readers import linear_reader
from evenhand.planted.portraits import synthetic_faces

SMALL, TIMES = 32, 7
"""Drawn at 32 pixels and enlarged to 224: what takes memory is the size, not what is drawn."""


def main(count: int) -> None:
    """Open, measure with a learned editor, jury and robustness, and print the peak in megabytes."""
    small = synthetic_faces(count, np.random.default_rng(0), SMALL)
    data = eh.open(_large(small), label="age_group", protected=["tone"], settings={"editor": "latent_difference"})
    half = np.arange(count) % 2 == 0
    reader = linear_reader(small.pictures[half], small.label.codes[half], small.label.values, np.random.default_rng(1))
    model = eh.wrap(lambda pictures: reader.scores(np.asarray(pictures)[:, 3::TIMES, 3::TIMES]), data)
    eh.measure(model, data, options=eh.MeasureOptions(draws=199, studies=("robust_groups:changes=blur+noise",)))
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def _large(small: Album) -> Album:
    return replace(small, pictures=np.repeat(np.repeat(small.pictures, TIMES, axis=1), TIMES, axis=2), factors=None)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2_000)
