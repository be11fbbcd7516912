"""Examples in docstrings become blocks of code on the site."""

from __future__ import annotations

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"(?:^|\n\n)(>>> .*?)(?=\n\n|\Z)", re.DOTALL)


class ShownExamples(griffe.Extension):
    """Fences every example."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Whatever carries a docstring."""
        if obj.docstring:
            obj.docstring.value = EXAMPLE.sub(lambda found: f"\n\n```pycon\n{found[1]}\n```", obj.docstring.value)
