"""People, riders and animals as upright drawings of rods and discs, posed at random, seen from the side, the front or the back."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from evenhand.media.streets.brush import Colour, StreetCanvas
from evenhand.media.streets.camera import Camera
from evenhand.media.streets.light import Light

Point = NDArray[np.float64]

CLOTHES: tuple[Colour, ...] = (
    (0.12, 0.13, 0.16),
    (0.20, 0.24, 0.36),
    (0.55, 0.13, 0.14),
    (0.62, 0.60, 0.56),
    (0.24, 0.34, 0.28),
    (0.75, 0.70, 0.40),
    (0.36, 0.28, 0.22),
    (0.80, 0.80, 0.80),
    (0.30, 0.44, 0.58),
    (0.50, 0.30, 0.45),
    (0.78, 0.42, 0.16),
)
TROUSERS: tuple[Colour, ...] = ((0.14, 0.17, 0.27), (0.09, 0.09, 0.10), (0.36, 0.32, 0.26), (0.30, 0.32, 0.35), (0.22, 0.26, 0.38))
SKINS: tuple[Colour, ...] = ((0.90, 0.73, 0.62), (0.80, 0.60, 0.47), (0.62, 0.44, 0.33), (0.42, 0.29, 0.21), (0.28, 0.19, 0.14))
HAIRS: tuple[Colour, ...] = ((0.10, 0.08, 0.07), (0.28, 0.19, 0.12), (0.55, 0.42, 0.25), (0.45, 0.45, 0.46), (0.16, 0.12, 0.10))
FURS: tuple[Colour, ...] = (
    (0.35, 0.24, 0.15),
    (0.12, 0.11, 0.11),
    (0.72, 0.62, 0.46),
    (0.82, 0.80, 0.76),
    (0.45, 0.40, 0.36),
    (0.62, 0.38, 0.18),
)
METAL: Colour = (0.30, 0.31, 0.33)
RUBBER: Colour = (0.06, 0.06, 0.065)


@dataclass(frozen=True)
class Spot:
    """Where a figure stands, how it is lit, and which way it faces (-1 left, 1 right)."""

    right: float
    ahead: float
    facing: int
    sunny: float


class Pen:
    """Draws in metres (sideways, up) from the figure's foot; shades by the light."""

    def __init__(self, spot: Spot, reach: tuple[float, float], camera: Camera, light: Light) -> None:
        self.spot, self.camera, self.light = spot, camera, light
        self.scale = camera.scale(spot.ahead)
        corners = self._at([(-reach[0], -0.1), (reach[0], reach[1])])
        self.canvas = StreetCanvas(corners, 2.0, (camera.height, camera.width))
        self.bright = light.ambient * 0.98 + light.direct * 0.55 * spot.sunny

    def _at(self, points: list[tuple[float, float]] | Point) -> Point:
        flat = np.asarray(points, np.float64).reshape(-1, 2)
        world = np.stack([self.spot.right + flat[:, 0] * self.spot.facing, flat[:, 1], np.full(len(flat), self.spot.ahead)], axis=1)
        return self.camera.project(world)

    def _lit(self, colour: Colour, more: float = 1.0) -> Colour:
        red, green, blue = (min(1.0, part * self.bright * more) for part in colour)
        return red, green, blue

    def limb(
        self, start: tuple[float, float], end: tuple[float, float], radii: tuple[float, float], colour: Colour, more: float = 1.0
    ) -> None:
        """A rod between two points."""
        points = self._at([start, end])
        self.canvas.limb(points[0], points[1], (radii[0] * self.scale, radii[1] * self.scale), self._lit(colour, more))

    def disc(self, centre: tuple[float, float], radii: tuple[float, float], colour: Colour, more: float = 1.0, tilt: float = 0.0) -> None:
        """An ellipse."""
        at = self._at([centre])[0]
        self.canvas.disc(at, (radii[0] * self.scale, radii[1] * self.scale), self._lit(colour, more), -tilt * self.spot.facing)

    def discs(self, centres: Point, radii: Point, colours: NDArray[np.float64]) -> None:
        """Many ellipses: centres (n, 2) and radii (n, 2) in metres, colours (n, 3)."""
        self.canvas.discs(self._at(centres), radii * self.scale, np.clip(colours * self.bright, 0, 1))

    def polygon(self, points: list[tuple[float, float]], colour: Colour, more: float = 1.0) -> None:
        """A polygon."""
        self.canvas.polygon(self._at(points), self._lit(colour, more))

    def ring(self, centre: tuple[float, float], radius: float, thick: float, colour: Colour) -> None:
        """A wheel's rim, made of short rods."""
        turn = np.linspace(0, 2 * np.pi, 19)
        points = [(centre[0] + radius * float(np.cos(t)), centre[1] + radius * float(np.sin(t))) for t in turn]
        for start, end in pairwise(points):
            self.limb(start, end, (thick, thick), colour)


