"""The bench models: trained from codes, read back as they were, and never read when harmed."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from small_domain import DOMAIN, rows, truth

from evenhand.contract import labels_of
from evenhand.domain.tabular import Label
from evenhand.errors import InvalidArgument, UnknownName
from evenhand.models import zoo
from evenhand.models.fitting_again import fit_dense
from evenhand.models.meter import Meter

MISSING = replace(DOMAIN, columns=tuple(replace(column, missing=0.05) for column in DOMAIN.columns))
CODES = rows(400)
LABELS = truth(CODES)
HOLED = np.where(np.random.default_rng(1).random(CODES.shape) < 0.02, np.nan, CODES)


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENHAND_CACHE", str(tmp_path / "cache"))


@pytest.mark.parametrize("family", zoo.FAMILIES)
def test_every_family_learns_with_missing_cells_and_is_read_back_the_same(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = zoo.load_or_train(family, HOLED, LABELS, MISSING, seed=3)
    assert model.classes == ("low", "high")
    assert not model.is_hard
    assert np.mean(labels_of(Meter(model).scores(HOLED)) == LABELS) > 0.85
    monkeypatch.setattr(zoo, "train", lambda *_: pytest.fail("trained although the model is kept"))
    again = zoo.load_or_train(family, HOLED, LABELS, MISSING, seed=3)
    assert again.fingerprint() == model.fingerprint()


@pytest.mark.parametrize("family", zoo.FAMILIES)
def test_every_family_takes_three_classes_of_which_one_is_absent(family: str) -> None:
    domain = replace(DOMAIN, label=Label("grade", (1, 2, 3), (1,)))
    labels = np.where(LABELS == 1, 2, 0)
    model = zoo.train(family, CODES, labels, domain, np.random.default_rng(0))
    scores = Meter(model).scores(CODES)
    assert scores.shape == (400, 3)
    assert np.mean(labels_of(scores) == labels) > 0.85
    again = model.refit(CODES, 2 - labels, np.random.default_rng(0))
    assert np.mean(labels_of(again.scores(CODES)) == 2 - labels) > 0.85


def test_another_seed_or_other_rows_are_another_model(tmp_path: Path) -> None:
    for seed, codes in ((0, CODES), (1, CODES), (0, CODES[::-1])):
        zoo.load_or_train("boosting", codes, LABELS, DOMAIN, seed)
    assert len(list((tmp_path / "cache" / "models").glob("boosting-*.skops"))) == 3


@pytest.mark.parametrize(("family", "harm"), [("mlp", "changed"), ("boosting", "changed"), ("boosting", "cut"), ("boosting", "no digest")])
def test_a_harmed_file_is_not_loaded_but_replaced(family: str, harm: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zoo, "fit_dense", partial(fit_dense, hidden=(4,)))
    model = zoo.load_or_train(family, CODES, LABELS, DOMAIN, 0)
    (file,) = (f for f in (tmp_path / "cache" / "models").iterdir() if f.suffix != ".sha256")
    content = file.read_bytes()
    if harm == "no digest":
        file.with_suffix(file.suffix + ".sha256").unlink()
    else:
        file.write_bytes(content[:100] if harm == "cut" else content[:-20] + bytes(20))
    again = zoo.load_or_train(family, CODES, LABELS, DOMAIN, 0)
    assert again.fingerprint() == model.fingerprint()
    assert zoo._read(file, LABELS, DOMAIN) is not None
    assert not list(file.parent.glob("*.part"))


def test_a_cache_that_cannot_be_written_costs_only_a_warning(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    with pytest.warns(UserWarning, match="set EVENHAND_CACHE"):
        model = zoo.load_or_train("boosting", CODES, LABELS, DOMAIN, 0)
    assert model.scores(CODES).shape == (400, 2)


def test_mistakes_are_named() -> None:
    with pytest.raises(UnknownName, match="did you mean 'forest'"):
        zoo.load_or_train("florest", CODES, LABELS, DOMAIN, 0)
    with pytest.raises(InvalidArgument, match="has no label"):
        zoo.train("mlp", CODES, LABELS, replace(DOMAIN, label=None), np.random.default_rng(0))
    with pytest.raises(InvalidArgument, match="two classes"):
        zoo.train("forest", CODES, LABELS * 0, DOMAIN, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {"XDG_CACHE_HOME": "/x"}, "/x/evenhand"),
        ("linux", {}, "/h/.cache/evenhand"),
        ("darwin", {}, "/h/Library/Caches/evenhand"),
        ("win32", {"LOCALAPPDATA": "/l"}, "/l/evenhand/Cache"),
        ("linux", {"EVENHAND_CACHE": "/c"}, "/c"),
    ],
)
def test_the_cache_lies_where_the_platform_keeps_such_things(
    platform: str, variables: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("EVENHAND_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(Path, "home", lambda: Path("/h"))
    assert zoo.cache_folder().as_posix() == expected
