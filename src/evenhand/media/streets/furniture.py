"""What stands along a street: traffic lights and signs (objects to recognise), trees and lamps (part of the scenery)."""

from __future__ import annotations

import numpy as np

from evenhand.media.streets.brush import Colour, StreetCanvas
from evenhand.media.streets.camera import Camera
from evenhand.media.streets.figures import Pen, Spot
from evenhand.media.streets.light import Light

POLE: Colour = (0.36, 0.37, 0.38)
DARK: Colour = (0.07, 0.07, 0.075)


def traffic_light(spot: Spot, camera: Camera, light: Light, rng: np.random.Generator) -> StreetCanvas:
    """Three lamps on a pole."""
    pen = Pen(spot, (0.4, 3.4), camera, light)
    pen.limb((0, 0), (0, 3.0), (0.055, 0.05), POLE)
    pen.polygon([(-0.19, 3.25), (0.19, 3.25), (0.19, 2.22), (-0.19, 2.22)], DARK)
    burning = int(rng.integers(3))
    for place, (colour, up) in enumerate((((1.0, 0.12, 0.08), 3.06), ((1.0, 0.65, 0.08), 2.74), ((0.10, 0.95, 0.45), 2.42))):
        shine = 1.0 / max(pen.bright, 0.2) if place == burning else 0.22
        pen.disc((0, up), (0.125, 0.125), colour, shine)
    return pen.canvas


def sign(spot: Spot, camera: Camera, light: Light, rng: np.random.Generator) -> StreetCanvas:
    """A round, triangular or square plate on a pole."""
    pen = Pen(spot, (0.5, 2.9), camera, light)
    pen.limb((0, 0), (0, 2.4), (0.035, 0.035), POLE)
    kind = int(rng.integers(4))
    if kind == 0:
        pen.disc((0, 2.35), (0.34, 0.34), (0.80, 0.08, 0.10))
        pen.disc((0, 2.35), (0.25, 0.25), (0.94, 0.94, 0.94))
        pen.polygon([(-0.10, 2.46), (0.10, 2.46), (0.08, 2.24), (-0.08, 2.24)], DARK)
    elif kind == 1:
        pen.polygon([(-0.42, 2.05), (0.42, 2.05), (0, 2.78)], (0.80, 0.08, 0.10))
        pen.polygon([(-0.28, 2.13), (0.28, 2.13), (0, 2.60)], (0.94, 0.94, 0.94))
        pen.limb((0, 2.22), (0, 2.42), (0.04, 0.05), DARK)
    elif kind == 2:
        pen.disc((0, 2.35), (0.34, 0.34), (0.08, 0.22, 0.60))
        pen.polygon([(-0.05, 2.52), (0.05, 2.52), (0.05, 2.16), (-0.05, 2.16)], (0.95, 0.95, 0.95))
    else:
        pen.polygon([(-0.30, 2.70), (0.30, 2.70), (0.30, 2.05), (-0.30, 2.05)], (0.10, 0.26, 0.62))
        pen.polygon([(-0.13, 2.58), (0.15, 2.58), (0.15, 2.32), (-0.05, 2.30), (-0.05, 2.14), (-0.13, 2.14)], (0.95, 0.95, 0.95))
    return pen.canvas


def lamp(spot: Spot, camera: Camera, light: Light, rng: np.random.Generator) -> StreetCanvas:
    """A street lamp that leans over the road."""
    tall = float(rng.uniform(5.5, 7.0))
    pen = Pen(spot, (1.8, tall + 0.4), camera, light)
    pen.limb((0, 0), (0, 0.9), (0.09, 0.075), POLE)
    pen.limb((0, 0.9), (0, tall), (0.055, 0.04), POLE)
    pen.limb((0, tall), (1.1, tall + 0.15), (0.035, 0.03), POLE)
    pen.limb((1.0, tall + 0.12), (1.5, tall + 0.14), (0.07, 0.06), POLE, 1.2)
    return pen.canvas


def tree(spot: Spot, camera: Camera, light: Light, rng: np.random.Generator) -> StreetCanvas:
    """A street tree: trunk, branches, and leaves in many small discs, darker below."""
    tall = float(rng.uniform(5.0, 8.5))
    pen = Pen(spot, (3.0, tall + 1.8), camera, light)
    bark: Colour = (0.26, 0.21, 0.17)
    pen.limb((0, 0), (0.05, tall * 0.45), (0.16, 0.11), bark)
    for side in (-1, 1):
        pen.limb((0.05, tall * 0.40), (side * 0.8, tall * 0.7), (0.09, 0.04), bark, 0.9)
    leaf = np.array([[0.22, 0.32, 0.14], [0.30, 0.36, 0.15], [0.40, 0.30, 0.12], [0.18, 0.28, 0.16]][int(rng.integers(4))])
    n = 150 if spot.ahead < 25 else 60
    angles, reach = rng.uniform(0, 2 * np.pi, n), np.sqrt(rng.uniform(0, 1, n))
    x, y = reach * np.cos(angles) * tall * 0.27, tall * 0.72 + reach * np.sin(angles) * tall * 0.29
    order = np.argsort(rng.uniform(0, 1, n) + (y - y.min()) / (np.ptp(y) + 1e-6) * 0.7)
    tone = 0.62 + 0.55 * (y - tall * 0.43) / (tall * 0.58) + rng.uniform(-0.12, 0.12, n)
    size = rng.uniform(0.16, 0.38, n) * (1.0 if n == 150 else 1.5)
    squash = rng.uniform(0.65, 1.2, n)
    radii = np.stack([size * squash, size / squash], axis=1)
    pen.discs(np.stack([x, y], axis=1)[order], radii[order], np.clip(leaf * tone[:, None], 0.03, 0.9)[order])
    return pen.canvas
