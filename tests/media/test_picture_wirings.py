"""A classifier of pictures that is wired wrongly reads another wiring better; one that is merely weak does not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import evenhand as eh
from evenhand.engine.picture_wirings import OTHER_WIRINGS
from evenhand.engine.preflight import Preflight, RowsAtHand, look, trial_size
from evenhand.media.album import Album, Attribute

COUNT, SIDE = 400, 8
RNG = np.random.default_rng(3)
CODES = RNG.integers(0, 2, COUNT)
BY = 255.0


def _album() -> Album:
    """Pictures of the second class are redder above; noise hides some of it."""
    pictures = RNG.normal(110, 40, (COUNT, SIDE, SIDE, 3))
    pictures[:, : SIDE // 2, :, 0] += 18 * CODES[:, None, None] - 9
    pictures[:, SIDE // 2 :, :, 2] -= 14 * CODES[:, None, None] - 7
    groups = Attribute(("one", "other"), RNG.integers(0, 2, COUNT).astype(np.intp))
    return Album("squares", np.clip(pictures, 0, 255).astype(np.uint8), {"group": groups}, Attribute(("no", "yes"), CODES.astype(np.intp)))


ALBUM = _album()
DATA = eh.open(ALBUM, label="label", protected=["group"], settings={"editor": "none"})
LEARNT = LogisticRegression(C=0.01, max_iter=300).fit(ALBUM.pictures[:250].reshape(250, -1) / BY, CODES[:250])


def classify(pictures: np.ndarray) -> np.ndarray:
    return LEARNT.predict_proba(np.asarray(pictures, float).reshape(len(pictures), -1) / BY)


def _looked(classifier: Callable[[np.ndarray], np.ndarray]) -> Preflight:
    model = eh.wrap(classifier, DATA, classes=["no", "yes"])
    return look(model, DATA.domain, RowsAtHand(DATA.rows, DATA.labels, trial_size(model, DATA.medium), DATA.medium))


def _status(looked: Preflight) -> dict[str, str]:
    return {each.name: each.status for each in looked.checks}


def test_a_classifier_that_is_wired_rightly_is_not_doubted() -> None:
    looked = _looked(classify)
    assert _status(looked)["input"] == "ok"
    assert looked.doubt == looked.reserve == ""


def test_a_weak_classifier_is_not_doubted_for_its_wiring() -> None:
    looked = _looked(lambda pictures: 0.3 * classify(pictures) + 0.7 * (pictures[:, :1, 0, 0] % 2) * np.array([[1.0, -1.0]]) + [[0.0, 0.7]])
    assert _status(looked)["input"] == "ok"


def test_a_wiring_that_only_says_the_commonest_label_is_no_better_one() -> None:
    """Dark pictures are missed by this finder, and all are found where values are larger; nearly every picture shows a face."""
    codes = (RNG.random(COUNT) < 0.9).astype(np.intp)
    album = Album("faces", ALBUM.pictures, ALBUM.attributes, Attribute(("none", "face"), codes))
    data = eh.open(album, label="label", protected=["group"], settings={"editor": "none"})
    light = ALBUM.pictures.mean(axis=(1, 2, 3))

    def find(pictures: np.ndarray) -> np.ndarray:
        mean = np.asarray(pictures, float).mean(axis=(1, 2, 3))
        face = (mean > np.quantile(light, 0.2)) & ((mean * 997 % 1 < 0.8) | (mean > 255))
        return np.column_stack([1.0 - face, face])

    model = eh.wrap(find, data, classes=["none", "face"])
    looked = look(model, data.domain, RowsAtHand(data.rows, data.labels, trial_size(model, data.medium), data.medium))
    assert _status(looked)["input"] == "ok"


@pytest.mark.parametrize(
    ("wrong", "cure"),
    [
        (lambda pictures: pictures[..., ::-1], "red and blue exchanged"),
        (lambda pictures: pictures[:, ::-1], "upside down"),
        (lambda pictures: pictures / BY, "255 times as large"),
    ],
    ids=["colours", "upside down", "scale"],
)
def test_a_wrong_input_is_named_with_its_cure(wrong: Callable[[np.ndarray], np.ndarray], cure: str) -> None:
    looked = _looked(lambda pictures: classify(wrong(np.asarray(pictures, float))))
    assert cure in looked.reserve


def test_exchanged_labels_are_doubted() -> None:
    assert "exchanged" in str([each.sentence for each in _looked(lambda pictures: classify(pictures)[:, ::-1]).checks])


def test_every_other_wiring_has_one_that_undoes_it() -> None:
    picture = ALBUM.pictures[:1].astype(np.float32)
    for change in OTHER_WIRINGS.values():
        undone = [np.abs(other(change(picture)) - picture).max() for other in OTHER_WIRINGS.values()]
        assert min(undone) < 0.01
