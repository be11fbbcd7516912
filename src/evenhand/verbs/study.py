"""The paper's human study as a local page, on drawn streets or on the user's own scenes: shuffled pictures, two scales and a control.

Everybody gets an order of their own; answers are kept in the browser until they are handed in, and can be changed until then.  The page
talks to nobody but the small server here; it sets no cookie and asks for no name.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.campaign.opened_project import open_project
from evenhand.contract import Model
from evenhand.datasets.scene_data import drawn_streets
from evenhand.disk import private_folder, write_whole
from evenhand.engine.subject import Data
from evenhand.errors import DataError, InvalidArgument
from evenhand.limits import Limit
from evenhand.measures.believability import REAL, JudgedSlide
from evenhand.measures.counted_changes import EXCLUSION, INCLUSION, counted_scenes, judge
from evenhand.media.operators.parts.mutated import Mutation
from evenhand.media.scene import Picture
from evenhand.media.scenes import ChangePlan, Scenes
from evenhand.models.local_server import LocalHandler, LocalServer
from evenhand.models.recognisers.jpeg import jpeg_uri

MOST_SHEET_BYTES = 200_000
MOST_COUNT = 99
KEY = "slides.key"
VEHICLES = ("car", "truck", "bus", "motorcycle")
PAIRS_PER_OPERATOR = 10
SHEET_NAME = re.compile(r"[0-9a-f]{32}")
QUESTIONS = (
    "On a scale of 0 to 10, how realistic is the picture? (Realistic: it shows, or seems to show, real people, objects or scenes.)",
    "On a scale of 0 to 10, how likely is the scene to occur in real life?",
)


@dataclass(frozen=True)
class CountQuestion:
    """What people count, so that one sees whether they look: objects of these classes."""

    classes: tuple[str, ...] = VEHICLES
    noun: str = "vehicles"

    @classmethod
    def about(cls, *media: Scenes) -> CountQuestion:
        """Vehicles where every third scene has one, else the class that most scenes show."""
        scenes = [scene for medium in media for scene in medium.scenes]
        shown = Counter(label for scene in scenes for label in scene.truth)
        traffic = sum(any(label in scene.truth for label in VEHICLES) for scene in scenes)
        if 3 * traffic >= len(scenes) or not shown:
            return cls()
        label = shown.most_common(1)[0][0]
        return cls((label,), f"objects of the kind “{label}”")

    @property
    def text(self) -> str:
        """As it is asked."""
        return f"How many {self.noun} are in this picture?"


@dataclass(frozen=True, eq=False)
class Slide:
    """One picture of the study."""

    key: str
    picture: Picture
    operator: str  # "real" for an original
    scene: str
    count: int  # of the objects that people are asked to count
    data: str = ""  # the data set that it comes from
    is_erring: bool = False  # whether the project's recogniser errs on it

    @property
    def judged(self) -> JudgedSlide:
        """All that the statistics need."""
        return JudgedSlide(self.operator, self.scene, self.count, self.data, self.is_erring)

    @property
    def told(self) -> list[str | int | bool]:
        """Everything but the picture, as it is stored."""
        return [self.key, self.operator, self.scene, self.count, self.data, self.is_erring]


def slides(
    mutations: Sequence[Mutation], rng: np.random.Generator, pairs: int = 30, counted: Sequence[str] = VEHICLES, erring: Sequence[int] = ()
) -> list[Slide]:
    """Originals and their mutated versions, shuffled so that no neighbours share the operator, unless both are real, or the scene.

    `erring` tells at which places of the mutations a recogniser errs.
    """
    Limit(least=1, most=len(mutations), whole=True).check("pairs", pairs, hint=", the number of mutations")
    made = []
    for number, place in enumerate(rng.permutation(len(mutations))[:pairs]):
        one = mutations[place]
        for kind, scene in ((REAL, one.before), (one.operator, one.after)):
            count = min(MOST_COUNT, sum(scene.truth.get(label, 0) for label in counted))
            errs = kind != REAL and int(place) in erring
            made.append(Slide(f"{number:02d}-{'a' if kind == REAL else 'b'}", scene.picture, kind, one.before.name, count, is_erring=errs))
    return _shuffled(made, rng)


def street_slides(count: int, seed: int, pairs: int = PAIRS_PER_OPERATOR) -> list[Slide]:
    """Some changes of drawn streets by each operator and their originals, as many as can be made."""
    plan = ChangePlan(("person", "car", "dog"), ("person", "car"), ("paper",), controls=False)
    return scene_slides(Scenes(drawn_streets(count, seed), plan, seed=seed), seed, pairs=pairs)


def scene_slides(
    medium: Scenes, seed: int, counted: Sequence[str] = VEHICLES, model: Model | None = None, pairs: int = PAIRS_PER_OPERATOR
) -> list[Slide]:
    """Some changes of these scenes by each operator of their plan and the originals; null changes are left out.

    pairs: changes by each operator, as many as can be made.
    With a recogniser it is noted on which changed pictures it loses or invents an object.
    """
    rng = np.random.default_rng(seed)
    places = [(int(place), int(change)) for place, change, _ in medium.rows()]
    chosen: dict[tuple[int, int], Mutation] = {}
    for operator in sorted({medium.changes[change].operator for _, change in places}):
        mine = [entry for entry in places if medium.changes[entry[1]].operator == operator]
        chosen |= _first_made(medium, [mine[k] for k in rng.permutation(len(mine))], pairs)
    if not chosen:
        raise InvalidArgument("no picture of these scenes could be changed believably, so there is nothing to judge; give other scenes")
    erring = _erring(medium, model, list(chosen)) if model is not None else ()
    return slides(list(chosen.values()), rng, len(chosen), counted, erring)


def _erring(medium: Scenes, model: Model, places: Sequence[tuple[int, int]]) -> list[int]:
    """Which of these changes make a recogniser lose or invent an object of a class that they do not touch."""
    rows = np.array([(place, change, 1) for place, change in places], float)
    told = counted_scenes(medium, model, rows).changes
    return [k for k, one in enumerate(told) if any(judge(one, kind, Counter()).is_erring for kind in (EXCLUSION, INCLUSION))]


def joined(decks: Mapping[str, Sequence[Slide]], seed: int) -> list[Slide]:
    """The decks of several data sets as one, shuffled together; every slide knows its data set."""
    every = [replace(one, key=f"{k}-{one.key}", data=name) for k, (name, deck) in enumerate(decks.items()) for one in deck]
    return _shuffled(every, np.random.default_rng(seed))


def _first_made(medium: Scenes, places: Sequence[tuple[int, int]], most: int) -> dict[tuple[int, int], Mutation]:
    """The first changes that can be made; the others are not even tried."""
    found: dict[tuple[int, int], Mutation] = {}
    for place, change in places:
        made = medium.made(place, change)
        found |= {(place, change): made} if isinstance(made, Mutation) else {}
        if len(found) == most:
            break
    return found


def _shuffled(made: list[Slide], rng: np.random.Generator) -> list[Slide]:
    order = [made[k] for k in rng.permutation(len(made))]
    for _ in range(200 * len(order)):
        clashes = [k for k in range(1, len(order)) if _clash(order[k - 1], order[k])]
        if not clashes:
            return order
        one, other = int(rng.choice(clashes)), int(rng.integers(len(order)))
        order[one], order[other] = order[other], order[one]
    return order


def _clash(one: Slide, other: Slide) -> bool:
    return one.scene == other.scene or (one.operator == other.operator != REAL)


def page(deck: Sequence[Slide], question: CountQuestion, order: Sequence[int], nonce: str) -> str:
    """The whole page with its pictures inside, in this order; it does not say which picture is which."""
    from jinja2 import Environment

    entries = [{"key": str(place), "src": jpeg_uri(deck[place].picture)} for place in order]
    return (
        Environment(autoescape=True)
        .from_string((resources.files("evenhand.report") / "templates" / "study.html").read_text(encoding="utf-8"))
        .render(questions=(*QUESTIONS, question.text), slides=entries, study=digest_of_deck(deck), nonce=nonce, most=MOST_COUNT)
    )


def digest_of_deck(deck: Sequence[Slide]) -> str:
    """Names a study, so that a browser does not take up the answers of another one."""
    told = json.dumps([one.told[:4] for one in deck])
    return hashlib.sha256(told.encode()).hexdigest()[:16]


def own_order(deck: Sequence[Slide], rng: np.random.Generator) -> list[int]:
    """The places of all slides in an order for one person, neighbours apart as in the deck."""
    place_of = {one.key: place for place, one in enumerate(deck)}
    return [place_of[one.key] for one in _shuffled(list(deck), rng)]


def write_key(deck: Sequence[Slide], folder: Path) -> Path:
    """Which slide is what, without the pictures: all that the statistics need.  The page never sees it.

    A folder that holds another study is left alone: its answers would be read by the wrong key.
    """
    path = private_folder(folder) / KEY
    if path.exists() and digest_of_deck(read_key(folder)) != digest_of_deck(deck):
        raise DataError(f"{folder} holds the answers of another study (other pictures or another seed); give a folder of its own")
    write_whole(path, json.dumps([one.told for one in deck]), private=True)
    return path


def read_key(folder: Path) -> list[Slide]:
    """The slides of the study in a folder, with empty pictures."""
    try:
        rows = json.loads((folder / KEY).read_text(encoding="utf-8"))
        return [_known(*row) for row in rows]
    except (OSError, ValueError, TypeError) as fault:
        raise DataError(f"{folder} holds no study: {KEY} cannot be read ({fault}); run the study there first") from fault


def _known(key: str, kind: str, scene: str, count: int, data: str = "", is_erring: bool = False) -> Slide:
    """A slide of a stored key; those of the version before know no data set."""
    return Slide(str(key), np.zeros((1, 1, 3), np.uint8), str(kind), str(scene), int(count), str(data), bool(is_erring))


def read_sheets(folder: Path, deck: Sequence[Slide]) -> list[list[dict[str, int]]]:
    """Every stored answer sheet, checked again."""
    sheets = []
    for path in sorted(folder.glob("*.json")):
        try:
            sheets.append(checked(json.loads(path.read_text(encoding="utf-8")), deck))
        except (DataError, ValueError, KeyError, TypeError, AttributeError) as fault:
            raise DataError(f"{path} is no answer sheet of this study ({fault}); move it elsewhere") from fault
    return sheets


def serve(deck: Sequence[Slide], folder: Path, port: int = 0, question: CountQuestion | None = None) -> LocalServer:
    """A server on this computer only; each participant's answers become one file.  The caller runs and closes it."""
    write_key(deck, folder)
    token, asked = secrets.token_urlsafe(18), question or CountQuestion()

    class Handler(LocalHandler):
        def do_GET(self) -> None:
            """The page, in an order of its own for everybody who opens it."""
            if not self.is_ours(token):
                return self._send(403, b"not for you", "text/plain")
            if self.path.partition("?")[0] != "/":
                return self._send(404, b"not here", "text/plain")
            nonce = secrets.token_urlsafe(12)
            text = page(deck, asked, own_order(deck, np.random.default_rng()), nonce)
            return self._send(200, text.encode(), "text/html; charset=utf-8", nonce)

        def do_POST(self) -> None:
            """One participant's answers, checked before they are stored; handing them in twice stores them once."""
            if not self.is_ours(token):
                return self._send(403, b"not for you", "text/plain")
            try:
                if self.path.partition("?")[0] != "/answers":
                    raise DataError("not an answer sheet")
                sheet = handed_in(json.loads(self.content(MOST_SHEET_BYTES)), deck)
            except (DataError, ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError) as fault:
                return self._send(400, str(fault).encode(), "text/plain")
            file = folder / f"{sheet.name}.json"
            if file.exists():
                return self._send(409, b"these answers were handed in before", "text/plain")
            write_whole(file, json.dumps(sheet.answers), private=True)
            return self._send(200, b"stored", "text/plain")

        def _send(self, status: int, body: bytes, kind: str, nonce: str = "") -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("X-Content-Type-Options", "nosniff")
            inline = f"script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; " if nonce else ""
            self.send_header("Content-Security-Policy", f"default-src 'none'; {inline}img-src data:; connect-src 'self'; base-uri 'none'")
            self.end_headers()
            self.wfile.write(body)

    return LocalServer(port, Handler, token)


