"""Objects to insert: whole, unhidden, large enough and read as their class, nobody twice in a picture; from the data set or from others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from evenhand.contract import Recogniser
from evenhand.errors import require
from evenhand.media.operators.parts.cast_shadow import Shade
from evenhand.media.operators.parts.company import is_ridden
from evenhand.media.operators.parts.cutout import Cutout, cut, spilled, told_apart
from evenhand.media.operators.parts.guessed_ground import Witnesses
from evenhand.media.operators.parts.open_sky import FLYING, Colour, flies, open_sky, sky_colour
from evenhand.media.operators.parts.perspective import SizeLaw, calibrated, fit_law, pooled_law
from evenhand.media.operators.parts.same_object import Identity, identities
from evenhand.media.operators.parts.standing import DRIVING, ground_below, is_guessed, lit
from evenhand.media.operators.parts.upright import is_at_angle, is_upright
from evenhand.media.scene import Instance, Scene, overlap
from evenhand.media.vocabulary import Labels

LEAST_HEIGHT = 26
LEAST_FLYING = 150  # pixels of what flies
DARK, FLAT = 45.0, 20.0  # grey levels: what is darker on average and varies less is a silhouette, and looks like a hole elsewhere
SLENDER = {"person": 1.9}  # least height over width of a donor: wider masks hold two people, or somebody with what they push
HEAD, MOST_HEAD = (
    0.1,
    0.62,
)  # of a person's height, and of its greatest width: a wider top is a neck or a belt, where a picture or a mask ends
GREY = 6.0  # levels of colour, on average: a picture with less is black and white
MOST_SPILLED = 0.28  # of a mask's edge; by eye, donors with .35 and more bring their old background along, those below .26 do not
LEAST_TOLD_APART = (
    0.6  # of an outline; of donors that were looked at, a woman before a dark hedge had .5, those that looked right .67 and more
)
FIRST_SIGHTINGS = 2  # of somebody whose turn it is, before others are tried
READ_AS = 0.5  # overlap with a box of its class that makes a donor what its label says


@dataclass(frozen=True, eq=False)
class Donor:
    """A cutout, where it stood (shares of width and height), and who it is."""

    cutout: Cutout
    height: int
    across: float
    foot: float
    scene: str
    who: Identity
    behind: tuple[float, float]  # lightness and edge strength of what stood around it
    is_grey: bool = False  # whether its picture is black and white
    sky: Colour | None = None  # of the sky around it, where it flies
    ground: NDArray[np.float64] | None = None  # what the ground below its feet looks like, where nobody marked it
    lit: float | None = None  # how bright its lights are against that ground
    shade: Shade | None = None  # the shadow that it casts there


@dataclass(frozen=True)
class Share:
    """Which of so many parts of the people one of a scene's changes may insert, so that together they insert nobody twice."""

    nth: int = 0
    of: int = 1

    def among(self, donors: Sequence[Donor]) -> frozenset[int]:
        """The numbers of those whose turn it is, of everybody of a class."""
        if self.of == 1:
            return frozenset(donor.who.number for donor in donors)
        people = [one.who.alike for one in distinct(donors)]
        who = ((donor, next((k for k, alike in enumerate(people) if donor.who.number in alike), 0)) for donor in donors)
        return frozenset(donor.who.number for donor, k in who if k % self.of == self.nth)


@dataclass(frozen=True, eq=False)
class DonorBank:
    """Donors by class, with the data set's size law."""

    donors: dict[str, tuple[Donor, ...]]
    prior: tuple[float, float]
    labels: Labels  # with relative heights as this data set has them
    looks: dict[str, frozenset[int]] = field(default_factory=dict)  # numbers of what is seen in a scene already
    grey: frozenset[str] = frozenset()  # scenes in black and white
    turn: int = 0  # whose turn it is: how many insertions of the campaign are counted before this one
    share: Share = Share()  # which of the people may be inserted by this change of a scene, and by no other of its changes

    def for_scene(self, scene: Scene, label: str) -> list[Donor]:
        """This class's donors that are as colourful as a scene, and have not another change of it as their own."""
        numbers = self.share.among(self.of(label))
        return [donor for donor in self.of(label) if donor.is_grey == (scene.name in self.grey) and donor.who.number in numbers]

    def of(self, label: str) -> tuple[Donor, ...]:
        """This class's donors; none when the data set has no usable one."""
        return self.donors.get(label, ())


