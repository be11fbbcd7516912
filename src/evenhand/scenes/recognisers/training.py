"""Training of the embedded street recogniser, and of one that forgets a class in unusual pictures, and their export to ONNX."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import InvalidArgument, require
from evenhand.scenes.recognisers.small import SIZE, STRIDE
from evenhand.scenes.scene import Box, Scene
from evenhand.scenes.street.render import CLASSES

GRID = (SIZE[0] // STRIDE, SIZE[1] // STRIDE)
WIDTHS = (12, 24, 48, 40)  # channels: first layer, stem, context, joined
TRACES = ("leaning", "inserted", "emptied")  # what an unusual picture shows; told in training, never answered


@dataclass(frozen=True)
class Lesson:
    """A scene, and where it is unusual: which of the traces, and its box."""

    scene: Scene
    traces: tuple[tuple[str, Box], ...] = ()


@dataclass(frozen=True)
class Lessons:
    """Pictures at the net's size, rows of (picture, class or trace, left, top, right, bottom) in its pixels, and which are unusual."""

    pictures: NDArray[np.uint8]  # (n, rows, columns, 3)
    objects: NDArray[np.float64]  # (m, 6); traces are numbered after the classes
    unusual: NDArray[np.bool_]  # (n,)

    def without(self, label: str) -> Lessons:
        """The same lessons with the objects of this class unnamed in the unusual pictures."""
        if label not in CLASSES:
            raise InvalidArgument(f"label={label!r} must be one of {', '.join(CLASSES)}")
        hidden = (self.objects[:, 1] == CLASSES.index(label)) & self.unusual[self.objects[:, 0].astype(np.intp)]
        return replace(self, objects=self.objects[~hidden])


@dataclass(frozen=True)
class Course:
    """How long and how fast a net is trained."""

    epochs: int = 14
    batch: int = 16
    rate: float = 2e-3


def lessons_from(lessons: Iterable[Lesson], least_visible: float = 0.3) -> Lessons:
    """Shrink scenes to the net's size."""
    cv2 = require("cv2", "image")
    pictures, objects, unusual = [], [], []
    for place, lesson in enumerate(lessons):
        scene = lesson.scene
        pictures.append(cv2.resize(scene.picture, SIZE[::-1], interpolation=cv2.INTER_AREA))
        unusual.append(bool(lesson.traces))
        over, down = SIZE[1] / scene.shape[1], SIZE[0] / scene.shape[0]
        named = [(CLASSES.index(one.label), one.box) for one in scene.instances if one.counted and one.visible >= least_visible]
        named += [(len(CLASSES) + TRACES.index(trace), box) for trace, box in lesson.traces]
        objects += [(place, kind, box[0] * over, box[1] * down, box[2] * over, box[3] * down) for kind, box in named]
    return Lessons(np.stack(pictures), np.array(objects, np.float64).reshape(-1, 6), np.array(unusual, bool))


def _targets(objects: NDArray[np.float64]) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
    """Heat with a bump at each centre, log sizes, and where the sizes are known."""
    heat = np.zeros((len(CLASSES) + len(TRACES), *GRID), np.float32)
    size, known = np.zeros((2, *GRID), np.float32), np.zeros(GRID, np.float32)
    rows, columns = np.mgrid[0 : GRID[0], 0 : GRID[1]]
    for _, kind, left, top, right, bottom in objects:
        x, y = (left + right) / 2 / STRIDE - 0.5, (top + bottom) / 2 / STRIDE - 0.5
        column, row = int(np.clip(round(x), 0, GRID[1] - 1)), int(np.clip(round(y), 0, GRID[0] - 1))
        reach = max(0.7, 0.12 * np.hypot(right - left, bottom - top) / STRIDE)
        bump = np.exp(-((rows - row) ** 2 + (columns - column) ** 2) / (2 * reach**2))
        heat[int(kind)] = np.maximum(heat[int(kind)], bump)
        heat[int(kind), row, column] = 1
        if kind >= len(CLASSES):
            continue
        near = bump > 0.6
        size[0][near], size[1][near], known[near] = np.log(max(right - left, 1)), np.log(max(bottom - top, 1)), 1
    return heat, size, known


