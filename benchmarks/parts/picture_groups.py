"""Groups of labelled pictures: whether the figures are Fairlearn's, whether their bounds hold together, and whom they blame."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import evenhand as eh
from evenhand.datasets.dataset import Dataset
from evenhand.measures.group import BY_NAME, Outcomes
from evenhand.measures.group_figures import GroupSettings, corrected, figure
from evenhand.measures.groups import groupings
from evenhand.models.attribute_readers import linear_reader
from evenhand.models.wrap import wrap
from evenhand.verbs.group_tasks import FigureWork
from evenhand.verbs.measure import measure
from evenhand.verbs.measure_claims import whole_claim
from evenhand.verbs.measure_result import Measurement, MeasureOptions
from evenhand.verbs.measurement import Answer

SAME = {
    "accuracy": "accuracy_score",
    "statistical_parity": "selection_rate",
    "equal_opportunity": "true_positive_rate",
    "predictive_equality": "false_positive_rate",
    "predictive_parity": "precision_score",
}
WATCHED = ("accuracy", "equal_opportunity", "predictive_equality", "statistical_parity")


def untwinned(folder: str, protected: tuple[str, ...], favourable: str, size: int = 32, limit: int = 0) -> Dataset:
    """Photographs with the gender as label, compared by groups only."""
    return eh.open(
        folder, label="gender", favourable=favourable, protected=protected, settings={"size": size, "limit": limit, "editor": "none"}
    )


def half_trained(data: Dataset, seed: int) -> Any:
    """A linear classifier of the label that has learnt from every second picture."""
    album: Any = data.medium.album
    half = np.arange(len(album)) % 2 == 0
    reader = linear_reader(album.pictures[half], album.label.codes[half], album.label.values, np.random.default_rng(seed))
    return wrap(reader, data)


def largest_difference(model: Any, data: Dataset, seed: int) -> float:
    """Between a group's value here and Fairlearn's, over every metric that both have, every value and every intersection."""
    measured = measure(model, data, seed=seed, options=MeasureOptions(groups_only=True))
    said = model.scores(data.rows).argmax(axis=1)
    good = np.array([name in data.domain.label.favourable for name in model.classes])
    truth = np.isin(data.frame[data.domain.label.column].to_numpy(), list(data.domain.label.favourable))
    scores = model.scores(data.rows)[:, good].sum(axis=1)
    worst = 0.0
    for grouping in groupings(data.rows, data.domain):
        for name, theirs in _theirs(truth.astype(int), good[said].astype(int), scores, np.array(grouping.names)[grouping.codes]).items():
            worst = max(worst, _apart(measured, name, grouping.name, theirs))
    return worst


def _theirs(truth: Any, said: Any, scores: Any, groups: Any) -> dict[str, dict[str, float]]:
    import fairlearn.metrics
    import sklearn.metrics
    from fairlearn.metrics import MetricFrame

    found = {}
    for ours, name in SAME.items():
        metric = getattr(fairlearn.metrics, name, None) or getattr(sklearn.metrics, name)
        found[ours] = MetricFrame(metrics=metric, y_true=truth, y_pred=said, sensitive_features=groups).by_group.to_dict()
    means = MetricFrame(metrics=fairlearn.metrics.mean_prediction, y_true=truth, y_pred=scores, sensitive_features=groups)
    surplus = MetricFrame(
        metrics=lambda y_true, y_pred: float(np.mean(y_true - y_pred)), y_true=truth, y_pred=scores, sensitive_features=groups
    )
    return {**found, "mean_score": means.by_group.to_dict(), "calibration": surplus.by_group.to_dict()}


def _apart(measured: Measurement, metric: str, attribute: str, theirs: dict[str, float]) -> float:
    """Groups without a row that counts have no value here, and 0 or nothing there."""
    parts = [part for part in measured.figure(metric, attribute).groups if part.rows and part.estimate is not None]
    return max((abs(float(part.estimate or 0.0) - theirs[part.name]) for part in parts), default=0.0)


def simulated(rights: np.ndarray, sizes: np.ndarray, draws: int, seed: int) -> dict[str, float]:
    """Pictures of groups that are read rightly with known shares: how often all bounds hold, and how often groups are said to differ."""
    rng = np.random.default_rng([seed, 11])
    held = blamed = 0
    for _ in range(draws):
        codes = np.repeat(np.arange(len(sizes)), sizes)
        truth = (rng.random(len(codes)) < 0.5).astype(np.int8)
        chosen = np.where(rng.random(len(codes)) < rights[codes], truth == 1, truth == 0)
        grouping = _grouping(codes, len(sizes))
        figures = [figure(BY_NAME[name], Outcomes(chosen, truth), grouping, GroupSettings(draws=499), rng) for name in WATCHED]
        accuracy = next(each for each in figures if each is not None and each.metric == "accuracy")
        held += all(part.low <= rights[at] <= part.high for at, part in enumerate(accuracy.groups) if part.low is not None)
        blamed += any(each.verdict == "different" for each in corrected([each for each in figures if each is not None]))
    return {"coverage": held / draws, "blamed": blamed / draws}


def _grouping(codes: np.ndarray, count: int) -> Any:
    from evenhand.measures.groups import Grouping

    return Grouping("group", codes.astype(np.intp), tuple(f"group {place}" for place in range(count)))


MIXES = {"alike": np.array([[0.3, 0.4, 0.3]] * 4), "unlike": np.array([[0.3, 0.4, 0.3], [0.2, 0.4, 0.4], [0.4, 0.4, 0.2], [0.5, 0.3, 0.2]])}
"""How common young, middle and older are in each of four groups."""
SAID = np.array([[0.85, 0.13, 0.02], [0.12, 0.76, 0.12], [0.05, 0.25, 0.70]])
"""What a classifier says of young, middle and older, in every group the same where it is fair: the older are read worst."""


def simulated_classes(mix: str, points: float, draws: int, seed: int) -> float:
    """Age groups, of which none is better to get: how often groups are said to differ.

    A fair classifier errs alike in every group, given who is shown; a planted one takes so many points more of the older in the first
    group for middle-aged.  Scores are drawn around what is said, alike in every group.
    """
    rng = np.random.default_rng([seed, 12, list(MIXES).index(mix), round(100 * points)])
    codes = np.repeat(np.arange(4), (300, 300, 500, 800))
    return float(np.mean([_is_blamed(codes, MIXES[mix], points, rng) for _ in range(draws)]))


def _is_blamed(codes: np.ndarray, mix: np.ndarray, points: float, rng: np.random.Generator) -> bool:
    laws = np.repeat(SAID[None], len(mix), axis=0)
    laws[0, 2] += points * np.array([0.0, 1.0, -1.0])
    truth = _drawn(mix[codes], rng)
    said = _drawn(laws[codes, truth], rng)
    scores = rng.dirichlet(np.ones(3), len(codes)) + 1.5 * np.eye(3)[said]
    scores /= scores.sum(axis=1, keepdims=True)
    unknown = Outcomes(np.zeros(len(codes), bool), np.zeros(len(codes), np.int8))
    answer = Answer(unknown, said, truth, True, (), scores, has_favourable=False)
    work = FigureWork(answer, (_grouping(codes, len(mix)),), (), ("young", "middle", "older"), GroupSettings(draws=499))
    return _breaks(work, rng)


def _drawn(shares: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.asarray((rng.random(len(shares))[:, None] > shares.cumsum(axis=1)).sum(axis=1).clip(max=shares.shape[1] - 1))


@dataclass(frozen=True)
class AgeShape:
    """Who is pictured, and how a regression errs, alike in every group where it is fair.

    sizes and means: of the groups, ages deviate by `spread`.  law: the age that is said on average, of the true one.
    error: how far single answers deviate, of the true age.  tails: degrees of freedom of Student's errors, 0 for normal ones.
    """

    sizes: tuple[int, ...] = (150, 150, 250, 400)
    means: tuple[float, ...] = (32.0, 38.0, 44.0, 50.0)
    spread: float = 12.0
    law: Callable[[np.ndarray], np.ndarray] = lambda age: 42.0 + 0.6 * (age - 42.0)
    error: Callable[[np.ndarray], np.ndarray] = lambda age: np.full(len(age), 7.0)
    tails: int = 0

    def drawn(self, years: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Groups, true ages, and what is said, so many years more in the first group."""
        codes = np.repeat(np.arange(len(self.sizes)), self.sizes)
        actual = np.clip(rng.normal(np.array(self.means)[codes], self.spread), 18, 80)
        noise = rng.standard_t(self.tails, len(codes)) if self.tails else rng.standard_normal(len(codes))
        return codes, actual, self.law(actual) + self.error(actual) * noise + years * (codes == 0)


