"""LIMI measured: speed and naturalness on ADF's census net, the cost of chained trees beside CTGAN, ATN beside SDMetrics.

1. Tables 1 to 3 and 5 to 7 of the paper, redone (without --quick; see limi_tables.py).
2. Findings per CPU-second on one core, protected sex: LIMI as published with a CTGAN, natural chains on the net and on a forest.
3. Training time and quality of chained trees beside CTGAN.
4. ATN against SDMetrics: equality on random tables, speed on 32,000 x 13.
5. A model for which a GAN's latent space has no useful boundary, and what the default does with it.
"""

# ruff: noqa: I001  (common comes first: it fixes the number of threads)

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parts.common import cpu, options, papers_data, write_figures  # first: it fixes the number of threads

import numpy as np
from parts.limi_data import SHIPPED, seconds_per_epoch, table, trained
from numpy.typing import NDArray

from evenhand.arrays import Rows
from evenhand.datasets.dataset import Dataset
from evenhand.domain.columns import Column
from evenhand.domain.tabular import TabularDomain
from evenhand.engine.run import Plan, Run, Subject, run
from evenhand.methods.adf import Adf
from evenhand.methods.chains import Chains
from evenhand.methods.expga import Expga
from evenhand.methods.limi import Limi
from evenhand.methods.parts.latent_at_hand import quiet_first
from evenhand.measures.likeness import LatentAxis, Density, LikenessReference, densities, likeness
from evenhand.measures.naturalness import atn, two_sample_auc
from evenhand.models import zoo
from evenhand.contract import Model
from evenhand.models.budget import Budget
from evenhand.models.dense import DenseNet
from evenhand.oracles.flip import LabelFlip
from evenhand.contract import Method, Population
from evenhand.report.charts import canvas
from evenhand.report.charts.canvas import standalone, tone
from evenhand.report.charts.plots import WIDE, Line, Plot, plot
from evenhand.synthesis.ctgan import Ctgan, CtganSettings
from evenhand.synthesis.chained_trees import ChainedTrees

EPOCHS = 300
CPU_SECONDS_PUBLISHED = 2_176  # of the published CTGAN's 300 epochs on a like machine
AUTHORS = {"dnn": 95.0, "forest": 2.4}  # findings per CPU-second of the authors' code
NAMED = (
    "paper_mode_findings_per_cpu_s", "natural_findings_per_cpu_s_dnn", "natural_findings_per_cpu_s_forest", "natural_atn",
    "real_findings_atn", "natural_c2st_real_findings", "trees_over_ctgan_fit", "atn_max_error", "atn_speedup",
)  # fmt: skip
TRIES = 4
PICTURED = {"ADF": Adf(), "ExpGA": Expga()}  # beside LIMI, as in the paper's Figure 2
SPLITS = 3  # a classifier's AUC is the mean over so many splits


@dataclass(frozen=True)
class Arena:
    """A model with real rows that it was not fitted to where we fitted it, and a population."""

    data: Dataset
    model: Model
    reference: LikenessReference
    population: Population


def census_net(folder: Path | None, data: Dataset) -> Model:
    """ADF's published net; one of the same widths, trained here, where the papers' data are absent."""
    if folder is not None:
        return DenseNet.from_npz(folder / "models" / "ADF_census.npz")
    print("  the papers' nets are not at hand (set EVENHAND_DATA): training one of the same widths", flush=True)
    return zoo.train("mlp", data.rows, data.labels, data.domain, np.random.default_rng(0))


def arena_of(data: Dataset, model: Model, real: Rows, seed: int) -> Arena:
    """Chained trees on the data, and the findings among real rows."""
    trees = ChainedTrees.fit(data.rows, data.domain, np.random.default_rng(seed), first=quiet_first(data.rows, data.domain))
    unfair = LabelFlip().judge(real, data.domain, model).unfair
    return Arena(data, model, LikenessReference(real, real[unfair], data.domain, trees), trees)


def forest_arena(data: Dataset, seed: int) -> Arena:
    """A forest of 100 trees, fitted to one half; the other half are the real rows, which it does not know by heart."""
    train, test = data.split(0.5, np.random.default_rng(seed))
    forest = zoo.train("forest", train.rows, train.labels, data.domain, np.random.default_rng(seed))
    return arena_of(train, forest, test.rows, seed)