def _pick(colours: tuple[Colour, ...], rng: np.random.Generator) -> Colour:
    base = np.array(colours[int(rng.integers(len(colours)))]) * rng.uniform(0.85, 1.15)
    red, green, blue = (float(part) for part in np.clip(base, 0.02, 0.95))
    return red, green, blue


def person(spot: Spot, camera: Camera, light: Light, rng: np.random.Generator) -> StreetCanvas:
    """Somebody walking or standing, seen from a random side."""
    tall = float(rng.uniform(1.55, 1.88)) * (0.72 if rng.random() < 0.08 else 1.0)
    pen = Pen(spot, (0.62, tall + 0.15), camera, light)
    coat, trousers, skin, hair = (_pick(kind, rng) for kind in (CLOTHES, TROUSERS, SKINS, HAIRS))
    is_side = rng.random() < 0.55
    stride = float(rng.uniform(0.08, 0.30)) if is_side else float(rng.uniform(0.03, 0.08))
    hip, shoulder, build = 0.50 * tall, 0.815 * tall, float(rng.uniform(0.92, 1.15))
    _legs(pen, (hip, stride, build), (trousers, _pick(TROUSERS, rng)), is_side)
    wide = 0.125 * build if is_side else 0.19 * build
    swing = stride * 0.9
    sleeve = 0.045 * build
    if is_side:
        pen.limb((-0.01, shoulder - 0.05), (-swing, hip + 0.02), (sleeve, sleeve * 0.8), coat, 0.78)
    long = hip - (0.22 * tall if rng.random() < 0.3 else 0.05)
    pen.polygon([(-wide * 0.98, shoulder - 0.03), (wide * 0.98, shoulder - 0.03), (wide * 1.02, long), (-wide * 1.02, long)], coat)
    pen.limb((-wide * 0.62, shoulder - 0.03), (wide * 0.62, shoulder - 0.03), (0.06, 0.06), coat, 1.05)
    pen.polygon([(-wide, shoulder - 0.05), (-wide * 0.35, shoulder - 0.02), (-wide * 0.45, long), (-wide * 1.02, long)], coat, 0.84)
    if is_side:
        pen.limb((0.0, shoulder - 0.06), (swing, hip + 0.08), (sleeve, sleeve * 0.85), coat, 0.92)
        pen.disc((swing, hip + 0.03), (0.045, 0.05), skin)
    else:
        for side in (-1, 1):
            pen.limb((side * wide, shoulder - 0.07), (side * (wide + 0.05), hip + 0.02), (sleeve, sleeve * 0.85), coat, 0.9)
            pen.disc((side * (wide + 0.055), hip - 0.03), (0.042, 0.05), skin)
    _head(pen, (0.0, 0.93 * tall), (skin, hair), (is_side, bool(rng.random() < 0.5)))
    _bag(pen, (wide, shoulder, hip), is_side, rng)
    return pen.canvas