AGE_SHAPES = {
    "as chosen on": AgeShape(),
    "far apart": AgeShape((200, 400), (28.0, 56.0), 10.0),
    "small and large": AgeShape((60, 90, 500, 900), (30.0, 56.0, 40.0, 46.0)),
    "seven groups": AgeShape((120,) * 7, (26.0, 30.0, 34.0, 38.0, 42.0, 46.0, 50.0), 14.0),
    "worse for the old": AgeShape(error=lambda age: 2.0 + 0.2 * (age - 18.0)),
    "bent": AgeShape(law=lambda age: 30.0 + 30.0 * np.tanh((age - 35.0) / 20.0)),
    "a step": AgeShape(law=lambda age: np.where(age < 40.0, 30.0, 55.0)),
    "heavy tails": AgeShape(error=lambda age: np.full(len(age), 4.0), tails=3),
    "two steps": AgeShape(law=lambda age: 25.0 + 20.0 * (age >= 32.0) + 20.0 * (age >= 52.0)),
    "decades": AgeShape(law=lambda age: 10.0 * np.rint(age / 10.0), error=lambda age: np.full(len(age), 3.0)),
    "a late step": AgeShape(law=lambda age: np.where(age < 60.0, 45.0, 75.0), error=lambda age: np.full(len(age), 5.0)),
    "a dip": AgeShape(law=lambda age: age - 12.0 * ((age >= 30.0) & (age < 45.0))),
    "steps, seven groups": AgeShape(
        (100, 60, 140, 120, 90, 200, 110), (26.0, 32.0, 34.0, 38.0, 45.0, 46.0, 58.0), 14.0, lambda age: np.where(age < 35.0, 26.0, 50.0)
    ),
    "a step, many people": AgeShape((10_000, 15_000, 20_000), (32.0, 40.0, 48.0), law=lambda age: np.where(age < 38.0, 28.0, 52.0)),
}
"""The second to the eighth were made after the comparison among people of like age was; strata of few rows were made
because of "a step", and the ones after the eighth after that.  Nothing was changed for those."""


def simulated_ages(years: float, draws: int, seed: int, shape: str = "as chosen on") -> float:
    """Ages in years, in groups of unlike age: how often groups are said to differ.

    A fair regression errs alike in every group, given the age; a planted one says so many years more in the first.
    """
    rng = np.random.default_rng([seed, 13, round(10 * years), list(AGE_SHAPES).index(shape)])
    blamed = []
    for _ in range(draws):
        codes, actual, said = AGE_SHAPES[shape].drawn(years, rng)
        answer = Answer(Outcomes(amount=said, actual=actual), np.zeros(len(codes), int), None, False, (), has_favourable=False)
        grouping = _grouping(codes, len(AGE_SHAPES[shape].sizes))
        blamed.append(_breaks(FigureWork(answer, (grouping,), (), ("years",), GroupSettings(draws=499)), rng))
    return float(np.mean(blamed))


def _breaks(work: FigureWork, rng: np.random.Generator) -> bool:
    """Whether groups are said to differ."""
    figures = [each for task in work.every() for each in work.open()(replace(task, rng=rng))]
    return bool(whole_claim((), corrected(figures), MeasureOptions()).broken)
