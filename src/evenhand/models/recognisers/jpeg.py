"""Pictures as the bytes that services take and that pages show."""

from __future__ import annotations

import base64

import numpy as np

from evenhand.errors import InvalidArgument, require
from evenhand.media.scene import Picture

QUALITY = 95


def jpeg(picture: Picture) -> bytes:
    """The picture as it is sent."""
    cv2 = require("cv2", "image")
    is_done, content = cv2.imencode(".jpg", np.ascontiguousarray(picture[..., ::-1]), [cv2.IMWRITE_JPEG_QUALITY, QUALITY])
    if not is_done:
        raise InvalidArgument(f"a picture of shape {picture.shape} cannot be written as JPEG")
    return bytes(content)


def jpeg_uri(picture: Picture) -> str:
    """The same as a data URI, for a page."""
    return "data:image/jpeg;base64," + base64.b64encode(jpeg(picture)).decode("ascii")
