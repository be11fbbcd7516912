"""Cars, trucks and buses as solid bodies with flat faces, in true perspective from any side."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from evenhand.media.streets.brush import Colour, StreetCanvas
from evenhand.media.streets.camera import Camera
from evenhand.media.streets.light import Light, shade

Solid = NDArray[np.float64]  # (n, 3): right, up, ahead, in metres from the middle of the body on the ground

PAINTS: tuple[Colour, ...] = (
    (0.72, 0.73, 0.75),
    (0.10, 0.11, 0.12),
    (0.86, 0.86, 0.85),
    (0.45, 0.47, 0.50),
    (0.55, 0.09, 0.10),
    (0.12, 0.20, 0.42),
    (0.20, 0.33, 0.26),
    (0.62, 0.55, 0.42),
    (0.30, 0.45, 0.62),
    (0.75, 0.52, 0.15),
)
GLASS: Colour = (0.13, 0.16, 0.19)
TYRE: Colour = (0.055, 0.055, 0.06)
RIM: Colour = (0.45, 0.46, 0.48)


@dataclass(frozen=True)
class Face:
    """A flat polygon, counter-clockwise from outside, with what is painted on it."""

    corners: Solid
    colour: Colour
    decals: tuple[tuple[Solid, Colour], ...] = ()


@dataclass(frozen=True)
class VehicleBody:
    """Everything that is drawn for one vehicle."""

    faces: tuple[Face, ...]
    under: tuple[tuple[Solid, Colour], ...] = field(default=())  # drawn first: tyres on the far side, the dark below


@dataclass(frozen=True)
class VehicleShape:
    """A side profile swept across the width: rows of (ahead, up, half width), and which stretches are glass."""

    profile: tuple[tuple[float, float, float], ...]
    glass: tuple[int, ...]
    wheels: tuple[float, ...]
    radius: float
    window: tuple[tuple[float, float], ...]  # side window outline as (ahead, up)


CAR = VehicleShape(
    (
        (-2.02, 0.30, 0.80),
        (-2.10, 0.62, 0.86),
        (-2.00, 0.92, 0.84),
        (-1.62, 1.02, 0.80),
        (-1.05, 1.40, 0.62),
        (0.15, 1.46, 0.62),
        (0.95, 1.00, 0.80),
        (1.90, 0.82, 0.84),
        (2.08, 0.58, 0.84),
        (2.02, 0.30, 0.80),
    ),
    (3, 5),
    (-1.28, 1.30),
    0.32,
    ((-1.50, 1.02), (-1.00, 1.34), (0.12, 1.39), (0.80, 1.02)),
)
HATCH = VehicleShape(
    (
        (-1.80, 0.30, 0.80),
        (-1.88, 0.70, 0.85),
        (-1.84, 0.98, 0.82),
        (-1.48, 1.48, 0.64),
        (0.25, 1.54, 0.64),
        (0.98, 1.04, 0.80),
        (1.68, 0.88, 0.83),
        (1.84, 0.60, 0.83),
        (1.80, 0.30, 0.80),
    ),
    (2, 4),
    (-1.15, 1.18),
    0.32,
    ((-1.55, 1.04), (-1.36, 1.41), (0.22, 1.46), (0.84, 1.05)),
)
VAN = VehicleShape(
    (
        (-2.35, 0.32, 0.92),
        (-2.40, 1.10, 0.95),
        (-2.34, 2.02, 0.90),
        (1.00, 2.05, 0.88),
        (1.62, 1.22, 0.93),
        (2.25, 1.02, 0.93),
        (2.40, 0.60, 0.92),
        (2.34, 0.32, 0.90),
    ),
    (3,),
    (-1.45, 1.55),
    0.34,
    ((0.35, 1.25), (0.35, 1.82), (0.92, 1.82), (1.38, 1.25)),
)


def car(rng: np.random.Generator) -> VehicleBody:
    """A saloon, a hatchback or a small van."""
    shape = (CAR, HATCH, VAN)[int(rng.choice(3, p=[0.45, 0.42, 0.13]))]
    stretch = rng.uniform(0.94, 1.06)
    paint = _jitter(PAINTS[int(rng.integers(len(PAINTS)))], rng)
    return _swept(shape, paint, float(stretch))


def _jitter(colour: Colour, rng: np.random.Generator) -> Colour:
    moved = np.clip(np.array(colour) * rng.uniform(0.85, 1.15) + rng.normal(0, 0.015, 3), 0.02, 0.95)
    return float(moved[0]), float(moved[1]), float(moved[2])


def _swept(shape: VehicleShape, paint: Colour, stretch: float) -> VehicleBody:
    profile = [(z * stretch, y, w) for z, y, w in shape.profile]
    last = len(profile) - 2
    faces = []
    for place, ((z0, y0, w0), (z1, y1, w1)) in enumerate(pairwise(profile)):
        corners = np.array([(-w0, y0, z0), (-w1, y1, z1), (w1, y1, z1), (w0, y0, z0)])
        decals = _pane(corners) if place in shape.glass else _lamps(place, last, corners)
        faces.append(Face(corners, paint, decals))
    for side in (-1, 1):
        faces += _flank(shape, profile, paint, side, stretch)
    return VehicleBody(tuple(faces), _underside(shape, stretch, max(w for _, _, w in profile)))


def _pane(corners: Solid) -> tuple[tuple[Solid, Colour], ...]:
    middle = corners.mean(axis=0)
    pane = middle + (corners - middle) * 0.86
    high = middle + (corners - middle) * np.array([0.86, 0.3, 0.3]) + (corners[[1, 1, 2, 2]].mean(axis=0) - middle) * 0.5
    return (pane, GLASS), (high, (0.30, 0.35, 0.40))


def _lamps(place: int, last: int, corners: Solid) -> tuple[tuple[Solid, Colour], ...]:
    if place not in (1, last - 1, 0, last):
        return ()
    is_rear = place <= 1
    low, high = (corners[0], corners[1]) if is_rear else (corners[3] * (-1, 1, 1), corners[2] * (-1, 1, 1))
    low, high = (low, high) if low[1] < high[1] else (high, low)
    half = abs(float(low[0]))
    shift = np.array([0, 0, -0.01 if is_rear else 0.01])

    def patch(x0: float, x1: float, a: float, b: float) -> Solid:
        bottom, top = low + (high - low) * a, low + (high - low) * b
        corners = np.array([(x0 * half, *bottom[1:]), (x0 * half, *top[1:]), (x1 * half, *top[1:]), (x1 * half, *bottom[1:])])
        return np.asarray(corners + shift, np.float64)

    if place in (0, last):
        plate: Colour = (0.80, 0.72, 0.30) if is_rear else (0.82, 0.82, 0.80)
        return (patch(-0.96, 0.96, 0.0, 0.5), (0.10, 0.10, 0.11)), (patch(-0.28, 0.28, 0.52, 0.86), plate)
    lamp: Colour = (0.62, 0.05, 0.05) if is_rear else (0.92, 0.92, 0.86)
    return (patch(-0.97, -0.66, 0.2, 0.85), lamp), (patch(0.66, 0.97, 0.2, 0.85), lamp), (patch(-0.5, 0.5, 0.15, 0.6), (0.12, 0.12, 0.13))


def _flank(shape: VehicleShape, profile: list[tuple[float, float, float]], paint: Colour, side: int, stretch: float) -> list[Face]:
    """The body side below the waist and the cabin side above it, with window and wheels."""
    outline = np.array([(side * w, y, z) for z, y, w in profile])
    window = np.array([(side * _half_width(profile, y), y, z * stretch) for z, y in shape.window])
    post = window.mean(axis=0)
    split = [(window + (post - window) * (0, 0.06, 0.06), GLASS)]
    middle_top, middle_low = window[1] * 0.52 + window[2] * 0.48, window[0] * 0.52 + window[-1] * 0.48
    post_half = np.array([0, 0, 0.04])
    bar = np.array([middle_low + post_half, middle_top + post_half, middle_top - post_half, middle_low - post_half])
    sill = np.array(
        [
            (side * 0.82, 0.30, outline[:, 2].min() * 0.96),
            (side * 0.82, 0.38, outline[:, 2].min() * 0.98),
            (side * 0.82, 0.38, outline[:, 2].max() * 0.98),
            (side * 0.82, 0.30, outline[:, 2].max() * 0.96),
        ]
    )
    decals = [*split, (bar, paint), (sill, (0.09, 0.09, 0.10))]
    for z in shape.wheels:
        at = np.array([side * (max(w for _, _, w in profile) - 0.02), shape.radius, z * stretch])
        decals += [
            (_ring(at, shape.radius * 1.16), (0.04, 0.04, 0.045)),
            (_ring(at, shape.radius), TYRE),
            (_ring(at, shape.radius * 0.62), RIM),
            (_ring(at, shape.radius * 0.2), (0.2, 0.2, 0.21)),
        ]
    corners = outline if side < 0 else outline[::-1]
    return [Face(corners[::-1], paint, tuple(decals))]


def _half_width(profile: list[tuple[float, float, float]], up: float) -> float:
    ordered = sorted((y, w) for _, y, w in profile)
    return float(np.interp(up, [y for y, _ in ordered], [w for _, w in ordered])) + 0.01


def _ring(centre: Solid, radius: float) -> Solid:
    turn = np.linspace(0, 2 * np.pi, 18, endpoint=False)
    return centre + np.stack([np.zeros_like(turn), radius * np.sin(turn), radius * np.cos(turn)], axis=1)


def _underside(shape: VehicleShape, stretch: float, half: float) -> tuple[tuple[Solid, Colour], ...]:
    dark: list[tuple[Solid, Colour]] = []
    long = max(abs(z) for z, _, _ in shape.profile) * stretch * 0.93
    dark.append(
        (
            np.array([(-half * 0.9, 0.02, -long), (half * 0.9, 0.02, -long), (half * 0.9, 0.02, long), (-half * 0.9, 0.02, long)]),
            (0.03, 0.03, 0.035),
        )
    )
    for z in shape.wheels:
        for side in (-1, 1):
            inner, outer = side * (half - 0.26), side * half
            for end in (-1, 1):
                at = z * stretch + end * shape.radius * 0.7
                dark.append(
                    (np.array([(inner, 0, at), (outer, 0, at), (outer, shape.radius * 1.3, at), (inner, shape.radius * 1.3, at)]), TYRE)
                )
    return tuple(dark)


def _block(size: tuple[float, float, float, float, float], half: float, paint: Colour) -> list[Face]:
    """A box from (rear, front, low, high); the fifth number brightens the roof."""
    rear, front, low, high, roof = size
    a, b, c, d = (-half, low, rear), (half, low, rear), (half, high, rear), (-half, high, rear)
    e, f, g, h = (-half, low, front), (half, low, front), (half, high, front), (-half, high, front)
    bright: Colour = (min(1.0, paint[0] * roof), min(1.0, paint[1] * roof), min(1.0, paint[2] * roof))
    sides = ((a, d, c, b), (f, g, h, e), (e, h, d, a), (b, c, g, f), (d, h, g, c))
    return [Face(np.array(corners), paint if place < 4 else bright) for place, corners in enumerate(sides)]


def _on_block(face: Face, box: tuple[float, float, float, float], colour: Colour) -> tuple[Solid, Colour]:
    """A rectangle on a box's face, by shares of its width and height."""
    origin, up, over = face.corners[0], face.corners[1] - face.corners[0], face.corners[3] - face.corners[0]
    u0, u1, v0, v1 = box
    return np.array(
        [origin + over * u0 + up * v0, origin + over * u0 + up * v1, origin + over * u1 + up * v1, origin + over * u1 + up * v0]
    ), colour


