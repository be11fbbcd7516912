"""A plug-in of every kind as the text of one file, by its path in the package."""

FILES = {
    "methods/lucky.py": '''
"""LUCKY: proposes any rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from evenhand.contract import Candidates, Model


@dataclass(frozen=True)
class Lucky:
    """A method for this test."""

    batch: int = 500
    needs: ClassVar[type] = Model

    def search(self, task, rng):
        while True:
            yield Candidates(task.domain.sample(self.batch, rng), "luck")
''',
    "oracles/strict.py": '''
"""A label flip under another name."""

from __future__ import annotations

from dataclasses import dataclass

from evenhand.oracles.flip import LabelFlip


@dataclass(frozen=True)
class Strict(LabelFlip):
    """As strict as a flip."""
''',
    "synthesis/echo.py": '''
"""Repeats the rows that it was given."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.arrays import Rows


@dataclass(frozen=True, eq=False)
class Echo:
    """The data themselves."""

    rows: Rows
    name: str = "echo"

    @classmethod
    def fit(cls, rows, domain, rng):
        return cls(np.array(rows[domain.contains(rows)]))

    def sample(self, n, rng):
        return self.rows[rng.integers(len(self.rows), size=n)]
''',
    "repairs/leave_it.py": '''
"""Leaves the model as it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from evenhand.contract import Model
from evenhand.repairs.parts.case import Mended, Role


@dataclass(frozen=True)
class LeaveIt:
    """A repair for this test."""

    needs: ClassVar[type] = Model
    role: ClassVar[Role] = "control"

    def mend(self, case, rng):
        return Mended(case.model)
''',
    "models/adapters/thermometers.py": '''
"""Thermometers: models of this test."""

from __future__ import annotations

from evenhand.models.function import from_callable


class Thermometer:
    """Says yes where the second column is high."""


def accepts(given):
    return isinstance(given, Thermometer)


def adapt(given, wishes):
    return from_callable(lambda codes: (codes[:, 1] > 4).astype(float), wishes.domain, wishes.classes, "codes", wishes.returns)


def example():
    from evenhand.datasets.dataset import from_frame
    from evenhand.planted import shapes

    domain = shapes()["wide_band"].domain
    import numpy as np

    rows = domain.sample(30, np.random.default_rng(0))
    frame = domain.decode(rows)
    frame[domain.label.column] = [domain.label.values[at % 2] for at in range(len(frame))]
    return Thermometer(), from_frame(frame, domain, "thermometers")
''',
    "media/editors/darker.py": '''
"""Darkens a picture."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Darker:
    """An editor for this test."""

    attribute: str

    @classmethod
    def made(cls, album, attribute, tools):
        return cls(attribute)

    @property
    def flip(self):
        return "half of the light"

    def twins(self, album):
        return album.pictures // 2
''',
    "media/operators/repaint.py": '''
"""Paints one corner grey."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from evenhand.media.operators.parts.mutated import Became, finished


@dataclass(frozen=True)
class Repaint:
    """An operator for this test."""

    adds: ClassVar[bool] = False
    is_null: ClassVar[bool] = True
    is_random: ClassVar[bool] = False
    is_whole: ClassVar[bool] = False
    is_usual: ClassVar[bool] = True

    def change(self, order, rng):
        picture = order.scene.picture.copy()
        picture[:40, :40] = 128
        made = finished("repaint", order.label, order.scene, Became(picture, order.scene.instances))
        return replace(made, boxes=((0, 0, 40, 40),))
''',
    "media/tokens.py": '''
"""Shows a row as one word."""

from __future__ import annotations

from dataclasses import dataclass

from evenhand.domain.tabular import TabularDomain


@dataclass(frozen=True)
class Tokens:
    """A medium for this test."""

    domain: TabularDomain
    kind: str = "tokens"

    @classmethod
    def example(cls):
        from evenhand.planted import shapes

        return cls(shapes()["wide_band"].domain)

    def show(self, rows):
        return ["-".join(f"{code:g}" for code in row) for row in rows]

    def digest(self):
        return "tokens"
''',
    "datasets/loaders/notebooks.py": '''
"""Tables in files that end in .notes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar


@dataclass(frozen=True)
class Notebooks:
    """A loader for this test."""

    kind: ClassVar[str] = "notes"

    def claims(self, source):
        return 5 if isinstance(source, str | Path) and str(source).endswith(".notes") else 0

    def load(self, source, wishes):
        import pandas as pd

        from evenhand.datasets.dataset import from_frame
        from evenhand.domain.infer import infer

        frame = pd.read_csv(source)
        return from_frame(frame, infer(frame, protected=list(wishes.protected_names)), "notes")

    @classmethod
    def example(cls, folder):
        import numpy as np

        from evenhand.contract import DataWishes, EditorTools

        path = Path(folder) / "people.notes"
        path.write_text("sex,pay\\n" + "\\n".join(f"{'wm'[at % 2]},{at * 7 % 90}" for at in range(40)))
        return path, DataWishes(EditorTools(np.random.default_rng(0)), protected=("sex",))
''',
    "campaign/executors/backwards.py": '''
"""This process, the last task first."""

from __future__ import annotations

from dataclasses import dataclass

from evenhand.campaign.executors.parts.attempts import attempt


@dataclass(frozen=True)
class Backwards:
    """An executor for this test."""

    def carry_out(self, work, tasks):
        do = work.open()
        for place in reversed(range(len(tasks))):
            yield attempt(do, tasks[place]).end(place)
''',
    "synthesis/picture_latent/brightness.py": '''
"""One dimension: how bright a picture is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Brightness:
    """A latent space for this test."""

    mean: np.ndarray
    name: str = "brightness"

    @classmethod
    def fit(cls, pictures, dimensions, rng):
        return cls(pictures.mean(axis=0))

    def encode(self, pictures):
        return (pictures - self.mean).reshape(len(pictures), -1).mean(axis=1)[:, None]

    def decode(self, latents):
        return np.clip(self.mean + latents[:, :, None, None], 0, 255).astype(np.uint8)

    def sample(self, n, rng):
        return rng.normal(size=(n, 1))
''',
    "media/disturbances/negative.py": '''
"""Light and dark exchanged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class Negative:
    """A disturbance for this test."""

    words: ClassVar[str] = "as a negative"

    def changed(self, pictures):
        return 255 - pictures
''',
    "measures/studies/counting.py": '''
"""How many rows there are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from evenhand.contract import StudySection


@dataclass(frozen=True)
class Counting:
    """A study for this test."""

    media: ClassVar[tuple[str, ...]] = ("table",)

    def study(self, case, rng):
        return StudySection({"rows": len(case.rows)}, (f"there are {len(case.rows)} rows",))
''',
    "models/recognisers/blind.py": '''
"""Sees nothing."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Blind:
    """A recogniser for this test."""

    name: str = "blind"

    @classmethod
    def named(cls, told):
        return cls()

    def recognise(self, pictures):
        return [() for _ in pictures]

    def fingerprint(self):
        return "blind"
''',
    "datasets/albums/shoe_box.py": '''
"""Pictures in a shoe box."""

from __future__ import annotations

from evenhand.datasets.albums.reading import Listing, album_from


def fits(root):
    return (root / "shoe.box").exists()


def read(root, reading):
    return album_from(Listing("shoe box"), reading)
''',
    "planted/demos/coin.py": '''
"""A coin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class CoinDemo:
    """A demo for this test."""

    kind: ClassVar[str] = "table"
    candidates: ClassVar[int] = 10

    def write(self, folder, seed):
        raise NotImplementedError
''',
    "report/formats/shout.py": '''
"""The verdict in capitals."""

from __future__ import annotations

endings = (".shout",)


def render(record):
    return record.outcome.upper() + "\\n"
''',
}