@dataclass(frozen=True)
class AnswerSheet:
    """One participant's answers under the name that their browser made up."""

    name: str
    answers: list[dict[str, int]]


def handed_in(told: Any, deck: Sequence[Slide]) -> AnswerSheet:
    """What a page hands in: a random name of 32 digits and a complete sheet; else DataError."""
    if not isinstance(told, dict) or not SHEET_NAME.fullmatch(str(told.get("sheet"))):
        raise DataError("an answer sheet has a name of 32 hexadecimal digits under 'sheet'")
    return AnswerSheet(str(told["sheet"]), checked(told.get("answers"), deck))


def checked(answers: Any, deck: Sequence[Slide]) -> list[dict[str, int]]:
    """One complete answer sheet, or DataError."""
    if not isinstance(answers, list) or sorted(str(one.get("key")) for one in answers) != sorted(str(k) for k in range(len(deck))):
        raise DataError(f"an answer sheet has one answer for each of the {len(deck)} pictures")
    clean = []
    for one in answers:
        values = {name: int(one[name]) for name in ("key", "realism", "likelihood", "count")}
        if not (0 <= values["realism"] <= 10 and 0 <= values["likelihood"] <= 10 and 0 <= values["count"] <= MOST_COUNT):
            raise DataError(f"answer {one!r} lies outside its scale")
        clean.append(values)
    return sorted(clean, key=lambda one: one["key"])


def project_scenes(file: Path) -> Scenes:
    """The scenes of a project; any other medium is refused."""
    return scenes_of(open_project(file).data, file)


def scenes_of(data: Data, file: Path) -> Scenes:
    """The scenes of a project's data; any other medium is refused."""
    medium = getattr(data, "medium", None)
    if not isinstance(medium, Scenes):
        raise InvalidArgument(f"project={str(file)!r} describes no scenes, and only changed scenes are judged in a study")
    return medium
