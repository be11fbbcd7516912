"""Two texts word by word, so that a page can mark the words in which they differ and no others."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

_PIECES = re.compile(r"\w+|\s+|[^\w\s]")


@dataclass(frozen=True)
class TextPart:
    """A stretch of a text that stands in the other text too, or does not."""

    text: str
    differs: bool


def marked_words(first: str, second: str) -> tuple[list[TextPart], list[TextPart]]:
    """Both texts in parts; joined again, the parts of each are the text itself.

    >>> [part.text for part in marked_words("He wrote kindly.", "She wrote kindly.")[1] if part.differs]
    ['She']
    """
    one, other = _PIECES.findall(first), _PIECES.findall(second)
    steps = SequenceMatcher(None, one, other, autojunk=False).get_opcodes()
    return (
        _parts(one, [(begin, end, kind != "equal") for kind, begin, end, _, _ in steps]),
        _parts(other, [(begin, end, kind != "equal") for kind, _, _, begin, end in steps]),
    )


def _parts(pieces: Sequence[str], spans: Sequence[tuple[int, int, bool]]) -> list[TextPart]:
    return [TextPart("".join(pieces[begin:end]), differs) for begin, end, differs in spans if end > begin]
