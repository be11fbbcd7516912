"""The empty street: sky, house fronts, road and pavement, computed for every pixel from the street's plan, with regions and depth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import require
from evenhand.media.scene import BUILDING, PAVEMENT, PLANTS, ROAD, SKY, Regions
from evenhand.media.streets.camera import Camera
from evenhand.media.streets.light import Light, with_haze

Floats = NDArray[np.float32]
FINE = 2  # pixels are computed this many times finer each way and then averaged

BRICKS = np.array(
    [
        [0.55, 0.34, 0.27],
        [0.62, 0.45, 0.34],
        [0.72, 0.66, 0.56],
        [0.82, 0.78, 0.70],
        [0.48, 0.42, 0.38],
        [0.66, 0.58, 0.50],
        [0.70, 0.52, 0.42],
        [0.58, 0.60, 0.60],
        [0.78, 0.70, 0.58],
        [0.42, 0.33, 0.30],
    ],
    np.float32,
)
SHOPS = np.array(
    [
        [0.16, 0.22, 0.20],
        [0.30, 0.12, 0.13],
        [0.13, 0.17, 0.27],
        [0.12, 0.12, 0.13],
        [0.24, 0.30, 0.22],
        [0.36, 0.30, 0.20],
    ],
    np.float32,
)


@dataclass(frozen=True)
class HouseFront:
    """One side's row of houses, as arrays over the houses."""

    starts: NDArray[np.float64]  # metres ahead where each house begins
    heights: Floats
    colours: Floats  # (houses, 3)
    floors: Floats  # metres per floor
    pitches: Floats  # metres between window axes
    widths: Floats  # metres of glass
    shops: NDArray[np.bool_]
    signs: Floats  # (houses, 3)


@dataclass(frozen=True)
class Wall:
    """Where a picture shows a row of houses: the house of each column, metres along it, and metres above the ground of each pixel."""

    front: HouseFront
    house: NDArray[np.intp]
    along: Floats
    level: Floats


@dataclass(frozen=True)
class StreetPlan:
    """A street seen from above."""

    road: float  # half width in metres
    pavement: float
    left: HouseFront
    right: HouseFront
    end: float
    marking: str
    crossing: float  # metres ahead; infinity for none
    phase: float
    grey: float


def sample_plan(rng: np.random.Generator) -> StreetPlan:
    """A random street."""
    crossing = float(rng.uniform(9, 25)) if rng.random() < 0.25 else float("inf")
    marking = str(rng.choice(["dashes", "dashes", "line", "none"]))
    return StreetPlan(
        float(rng.uniform(3.6, 5.6)),
        float(rng.uniform(2.2, 3.8)),
        _front(rng),
        _front(rng),
        float(rng.uniform(85, 140)),
        marking,
        crossing,
        float(rng.uniform(0, 6)),
        float(rng.uniform(0.30, 0.42)),
    )


def _front(rng: np.random.Generator) -> HouseFront:
    spans = rng.uniform(5.5, 14, 40)
    n = len(spans)
    sign = SHOPS[rng.integers(0, len(SHOPS), n)] * rng.uniform(0.8, 1.3, (n, 1)).astype(np.float32)
    colours = BRICKS[rng.integers(0, len(BRICKS), n)] * rng.uniform(0.85, 1.1, (n, 1)).astype(np.float32)
    floors = rng.uniform(2.9, 3.6, n)
    storeys = np.clip(rng.integers(2, 4) + np.cumsum(rng.choice([-1, 0, 0, 0, 1], n)), 2, 4)  # neighbours are about equally tall
    heights = 3.2 * storeys + rng.uniform(0.4, 1.6, n)
    parts = (heights, colours, floors, rng.uniform(1.8, 3.0, n), rng.uniform(0.85, 1.35, n))
    heights32, colours32, floors32, pitches, widths = (np.asarray(part, np.float32) for part in parts)
    starts = np.concatenate([[-8.0], -8.0 + np.cumsum(spans)[:-1]])
    return HouseFront(starts, heights32, colours32, floors32, pitches, widths, rng.random(n) < 0.5, np.asarray(sign, np.float32))


