"""What every model adapter promises, as checks that anyone can run on their own: each takes a model and rows that it can be asked about."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from evenhand.arrays import Rows
from evenhand.contract import SCORES, Detecting, Differentiable, Model, Trainable, Transparent, labels_of

ModelCheck = Callable[[Model, Rows], None]
ALIKE = 1e-4


def for_model() -> tuple[ModelCheck, ...]:
    """Every check, in the order in which a new adapter usually fails them."""
    return (
        check_is_a_model,
        check_scores_have_one_line_for_every_row,
        check_scores_do_not_depend_on_the_batch,
        check_scores_of_no_rows,
        check_leaves_its_rows_alone,
        check_hard_models_say_labels,
        check_gradients_point_uphill,
        check_layers_can_be_read,
        check_fitting_again_leaves_the_model_alone,
        check_counts_are_of_the_objects,
    )


def check_is_a_model(model: Model, _: Rows) -> None:
    """It has everything that a model must have, and the same fingerprint every time."""
    assert isinstance(model, Model), f"{type(model).__name__} must have classes, is_hard, batch_rows, scores and fingerprint"
    assert isinstance(model.classes, tuple), f"classes={model.classes!r} must be a tuple of labels"
    assert model.batch_rows >= 1, f"batch_rows={model.batch_rows!r} must be at least 1"
    assert model.fingerprint() == model.fingerprint(), "two fingerprints of one model differ"
    assert model.fingerprint(), "the fingerprint must be a text that is not empty"


def check_scores_have_one_line_for_every_row(model: Model, rows: Rows) -> None:
    """The shape is (rows, classes), and every score is a finite number."""
    scores = model.scores(rows)
    assert scores.shape == (len(rows), len(model.classes)), f"scores of shape {scores.shape} for {len(rows)} rows, {model.classes!r}"
    assert np.isfinite(scores).all(), "a score is not a finite number"


def check_scores_do_not_depend_on_the_batch(model: Model, rows: Rows) -> None:
    """A row gets the same answer alone, in company, and when asked again."""
    together = model.scores(rows)
    alone = np.concatenate([model.scores(rows[at : at + 1]) for at in range(min(len(rows), 8))])
    assert np.allclose(together[: len(alone)], alone, atol=ALIKE), "a row is answered differently when it is asked about alone"
    assert np.allclose(together, model.scores(rows), atol=ALIKE), "the same rows are answered differently the second time"


def check_scores_of_no_rows(model: Model, rows: Rows) -> None:
    """No rows are no reason to crash."""
    scores = model.scores(rows[:0])
    assert scores.shape == (0, len(model.classes)), f"scores of shape {scores.shape} for no rows"


def check_leaves_its_rows_alone(model: Model, rows: Rows) -> None:
    """Rows are read, never changed."""
    kept = rows.copy()
    model.scores(rows)
    assert np.array_equal(rows, kept, equal_nan=True), "scores changed the rows that it was given"


def check_hard_models_say_labels(model: Model, rows: Rows) -> None:
    """A model that is hard answers with 0 and 1 alone."""
    if model.is_hard:
        assert np.isin(model.scores(rows), (0.0, 1.0)).all(), "a model that only says labels answered with something between 0 and 1"


def check_gradients_point_uphill(model: Model, rows: Rows) -> None:
    """A gradient has the rows' shape and finite numbers; columns that are missing have none."""
    if not isinstance(model, Differentiable):
        return
    cotangent = np.zeros((len(rows), len(model.classes)))
    cotangent[:, -1] = 1.0
    gradient = model.gradient(rows, cotangent, SCORES)
    assert gradient.shape == rows.shape, f"a gradient of shape {gradient.shape} for rows of shape {rows.shape}"
    assert np.isfinite(gradient[~np.isnan(rows)]).all(), "a gradient is not a finite number"


def check_layers_can_be_read(model: Model, rows: Rows) -> None:
    """Every named layer gives one line of finite numbers for every row."""
    if not isinstance(model, Transparent):
        return
    for name, values in model.activations(rows, model.layers()).items():
        assert values.ndim == 2, f"layer {name!r} gives an array of {values.ndim} dimensions, not one line per row"
        assert len(values) == len(rows), f"layer {name!r} gives {len(values)} lines for {len(rows)} rows"
        assert np.isfinite(values).all(), f"layer {name!r} gives a number that is not finite"


def check_fitting_again_leaves_the_model_alone(model: Model, rows: Rows) -> None:
    """A refitted model is a new one with the same classes."""
    if not isinstance(model, Trainable):
        return
    before, labels = model.fingerprint(), labels_of(model.scores(rows))
    if len(np.unique(labels)) < len(model.classes):
        labels = np.arange(len(rows)) % len(model.classes)
    again = model.refit(rows, labels, np.random.default_rng(0))
    assert model.fingerprint() == before, "fitting again changed the model that was given"
    assert tuple(again.classes) == tuple(model.classes), f"the refitted model has other classes: {again.classes!r}"


def check_counts_are_of_the_objects(model: Model, rows: Rows) -> None:
    """A recogniser's scores count the objects that it tells."""
    if not isinstance(model, Detecting):
        return
    answers, scores = model.detections(rows), model.scores(rows)
    assert len(answers) == len(rows), f"{len(answers)} answers for {len(rows)} rows"
    for answer, counts in zip(answers, scores, strict=True):
        assert counts.sum() <= len(answer), f"{counts.sum():g} objects are counted, {len(answer)} are told"
