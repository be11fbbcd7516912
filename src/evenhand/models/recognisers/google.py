"""Google Cloud Vision through its own client, with a free choice of endpoint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from evenhand.contract import Answer, Detection
from evenhand.errors import ModelFailed, require
from evenhand.media.scene import Picture
from evenhand.models.recognisers.client_patience import Patience
from evenhand.models.recognisers.jpeg import jpeg
from evenhand.models.recognisers.seen_objects import one_for_each

if TYPE_CHECKING:
    from evenhand.models.model_wishes import ObjectSettings


@dataclass(frozen=True)
class GoogleVision:
    """Google Cloud Vision, object localisation.  A plain `http://` endpoint is asked without credentials."""

    endpoint: str | None = None
    least: float = 0.5
    price_per_thousand: float = 2.25
    patience: Patience = field(default_factory=Patience)
    name: str = "Google Cloud Vision"

    @classmethod
    def named(cls, told: ObjectSettings) -> GoogleVision:
        """By what the caller said about objects."""
        return cls(told.endpoint) if told.least is None else cls(told.endpoint, told.least)

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
        return one_for_each(found)