def smooth_noise(shape: tuple[int, int], cells: tuple[int, int], rng: np.random.Generator, octaves: int = 4) -> Floats:
    """Noise around zero, about one high, whose largest features span the picture over `cells`."""
    cv2 = require("cv2", "image")
    total = np.zeros(shape, np.float32)
    for octave in range(octaves):
        grid = (min(shape[0], cells[0] * 2**octave), min(shape[1], cells[1] * 2**octave))
        coarse = rng.standard_normal(grid, np.float32)
        total += cv2.resize(coarse, shape[::-1], interpolation=cv2.INTER_CUBIC) * np.float32(0.5**octave)
    return total * np.float32(0.6)


def _to_and_fro(values: Floats, length: int) -> Floats:
    """Along a tile and back again: its edges never meet, so that no seam shows."""
    return np.asarray(length - np.abs(np.mod(values, 2 * length) - length), np.float32)


@dataclass(frozen=True)
class Backdrop:
    """The finished empty street, at the picture's own size."""

    colour: Floats
    regions: Regions
    depth: Floats
    lit: Floats  # 1 where the sun reaches the ground, else less


class Painter:
    """Computes one backdrop; holds the pixel grids that its parts share."""

    def __init__(self, camera: Camera, plan: StreetPlan, light: Light, rng: np.random.Generator) -> None:
        self.camera, self.plan, self.light, self.rng = camera, plan, light, rng
        rows, columns = camera.height * FINE, camera.width * FINE
        self.shape = (rows, columns)
        self.y = ((np.arange(rows, dtype=np.float32) + 0.5) / FINE - camera.horizon)[:, None]
        self.x = ((np.arange(columns, dtype=np.float32) + 0.5) / FINE - camera.centre)[None, :]

    def paint(self) -> Backdrop:
        """Sky first, then the end of the street, the fronts and the ground."""
        colour = self._sky()
        regions = np.full(self.shape, SKY, np.uint8)
        depth = np.full(self.shape, 1000.0, np.float32)
        self._far_end(colour, regions, depth)
        lit = np.ones(self.shape, np.float32)
        for side in (-1, 1):
            self._houses(side, colour, regions, depth)
        self._ground(colour, regions, depth, lit)
        cv2 = require("cv2", "image")
        size = (self.camera.width, self.camera.height)
        small: Floats = cv2.resize(colour, size, interpolation=cv2.INTER_AREA)
        every = slice(FINE // 2, None, FINE)
        return Backdrop(
            small, regions[every, every].copy(), depth[every, every].copy(), cv2.resize(lit, size, interpolation=cv2.INTER_AREA)
        )

    def _sky(self) -> Floats:
        up = np.clip(-self.y / max(self.camera.horizon, 1.0), 0, 1) ** 0.8
        zenith, haze = np.array(self.light.zenith, np.float32), np.array(self.light.haze, np.float32)
        sky = (haze + (zenith - haze) * up[..., None]) * np.ones((*self.shape, 1), np.float32)
        cover = {"clear": 0.35, "dusk": 0.5}.get(self.light.weather, 0.12)
        clouds = np.clip(smooth_noise(self.shape, (5, 3), self.rng, 6) - 0.12, 0, 1)[..., None] * np.float32(cover)
        return np.asarray(sky + (np.float32(0.97) - sky) * np.clip(clouds * 1.6, 0, 0.85), np.float32)

    def _far_end(self, colour: Floats, regions: Regions, depth: Floats) -> None:
        end = self.plan.end
        profile = smooth_noise((1, self.shape[1]), (1, 40), self.rng, 4)[0] * 1.6 + self.rng.uniform(5, 9)
        top = (self.camera.eye - profile) * self.camera.focal / end
        inside = (self.y > top[None, :]) & (self.y < self.camera.focal * self.camera.eye / end + 1)
        leaf = np.array([0.24, 0.29, 0.20], np.float32) * (1 + 0.25 * smooth_noise(self.shape, (90, 120), self.rng, 2)[..., None])
        colour[inside] = with_haze(leaf[inside] * np.float32(self.light.ambient + self.light.direct * 0.4), end, self.light)
        regions[inside], depth[inside] = PLANTS, end

    def _houses(self, side: int, colour: Floats, regions: Regions, depth: Floats) -> None:
        front = self.plan.left if side < 0 else self.plan.right
        wall = self.plan.road + self.plan.pavement
        columns = np.flatnonzero((self.x[0] * side) > 1.0)
        ahead = (wall * self.camera.focal / np.abs(self.x[0, columns])).astype(np.float32)  # (columns,)
        columns, ahead = columns[ahead < self.plan.end], ahead[ahead < self.plan.end]
        house = np.clip(np.searchsorted(front.starts, ahead, side="right") - 1, 0, len(front.heights) - 1)
        level = self.camera.eye - self.y * ahead[None, :] / self.camera.focal  # (rows, columns) metres above ground
        inside = (level > 0) & (level < front.heights[house][None, :])
        wallpaint = self._facade(side, front, house, ahead, level)
        part = colour[:, columns]
        part[inside] = wallpaint[inside]
        colour[:, columns] = part
        regions[:, columns] = np.where(inside, np.uint8(BUILDING), regions[:, columns])
        depth[:, columns] = np.where(inside, ahead[None, :], depth[:, columns])

    def _facade(self, side: int, front: HouseFront, house: NDArray[np.intp], ahead: Floats, level: Floats) -> Floats:
        """Wall, windows, shop fronts, cornice and door step, in metres on the wall."""
        along = (ahead - front.starts[house]).astype(np.float32)
        pitch, glass, floor = front.pitches[house], front.widths[house], front.floors[house]
        height = front.heights[house]
        texture = 1 + 0.07 * smooth_noise(level.shape, (60, 40), self.rng, 4)
        paint = np.asarray(front.colours[house][None] * texture[..., None], np.float32)
        courses = 0.03 * np.sin(level * (2 * np.pi / 0.3)) * np.clip(8 / ahead[None, :], 0, 1)
        paint *= (1 + courses)[..., None].astype(np.float32)
        u = np.abs(np.mod(along, pitch) - pitch / 2)[None, :]
        v = np.mod(level, floor[None, :])
        storey, axis = np.floor(level / floor[None, :]), np.floor(along / pitch)[None, :]
        whole = level + 0.4 < height[None, :]
        is_shop = front.shops[house][None, :] & (level < floor[None, :])
        window = whole & ~is_shop & (u < glass[None, :] / 2) & (v > 0.9) & (v < 2.45) & (level > 0.9)
        frame = whole & ~is_shop & (u < glass[None, :] / 2 + 0.12) & (v > 0.78) & (v < 2.57) & ~window & (level > 0.7)
        paint[frame] = np.minimum(paint[frame] * 1.25 + 0.06, 0.9)
        mood = np.mod(np.sin(axis * 12.9898 + storey * 78.233 + house[None, :] * 37.7) * 43758.5453, 1.0).astype(np.float32)
        shine = 0.16 + 0.22 * mood + 0.10 * (v - 0.9)
        bars = (np.abs(u) < 0.03) | (np.abs(v - 1.7) < 0.03)
        shine = np.where(bars, 0.62, shine)
        blue = np.array([0.92, 1.0, 1.1], np.float32)
        paint[window] = (shine[window, None] * blue).astype(np.float32)
        self._shop(Wall(front, house, along, level), paint, is_shop)
        cornice = (level > height[None, :] - 0.35) | (np.abs(v - floor[None, :] + 0.1) < 0.07) & ~is_shop
        paint[cornice] *= 1.14
        edge = (along < 0.12)[None, :] & np.ones_like(is_shop)
        paint[edge] *= 0.8
        facing = max(0.0, -side * self.light.sun[0])
        glow = self.light.ambient * 0.92 + self.light.direct * facing * 1.1
        paint *= np.float32(glow) * (0.86 + 0.14 * np.clip(level / 5, 0, 1))[..., None].astype(np.float32)
        hazy: Floats = with_haze(paint, np.broadcast_to(ahead[None, :], level.shape), self.light)
        return hazy

    @staticmethod
    def _shop(wall: Wall, paint: Floats, is_shop: NDArray[Any]) -> None:
        along, level = wall.along, wall.level
        sign = np.broadcast_to(wall.front.signs[wall.house][None], paint.shape)
        floor = np.broadcast_to(wall.front.floors[wall.house][None, :], level.shape)
        paint[is_shop] = sign[is_shop]
        pane = is_shop & (level > 0.5) & (level < floor - 0.75) & (np.mod(along, 1.9) > 0.14)[None, :]
        glow = 0.13 + 0.10 * np.mod(np.sin(np.floor(along / 1.9) * 91.7) * 4375.85, 1.0)[None, :] + 0.05 * level
        paint[pane] = (np.broadcast_to(glow, level.shape)[pane, None] * np.array([1.05, 1.0, 0.92], np.float32)).astype(np.float32)
        band = is_shop & (level > floor - 0.6) & (level < floor - 0.2) & (np.mod(along * 2.3, 1.0) > 0.45)[None, :] & (along > 1.5)[None, :]
        paint[band] = paint[band] * 0.5 + 0.38

    def _ground(self, colour: Floats, regions: Regions, depth: Floats, lit: Floats) -> None:
        first = int(np.searchsorted(self.y[:, 0], 0.35 * self.camera.focal * self.camera.eye / self.plan.end))
        rows = self.y[first:, 0]
        rows = np.maximum(rows, 0.05)
        ahead = (self.camera.focal * self.camera.eye / rows)[:, None].astype(np.float32)
        across = np.asarray(self.x * ahead / self.camera.focal, np.float32)
        wall = self.plan.road + self.plan.pavement
        inside = (np.abs(across) < wall) & (ahead < self.plan.end)
        road = np.abs(across) < self.plan.road
        paint = np.where(road[..., None], self._asphalt(across, ahead), self._slabs(across, ahead))
        kerb = np.abs(np.abs(across) - self.plan.road) < 0.09
        paint[kerb] = 0.56
        gutter = (np.abs(across) > self.plan.road - 0.32) & (np.abs(across) < self.plan.road - 0.09)
        paint[gutter] *= 0.86
        sunny = self._sunny(across, ahead)
        glow = self.light.ambient + self.light.direct * self.light.sun[1] * sunny
        paint = with_haze(np.asarray(paint * glow[..., None], np.float32), np.broadcast_to(ahead, across.shape), self.light)
        if self.light.wet:
            paint = self._mirror(paint, colour, first)
        part = colour[first:]
        part[inside] = paint[inside]
        regions[first:][inside] = np.where(road, np.uint8(ROAD), np.uint8(PAVEMENT))[inside]
        depth[first:][inside] = np.broadcast_to(ahead, across.shape)[inside]
        lit[first:][inside] = sunny[inside]

    def _sampled(self, across: Floats, ahead: Floats, metres: float, octaves: int) -> Floats:
        """A repeating noise texture laid on the ground, fading where it would flicker."""
        cv2 = require("cv2", "image")
        tile = smooth_noise((512, 512), (16, 16), self.rng, octaves)
        u, v = (_to_and_fro(part * np.float32(512 / metres), 511) for part in (across, np.broadcast_to(ahead, across.shape)))
        texture: Floats = cv2.remap(tile, u, v, cv2.INTER_LINEAR)
        return np.asarray(texture * np.clip(9 / ahead, 0.06, 1), np.float32)

    def _asphalt(self, across: Floats, ahead: Floats) -> Floats:
        base = self.plan.grey + 0.02 * self._sampled(across, ahead, 2.0, 5) + 0.022 * self._sampled(across, ahead, 23.0, 3)
        tracks = np.exp(-(((np.abs(across) - self.plan.road * 0.28) / 0.3) ** 2)) + np.exp(
            -(((np.abs(across) - self.plan.road * 0.7) / 0.3) ** 2)
        )
        base = base - 0.02 * tracks
        paint = np.repeat(base[..., None], 3, axis=2).astype(np.float32) * np.array([1.0, 1.0, 1.02], np.float32)
        soft = self.camera.focal / ahead
        wear = 0.80 + 0.1 * self._sampled(across, ahead, 1.3, 5)
        line = np.clip((0.07 - np.abs(across)) * soft + 0.5, 0, 1)
        if self.plan.marking == "dashes":
            line = line * (np.mod(ahead + self.plan.phase, 6.0) < 3.0)
        if self.plan.marking == "none":
            line = line * 0
        stripes = (np.mod(across + 0.25, 1.0) < 0.5) & (np.abs(ahead - self.plan.crossing) < 1.5) & (np.abs(across) < self.plan.road - 0.3)
        white = np.maximum(line * (np.abs(ahead - self.plan.crossing) > 3.2), stripes) * np.clip(wear, 0, 1)
        paint += white[..., None].astype(np.float32) * (np.float32(0.82) - paint)
        double = np.minimum(np.abs(np.abs(across) - self.plan.road + 0.42), np.abs(np.abs(across) - self.plan.road + 0.62))
        yellow = np.clip((0.045 - double) * soft + 0.4, 0, 1) * np.clip(wear - 0.1, 0, 1) * (np.abs(ahead - self.plan.crossing) > 3.2)
        amber = np.array([0.78, 0.66, 0.30], np.float32)
        return np.asarray(paint + yellow[..., None].astype(np.float32) * (amber - paint), np.float32)

    def _slabs(self, across: Floats, ahead: Floats) -> Floats:
        row = np.floor(ahead / 0.6)
        u, v = np.mod(across + 0.3 * np.mod(row, 2), 0.75), np.mod(ahead, 0.6)
        tone = np.mod(np.sin(np.floor((across + 0.3 * np.mod(row, 2)) / 0.75) * 12.9 + row * 78.2) * 4375.5, 1.0)
        base = 0.50 + 0.05 * tone * np.clip(12 / ahead, 0, 1) + 0.02 * self._sampled(across, ahead, 1.7, 5)
        joint = ((u < 0.02) | (v < 0.02)) * np.clip(7 / ahead, 0, 1)
        grey = (base * (1 - 0.32 * joint)).astype(np.float32)
        return np.asarray(grey[..., None] * np.array([1.0, 0.98, 0.94], np.float32), np.float32)

    def _sunny(self, across: Floats, ahead: Floats) -> Floats:
        """Where the houses on the sun's side let the sun through."""
        sun = np.array(self.light.sun)
        side = 1 if sun[0] > 0 else -1
        front = self.plan.left if side < 0 else self.plan.right
        reach = (self.plan.road + self.plan.pavement) - side * across  # metres to the wall on the sun's side
        hit = np.clip(reach, 0, None) / max(abs(sun[0]), 0.05)
        where = np.broadcast_to(ahead, across.shape) + hit * sun[2]
        house = np.clip(np.searchsorted(front.starts, where, side="right") - 1, 0, len(front.heights) - 1)
        excess = hit * sun[1] - front.heights[house]
        return np.asarray(np.clip(excess * 2.2 + 0.5, 0, 1), np.float32)

    def _mirror(self, paint: Floats, colour: Floats, first: int) -> Floats:
        """A wet road shows what stands above the horizon, upside down and blurred."""
        cv2 = require("cv2", "image")
        above = colour[max(0, 2 * first - self.shape[0]) : first][::-1]
        mirror = np.zeros_like(paint)
        rows = min(len(above), len(paint))
        mirror[:rows] = above[:rows]
        mirror[rows:] = above[-1] if rows else 0
        blurred = cv2.GaussianBlur(mirror, (0, 0), sigmaX=3, sigmaY=22)
        ripple = np.clip(0.34 + 0.2 * smooth_noise(paint.shape[:2], (20, 8), self.rng, 4), 0.08, 0.6)[..., None] * np.float32(
            self.light.wet
        )
        return np.asarray(paint * (0.86 - 0.4 * ripple) + blurred * ripple, np.float32)