def pursue(method: Method, arena: Arena, population: Population, candidates: int, seed: int) -> tuple[Run, float]:
    """One run, and findings per CPU-second: the best of a few tries, since other work on the machine only ever slows one down."""
    subject = Subject(arena.data.domain, arena.model, arena.data.rows, arena.data.labels, population)
    rates = []
    for _ in range(TRIES):
        done = run(method, subject, Plan(seed, Budget(candidates=candidates)))
        rates.append(done.ledger.findings / done.cpu_seconds)
    return done, max(rates)


def verified(done: Run, arena: Arena) -> int:
    """Findings whose label flip the model shows again, each distinct non-protected part once."""
    domain = arena.data.domain
    fine = LabelFlip().judge(done.findings.rows, domain, arena.model).unfair
    assert fine.all(), "a finding did not replay"
    return len(np.unique(domain.keys(done.findings.rows)))


def report(name: str, done: Run, rate: float, arena: Arena) -> dict[str, float | None]:
    """Say what a run found and how natural it is."""
    each = [likeness(done.findings.rows, arena.reference, np.random.default_rng(at)) for at in range(SPLITS)]
    figures = {name: None if each[0][name] is None else float(np.mean([one[name] for one in each])) for name in each[0]}
    shown = ", ".join(f"{key} {value:.3f}" for key, value in figures.items() if value is not None)
    print(
        f"  {name}: {verified(done, arena):,} findings of {done.ledger.candidates:,} candidates, {rate:,.0f} per CPU-second; {shown}",
        flush=True,
    )
    return figures


def against_all(done: Run, arena: Arena) -> float:
    """AUC against real findings as they come: some people are in the data several times, and in a list of findings once."""
    real, found = arena.reference.findings, done.findings.rows
    aucs = []
    for at in range(SPLITS):
        rng = np.random.default_rng(at)
        n = min(len(real), len(found))
        aucs.append(two_sample_auc(real[rng.permutation(len(real))[:n]], found[rng.permutation(len(found))[:n]], rng))
    return float(np.mean(aucs))


def speed(quick: bool, seed: int) -> tuple[dict[str, Any], Any]:
    """Part 2 and 3."""
    data = table("adult", "sex")
    net = arena_of(data, census_net(papers_data(), data), data.rows, seed)
    print("2 findings per CPU-second, protected sex", flush=True)
    real = net.reference.findings
    real_atn = atn(data.rows, real, data.domain)
    print(f"  real findings: {len(real):,} of {len(data.rows):,} rows, ATN {real_atn:.3f}", flush=True)
    gan, how = shipped_or_trained(data, quick, seed)
    latents = 60_000 if quick else 1_000_000
    paper, paper_rate = pursue(Limi(space="ctgan", latents=latents), net, gan, 3_000_000, seed)
    report(f"LIMI, {latents:,} latents, {how} (authors' code: {AUTHORS['dnn']:g})", paper, paper_rate, net)
    chains, chain_rate = pursue(Chains(), net, net.population, 130_000, seed)
    natural = report(f"natural chains (authors' code: {AUTHORS['dnn']:g})", chains, chain_rate, net)
    print(f"  their AUC against all real findings, repeats included: {against_all(chains, net):.3f}", flush=True)
    forest = forest_arena(data, seed)
    walked, forest_rate = pursue(Chains(seed_share=0.5), forest, forest.population, 100_000, seed)
    in_forest = report(f"natural chains, forest of 100 trees (authors' code: {AUTHORS['forest']:g})", walked, forest_rate, forest)
    forest_atn = atn(forest.reference.rows, forest.reference.findings, data.domain)
    print(f"  real findings of the forest: {len(forest.reference.findings):,}, ATN {forest_atn:.3f}", flush=True)
    subject = Subject(data.domain, net.model, data.rows, data.labels)
    others = {name: run(method, subject, Plan(seed, Budget(candidates=20_000))).findings.rows for name, method in PICTURED.items()}
    groups = {"LIMI": paper.findings.rows, "chains": chains.findings.rows, "real findings": real, **others}
    figure = drawn_densities(densities(groups, LatentAxis.of(data.rows, data.domain), np.random.default_rng(seed)))
    return {
        "paper_mode_findings_per_cpu_s": paper_rate,
        "natural_findings_per_cpu_s_dnn": chain_rate,
        "natural_findings_per_cpu_s_forest": forest_rate,
        "natural_atn": natural["atn"],
        "real_findings_atn": real_atn,
        "natural_c2st_real_findings": natural["c2st_auc_real_findings"],
        "natural_atn_forest": in_forest["atn"],
        "real_findings_atn_forest": forest_atn,
        "natural_c2st_real_findings_forest": in_forest["c2st_auc_real_findings"],
        **training(data, gan, quick, seed),
    }, figure


