"""The changed pictures of findings with annotations in the COCO format, for retraining, and sheets of them for looking at."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from evenhand.arrays import Rows
from evenhand.datasets.scenes.coco_writer import AnnotatedScene, write_coco
from evenhand.datasets.scenes.picture_files import write_picture
from evenhand.media.operators.parts.mutated import Mutation
from evenhand.media.scene import Picture
from evenhand.media.scenes import Scenes
from evenhand.report.scene_sheets import pair, sheet

SHOWN = 8  # pairs on the sheet of one operator


def export_coco(folder: Path, medium: Scenes, rows: Rows, outcomes: Sequence[str]) -> Path:
    """The pictures that these rows' changes make, each with what went wrong; returns the path of the annotations."""
    made = [medium.made(int(place), int(change)) for place, change, _ in rows]
    kept = [(one, words) for one, words in zip(made, outcomes, strict=True) if isinstance(one, Mutation)]
    for operator, picture in contact_sheets(kept).items():
        write_picture(folder / f"{operator}.jpg", picture)
    return write_coco(folder, (_annotated(number, one, words) for number, (one, words) in enumerate(kept, 1)))


def _annotated(number: int, made: Mutation, outcome: str) -> AnnotatedScene:
    stem = f"{number:05d}-{_word(made.operator)}-{_word(made.label)}-{_word(made.before.name)}"
    facts = {"operator": made.operator, "class": made.label, "source": made.before.name, "outcome": outcome, "how": made.how}
    return AnnotatedScene(stem, made.after, {"evenhand": facts})


def _word(text: str) -> str:
    """Letters, digits and hyphens as they are, anything else as an underscore: a class may be called anything, a file may not."""
    return "".join(letter if letter.isalnum() or letter == "-" else "_" for letter in text)


def contact_sheets(pairs: Sequence[tuple[Mutation, str]]) -> dict[str, Picture]:
    """For each operator, its first pairs with what went wrong."""
    found: dict[str, list[Picture]] = {}
    for made, words in pairs:
        cells = found.setdefault(made.operator, [])
        if len(cells) < SHOWN:
            cells.append(pair(made, words, 360))
    return {operator: sheet(cells, 2) for operator, cells in found.items()}
