"""Every registered medium keeps every promise; a new file in media/ is covered the moment it exists."""

import pytest

from evenhand import checks
from evenhand.checks.examples import MEDIA_EXAMPLES, made
from evenhand.media import MEDIA


@pytest.fixture(scope="module")
def media():
    return {name: made(entry, MEDIA_EXAMPLES) for name, entry in MEDIA.entries().items()}


@pytest.mark.parametrize("check", checks.for_medium(), ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", MEDIA.entries())
def test_every_medium_keeps_every_promise(media, name, check):
    check(media[name])
