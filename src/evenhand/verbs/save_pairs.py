"""save_pairs(): every picture with every twin of it as files, and one table of what the model and the jury say of both.

The folder is laid out as ready-made twins are, so that `measure --pairs FOLDER` asks about exactly these again, whoever has made them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from evenhand.arrays import Labels, Rows
from evenhand.contract import Model, has_twins, labels_of
from evenhand.datasets.dataset import Dataset
from evenhand.disk import private_folder, write_whole
from evenhand.errors import InvalidArgument
from evenhand.media.album_medium import AlbumMedium
from evenhand.media.png import png_bytes
from evenhand.models.meter import Meter

TABLE = "pairs.csv"
AT_ONCE = 128


def save_pairs(model: Model, data: Dataset, folder: str | Path) -> Path:
    """Write every twin as a PNG file and one line for each pair to `pairs.csv`; returns the table's path.

    Columns: the picture's file, the attribute, its value and the twin's, the twin's file, both answers with their scores, whether they
    differ, and for every reader of the jury what it reads in both.

    >>> import tempfile
    >>> import numpy as np
    >>> import evenhand as eh
    >>> from evenhand.planted.portraits import synthetic_faces
    >>> data = eh.open(synthetic_faces(4, np.random.default_rng(0), 16), label="age_group", protected=["tone"])
    >>> model = eh.wrap(lambda pictures: pictures.mean(axis=(1, 2, 3))[:, None] / 255 * [[1, 0, 0]] + [[0, 0.3, 0.1]], data)
    >>> eh.save_pairs(model, data, tempfile.mkdtemp() + "/pairs").read_text().splitlines()[0][:33]
    'file,attribute,value,twin_value,t'
    """
    medium = data.medium
    if not isinstance(medium, AlbumMedium) or not has_twins(medium):
        raise InvalidArgument("pairs are saved of pictures with twins: open a folder of pictures with an editor, or with pairs")
    import pandas as pd

    home = private_folder(Path(folder))
    parts = [
        _saved(Meter(model), medium, _turned(data.rows, place, code), place, home)
        for place, name in enumerate(medium.attributes, start=1)
        for code in range(len(medium.album.attribute(name).values))
    ]
    table = pd.concat(parts, ignore_index=True).sort_values(["file", "attribute"], kind="stable")
    write_whole(home / TABLE, table.to_csv(index=False))
    return home / TABLE


def _turned(rows: Rows, place: int, code: int) -> Rows:
    """The rows that have another value, with this one instead; the first column still says which picture it is."""
    turned: Rows = rows[rows[:, place] != code].copy()
    turned[:, place] = code
    return turned


def _saved(model: Meter, medium: AlbumMedium, twins: Rows, place: int, home: Path) -> Any:
    """One line for each twin, whose picture is written beside."""
    import pandas as pd

    lines = [_batch(model, medium, twins[at : at + AT_ONCE], place, home) for at in range(0, len(twins), AT_ONCE)]
    return pd.concat(lines, ignore_index=True) if lines else pd.DataFrame()


def _batch(model: Meter, medium: AlbumMedium, twins: Rows, place: int, home: Path) -> Any:
    import pandas as pd

    own = medium.rows[twins[:, 0].astype(np.intp)]
    attribute, files = medium.attributes[place - 1], _files(medium, twins)
    values = medium.album.attribute(attribute).values
    before, after = model.scores(own), model.scores(twins)
    shown, changed = medium.show(own), medium.show(twins)
    names = [f"{attribute}/{values[int(code)]}/{Path(file).stem}.png" for code, file in zip(twins[:, place], files, strict=True)]
    for name, picture in zip(names, changed, strict=True):
        private_folder((home / name).parent)
        write_whole(home / name, png_bytes(picture), private=True)
    told = {
        "file": files, "attribute": attribute, "value": [values[int(code)] for code in own[:, place]],
        "twin_value": [values[int(code)] for code in twins[:, place]], "twin_file": names,
        "answer": _words(model, labels_of(before)), "twin_answer": _words(model, labels_of(after)),
        "score": before.max(axis=1).round(6), "twin_score": after.max(axis=1).round(6), "differs": labels_of(before) != labels_of(after),
    }  # fmt: skip
    for name, reader in medium.jury.items():
        words = np.array([str(value) for value in reader.classes], dtype=object)
        told |= {
            f"jury_{name}": words[reader.scores(shown).argmax(axis=1)],
            f"twin_jury_{name}": words[reader.scores(changed).argmax(axis=1)],
        }
    return pd.DataFrame(told)


def _files(medium: AlbumMedium, rows: Rows) -> list[str]:
    """The file of each picture; its number where the album has none."""
    places = rows[:, 0].astype(np.intp)
    return [medium.album.sources[at] if medium.album.sources else f"{at}.png" for at in places]


def _words(model: Meter, labels: Labels) -> list[str]:
    return [str(model.classes[label]) for label in labels]
