"""Google Cloud Vision through its own client, with a free choice of endpoint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from evenhand.contract import Answer
from evenhand.errors import require
from evenhand.media.scene import Picture
from evenhand.models.recognisers.client_patience import Patience
from evenhand.models.recognisers.jpeg import jpeg
from evenhand.models.recognisers.service_answers import AnswerReading

if TYPE_CHECKING:
    from evenhand.models.model_wishes import ObjectSettings

WITH_LABELS = 3.75  # USD for a thousand pictures whose labels are asked for too, list price


@dataclass(frozen=True)
class GoogleVision:
    """Google Cloud Vision, object localisation.  A plain `http://` endpoint is asked without credentials."""

    endpoint: str | None = None
    least: float = 0.5
    price_per_thousand: float = 2.25
    patience: Patience = field(default_factory=Patience)
    unboxed: bool = False  # whether labels of the whole picture are asked for, which costs more, and count
    name: str = "Google Cloud Vision"

    @classmethod
    def named(cls, told: ObjectSettings) -> GoogleVision:
        """By what the caller said about objects."""
        made = cls(told.endpoint, price_per_thousand=WITH_LABELS, unboxed=True) if told.unboxed else cls(told.endpoint)
        return made if told.least is None else replace(made, least=told.least)

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
        return f"google-vision-{self.endpoint or 'service'}-{self.least}" + ("-unboxed" if self.unboxed else "")

    def recognise(self, pictures: Sequence[Picture]) -> list[Answer]:
        """One call for each picture."""
        return [self._one(picture) for picture in pictures]

    def _one(self, picture: Picture) -> Answer:
        from google.cloud import vision

        wanted = [vision.Feature.Type.OBJECT_LOCALIZATION, *([vision.Feature.Type.LABEL_DETECTION] if self.unboxed else [])]
        question = {"image": {"content": jpeg(picture)}, "features": [{"type_": one} for one in wanted]}
        raw = self.patience.call(self.name, lambda: self._client.annotate_image(question, retry=None))
        told = vision.AnnotateImageResponse.to_dict(raw, preserving_proto_field_name=False)
        return AnswerReading(picture.shape[1], picture.shape[0], self.least, self.unboxed).read({"localizedObjectAnnotations": [], **told})
