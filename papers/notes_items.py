"""Results that go beyond one table: short pages, every figure of which is computed here."""

from __future__ import annotations

from collections.abc import Sequence

import limi_items
import neuronfair_items
import numpy as np
from judged_kinds import mean_rule, natural_shares, population_rates, retraining_falls
from redone import Effort, FieldNote, Grid, told

from parts.limi_published import FOUND, PAIRS
from parts.whitebox_tables import geometric


def _seeds(effort: Effort) -> str:
    return f"0 to {max(effort.seeds)}"


def _spread(values: Sequence[float], form: str = ".2f") -> str:
    return f"{geometric(np.asarray(values)):{form}} ({min(values):{form}} to {max(values):{form}})"


def equal_counting(effort: Effort) -> FieldNote:
    """What is left of two published ratios when every method has the same tests and is counted alike."""
    rows = []
    for rival in neuronfair_items.RIVALS:
        pairs = neuronfair_items.pairs_of(effort)
        counts, times = [], []
        for pair in pairs:
            ours, theirs = (neuronfair_items.totals(effort, pair, name) for name in ("neuronfair", rival))
            counts.append(np.mean([each.findings for each in ours]) / max(np.mean([each.findings for each in theirs]), 1))
            times.append(np.mean([each.rate for each in ours]) / max(np.mean([each.rate for each in theirs]), 1e-9))
        rows.append(["NeuronFair", rival, "5.84 on average", _spread(counts), _spread(times)])
    for rival in ("aequitas", "symbgen", "adf", "eidig", "neuronfair", "expga"):
        counts, times, published = [], [], []
        for data, protected in limi_items.pairs_of(effort):
            place = PAIRS.index((data, protected))
            ours, theirs = (limi_items.hunts_of(effort, data, (protected,), "mlp", name) for name in ("limi", rival))
            counts.append(np.mean([each.findings for each in ours]) / max(np.mean([each.findings for each in theirs]), 1))
            times.append(np.mean([each.rate for each in ours]) / max(np.mean([each.rate for each in theirs]), 1e-9))
            published.append(FOUND["mlp"]["limi"][place] / FOUND["mlp"][rival][place])
        rows.append(["LIMI", rival, _spread(published, ".1f"), _spread(counts), _spread(times)])
    tests = f"{effort.choose(6_000, 1_041_000):,} (NeuronFair) and {effort.choose(limi_items.FEW, limi_items.MILLION):,} (LIMI)"
    above = sum(float(row[3].split()[0]) > 1 for row in rows)
    return FieldNote(
        "NeuronFair is reported to find 5.84 times as many discriminatory instances as its rivals, and LIMI about nine times as many. How much "
        "of that is the method, and how much is what was counted and when each was stopped?",
        f"Every method gets the same number of tests ({tests} for each run), asks the same model through the same batched engine, and is counted by "
        "one rule: a distinct non-protected part counts once, verified over every protected value. Published parameters.",
        (
            Grid(
                "Findings of the first method over those of the second, geometric mean (range over tables)",
                ["method", "over", "published", "findings, equal tests", "findings per CPU-second"],
                rows,
            ),
        ),
        (
            f"In {above} of {len(rows)} comparisons the first method finds more in equally many tests.",
            "What the published ratios also contain is how fast each implementation asked its model and how each counted duplicates; here both are equal.",
            "A count of findings says what a budget buys, not how unfair a model is. Methods should be compared at equal tests, with equal "
            "counting, and by what the findings are like.",
        ),
        ("Two tables in the short form; the nets are the authors' own for NeuronFair and trained here for LIMI.",),
        _seeds(effort),
    )


ANYWHERE = ("aequitas", "symbgen", "adf", "eidig", "neuronfair")
"""Methods that know nothing of the population."""


