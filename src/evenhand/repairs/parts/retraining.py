"""Fitting a model again on its data and findings: the one function behind the retraining repairs, and for whoever compares methods."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenhand.arrays import Rows
from evenhand.contract import Consistent, Model, Trainable
from evenhand.errors import InvalidArgument, MissingAbility
from evenhand.limits import Positive, check_argument
from evenhand.repairs.parts.augmentation import Choice, Spread, lesson, twin_pairs
from evenhand.repairs.parts.case import Case, Mended

if TYPE_CHECKING:
    from evenhand.engine.findings import Findings
    from evenhand.engine.run import Subject

FORMS = ("alone", "twins", "consistency")
CONSISTENCY_WEIGHT = 1.0


def retrain(
    subject: Subject, findings: Findings | Rows, rng: np.random.Generator, form: str = "twins", choice: Choice | None = None
) -> Model:
    """A new model of the subject's kind, fitted to the subject's rows and to some of the findings; the subject stays as it is.

    form: "alone" adds findings as they stand, "twins" all their twins, "consistency" a loss on twins (torch modules and dense nets).
    choice: how many findings and how they are chosen; by default 30 % of the rows, by chance.
    Measure the result with `evenhand.measures.rates`, or whole with `evenhand.campaign.repair_worth.measure`.
    """
    if form not in FORMS:
        raise InvalidArgument(f"form={form!r} must be one of {', '.join(FORMS)}")
    case, choice = Case.of(subject, findings), choice or Choice()
    if form == "consistency":
        return made_consistent(case, choice, CONSISTENCY_WEIGHT, rng).model
    return retrained(case, choice, "alone" if form == "alone" else "twins", rng).model


def trainable(model: Model) -> Trainable:
    """The model, once it is known that it can be fitted again."""
    if not isinstance(model, Trainable):
        raise MissingAbility(
            f"{type(model).__name__} cannot be fitted again: give the estimator, torch module or dense net behind it.  What is possible "
            "with answers alone: marginalise, hide_protected and adjust_thresholds"
        )
    return model


def retrained(case: Case, choice: Choice, spread: Spread, rng: np.random.Generator) -> Mended:
    """Fitted to the data and to chosen findings with the labels of the vote."""
    model = trainable(case.model)
    chosen = choice.of(case, rng)
    added = lesson(case, case.findings[chosen], spread, rng)
    return Mended(model.refit(*added.joined(case), rng), added.facts(case))


def made_consistent(case: Case, choice: Choice, weight: float, rng: np.random.Generator) -> Mended:
    """Fitted to the data, with a loss that asks for equal answers to twins of rows and of chosen findings."""
    if not isinstance(case.model, Consistent):
        raise MissingAbility(
            f"a consistency loss needs a torch module or a dense net, {type(case.model).__name__} is neither; retrain_twins works for "
            "everything that has fit"
        )
    check_argument(Positive, weight=weight)
    chosen = choice.of(case, rng) if len(case.findings) else np.empty(0, dtype=np.intp)
    pairs = twin_pairs(np.concatenate([case.rows, case.findings[chosen]]), case.domain, weight, rng)
    model = case.model.refit_consistently(case.rows, case.labels, pairs, rng)
    return Mended(model, {"findings_used": len(chosen), "pairs": len(pairs.first), "weight": weight})
