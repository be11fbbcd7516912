"""Writes docs/methods/: one page per method, from its docstrings, its parameters and the arena's result (docs/arena.json)."""

from __future__ import annotations

import importlib
import inspect
import json
import re
import sys
from pathlib import Path
from typing import Any

from evenhand import registry
from evenhand.contract import Differentiable, Model, PixelDifferentiable, PixelTransparent, Transparent, media_of
from evenhand.methods import METHODS

ROOT = Path(__file__).resolve().parents[1]
PAGES, RESULT = ROOT / "docs" / "methods", ROOT / "docs" / "arena.json"
FAMILIES = {"mlp": "DNN", "forest": "random forest", "boosting": "gradient boosting", "svm": "SVM", "all": "all together"}
NEEDS = {
    Model: "any model that answers: labels are enough, scores help where the method uses them",
    Differentiable: "a model with gradients (a dense net or a torch module); in the arena others are lent finite differences",
    Transparent: "a model whose hidden layers can be read (a dense net or a torch module)",
    PixelDifferentiable: "a classifier of pictures with gradients by the pixels (a torch module)",
    PixelTransparent: "a classifier of pictures whose layers can be read and followed back to the pixels (a torch module)",
}
SHORT_NEEDS = {
    Model: "answers", Differentiable: "gradients", Transparent: "hidden layers",
    PixelDifferentiable: "gradients by pixels", PixelTransparent: "hidden layers, gradients by pixels",
}  # fmt: skip
MEANINGS = {
    "seeds": "inputs that the search starts from",
    "clusters": "K-means clusters that the seeds are taken from in turn",
    "iterations": "global steps of every seed at most",
    "local_steps": "local steps around every finding of the global phase",
    "global_samples": "random inputs of the global phase; 0 takes the rows at hand instead",
    "step": "how far an attribute moves in one step, in the units of its column",
    "epsilon": "keeps probabilities finite where gradients vanish",
    "decay": "how much of the earlier gradient is kept as momentum",
    "refresh": "local steps after which gradients are computed again",
    "after_miss": "how often a walk that left the findings stays where it is instead of going back",
    "population": "where random inputs come from: `domain`, `data`, or `chained-trees`",
    "generations": "generations of the genetic search",
    "batch": "candidates proposed at once; changes the speed only",
    "space": "the latent space: `chained-trees`, or `ctgan` and `tvae` with the torch extra",
    "confidence": "how sure an answer must be",
    "adf.step": "how far an attribute moves in one step, in the units of its column",
    "themis.confidence": "confidence of the interval of the discrimination score",
    "themis.margin": "the search ends when the interval is narrower than this; 0 never ends it",
    "neuronfair.decay": "how much of the earlier gradient is kept as momentum in the global phase",
    "neuronfair.local_decay": "the same in the local phase",
    "neuronfair.random_share": "p_r: how many neurons of the layer, as a share, join the biased ones in the loss at random",
    "neuronfair.random_every": "r_step: after how many steps these random neurons are drawn again",
    "neuronfair.interval": "width of the bins of the AS-curve that finds the biased neurons",
    "neuronfair.local": "`gradient` moves every attribute by its own chance (Algorithm 3), `random` moves one (the authors' code)",
    "aitest.seeds": "realistic rows of each round",
    "aitest.rounds": "how many rounds; 0 goes on until the budget is spent",
    "aitest.synthesiser": "where realistic rows come from: `graph` (the paper's), `trees`, or `task`",
    "aitest.unfitted": "what stands for a numeric column that no distribution fits",
    "aitest.wishes": "a file or text with the user's own constraints",
    "aitest.path_coverage": "spread the seeds equally over the paths of a surrogate tree",
    "aitest.paths": "paths of that tree at most",
    "aitest.prominent": "share of the columns that are perturbed around a finding",
    "aitest.reach": "how far a number is perturbed",
    "aitest.lime_rows": "perturbed rows that LIME explains with",
    "limi.latents": "latents that the boundary is learnt from",
    "limi.confidence": "the model's score from which on a latent takes part in learning the boundary",
    "limi.per_class": "most confident latents of each side that take part",
    "limi.boundary": "how the plane is fitted: `svm` (the paper's), or a faster one",
    "limi.step": "the paper's lambda: how far to either side of the plane a candidate lies",
    "limi.probing": "`paper`, or `feedback`: follow the label that was heard",
    "limi.probes": "candidates for each latent at most",
    "limi.refit": "fit the plane again to what was heard beside it",
    "limi.fallback": "go on with plain samples where the plane is useless",
    "limi.local": "a method whose local phase goes on from the findings; empty for none",
    "limi.seeds": "findings that such a local phase starts from",
    "limi.global_candidates": "candidates before such a local phase",
    "maft.reach": "how far a cell is moved for its difference, in the units of its column",
    "expga.seeds": "individuals of the first population at most",
    "expga.global_samples": "random samples that are explained",
    "grft.mutated": "attributes that a mutated child changes",
    "grft.reach": "how far a mutated attribute moves at most",
    "grft.step": "how far the local walk moves an attribute",
    "grft.local_steps": "local steps around every finding of the global phase",
}
"""What the classes' own docstrings leave to their names; `method.parameter` goes before `parameter`."""


