"""Paid recognition services through their own clients, with a free choice of endpoint, and any HTTP endpoint by template."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from evenhand.contract import Answer, Detection
from evenhand.errors import DataError, EvenhandError, InvalidArgument, ModelFailed, WrongAnswer, require
from evenhand.media.scene import Picture

T = TypeVar("T")
QUALITY = 95


def jpeg(picture: Picture) -> bytes:
    """The picture as it is sent."""
    cv2 = require("cv2", "image")
    is_done, content = cv2.imencode(".jpg", np.ascontiguousarray(picture[..., ::-1]), [cv2.IMWRITE_JPEG_QUALITY, QUALITY])
    if not is_done:
        raise InvalidArgument(f"a picture of shape {picture.shape} cannot be written as JPEG")
    return bytes(content)


@dataclass(frozen=True)
class Patience:
    """How often a failing call is tried, and how long the first pause is; each pause doubles."""

    attempts: int = 4
    pause_seconds: float = 0.5

    def call(self, what: str, ask: Callable[[], T]) -> T:
        """The answer, or ModelFailed with the last fault."""
        for attempt in range(self.attempts):
            try:
                return ask()
            except EvenhandError:
                raise
            except Exception as fault:  # clients raise their own trees of errors
                if attempt + 1 == self.attempts or _is_final(fault):
                    raise ModelFailed(f"{what} did not answer after {attempt + 1} attempts: {type(fault).__name__}: {fault}") from fault
                time.sleep(self.pause_seconds * 2**attempt)
        raise ModelFailed(f"{what}: attempts={self.attempts!r} must be at least 1")


def _is_final(fault: Exception) -> bool:
    """Whether trying again is useless: the request itself was refused."""
    response = getattr(fault, "response", None)
    status = getattr(fault, "status_code", None) or getattr(fault, "code", None) or getattr(response, "status_code", None)
    if isinstance(response, Mapping):
        status = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
    status = getattr(status, "value", status)
    return isinstance(status, int) and 400 <= status < 500 and status not in (408, 429)


@dataclass(frozen=True)
class Rekognition:
    """Amazon Rekognition, DetectLabels.  Credentials come from the usual places of its client."""

    region: str = "eu-west-1"
    endpoint: str | None = None
    least: float = 55.0  # percent, the service's own default
    price_per_thousand: float = 1.0
    patience: Patience = field(default_factory=Patience)
    name: str = "Amazon Rekognition"

    @cached_property
    def _client(self) -> Any:
        require("boto3", "cloud")
        import boto3  # type: ignore[import-untyped]
        from botocore.config import Config  # type: ignore[import-untyped]

        return boto3.client(
            "rekognition", region_name=self.region, endpoint_url=self.endpoint, config=Config(retries={"total_max_attempts": 1})
        )

    def fingerprint(self) -> str:
        """Service, endpoint and threshold."""
        return f"rekognition-{self.region}-{self.endpoint or 'service'}-{self.least}"

    def recognise(self, pictures: Sequence[Picture]) -> list[Answer]:
        """One call for each picture; labels without instances describe the whole picture and are left out."""
        return [self._one(picture) for picture in pictures]

    def _one(self, picture: Picture) -> Answer:
        content = jpeg(picture)
        raw = self.patience.call(self.name, lambda: self._client.detect_labels(Image={"Bytes": content}, MinConfidence=self.least))
        height, width = picture.shape[:2]
        found = []
        for label in raw["Labels"]:
            for one in label.get("Instances", ()):
                box = one["BoundingBox"]
                left, top = box["Left"] * width, box["Top"] * height
                found.append(
                    Detection(
                        label["Name"],
                        one.get("Confidence", label["Confidence"]) / 100,
                        (left, top, left + box["Width"] * width, top + box["Height"] * height),
                    )
                )
        return tuple(found)


@dataclass(frozen=True)
class GoogleVision:
    """Google Cloud Vision, object localisation.  A plain `http://` endpoint is asked without credentials."""

    endpoint: str | None = None
    least: float = 0.5
    price_per_thousand: float = 2.25
    patience: Patience = field(default_factory=Patience)
    name: str = "Google Cloud Vision"

    @cached_property
    def _client(self) -> Any:
        require("google.cloud.vision", "cloud")
        from google.auth.credentials import AnonymousCredentials
        from google.cloud import vision
        from google.cloud.vision_v1.services.image_annotator.transports import ImageAnnotatorRestTransport

        if self.endpoint is None:
            return vision.ImageAnnotatorClient(transport="rest")
        scheme, _, host = self.endpoint.rstrip("/").rpartition("://")
        if scheme != "http":
            return vision.ImageAnnotatorClient(transport="rest", client_options={"api_endpoint": host})
        transport = ImageAnnotatorRestTransport(host=host, url_scheme="http", credentials=AnonymousCredentials())  # type: ignore[no-untyped-call]
        return vision.ImageAnnotatorClient(transport=transport)

    def fingerprint(self) -> str:
        """Service, endpoint and threshold."""
        return f"google-vision-{self.endpoint or 'service'}-{self.least}"

    def recognise(self, pictures: Sequence[Picture]) -> list[Answer]:
        """One call for each picture."""
        return [self._one(picture) for picture in pictures]

    def _one(self, picture: Picture) -> Answer:
        from google.cloud import vision

        image = vision.Image(content=jpeg(picture))
        raw = self.patience.call(self.name, lambda: self._client.object_localization(image=image, retry=None))
        if raw.error.message:
            raise ModelFailed(f"{self.name} answered with an error: {raw.error.message}")
        height, width = picture.shape[:2]
        found = []
        for one in raw.localized_object_annotations:
            corners = [(vertex.x * width, vertex.y * height) for vertex in one.bounding_poly.normalized_vertices]
            xs, ys = [x for x, _ in corners], [y for _, y in corners]
            if one.score >= self.least:
                found.append(Detection(one.name, float(one.score), (min(xs), min(ys), max(xs), max(ys)) if corners else None))
        return tuple(found)


@dataclass(frozen=True)
class AzureVision:
    """Azure image analysis, objects."""

    endpoint: str
    key: str = field(repr=False)
    least: float = 0.5
    price_per_thousand: float = 1.0
    patience: Patience = field(default_factory=Patience)
    name: str = "Azure image analysis"

    @cached_property
    def _client(self) -> Any:
        require("azure.ai.vision.imageanalysis", "cloud")
        from azure.ai.vision.imageanalysis import ImageAnalysisClient
        from azure.core.credentials import AzureKeyCredential

        return ImageAnalysisClient(self.endpoint, AzureKeyCredential(self.key), retry_total=0)

    def fingerprint(self) -> str:
        """Service, endpoint and threshold; never the key."""
        return f"azure-{self.endpoint}-{self.least}"

    def recognise(self, pictures: Sequence[Picture]) -> list[Answer]:
        """One call for each picture."""
        return [self._one(picture) for picture in pictures]

    def _one(self, picture: Picture) -> Answer:
        from azure.ai.vision.imageanalysis.models import VisualFeatures

        content = jpeg(picture)
        raw = self.patience.call(self.name, lambda: self._client.analyze(image_data=content, visual_features=[VisualFeatures.OBJECTS]))
        found = []
        for one in raw.objects.list if raw.objects is not None else ():
            box, tag = one.bounding_box, one.tags[0]
            if tag.confidence >= self.least:
                found.append(Detection(tag.name, float(tag.confidence), (box.x, box.y, box.x + box.width, box.y + box.height)))
        return tuple(found)


@dataclass(frozen=True)
class HttpTemplate:
    """Any endpoint: what is sent, and where in the answer the objects are.

    `body` is "jpeg" (the bytes), "multipart" (a file field called `field_name`), or a JSON value in which the text "{image}" stands
    for the picture in base64.  Places in the answer are dotted: "result.objects", "tag.name".  `box_form` is "corners" or "size".
    """

    url: str
    body: Any = "jpeg"
    headers: Mapping[str, str] = field(default_factory=dict)
    field_name: str = "file"
    objects: str = "objects"
    label: str = "label"
    score: str | None = "score"
    box: tuple[str, str, str, str] | None = None
    box_form: str = "corners"
    is_relative: bool = False
    price_per_thousand: float = 0.0
    timeout_seconds: float = 30.0
    patience: Patience = field(default_factory=Patience)
    name: str = "HTTP endpoint"

    @classmethod
    def from_yaml(cls, path: Path) -> HttpTemplate:
        """A template from a file whose keys are the fields' names, such as `url`, `body`, `objects`, `label`."""
        import yaml

        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        known = {one.name for one in fields(cls)} - {"patience"}
        if not isinstance(content, dict) or "url" not in content or set(content) - known:
            shown = sorted(content) if isinstance(content, dict) else content
            raise DataError(f"{path}: expected the key url and perhaps {', '.join(sorted(known - {'url'}))}; got {shown!r}")
        return cls(**{**content, **({"box": tuple(content["box"])} if content.get("box") else {})})

    def fingerprint(self) -> str:
        """The address and the shape of question and answer; never a header, which may hold a key."""
        return f"http-{self.url}-{self.objects}-{self.label}"

    def recognise(self, pictures: Sequence[Picture]) -> list[Answer]:
        """One request for each picture."""
        httpx = require("httpx", "http")
        with httpx.Client(timeout=self.timeout_seconds, headers=dict(self.headers)) as client:
            return [self._one(client, picture) for picture in pictures]

    def _one(self, client: Any, picture: Picture) -> Answer:
        content = jpeg(picture)

        def ask() -> Any:
            if self.body == "jpeg":
                response = client.post(self.url, content=content, headers={"content-type": "image/jpeg"})
            elif self.body == "multipart":
                response = client.post(self.url, files={self.field_name: ("picture.jpg", content, "image/jpeg")})
            else:
                response = client.post(self.url, json=_filled(self.body, base64.b64encode(content).decode()))
            response.raise_for_status()
            return response.json()

        raw = self.patience.call(self.name, ask)
        return tuple(self._detection(one, picture.shape) for one in _at(raw, self.objects, self.name))

    def _detection(self, one: Any, shape: tuple[int, ...]) -> Detection:
        label = str(_at(one, self.label, self.name))
        score = float(_at(one, self.score, self.name)) if self.score else 1.0
        if self.box is None:
            return Detection(label, score)
        values = np.array([float(_at(one, place, self.name)) for place in self.box])
        if self.box_form == "size":
            values[2:] += values[:2]
        if self.is_relative:
            values *= np.array([shape[1], shape[0]] * 2)
        return Detection(label, score, (float(values[0]), float(values[1]), float(values[2]), float(values[3])))


def _filled(body: Any, image: str) -> Any:
    if isinstance(body, str):
        return body.replace("{image}", image)
    if isinstance(body, Mapping):
        return {key: _filled(value, image) for key, value in body.items()}
    return [_filled(value, image) for value in body] if isinstance(body, list | tuple) else body


def _at(value: Any, place: str, name: str) -> Any:
    for step in place.split(".") if place else ():
        try:
            value = value[int(step)] if isinstance(value, list) else value[step]
        except (KeyError, IndexError, TypeError, ValueError) as fault:
            raise WrongAnswer(f"{name} answered {str(value)[:200]!r}, which has nothing at {step!r} of {place!r}") from fault
    return value
