"""Hour and weather: where the sun is, how strong, the colour of sky and haze, and what the air and the lens add to a finished picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import require

Colour = tuple[float, float, float]
WEATHERS = ("clear", "overcast", "rain", "fog", "dusk")


@dataclass(frozen=True)
class Light:
    """One state of light and air."""

    weather: str
    sun: tuple[float, float, float]  # unit vector towards the sun
    direct: float
    ambient: float
    tint: Colour
    zenith: Colour
    haze: Colour
    sight: float  # metres after which the haze hides about two thirds
    wet: float


def sample_light(rng: np.random.Generator, weather: str | None = None) -> Light:
    """A random hour under the given, or a random, weather."""
    weather = weather or str(rng.choice(WEATHERS, p=[0.45, 0.25, 0.1, 0.08, 0.12]))
    side = rng.choice([-1.0, 1.0])
    towards = np.array([side * rng.uniform(0.35, 0.9), rng.uniform(0.6, 1.1), rng.uniform(-0.7, 0.3)])
    towards /= np.linalg.norm(towards)
    sun = (float(towards[0]), float(towards[1]), float(towards[2]))
    if weather == "clear":
        return Light(weather, sun, 0.80, 0.62, (1.0, 0.97, 0.9), (0.30, 0.50, 0.82), (0.78, 0.85, 0.92), 260.0, 0.0)
    if weather == "overcast":
        return Light(weather, sun, 0.12, 0.95, (0.97, 0.98, 1.0), (0.68, 0.72, 0.77), (0.80, 0.82, 0.84), 170.0, 0.0)
    if weather == "rain":
        return Light(weather, sun, 0.05, 0.74, (0.93, 0.96, 1.0), (0.50, 0.54, 0.59), (0.64, 0.67, 0.70), 95.0, 1.0)
    if weather == "fog":
        return Light(weather, sun, 0.04, 0.78, (0.98, 0.99, 1.0), (0.74, 0.76, 0.78), (0.76, 0.78, 0.79), 42.0, 0.2)
    return Light(weather, sun, 0.34, 0.58, (1.0, 0.86, 0.74), (0.28, 0.34, 0.52), (0.86, 0.66, 0.52), 190.0, 0.0)


def shade(normal: NDArray[np.float64], light: Light) -> float:
    """How bright a surface with this unit normal is."""
    return float(light.ambient * (0.82 + 0.18 * normal[1]) + light.direct * max(0.0, float(normal @ np.array(light.sun))))


def with_haze(colour: NDArray[np.float32], depth: NDArray[np.float32] | float, light: Light) -> NDArray[np.float32]:
    """Mix towards the haze with distance."""
    share = 1.0 - np.exp(-np.asarray(depth, np.float32) / light.sight)
    share = share[..., None] if np.ndim(share) else share
    mixed = colour * (1.0 - share) + np.array(light.haze, np.float32) * share
    return np.asarray(mixed, np.float32)


def develop(picture: NDArray[np.float32], light: Light, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Rain, vignette, tint, tone, lens softness and sensor noise; then eight bits."""
    cv2 = require("cv2", "image")
    height, width = picture.shape[:2]
    if light.weather == "rain":
        picture = _rain(cv2, picture, rng)
    y, x = np.mgrid[-1 : 1 : height * 1j, -1 : 1 : width * 1j]
    picture = picture * np.array(light.tint, np.float32) * (1.0 - 0.13 * (x * x + y * y) / 2)[..., None].astype(np.float32)
    picture = cv2.GaussianBlur(picture, (0, 0), 0.55)
    picture = np.clip(picture, 0, 1) ** np.float32(0.95)
    noise = rng.standard_normal((height, width, 1), np.float32) * 0.011 + rng.standard_normal((height, width, 3), np.float32) * 0.006
    return np.asarray(np.clip((picture + noise) * 255.0 + 0.5, 0, 255), np.uint8)


def _rain(cv2: Any, picture: NDArray[np.float32], rng: np.random.Generator) -> NDArray[np.float32]:
    height, width = picture.shape[:2]
    streaks = np.zeros((height, width), np.float32)
    slant = int(rng.integers(-4, 5))
    for _ in range(int(width * 0.6)):
        x, y, length = int(rng.integers(0, width)), int(rng.integers(0, height)), int(rng.integers(6, 17))
        cv2.line(streaks, (x, y), (x + slant * length // 16, y + length), float(rng.uniform(0.04, 0.16)), 1, cv2.LINE_AA)
    streaks = cv2.GaussianBlur(streaks, (0, 0), 0.7)[..., None]
    return np.asarray(picture * (1 - streaks) + streaks * 0.9, np.float32)
