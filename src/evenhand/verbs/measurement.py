"""What goes into a measurement and how it reads: a model's answers beside the truth, and a page of text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Labels, Mask, Reals, Scores
from evenhand.contract import labels_of, population_words
from evenhand.domain.columns import listing
from evenhand.domain.tabular import TabularDomain
from evenhand.engine.subject import Data
from evenhand.errors import DataError, InvalidArgument
from evenhand.measures.group import UNKNOWN, Outcomes
from evenhand.models.meter import Meter

READ_FROM_PICTURES = (
    "a number that is read from pictures, such as an age, is nothing that anybody hopes for: errors are compared, among people with "
    "like true numbers, and not what is said on average"
)


@dataclass(frozen=True)
class Answer:
    """What the model said about the data's rows, what was true, and what a reader should know about both."""

    outcomes: Outcomes
    labels: Labels
    truth: NDArray[np.intp] | None  # positions in the model's classes, -1 unknown
    is_probability: bool
    notes: tuple[str, ...]
    scores: Scores | None = None  # (n, classes), where they are probabilities
    has_favourable: bool = True  # some outcomes are better to get than others, or the answer is an amount
    is_due_to_all: bool = False  # every picture should get the favourable outcome, as where faces are to be found

    def by_class(self, classes: Sequence[Any]) -> Iterator[tuple[str, Outcomes]]:
        """Each class against all others."""
        for place, name in enumerate(classes):
            truth = None
            if self.truth is not None:
                truth = np.where(self.truth < 0, UNKNOWN, self.truth == place).astype(np.int8)
            score = None if self.scores is None else self.scores[:, place].astype(np.float64)
            yield str(name), Outcomes(self.labels == place, truth, score, weights=self.outcomes.weights)

    @property
    def rightness(self) -> Outcomes | None:
        """Whether the label itself was said, whatever outcome is favourable; None without labels."""
        if self.truth is None:
            return None
        truth = np.where(self.truth < 0, UNKNOWN, 1).astype(np.int8)
        return Outcomes(self.labels == self.truth, truth, weights=self.outcomes.weights)


def answer_of(
    model: Meter, data: Data, domain: TabularDomain, labels: Sequence[Any] | None, weights: Sequence[float] | str | None
) -> Answer:
    """Ask the model about all rows of the data, and lay the truth beside it."""
    scores = model.scores(data.rows)
    heavy = _weights(data, weights)
    given = _given(data, domain, labels)
    if len(model.classes) == 1:
        actual = None if given is None else _numbers(given)
        read = actual is not None and _shows_pictures(data)
        outcomes = Outcomes(amount=scores[:, 0].astype(np.float64), actual=actual, weights=heavy)
        return Answer(outcomes, labels_of(scores), None, False, (READ_FROM_PICTURES,) if read else (), has_favourable=not read)
    said = labels_of(scores)
    favourable = _favourable(domain, model.classes)
    truth = None if given is None else _places(given, model.classes)
    deserved = None if truth is None else np.where(truth < 0, UNKNOWN, favourable[truth]).astype(np.int8)
    is_probability = not model.is_hard and bool(scores.min() >= -1e-6 and np.allclose(scores.sum(axis=1), 1.0, atol=1e-3))
    score = None if model.is_hard else scores[:, favourable].sum(axis=1).astype(np.float64)
    outcomes = Outcomes(favourable[said], deserved, score if is_probability else None, weights=heavy)
    notes = tuple(_notes(model, truth, favourable, is_probability))
    some = bool(favourable.any() and not favourable.all())
    is_due_to_all = deserved is not None and bool((deserved == 1).all()) and some and _shows_pictures(data)
    return Answer(outcomes, said, truth, is_probability, notes, scores if is_probability else None, some, is_due_to_all)


def _shows_pictures(data: Data) -> bool:
    return getattr(getattr(data, "medium", None), "kind", "") == "album"


def _favourable(domain: TabularDomain, classes: Sequence[Any]) -> Mask:
    good = domain.label.favourable if domain.label else classes[-1:]
    return np.array([name in good for name in classes])


