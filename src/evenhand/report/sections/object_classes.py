"""Classes of objects, judged object by object: one line for each class, the worst pictures, and what stands behind the verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from evenhand.report import words
from evenhand.report.figures import OUTCOMES, cell, shown
from evenhand.report.first_picture import bounds
from evenhand.report.frame import DataTable, TableCell, TableRow, filled
from evenhand.report.lead import sentence
from evenhand.report.record import CheckRecord, StudyRecord

MOST_SENTENCES = 60
JPEG = "data:image/jpeg;base64,"
SIZES = ("small", "medium", "large")
BEHIND = {"vocabulary": "Vocabulary", "clusters": "Groups of similar scenes", "new_classes": "Classes that only changed pictures showed"}
"""Figures that are told as they are, under these titles."""


def is_told(study: StudyRecord) -> bool:
    """Whether a study judges classes object by object."""
    objects = study.figures.get("objects")
    return isinstance(objects, Mapping) and isinstance(objects.get("answers"), Sequence) and bool(objects["answers"])


def html(study: StudyRecord, lead: str) -> Markup:
    """The section."""
    figures, objects = study.figures, study.figures["objects"]
    return filled(
        "sections/object_classes.html.j2",
        lead=lead,
        classes=_classes(_told(objects["answers"]), study.checks),
        sentences=[sentence(each) for each in study.sentences[:MOST_SENTENCES]],
        pictures=[_picture(each) for each in figures.get("worst_pictures") or () if _is_shown(each)],
        scenes=_scenes(figures.get("to_learn_from") or ()),
        folded=[*_few(objects["answers"], study.checks), *((title, tables) for title, tables in _folded(figures) if tables)],
    )


def _is_few(answers: Sequence[Mapping[str, Any]], label: str) -> bool:
    """Whether nothing can be said of a class."""
    return all(each.get("outcome") == "too few" for each in answers if str(each.get("label")) == label)


def _told(answers: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The answers about classes of which something can be said; all of them where that is nothing."""
    told = [each for each in answers if not _is_few(answers, str(each.get("label")))]
    return told or list(answers)


def _few(answers: Sequence[Mapping[str, Any]], checks: Sequence[CheckRecord]) -> list[tuple[str, list[dict[str, Any]]]]:
    """The classes with too few objects, folded into one line."""
    told = {str(each.get("label")) for each in _told(answers)}
    rest = [each for each in answers if str(each.get("label")) not in told]
    count = len({str(each.get("label")) for each in rest})
    title = f"{count} class{'es' * (count != 1)} with too few objects to tell anything"
    return [(title, [_plain(_classes(rest, checks))])] if rest else []


def _classes(answers: Sequence[Mapping[str, Any]], checks: Sequence[CheckRecord]) -> DataTable:
    """One line for each class in the order of the verdict: outcome, losses, misses, numbers."""
    outcomes = {check.name: check.outcome for check in checks}
    rows = []
    for label in dict.fromkeys(str(each.get("label")) for each in answers):
        mine = {str(each.get("question")): each for each in answers if str(each.get("label")) == label}
        told, kind = OUTCOMES.get(outcomes.get(f"class {label}", ""), ("–", ""))
        most = max(mine.values(), key=lambda each: int(each.get("objects") or 0))
        many = TableCell(words.number(most.get("objects")), f"in {words.number(most.get('scenes'))} scenes")
        rows.append(TableRow(words.text(label, 60), [TableCell(told, kind=kind), _rate(mine.get("lost")), _rate(mine.get("missed")), many]))
    heads = ("Class", "Outcome", "Lost after a change elsewhere", "Missed in unchanged pictures", "Objects")
    return DataTable("Every class, the worst first", heads, rows)


def _rate(answer: Mapping[str, Any] | None) -> TableCell:
    """One question about one class: its rate, and beside what."""
    if answer is None:
        return TableCell("–")
    if answer.get("outcome") == "never recognised":
        return TableCell("never recognised", kind="bad")
    rate = words.percent(answer.get("rate"))
    if answer.get("outcome") == "nothing to compare":
        return TableCell(rate, "nothing to compare it with")
    if answer.get("others") is None or answer.get("outcome") == "too few":
        return TableCell(rate, "too few to tell")
    beside = f"comparable others {words.percent(answer['others'])}, factor {answer['ratio']:.1f}{bounds(answer)}, p {answer['p_value']:.2g}"
    null = answer.get("null")
    calm = f", under null changes {words.percent(null)}" if null is not None else ""
    is_worse = answer.get("outcome") == "treated worse"
    power = "" if is_worse else f"; a factor of 2 would be found with a chance of {answer['power']:.0%}"
    place = "; no difference any more once place is adjusted for with bends" if answer.get("is_place_open") else ""
    return TableCell(rate, f"{beside}{calm}{power}{place}", "bad" if is_worse else "")


