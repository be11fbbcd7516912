"""Examples in docstrings become blocks of code on the site."""

from __future__ import annotations

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"(?:^|\n\n)(>>> .*?)(?=\n\n|\Z)", re.DOTALL)


class ShownExamples(griffe.Extension):
    """Fences every example, and lists the parameters that a docstring explains."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Whatever carries a docstring."""
        if obj.docstring:
            text = EXAMPLE.sub(lambda found: f"\n\n```pycon\n{found[1]}\n```", obj.docstring.value)
            obj.docstring.value = listed(text, [each.name for each in getattr(obj, "parameters", ())])


def listed(text: str, names: list[str]) -> str:
    """Each `name: meaning` as a point of its own."""
    if not names:
        return text
    any_name = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
    points = re.sub(rf"(?:^|\n|  )((?:{any_name})(?:, (?:{any_name}))*): ", r"\n\n- `\1`: ", text)
    return re.sub(r"\n\n- (?=`)", "\n- ", points).replace("\n- `", "\n\n- `", 1)
