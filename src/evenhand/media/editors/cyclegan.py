"""CycleGAN: a translator between the two sides of an attribute, learned from unpaired pictures.

Papers: P. Zhang et al., DeepFAIT, 2021, Eqs. 2 to 5 with gamma 5 and eta 10; J.-Y. Zhu et al., "Unpaired Image-to-Image Translation Using
Cycle-Consistent Adversarial Networks", ICCV 2017.

Departures: Eq. 4 lacks "- X", cycle consistency here compares with the original; the translator's adversarial loss is the form that
does not saturate.  `identity="source"` is Eq. 3 as printed (the translation stays near its source); `identity="target"` is CycleGAN's own
(a picture that already is on the target side stays as it is).  `PUBLISHED_NETWORKS` are the networks, the pool of older translations and
the decaying rate of the second paper; small ones learn in a minute.  Imported only by code that has torch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from evenhand.arrays import Index
from evenhand.contract import EditorTools, Headway, PictureModel, Pictures, Watch
from evenhand.disk import whole_file, write_whole
from evenhand.errors import DataError, InvalidArgument, StoreError, UnknownName
from evenhand.limits import Count, Positive, WholeNumber, check_limits
from evenhand.media.album import Album, as_bytes
from evenhand.media.editors.parts.cyclegan_nets import PicturePool, Quartet, discerned, fooled
from evenhand.media.picture_tensors import to_pictures, to_tensor
from evenhand.media.png import sheet, write_png
from evenhand.values import tell_watcher


@dataclass(frozen=True)
class CycleSettings:
    """The paper's weights, and how long to learn.

    within: another attribute; the pictures of one step then share one value of it, as DeepFAIT trains a translator of race on pictures
    of one gender at a time.  network: `small`, or `published`.  pool: older translations that critics are shown.  decay: whether the rate
    falls to 0 over the second half.
    """

    gamma: float = 5.0
    eta: float = 10.0
    identity: Literal["source", "target"] = "source"
    steps: Count = 1500
    batch: Count = 16
    width: Count = 16
    rate: Positive = 4e-4
    checkpoint_every: Count = 250
    within: str = ""
    network: Literal["small", "published"] = "small"
    pool: WholeNumber = 0
    decay: bool = False

    def __post_init__(self) -> None:
        check_limits(self)
        if self.identity not in ("source", "target"):
            raise InvalidArgument(f"identity={self.identity!r} must be 'source' or 'target'")
        if self.network not in ("small", "published"):
            raise InvalidArgument(f"network={self.network!r} must be 'small' or 'published'")


@dataclass(frozen=True, eq=False)
class CycleGan:
    """A trained pair of translators as an editor."""

    attribute: str
    quartet: Quartet
    device: str = "cpu"
    sides: tuple[str, ...] = ()  # the values that it translates between, in the order of its training; empty where nobody said
    size: int = 0  # the side of the pictures that it learnt from, in pixels
    confirmed: tuple[Confirmation, ...] = ()  # what an independent reader said while it learnt

    learns: ClassVar[bool] = True
    takes_settings: ClassVar[bool] = True

    @classmethod
    def made(cls, album: Album, attribute: str, tools: EditorTools) -> CycleGan:
        """The translators that the tools' folder keeps, else new ones, learned from the album and kept there.

        A training that was interrupted is finished first, and one that is to have more steps goes on: half-trained translators are no
        editor.  Kept ones that learnt otherwise than the settings say are refused.
        """
        workshop = TranslatorWorkshop(tools.folder, reader=tools.reader)
        if tools.folder is not None and (tools.folder / "checkpoint.pt").exists():
            kept = load_cyclegan(tools.folder)
            if kept.attribute != attribute:
                raise StoreError(
                    f"{tools.folder} translates {kept.attribute!r}, not {attribute!r}; move or remove the folder to learn again"
                )
            if (unfinished := _unfinished(tools.folder, tools.settings)) is None:
                return kept.turned_for(album)
            return train_cyclegan(album, attribute, tools.rng, unfinished, replace(workshop, resume=True)).turned_for(album)
        return train_cyclegan(album, attribute, tools.rng, chosen_settings(tools.settings, album, attribute), workshop)

    def turned_for(self, album: Album) -> CycleGan:
        """The editor for an album whose values may stand in the other order; refuses other values, and pictures of another size."""
        values, size = album.attribute(self.attribute).values, album.pictures.shape[1]
        if set(values) != set(self.sides) or size != self.size:
            raise StoreError(
                f"the kept CycleGAN translates {' and '.join(self.sides)} in pictures of {self.size} pixels, and the album has "
                f"{' and '.join(values)} in pictures of {size}; move or remove its folder to learn again"
            )
        if values == self.sides:
            return self
        turned = deepcopy(self.quartet)  # a shallow copy would share its networks with this one
        turned.forwards, turned.backwards = turned.backwards, turned.forwards
        return replace(self, quartet=turned, sides=values)

    @property
    def flip(self) -> str:
        """Learned: likely to change more than the attribute."""
        return "learned translation (CycleGAN)"

    def twins(self, album: Album) -> Pictures:
        """Every picture translated to the other side of the attribute."""
        codes = album.sides(self.attribute)
        twins = album.pictures.copy()  # where the attribute is unknown, the twin is the picture itself
        at_once = max(1, PIXELS_AT_ONCE // (album.pictures.shape[1] * album.pictures.shape[2]))
        for side, translator in ((0, self.quartet.forwards), (1, self.quartet.backwards)):
            chosen = np.flatnonzero(codes == side)
            for start in range(0, len(chosen), at_once):
                part = chosen[start : start + at_once]
                with torch.inference_mode():
                    twins[part] = as_bytes(_picture(translator(_value(album.pictures[part], self.device))))
        return twins


@dataclass(frozen=True)
class Confirmation:
    """After so many steps: of held-out pictures that a reader reads rightly, the share whose translation it reads as the other value."""

    step: int
    share: float
    pictures: int


def chosen_settings(given: Mapping[str, Any], album: Album, attribute: str) -> CycleSettings:
    """The small networks, or the published ones, with what the user sets; steps are of one gender, or race, by default.

    The published networks learn for 200 times as many steps as there are pictures of the larger side, unless steps are given.
    """
    known = {each.name for each in fields(CycleSettings)}
    for name in given:
        if name not in known:
            raise UnknownName("setting of the CycleGAN", name, known)
    start = AS_PUBLISHED
    if given.get("network") == "published":
        largest = int(np.bincount(album.sides(attribute)[album.sides(attribute) >= 0]).max())
        start = replace(PUBLISHED_NETWORKS, steps=PUBLISHED_EPOCHS * largest)
    settings = replace(start, **given)
    return settings if "within" in given else replace(settings, within=_kept_alike(album, attribute, settings.batch))


GENDERS, RACES = ("gender", "gender_cue", "sex", "male"), ("race", "ethnicity", "tone", "skin_tone")
"""What albums call them."""


def _kept_alike(album: Album, attribute: str, batch: int = 16) -> str:
    """As DeepFAIT does: the gender where another attribute is translated, else the race; empty where it is not known of enough pictures."""
    sides = album.sides(attribute)
    wanted = RACES if attribute.lower() in GENDERS else GENDERS
    for name, other in album.attributes.items():
        if name.lower() not in wanted or name == attribute:
            continue
        counts = [int(((sides == side) & (other.codes == code)).sum()) for side in (0, 1) for code in range(len(other.values))]
        if min(counts) >= batch:
            return name
    return ""


def _value(pictures: Pictures, device: str) -> Tensor:
    return to_tensor(pictures, device) / 127.5 - 1.0


def _picture(values: Tensor) -> NDArray[np.float32]:
    return to_pictures((values + 1.0) * 127.5)


@dataclass(frozen=True)
class LessonPictures:
    """What a training learns from: the two values in their order, and the side of the pictures."""

    sides: tuple[str, ...]
    size: int


class TranslatorLesson:
    """One training in progress: networks, optimisers, the step reached.  Can be saved and continued."""

    def __init__(self, attribute: str, settings: CycleSettings, device: str, about: LessonPictures) -> None:
        self.attribute, self.settings, self.device, self.step, self.about = attribute, settings, device, 0, about
        self.quartet = Quartet(settings.width, settings.network == "published").to(device)
        self.pools = PicturePool(settings.pool), PicturePool(settings.pool)
        self.quartet.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.translating = torch.optim.Adam(self.quartet.translators(), lr=settings.rate, betas=(0.5, 0.999))
        self.judging = torch.optim.Adam(self.quartet.critics(), lr=settings.rate, betas=(0.5, 0.999))
        self.losses: dict[str, float] = {}
        self.confirmed: list[Confirmation] = []

    def advance(self, first: Tensor, second: Tensor) -> None:
        """One step of both translators, then of both critics."""
        net, settings = self.quartet, self.settings
        self._slow_down()
        as_second, as_first = net.forwards(first), net.backwards(second)
        adversarial = fooled(net.critic_of_second(as_second)) + fooled(net.critic_of_first(as_first))
        cycle = (net.backwards(as_second) - first).abs().mean() + (net.forwards(as_first) - second).abs().mean()
        if settings.identity == "source":
            identity = (as_second - first).abs().mean() + (as_first - second).abs().mean()
        else:
            identity = (net.forwards(second) - second).abs().mean() + (net.backwards(first) - first).abs().mean()
        _descend(self.translating, adversarial + settings.gamma * identity + settings.eta * cycle)
        real_second, real_first = net.critic_of_second(second), net.critic_of_first(first)
        old_second, old_first = (pool.exchanged(drawn.detach()) for pool, drawn in zip(self.pools, (as_second, as_first), strict=True))
        judged = discerned(real_second, net.critic_of_second(old_second)) + discerned(real_first, net.critic_of_first(old_first))
        _descend(self.judging, judged)
        self.step += 1
        told = {"adversarial": adversarial, "identity": identity, "cycle": cycle, "critic": judged}
        self.losses = {name: float(loss.detach()) for name, loss in told.items()}

    def _slow_down(self) -> None:
        """The rate falls to 0 over the second half, where it is to decay."""
        if not self.settings.decay:
            return
        left = min(1.0, 2.0 * (1.0 - self.step / self.settings.steps))
        for group in (*self.translating.param_groups, *self.judging.param_groups):
            group["lr"] = self.settings.rate * left

    def save(self, folder: Path) -> None:
        """Write everything that continuing needs."""
        state = {"quartet": self.quartet.state_dict(), "translating": self.translating.state_dict(), "judging": self.judging.state_dict()}
        about = {"step": self.step, "attribute": self.attribute, "settings": asdict(self.settings), **asdict(self.about)}
        about |= {"pools": [pool.kept for pool in self.pools], "confirmed": [asdict(each) for each in self.confirmed]}
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
        same &= (tuple(saved["sides"]), saved["size"]) == (self.about.sides, self.about.size)
        if saved["attribute"] != self.attribute or not same:
            raise StoreError(f"{folder}: the checkpoint is of {saved['attribute']!r} with settings {saved['settings']}; use another folder")
        for name in ("quartet", "translating", "judging"):
            _take_in(getattr(self, name), saved[name], folder)
        for pool, kept in zip(self.pools, saved["pools"], strict=True):
            pool.kept[:] = kept
        self.step, self.confirmed = int(saved["step"]), [Confirmation(**each) for each in saved["confirmed"]]


CHECKPOINT_PARTS = {"quartet", "translating", "judging", "step", "attribute", "settings", "sides", "size", "pools", "confirmed"}


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


def _take_in(part: Any, state: Any, folder: Path) -> None:
    """Load what a network or an optimiser had learnt."""
    try:
        part.load_state_dict(state)
    except (RuntimeError, ValueError, TypeError, KeyError) as fault:
        file = folder / "checkpoint.pt"
        raise StoreError(f"{file} does not fit the networks that it names: {first_words(fault)}; remove it to begin again") from fault


def _unfinished(folder: Path, given: Mapping[str, Any]) -> CycleSettings | None:
    """The settings of a saved training that has steps left, by its own count or by what the user sets now; None where it was finished."""
    saved = _read_checkpoint(folder)
    learnt = CycleSettings(**saved["settings"])
    for name, value in given.items():
        if name not in GOING_ON and getattr(learnt, name, None) != value:
            raise StoreError(
                f"{folder} keeps a CycleGAN that learnt with {name}={getattr(learnt, name, None)!r}, and editor_settings say {value!r}; "
                "remove the folder to learn again"
            )
    settings = replace(learnt, **{name: given[name] for name in GOING_ON if name in given})
    return settings if int(saved["step"]) < settings.steps else None


GOING_ON = ("steps", "checkpoint_every")
"""What may change between two parts of one training."""


def first_words(fault: BaseException) -> str:
    """What a library says, in one line."""
    return " ".join(str(fault).split())[:200] or type(fault).__name__


def _descend(optimiser: torch.optim.Optimizer, loss: Tensor) -> None:
    optimiser.zero_grad(set_to_none=True)
    loss.backward()  # type: ignore[no-untyped-call]
    optimiser.step()


@dataclass(frozen=True)
class TranslatorWorkshop:
    """Where a training keeps its checkpoints and sample sheets, and who hears of its progress.

    reader: trains an independent classifier of the attribute.  With one, a tenth of the pictures is held out, and at every checkpoint
    the share of their translations that it confirms is measured, kept, and written to `confirmed.csv`.
    """

    folder: Path | None = None
    resume: bool = False
    watch: Watch | None = None
    reader: Callable[[Album, str, np.random.Generator], PictureModel] | None = None


AS_PUBLISHED = CycleSettings()
PUBLISHED_NETWORKS = CycleSettings(network="published", width=64, batch=1, rate=2e-4, pool=50, decay=True, identity="target")
"""The networks, pool and decay of CycleGAN as published; for a graphics card."""
PUBLISHED_EPOCHS = 200
PIXELS_AT_ONCE = 100 * 64 * 64
"""The published networks hold about a kilobyte for each pixel that is translated."""
HELD_OUT = 10
"""One of so many pictures is held out where translations are confirmed while the networks learn."""
MOST_HELD_OUT = 200
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
    about = LessonPictures(album.attribute(attribute).values, album.pictures.shape[1])
    lesson = TranslatorLesson(attribute, settings, device, about)
    if workshop.resume and workshop.folder:
        lesson.resume(workshop.folder)
    witness = Witness.trained(album, attribute, workshop, rng)
    if witness is not None:
        sides = [np.setdiff1d(side, witness.places) for side in sides]
    _learn(lesson, _kinds(album, sides, settings), rng, replace(workshop, reader=None), witness)
    return CycleGan(attribute, lesson.quartet, device, about.sides, about.size, tuple(lesson.confirmed))


@dataclass(frozen=True, eq=False)
class Witness:
    """Held-out pictures, and an independent reader of the attribute that has learnt from the others."""

    reader: PictureModel
    pictures: Album
    places: Index

    @classmethod
    def trained(cls, album: Album, attribute: str, workshop: TranslatorWorkshop, rng: np.random.Generator) -> Witness | None:
        """None where nobody trains a reader, or too few pictures are known of both sides."""
        known = np.flatnonzero(album.sides(attribute) >= 0)
        count = min(MOST_HELD_OUT, len(known) // HELD_OUT)
        if workshop.reader is None or count < 1:
            return None
        held = np.sort(rng.permutation(known)[:count])
        rest = album[np.setdiff1d(known, held)]
        return cls(workshop.reader(rest, attribute, rng), album[held], held)

    def says(self, lesson: TranslatorLesson) -> Confirmation:
        """What it reads in the translations of the networks as they are."""
        editor = CycleGan(lesson.attribute, lesson.quartet, lesson.device)
        codes = self.pictures.sides(lesson.attribute)
        right = self.reader.scores(self.pictures.pictures).argmax(axis=1) == codes
        turned = self.reader.scores(editor.twins(self.pictures)).argmax(axis=1) == 1 - codes
        share = float(turned[right].mean()) if right.any() else float("nan")
        return Confirmation(lesson.step, share, int(right.sum()))


def _kinds(album: Album, sides: list[Index], settings: CycleSettings) -> list[list[Pictures]]:
    """Both sides of every kind of picture that a step may be made of: all of them, or those of one value of another attribute."""
    if not settings.within:
        return [[album.pictures[side] for side in sides]]
    codes = album.attribute(settings.within).codes
    kinds = [[side[codes[side] == code] for side in sides] for code in range(len(album.attribute(settings.within).values))]
    both = [kind for kind in kinds if min(len(side) for side in kind) >= settings.batch]
    if not both:
        raise DataError(f"no value of {settings.within!r} has {settings.batch} pictures of both sides; choose another, or a smaller batch")
    return [[album.pictures[side] for side in kind] for kind in both]


def _learn(
    lesson: TranslatorLesson,
    kinds: list[list[Pictures]],
    rng: np.random.Generator,
    workshop: TranslatorWorkshop,
    witness: Witness | None = None,
) -> None:
    settings, sides = lesson.settings, kinds[0]
    while lesson.step < settings.steps:
        kind = kinds[int(rng.integers(len(kinds)))] if len(kinds) > 1 else sides
        lesson.advance(*(_value(side[rng.integers(len(side), size=settings.batch)], lesson.device) for side in kind))
        told = Headway("cyclegan", lesson.step, settings.steps)
        workshop.watch(told) if workshop.watch else tell_watcher("learning an editor", told.done, told.total)
        if lesson.step % settings.checkpoint_every and lesson.step != settings.steps:
            continue
        if witness is not None:
            lesson.confirmed.append(witness.says(lesson))
        if workshop.folder:
            lesson.save(workshop.folder)
            _write_confirmed(lesson.confirmed, workshop.folder)
            write_samples(lesson, sides, workshop.folder / f"samples_{lesson.step:06d}.png")


def _write_confirmed(confirmed: Sequence[Confirmation], folder: Path) -> None:
    """A line for every checkpoint."""
    if confirmed:
        lines = ["step,confirmed_share,pictures", *(f"{each.step},{each.share:.4f},{each.pictures}" for each in confirmed)]
        write_whole(folder / "confirmed.csv", "\n".join(lines) + "\n")


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
    quartet = Quartet(int(saved["settings"]["width"]), saved["settings"]["network"] == "published")
    _take_in(quartet, saved["quartet"], folder)
    confirmed = tuple(Confirmation(**each) for each in saved["confirmed"])
    return CycleGan(str(saved["attribute"]), quartet.to(device), device, tuple(saved["sides"]), int(saved["size"]), confirmed)