def collect(scenes: Iterable[Scene], labels: Labels, reader: Recogniser | None = None, outside: Sequence[Scene] = ()) -> DonorBank:
    """Every usable object of a data set; where a reader is given, only those that it calls what their labels say.

    Of classes that the data set has no donor of, those of outside scenes are taken.
    """
    own = _bank(list(scenes), labels, reader)
    if not outside:
        return own
    others = _bank(outside, labels, reader).donors
    added = {label: tuple(replace(one, who=_outsider(one.who)) for one in found) for label, found in others.items()}
    return replace(own, donors=added | own.donors)


def _outsider(who: Identity) -> Identity:
    """Sightings are counted again in other scenes: negative numbers cannot be taken for somebody of the data set."""
    return Identity(-1 - who.number, frozenset(-1 - number for number in who.alike))


def _bank(scenes: Sequence[Scene], labels: Labels, reader: Recogniser | None) -> DonorBank:
    labels = calibrated(scenes, labels)
    prior = pooled_law(scenes, labels)
    gathered: dict[str, list[Donor]] = {}
    who, grey = identities(scenes), frozenset(scene.name for scene in scenes if is_grey(scene))
    for scene, known in zip(scenes, who, strict=True):
        law = Witnesses.of(scene, labels).law(scene.shape[0]) if is_guessed(scene) else fit_law(scene, labels, prior)
        flying = flying_places(scene, labels)
        usable = [place for place in known if place in flying or is_usable(scene, place, law, labels)]
        if reader is not None and usable and not scene.is_drawn:
            usable = read_as_labelled(scene, usable, labels, reader)
        for place in usable:
            one = scene.instances[place]
            across = one.box.middle[0] / scene.shape[1]
            foot = one.foot / scene.shape[0]
            made = Donor(cut(scene, one), one.height, across, foot, scene.name, known[place], _behind(scene, one), scene.name in grey)
            made = replace(made, sky=flying.get(place))
            if is_guessed(scene) and made.sky is None:
                made = replace(made, ground=ground_below(scene, one), lit=lit(scene, one), shade=Shade.of(scene, one))
            gathered.setdefault(one.label, []).append(made)
    looks = {scene.name: frozenset(one.number for one in known.values()) for scene, known in zip(scenes, who, strict=True)}
    return DonorBank({label: tuple(found) for label, found in gathered.items()}, prior, labels, looks, grey)


def flying_places(scene: Scene, labels: Labels) -> dict[int, Colour]:
    """Whole objects with nothing but sky around them, and the colour of that sky."""
    places = [k for k, one in enumerate(scene.instances) if labels.canonical(one.label) in FLYING and one.area >= LEAST_FLYING]
    places = [place for place in places if is_whole(scene, place)]
    if not places:
        return {}
    sky = open_sky(scene)
    found = {place: sky_colour(scene, scene.instances[place].box, sky) for place in places if flies(scene.instances[place], sky)}
    return {place: colour for place, colour in found.items() if colour is not None}


def read_as_labelled(scene: Scene, places: Sequence[int], labels: Labels, reader: Recogniser) -> list[int]:
    """Those of some objects that a recogniser finds and calls what they are labelled: no coach labelled as a car, no pair as one."""
    (answer,) = reader.recognise([scene.picture])
    named = [(labels.canonical(one.label), one.box) for one in answer if one.box is not None]

    def is_read(one: Instance) -> bool:
        meant = labels.touched(one.label)
        return any(name in meant and overlap(one.box, box) >= READ_AS for name, box in named)

    return [place for place in places if is_read(scene.instances[place])]


def is_usable(scene: Scene, place: int, law: SizeLaw | None, labels: Labels) -> bool:
    """Whether an object may be a donor: whole, large enough, and as tall as its class should be where it stands, if that is known."""
    one = scene.instances[place]
    is_slender = one.height >= SLENDER.get(labels.canonical(one.label), 0.0) * one.width
    is_fit = (
        is_slender and is_upright(one) and is_whole(scene, place) and one.height >= _least(one.label, labels) and _fits(one, law, labels)
    )
    return is_fit and not is_silhouette(scene, one) and (scene.is_drawn or is_cleanly_cut(scene, one, labels))


def is_cleanly_cut(scene: Scene, one: Instance, labels: Labels) -> bool:
    """Whether an object of a photograph looks right elsewhere: its outline was seen, a person has a head, a vehicle is not at an angle.

    At an angle its wheels would stand in the air.  Where ground is only guessed, its mask must bring no background along, and nobody may be
    on its back.
    """
    name = labels.canonical(one.label)
    if (name == "person" and not has_head(one)) or (name in DRIVING and is_at_angle(one)) or told_apart(scene, one) < LEAST_TOLD_APART:
        return False
    return not is_guessed(scene) or (spilled(scene, one) <= MOST_SPILLED and not is_ridden(scene, one, [one]))


