"""Insertion: donors of the right size, on the right ground, behind what is nearer, in the light of the place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import require
from evenhand.limits import Count, check_argument, check_limits
from evenhand.media.operators.parts.cutout import MARGIN, Cutout, contact_shadow, grain, ground_light, paste, regrained
from evenhand.media.operators.parts.donors import Donor, DonorBank, backdrop_layers, pick
from evenhand.media.operators.parts.guessed_ground import GuessedGround
from evenhand.media.operators.parts.mutated import INSERT, Became, Mutation, Skipped, covered, finished
from evenhand.media.operators.parts.open_sky import found_flight, open_sky
from evenhand.media.operators.parts.order import ChangeOrder
from evenhand.media.operators.parts.perspective import SizeLaw, fit_law, stands
from evenhand.media.operators.parts.seams import noise_ratio
from evenhand.media.operators.parts.seen_already import SeenAlready
from evenhand.media.operators.parts.set_down import ROUGH_MASKS
from evenhand.media.operators.parts.standing import allowed, is_guessed
from evenhand.media.scene import Instance, PixelBox, Scene, Stencil, union

PROPOSALS = 240
LOOKED_AT = 4000  # ground pixels for each donor, of which the proposals are drawn
DONORS_TRIED = 16
LEAST_PIXELS = 20  # height of an inserted car-sized thing; smaller classes may be smaller in proportion
MOST_SCALE = 1.25  # a donor is never enlarged more than this: it would look soft
MOST_GUESSED_SCALE = 1.05  # the same where the donor's picture may have been taken by another camera
OWN_SIZE = 0.08  # a donor within this much (natural logarithm) of the law's height is used at its own size
HIDES_AT_MOST = 0.45  # of any object behind
LEAST_GRAIN, MOST_GRAIN = 0.4, 1.8  # of the surroundings' grain, where nothing is known of the ground either
OTHER_GRAIN = "it would be sharper or softer than its surroundings"
MOST_GUESSED = 2  # objects on ground that nobody marked
SEEN_AT_LEAST = 0.6  # of the inserted object


@dataclass(frozen=True, eq=False)
class StandingSpot:
    """A donor at its final size and place."""

    donor: Donor
    cutout: Cutout
    left: int
    top: int
    foot: int
    scale: float

    @property
    def box(self) -> PixelBox:
        """All of the cutout."""
        height, width = self.cutout.shape
        return PixelBox(self.left, self.top, self.left + width, self.top + height)

    @property
    def standing_box(self) -> PixelBox:
        """The same without the margin of the cutout."""
        left, top, right, _ = self.box
        return PixelBox(left + MARGIN, top + MARGIN, right - MARGIN, self.foot)


@dataclass(frozen=True)
class Insert:
    """Brings the count one above the most that the cluster shows; with `inside`, by chance to some count within what it shows.

    `most` is how many objects it inserts at most: where more would be needed, the scene is left alone.
    """

    inside: bool = False
    most: Count = 12

    adds: ClassVar[bool] = True
    is_null: ClassVar[bool] = False
    is_random: ClassVar[bool] = True
    is_whole: ClassVar[bool] = False
    is_usual: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_limits(self)

    def change(self, order: ChangeOrder, rng: np.random.Generator) -> Mutation | Skipped:
        """The scene with as many new objects as that takes."""
        room = order.usual.most - order.seen
        if self.inside and room < 1:
            return Skipped(INSERT, order.label, order.scene.name, "no room inside the distribution")
        wanted = int(rng.integers(1, room + 1)) if self.inside else room + 1
        if wanted > self.most:
            return Skipped(INSERT, order.label, order.scene.name, f"{wanted} objects would be needed")
        return insert(order.scene, order.label, wanted, order.bank, rng)


def insert(scene: Scene, label: str, count: int, bank: DonorBank, rng: np.random.Generator) -> Mutation | Skipped:
    """Add `count` objects of a class, or skip and say why."""
    labels = bank.labels
    check_argument(Count, count=count)
    if scene.is_rough:
        return Skipped(INSERT, label, scene.name, ROUGH_MASKS)
    if not bank.of(label):
        return Skipped(INSERT, label, scene.name, "the data set has no whole object of this class to insert")
    flown = _flown(scene, label, count, bank, rng)
    if flown is not None:
        return flown
    ground = allowed(scene, label, labels)
    if ground.sum() < 200 or (is_guessed(scene) and not stands(label, labels)):
        return Skipped(INSERT, label, scene.name, "no ground on which this class may stand")
    if is_guessed(scene) and count > MOST_GUESSED:
        return Skipped(INSERT, label, scene.name, f"{count} objects would stand on ground that is only guessed")
    guess = GuessedGround(scene, ground, labels) if is_guessed(scene) else None
    law = fit_law(scene, labels, bank.prior) if guess is None else guess.law
    if law is None:
        return Skipped(INSERT, label, scene.name, "nothing that stands there tells how tall others would be")
    relative = labels.relative_height.get(labels.canonical(label), 1.0)
    site = Site(scene, ground, bank, SeenAlready(scene.picture, law, relative), guess)
    spots: list[StandingSpot] = []
    used = set(bank.looks.get(scene.name, ()))
    footing = _footing(site, law, relative)
    standing = _standing(site, label, bank)
    for place in range(count):
        spot = _find(site, footing, pick(standing, used, bank.turn + place, rng)[:DONORS_TRIED], spots, rng)
        if spot is None:
            return Skipped(INSERT, label, scene.name, f"room for {len(spots)} of the {count} objects that are needed")
        spots.append(spot)
        used.add(spot.donor.who.number)
    made = _compose(scene, label, spots, rng)
    return Skipped(INSERT, label, scene.name, OTHER_GRAIN) if is_guessed(scene) and not _grain_fits(made) else made


def _standing(site: Site, label: str, bank: DonorBank) -> list[Donor]:
    """The donors that stand; where ground is only guessed, those in a like light whose own ground is like some of it."""
    donors = [one for one in bank.for_scene(site.scene, label) if one.sky is None]
    if site.guess is None:
        return donors
    most = site.guess.most_lit(label)
    donors = [one for one in donors if one.lit is not None and one.lit <= most]
    return [one for one, is_like in zip(donors, site.guess.liked([one.ground for one in donors]), strict=True) if is_like]


def _flown(scene: Scene, label: str, count: int, bank: DonorBank, rng: np.random.Generator) -> Mutation | None:
    """The scene with so many more in its sky; None where the class does not fly, or where there is no sky that is like the donors' own."""
    donors = [one for one in bank.for_scene(scene, label) if one.sky is not None]
    sky = open_sky(scene) if donors else np.zeros(scene.shape, bool)
    used, spots = set(bank.looks.get(scene.name, ())), list[StandingSpot]()
    for donor in pick(donors, used, bank.turn, rng):
        found = None if donor.sky is None else found_flight(scene, sky, donor.cutout.shape, donor.sky, rng)
        if found is None or donor.who.alike & used or len(spots) == count:
            continue
        cutout = donor.cutout.scaled(found.scale)
        spots.append(StandingSpot(donor, cutout, found.left, found.top, found.top + cutout.shape[0], found.scale))
        used.add(donor.who.number)
        left, top, right, bottom = spots[-1].box.grown(MARGIN, scene.shape)
        sky[top:bottom, left:right] = False
    return _compose(scene, label, spots, rng) if len(spots) == count else None