def shipped_or_trained(data: Dataset, quick: bool, seed: int) -> tuple[Ctgan, str]:
    """The CTGAN in this folder, made by limi_spaces.py --ship; a newly trained one otherwise."""
    space = Ctgan.load(SHIPPED, data.domain) if SHIPPED.exists() else trained(data, 8 if quick else EPOCHS, seed)
    return space, f"CTGAN of {space.settings.epochs} epochs ({departures(space.settings)})"


def departures(settings: CtganSettings) -> str:
    """What of a CTGAN is not as the paper says."""
    weights = "averaged weights, else " if settings.average else ""
    epochs = f", but for the epochs ({EPOCHS} there)" if settings.epochs != EPOCHS else ""
    return f"{weights}as published{epochs}"


def training(data: Dataset, gan: Ctgan, quick: bool, seed: int) -> dict[str, Any]:
    """Part 3: what the two spaces cost and are worth."""
    print("3 chained trees beside CTGAN", flush=True)
    seconds, trees = cpu(lambda: ChainedTrees.fit(data.rows, data.domain, np.random.default_rng(seed)), TRIES)
    epoch = seconds_per_epoch(data, 2 if quick else 5, seed)
    worth = {}
    for name, space in (("trees", trees), ("ctgan", gan)):
        sample = space.sample(len(data.rows), np.random.default_rng(seed))
        worth[name] = atn(data.rows, sample, data.domain), two_sample_auc(data.rows[:10_000], sample[:10_000], np.random.default_rng(seed))
    times = EPOCHS * epoch / seconds
    print(
        f"  trees {seconds:.2f} CPU-seconds; CTGAN {epoch:.2f} an epoch, {EPOCHS * epoch:,.0f} for {EPOCHS} "
        f"(published {CPU_SECONDS_PUBLISHED:,})"
    )
    print("  " + "; ".join(f"{name}: ATN {a:.3f}, two-sample AUC {b:.3f}" for name, (a, b) in worth.items()), flush=True)
    return {
        "trees_over_ctgan_fit": times,
        "trees_atn": worth["trees"][0],
        "trees_c2st": worth["trees"][1],
        "ctgan_atn": worth["ctgan"][0],
        "ctgan_c2st": worth["ctgan"][1],
        "ctgan_epochs": gan.settings.epochs,
        "ctgan_cpu_s_per_epoch": epoch,
    }


