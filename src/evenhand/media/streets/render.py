"""Whole synthetic streets: who is where, drawn far to near, with shadows, exact masks and depth."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import UnknownName, require
from evenhand.limits import Count, check_limits
from evenhand.media.scene import PLANTS, SOURCE, STRUCTURE, SYNTHETIC, Instance, Scene
from evenhand.media.streets import figures, furniture, vehicles
from evenhand.media.streets.backdrop import Backdrop, Painter, StreetPlan, sample_plan
from evenhand.media.streets.brush import Sprite, StreetCanvas
from evenhand.media.streets.camera import Camera
from evenhand.media.streets.figures import Spot
from evenhand.media.streets.light import Light, develop, sample_light, with_haze

Floats = NDArray[np.float32]
CLASSES = ("car", "person", "cyclist", "motorcycle", "truck", "bus", "dog", "cat", "bird", "traffic light", "sign")
LEAST_PIXELS = 24  # a smaller visible part is not listed as an object
LEAST_VISIBLE = 0.2

# Kinds of street, with the mean number of each class; K-Means has something to find.
KINDS: Mapping[str, Mapping[str, float]] = {
    "traffic": {
        "car": 4.0,
        "truck": 0.8,
        "bus": 0.8,
        "motorcycle": 1.3,
        "cyclist": 0.7,
        "person": 1.4,
        "traffic light": 1.6,
        "sign": 1.2,
        "dog": 0.2,
        "cat": 0.1,
        "bird": 0.3,
    },
    "shopping": {
        "car": 0.9,
        "truck": 0.2,
        "bus": 0.3,
        "motorcycle": 0.5,
        "cyclist": 1.6,
        "person": 5.0,
        "traffic light": 0.8,
        "sign": 1.4,
        "dog": 0.9,
        "cat": 0.3,
        "bird": 1.2,
    },
    "quiet": {
        "car": 1.4,
        "truck": 0.3,
        "bus": 0.2,
        "motorcycle": 0.6,
        "cyclist": 0.7,
        "person": 1.2,
        "traffic light": 0.4,
        "sign": 0.9,
        "dog": 0.8,
        "cat": 1.2,
        "bird": 1.6,
    },
    "junction": {
        "car": 1.6,
        "truck": 0.2,
        "bus": 0.2,
        "motorcycle": 0.8,
        "cyclist": 1.0,
        "person": 2.5,
        "traffic light": 5.0,
        "sign": 1.2,
        "dog": 0.6,
        "cat": 0.2,
        "bird": 0.6,
    },
}
SPANS: Mapping[str, tuple[float, float]] = {
    "car": (7, 38),
    "truck": (12, 42),
    "bus": (13, 44),
    "motorcycle": (6, 22),
    "cyclist": (6, 22),
    "person": (5.5, 24),
    "dog": (4.2, 11),
    "cat": (3.4, 7),
    "bird": (3.0, 6),
    "traffic light": (8, 26),
    "sign": (7, 22),
}
FIGURES: Mapping[str, Callable[[Spot, Camera, Light, np.random.Generator], StreetCanvas]] = {
    "person": figures.person,
    "cyclist": figures.cyclist,
    "motorcycle": figures.motorcycle,
    "dog": figures.dog,
    "cat": figures.cat,
    "bird": figures.bird,
    "traffic light": furniture.traffic_light,
    "sign": furniture.sign,
    "tree": furniture.tree,
    "lamp": furniture.lamp,
}
BODIES: Mapping[str, Callable[[np.random.Generator], vehicles.VehicleBody]] = {
    "car": vehicles.car,
    "truck": vehicles.truck,
    "bus": vehicles.bus,
}
FOOTPRINT: Mapping[str, tuple[float, float]] = {
    "car": (1.1, 2.6),
    "truck": (1.4, 4.2),
    "bus": (1.4, 5.6),
    "motorcycle": (0.9, 1.4),
    "cyclist": (0.9, 1.4),
}

SHADOW: Mapping[str, tuple[float, float]] = {
    "car": (1.0, 2.3),
    "truck": (1.3, 3.9),
    "bus": (1.35, 5.1),
    "motorcycle": (0.75, 0.3),
    "cyclist": (0.65, 0.25),
    "dog": (0.34, 0.12),
    "cat": (0.2, 0.08),
    "bird": (0.14, 0.07),
}


@dataclass(frozen=True)
class Actor:
    """One thing to draw: class, metres to the right and ahead, and its angle."""

    label: str
    right: float
    ahead: float
    yaw: float = 0.0


@dataclass(frozen=True)
class Stage:
    """An empty street under one light, ready for many casts."""

    camera: Camera
    plan: StreetPlan
    light: Light
    backdrop: Backdrop


@dataclass(frozen=True)
class StreetMaker:
    """A source of synthetic streets.  `casts` pictures share one empty street before the next one is built."""

    width: int = 480
    height: int = 360
    kinds: tuple[str, ...] = ("traffic", "shopping", "quiet")
    weather: str | None = None
    casts: Count = 1
    density: float = 1.0
    most: Mapping[str, int] = field(default_factory=lambda: {"person": 9, "car": 8})

    def __post_init__(self) -> None:
        for kind in self.kinds:
            if kind not in KINDS:
                raise UnknownName("kind of street", kind, KINDS)
        check_limits(self)

    def scenes(self, n: int, rng: np.random.Generator) -> Iterator[Scene]:
        """n streets, named by their place."""
        stage: Stage | None = None
        for place in range(n):
            if stage is None or place % self.casts == 0:
                stage = self.stage(rng)
            kind = str(rng.choice(self.kinds))
            yield shoot(stage, cast(stage, KINDS[kind], self, rng), rng, f"street-{place:05d}", kind)

    def stage(self, rng: np.random.Generator) -> Stage:
        """An empty street."""
        scale = self.width / 480
        camera = Camera(
            self.width,
            self.height,
            430.0 * scale * float(rng.uniform(0.92, 1.08)),
            float(rng.uniform(1.4, 1.75)),
            self.height * float(rng.uniform(0.40, 0.47)),
            self.width * float(rng.uniform(0.44, 0.56)),
        )
        plan, light = sample_plan(rng), sample_light(rng, self.weather)
        return Stage(camera, plan, light, Painter(camera, plan, light, rng).paint())


def cast(stage: Stage, means: Mapping[str, float], maker: StreetMaker, rng: np.random.Generator) -> list[Actor]:
    """Who is in the picture, with nobody standing inside anybody else."""
    actors = [*_scenery(stage.plan, rng)]
    for label in ("bus", "truck", "car", "motorcycle", "cyclist", "person", "dog", "cat", "bird", "traffic light", "sign"):
        wanted = min(int(rng.poisson(means[label] * maker.density)), maker.most.get(label, 4))
        for _ in range(wanted):
            actor = _free_place(label, stage, actors, rng)
            if actor is not None:
                actors.append(actor)
    return actors


def _scenery(plan: StreetPlan, rng: np.random.Generator) -> Iterator[Actor]:
    edge = plan.road + 0.55
    leafy = rng.random() < 0.5
    for side in (-1, 1):
        if leafy or rng.random() < 0.2:
            for ahead in np.arange(rng.uniform(9, 20), 70, rng.uniform(9, 14)):
                yield Actor("tree", side * edge, float(ahead))
        for ahead in np.arange(rng.uniform(14, 24), 80, 22):
            yield Actor("lamp", side * edge, float(ahead) + 3.1)


def _free_place(label: str, stage: Stage, actors: list[Actor], rng: np.random.Generator) -> Actor | None:
    for _ in range(12):
        actor = _place(label, stage, rng)
        column = stage.camera.centre + actor.right * stage.camera.scale(actor.ahead)
        if 8 < column < stage.camera.width - 8 and not any(_collide(actor, other) for other in actors):
            return actor
    return None


def _collide(one: Actor, other: Actor) -> bool:
    (w0, l0), (w1, l1) = FOOTPRINT.get(one.label, (0.35, 0.35)), FOOTPRINT.get(other.label, (0.35, 0.35))
    return abs(one.right - other.right) < w0 + w1 and abs(one.ahead - other.ahead) < l0 + l1


def _place(label: str, stage: Stage, rng: np.random.Generator) -> Actor:
    low, high = SPANS[label]
    ahead = 1.0 / float(rng.uniform(1.0 / high, 1.0 / low))  # even over picture rows, as a camera sees it
    road, wall = stage.plan.road, stage.plan.road + stage.plan.pavement
    side = float(rng.choice([-1.0, 1.0]))
    if label in BODIES:
        lane = -1.0 if side < 0 else 1.0  # left lane drives away, right lane comes
        is_parked = label == "car" and rng.random() < 0.3
        across = lane * (road - 1.15 if is_parked else road * float(rng.uniform(0.42, 0.55)))
        yaw = (0.0 if lane < 0 else np.pi) + float(rng.normal(0, 0.05))
        return Actor(label, across, ahead, yaw)
    if label in ("motorcycle", "cyclist"):
        return Actor(label, side * road * float(rng.uniform(0.3, 0.85)), ahead, float(rng.choice([-1, 1])))
    if label in ("traffic light", "sign"):
        return Actor(label, side * (road + 0.35), ahead, 1.0)
    across = side * float(rng.uniform(road + 0.4, wall - 0.4)) if rng.random() < 0.75 else float(rng.uniform(-road, road))
    return Actor(label, across, ahead, float(rng.choice([-1, 1])))


def shoot(stage: Stage, actors: list[Actor], rng: np.random.Generator, name: str, kind: str = "") -> Scene:
    """Draw the cast far to near and develop the picture."""
    colour, regions, depth = stage.backdrop.colour.copy(), stage.backdrop.regions.copy(), stage.backdrop.depth.copy()
    owner = np.full(depth.shape, -1, np.int32)
    ordered = sorted(actors, key=lambda actor: -actor.ahead)
    _shadows(colour, stage, ordered)
    whole = np.zeros(len(ordered))
    for place, actor in enumerate(ordered):
        sprite = _draw(actor, stage, rng)
        if sprite is None:
            continue
        whole[place] = float((sprite.cover > 0.5).sum())
        _compose(sprite, actor.ahead, stage.light, _Layers(colour, depth, owner), place)
    for place, actor in enumerate(ordered):
        if actor.label in ("tree", "lamp"):
            regions[owner == place] = PLANTS if actor.label == "tree" else STRUCTURE
    instances = _instances(ordered, owner, whole)
    picture = develop(colour, stage.light, rng)
    facts = {SOURCE: SYNTHETIC, "weather": stage.light.weather, "kind": kind}
    return Scene(name, picture, instances, regions, depth, facts=facts)


def _draw(actor: Actor, stage: Stage, rng: np.random.Generator) -> Sprite | None:
    sunny = _sun_at(actor, stage)
    if actor.label in BODIES:
        body = BODIES[actor.label](rng)
        return vehicles.draw(body, (actor.right, actor.ahead, actor.yaw), stage.camera, stage.light, sunny).sprite()
    facing = -1 if (actor.right > 0 if actor.label == "lamp" else actor.yaw < 0) else 1
    return FIGURES[actor.label](Spot(actor.right, actor.ahead, facing, sunny), stage.camera, stage.light, rng).sprite()


def _sun_at(actor: Actor, stage: Stage) -> float:
    camera = stage.camera
    row, column = int(camera.foot_row(actor.ahead)), int(camera.centre + actor.right * camera.scale(actor.ahead))
    if 0 <= row < camera.height and 0 <= column < camera.width:
        return float(stage.backdrop.lit[row, column])
    return 0.5


def _shadows(colour: Floats, stage: Stage, actors: list[Actor]) -> None:
    """Soft dark under everything, and a cast shadow where the sun shines."""
    cv2 = require("cv2", "image")
    camera, shade = stage.camera, np.zeros(colour.shape[:2], np.float32)
    for actor in actors:
        half, long = SHADOW.get(actor.label, (0.28, 0.2))
        turn = np.linspace(0, 2 * np.pi, 18, endpoint=False)
        box = np.stack(
            [actor.right + half * 0.95 * np.cos(turn), np.zeros(18), np.maximum(actor.ahead + long * 0.9 * np.sin(turn), 1.2)], axis=1
        )
        one = np.zeros_like(shade)
        cv2.fillPoly(one, [np.round(camera.project(box) * 16).astype(np.int32)], 0.55, cv2.LINE_AA, 4)
        tall = {
            "tree": 6.0,
            "lamp": 5.0,
            "truck": 3.3,
            "bus": 3.0,
            "car": 1.4,
            "traffic light": 3.0,
            "sign": 2.4,
            "dog": 0.6,
            "cat": 0.3,
            "bird": 0.3,
        }.get(actor.label, 1.7)
        strength = 0.42 * stage.light.direct / 0.8 * _sun_at(actor, stage)
        if strength > 0.05:
            away = -np.array(stage.light.sun) / stage.light.sun[1] * tall
            moved = box + np.array([away[0], 0, away[2]])
            hull = cv2.convexHull(camera.project(np.maximum(np.concatenate([box, moved]), [-99, 0, 1.2])).astype(np.float32))
            narrow = np.zeros_like(shade)
            cv2.fillConvexPoly(narrow, np.round(hull * 16).astype(np.int32), strength, cv2.LINE_AA, 4)
            one = np.maximum(one, narrow)
        shade = np.maximum(shade, one)
    shade = cv2.GaussianBlur(shade, (0, 0), 1.6)
    ground = (stage.backdrop.regions == 1) | (stage.backdrop.regions == 2)
    colour *= (1 - shade * ground)[..., None]


@dataclass(frozen=True, eq=False)
class _Layers:
    """What a picture is made of while it is drawn: its colour, how far ahead each pixel is, and whose it is."""

    colour: Floats
    depth: Floats
    owner: NDArray[np.int32]


def _compose(sprite: Sprite, ahead: float, light: Light, layers: _Layers, place: int) -> None:
    left, top, right, bottom = sprite.box
    rows = np.linspace(1.04, 0.88, bottom - top, dtype=np.float32)[:, None, None]
    paint = with_haze(sprite.colour * rows, ahead, light)
    cover = sprite.cover[..., None]
    part = layers.colour[top:bottom, left:right]
    part[:] = part * (1 - cover) + paint * cover
    solid = sprite.cover > 0.5
    layers.depth[top:bottom, left:right][solid] = ahead
    layers.owner[top:bottom, left:right][solid] = place


def _instances(actors: list[Actor], owner: NDArray[np.int32], whole: NDArray[np.float64]) -> tuple[Instance, ...]:
    found = []
    for place, actor in enumerate(actors):
        if not whole[place]:
            continue
        mask = owner == place
        seen = int(mask.sum())
        if seen >= LEAST_PIXELS and seen / whole[place] >= LEAST_VISIBLE:
            one = Instance.from_mask(actor.label, mask, actor.ahead, seen / float(whole[place]))
            found.append(replace(one, counted=actor.label in CLASSES))
    return tuple(found)