def _legs(pen: Pen, measures: tuple[float, float, float], colours: tuple[Colour, Colour], is_side: bool) -> None:
    hip, stride, build = measures
    trousers, shoes = colours
    apart = 0.0 if is_side else 0.085 * build
    for side, more in ((-1, 0.8), (1, 1.0)):
        foot = (side * stride + side * apart, 0.05)
        knee = (side * stride * 0.45 + side * apart + (0.06 if is_side else 0.0), hip * 0.52)
        pen.limb((side * apart * 0.9, hip), knee, (0.088 * build, 0.066 * build), trousers, more)
        pen.limb(knee, foot, (0.064 * build, 0.046 * build), trousers, more * 0.97)
        toe = foot[0] + (0.12 if is_side else 0.02 * side)
        pen.limb((foot[0], 0.04), (toe, 0.035), (0.048, 0.036), (shoes[0] * 0.6, shoes[1] * 0.6, shoes[2] * 0.6))


def _head(pen: Pen, centre: tuple[float, float], colours: tuple[Colour, Colour], view: tuple[bool, bool]) -> None:
    skin, hair = colours
    is_side, is_back = view
    x, y = centre
    pen.limb((x, y - 0.16), (x, y - 0.05), (0.05, 0.05), skin, 0.86)
    pen.disc((x, y), (0.085, 0.112), skin)
    if is_side:
        pen.disc((x - 0.03, y + 0.03), (0.085, 0.10), hair)
        pen.disc((x + 0.045, y - 0.025), (0.05, 0.07), skin)
    elif is_back:
        pen.disc((x, y + 0.015), (0.092, 0.115), hair)
    else:
        pen.disc((x, y + 0.065), (0.09, 0.062), hair)


def _bag(pen: Pen, measures: tuple[float, float, float], is_side: bool, rng: np.random.Generator) -> None:
    if rng.random() > 0.35:
        return
    wide, shoulder, hip = measures
    colour = _pick(CLOTHES, rng)
    if is_side:
        pen.disc((-wide * 1.15, (shoulder + hip) / 2 + 0.08), (0.10, 0.20), colour, 0.9)
    else:
        x = wide + 0.06
        pen.polygon([(x - 0.10, hip - 0.05), (x + 0.10, hip - 0.05), (x + 0.12, hip - 0.32), (x - 0.12, hip - 0.32)], colour)


def cyclist(spot: Spot, camera: Camera, light: Light, rng: np.random.Generator) -> StreetCanvas:
    """Somebody on a bicycle, from the side or from behind."""
    pen = Pen(spot, (1.05, 1.95), camera, light)
    coat, trousers, skin, frame = (_pick(kind, rng) for kind in (CLOTHES, TROUSERS, SKINS, CLOTHES))
    helmet = _pick(CLOTHES, rng) if rng.random() < 0.6 else _pick(HAIRS, rng)
    if rng.random() < 0.6:
        _bicycle_side(pen, frame)
        _rider_side(pen, (coat, trousers, skin, helmet), (0.98, float(rng.uniform(0, 2 * np.pi))))
    else:
        pen.limb((0, 0.02), (0, 0.68), (0.028, 0.028), RUBBER)
        pen.limb((-0.28, 1.03), (0.28, 1.03), (0.022, 0.022), METAL)
        for side, low in ((-1, 0.16), (1, 0.34)):
            pen.limb((side * 0.10, 0.92), (side * 0.14, low + 0.34), (0.085, 0.068), trousers, 0.92)
            pen.limb((side * 0.14, low + 0.34), (side * 0.12, low), (0.062, 0.048), trousers)
            pen.limb((side * 0.12, low), (side * 0.13, low - 0.04), (0.05, 0.05), (0.08, 0.08, 0.08))
        pen.polygon([(-0.19, 1.50), (0.19, 1.50), (0.17, 0.92), (-0.17, 0.92)], coat)
        pen.limb((-0.12, 1.5), (0.12, 1.5), (0.07, 0.07), coat, 1.05)
        for side in (-1, 1):
            pen.limb((side * 0.19, 1.46), (side * 0.27, 1.08), (0.048, 0.04), coat, 0.88)
        pen.disc((0, 1.70), (0.09, 0.115), skin)
        pen.disc((0, 1.735), (0.10, 0.095), helmet)
    return pen.canvas


