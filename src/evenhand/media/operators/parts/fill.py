"""Filling a hole with shifted pieces of the same picture, matched along the rim and brought to its brightness.  Nothing is blurred."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import require
from evenhand.media.scene import Picture, PixelBox, Regions, Stencil, box_of

Floats = NDArray[np.float32]
CANDIDATES = 6
FADE = 3.5  # units over which the filling gives way to the picture
REACH = 0.16  # how far up or down a piece may come from, as a share of the hole's height
STEEP = 2.0  # what each unit of that costs
MOST_EVENED = 12.0  # levels
TAKEN = 5e4  # a cost that only pixels of other objects have
MOST_TAKEN = 0.02  # of a piece may have no free background at all
MOST_DRIFT = 14.0  # levels by which the filling may differ from the rim in tone: else it is a thing of another place
MOST_MISS = 2.5  # times the texture by which the rims may differ, root mean square: more is a patchwork
MOST_VISIBLE = 135.0  # levels of all steps along rim and seams over the hole's side; from about here on a filling was seen to be one
MOST_WALL, WIDEST_WALL = (
    0.012,
    0.12,
)  # of the picture and of its width: what a larger hole hides has a structure that copies do not continue
PAIRED = 4  # candidates of which pairs are tried
LEAST_TEXTURE = 4.0  # levels
SPECK = 60  # square units
USUAL_SIDE = 360  # pixels of a picture's shorter side at which a unit is one pixel: a larger picture shows the same at more pixels
MISPLACED = 6e3  # what ground in the place of a wall costs, or a wall in the place of ground: as much as a rim that differs by 45 levels
MOST_MISPLACED = 0.15  # of a piece may be of the other kind than its neighbours on both sides say
ANYTHING, GROUND = 0, 1
KIND_OF_REGION = np.array(
    [ANYTHING, GROUND, GROUND, GROUND, 2, 3, 4, ANYTHING], np.uint8
)  # sky, building and plants by numbers of their own
MOST_OVERLAP = 0.25  # of the hole with itself or with other objects
WORK_SIDE = 90  # a larger hole is matched on a smaller copy


@dataclass(frozen=True)
class FillCanvas:
    """A picture under repair: what may be neither source nor rim, and what kind of thing every pixel shows."""

    picture: Floats
    forbidden: Stencil  # other objects
    kinds: NDArray[np.uint8]  # of every pixel: ground, sky, building, plants, or anything
    has_regions: bool = False
    is_covered: bool = False  # whether the place is covered again, so that little of the filling is seen

    @property
    def ground(self) -> Stencil:
        """Which pixels are ground."""
        return np.asarray(self.kinds == GROUND, bool)

    @property
    def unit(self) -> float:
        """Pixels for what is one pixel in a picture of the usual size; no less than one."""
        return float(max(1.0, min(self.kinds.shape) / USUAL_SIDE))


@dataclass(frozen=True)
class Piece:
    """One connected piece of a hole: its pixels in the picture, its box with a rim, and inside that box its pixels and the known rim."""

    hole: Stencil
    box: PixelBox
    inner: Stencil
    known: Stencil

    def of(self, layer: NDArray[Any]) -> NDArray[Any]:
        """A layer's part inside the box."""
        return layer[self.box.pixels]


@dataclass(frozen=True)
class ShiftedPieces:
    """The candidates for one piece, (candidates, height, width): pixels, how badly they fit the rim nearby, where they are misplaced."""

    pixels: NDArray[np.float32]
    costs: NDArray[np.float32]
    misplaced: NDArray[np.bool_]

    @property
    def weighed(self) -> NDArray[np.float32]:
        """What each pixel of each candidate costs, misplaced ground included."""
        return np.asarray(self.costs + MISPLACED * self.misplaced, np.float32)

    def only(self, chosen: Sequence[int]) -> ShiftedPieces:
        """Some of the candidates."""
        places = list(chosen)
        return ShiftedPieces(self.pixels[places], self.costs[places], self.misplaced[places])

    def misplaced_share(self, inner: Stencil) -> float:
        """How much of the hole the best candidates fill with the wrong kind."""
        best = self.weighed.argmin(axis=0)[None]
        return float(np.take_along_axis(self.misplaced, best, axis=0)[0][inner].mean())