def _with_wheels(faces: list[Face], places: tuple[float, ...], half: float, radius: float) -> list[Face]:
    dressed = list(faces)
    for index, side in ((2, -1), (3, 1)):
        rings: list[tuple[Solid, Colour]] = []
        for z in places:
            at = np.array([side * half, radius, z])
            rings += [(_ring(at, radius), TYRE), (_ring(at, radius * 0.55), RIM), (_ring(at, radius * 0.2), (0.2, 0.2, 0.2))]
        dressed[index] = Face(faces[index].corners, faces[index].colour, faces[index].decals + tuple(rings))
    return dressed


def bus(rng: np.random.Generator) -> VehicleBody:
    """A city bus of ten metres, sometimes with two decks."""
    paint = _jitter(((0.62, 0.08, 0.09), (0.12, 0.30, 0.52), (0.16, 0.42, 0.28), (0.80, 0.80, 0.78))[int(rng.integers(4))], rng)
    half, long = 1.22, 4.9
    high = 4.2 if rng.random() < 0.3 else 3.05
    rear, front, left, right, roof = _block((-long, long, 0.35, high, 1.1), half, paint)
    bands = ((0.30, 0.52), (0.66, 0.88)) if high > 4 else ((0.42, 0.86),)
    panes = [(u, u + 0.085, v0, v1) for u in np.arange(0.04, 0.93, 0.10) for v0, v1 in bands]
    left = Face(left.corners, paint, tuple(_on_block(left, pane, GLASS) for pane in panes))
    right = Face(right.corners, paint, tuple(_on_block(right, pane, GLASS) for pane in panes))
    lamps = tuple(_on_block(rear, (u, u + 0.1, 0.14, 0.24), (0.65, 0.06, 0.05)) for u in (0.04, 0.86))
    rear = Face(
        rear.corners,
        paint,
        (
            _on_block(rear, (0.12, 0.88, *bands[-1]), GLASS),
            _on_block(rear, (0.1, 0.9, 0.0, 0.1), (0.08, 0.08, 0.09)),
            _on_block(rear, (0.36, 0.64, 0.16, 0.22), (0.8, 0.72, 0.3)),
            *lamps,
        ),
    )
    heads = tuple(_on_block(front, (u, u + 0.12, 0.10, 0.18), (0.95, 0.95, 0.88)) for u in (0.06, 0.82))
    front = Face(
        front.corners,
        paint,
        (_on_block(front, (0.06, 0.94, 0.30, 0.80), GLASS), _on_block(front, (0.2, 0.8, 0.86, 0.95), (0.85, 0.6, 0.1)), *heads),
    )
    faces = _with_wheels([rear, front, left, right, roof], (-3.1, 3.0), half, 0.48)
    return VehicleBody(tuple(faces), _dark_below(half, long, (-3.1, 3.0), 0.48))