def _notes(model: Meter, truth: NDArray[np.intp] | None, favourable: Mask, is_probability: bool) -> Iterator[str]:
    if truth is None:
        yield "there are no labels: only what needs none is measured (parity, disparate impact, individuals)"
    elif (unknown := int((truth < 0).sum())) == len(truth):
        yield "every label is missing: only what needs none is measured"
    elif unknown:
        yield f"{unknown:,} of {len(truth):,} labels are missing; these rows count only where no label is needed"
    if model.is_hard:
        yield "the model says labels and no scores: calibration and mean scores are not measured"
    elif not is_probability:
        yield "the model's scores are no probabilities: calibration and mean scores are not measured"
    if not favourable.any() or favourable.all():
        yield (
            "no outcome is better to get than another: how often the label is right is compared among people of one true label, "
            "or how often each is said where the truth is not known; "
            "declare `favourable` where a person would hope for one"
        )


def _inside(data: Data, values: Any, name: str) -> Any:
    """Values of the rows inside the domain, given for these rows or for the whole table."""
    rows, whole = len(data.rows), getattr(data, "inside", None)
    if len(values) == rows:
        return values
    if whole is not None and len(values) == len(whole):
        return values[whole]
    raise InvalidArgument(f"{name} has {len(values)} values; expected one for each of the {rows} rows inside the domain")


def _column(data: Data, name: str) -> Any:
    frame = getattr(data, "frame", None)
    if frame is None or name not in frame.columns:
        known = [] if frame is None else list(frame.columns)
        raise DataError(f"the table lacks the column {name!r}; it has {listing(known)}")
    return frame[name].to_numpy()


def _weights(data: Data, weights: Sequence[float] | str | None) -> Reals | None:
    if weights is None:
        return None
    given = _column(data, weights) if isinstance(weights, str) else np.asarray(weights)
    try:
        return np.asarray(_inside(data, given, "weights"), dtype=np.float64)
    except (TypeError, ValueError) as fault:
        raise InvalidArgument(f"weights must be numbers of at least 0, one per row: {fault}") from None


def _given(data: Data, domain: TabularDomain, labels: Sequence[Any] | None) -> NDArray[Any] | None:
    """The true labels of the rows inside the domain as plain values; None where there are none."""
    if labels is not None:
        if isinstance(labels, str):
            return np.asarray(_inside(data, _column(data, labels), "labels"), dtype=object)
        return np.asarray(_inside(data, np.asarray(labels, dtype=object), "labels"), dtype=object)
    if domain.label is None:
        return None
    frame = getattr(data, "frame", None)
    if frame is not None and domain.label.column in frame.columns:
        return np.asarray(_inside(data, frame[domain.label.column].to_numpy(dtype=object), "labels"), dtype=object)
    return np.array([*domain.label.values, None], dtype=object)[data.labels]


def _places(values: NDArray[Any], classes: Sequence[Any]) -> NDArray[np.intp]:
    """Where each label is among the classes; -1 for a missing one, an error for a strange one."""
    import pandas as pd

    codes, distinct = pd.factorize(values)
    table = [_place(value, classes) for value in distinct]
    if None in table:
        strange = distinct[table.index(None)]
        raise DataError(
            f"the label {strange!r} is none of the model's classes {listing(list(classes))}; correct the labels, or the classes"
        )
    found = np.array([*table, -1], dtype=np.intp)
    return found[codes]


def _place(value: Any, classes: Sequence[Any]) -> int | None:
    for place, name in enumerate(classes):
        if name == value or str(name) == str(value):
            return place
    return None


def _numbers(values: NDArray[Any]) -> Reals:
    import pandas as pd

    try:
        return pd.to_numeric(pd.Series(values)).to_numpy(dtype=np.float64)
    except (TypeError, ValueError) as fault:
        raise DataError(f"the true amounts must be numbers: {fault}") from None


def percent(value: Any) -> str:
    """A share for a reader."""
    return "unknown" if value is None else f"{value:.1%}" if abs(value) >= 0.001 or value == 0 else f"{100 * value:.2g}%"


def amount(value: Any, unit: str) -> str:
    """A value in its unit."""
    if value is None:
        return "unknown"
    return percent(value) if unit == "share" else f"{value:.3g}"


