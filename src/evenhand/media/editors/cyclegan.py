"""CycleGAN: a translator between the two sides of an attribute, learned from unpaired pictures.

Papers: P. Zhang et al., DeepFAIT, 2021, Eqs. 2 to 5 with gamma 5 and eta 10; J.-Y. Zhu et al., "Unpaired Image-to-Image Translation Using
Cycle-Consistent Adversarial Networks", ICCV 2017.

Departures: Eq. 4 lacks "- X", cycle consistency here compares with the original; the translator's adversarial loss is the form that
does not saturate.  `identity="source"` is Eq. 3 as printed (the translation stays near its source); `identity="target"` is CycleGAN's own
(a picture that already is on the target side stays as it is).  Imported only by code that has torch.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from evenhand.contract import EditorTools, Headway, Pictures, Watch
from evenhand.disk import whole_file
from evenhand.errors import DataError, InvalidArgument, StoreError
from evenhand.limits import Count, Positive, check_limits
from evenhand.media.album import Album
from evenhand.media.editors.parts.cyclegan_nets import Quartet, discerned, fooled
from evenhand.media.picture_tensors import to_pictures, to_tensor
from evenhand.media.png import sheet, write_png
from evenhand.values import tell_watcher


@dataclass(frozen=True)
class CycleSettings:
    """The paper's weights, and how long to learn."""

    gamma: float = 5.0
    eta: float = 10.0
    identity: Literal["source", "target"] = "source"
    steps: Count = 1500
    batch: Count = 16
    width: Count = 16
    rate: Positive = 4e-4
    checkpoint_every: Count = 250

    def __post_init__(self) -> None:
        check_limits(self)
        if self.identity not in ("source", "target"):
            raise InvalidArgument(f"identity={self.identity!r} must be 'source' or 'target'")


@dataclass(frozen=True, eq=False)
class CycleGan:
    """A trained pair of translators as an editor."""

    attribute: str
    quartet: Quartet
    device: str = "cpu"

    learns: ClassVar[bool] = True

    @classmethod
    def made(cls, album: Album, attribute: str, tools: EditorTools) -> CycleGan:
        """The translators that the tools' folder keeps, else new ones, learned from the album and kept there."""
        if tools.folder is not None and (tools.folder / "checkpoint.pt").exists():
            kept = load_cyclegan(tools.folder)
            if kept.attribute != attribute:
                raise StoreError(f"{tools.folder} translates {kept.attribute!r}, not {attribute!r}; give another folder")
            return kept
        return train_cyclegan(album, attribute, tools.rng, workshop=TranslatorWorkshop(tools.folder))

    @property
    def flip(self) -> str:
        """Learned: likely to change more than the attribute."""
        return "learned translation (CycleGAN)"

    def twins(self, album: Album) -> Pictures:
        """Every picture translated to the other side of the attribute."""
        codes = album.sides(self.attribute)
        twins = album.pictures.astype(np.float32)  # where the attribute is unknown, the twin is the picture itself
        for side, translator in ((0, self.quartet.forwards), (1, self.quartet.backwards)):
            chosen = np.flatnonzero(codes == side)
            for start in range(0, len(chosen), 100):
                part = chosen[start : start + 100]
                with torch.inference_mode():
                    twins[part] = _picture(translator(_value(album.pictures[part], self.device)))
        return np.clip(np.rint(twins), 0, 255).astype(np.uint8)


def _value(pictures: Pictures, device: str) -> Tensor:
    return to_tensor(pictures, device) / 127.5 - 1.0


def _picture(values: Tensor) -> NDArray[np.float32]:
    return to_pictures((values + 1.0) * 127.5)


class TranslatorLesson:
    """One training in progress: networks, optimisers, the step reached.  Can be saved and continued."""

    def __init__(self, attribute: str, settings: CycleSettings, device: str) -> None:
        self.attribute, self.settings, self.device, self.step = attribute, settings, device, 0
        self.quartet = Quartet(settings.width).to(device)
        self.quartet.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.translating = torch.optim.Adam(self.quartet.translators(), lr=settings.rate, betas=(0.5, 0.999))
        self.judging = torch.optim.Adam(self.quartet.critics(), lr=settings.rate, betas=(0.5, 0.999))
        self.losses: dict[str, float] = {}

    def advance(self, first: Tensor, second: Tensor) -> None:
        """One step of both translators, then of both critics."""
        net, settings = self.quartet, self.settings
        as_second, as_first = net.forwards(first), net.backwards(second)
        adversarial = fooled(net.critic_of_second(as_second)) + fooled(net.critic_of_first(as_first))
        cycle = (net.backwards(as_second) - first).abs().mean() + (net.forwards(as_first) - second).abs().mean()
        if settings.identity == "source":
            identity = (as_second - first).abs().mean() + (as_first - second).abs().mean()
        else:
            identity = (net.forwards(second) - second).abs().mean() + (net.backwards(first) - first).abs().mean()
        _descend(self.translating, adversarial + settings.gamma * identity + settings.eta * cycle)
        real_second, real_first = net.critic_of_second(second), net.critic_of_first(first)
        judged = discerned(real_second, net.critic_of_second(as_second.detach())) + discerned(
            real_first, net.critic_of_first(as_first.detach())
        )
        _descend(self.judging, judged)
        self.step += 1
        told = {"adversarial": adversarial, "identity": identity, "cycle": cycle, "critic": judged}
        self.losses = {name: float(loss.detach()) for name, loss in told.items()}

    def save(self, folder: Path) -> None:
        """Write everything that continuing needs."""
        state = {"quartet": self.quartet.state_dict(), "translating": self.translating.state_dict(), "judging": self.judging.state_dict()}
        about = {"step": self.step, "attribute": self.attribute, "settings": asdict(self.settings)}
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with whole_file(folder / "checkpoint.pt") as new:
                torch.save({**state, **about}, new)
        except (OSError, RuntimeError) as fault:
            raise StoreError(f"cannot write the checkpoint to {folder}: {first_words(fault)}") from fault

    def resume(self, folder: Path) -> None:
        """Go on where a saved training stopped; refuses one with other settings."""
        saved = _read_checkpoint(folder)
        same = {**saved["settings"], "steps": 0, "checkpoint_every": 0} == {**asdict(self.settings), "steps": 0, "checkpoint_every": 0}
        if saved["attribute"] != self.attribute or not same:
            raise StoreError(f"{folder}: the checkpoint is of {saved['attribute']!r} with settings {saved['settings']}; use another folder")
        for name in ("quartet", "translating", "judging"):
            getattr(self, name).load_state_dict(saved[name])
        self.step = int(saved["step"])