def truck(rng: np.random.Generator) -> VehicleBody:
    """A lorry: cab ahead, load behind."""
    load = _jitter(((0.85, 0.85, 0.83), (0.70, 0.60, 0.30), (0.30, 0.38, 0.52), (0.60, 0.62, 0.64))[int(rng.integers(4))], rng)
    cab_paint = _jitter(PAINTS[int(rng.integers(len(PAINTS)))], rng)
    half = 1.18
    rear, front, left, right, roof = _block((-3.7, 1.5, 0.85, 3.35, 1.08), half, load)
    doors = (_on_block(rear, (0.49, 0.51, 0.02, 0.98), (0.3, 0.3, 0.3)), _on_block(rear, (0.0, 1.0, 0.0, 0.07), (0.25, 0.25, 0.25)))
    lamps = tuple(_on_block(rear, (u, u + 0.12, -0.14, -0.03), (0.65, 0.06, 0.05)) for u in (0.02, 0.86))
    bumper = (_on_block(rear, (0.0, 1.0, -0.22, 0.0), (0.10, 0.10, 0.11)), _on_block(rear, (0.38, 0.62, -0.16, -0.07), (0.8, 0.72, 0.3)))
    rear = Face(rear.corners, load, (*doors, *bumper, *lamps))
    stripe: Colour = (0.55, 0.12, 0.12)
    left, right = (Face(face.corners, load, (_on_block(face, (0.05, 0.95, 0.12, 0.24), stripe),)) for face in (left, right))
    box = _with_wheels([rear, front, left, right, roof], (-2.6,), half, 0.46)
    crear, cfront, cleft, cright, croof = _block((1.65, 3.5, 0.40, 2.65, 1.08), half * 0.97, cab_paint)
    cfront = Face(
        cfront.corners,
        cab_paint,
        (
            _on_block(cfront, (0.06, 0.94, 0.50, 0.92), GLASS),
            _on_block(cfront, (0.15, 0.85, 0.18, 0.4), (0.12, 0.12, 0.13)),
            *(_on_block(cfront, (u, u + 0.14, 0.04, 0.14), (0.95, 0.95, 0.88)) for u in (0.04, 0.82)),
        ),
    )
    cleft = Face(cleft.corners, cab_paint, (_on_block(cleft, (0.12, 0.72, 0.52, 0.90), GLASS),))
    cright = Face(cright.corners, cab_paint, (_on_block(cright, (0.28, 0.88, 0.52, 0.90), GLASS),))
    cab = _with_wheels([crear, cfront, cleft, cright, croof], (2.6,), half * 0.97, 0.46)
    return VehicleBody((*box, *cab), _dark_below(half, 3.4, (-2.6, 2.6), 0.46))


