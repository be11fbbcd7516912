"""An independent verdict on what an editor really does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from evenhand.arrays import Labels, Mask
from evenhand.contract import Editor, PictureModel, Pictures
from evenhand.errors import InvalidArgument
from evenhand.media.album import Album
from evenhand.statistics.intervals import Interval, clopper_pearson


@dataclass(frozen=True)
class EditorFacts:
    """What an independent classifier of attributes says about an editor's twins."""

    attribute: str
    flip: str
    confirmed: Interval  # of the pictures whose attribute the jury read rightly, the share whose twin it reads as flipped
    collateral: dict[str, Interval]  # of other attributes, the share that changed along with it
    baseline: dict[str, float]  # how often the jury is right about unedited pictures
    pixel_change: float  # mean absolute change, of 255
    guessing: dict[str, float] = field(default_factory=dict)  # how often the commonest value is right

    def lines(self) -> list[str]:
        """Sentences for a report."""
        said = [f"{self.flip} of {self.attribute!r}: confirmed by an independent classifier in {self.confirmed}"]
        said += [f"  collateral change of {name!r}: {share}" for name, share in self.collateral.items()]
        return [*said, f"  mean absolute pixel change {self.pixel_change:.1f} of 255"]


Jury = Mapping[str, PictureModel]
"""Independent classifiers by the attribute that they read."""


def assess(editor: Editor, album: Album, jury: Jury) -> EditorFacts:
    """Let a jury read the pictures and their twins; only attributes read rightly before the edit count."""
    if editor.attribute not in jury:
        raise InvalidArgument(f"jury has no classifier of {editor.attribute!r}, only of {sorted(jury)}")
    album = album.known(editor.attribute)
    twins = editor.twins(album)
    collateral, baseline, guessing = {}, {}, {}
    for name, model in jury.items():
        right, kept = _readings(model, album.attribute(name).codes, album.pictures, twins)
        known = album.attribute(name).codes >= 0
        baseline[name] = float(right[known].mean()) if known.any() else float("nan")
        guessing[name] = float(np.bincount(album.attribute(name).codes[known]).max() / known.sum()) if known.any() else float("nan")
        collateral[name] = clopper_pearson(int(np.sum(right & ~kept)), int(right.sum()))
    confirmed = collateral.pop(editor.attribute)
    change = float(np.abs(twins.astype(np.float32) - album.pictures.astype(np.float32)).mean())
    return EditorFacts(editor.attribute, editor.flip, confirmed, collateral, baseline, change, guessing)


def _readings(model: PictureModel, codes: Labels, before: Pictures, after: Pictures) -> tuple[Mask, Mask]:
    """Which pictures were read rightly, and whose reading the edit left as it was."""
    first, second = model.scores(before).argmax(axis=1), model.scores(after).argmax(axis=1)
    return first == codes, first == second