def three_judges(effort: Effort) -> FieldNote:
    """The share of each method's findings that three judges of different kinds call natural."""
    names = (*limi_items.METHODS, "limi, trees", *limi_items.OURS)
    rows, apart = [], []
    anywhere: list[float] = []
    for data, protected in limi_items.pairs_of(effort):
        found = {name: [each.rows for each in limi_items.hunts_of(effort, data, (protected,), "mlp", name)] for name in names}
        shares = natural_shares(effort.cells, data, protected, found)
        for name, by_judge in shares.items():
            rows.append([f"{data} {protected}", name, *(told([100 * value for value in values], ".0f") for values in by_judge.values())])
            means = [float(np.mean(values)) for values in by_judge.values() if values]
            apart.append(max(means) - min(means) if means else 0.0)
            anywhere += [max(means)] if means and name in ANYWHERE else []
    return FieldNote(
        "Is a finding a person who could exist? Papers answer with one score, usually ATN, which compares the columns of all findings with "
        "those of all people.",
        "Three judges learn from half of the real rows: a density (chained trees), the mean distance to the five nearest real rows, and boosted trees "
        "that tell real rows from rows with shuffled columns. Natural is what a judge finds at least as usual as all but a twentieth of the real rows "
        "that it has not seen, so that unseen real rows score 95.",
        (
            Grid(
                "Percent of up to 1,000 findings that each judge calls natural",
                ["data", "method", "density", "neighbours", "classifier"],
                rows,
            ),
        ),
        (
            f"The judges differ by up to {100 * max(apart):.0f} points on the same findings: a method must not be judged by one of them, least of all by "
            "the one that it was built with.",
            f"Of the methods that sample or walk anywhere in the domain ({', '.join(ANYWHERE)}), at most {100 * max(anywhere, default=0.0):.0f} % of the findings are "
            "natural by the kindest judge, however many they find.",
        ),
        (
            "`limi, trees` and `evenhand` draw from chained trees, which are kin of the first judge: only the other two are impartial about them.",
        ),
        _seeds(effort),
    )


PUBLISHED_BLAMED = 0.32
"""DistroFair's share of violating classes."""


def above_the_mean(effort: Effort) -> FieldNote:
    """How many classes of an exactly fair recogniser lie above the mean error rate."""
    runs = effort.choose(2_000, 20_000)
    rows, blamed, exact = [], [], []
    for classes, objects, rate in ((5, 50, 0.1), (20, 50, 0.1), (60, 50, 0.1), (20, 10, 0.1), (20, 500, 0.1), (20, 50, 0.3)):
        found = effort.cells.take(
            "mean-rule",
            {"classes": classes, "objects": objects, "rate": rate, "runs": runs},
            lambda classes=classes, objects=objects, rate=rate: mean_rule(classes, objects, rate, runs, 0),
        )
        blamed.append(found["mean"])
        exact.append(found["any_exact"])
        rows.append(
            [
                str(classes),
                str(objects),
                f"{rate:.0%}",
                f"{found['mean']:.1%}",
                f"{found['any_mean']:.1%}",
                f"{found['exact']:.2%}",
                f"{found['any_exact']:.1%}",
            ]
        )
    return FieldNote(
        "DistroFair calls a class unfair when its error rate lies above the mean of all classes. What does that say of a recogniser that treats all "
        "classes exactly alike?",
        f"{runs:,} simulated recognisers for each line: every object of every class is lost with the same chance. Beside the rule stands an exact test of each "
        "class against all others (Fisher's, one-sided), corrected by Benjamini and Hochberg at .05.",
        (
            Grid(
                "Fair recognisers",
                [
                    "classes",
                    "objects of each",
                    "chance of an error",
                    "classes above the mean",
                    "runs with one",
                    "classes by the exact rule",
                    "runs with one",
                ],
                rows,
            ),
        ),
        (
            f"The rule blames {min(blamed):.0%} to {max(blamed):.0%} of the classes of a fair recogniser, with any number of pictures. The published 32 % of violating classes "
            + (
                "are no more than a fair recogniser can show."
                if max(blamed) >= PUBLISHED_BLAMED
                else "are more than these fair recognisers show."
            ),
            f"The exact rule blames some class of a fair recogniser in at most {max(exact):.1%} of the runs (meant: 5 %).",
        ),
        (
            "Objects are independent here; in one picture they are lost together, which is why the package draws one change of each scene for its test.",
        ),
        "0",
    )