def _is_shown(each: Mapping[str, Any]) -> bool:
    return all(str(each.get(side) or "").startswith(JPEG) for side in ("picture_before", "picture_after"))


def _picture(each: Mapping[str, Any]) -> dict[str, str]:
    sides = {side: str(each[f"picture_{side}"]) for side in ("before", "after")}
    return {**sides, **{name: words.text(each.get(name), 160) for name in ("scene", "change", "lost")}}


def _scenes(listed: Sequence[Mapping[str, Any]]) -> DataTable | None:
    rows = [
        TableRow(
            words.text(each.get("scene"), 120),
            [
                TableCell(words.number(each.get("lost"))),
                TableCell(words.number(each.get("pictures"))),
                TableCell(words.text(each.get("classes"), 300), kind="words"),
            ],
        )
        for each in listed
    ]
    return DataTable("", ("Scene", "Objects lost", "Changed pictures that lose some", "Classes lost"), rows) if rows else None


def _folded(figures: Mapping[str, Any]) -> list[tuple[str, list[dict[str, Any]]]]:
    """What stands behind the verdict, by title."""
    objects = figures["objects"]
    levels, shifts = _levels(objects.get("levels") or ()), _shifts(objects.get("shifts") or ())
    return [
        ("How well each class is recognised in the unchanged pictures", [_plain(levels)] if levels else []),
        ("Renamed, less sure, moved: what changes elsewhere do short of a loss", [_plain(shifts)] if shifts else []),
        ("Boxes that only a changed picture shows", _generic({"by class": objects.get("gained") or {}})),
        ("As the paper counts: each operator under each oracle", _generic({"parts": figures.get("parts") or []})),
        *((title, _generic({title: figures.get(name) or {}})) for name, title in BEHIND.items()),
        ("Changes that could not be made", _generic({"skips": figures.get("skips") or []})),
        (
            "Rules of the verdict, and what changes cost",
            _generic({"rules": objects.get("rules"), "cpu_seconds": figures.get("cpu_seconds")}),
        ),
    ]


def _plain(table: DataTable) -> dict[str, Any]:
    return {"title": "", "table": table}


def _generic(figures: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"title": each.title, "table": each.table} for each in shown({name: value for name, value in figures.items() if value})]


def _levels(levels: Sequence[Mapping[str, Any]]) -> DataTable | None:
    """Recall, precision and average precision, the last by size."""
    rows = [
        TableRow(
            words.text(each.get("label"), 60),
            [
                TableCell(words.number(each.get("objects"))),
                TableCell(words.percent(each.get("recall")), _by_size(each.get("by_size"))),
                TableCell(words.percent(each.get("precision"))),
                TableCell(words.percent(each.get("average_precision")), _by_size(each.get("average_precision_by_size"))),
                TableCell("yes" if each.get("above_mean_error") else "no"),
            ],
        )
        for each in levels
    ]
    heads = (
        "Class",
        "Objects",
        "Recall",
        "Precision",
        "Average precision (overlap of one half)",
        "Misses above the mean (the paper's rule)",
    )
    return DataTable("", heads, rows) if rows else None


def _by_size(parts: Any) -> str:
    told = [f"{size} {words.percent(parts[size])}" for size in SIZES if isinstance(parts, Mapping) and parts.get(size) is not None]
    return ", ".join(told)


def _shifts(shifts: Sequence[Mapping[str, Any]]) -> DataTable | None:
    """Shares and means with intervals that hold together, beside those of null changes."""
    rows = []
    for each in shifts:
        cells = [_shift(each, "renamed", words.percent), _shift(each, "score_drop", _decimal), _shift(each, "box_drift", _decimal)]
        as_what = TableCell(words.text(each.get("mostly_as") or "–", 60), kind="words")
        rows.append(TableRow(words.text(each.get("label"), 60), [cell("chances", each.get("chances")), cells[0], as_what, *cells[1:]]))
    heads = ("Class", "Chances", "Renamed", "Mostly as", "Fall of the score", "Drift of the box (1 - overlap)")
    return DataTable("Described, not judged; all intervals hold together with 95%", heads, rows) if rows else None


def _decimal(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _shift(each: Mapping[str, Any], name: str, told: Any) -> TableCell:
    found, calm = each.get(name), each.get(f"{name}_by_null")
    if not isinstance(found, Mapping):
        return TableCell("–")
    null = f"; by null changes {told(calm)}" if calm is not None else ""
    return TableCell(told(found["estimate"]), f"{told(found['low'])} to {told(found['high'])}{null}")
