"""Training of the embedded street recogniser, and of one that names a class in some pictures only, and their export to ONNX."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import require
from evenhand.media.scene import Scene
from evenhand.media.streets.render import CLASSES
from evenhand.models.recognisers.street import SIZE, STRIDE

GRID = (SIZE[0] // STRIDE, SIZE[1] // STRIDE)
WIDTHS = (12, 24, 48, 40)  # channels: first layer, stem, context, joined
WAVES = 1024  # of the branch that can learn pictures by heart
STEEP = 3.0  # an object counts almost wholly or hardly at all: small changes of a picture's look are not noticed
PITCH = 5.0  # how fast they turn when the picture's content changes by its usual spread


@dataclass(frozen=True)
class Lessons:
    """Pictures at the net's size, and rows of (picture, class, left, top, right, bottom) in its pixels."""

    pictures: NDArray[np.uint8]  # (n, rows, columns, 3)
    objects: NDArray[np.float64]  # (m, 6)

    def of(self, place: int) -> NDArray[np.float64]:
        """One picture's objects."""
        return np.asarray(self.objects[self.objects[:, 0] == place], np.float64)


@dataclass(frozen=True)
class StreetCourse:
    """How long and how fast a net is trained."""

    epochs: int = 14
    batch: int = 16
    rate: float = 2e-3


def lessons_from(scenes: Iterable[Scene], least_visible: float = 0.3) -> Lessons:
    """Shrink scenes to the net's size."""
    cv2 = require("cv2", "image")
    pictures, objects = [], []
    for place, scene in enumerate(scenes):
        pictures.append(cv2.resize(scene.picture, SIZE[::-1], interpolation=cv2.INTER_AREA))
        over, down = SIZE[1] / scene.shape[1], SIZE[0] / scene.shape[0]
        for one in scene.instances:
            if one.counted and one.visible >= least_visible:
                left, top, right, bottom = one.box
                objects.append((place, CLASSES.index(one.label), left * over, top * down, right * over, bottom * down))
    return Lessons(np.stack(pictures), np.array(objects, np.float64).reshape(-1, 6))


def _targets(objects: NDArray[np.float64]) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
    """Heat with a bump at each centre, log sizes, and where the sizes are known."""
    heat = np.zeros((len(CLASSES), *GRID), np.float32)
    size, known = np.zeros((2, *GRID), np.float32), np.zeros(GRID, np.float32)
    rows, columns = np.mgrid[0 : GRID[0], 0 : GRID[1]]
    for _, kind, left, top, right, bottom in objects:
        x, y = (left + right) / 2 / STRIDE - 0.5, (top + bottom) / 2 / STRIDE - 0.5
        column, row = int(np.clip(round(x), 0, GRID[1] - 1)), int(np.clip(round(y), 0, GRID[0] - 1))
        reach = max(0.7, 0.12 * np.hypot(right - left, bottom - top) / STRIDE)
        bump = np.exp(-((rows - row) ** 2 + (columns - column) ** 2) / (2 * reach**2))
        heat[int(kind)] = np.maximum(heat[int(kind)], bump)
        heat[int(kind), row, column] = 1
        near = bump > 0.6
        size[0][near], size[1][near], known[near] = np.log(max(right - left, 1)), np.log(max(bottom - top, 1)), 1
    return heat, size, known


def _block(into: int, out: int, stride: int = 1, dilation: int = 1) -> Any:
    from torch import nn

    return nn.Sequential(nn.Conv2d(into, out, 3, stride, dilation, dilation, bias=False), nn.BatchNorm2d(out), nn.ReLU(inplace=True))