def _grain_fits(made: Mutation) -> bool:
    """Whether what was added is about as grainy as what is around it: an old photograph and a new one do not mix."""
    fresh = union(made.after.instances[-len(made.boxes) :], made.before.shape)
    return not fresh.any() or LEAST_GRAIN <= noise_ratio(made.after.picture, fresh) <= MOST_GRAIN


class Site:
    """A scene as a building site: running sums of its ground, lightness and edges, so that any rectangle costs four look-ups."""

    def __init__(self, scene: Scene, ground: Stencil, bank: DonorBank, seen: SeenAlready, guess: GuessedGround | None = None) -> None:
        self.scene, self.ground, self.bank, self.seen, self.guess = scene, ground, bank, seen, guess
        grey, slope = backdrop_layers(scene)
        cv2 = require("cv2", "image")
        self._sums = tuple(cv2.integral(layer, sdepth=cv2.CV_64F) for layer in (ground.astype(np.uint8), grey, slope))

    def shows(self, donor: Donor) -> bool:
        """Whether the donor is to be seen in the photograph already, though nobody named it there."""
        if self.scene.is_drawn:
            return False
        others = [one.cutout for one in self.bank.of(donor.cutout.label) if one.who.number in donor.who.alike and one is not donor]
        return self.seen.shows([donor.cutout, *others])

    def means(self, boxes: NDArray[np.intp]) -> NDArray[np.float64]:
        """(3, n): share of ground, mean lightness and mean edge strength in each rectangle (left, top, right, bottom)."""
        height, width = self.scene.shape
        x0, y0 = np.clip(boxes[:, 0], 0, width - 1), np.clip(boxes[:, 1], 0, height - 1)
        x1, y1 = np.clip(np.maximum(boxes[:, 2], x0 + 1), 1, width), np.clip(np.maximum(boxes[:, 3], y0 + 1), 1, height)
        area = (y1 - y0) * (x1 - x0)
        return np.stack([(summed[y1, x1] - summed[y0, x1] - summed[y1, x0] + summed[y0, x0]) / area for summed in self._sums])