def _bicycle_side(pen: Pen, frame: Colour) -> None:
    rear, front = (-0.52, 0.34), (0.54, 0.34)
    for wheel in (rear, front):
        pen.ring(wheel, 0.32, 0.026, RUBBER)
        for turn in np.linspace(0, np.pi, 5, endpoint=False):
            dx, dy = 0.31 * float(np.cos(turn)), 0.31 * float(np.sin(turn))
            pen.limb((wheel[0] - dx, wheel[1] - dy), (wheel[0] + dx, wheel[1] + dy), (0.005, 0.005), METAL)
    crank, seat, head = (-0.08, 0.32), (-0.22, 0.88), (0.42, 0.88)
    for start, end in ((crank, seat), (crank, head), (seat, head), (rear, crank), (rear, seat), (head, front)):
        pen.limb(start, end, (0.021, 0.021), frame)
    pen.limb((0.40, 1.02), (0.50, 1.0), (0.022, 0.022), METAL)
    pen.limb((-0.32, 0.92), (-0.14, 0.92), (0.03, 0.022), RUBBER)


def _rider_side(pen: Pen, colours: tuple[Colour, Colour, Colour, Colour], pose: tuple[float, float]) -> None:
    coat, trousers, skin, helmet = colours
    hip_height, phase = pose
    hip = (-0.22, hip_height)
    for shift, more in ((np.pi, 0.78), (0.0, 1.0)):
        pedal = (-0.08 + 0.17 * float(np.cos(phase + shift)), 0.32 + 0.17 * float(np.sin(phase + shift)))
        knee = ((hip[0] + pedal[0]) / 2 + 0.24, (hip[1] + pedal[1]) / 2 + 0.10)
        pen.limb(hip, knee, (0.092, 0.068), trousers, more)
        pen.limb(knee, pedal, (0.064, 0.046), trousers, more)
        pen.limb(pedal, (pedal[0] + 0.12, pedal[1]), (0.045, 0.036), (0.08, 0.08, 0.08))
    neck = (0.14, hip_height + 0.50)
    pen.limb(hip, neck, (0.14, 0.13), coat)
    pen.limb((neck[0], neck[1] - 0.06), (0.30, 1.16), (0.052, 0.045), coat, 0.86)
    pen.limb((0.30, 1.16), (0.46, 1.04), (0.043, 0.036), coat, 0.86)
    pen.disc((0.22, neck[1] + 0.21), (0.09, 0.112), skin)
    pen.disc((0.20, neck[1] + 0.255), (0.115, 0.085), helmet)


def motorcycle(spot: Spot, camera: Camera, light: Light, rng: np.random.Generator) -> StreetCanvas:
    """A motorcycle with its rider, from the side or from behind."""
    pen = Pen(spot, (1.15, 1.75), camera, light)
    paint, jacket, trousers = (
        _pick(((0.55, 0.08, 0.08), (0.08, 0.10, 0.30), (0.10, 0.10, 0.11), (0.75, 0.45, 0.05), (0.15, 0.36, 0.20)), rng),
        _pick(CLOTHES[:5], rng),
        _pick(TROUSERS[:2], rng),
    )
    helmet = _pick(((0.85, 0.85, 0.85), (0.08, 0.08, 0.09), (0.60, 0.10, 0.10)), rng)
    if rng.random() < 0.6:
        _motorcycle_side(pen, paint, (jacket, trousers, helmet))
        return pen.canvas
    pen.limb((0, 0.04), (0, 0.58), (0.075, 0.075), RUBBER)
    pen.polygon([(-0.13, 0.86), (0.13, 0.86), (0.17, 0.55), (-0.17, 0.55)], paint)
    pen.polygon([(-0.09, 0.76), (0.09, 0.76), (0.08, 0.67), (-0.08, 0.67)], (0.70, 0.05, 0.05))
    pen.polygon([(-0.09, 0.54), (0.09, 0.54), (0.09, 0.43), (-0.09, 0.43)], (0.80, 0.74, 0.35))
    pen.limb((0.20, 0.34), (0.22, 0.46), (0.055, 0.05), METAL)
    pen.limb((-0.40, 1.04), (0.40, 1.04), (0.024, 0.024), METAL)
    for side in (-1, 1):
        pen.limb((side * 0.13, 0.86), (side * 0.26, 0.58), (0.09, 0.07), trousers, 0.95)
        pen.limb((side * 0.26, 0.58), (side * 0.23, 0.26), (0.066, 0.056), trousers)
        pen.limb((side * 0.46, 1.10), (side * 0.44, 0.98), (0.045, 0.035), METAL)
    pen.polygon([(-0.21, 1.36), (0.21, 1.36), (0.18, 0.82), (-0.18, 0.82)], jacket)
    pen.limb((-0.13, 1.36), (0.13, 1.36), (0.08, 0.08), jacket, 1.06)
    for side in (-1, 1):
        pen.limb((side * 0.21, 1.33), (side * 0.37, 1.07), (0.058, 0.048), jacket, 0.86)
    pen.disc((0, 1.57), (0.135, 0.15), helmet)
    return pen.canvas