def fill(picture: Picture, hole: Stencil, forbidden: Stencil, regions: Regions | None = None, is_covered: bool = False) -> Picture | None:
    """The picture with every piece of the hole filled, or None when it has no background that would fit somewhere.

    A place that is covered again afterwards may show more of how it was filled.
    Outside, only a rim of three pixels fades over, and other objects stay untouched.
    """
    cv2 = require("cv2", "image")
    kinds = KIND_OF_REGION[regions] if regions is not None else np.zeros(hole.shape, np.uint8)
    work = picture.astype(np.float32)
    joined = cv2.morphologyEx(hole.astype(np.uint8), cv2.MORPH_CLOSE, np.ones((5, 5), np.uint8))
    count, pieces = cv2.connectedComponents(joined)
    for place in range(1, count):
        part = hole & (pieces == place)
        box = box_of(part)
        if box is not None:
            rest = (hole & ~part) | forbidden
            if not _fill_piece(cv2, FillCanvas(work, rest, kinds, regions is not None, is_covered), part, box):
                return None
    return np.asarray(np.clip(work + 0.5, 0, 255), np.uint8)


def _fill_piece(cv2: Any, canvas: FillCanvas, hole: Stencil, box: PixelBox) -> bool:
    """Fill one piece in place; False when free background for nearly all of it cannot be found."""
    unit = canvas.unit
    rim = int(np.clip(5 * unit + 0.08 * max(box.width, box.height), 6 * unit, 16 * unit))
    left, top, right, bottom = box = box.grown(rim, hole.shape)
    inner = hole[top:bottom, left:right]
    distance = cv2.distanceTransform((~inner).astype(np.uint8), cv2.DIST_L2, 3)
    known = ~inner & ~canvas.forbidden[top:bottom, left:right] & (distance <= rim)
    piece = Piece(hole, box, inner, known)
    shifts = [] if _hides_wall(canvas, piece) else _shifts(cv2, canvas, piece)
    target = piece.of(canvas.picture)
    if not shifts:
        return _smear(cv2, target, inner, unit)
    shifted = _least_visible(cv2, _shifted(cv2, canvas, piece, shifts), piece, canvas)
    if shifted is None:
        return _smear(cv2, target, inner, unit)
    mended = np.einsum("khw,khwc->hwc", _territories(cv2, shifted.weighed), shifted.pixels)
    fade = np.clip(1.0 - distance / (FADE * unit), 0, 1) * (inner | known)
    target[:] = target + (mended - target) * fade[..., None]
    return True


def _least_visible(cv2: Any, shifted: ShiftedPieces, piece: Piece, canvas: FillCanvas) -> ShiftedPieces | None:
    """The candidates whose patchwork fits and shows least: each alone, each pair of the first ones, all together; None if none fits."""
    count, inner, known, target = len(shifted.pixels), piece.inner, piece.known, piece.of(canvas.picture)
    rough = _texture(cv2, target, known, canvas.unit)
    choices = [(k,) for k in range(count)] + list(combinations(range(min(count, PAIRED)), 2)) + ([tuple(range(count))] if count > 2 else [])
    least, most = (np.inf, 1.0) if canvas.is_covered else (MOST_VISIBLE, MOST_MISPLACED)
    best = None
    for some in map(shifted.only, choices):
        if not _fits(some.costs.min(axis=0)[inner], rough) or some.misplaced_share(inner) > most:
            continue
        owner = _owners(cv2, some.weighed).astype(np.int64)
        mended = np.take_along_axis(some.pixels, owner[None, ..., None], axis=0)[0]
        visible = _visible(some, owner, np.abs(mended - target).mean(axis=2), inner)
        if visible < least and _drift(cv2, target - mended, known)[inner].mean() <= MOST_DRIFT:
            best, least = some, visible
    return best


def _visible(shifted: ShiftedPieces, owner: NDArray[np.int64], step: Floats, inner: Stencil) -> float:
    """Levels by which neighbours differ along the hole's rim and along the seams inside it, summed up, over the hole's side."""
    total = 0.0
    for down, over in ((0, 1), (1, 0)):
        here, there = (slice(0, inner.shape[0] - down), slice(0, inner.shape[1] - over)), (slice(down, None), slice(over, None))
        crossing = inner[here] != inner[there]
        total += float(np.where(inner[here], step[there], step[here])[crossing].sum())
        rows, columns = np.nonzero((owner[here] != owner[there]) & inner[here] & inner[there])
        first, second = owner[here][rows, columns], owner[there][rows, columns]
        for r, c in ((rows, columns), (rows + down, columns + over)):
            total += float(np.abs(shifted.pixels[first, r, c] - shifted.pixels[second, r, c]).mean(axis=1).sum()) / 2
    return total / float(np.sqrt(max(1, int(inner.sum()))))


def _fits(costs: Floats, texture: float) -> bool:
    """Whether nearly all of a filling is free background whose rim looks like the hole's, for the texture that is there."""
    free = costs < TAKEN
    return bool((~free).mean() <= MOST_TAKEN and free.any() and np.sqrt(costs[free].mean() / 3) <= MOST_MISS * max(texture, LEAST_TEXTURE))


