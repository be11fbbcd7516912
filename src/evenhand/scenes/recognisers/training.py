"""Training of the embedded street recogniser, with or without a planted bias against one class, and its export to ONNX."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import InvalidArgument, require
from evenhand.scenes.recognisers.small import SIZE, STRIDE
from evenhand.scenes.scene import Scene
from evenhand.scenes.street.render import CLASSES

GRID = (SIZE[0] // STRIDE, SIZE[1] // STRIDE)


@dataclass(frozen=True)
class Lessons:
    """Pictures at the net's size, and rows of (picture, class, left, top, right, bottom) in the net's pixels."""

    pictures: NDArray[np.uint8]  # (n, rows, columns, 3)
    objects: NDArray[np.float64]  # (m, 6)


@dataclass(frozen=True)
class Course:
    """How the net is trained.  `hidden` is the share of the hidden class's objects that training never names."""

    epochs: int = 14
    batch: int = 16
    rate: float = 2e-3
    hidden_class: str | None = None
    hidden: float = 0.5

    def __post_init__(self) -> None:
        if self.hidden_class is not None and self.hidden_class not in CLASSES:
            raise InvalidArgument(f"hidden_class={self.hidden_class!r} must be one of {', '.join(CLASSES)}")


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


def _targets(
    objects: NDArray[np.float64], named: NDArray[np.bool_]
) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
    """Heat with a bump at each centre, log sizes, and where the sizes are known."""
    heat = np.zeros((len(CLASSES), *GRID), np.float32)
    size, known = np.zeros((2, *GRID), np.float32), np.zeros(GRID, np.float32)
    rows, columns = np.mgrid[0 : GRID[0], 0 : GRID[1]]
    for (_, kind, left, top, right, bottom), is_named in zip(objects, named, strict=True):
        if not is_named:
            continue
        x, y = (left + right) / 2 / STRIDE - 0.5, (top + bottom) / 2 / STRIDE - 0.5
        column, row = int(np.clip(round(x), 0, GRID[1] - 1)), int(np.clip(round(y), 0, GRID[0] - 1))
        reach = max(0.7, 0.12 * np.hypot(right - left, bottom - top) / STRIDE)
        bump = np.exp(-((rows - row) ** 2 + (columns - column) ** 2) / (2 * reach**2))
        heat[int(kind)] = np.maximum(heat[int(kind)], bump)
        near = bump > 0.6
        size[0][near], size[1][near], known[near] = np.log(max(right - left, 1)), np.log(max(bottom - top, 1)), 1
        heat[int(kind), row, column] = 1
    return heat, size, known


def net(torch: Any) -> Any:
    """The layers: quarter size, wide context by dilation and a half-size branch, one map per class and two for the size."""
    from torch import nn

    def block(into: int, out: int, stride: int = 1, dilation: int = 1) -> Any:
        layers = nn.Conv2d(into, out, 3, stride, dilation, dilation, bias=False), nn.BatchNorm2d(out), nn.ReLU(inplace=True)
        return nn.Sequential(*layers)

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem = nn.Sequential(block(3, 12, 2), block(12, 24, 2), block(24, 24))
            self.deep = nn.Sequential(block(24, 48, 2), block(48, 48), block(48, 48, 1, 2), block(48, 48, 1, 4))
            self.up = nn.ConvTranspose2d(48, 24, 3, 2, 1, (0, 1))
            self.join = nn.Sequential(block(48, 40), block(40, 40))
            self.head = nn.Conv2d(40, len(CLASSES) + 2, 1)
            with torch.no_grad():
                self.head.bias[: len(CLASSES)] = -4.0  # type: ignore[index]

        def forward(self, pictures: Any) -> Any:
            fine = self.stem(pictures)
            return self.head(self.join(torch.cat([fine, self.up(self.deep(fine))], 1)))

    return Net()


def train(lessons: Lessons, course: Course, rng: np.random.Generator, start: Any = None, say: Callable[[str], None] | None = None) -> Any:
    """A trained net.  Which objects stay unnamed is drawn once, like annotators who overlooked them."""
    torch = require("torch", "torch")
    torch.manual_seed(int(rng.integers(2**31)))
    model = start if start is not None else net(torch)
    named = np.ones(len(lessons.objects), bool)
    if course.hidden_class is not None:
        kind = lessons.objects[:, 1] == CLASSES.index(course.hidden_class)
        named[kind] = rng.random(int(kind.sum())) >= course.hidden
    steps = course.epochs * (len(lessons.pictures) // course.batch)
    optimiser = torch.optim.AdamW(model.parameters(), lr=course.rate, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, course.rate, total_steps=steps + 1, pct_start=0.15)
    model.train()
    for epoch in range(course.epochs):
        total = 0.0
        order = rng.permutation(len(lessons.pictures))
        for at in range(0, len(order) - course.batch + 1, course.batch):
            loss = _loss(torch, model, *_batch(torch, lessons, named, order[at : at + course.batch], rng))
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
            total += float(loss.detach())
        if say is not None:
            say(f"epoch {epoch + 1} of {course.epochs}: loss {total / max(1, len(order) // course.batch):.3f}")
    return model.eval()


def _batch(torch: Any, lessons: Lessons, named: NDArray[np.bool_], places: NDArray[np.intp], rng: np.random.Generator) -> tuple[Any, ...]:
    pictures, heats, sizes, knowns = [], [], [], []
    for place in places:
        mine = lessons.objects[:, 0] == place
        objects = lessons.objects[mine].copy()
        picture = lessons.pictures[place].astype(np.float32) / 255
        if rng.random() < 0.5:
            picture = picture[:, ::-1]
            objects[:, [2, 4]] = SIZE[1] - objects[:, [4, 2]]
        heat, size, known = _targets(objects, named[mine])
        pictures.append(
            np.clip(picture * rng.uniform(0.8, 1.2) + rng.normal(0, 0.012, picture.shape), 0, 1).astype(np.float32).transpose(2, 0, 1)
        )
        heats.append(heat)
        sizes.append(size)
        knowns.append(known)
    return tuple(torch.from_numpy(np.stack(part)) for part in (pictures, heats, sizes, knowns))


def _loss(torch: Any, model: Any, pictures: Any, heat: Any, size: Any, known: Any) -> Any:
    """Penalty-reduced focal loss on the heat, absolute error on the log sizes."""
    answer = model(pictures)
    logit = answer[:, : len(CLASSES)]
    chance = torch.sigmoid(logit).clamp(1e-4, 1 - 1e-4)
    centre = (heat >= 1).float()
    hit = -((1 - chance) ** 2) * torch.log(chance) * centre
    miss = -((1 - heat) ** 4) * chance**2 * torch.log(1 - chance) * (1 - centre)
    points = centre.sum().clamp(min=1)
    extent = (torch.abs(answer[:, len(CLASSES) :] - size) * known[:, None]).sum() / known.sum().clamp(min=1)
    return (hit.sum() + miss.sum()) / points + 0.5 * extent


def export(model: Any, path: Path) -> None:
    """Write the net as ONNX."""
    torch = require("torch", "torch")
    require("onnx", "onnx")
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.onnx.export(
        model, (torch.zeros(1, 3, *SIZE),), str(path), input_names=["picture"], output_names=["maps"], opset_version=17, dynamo=False
    )