def _motorcycle_side(pen: Pen, paint: Colour, rider: tuple[Colour, Colour, Colour]) -> None:
    jacket, trousers, helmet = rider
    for x in (-0.66, 0.70):
        pen.disc((x, 0.31), (0.31, 0.31), RUBBER)
        pen.disc((x, 0.31), (0.19, 0.19), METAL)
        pen.disc((x, 0.31), (0.15, 0.15), (0.12, 0.12, 0.13))
    pen.polygon([(-0.40, 0.55), (0.34, 0.62), (0.26, 0.20), (-0.28, 0.20)], (0.16, 0.16, 0.17))
    pen.disc((0.0, 0.36), (0.19, 0.15), METAL)
    pen.limb((-0.15, 0.24), (-0.92, 0.32), (0.045, 0.06), (0.55, 0.56, 0.58))
    pen.limb((0.70, 0.31), (0.44, 0.92), (0.035, 0.035), METAL)
    pen.limb((-0.02, 0.78), (0.38, 0.80), (0.14, 0.10), paint)
    pen.limb((-0.82, 0.80), (-0.05, 0.74), (0.06, 0.085), RUBBER)
    pen.polygon([(-0.95, 0.84), (-0.55, 0.76), (-0.50, 0.58), (-0.80, 0.66)], paint, 0.9)
    pen.disc((0.52, 0.88), (0.10, 0.11), (0.85, 0.85, 0.78))
    pen.limb((0.40, 1.04), (0.30, 1.02), (0.025, 0.025), METAL)
    pen.limb((-0.22, 0.86), (0.16, 0.66), (0.10, 0.08), trousers)
    pen.limb((0.16, 0.66), (-0.02, 0.28), (0.075, 0.06), trousers)
    pen.limb((-0.02, 0.25), (0.14, 0.22), (0.055, 0.045), RUBBER)
    pen.limb((-0.24, 0.88), (0.0, 1.30), (0.15, 0.15), jacket)
    pen.limb((0.0, 1.28), (0.16, 1.06), (0.065, 0.055), jacket, 0.85)
    pen.limb((0.16, 1.06), (0.34, 1.03), (0.05, 0.042), jacket, 0.85)
    pen.disc((0.06, 1.52), (0.145, 0.15), helmet)
    pen.disc((0.145, 1.52), (0.065, 0.06), (0.08, 0.09, 0.10))


def dog(spot: Spot, camera: Camera, light: Light, rng: np.random.Generator) -> StreetCanvas:
    """A dog from the side."""
    tall = float(rng.uniform(0.50, 0.70))
    return _beast(Pen(spot, (1.3 * tall, 1.65 * tall), camera, light), tall, True, rng)


def cat(spot: Spot, camera: Camera, light: Light, rng: np.random.Generator) -> StreetCanvas:
    """A cat from the side."""
    tall = float(rng.uniform(0.30, 0.38))
    return _beast(Pen(spot, (1.3 * tall, 1.65 * tall), camera, light), tall, False, rng)