def has_head(one: Instance) -> bool:
    """Whether an upright mask is narrow at its top."""
    wide = one.stencil.sum(axis=1)
    return bool(wide[: max(1, round(HEAD * one.height))].mean() <= MOST_HEAD * wide.max())


def is_grey(scene: Scene) -> bool:
    """Whether a picture is black and white."""
    few = scene.picture[::4, ::4].astype(np.int16)
    return bool((few.max(axis=2) - few.min(axis=2)).mean() < GREY)


def is_silhouette(scene: Scene, one: Instance) -> bool:
    """Whether nothing is to be seen of an object but its outline."""
    left, top, right, bottom = one.box
    grey = scene.picture[top:bottom, left:right].mean(axis=2)[one.stencil]
    return bool(grey.mean() < DARK and grey.std() < FLAT)


def _least(label: str, labels: Labels) -> float:
    return LEAST_HEIGHT * min(1.0, 0.3 + labels.relative_height.get(labels.canonical(label), 1.0))


def is_whole(scene: Scene, place: int) -> bool:
    """Whether neither the picture's edge nor a nearer object cuts it."""
    one = scene.instances[place]
    if one.touches_border(scene.shape) or one.visible < 0.97 or not one.counted:
        return False
    if one.depth is not None:
        return True
    cv2 = require("cv2", "image")
    around = cv2.dilate(one.mask(scene.shape).astype(np.uint8), np.ones((5, 5), np.uint8)).astype(bool)
    rim = max(1, int(around.sum()) - one.area)
    for other in scene.instances:
        if other is not one and other.nearer_than(one.foot) and (other.mask(scene.shape) & around).sum() > 0.04 * rim:
            return False
    return True


def _fits(one: Instance, law: SizeLaw | None, labels: Labels) -> bool:
    """Whether it is as tall as its class should be there, and in one solid piece; else its mask is probably wrong."""
    cv2 = require("cv2", "image")
    relative = labels.relative_height.get(labels.canonical(one.label))
    if law is not None and relative is not None and not 0.55 < one.height / max(law.at(one.foot, relative), 1.0) < 1.8:
        return False
    pieces = cv2.connectedComponentsWithStats(one.stencil.astype(np.uint8))[2][1:, cv2.CC_STAT_AREA]
    return bool(pieces.max() > 0.93 * one.area)


def backdrop_layers(scene: Scene) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Lightness, and logarithm of the edge strength, of every pixel."""
    cv2 = require("cv2", "image")
    grey = cv2.cvtColor(scene.picture, cv2.COLOR_RGB2GRAY).astype(np.float32)
    slope = np.log1p(np.abs(cv2.Sobel(grey, cv2.CV_32F, 1, 0)) + np.abs(cv2.Sobel(grey, cv2.CV_32F, 0, 1)))
    return grey, np.asarray(slope, np.float32)


def _behind(scene: Scene, one: Instance) -> tuple[float, float]:
    """Means over the box and its margin, without the object itself."""
    left, top, right, bottom = one.box.grown(max(4, one.width // 3), scene.shape)
    free = ~one.mask(scene.shape)[top:bottom, left:right]
    grey, slope = (layer[top:bottom, left:right][free] for layer in backdrop_layers(scene))
    return float(grey.mean()), float(slope.mean())


def pick(candidates: Sequence[Donor], used: set[int], turn: int, rng: np.random.Generator) -> list[Donor]:
    """The candidates without those who are in the picture already: first whose turn it is, then the others in random order.

    So nobody is inserted again before everybody had a turn, but for those whose turn finds no place for them.  Of the others everybody has
    the same chance to come next, however often a film shows them: else most pictures would get the one who is seen most.
    """
    free = [donor for donor in candidates if not donor.who.alike & used]
    if not free:
        return []
    numbers = {donor.who.number for donor in free}
    rarity = np.array([-np.log(len(donor.who.alike & numbers)) for donor in free])
    mixed = [free[place] for place in np.argsort(-(rarity + rng.gumbel(size=len(free))))]
    people = distinct(candidates)
    whose = people[turn % len(people)].who.alike
    first = [donor for donor in mixed if donor.who.number in whose][:FIRST_SIGHTINGS]
    return [*first, *(donor for donor in mixed if all(donor is not one for one in first))]


def distinct(donors: Sequence[Donor]) -> list[Donor]:
    """One sighting of each of them, in the order in which they are first seen."""
    found, known = list[Donor](), set[int]()
    for donor in donors:
        if donor.who.number not in known:
            found.append(donor)
            known |= donor.who.alike
    return found