def paragraphs(module: str) -> list[str]:
    """The module's docstring after its first paragraph."""
    text = inspect.getdoc(importlib.import_module(module)) or ""
    return [part.strip() for part in text.split("\n\n")[1:] if part.strip()]


def meanings(entry: registry.Entry) -> dict[str, str]:
    """What each parameter means: from the class's docstring, else from its bases', else from the list above."""
    found: dict[str, str] = {}
    for owner in reversed(entry.make.__mro__):  # type: ignore[attr-defined]
        found |= _described(inspect.cleandoc(vars(owner).get("__doc__") or ""))
    listed = {name: MEANINGS.get(f"{entry.name}.{name}") or found.get(name) or MEANINGS.get(name) for name in entry.parameters}
    return {name: meaning for name, meaning in listed.items() if meaning}


def _described(text: str) -> dict[str, str]:
    """Lines such as `seeds, clusters: where populations begin; population: how many individuals each has`."""
    joined = re.sub(r"\n[ \t]+", " ", text)
    found: dict[str, str] = {}
    for line in joined.split("\n"):
        for part in re.split(r";\s+(?=[a-z_]+(?:, [a-z_]+)*: )", line):
            if match := re.fullmatch(r"([a-z_]+(?:, [a-z_]+)*): (.+)", part.strip()):
                found |= dict.fromkeys(match[1].split(", "), match[2])
    return found


def page(entry: registry.Entry, result: dict[str, Any] | None) -> str:
    """The whole page of a method."""
    parts = paragraphs(entry.module)
    told = [p for p in parts if not p.startswith(("Paper:", "Agrees", "Differs", "Better", "Measured"))]
    sections = [f"# {entry.name}", entry.summary, f"**Paper.** {entry.paper or 'none'}", f"**Needs.** {NEEDS[entry.make.needs]}."]  # type: ignore[attr-defined]
    sections.append(f"**Works on.** {', '.join(media_of(entry.make)) or 'every medium'}.")
    sections.append(f"**Use.** `evenhand scan --method {entry.name}`, or `evenhand bench {entry.name} themis` beside random search.")
    if told:
        sections += ["## Idea", *told]
    sections += ["## Parameters", parameter_table(entry)]
    if faithful := [p for p in parts if p.startswith(("Agrees", "Differs"))]:
        sections += ["## What agrees with the paper, and what does not", *faithful]
    if beside := [p for p in parts if p.startswith(("Better", "Measured"))]:
        sections += ["## Beyond the paper", *beside]
    sections += ["## Measured place", place(entry.name, result)]
    return "\n\n".join(sections) + "\n"