def _beast(pen: Pen, tall: float, is_dog: bool, rng: np.random.Generator) -> StreetCanvas:
    fur = _pick(FURS, rng)
    second = _pick(FURS, rng) if rng.random() < 0.4 else fur
    back, long, thick = tall * 0.78, tall * 0.58, tall * (0.19 if is_dog else 0.20)
    step = float(rng.uniform(-0.15, 0.15)) * tall
    for x, shift, more in ((-long, step, 0.75), (long * 0.85, -step, 0.75), (-long, -step, 1.0), (long * 0.85, step, 1.0)):
        pen.limb((x, back * 0.72), (x + shift, tall * 0.04), (tall * 0.095, tall * 0.05), fur, more)
    pen.limb((-long, back * 0.86), (long * 0.9, back * 0.88), (thick * 0.92, thick * 1.05), fur)
    pen.limb((-long * 0.6, back * 0.74), (long * 0.6, back * 0.74), (thick * 0.6, thick * 0.7), second, 0.88)
    head = (long * 1.38, tall * (1.18 if is_dog else 1.0))
    pen.limb((long * 0.9, back * 0.95), head, (thick * 0.8, thick * 0.62), fur)
    pen.disc(head, (tall * 0.165, tall * 0.15), fur)
    if is_dog:
        pen.limb(head, (head[0] + tall * 0.24, head[1] - tall * 0.06), (tall * 0.09, tall * 0.06), second)
        pen.disc((head[0] + tall * 0.30, head[1] - tall * 0.04), (tall * 0.03, tall * 0.03), (0.05, 0.05, 0.05))
        pen.disc((head[0] - tall * 0.09, head[1] - tall * 0.02), (tall * 0.055, tall * 0.13), fur, 0.7, 0.2)
        pen.limb((-long, back * 0.95), (-long - tall * 0.32, back * 1.35), (tall * 0.06, tall * 0.03), fur)
        return pen.canvas
    for shift in (-0.08, 0.07):
        x = head[0] + shift * tall
        pen.polygon(
            [(x - 0.05 * tall, head[1] + 0.08 * tall), (x + 0.06 * tall, head[1] + 0.08 * tall), (x, head[1] + 0.26 * tall)], fur, 0.85
        )
    pen.disc((head[0] + tall * 0.13, head[1] - tall * 0.05), (tall * 0.06, tall * 0.05), second)
    pen.limb((-long, back * 0.95), (-long - tall * 0.30, back * 1.25), (tall * 0.05, tall * 0.045), fur)
    pen.limb((-long - tall * 0.30, back * 1.25), (-long - tall * 0.22, back * 1.75), (tall * 0.045, tall * 0.035), fur)
    return pen.canvas


def bird(spot: Spot, camera: Camera, light: Light, rng: np.random.Generator) -> StreetCanvas:
    """A pigeon or a gull that stands on the ground."""
    tall = float(rng.uniform(0.26, 0.36))
    pen = Pen(spot, (1.1 * tall, 1.3 * tall), camera, light)
    body = _pick(((0.42, 0.44, 0.48), (0.86, 0.86, 0.86), (0.14, 0.14, 0.16), (0.52, 0.42, 0.34)), rng)
    for x in (-0.08, 0.06):
        pen.limb((x * tall, tall * 0.35), (x * tall, 0.01), (tall * 0.03, tall * 0.03), (0.62, 0.35, 0.25))
    pen.limb((-tall * 0.75, tall * 0.42), (-tall * 0.2, tall * 0.55), (tall * 0.05, tall * 0.18), body, 0.8)
    pen.disc((0.0, tall * 0.56), (tall * 0.42, tall * 0.25), body, 1.0, 0.35)
    pen.disc((-tall * 0.10, tall * 0.56), (tall * 0.34, tall * 0.15), body, 0.76, 0.25)
    pen.limb((tall * 0.25, tall * 0.65), (tall * 0.36, tall * 0.92), (tall * 0.16, tall * 0.11), body, 0.9)
    pen.disc((tall * 0.38, tall * 0.96), (tall * 0.13, tall * 0.12), body)
    pen.limb((tall * 0.48, tall * 0.95), (tall * 0.62, tall * 0.91), (tall * 0.045, tall * 0.015), (0.80, 0.60, 0.20))
    return pen.canvas
