"""What every report format promises, as checks that anyone can run on their own: each takes a format and a result's record."""

from __future__ import annotations

from collections.abc import Callable

from evenhand.report.formats import Format
from evenhand.report.record import Record

FormatCheck = Callable[[Format, Record], None]


def for_format() -> tuple[FormatCheck, ...]:
    """Every check, in the order in which a new format usually fails them."""
    return (check_has_endings, check_renders_text, check_renders_the_same_twice, check_leaves_the_record_alone, check_tells_the_outcome)


def check_has_endings(rendering: Format, _: Record) -> None:
    """The endings of its files, each with its dot."""
    assert rendering.endings, "a format needs at least one ending"
    for ending in rendering.endings:
        assert "." in ending, f"the ending {ending!r} must have its dot, as in '.html' or 'card.md'"


def check_renders_text(rendering: Format, record: Record) -> None:
    """Something that a file can hold."""
    text = rendering.render(record)
    assert isinstance(text, str), f"render gives a {type(text).__name__}, not text"
    assert text.encode("utf-8"), "the rendering is empty"


def check_renders_the_same_twice(rendering: Format, record: Record) -> None:
    """Equal results give equal files."""
    assert rendering.render(record) == rendering.render(record), "one result was rendered in two ways"


def check_leaves_the_record_alone(rendering: Format, record: Record) -> None:
    """A rendering reads."""
    before = record.model_dump_json()
    rendering.render(record)
    assert record.model_dump_json() == before, "the rendering changed the result"


def check_tells_the_outcome(rendering: Format, record: Record) -> None:
    """Results that differ in their outcome are rendered differently, except by a format that says `tells_outcome = False`."""
    other = record.model_copy(update={"outcome": "inconclusive" if record.outcome != "inconclusive" else "pass"})
    if getattr(rendering, "tells_outcome", True):
        assert rendering.render(record) != rendering.render(other), "pass, violation and inconclusive look the same"
