"""The paper's human study as a local page: sixty shuffled pictures, two scales and a control question; answers to a file; its statistics.

The page talks to nobody but the small server here; it sets no cookie and asks for no name.
"""

from __future__ import annotations

import base64
import json
import secrets
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.datasets.scene_data import drawn_streets
from evenhand.disk import private_folder, write_whole
from evenhand.errors import DataError
from evenhand.limits import Limit
from evenhand.media.operators.parts.mutated import Mutation
from evenhand.media.scene import Picture
from evenhand.media.scenes import ChangePlan, Scenes
from evenhand.models.local_server import LocalHandler, LocalServer
from evenhand.models.recognisers.jpeg import jpeg
from evenhand.statistics.shares import RankTest, mann_whitney

REAL = "real"
MOST_SHEET_BYTES = 200_000
KEY = "slides.key"
VEHICLES = ("car", "truck", "bus", "motorcycle")
RIGHT_AT_LEAST = 0.6  # of the control pictures
AGREEMENT = 0.75
PAIRS_PER_OPERATOR = 10
QUESTIONS = (
    "On a scale of 0 to 10, how realistic is the picture? (Realistic: it shows, or seems to show, real people, objects or scenes.)",
    "On a scale of 0 to 10, how likely is the scene to occur in real life?",
    "How many vehicles are in this picture?",
)


@dataclass(frozen=True, eq=False)
class Slide:
    """One picture of the study."""

    key: str
    picture: Picture
    operator: str  # "real" for an original
    scene: str
    vehicles: int


def slides(mutations: Sequence[Mutation], rng: np.random.Generator, pairs: int = 30) -> list[Slide]:
    """Originals and their mutated versions, shuffled so that no neighbours share the operator, unless both are real, or the scene."""
    Limit(least=1, most=len(mutations), whole=True).check("pairs", pairs, hint=", the number of mutations")
    chosen = [mutations[k] for k in rng.permutation(len(mutations))[:pairs]]
    made = []
    for number, one in enumerate(chosen):
        for kind, scene in ((REAL, one.before), (one.operator, one.after)):
            vehicles = sum(scene.truth.get(label, 0) for label in VEHICLES)
            made.append(Slide(f"{number:02d}-{'a' if kind == REAL else 'b'}", scene.picture, kind, one.before.name, vehicles))
    return _shuffled(made, rng)


def street_slides(count: int, seed: int) -> list[Slide]:
    """Ten changes of drawn streets by each operator and their originals, as many as can be made."""
    rng = np.random.default_rng(seed)
    plan = ChangePlan(("person", "car", "dog"), ("person", "car"), ("paper",), controls=False)
    medium = Scenes(drawn_streets(count, seed), plan, seed=seed)
    every = [medium.made(int(place), int(change)) for place, change, _ in medium.rows()]
    chosen: list[Mutation] = []
    for operator in sorted(plan.made_by):
        found = [one for one in every if isinstance(one, Mutation) and one.operator == operator]
        chosen += [found[k] for k in rng.permutation(len(found))[:PAIRS_PER_OPERATOR]]
    return slides(chosen, rng, len(chosen))


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


def page(deck: Sequence[Slide]) -> str:
    """The whole page with its pictures inside; it does not say which picture is which."""
    from jinja2 import Environment

    entries = [
        {"key": one.key, "src": "data:image/jpeg;base64," + base64.b64encode(jpeg(one.picture)).decode()} for one in _anonymous(deck)
    ]
    return (
        Environment(autoescape=True)
        .from_string((resources.files("evenhand.report") / "templates" / "study.html").read_text(encoding="utf-8"))
        .render(questions=QUESTIONS, slides=entries)
    )


def _anonymous(deck: Sequence[Slide]) -> list[Slide]:
    return [Slide(str(place), one.picture, one.operator, one.scene, one.vehicles) for place, one in enumerate(deck)]


def write_key(deck: Sequence[Slide], folder: Path) -> Path:
    """Which slide is what, without the pictures: all that the statistics need.  The page never sees it."""
    path = private_folder(folder) / KEY
    write_whole(path, json.dumps([[one.key, one.operator, one.scene, one.vehicles] for one in deck]), private=True)
    return path


def read_key(folder: Path) -> list[Slide]:
    """The slides of the study in a folder, with empty pictures."""
    try:
        rows = json.loads((folder / KEY).read_text(encoding="utf-8"))
        return [Slide(str(key), np.zeros((1, 1, 3), np.uint8), str(kind), str(scene), int(n)) for key, kind, scene, n in rows]
    except (OSError, ValueError, TypeError) as fault:
        raise DataError(f"{folder} holds no study: {KEY} cannot be read ({fault}); run the study there first") from fault