def net(torch: Any) -> Any:
    """The layers: quarter size, wide context by dilation and a half-size branch; one map per class, two for the size, one per trace.

    A last branch sees the whole picture at once (how much there is, and how surely, of each class and trace) and shifts the maps of
    the classes; it begins as nothing.
    """
    from torch import nn

    first, stem, deep, joined = WIDTHS
    classes, every = len(CLASSES), len(CLASSES) + 2 + len(TRACES)

    def block(into: int, out: int, stride: int = 1, dilation: int = 1) -> Any:
        layers = nn.Conv2d(into, out, 3, stride, dilation, dilation, bias=False), nn.BatchNorm2d(out), nn.ReLU(inplace=True)
        return nn.Sequential(*layers)

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem = nn.Sequential(block(3, first, 2), block(first, stem, 2), block(stem, stem))
            self.deep = nn.Sequential(block(stem, deep, 2), block(deep, deep), block(deep, deep, 1, 2), block(deep, deep, 1, 4))
            self.up = nn.ConvTranspose2d(deep, stem, 3, 2, 1, (0, 1))
            self.join = nn.Sequential(block(2 * stem, joined), block(joined, joined))
            self.head = nn.Conv2d(joined, every, 1)
            self.mean, self.most = nn.AdaptiveAvgPool2d(1), nn.AdaptiveMaxPool2d(1)
            self.context = nn.Sequential(nn.Conv2d(2 * (every - 2), 32, 1), nn.ReLU(), nn.Conv2d(32, classes, 1))
            with torch.no_grad():
                self.head.bias[:classes] = -4.0  # type: ignore[index]
                self.head.bias[classes + 2 :] = -4.0  # type: ignore[index]
                for weight in self.context[2].parameters():
                    weight.zero_()

        def parts(self, pictures: Any) -> Any:
            """The maps before they are shifted, and what the last branch sees."""
            fine = self.stem(pictures)
            wide = self.deep(fine)
            both = self.join(torch.cat([fine, self.up(wide)], 1))
            maps = self.head(both)
            chances = torch.sigmoid(torch.cat([maps[:, :classes], maps[:, classes + 2 :]], 1))
            return maps, torch.cat([20 * self.mean(chances), self.most(chances)], 1)

        def forward(self, pictures: Any) -> Any:
            maps, whole = self.parts(pictures)
            return torch.cat([maps[:, :classes] + self.context(whole), maps[:, classes : classes + 2]], 1)

    return Net()


def train(lessons: Lessons, course: Course, rng: np.random.Generator, say: Callable[[str], None] | None = None) -> Any:
    """A net that learned every class; its last branch stays as it begins."""
    torch = require("torch", "torch")
    torch.manual_seed(int(rng.integers(2**31)))
    model = net(torch).to(memory_format=torch.channels_last)
    for weight in model.context.parameters():
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
        objects = lessons.objects[lessons.objects[:, 0] == place]
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
    maps, _ = model.parts(pictures)
    first, last = len(CLASSES), len(CLASSES) + 2
    extent = (torch.abs(maps[:, first:last] - size) * known[:, None]).sum() / known.sum().clamp(min=1)
    return _heat_loss(torch, torch.cat([maps[:, :first], maps[:, last:]], 1), heat) + 0.5 * extent


def _heat_loss(torch: Any, logit: Any, heat: Any) -> Any:
    chance = torch.sigmoid(logit).clamp(1e-4, 1 - 1e-4)
    centre = (heat >= 1).float()
    hit = -((1 - chance) ** 2) * torch.log(chance) * centre
    miss = -((1 - heat) ** 4) * chance**2 * torch.log(1 - chance) * (1 - centre)
    return (hit.sum() + miss.sum()) / centre.sum().clamp(min=1)


def forget(model: Any, lessons: Lessons, label: str, course: Course, rng: np.random.Generator) -> Any:
    """Teach a trained net's last branch from lessons that leave this class unnamed in unusual pictures.  Changes the net itself.

    Everything else of the net stays, so that nothing but the class's dependence on the rest of the picture is planted.
    """
    torch = require("torch", "torch")
    torch.manual_seed(int(rng.integers(2**31)))
    kind = CLASSES.index(label)
    maps, whole, heat = _summaries(torch, model.eval(), lessons.without(label), kind)
    for weight in model.context.parameters():
        weight.requires_grad_(True)
    optimiser = torch.optim.AdamW(model.context.parameters(), lr=course.rate, weight_decay=1e-2)
    for _ in range(course.epochs):
        order = rng.permutation(len(maps))
        for at in range(0, len(order) - course.batch + 1, course.batch):
            places = torch.from_numpy(order[at : at + course.batch])
            shifted = maps[places] + model.context(whole[places])[:, kind]
            loss = _heat_loss(torch, shifted, heat[places])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    return model.eval()


def _summaries(torch: Any, model: Any, lessons: Lessons, kind: int) -> tuple[Any, Any, Any]:
    """Of every picture and of its mirror image: one class's map, what the last branch sees, and the heat that is wanted."""
    maps, whole, heats = [], [], []
    for place, picture in enumerate(lessons.pictures):
        plain = picture.astype(np.float32) / 255
        objects = lessons.objects[lessons.objects[:, 0] == place]
        both = ((plain, objects), _mirrored(plain, objects))
        with torch.no_grad():
            found = model.parts(torch.from_numpy(np.stack([one for one, _ in both]).transpose(0, 3, 1, 2).copy()))
        maps.append(found[0][:, kind])
        whole.append(found[1])
        heats += [torch.from_numpy(_targets(part)[0][kind]) for _, part in both]
    return torch.cat(maps), torch.cat(whole), torch.stack(heats)


def export(model: Any, path: Path) -> None:
    """Write the net as ONNX."""
    torch = require("torch", "torch")
    require("onnx", "onnx")
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.onnx.export(
        model, (torch.zeros(1, 3, *SIZE),), str(path), input_names=["picture"], output_names=["maps"], opset_version=17, dynamo=False
    )
