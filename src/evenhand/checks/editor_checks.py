"""What every editor of pictures promises, as checks that anyone can run on their own: each takes a made editor and an album."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from evenhand.contract import Editor
from evenhand.media.album import Album

EditorCheck = Callable[[Editor, Album], None]


def for_editor() -> tuple[EditorCheck, ...]:
    """Every check, in the order in which a new editor usually fails them."""
    return (
        check_says_what_it_flips,
        check_gives_every_picture_a_twin,
        check_twins_are_the_same_every_time,
        check_leaves_the_album_alone,
    )


def check_says_what_it_flips(editor: Editor, album: Album) -> None:
    """It names an attribute of the album, and what the flip really is."""
    assert isinstance(editor, Editor), f"{type(editor).__name__} must have attribute, flip and twins"
    album.attribute(editor.attribute)
    assert len(editor.flip.split()) >= 1, "flip must say in words what is done to a picture"


def check_gives_every_picture_a_twin(editor: Editor, album: Album) -> None:
    """One picture of the same size for each, and most of them look different."""
    twins = editor.twins(album)
    assert twins.shape == album.pictures.shape, f"twins of shape {twins.shape} for pictures of shape {album.pictures.shape}"
    assert np.isfinite(twins).all(), "a pixel is not a finite number"
    assert twins.min() >= 0, f"pixels must lie between 0 and 255, the darkest is {twins.min():g}"
    assert twins.max() <= 255, f"pixels must lie between 0 and 255, the brightest is {twins.max():g}"
    changed = (np.rint(twins) != album.pictures).any(axis=(1, 2, 3)).mean()
    assert changed > 0.5, f"only {changed:.0%} of the twins differ from their pictures"


def check_twins_are_the_same_every_time(editor: Editor, album: Album) -> None:
    """Equal pictures have equal twins."""
    assert np.array_equal(editor.twins(album), editor.twins(album)), "the same album got other twins the second time"


def check_leaves_the_album_alone(editor: Editor, album: Album) -> None:
    """Pictures are read, never changed."""
    kept = album.pictures.copy()
    editor.twins(album)
    assert np.array_equal(album.pictures, kept), "the editor changed the pictures that it was given"