def _texture(cv2: Any, target: Floats, rim: Stencil, unit: float) -> float:
    """By how many levels the rim's pixels differ from their neighbourhood, root mean square."""
    return float(np.sqrt(((target - cv2.GaussianBlur(target, (0, 0), 4.0 * unit))[rim] ** 2).mean())) if rim.any() else 0.0


def _drift(cv2: Any, miss: Floats, rim: Stencil) -> Floats:
    """How far the tone is off at the nearest parts of the rim, texture averaged out."""
    spread = max(4.0, 0.1 * max(rim.shape))
    share = cv2.GaussianBlur(rim.astype(np.float32), (0, 0), spread) + 1e-6
    return np.asarray(np.abs(cv2.GaussianBlur(miss * rim[..., None], (0, 0), spread) / share[..., None]).mean(axis=2), np.float32)


def _smear(cv2: Any, target: Floats, inner: Stencil, unit: float) -> bool:
    """A speck may be filled smoothly; anything larger would be a blurred hole."""
    if inner.sum() > SPECK * unit**2:
        return False
    flat = np.clip(target, 0, 255).astype(np.uint8)
    target[inner] = cv2.inpaint(flat, inner.astype(np.uint8), 3, cv2.INPAINT_TELEA)[inner]
    return True


def _shifts(cv2: Any, canvas: FillCanvas, piece: Piece) -> list[tuple[int, int]]:
    """The best few displacements (rows, columns) at which the rim matches and the hole falls on free background."""
    hole, (left, top, right, bottom) = piece.hole, piece.box
    step = int(np.ceil(max(1.0, max(right - left, bottom - top) / WORK_SIDE)))  # so that the cost grows with the pixels, and no faster
    step = step if canvas.unit > 1 else min(step, 2)
    reach = max(6, int(REACH * (bottom - top)))
    first, last = max(0, top - reach), min(hole.shape[0], bottom + reach)
    window = canvas.picture[first:last:step, ::step]
    template = canvas.picture[top:bottom:step, left:right:step]
    mask = piece.known[::step, ::step].astype(np.float32)
    if mask.sum() < 8 or window.shape[0] < template.shape[0] or window.shape[1] < template.shape[1]:
        return []
    if step > 2:  # of many pixels the mean, else a fine pattern decides by chance
        window, template = (
            cv2.blur(part, (step, step))[::step, ::step] for part in (canvas.picture[first:last], canvas.picture[top:bottom, left:right])
        )
    cost = _rim_cost(cv2, window, template, mask)
    soil = canvas.ground[first:last:step, ::step].astype(np.float32) * 30.0
    cost += _rim_cost(cv2, soil, canvas.ground[top:bottom:step, left:right:step].astype(np.float32) * 30.0, mask)
    bad = (hole | canvas.forbidden)[first:last:step, ::step].astype(np.float32)
    overlap = cv2.matchTemplate(bad, hole[top:bottom:step, left:right:step].astype(np.float32), cv2.TM_CCORR)
    inner = max(float(hole[top:bottom:step, left:right:step].sum()), 1.0)
    cost = cost / mask.sum() + 4000.0 * np.clip(overlap / inner - 0.004, 0, 1)
    cost[overlap > MOST_OVERLAP * inner] = np.inf  # a shift of almost nothing matches best of all, and brings the object back
    rows, columns = np.mgrid[0 : cost.shape[0], 0 : cost.shape[1]]
    away = np.abs(columns * step - left) / max(right - left, 1)
    cost = cost + 12.0 * np.clip(away - 2, 0, None) + STEEP / canvas.unit * np.abs(rows * step + first - top)
    found = _minima(cost, (right - left) // (3 * step))
    lowest, farthest = hole.shape[0] - bottom, hole.shape[1] - right
    return [(min(row * step + first - top, lowest), min(column * step - left, farthest)) for row, column in found]


def _rim_cost(cv2: Any, window: Floats, template: Floats, mask: Floats) -> Floats:
    """Sum over the rim of squared differences for every displacement, by three correlations."""
    if window.ndim == 2:
        window, template = window[..., None], template[..., None]
    total: Floats = cv2.matchTemplate(np.ascontiguousarray((window**2).sum(axis=2)), mask, cv2.TM_CCORR)
    for channel in range(window.shape[2]):
        layer = np.ascontiguousarray(window[..., channel])
        total = total - 2 * cv2.matchTemplate(layer, np.ascontiguousarray(template[..., channel] * mask), cv2.TM_CCORR)
    own = float(((template**2).sum(axis=2) * mask).sum())
    return np.asarray(np.maximum(total + own, 0), np.float32)


def _minima(cost: Floats, apart: int) -> list[tuple[int, int]]:
    cost, apart = cost.copy(), max(3, apart)
    found: list[tuple[int, int]] = []
    best = float(cost.min())
    if not np.isfinite(best):
        return found
    for _ in range(CANDIDATES):
        place = int(cost.argmin())
        row, column = divmod(place, cost.shape[1])
        if not np.isfinite(cost[row, column]) or cost[row, column] > best * 3 + 500:
            break
        found.append((row, column))
        cost[:, max(0, column - apart) : column + apart + 1] = np.inf
    return found


def _shifted(cv2: Any, canvas: FillCanvas, piece: Piece, shifts: list[tuple[int, int]]) -> ShiftedPieces:
    """The shifted pieces, for each pixel how badly each fits the rim nearby, and whether it is ground where none is expected, or none."""
    (left, top, right, bottom), known = piece.box, piece.known
    target, taken = piece.of(canvas.picture), piece.hole | canvas.forbidden
    spread = max(4.0, 0.22 * max(right - left, bottom - top))
    rim = known.astype(np.float32)
    share = cv2.GaussianBlur(rim, (0, 0), spread) + 1e-6
    expected = _expected_kinds(canvas.kinds[top:bottom], taken[top:bottom])[:, left:right] if canvas.has_regions else None
    pixels, costs, misplaced = [], [], []
    for down, over in shifts:
        rows, columns = slice(top + down, bottom + down), slice(left + over, right + over)
        patch, bad = canvas.picture[rows, columns], taken[rows, columns]
        patch = patch + _evened(target - patch, known & ~bad)
        miss = ((target - patch) ** 2).sum(axis=2) * rim
        costs.append(cv2.GaussianBlur(miss, (0, 0), spread) / share + 2 * TAKEN * bad)
        pixels.append(patch)
        misplaced.append(np.zeros(bad.shape, bool) if expected is None else _differ(canvas.kinds[rows, columns], expected) & ~bad)
    return ShiftedPieces(np.stack(pixels), np.stack(costs), np.stack(misplaced))


def _hides_wall(canvas: FillCanvas, piece: Piece) -> bool:
    """Whether a hole hides a large piece of what is no ground; not known where regions are not."""
    if canvas.is_covered or not canvas.has_regions:
        return False
    left, top, right, bottom = piece.box
    taken = (piece.hole | canvas.forbidden)[top:bottom]
    expected = _expected_kinds(canvas.kinds[top:bottom], taken)[:, left:right]
    wall = piece.inner & (expected != GROUND)
    return bool(wall.sum() > MOST_WALL * canvas.kinds.size or wall.any(axis=0).sum() > WIDEST_WALL * canvas.kinds.shape[1])


def _differ(kinds: NDArray[np.uint8], expected: NDArray[np.uint8]) -> Stencil:
    """Where one is ground and the other is not, or both are known to be different things."""
    is_known = (kinds != ANYTHING) & (expected != ANYTHING)
    return np.asarray(((kinds == GROUND) != (expected == GROUND)) | (is_known & (kinds != expected)), bool)


def _expected_kinds(kinds: NDArray[np.uint8], taken: Stencil) -> NDArray[np.uint8]:
    """What goes on behind what is taken: each pixel is what the nearest free pixel of its row is."""
    columns = np.arange(taken.shape[1])
    before = np.maximum.accumulate(np.where(taken, -1, columns[None]), axis=1)
    after = np.minimum.accumulate(np.where(taken, 2 * taken.shape[1], columns[None])[:, ::-1], axis=1)[:, ::-1]
    is_before = (before >= 0) & ((columns - before <= after - columns) | (after >= taken.shape[1]))
    nearest = np.clip(np.where(is_before, before, after), 0, taken.shape[1] - 1)
    return np.asarray(np.take_along_axis(kinds, nearest, axis=1), np.uint8)


def _evened(miss: Floats, rim: Stencil) -> Floats:
    """One whole number for each colour that brings a piece to the brightness of its new place.

    A field that varies, or a fraction, would fit the rim better and change the grain, which shows more.
    """
    if not rim.any():
        return np.zeros(3, np.float32)
    return np.round(np.clip(np.median(miss[rim], axis=0), -MOST_EVENED, MOST_EVENED)).astype(np.float32)


def _owners(cv2: Any, costs: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Which candidate fills each pixel, without specks."""
    owner = costs.argmin(axis=0).astype(np.uint8)
    return np.asarray(cv2.medianBlur(owner, 7) if min(owner.shape) > 9 else owner, np.uint8)


def _territories(cv2: Any, costs: NDArray[np.float32]) -> NDArray[np.float32]:
    """A smooth share of every pixel for each piece."""
    owner = _owners(cv2, costs)
    weights = np.stack([cv2.GaussianBlur((owner == place).astype(np.float32), (0, 0), 1.5) for place in range(len(costs))])
    weights = np.where(costs >= TAKEN, 1e-4 * weights, weights) + 1e-8
    return np.asarray(weights / weights.sum(axis=0, keepdims=True), np.float32)