def _dark_below(half: float, long: float, wheels: tuple[float, ...], radius: float) -> tuple[tuple[Solid, Colour], ...]:
    return _underside(VehicleShape(((long, 0, half),), (), wheels, radius, ()), 1.0, half)


def draw(body: VehicleBody, place: tuple[float, float, float], camera: Camera, light: Light, sunny: float) -> StreetCanvas:
    """The body at (right, ahead) metres, turned by an angle (0 drives away from the camera), on a fresh canvas."""
    right, ahead, yaw = place
    turn = np.array([[np.cos(yaw), 0, np.sin(yaw)], [0, 1, 0], [-np.sin(yaw), 0, np.cos(yaw)]])
    shift = np.array([right, 0.0, ahead])

    def seen(corners: Solid) -> NDArray[np.float64]:
        return camera.project(corners @ turn.T + shift)

    every = np.concatenate([face.corners for face in body.faces] + [corners for corners, _ in body.under])
    canvas = StreetCanvas(seen(every), 2.0, (camera.height, camera.width))
    gloom = light.ambient + light.direct * 0.3 * sunny
    for corners, colour in body.under:
        canvas.polygon(seen(corners), _lit(colour, gloom))
    eye = np.array([0.0, camera.eye, 0.0])
    for face in sorted(body.faces, key=lambda one: -float(np.linalg.norm(one.corners.mean(axis=0) @ turn.T + shift - eye))):
        world = face.corners @ turn.T + shift
        normal = _normal(world, shift)
        if normal @ (eye - world.mean(axis=0)) <= 0:
            continue
        bright = (
            light.ambient * (0.80 + 0.24 * float(normal[1]))
            + (shade(normal, light) - light.ambient * (0.82 + 0.18 * float(normal[1]))) * sunny
        )
        canvas.polygon(seen(face.corners), _lit(face.colour, bright))
        for corners, colour in face.decals:
            canvas.polygon(seen(corners), _lit(colour, bright if colour != GLASS else light.ambient))
    return canvas


def _normal(world: Solid, middle: Solid) -> NDArray[np.float64]:
    """The outward normal, whatever the order of the corners."""
    centre = world.mean(axis=0)
    cross = np.cross(world[1:] - centre, world[:-1] - centre).sum(axis=0)
    cross = cross / max(float(np.linalg.norm(cross)), 1e-9)
    outward = centre - (middle + np.array([0.0, 0.8, 0.0]))
    return np.asarray(cross if cross @ outward >= 0 else -cross, np.float64)


def _lit(colour: Colour, bright: float) -> Colour:
    return min(1.0, colour[0] * bright), min(1.0, colour[1] * bright), min(1.0, colour[2] * bright)
