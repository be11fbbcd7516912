"""What a page says first: the rate with its interval and its population where one was measured, else the result's own first sentence."""

from __future__ import annotations

from collections.abc import Mapping

from evenhand.report import words
from evenhand.report.record import RateRecord, Record
from evenhand.report.sections import standings

SYMBOLS = {"pass": "✓", "violation": "✕", "inconclusive": "?"}
WORDS = {"pass": "Pass", "violation": "Violation", "inconclusive": "Inconclusive"}

COMPARED = {"bench": "Done", "repair": "Shown"}
"""What a comparison of methods is when all of them ran, and one of repairs when one is better: it clears no model of anything."""

ONE_MODEL = ("both are of one and the same model", "the newest is of the same model")

NOUNS = {
    "album": ("picture", "pictures"),
    "portraits": ("portrait", "portraits"),
    "scenes": ("scene", "scenes"),
    "streets": ("scene", "scenes"),
    "text": ("text", "texts"),
}
"""What a row shows, by its medium; a row of a table stands for a person."""


def nouns(record: Record) -> tuple[str, str]:
    """One and many of what a row shows."""
    return NOUNS.get(record.header.medium.kind or "table", ("person", "people"))


def outcome_word(record: Record) -> str:
    """The outcome in one word, of what the verb is about."""
    return COMPARED.get(record.verb, WORDS["pass"]) if record.outcome == "pass" else WORDS[record.outcome]


IN_DOUBT = "It is in doubt whether the model is wired correctly, so nothing is decided about its fairness."


def lead(record: Record) -> str:
    """The sentence that leads."""
    if record.body.wiring_doubt:
        return IN_DOUBT
    if classes_decide(record) or leaning_decides(record) or is_one_model(record):
        return sentence(record.reason)
    rate = record.body.rates[0] if record.body.rates else None
    if rate is not None and rate.is_measured:
        return rate_sentence(rate, record)
    if record.verb == "compare" and (change := _change(record)):
        return change
    if record.body.standings:
        return standings.headline(record.body.standings)
    if record.verb == "measure" and (record.outcome == "inconclusive" or not _is_of_groups(record.sentences[:1], record)):
        return sentence(record.reason)
    return sentence(record.sentences[0] if record.sentences else record.reason)


def _is_of_groups(first: list[str], record: Record) -> bool:
    """Whether the first sentence is about groups; one of a study may be any of many, and not the one that decides."""
    return all(told not in study.sentences for told in first for study in record.body.studies.values())


MOST_OF_A_STUDY = 4
"""Sentences of one study that stand at the top of a page; a study with more tells them in its own section."""


def beside(record: Record) -> list[str]:
    """What stands below the reason where no rate leads, without what the reason says already."""
    if record.body.rates:
        return []
    long = [study.sentences for study in record.body.studies.values() if len(study.sentences) > MOST_OF_A_STUDY]
    told = [each for each in record.sentences if each not in record.reason and sentence(each) != lead(record)]
    return [sentence(each) for each in told if not any(each in sentences for sentences in long)]


def classes_decide(record: Record) -> bool:
    """Whether the verdict is about classes of objects, which a rate of single losses has no part in."""
    return "classes" in record.body.studies and not record.gate.get("max_rate")


def leaning_decides(record: Record) -> bool:
    """Whether the verdict is about a leaning between pictures, or about groups: single flips near a border then decide nothing."""
    return record.verb == "measure" and "leaning" in record.body.studies and not record.gate.get("max_rate")


VERDICTS = {"better": "Better", "worse": "Worse", "not shown": "No change is shown"}
AMONG = {"data": "among the real rows", "domain": "in everything that the domain allows"}


def _change(record: Record) -> str:
    """The rate before and after, where two results or models were compared; empty where something else was."""
    changes = (record.body.model_extra or {}).get("changes") or []
    first = changes[0] if isinstance(changes, list) and changes and isinstance(changes[0], Mapping) else {}
    if record.body.series or not all(isinstance(first.get(name), (int, float)) for name in ("before", "after", "low", "high")):
        return ""
    among = AMONG.get(str(first.get("population")), f"in the population “{words.text(first.get('population'), 60)}”")
    points = " and ".join(f"{100 * float(first[name]):+.2f}".replace("-", "−") for name in ("low", "high"))
    return (
        f"{VERDICTS.get(str(first.get('verdict')), 'Compared')}: {among}, {words.percent(first['before'])} are treated differently before, "
        f"{words.percent(first['after'])} after (the change lies between {points} points, n = {words.number(first.get('n'))})."
    )


def is_one_model(record: Record) -> bool:
    """Whether results of the very same model were compared, with every row judged as before: it cannot have become worse."""
    return record.verb == "compare" and record.reason.startswith(ONE_MODEL)


def rate_sentence(rate: RateRecord, record: Record) -> str:
    """A rate in one sentence."""
    among = {
        "data": f"Of all {rate.n:,} real rows" if rate.whole else "Among the real rows",
        "domain": "Of everything that the domain allows",
    }.get(rate.population, f"In the population “{words.text(rate.population, 60)}”")
    columns = listed([words.text(name, 60) for name in record.protected]) or "the protected columns"
    treated = words.treated(record.header.oracle or "", columns)
    if record.header.medium.learned_twins:  # such twins differ in more than what is protected
        treated = f"get another outcome in the twin that a learned editor made for {columns}"
    return (
        f"{among}, {words.percent(rate.estimate)} {treated} "
        f"({words.level(rate.confidence)} interval {words.percent(rate.low)} to {words.percent(rate.high)}, n = {rate.n:,})."
    )


def listed(names: list[str]) -> str:
    """Names as a sentence holds them."""
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


def sentence(told: str) -> str:
    """Words as a sentence: shortened, with a capital and one full stop."""
    shown = words.text(told, 600).strip().rstrip(".")
    return f"{shown[:1].upper()}{shown[1:]}."