@dataclass(frozen=True, eq=False)
class Footing:
    """Ground pixels on which a class may stand, and how tall it is there."""

    rows: NDArray[np.intp]
    columns: NDArray[np.intp]
    tall: NDArray[np.float64]

    def drawn(self, places: NDArray[np.intp]) -> Footing:
        """Some of them."""
        return Footing(self.rows[places], self.columns[places], self.tall[places])


def _footing(site: Site, law: SizeLaw, relative: float) -> Footing:
    """Every ground pixel where the class is neither too small nor too tall for the picture."""
    rows, columns = np.nonzero(site.ground)
    tall = np.maximum(relative * (law.height + law.slope * (rows - law.centre)), 0.0)
    is_good = (tall > LEAST_PIXELS * min(1.0, 0.25 + relative)) & (tall < 0.8 * site.scene.shape[0])
    if site.guess is not None:
        is_good &= site.guess.known_rows()[rows]
    return Footing(rows, columns, tall).drawn(np.flatnonzero(is_good))


def _find(
    site: Site, footing: Footing, donors: Sequence[Donor], spots: list[StandingSpot], rng: np.random.Generator
) -> StandingSpot | None:
    if not footing.rows.size:
        return None
    for donor in donors:
        near = footing.drawn(rng.integers(0, footing.rows.size, min(LOOKED_AT, footing.rows.size)))
        closeness = np.exp(-0.5 * (np.log(near.tall / donor.height) / OWN_SIZE) ** 2) + 0.01  # mostly where it can keep its own size
        count = min(PROPOSALS, near.rows.size)
        chosen = near.drawn(rng.choice(near.rows.size, count, replace=False, p=closeness / closeness.sum()))
        for place in _ranked(site, donor, chosen, rng)[:12]:
            spot = _spot(donor, int(chosen.rows[place]), int(chosen.columns[place]), float(chosen.tall[place]))
            is_like = site.guess is None or site.guess.is_like(spot.standing_box, donor.ground)
            if is_like and _is_believable(site.scene, spot, spots):
                if site.shows(donor):
                    break
                return spot
    return None


def _ranked(site: Site, donor: Donor, places: Footing, rng: np.random.Generator) -> list[int]:
    """Proposals that stand on the ground inside the picture; those most like the donor's own place and surroundings first, with chance."""
    rows, columns, tall = places.rows, places.columns, places.tall
    height, width = site.scene.shape
    scale = tall / donor.height
    wide = donor.cutout.shape[1] * scale
    left, right = np.round(columns - 0.46 * wide).astype(np.intp), np.round(columns + 0.46 * wide).astype(np.intp)
    strip = np.round(rows - np.maximum(2, 0.07 * tall)).astype(np.intp)
    inside = (
        (left >= 2)
        & (right < width - 2)
        & (rows - tall > 1)
        & (rows < height - 2)
        & (scale < (MOST_SCALE if site.guess is None else MOST_GUESSED_SCALE))
        & (scale > 0.18)
        & (strip >= 0)
    )
    stands = site.means(np.stack([left, strip, right, rows + 1], axis=1))[0] > 0.985
    margin = (wide / 3).astype(np.intp)
    _, grey, slope = site.means(np.stack([left - margin, (rows - tall).astype(np.intp) - margin, right + margin, rows + margin], axis=1))
    unlike = ((np.log(grey + 4) - np.log(donor.behind[0] + 4)) / 0.25) ** 2 + ((slope - donor.behind[1]) / 0.5) ** 2
    liking = -(((columns / width - donor.across) / 0.17) ** 2) - 5.0 * np.abs(np.log(scale)) - unlike + rng.gumbel(size=len(rows))
    liking[~(inside & stands)] = -np.inf
    return [int(place) for place in np.argsort(-liking) if np.isfinite(liking[place])]