def sdmetrics_score(real: Any, synthetic: Any, kinds: dict[str, str]) -> float:
    """SDMetrics' own quality score without thresholds."""
    from sdmetrics.reports.single_table._properties import ColumnPairTrends, ColumnShapes

    metadata = {"columns": {name: {"sdtype": kind} for name, kind in kinds.items()}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(np.mean([property_().get_score(real, synthetic, metadata) for property_ in (ColumnShapes, ColumnPairTrends)]))


def frames(tables: tuple[Rows, ...], domain: TabularDomain) -> tuple[list[Any], dict[str, str]]:
    """Tables as SDMetrics wants them."""
    import pandas as pd

    kinds = {c.name: "categorical" if c.is_listed else "numerical" for c in domain.columns}
    made = [pd.DataFrame(rows, columns=list(domain.names)) for rows in tables]
    for frame in made:
        for name, kind in kinds.items():
            if kind == "categorical":
                frame[name] = frame[name].astype(int).astype(str)
    return made, kinds


def random_tables(rng: np.random.Generator) -> tuple[Rows, Rows, TabularDomain]:
    """Two tables of a few columns of either kind."""
    columns = []
    for at in range(int(rng.integers(2, 8))):
        if rng.random() < 0.5:
            columns.append(Column(f"c{at}", "category", tuple(range(int(rng.integers(2, 9))))))
        else:
            columns.append(Column(f"c{at}", "integer" if rng.random() < 0.5 else "real", low=-20, high=80))
    domain = TabularDomain(tuple(columns))
    real, synthetic = (domain.sample(int(rng.integers(30, 400)), rng) for _ in range(2))
    synthetic[:, -1] = np.sort(synthetic[:, -1])
    return real, synthetic, domain


def against_sdmetrics(seed: int) -> dict[str, Any]:
    """Part 4."""
    print("4 ATN beside SDMetrics", flush=True)
    rng = np.random.default_rng(seed)
    errors = []
    for _ in range(20):
        real, synthetic, domain = random_tables(rng)
        made, kinds = frames((real, synthetic), domain)
        errors.append(abs(atn(real, synthetic, domain) - sdmetrics_score(made[0], made[1], kinds)))
    data = table("adult", "sex")
    big = tuple(data.rows[rng.integers(0, len(data.rows), 32_000)] for _ in range(2))
    made, kinds = frames(big, data.domain)
    theirs, _ = cpu(lambda: sdmetrics_score(made[0], made[1], kinds), 2)
    ours, _ = cpu(lambda: atn(*big, data.domain), 5)
    print(
        f"  largest difference on 20 tables {max(errors):.1e}; 32,000 x 13: SDMetrics {theirs:.2f}, ours {ours:.4f} CPU-seconds", flush=True
    )
    return {"atn_max_error": max(errors), "atn_speedup": theirs / ours}


@dataclass(frozen=True)
class Parity:
    """Whether the sampling weight is even or odd decides, for women over fifty the other way round: no plane tells that apart."""

    classes: tuple[Any, ...] = (0, 1)
    is_hard: bool = False
    batch_rows: int = 8192

    def scores(self, rows: Rows) -> NDArray[np.float64]:
        """Sure of itself everywhere."""
        odd = (rows[:, 2] - (rows[:, 8] == 0) * (rows[:, 0] > 4)) % 2
        return np.column_stack([0.9 - 0.8 * odd, 0.1 + 0.8 * odd])

    def fingerprint(self) -> str:
        """Always the same."""
        return "parity"


def no_boundary(quick: bool, seed: int) -> None:
    """Part 5."""
    print("5 a model without a useful boundary", flush=True)
    data = table("adult", "sex")
    gan, how = shipped_or_trained(data, quick, seed)
    trees = ChainedTrees.fit(data.rows, data.domain, np.random.default_rng(seed))
    for name, method, population in (
        (f"LIMI without a fallback, {how}", Limi(space="ctgan", latents=30_000, fallback=False), gan),
        ("chained trees, default", Limi(latents=30_000), trees),
        ("chains", Chains(seeds=1024), trees),
    ):
        done = run(method, Subject(data.domain, Parity(), data.rows, data.labels, population), Plan(seed, Budget(candidates=60_000)))
        facts = done.facts.get("boundary", {})
        said = facts.get("verdict") or (f"AUC {facts['auc_all']:.3f}" if facts else "needs no boundary")
        print(f"  {name}: {done.ledger.findings:,} findings of {done.ledger.candidates:,}; {said}", flush=True)


def drawn_densities(curves: list[Density]) -> str:
    """Figure 2: how rows of every group are spread along the first principal axis of the real ones."""
    lines = [Line(each.label, list(zip(each.places, each.density, strict=True)), tone(at)) for at, each in enumerate(curves)]
    across = canvas.Axis.over([x for line in lines for x, _ in line.points], "first principal axis of the real rows")
    up = canvas.Axis.over([y for line in lines for _, y in line.points], "density", floor=0.0)
    return standalone(plot(Plot("Densities along the first principal axis", across, up, lines, frame=WIDE, names_inside=True)))


def main() -> None:
    """Run the parts and write the figures."""
    chosen = options("LIMI, natural chains, latent spaces")
    started = time.process_time()
    figures, drawn = speed(chosen.quick, chosen.seed)
    figures |= against_sdmetrics(chosen.seed)
    no_boundary(chosen.quick, chosen.seed)
    if not chosen.quick:
        from limi_tables import every_table

        every_table()
    if chosen.json:
        chosen.json.with_suffix(".picture.svg").write_text(drawn, encoding="utf-8")
    print(f"{time.process_time() - started:.0f} CPU-seconds in all")
    for name in figures.keys() - set(NAMED):
        print(f"({name} {figures[name]})")
    write_figures({name: figures[name] for name in NAMED}, chosen.json)


if __name__ == "__main__":
    main()