def findings_against_twins(effort: Effort) -> FieldNote:
    """Retraining on findings as they stand, on all their twins, and on nothing."""
    falls = retraining_falls(effort.cells, effort.is_quick)
    rows = [
        [name, told(values["if_r"], "+.0f"), told(values["if_o"], "+.0f"), told(values["acc"], "+.1f")] for name, values in falls.items()
    ]
    again = float(np.mean(falls["fitted again"]["if_r"]))
    alone = [float(np.mean(values["if_r"])) for name, values in falls.items() if name.endswith(" alone")]
    twins = [float(np.mean(values["if_r"])) for name, values in falls.items() if name.endswith(" twins") and "over" not in name]
    return FieldNote(
        "Papers mend a net by training it again on its data and its findings, and report that individual discrimination falls by a third to a half. "
        "Is that due to the findings?",
        "A net is fitted to a training part; each method's findings, 30 % of the rows, are added with the label of a vote that never sees the protected column, "
        "either alone (as published) or with all their twins. Controls: the same net fitted again with another seed, and random rows instead of findings. "
        "Held-out rows judge.",
        (
            Grid(
                "Fall of IF_r and IF_o in percent of the untreated net, change of accuracy in points",
                ["net", "IF_r falls by", "IF_o falls by", "accuracy"],
                rows,
            ),
        ),
        (
            f"Only fitting the net again lets IF_r fall by {again:.0f} % on average, from {min(falls['fitted again']['if_r']):.0f} % to "
            f"{max(falls['fitted again']['if_r']):.0f} % by seed: a comparison of two single nets shows nothing.",
            f"IF_r with findings alone falls by {min(alone):.0f} % to {max(alone):.0f} %, with all their twins by {min(twins):.0f} % to {max(twins):.0f} %, "
            f"by method; without anything by {again:.0f} %. Only what goes beyond the last figure is due to the findings.",
            "Averaging the answer over a person's twins, or leaving the column out, makes both figures zero at once: whoever retrains must say why that would not do.",
        ),
        ("One table in the short form; the intervals are wide.",) if effort.is_quick else (),
        "0 to 4",
    )


def uniform_rates(effort: Effort) -> FieldNote:
    """The rate of unfair treatment under uniform inputs, real rows and realistic samples."""
    rows, ratios, gaps, pairs = [], [], [], []
    n = effort.choose(20_000, 200_000)
    for data, protected in (("census", "sex"), ("census", "age"), ("credit", "sex"), ("credit", "age"), ("bank", "age")):
        found = effort.cells.take(
            "population-rates",
            {"data": data, "protected": protected, "n": n},
            lambda data=data, protected=protected: population_rates(data, protected, n, 0),
        )
        ratios.append(found["real"][0] / max(found["uniform"][0], 1e-9))
        gaps.append(100 * abs(found["trees"][0] - found["real"][0]))
        pairs.append((found["uniform"][0], found["real"][0]))
        cells = [f"{100 * low:.2f} to {100 * high:.2f}" for _, low, high in found.values()]
        rows.append(
            [
                f"{data} {protected}",
                *(f"{100 * value[0]:.2f} ({cell})" for value, cell in zip(found.values(), cells, strict=True)),
                f"{ratios[-1]:.2f}",
            ]
        )
    orders = [np.argsort([each[side] for each in pairs]).tolist() for side in (0, 1)]
    return FieldNote(
        "IF_r and DM-RS, the usual figures of individual discrimination, are shares of inputs drawn uniformly from the domain. Do they tell how "
        "often people are treated unfairly?",
        "The authors' nets, the same rule for all: an input counts when another protected value changes its label. Inputs are uniform, the rows of the table, or samples of "
        "chained trees fitted to them.",
        (Grid("Unfair in percent (exact 95 % interval)", ["data", "uniform", "real rows", "chained trees", "real over uniform"], rows),),
        (
            f"Real rows are affected {min(ratios):.1f} to {max(ratios):.1f} times as often as uniform inputs, and "
            + ("both rank the cases alike" if orders[0] == orders[1] else "the two do not rank the cases alike")
            + ": a rate without its population says little.",
            f"Samples of a fitted population come within {max(gaps):.1f} points of the real rows.",
        ),
        ("Nets were trained on these very rows.",),
        "0",
    )
