"""The answers of three services in their documented JSON: objects with boxes, each once, and labels of the whole picture.

The clients hand their answers over in this form, and recorded ones can be read without any client: Rekognition's DetectLabels, Cloud
Vision's images:annotate (OBJECT_LOCALIZATION, LABEL_DETECTION), Azure's Image Analysis 4.0 (objects, people, tags) and 3.2 (objects with
their parents, tags).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evenhand.contract import Answer, Detection
from evenhand.errors import ModelFailed, WrongAnswer
from evenhand.models.recognisers.seen_objects import named_once, one_for_each


@dataclass(frozen=True)
class AnswerReading:
    """How an answer is read.

    width, height: of the picture that was sent.  least: the least score that counts, from 0 to 1.
    unboxed: whether labels of the whole picture count, as one object each that has no box.
    """

    width: int
    height: int
    least: float = 0.0
    unboxed: bool = False

    def read(self, raw: Mapping[str, Any]) -> Answer:
        """An answer of any of the three services; WrongAnswer where it has another form."""
        for is_of, parts in SERVICES:
            if is_of(raw):
                try:
                    boxed, whole, parents = parts(raw, self)
                except (KeyError, TypeError, ValueError, IndexError, AttributeError) as fault:
                    raise WrongAnswer(f"the service's answer lacks what its format has: {type(fault).__name__}: {fault}") from fault
                found = one_for_each([one for one in boxed if one.score >= self.least], parents)
                sure = [one for one in whole if one.score >= self.least] if self.unboxed else []
                return (*found, *named_once(sure, [one.label for one in found], parents))
        raise WrongAnswer(
            f"no service answers with {sorted(map(str, raw))[:6]}; expected Labels, localizedObjectAnnotations, objectsResult, "
            "or objects beside a requestId"
        )


Parts = tuple[list[Detection], list[Detection], dict[str, Collection[str]]]


def is_service_answer(raw: Mapping[str, Any]) -> bool:
    """Whether this is how one of the services answers."""
    return any(is_of(raw) for is_of, _ in SERVICES)


def _rekognition(raw: Mapping[str, Any], reading: AnswerReading) -> Parts:
    boxed, whole = [], []
    for label in raw["Labels"]:
        places = label.get("Instances") or ()
        for one in places:
            box = one["BoundingBox"]
            left, top = box["Left"] * reading.width, box["Top"] * reading.height
            corner = left + box["Width"] * reading.width, top + box["Height"] * reading.height
            boxed.append(Detection(label["Name"], one.get("Confidence", label["Confidence"]) / 100, (left, top, *corner)))
        whole += [] if places else [Detection(label["Name"], label["Confidence"] / 100)]
    parents: dict[str, Collection[str]] = {label["Name"]: [one["Name"] for one in label.get("Parents") or ()] for label in raw["Labels"]}
    return boxed, whole, parents


def _google(raw: Mapping[str, Any], reading: AnswerReading) -> Parts:
    """Corners may lack a coordinate, which then is 0."""
    told = raw["responses"][0] if "responses" in raw else raw
    message = (told.get("error") or {}).get("message")
    if message:
        raise ModelFailed(f"Google Cloud Vision answered with an error: {message}")
    boxed = []
    for one in told.get("localizedObjectAnnotations") or ():
        corners = (one.get("boundingPoly") or {}).get("normalizedVertices") or ()
        xs, ys = [each.get("x", 0.0) * reading.width for each in corners], [each.get("y", 0.0) * reading.height for each in corners]
        boxed.append(Detection(one["name"], float(one["score"]), (min(xs), min(ys), max(xs), max(ys)) if corners else None))
    whole = [Detection(one["description"], float(one["score"])) for one in told.get("labelAnnotations") or ()]
    return boxed, whole, {}


def _azure(raw: Mapping[str, Any], reading: AnswerReading) -> Parts:  # noqa: ARG001  (its boxes are in pixels)
    boxed = []
    for one in (raw.get("objectsResult") or {}).get("values") or ():
        boxed += [Detection(tag["name"], float(tag["confidence"]), _corners(one["boundingBox"])) for tag in one["tags"]]
    for one in (raw.get("peopleResult") or {}).get("values") or ():
        boxed.append(Detection("person", float(one["confidence"]), _corners(one["boundingBox"])))
    whole = [Detection(one["name"], float(one["confidence"])) for one in (raw.get("tagsResult") or {}).get("values") or ()]
    return boxed, whole, {}


def _azure_3(raw: Mapping[str, Any], reading: AnswerReading) -> Parts:  # noqa: ARG001  (its boxes are in pixels)
    """Every object tells its parent, which tells its own; a parent is another name of the same thing."""
    boxed: list[Detection] = []
    parents: dict[str, Collection[str]] = {}
    for one in raw.get("objects") or ():
        line = [one]
        while line[-1].get("parent"):
            line.append(line[-1]["parent"])
        names = [each["object"] for each in line]
        parents |= {name: names[k + 1 :] for k, name in enumerate(names)}
        boxed += [Detection(each["object"], float(each["confidence"]), _corners(one["rectangle"])) for each in line]
    whole = [Detection(one["name"], float(one["confidence"])) for one in raw.get("tags") or ()]
    return boxed, whole, parents


def _corners(box: Mapping[str, Any]) -> tuple[float, float, float, float]:
    return float(box["x"]), float(box["y"]), float(box["x"] + box["w"]), float(box["y"] + box["h"])


def _has_one(*keys: str) -> Callable[[Mapping[str, Any]], bool]:
    return lambda raw: any(key in raw for key in keys)


SERVICES: Sequence[tuple[Callable[[Mapping[str, Any]], bool], Callable[[Mapping[str, Any], AnswerReading], Parts]]] = (
    (_has_one("Labels", "LabelModelVersion"), _rekognition),
    (_has_one("responses", "localizedObjectAnnotations", "labelAnnotations"), _google),
    (_has_one("objectsResult", "peopleResult", "tagsResult"), _azure),
    (lambda raw: "requestId" in raw and _has_one("objects", "tags")(raw), _azure_3),
)