def summary_of(result: Mapping[str, Any]) -> str:
    """A measurement as text."""
    body, details = result["body"], result["header"]["details"]
    lines = [f"{str(result['outcome']).upper()}: {result['reason']}."]
    lines += [f"ALARM: {alarm}." for alarm in body["alarms"]]
    if body["rates"]:
        lines += ["", "Individuals", *(_individual_line(each) for each in body["rates"])]
    if body["anytime"]:
        lines.append(f"  anytime  {body['anytime']['sentence']}")
    if body["weighted"]:
        lines += _weighted_lines(body["weighted"])
    lines += [f"  {sentence}." for sentence in (body["severity"] or {}).get("sentences", ())]
    lines += [f"  {sentence}" for sentence in result["header"]["domain"].get("co_changed", ())]
    if body["groups"]:
        lines += ["", f"Groups (a difference counts at {1 - details['confidence']:.2g} after correction for {len(body['groups'])} figures)"]
    lines += [_group_line(each) for each in body["groups"]]
    lines += _small_lines(body["groups"], details["smallest_gap"])
    if body["oracles"]:
        lines += ["", "Oracles side by side"] + [_view_line(view) for view in body["oracles"]["views"]]
    for name, section in body["studies"].items():
        if section["sentences"]:
            lines += ["", name.replace("_", " ").capitalize(), *(f"  {sentence}" for sentence in section["sentences"])]
    lines += [f"Note: {note}." for note in body["notes"]]
    return "\n".join(lines)


def _individual_line(each: Mapping[str, Any]) -> str:
    judged = f"all {each['n']:,} rows" if each.get("whole") else f"n = {each['n']:,}"
    share = f"{percent(each['estimate']):>7} ({percent(each['low'])} to {percent(each['high'])}, {judged})"
    return f"  {each['name']:<7}{share}  {each['meaning']}; among {population_words(each['population'])}"


def _weighted_lines(each: Mapping[str, Any]) -> list[str]:
    bounds = f"{percent(each['low'])} to {percent(each['high'])}"
    worth = f"{each['n']:,} draws worth {each['effective_sample_size']:,.0f}"
    line = f"  weighted {percent(each['estimate'])} ({bounds}, {worth}) of “{each['population']}”"
    return [line] + ([f"  WARNING: {each['warning']}"] if each["warning"] else [])


def _group_line(each: Mapping[str, Any]) -> str:
    size = "too few rows for a size"
    if each["estimate"] is not None:
        low, high = amount(each["low"], each["unit"]), amount(each["high"], each["unit"])
        size = f"{amount(each['estimate'], each['unit'])} ({low} to {high})"
    every = each["estimate_all_groups"]
    if every is not None and each["estimate"] != every:
        size += f" [{amount(every, each['unit'])} with insufficient groups]"
    mark = {"different": "DIFFERENT", "not shown": "no difference shown", "insufficient": "INSUFFICIENT"}[each["verdict"]]
    if each["verdict"] == "different" and each.get("worst"):
        mark += f", lowest: {each['worst']}"
    p_value = "p < 1e-6" if each["p_adjusted"] < 1e-6 else f"p = {each['p_adjusted']:.3g}"
    return f"  {each['title']:<28} by {each['attribute']:<16} {size:<28} {p_value:<11} {mark}"


def _small_lines(figures: Sequence[Mapping[str, Any]], smallest_gap: float) -> list[str]:
    """Each group that is too small, once, with the figure that needs the most rows."""
    worst: dict[tuple[str, str], tuple[int, int, str]] = {}
    for each in figures:
        for part in each["groups"]:
            key = each["attribute"], part["name"]
            if not part["is_enough"] and part["needed"] - part["rows"] > worst.get(key, (0, 0, ""))[0] - worst.get(key, (0, 0, ""))[1]:
                worst[key] = part["needed"], part["rows"], each["title"]
    return [
        f"  insufficient: {attribute} = {name}: {rows:,} rows for {title}, {needed:,} needed to notice a gap of {smallest_gap:.0%}"
        for (attribute, name), (needed, rows, title) in worst.items()
    ]


def _view_line(view: Mapping[str, Any]) -> str:
    rate = view["rate"]
    line = f"  {view['name']:<24} {percent(rate['estimate']):>7} ({percent(rate['low'])} to {percent(rate['high'])})  {view['question']}"
    if view["null"]:
        proxy, null = view["proxy"]["estimate"], view["null"]
        line += f"; proxy effect {percent(proxy)}, chance alone {percent(null['mean'])} (p = {view['p_value']:.3g})"
    return line