def parameter_table(entry: registry.Entry) -> str:
    """Names, defaults and meanings."""
    if not entry.parameters:
        return "None."
    meant = meanings(entry)
    lines = ["| parameter | default | meaning |", "| --- | --- | --- |"]
    for name, default in entry.parameters.items():
        lines.append(f"| `{name}` | `{default!r}` | {_cell(meant.get(name, ''))} |")
    return "\n".join(lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def place(method: str, result: dict[str, Any] | None) -> str:
    """Where the method stands in the arena."""
    if result is None or method not in result["methods"]:
        return "Not measured in the [arena](../arena.md) yet."
    lines = ["| models | natural, valid findings per CPU-second: rank | ahead alone | distinct rules: rank | ahead alone |"]
    lines.append("| --- | --- | --- | --- | --- |")
    for entrant in [each for each in result["methods"] if each.split("(")[0] == method]:
        lines += _place_lines(entrant, entrant.removeprefix(method), result)
    quality = result["quality"][method]
    shares = [f"{label} {quality[n]:.1%}" for n, label in QUALITY.items() if quality.get(n) is not None]
    about = f"From the [arena](../arena.md) of {result['dates'][-1] if result['dates'] else 'an unknown day'}."
    table = "\n".join(lines) if len(lines) > 2 else "It finished nowhere."
    return f"{table}\n\n{'Of its findings and candidates: ' + ', '.join(shares) + '. ' if shares else ''}{about}"


def _place_lines(entrant: str, changed: str, result: dict[str, Any]) -> list[str]:
    lines = []
    for group, name in FAMILIES.items():
        both = [result["rankings"][figure].get(group) for figure in ("natural_valid_per_cpu_second", "rules")]
        if None in both or all(entrant not in each["mean_ranks"] for each in both):
            continue
        cells = [cell for each in both for cell in _standing(each, entrant)]
        lines.append(f"| {name}{' ' + changed if changed else ''} | {' | '.join(cells)} |")
    return lines


QUALITY = {
    "natural_share": "natural", "valid_share": "valid", "rules_share": "rules found", "unseen": "unseen (Good-Turing)",
    "duplicates_share": "duplicates",
}  # fmt: skip


def _standing(ranked: dict[str, Any], method: str) -> list[str]:
    rank = ranked["mean_ranks"].get(method)
    return [f"{rank:.2f} of {len(ranked['mean_ranks'])}" if rank else "–", f"{ranked['wins'].get(method, 0)} of {ranked['grounds']}"]


def index(entries: dict[str, registry.Entry]) -> str:
    """The list of all methods."""
    lines = [
        "# Methods",
        "",
        "Written from the code by `python scripts/build_method_pages.py`; how they compare is in [the arena](../arena.md).",
        "",
    ]
    lines += ["| method | needs | works on | what it does |", "| --- | --- | --- | --- |"]
    for name, entry in entries.items():
        needs, works_on = SHORT_NEEDS[entry.make.needs], ", ".join(media_of(entry.make)) or "every medium"  # type: ignore[attr-defined]
        lines.append(f"| [{name}]({name}.md) | {needs} | {works_on} | {_cell(entry.summary)} |")
    return "\n".join(lines) + "\n"


def own_entries() -> dict[str, registry.Entry]:
    """The methods of this package; those of others have their own documents."""
    return {name: entry for name, entry in METHODS.entries().items() if entry.module.startswith("evenhand.")}


def main() -> int:
    """Write every page; remove those of methods that are gone."""
    entries = own_entries()
    result = json.loads(RESULT.read_text(encoding="utf-8")) if RESULT.exists() else None
    PAGES.mkdir(parents=True, exist_ok=True)
    for old in PAGES.glob("*.md"):
        if old.stem not in entries and old.stem != "index":
            old.unlink()
    for name, entry in entries.items():
        (PAGES / f"{name}.md").write_text(page(entry, result), encoding="utf-8")
    (PAGES / "index.md").write_text(index(entries), encoding="utf-8")
    sys.stdout.write(f"{len(entries)} pages in {PAGES}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
