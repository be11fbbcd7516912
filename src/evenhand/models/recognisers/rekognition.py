"""Amazon Rekognition through its own client, with a free choice of endpoint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from evenhand.contract import Answer, Detection
from evenhand.errors import require
from evenhand.media.scene import Picture
from evenhand.models.recognisers.client_patience import Patience
from evenhand.models.recognisers.jpeg import jpeg
from evenhand.models.recognisers.seen_objects import one_for_each

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
    name: str = "Amazon Rekognition"

    @classmethod
    def named(cls, told: ObjectSettings) -> Rekognition:
        """By what the caller said about objects."""
        return cls(endpoint=told.endpoint) if told.least is None else cls(endpoint=told.endpoint, least=100 * told.least)

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
        parents = {label["Name"]: [one["Name"] for one in label.get("Parents", ())] for label in raw["Labels"]}
        return one_for_each(found, parents)