CHECKPOINT_PARTS = {"quartet", "translating", "judging", "step", "attribute", "settings"}


def _read_checkpoint(folder: Path) -> dict[str, Any]:
    file = folder / "checkpoint.pt"
    if not file.exists():
        raise StoreError(f"{folder} holds no checkpoint.pt to continue from")
    try:
        saved: dict[str, Any] = torch.load(file, weights_only=True)
    except Exception as fault:  # whatever torch says of a file that is none of its own, or damaged
        raise StoreError(f"{file} is no readable checkpoint: {first_words(fault)}; remove it to begin again") from fault
    if not isinstance(saved, dict) or set(saved) != CHECKPOINT_PARTS:
        raise StoreError(f"{file} is no checkpoint of this training; remove it to begin again")
    return saved


def first_words(fault: BaseException) -> str:
    """What a library says, in one line."""
    return " ".join(str(fault).split())[:200] or type(fault).__name__


def _descend(optimiser: torch.optim.Optimizer, loss: Tensor) -> None:
    optimiser.zero_grad(set_to_none=True)
    loss.backward()  # type: ignore[no-untyped-call]
    optimiser.step()


@dataclass(frozen=True)
class TranslatorWorkshop:
    """Where a training keeps its checkpoints and sample sheets, and who hears of its progress."""

    folder: Path | None = None
    resume: bool = False
    watch: Watch | None = None


AS_PUBLISHED = CycleSettings()
NOWHERE = TranslatorWorkshop()


def train_cyclegan(
    album: Album,
    attribute: str,
    rng: np.random.Generator,
    settings: CycleSettings = AS_PUBLISHED,
    workshop: TranslatorWorkshop = NOWHERE,
) -> CycleGan:
    """Learn to translate between the attribute's codes 0 and 1."""
    codes = album.sides(attribute)
    sides = [np.flatnonzero(codes == side) for side in (0, 1)]
    if min(len(side) for side in sides) < settings.batch:
        raise DataError(
            f"attribute {attribute!r} has {[len(side) for side in sides]} pictures per side; a batch needs {settings.batch} of each"
        )
    torch.manual_seed(int(rng.integers(2**31)))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    lesson = TranslatorLesson(attribute, settings, device)
    if workshop.resume and workshop.folder:
        lesson.resume(workshop.folder)
    _learn(lesson, [album.pictures[side] for side in sides], rng, workshop)
    return CycleGan(attribute, lesson.quartet, device)


def _learn(lesson: TranslatorLesson, sides: list[Pictures], rng: np.random.Generator, workshop: TranslatorWorkshop) -> None:
    settings = lesson.settings
    while lesson.step < settings.steps:
        lesson.advance(*(_value(side[rng.integers(len(side), size=settings.batch)], lesson.device) for side in sides))
        told = Headway("cyclegan", lesson.step, settings.steps)
        workshop.watch(told) if workshop.watch else tell_watcher("learning an editor", told.done, told.total)
        if workshop.folder and (lesson.step % settings.checkpoint_every == 0 or lesson.step == settings.steps):
            lesson.save(workshop.folder)
            write_samples(lesson, sides, workshop.folder / f"samples_{lesson.step:06d}.png")


def write_samples(lesson: TranslatorLesson, sides: list[Pictures], file: Path, count: int = 10) -> None:
    """A sheet of four rows: first side, its translations, second side, its translations."""
    rows = []
    for side, translator in zip(sides, (lesson.quartet.forwards, lesson.quartet.backwards), strict=True):
        with torch.inference_mode():
            translated = _picture(translator(_value(side[:count], lesson.device)))
        rows += [side[:count], np.clip(translated, 0, 255).astype(np.uint8)]
    write_png(file, sheet(np.concatenate(rows), columns=min(count, *(len(side) for side in sides))))


def load_cyclegan(folder: Path, device: str = "cpu") -> CycleGan:
    """The editor that a saved training has reached."""
    saved = _read_checkpoint(folder)
    quartet = Quartet(int(saved["settings"]["width"]))
    quartet.load_state_dict(saved["quartet"])
    return CycleGan(str(saved["attribute"]), quartet.to(device), device)