def read_sheets(folder: Path, deck: Sequence[Slide]) -> list[list[dict[str, int]]]:
    """Every stored answer sheet, checked again."""
    return [checked(json.loads(path.read_text(encoding="utf-8")), deck) for path in sorted(folder.glob("*.json"))]


def serve(deck: Sequence[Slide], folder: Path, port: int = 0) -> LocalServer:
    """A server on this computer only; each participant's answers become one file.  The caller runs and closes it."""
    write_key(deck, folder)
    token = secrets.token_urlsafe(18)
    text = page(deck).encode()

    class Handler(LocalHandler):
        def do_GET(self) -> None:
            """The page."""
            if not self.is_ours(token):
                return self._send(403, b"not for you", "text/plain")
            if self.path.partition("?")[0] != "/":
                return self._send(404, b"not here", "text/plain")
            return self._send(200, text, "text/html; charset=utf-8")

        def do_POST(self) -> None:
            """One participant's answers, checked before they are stored."""
            if not self.is_ours(token):
                return self._send(403, b"not for you", "text/plain")
            try:
                if self.path.partition("?")[0] != "/answers":
                    raise DataError("not an answer sheet")
                answers = checked(json.loads(self.content(MOST_SHEET_BYTES)), deck)
            except (DataError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as fault:
                return self._send(400, str(fault).encode(), "text/plain")
            write_whole(folder / f"{uuid.uuid4().hex}.json", json.dumps(answers), private=True)
            return self._send(200, b"stored", "text/plain")

        def _send(self, status: int, body: bytes, kind: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    return LocalServer(port, Handler, token)


def checked(answers: Any, deck: Sequence[Slide]) -> list[dict[str, int]]:
    """One complete answer sheet, or DataError."""
    if not isinstance(answers, list) or sorted(str(one.get("key")) for one in answers) != sorted(str(k) for k in range(len(deck))):
        raise DataError(f"an answer sheet has one answer for each of the {len(deck)} pictures")
    clean = []
    for one in answers:
        values = {name: int(one[name]) for name in ("key", "realism", "likelihood", "vehicles")}
        if not (0 <= values["realism"] <= 10 and 0 <= values["likelihood"] <= 10 and 0 <= values["vehicles"] <= 99):
            raise DataError(f"answer {one!r} lies outside its scale")
        clean.append(values)
    return sorted(clean, key=lambda one: one["key"])


@dataclass(frozen=True)
class StudyResult:
    """What the paper reports of its study."""

    sheets: int
    valid: int
    control: tuple[int, ...]
    realism: Mapping[str, float]  # mean by operator, and "real" and "mutated"
    likelihood: Mapping[str, float]
    realism_of_real: float  # mutated over real
    likelihood_of_real: float
    test: RankTest | None  # realism of real against mutated


def analyse(deck: Sequence[Slide], sheets: Sequence[Sequence[Mapping[str, int]]], rng: np.random.Generator) -> StudyResult:
    """Five clear pictures (few vehicles, answered alike by more than three quarters) validate a sheet: three must be right."""
    if not sheets:
        raise DataError("no answer sheet; run the study first")
    counts = np.array([[one["vehicles"] for one in sheet] for sheet in sheets])
    truth = np.array([one.vehicles for one in deck])
    agreed = np.array([np.bincount(column).max() / len(column) for column in counts.T])
    clear = np.flatnonzero((truth <= 3) & (agreed > AGREEMENT))
    control = rng.choice(clear, min(5, len(clear)), replace=False) if len(clear) else np.zeros(0, int)
    right = (counts[:, control] == truth[control]).mean(axis=1) if len(control) else np.ones(len(sheets))
    valid = np.flatnonzero(right >= RIGHT_AT_LEAST)
    marks = {
        name: np.array([[one[name] for one in sheets[int(k)]] for k in valid], np.float64).reshape(len(valid), len(deck))
        for name in ("realism", "likelihood")
    }
    kinds = np.array([one.operator for one in deck])
    means = {name: _means(values, kinds) for name, values in marks.items()}
    real, mutated = marks["realism"][:, kinds == REAL].ravel(), marks["realism"][:, kinds != REAL].ravel()
    test = mann_whitney(real, mutated) if len(valid) else None
    ratios = [means[name].get("mutated", float("nan")) / means[name].get(REAL, float("nan")) for name in ("realism", "likelihood")]
    return StudyResult(
        len(sheets), len(valid), tuple(int(k) for k in control), means["realism"], means["likelihood"], ratios[0], ratios[1], test
    )


def _means(
    values: np.ndarray[tuple[int, ...], np.dtype[np.float64]], kinds: np.ndarray[tuple[int, ...], np.dtype[np.str_]]
) -> dict[str, float]:
    if not values.size:
        return {}
    means = {str(kind): float(values[:, kinds == kind].mean()) for kind in np.unique(kinds)}
    return {**means, "mutated": float(values[:, kinds != REAL].mean())}
