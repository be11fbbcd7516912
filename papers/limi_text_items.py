"""What LIMI's text reports beside its tables: a random boundary, further judges of naturalness, correlations of attributes."""

from __future__ import annotations

import numpy as np
from limi_items import CTGAN_AVERAGE, FEW, METHODS, MILLION, OURS, WHITE_BOX, hunt_of, hunts_of, pairs_of, seeds_told
from random_plane import random_findings
from redone import Effort, Grid, Redone, either, sorted_by_truth, told
from tell_apart import nearest_distance, share_told_apart

from parts.limi_data import table
from parts.limi_published import PAIRS


def random_boundary(effort: Effort) -> Redone:
    """LIMI with its plane against LIMI with a plane through a random direction."""
    rows, shares = [], []
    for protected in ("sex",) if effort.is_quick else ("sex", "race", "age"):
        for space in ("ctgan", "trees"):
            method = "limi" if space == "ctgan" else "limi, trees"
            fitted = [each.findings for each in hunts_of(effort, "adult", (protected,), "mlp", method)]
            drawn = [random_findings(hunt_of(effort, "adult", (protected,), "mlp", method, seed), effort.cells) for seed in effort.seeds]
            shares.append(float(np.mean(drawn) / max(np.mean(fitted), 1)))
            rows.append([f"adult {protected}", space, told(fitted), told(drawn), f"{shares[-1]:.2f}"])
    head = ["data", "space", "fitted plane", "random plane", "ratio"]
    return Redone(
        (Grid(f"Findings, {effort.choose(FEW, MILLION):,} tests each", head, rows),),
        (Grid("Adult, mean over protected attributes", ["fitted plane", "random plane", "ratio"], [["56,637", "8,418", "0.15"]]),),
        agrees=(f"A random plane finds {max(shares):.2f} of what the fitted one finds at most (published 0.15).",)
        if max(shares) < 0.8
        else (),
        differs=(
            *(
                (f"A random plane finds up to {max(shares):.2f} of what the fitted one finds (published 0.15).",)
                if max(shares) >= 0.8
                else ()
            ),
            "A random plane passes through the middle of the latents, where samples of the population lie anyway: what it finds is "
            "about what sampling the space finds, so the ratio tells how rare unfair rows are in the space.",
            CTGAN_AVERAGE,
        ),
        seeds=seeds_told(effort),
    )


def naturalness(effort: Effort) -> Redone:
    """Detection by logistic regression and by an SVC, and the mean distance to the nearest real row."""
    rows, claims = [], []
    for data, protected in pairs_of(effort):
        real, mean = table(data, protected), {}
        for method in (*METHODS, "limi, trees", *OURS):
            found = [each.kept for each in hunts_of(effort, data, (protected,), "mlp", method) if len(each.rows) >= 50]
            apart = [
                [share_told_apart(real.rows, kept, real.domain, kind, np.random.default_rng(seed)) for kind in ("LR", "SVC")]
                for seed, kept in enumerate(found)
            ]
            near = [nearest_distance(kept, real.rows, real.domain) for kept in found]
            cells = [told([each[k] for each in apart], ".3f") for k in (0, 1)]
            rows.append([f"{data} {protected}", method, *cells, told(near, ".2f")])
            mean[method] = [float(np.mean(values)) for values in ([each[0] for each in apart], [each[1] for each in apart], near)]
        for place, what in enumerate(("LR", "SVC", "distance")):
            kinds = [[mean[name][place] for name in names] for names in (("limi",), WHITE_BOX, ("aequitas", "symbgen", "expga"))]
            holds = max(kinds[0]) < min(kinds[1]) and max(kinds[1]) < min(kinds[2])
            words = f"{data} {protected}, {what}: the order LIMI, white-box, black-box"
            claims.append((holds, f"{words} holds.", f"{words} does not hold without exceptions."))
    agrees, differs = sorted_by_truth(claims)
    head = ["data", "method", "LR: AUC", "SVC: AUC", "distance to the nearest real row"]
    return Redone(
        (Grid("Up to 1,000 findings each; AUC .5 cannot be told from real rows", head, rows),),
        (Grid("In words", ["text"], [["LIMI > white-box methods > black-box methods; figures were on the authors' site only."]]),),
        agrees=agrees,
        differs=differs,
        seeds=seeds_told(effort),
    )


NEAR_MEAN = 0.02
"""Means of rank correlations that are no further apart are said to agree."""

AVERAGES = {"adult": 0.09, "credit": 0.10, "bank": 0.06, "meps": 0.05}


def correlations(effort: Effort) -> Redone:
    """Spearman's rank correlation of each protected attribute with all others, and of all attributes among themselves."""
    from scipy.stats import spearmanr

    rows: list[list[str]] = []
    means: dict[str, list[float]] = {}
    for data, protected in PAIRS:
        given = table(data, protected)
        ranks = np.abs(np.nan_to_num(np.atleast_2d(spearmanr(given.rows).statistic)))
        at = given.domain.protected_places[0]
        others = np.delete(ranks[at], at)
        upper = ranks[np.triu_indices(len(ranks), 1)]
        most = [c.name for k, c in enumerate(given.domain.columns) if k != at][int(others.argmax())]
        means.setdefault(data, []).append(float(others.mean()))
        rows.append(
            [f"{data} {protected}", f"{others.mean():.2f}", f"{others.max():.2f} ({most})", f"{upper.mean():.2f}", f"{AVERAGES[data]:.2f}"]
        )
    head = ["data", "mean with others", "largest", "mean among all", "published mean"]
    beside = ", ".join(f"{data} {np.mean(values):.2f} and {AVERAGES[data]:.2f}" for data, values in means.items())
    furthest = max(abs(float(np.mean(values)) - AVERAGES[data]) for data, values in means.items())
    agrees, differs = sorted_by_truth(
        [either(furthest <= NEAR_MEAN, f"Mean correlation of the protected attributes with the others, ours and published: {beside}.")]
    )
    return Redone(
        (Grid("Absolute rank correlations", head, rows),),
        (Grid("Mean among attributes", list(AVERAGES), [[f"{value:.2f}" for value in AVERAGES.values()]]),),
        agrees=agrees,
        differs=(
            *differs,
            "The paper calls this the average among attributes; it is the average over the protected attributes with all others.",
            "A small mean does not say that nothing goes with the protected attribute: see the largest ones. Twins that change the "
            "protected attribute alone can be unusual people.",
        ),
        seeds="none",
        interval="Nothing is random.",
    )
