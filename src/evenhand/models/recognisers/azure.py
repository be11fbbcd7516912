"""Azure image analysis through its own client."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from evenhand.contract import Answer
from evenhand.errors import InvalidArgument, require
from evenhand.media.scene import Picture
from evenhand.models.http_transport import expanded
from evenhand.models.recognisers.client_patience import Patience
from evenhand.models.recognisers.jpeg import jpeg
from evenhand.models.recognisers.service_answers import AnswerReading

if TYPE_CHECKING:
    from evenhand.models.model_wishes import ObjectSettings

WITH_TAGS = 2.0  # USD for a thousand pictures whose tags are asked for too, list price


@dataclass(frozen=True)
class AzureVision:
    """Azure image analysis, objects."""

    endpoint: str
    key: str = field(repr=False)
    least: float = 0.5
    price_per_thousand: float = 1.0
    patience: Patience = field(default_factory=Patience)
    unboxed: bool = False  # whether tags of the whole picture are asked for, which costs as much again, and count
    name: str = "Azure image analysis"

    @classmethod
    def named(cls, told: ObjectSettings) -> AzureVision:
        """By what the caller said about objects."""
        if not told.endpoint:
            raise InvalidArgument("the recogniser azure needs endpoint, the address of your resource")
        key = expanded(told.key, "the key of azure", set())
        made = cls(told.endpoint, key, price_per_thousand=WITH_TAGS, unboxed=True) if told.unboxed else cls(told.endpoint, key)
        return made if told.least is None else replace(made, least=told.least)

    @cached_property
    def _client(self) -> Any:
        require("azure.ai.vision.imageanalysis", "cloud")
        from azure.ai.vision.imageanalysis import ImageAnalysisClient
        from azure.core.credentials import AzureKeyCredential

        return ImageAnalysisClient(self.endpoint, AzureKeyCredential(self.key), retry_total=0)

    def fingerprint(self) -> str:
        """Service, endpoint and threshold; never the key."""
        return f"azure-{self.endpoint}-{self.least}" + ("-unboxed" if self.unboxed else "")

    def recognise(self, pictures: Sequence[Picture]) -> list[Answer]:
        """One call for each picture."""
        return [self._one(picture) for picture in pictures]

    def _one(self, picture: Picture) -> Answer:
        from azure.ai.vision.imageanalysis.models import VisualFeatures

        content = jpeg(picture)
        wanted = [VisualFeatures.OBJECTS, *([VisualFeatures.TAGS] if self.unboxed else [])]
        raw = self.patience.call(self.name, lambda: self._client.analyze(image_data=content, visual_features=wanted))
        told = {"objectsResult": {}, **raw.as_dict()}
        return AnswerReading(picture.shape[1], picture.shape[0], self.least, self.unboxed).read(told)