def _spot(donor: Donor, row: int, column: int, tall: float) -> StandingSpot:
    scale = tall / donor.height
    if abs(np.log(scale)) < OWN_SIZE:  # people and cars differ by that much anyway, and pixels that are not resampled stay real
        scale = 1.0
    cutout = donor.cutout.scaled(scale)
    height, width = cutout.shape
    return StandingSpot(donor, cutout, column - width // 2, row - height + max(1, round(MARGIN * scale)), row, scale)


def _is_believable(scene: Scene, spot: StandingSpot, spots: list[StandingSpot]) -> bool:
    if any(_crowds(spot, other.box, other.foot) for other in spots) or any(_crowds(spot, one.box, one.foot) for one in scene.instances):
        return False
    left, top, right, bottom = (max(0, value) for value in spot.box)
    rows, columns = slice(top, min(bottom, scene.shape[0])), slice(left, min(right, scene.shape[1]))
    mine = np.zeros(scene.shape, bool)
    mine[rows, columns] = spot.cutout.cover[: rows.stop - top, : columns.stop - left] > 0.5
    total, hidden = max(1, int(mine.sum())), 0
    for one in scene.instances:
        x0, y0, x1, y1 = one.box
        if x1 <= left or x0 >= right or y1 <= top or y0 >= bottom:
            continue
        overlap = int((one.stencil & mine[y0:y1, x0:x1]).sum())
        if one.nearer_than(spot.foot):
            hidden += overlap
        elif overlap > HIDES_AT_MOST * one.area:
            return False
    for other in spots:
        hidden += spot.box.shared(other.box) if other.foot > spot.foot else 0
    return hidden < (1 - SEEN_AT_LEAST) * total


def _crowds(spot: StandingSpot, box: PixelBox, foot: int) -> bool:
    """Whether two things would stand in the same place: feet on nearly the same row, and boxes that overlap sideways."""
    own = spot.box
    sideways = min(own.right, box.right) - max(own.left, box.left)
    near = abs(foot - spot.foot) < 0.16 * min(own.height, box.height) + 3
    if near:
        return sideways > 0.12 * min(own.width, box.width)
    return own.shared(box) > 0.7 * min(own.width * own.height, box.width * box.height)


def _compose(scene: Scene, label: str, spots: list[StandingSpot], rng: np.random.Generator) -> Mutation:
    """Far objects first; what is nearer stays in front."""
    picture = scene.picture.copy()
    old: list[Instance | None] = list(scene.instances)
    new: list[Instance | None] = []
    texture = grain(scene.picture)
    for spot in sorted(spots, key=lambda one: one.foot):
        is_front = [one.nearer_than(spot.foot) for one in scene.instances]
        front = union([one for one, flag in zip(scene.instances, is_front, strict=True) if flag], scene.shape)
        left, _, right, bottom = spot.box
        here = ground_light(scene.picture, scene.occupied, (max(0, left), min(bottom, scene.shape[0]), right))
        if spot.donor.shade is not None:
            margin = round(MARGIN * spot.scale)
            spot.donor.shade.scaled(spot.scale).fall(picture, (spot.left + margin, spot.top + margin), front)
        elif spot.donor.sky is None:
            contact_shadow(picture, spot.cutout, (spot.left, spot.top), front)
        owned = paste(picture, regrained(spot.cutout, spot.donor.cutout, texture, rng), (spot.left, spot.top), front, here)
        old = covered(old, owned, [not flag for flag in is_front])
        new = covered(new, owned, [True] * len(new))
        if owned.any():
            whole = float((spot.cutout.cover > 0.5).sum())
            new.append(Instance.from_mask(label, owned, None, min(1.0, float(owned.sum()) / max(whole, 1.0))))
    made = finished(INSERT, label, scene, Became(picture, old, [one for one in new if one is not None]))
    return replace(made, how=f"{len(spots)} from other pictures", origins=tuple(spot.donor.cutout.origin for spot in spots))
