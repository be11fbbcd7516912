"""What every medium promises, as checks that anyone can run on their own: each takes a medium and raises AssertionError."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from evenhand.arrays import Rows
from evenhand.contract import Growing, Medium

MediumCheck = Callable[[Medium], None]
ROWS = 6


def for_medium() -> tuple[MediumCheck, ...]:
    """Every check, in the order in which a new medium usually fails them."""
    return (
        check_says_what_it_is,
        check_shows_one_thing_for_every_row,
        check_shows_the_same_again_and_in_any_batch,
        check_shows_nothing_for_no_rows,
        check_twins_look_different,
        check_leaves_the_rows_alone,
        check_takes_in_what_is_derived,
    )


def _rows(medium: Medium) -> Rows:
    return medium.domain.sample(ROWS, np.random.default_rng(11))


def shown_parts(shown: Any) -> list[Any]:
    """What was shown, one entry for every row, such that entries can be compared."""
    if hasattr(shown, "itertuples"):
        return [repr(line) for line in shown.itertuples(index=False)]
    return [part.tobytes() if isinstance(part, np.ndarray) else part for part in shown]


def check_says_what_it_is(medium: Medium) -> None:
    """Its kind is one word, its digest a short text, the same every time, and something is protected."""
    assert isinstance(medium, Medium), f"{type(medium).__name__} must have kind, domain, show and digest"
    assert medium.kind.isidentifier(), f"kind={medium.kind!r} must be one word"
    assert medium.digest() == medium.digest(), "two digests of one medium differ"
    assert 0 < len(medium.digest()) <= 64, f"digest {medium.digest()!r} must be a short text"
    assert medium.domain.protected, "the domain of a medium must say what is protected"


def check_shows_one_thing_for_every_row(medium: Medium) -> None:
    """As many things are shown as rows are asked for; pictures are bytes of red, green and blue."""
    shown = medium.show(_rows(medium))
    assert len(shown) == ROWS, f"{len(shown)} things are shown for {ROWS} rows"
    pictures: Sequence[Any] = [part for part in shown if isinstance(part, np.ndarray)] if not hasattr(shown, "itertuples") else []
    for picture in pictures:
        assert picture.dtype == np.uint8, f"a picture must be of bytes, not {picture.dtype}"
        assert picture.ndim == 3, f"a picture must have height, width and three colours, not the shape {picture.shape}"
        assert picture.shape[2] == 3, f"a picture must have three colours, not {picture.shape[2]}"


def check_shows_the_same_again_and_in_any_batch(medium: Medium) -> None:
    """A row shows the same whenever it is asked for and whatever is asked for beside it."""
    rows = _rows(medium)
    whole = shown_parts(medium.show(rows))
    alone = [shown_parts(medium.show(rows[at : at + 1]))[0] for at in reversed(range(ROWS))][::-1]
    assert whole == alone, "a row shows something else when it is asked for alone"


def check_shows_nothing_for_no_rows(medium: Medium) -> None:
    """No rows are no reason to crash."""
    shown = medium.show(np.empty((0, len(medium.domain.columns))))
    assert len(shown) == 0, f"{len(shown)} things are shown for no rows"


def check_twins_look_different(medium: Medium) -> None:
    """Another protected value shows: some possible twin differs from its person."""
    rows = _rows(medium)
    twins = medium.domain.twins(rows)
    possible = twins.valid if twins.valid is not None else np.ones(twins.rows.shape[:2], dtype=bool)
    for at in range(ROWS):
        seen = shown_parts(medium.show(twins.rows[possible[:, at], at]))
        if len(set(seen)) > 1:
            return
    raise AssertionError("no row shows anything else under another protected value")


def check_leaves_the_rows_alone(medium: Medium) -> None:
    """Rows are read, never changed."""
    rows = _rows(medium)
    kept = rows.copy()
    medium.show(rows)
    assert np.array_equal(rows, kept, equal_nan=True), "show changed the rows that it was given"


def check_takes_in_what_is_derived(medium: Medium) -> None:
    """A medium that grows gives new codes to new pictures, inside its domain, and shows them with the offset of their parent."""
    if not isinstance(medium, Growing):
        return
    rows = _rows(medium)
    before = np.asarray(medium.show(rows)).astype(np.int64)
    derived = medium.derive(rows, np.full(before.shape, 9.0))
    assert medium.domain.inside(derived).all(), "a derived row lies outside the domain"
    assert not np.array_equal(derived, rows), "a derived picture has the code of its parent"
    after = np.asarray(medium.show(derived)).astype(np.int64)
    assert np.array_equal(after, np.clip(before + 9, 0, 255)), "a derived picture is not its parent plus the offset"
