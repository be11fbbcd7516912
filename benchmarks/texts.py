"""Verdicts on texts: how often a reader that single names move, and gender does not, is blamed; and how often one that leans is found.

python benchmarks/texts.py --quick --json texts.json
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

import evenhand as eh
from evenhand.datasets.dataset import Dataset
from evenhand.measures.exchanged_words import doubt_about, exchanges_of
from evenhand.models.meter import Meter
from evenhand.models.shown import ShownModel
from evenhand.oracles import oracle_of
from parts.common import options, write_figures
from parts.name_noise import NameReader, named_letters

FAIR = {"names": (1.0, 0.0), "names in their templates": (0.0, 1.0), "both": (1.0, 0.5), "strong names": (3.0, 0.5)}
LEANS = (1.0, 2.0, 4.0)


def shown(data: Dataset, reader: NameReader) -> bool:
    """Whether the words show that gender matters to this reader."""
    model = ShownModel(data.medium, reader)
    found = exchanges_of(data.medium, Meter(model), oracle_of("flip"), data.domain, data.rows)
    return not doubt_about(found, 0.95)


def blamed(names: int, seed: int) -> bool:
    """Whether a whole scan or measurement calls a reader unfair that only names move."""
    data = named_letters(names)
    model = ShownModel(data.medium, NameReader(seed))
    scanned = eh.scan(model, data, budget=eh.Budget(candidates=500), seed=seed)
    return "violation" in (scanned.outcome, eh.measure(model, data, seed=seed).outcome)


def main() -> None:
    """Print the table and write the figures."""
    asked = options(__doc__ or "")
    runs, whole = (60, 6) if asked.quick else (400, 100)
    alarms, found = {}, {}
    for names in (4, 8):
        data = named_letters(names)
        for kind, (temper, fickle) in FAIR.items():
            alarms[names, kind] = np.mean([shown(data, NameReader(asked.seed + k, 0.0, temper, fickle)) for k in range(runs)])
            print(f"{names} names a gender, moved by {kind}: {alarms[names, kind]:.1%} of {runs} fair readers would be blamed", flush=True)
        for lean in LEANS:
            found[names, lean] = np.mean([shown(data, NameReader(asked.seed + 10_000 + k, lean)) for k in range(runs)])
            print(f"{names} names a gender, lean {lean:g} standard deviations of a name: {found[names, lean]:.1%} found", flush=True)
    blame = np.mean([blamed(8, asked.seed + 20_000 + k) for k in range(whole)])
    print(f"whole scans and measurements: {blame:.1%} of {whole} fair readers blamed")
    write_figures(
        {
            "text_false_alarm_max": float(max(alarms.values())),
            "text_false_alarm_whole": float(blame),
            "text_power_lean_2_names_8": float(found[8, 2.0]),
            "text_power_lean_4_names_4": float(found[4, 4.0]),
        },
        asked.json,
    )


if __name__ == "__main__":
    main()
