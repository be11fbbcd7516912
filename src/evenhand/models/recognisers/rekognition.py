"""Amazon Rekognition through its own client, with a free choice of endpoint."""

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


@dataclass(frozen=True)
class Rekognition:
    """Amazon Rekognition, DetectLabels.  Credentials come from the usual places of its client."""

    region: str = "eu-west-1"
    endpoint: str | None = None
    least: float = 55.0  # percent, the service's own default
    price_per_thousand: float = 1.0
    patience: Patience = field(default_factory=Patience)
    unboxed: bool = False  # whether labels without a box count
    name: str = "Amazon Rekognition"

    @classmethod
    def named(cls, told: ObjectSettings) -> Rekognition:
        """By what the caller said about objects."""
        made = cls(endpoint=told.endpoint, unboxed=told.unboxed)
        return made if told.least is None else replace(made, least=100 * told.least)

    @cached_property
    def _client(self) -> Any:
        require("boto3", "cloud")
        import boto3  # type: ignore[import-untyped]
        from botocore.config import Config  # type: ignore[import-untyped]

        # A server on this machine asks for no credentials, but the client insists on some.
        own = {"aws_access_key_id": "none", "aws_secret_access_key": "none"} if "://127.0.0.1" in (self.endpoint or "") else {}
        config = Config(retries={"total_max_attempts": 1})
        return boto3.client("rekognition", region_name=self.region, endpoint_url=self.endpoint, config=config, **own)

    def fingerprint(self) -> str:
        """Service, endpoint and threshold."""
        return f"rekognition-{self.region}-{self.endpoint or 'service'}-{self.least}" + ("-unboxed" if self.unboxed else "")

    def recognise(self, pictures: Sequence[Picture]) -> list[Answer]:
        """One call for each picture; labels without instances describe the whole picture and count only where that is wished."""
        return [self._one(picture) for picture in pictures]

    def _one(self, picture: Picture) -> Answer:
        content = jpeg(picture)
        raw = self.patience.call(self.name, lambda: self._client.detect_labels(Image={"Bytes": content}, MinConfidence=self.least))
        return AnswerReading(picture.shape[1], picture.shape[0], unboxed=self.unboxed).read(raw)
