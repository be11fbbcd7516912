"""What all results share: a report in any format, and what a notebook and a prompt show.  Loads nothing until it is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any


class Rendered:
    """Mixed into every result: `report(path)` in the format of the path's ending, and what a notebook shows."""

    def as_dict(self) -> dict[str, Any]:
        """The result, version 2."""
        raise NotImplementedError

    def report(self, path: str | Path) -> Path:
        """Write the result: .html, .md, .xml (JUnit), .sarif, .json or .csv."""
        from evenhand.report import write

        return write(self.as_dict(), path)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from evenhand.report.notebook import fragment

        return fragment(self.as_dict())

    def __repr__(self) -> str:
        from evenhand.report.notebook import brief

        return brief(self.as_dict())