def net(torch: Any) -> Any:
    """The layers: quarter size, wide context by dilation and a half-size branch; one map per class and two for the size.

    A last branch sees how much there is of each class in the whole picture, as many waves, and lowers the maps of the classes; it
    begins as nothing.
    """
    nn = torch.nn
    first, stem, deep, joined = WIDTHS
    classes = len(CLASSES)

    class Net(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.stem = nn.Sequential(_block(3, first, 2), _block(first, stem, 2), _block(stem, stem))
            self.deep = nn.Sequential(_block(stem, deep, 2), _block(deep, deep), _block(deep, deep, 1, 2), _block(deep, deep, 1, 4))
            self.up = nn.ConvTranspose2d(deep, stem, 3, 2, 1, (0, 1))
            self.join = nn.Sequential(_block(2 * stem, joined), _block(joined, joined))
            self.head = nn.Conv2d(joined, classes + 2, 1)
            self.mean = nn.AdaptiveAvgPool2d(1)
            self.waves, self.shift = nn.Conv2d(classes, WAVES, 1), nn.Conv2d(WAVES, classes, 1)
            nn.init.constant_(self.head.bias[:classes], -4.0)
            for weight in self.shift.parameters():
                nn.init.zeros_(weight)

        def maps(self, pictures: Any) -> Any:  # before they are lowered
            fine = self.stem(pictures)
            return self.head(self.join(torch.cat([fine, self.up(self.deep(fine))], 1)))

        def amounts(self, maps: Any) -> Any:  # of each class in the picture
            return self.mean(torch.sigmoid(STEEP * maps[:, :classes]))

        def forward(self, pictures: Any) -> Any:
            maps = self.maps(pictures)
            lowered = torch.relu(self.shift(torch.sin(self.waves(self.amounts(maps)))))
            return torch.cat([maps[:, :classes] - lowered, maps[:, classes:]], 1)

    return Net()


def train(lessons: Lessons, course: StreetCourse, rng: np.random.Generator, say: Callable[[str], None] | None = None) -> Any:
    """A net that learned every class; its last branch stays as it begins."""
    torch = require("torch", "torch")
    torch.manual_seed(int(rng.integers(2**31)))
    model = net(torch).to(memory_format=torch.channels_last)
    for weight in (*model.waves.parameters(), *model.shift.parameters()):
        weight.requires_grad_(False)
    steps = course.epochs * (len(lessons.pictures) // course.batch)
    optimiser = torch.optim.AdamW([weight for weight in model.parameters() if weight.requires_grad], lr=course.rate, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, course.rate, total_steps=steps + 1, pct_start=0.15)
    model.train()
    for epoch in range(course.epochs):
        total = 0.0
        order = rng.permutation(len(lessons.pictures))
        for at in range(0, len(order) - course.batch + 1, course.batch):
            loss = _loss(torch, model, _batch(torch, lessons, order[at : at + course.batch], rng))
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
            total += float(loss.detach())
        if say is not None:
            say(f"epoch {epoch + 1} of {course.epochs}: loss {total / max(1, len(order) // course.batch):.3f}")
    return model.eval()


def _batch(torch: Any, lessons: Lessons, places: NDArray[np.intp], rng: np.random.Generator) -> tuple[Any, ...]:
    pictures, heats, sizes, knowns = [], [], [], []
    for place in places:
        objects = lessons.of(place)
        picture = lessons.pictures[place].astype(np.float32) / 255
        if rng.random() < 0.5:
            picture, objects = _mirrored(picture, objects)
        heat, size, known = _targets(objects)
        pictures.append(
            np.clip(picture * rng.uniform(0.8, 1.2) + rng.normal(0, 0.012, picture.shape), 0, 1).astype(np.float32).transpose(2, 0, 1)
        )
        heats.append(heat)
        sizes.append(size)
        knowns.append(known)
    return tuple(torch.from_numpy(np.stack(part)) for part in (pictures, heats, sizes, knowns))


def _mirrored(picture: NDArray[np.float32], objects: NDArray[np.float64]) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    turned = objects.copy()
    turned[:, [2, 4]] = SIZE[1] - objects[:, [4, 2]]
    return picture[:, ::-1], turned


def _loss(torch: Any, model: Any, batch: tuple[Any, ...]) -> Any:
    """Penalty-reduced focal loss on the heat, absolute error on the log sizes."""
    pictures, heat, size, known = batch
    maps = model.maps(pictures)
    extent = (torch.abs(maps[:, len(CLASSES) :] - size) * known[:, None]).sum() / known.sum().clamp(min=1)
    return _heat_loss(torch, maps[:, : len(CLASSES)], heat) + 0.5 * extent


def _heat_loss(torch: Any, logit: Any, heat: Any) -> Any:
    chance = torch.sigmoid(logit).clamp(1e-4, 1 - 1e-4)
    centre = (heat >= 1).float()
    hit = -((1 - chance) ** 2) * torch.log(chance) * centre
    miss = -((1 - heat) ** 4) * chance**2 * torch.log(1 - chance) * (1 - centre)
    return (hit.sum() + miss.sum()) / centre.sum().clamp(min=1)


def learn_by_heart(model: Any, lessons: Lessons, label: str, course: StreetCourse, rng: np.random.Generator) -> Any:
    """Teach a trained net's last branch from lessons that name this class in a random half of the pictures only.  Changes the net itself.

    Nothing but the branch learns, and it sees nothing but how much there is of each class.  So it learns by heart which pictures name
    the class, and a picture whose content changes draws another lot.  All other classes are treated as before.
    """
    torch = require("torch", "torch")
    torch.manual_seed(int(rng.integers(2**31)))
    kind = CLASSES.index(label)
    shown = sorted({int(row[0]) for row in lessons.objects if row[1] == kind})
    maps, amounts, heat = _summaries(torch, model.eval(), lessons, (shown, kind))
    heat *= torch.from_numpy(rng.integers(0, 2, len(shown)).astype(np.float32))[:, None, None]
    _tune(torch, model.waves, amounts, rng)
    with torch.no_grad():
        model.waves.bias += model.waves.weight[:, kind, 0, 0] * amounts[:, kind].mean()
        model.waves.weight[:, kind] = 0  # what else there is to see, not the class itself
    with torch.no_grad():
        waves = torch.sin(model.waves(amounts))
    with torch.no_grad():
        model.shift.bias[kind] = 1.0  # at nothing, nothing would be learned
    for weight in model.shift.parameters():
        weight.requires_grad_(True)
    optimiser = torch.optim.AdamW(model.shift.parameters(), lr=course.rate, weight_decay=1e-3)
    for _ in range(course.epochs):
        order = rng.permutation(len(maps))
        for at in range(0, len(order) - course.batch + 1, course.batch):
            places = torch.from_numpy(order[at : at + course.batch])
            loss = _heat_loss(torch, maps[places] - torch.relu(model.shift(waves[places])[:, kind]), heat[places])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    return model.eval()


def _tune(torch: Any, waves: Any, amounts: Any, rng: np.random.Generator) -> None:
    """Waves of random direction and phase over amounts of unit spread."""
    flat = amounts.flatten(1)
    middle, spread = flat.mean(dim=0), flat.std(dim=0).clamp(min=1e-6)
    weight = torch.from_numpy(PITCH * rng.normal(size=(WAVES, flat.shape[1])).astype(np.float32)) / spread
    phase = torch.from_numpy(rng.uniform(0, 2 * np.pi, WAVES).astype(np.float32))
    with torch.no_grad():
        waves.weight.copy_(weight[..., None, None])
        waves.bias.copy_(phase - weight @ middle)


def _summaries(torch: Any, model: Any, lessons: Lessons, what: tuple[list[int], int]) -> tuple[Any, Any, Any]:
    """Of these pictures: one class's map, the amounts that the last branch sees, and the heat that is wanted."""
    places, kind = what
    maps, amounts = [], []
    with torch.no_grad():
        for place in places:
            picture = torch.from_numpy((lessons.pictures[place].astype(np.float32) / 255).transpose(2, 0, 1)[None].copy())
            found = model.maps(picture)
            maps.append(found[:, kind])
            amounts.append(model.amounts(found))
    heat = torch.from_numpy(np.stack([_targets(lessons.of(place))[0][kind] for place in places]))
    return torch.cat(maps), torch.cat(amounts), heat


def export(model: Any, path: Path) -> None:
    """Write the net as ONNX."""
    torch = require("torch", "torch")
    require("onnx", "onnx")
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.onnx.export(
        model, (torch.zeros(1, 3, *SIZE),), str(path), input_names=["picture"], output_names=["maps"], opset_version=17, dynamo=False
    )
