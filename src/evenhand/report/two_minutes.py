"""What a reader with two minutes needs: what was tested, on whom, what it means, what to do next, and the interval with its tolerance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from markupsafe import Markup

from evenhand.contract import population_words
from evenhand.report import words
from evenhand.report.charts.canvas import Axis, nice
from evenhand.report.charts.tolerances import ToleranceRow, tolerances
from evenhand.report.first_picture import FirstPicture, class_picture
from evenhand.report.lead import classes_decide, is_one_model, leaning_decides, listed, nouns
from evenhand.report.record import RateRecord, Record
from evenhand.report.sections.repair_lines import goal_changes, goal_in_short, goal_is_a_share, is_of_amounts

MOST_STRIPS = 5

SUBJECTS = {
    "scan": "A search for {many} {whom} the model treats differently",
    "measure": "How {many} and groups are treated",
    "certify": "What can be proved about every input that the domain allows",
    "repair": "Ways to repair the model, compared with each other and with chance",
    "synth": "Synthetic rows against the real ones",
    "bench": "Methods of search under one budget",
    "campaign": "Many models, each searched and measured under the same terms",
    "compare": "What has changed from the first to the second",
    "doctor": "Whether the model is wired as it should be",
    "replay": "Pairs that were kept, asked again",
    "gate": "Whether the model keeps the project’s policy",
}

OVER_TIME = "How the rate went from one result to the next, and whether the newest is worse"

DECIDED = {
    "pass": "What was measured lies within what is tolerated, and enough was judged to say so.",
    "violation": "What was measured lies beyond what is tolerated; chance in drawing the sample does not explain it.",
    "inconclusive": "Neither could be shown: this is no pass.",
}

ASKED_AGAIN = {
    "pass": "The model gives the two of every pair that was asked the same outcome now. That says nothing about other pairs.",
    "violation": "Each of these pairs is a proof by itself: the model still gives the two different outcomes. No sample was drawn.",
    "inconclusive": "Not every pair could be asked: this is no pass.",
}

EXAMINED = {
    "pass": "The model can be asked, and its answers are read as they are meant. That says nothing about whether it is fair.",
    "violation": "What the model answers cannot be trusted as it is wired now, so no verdict on its fairness could be either.",
    "inconclusive": "What the model answers may be misread as it is wired now: a verdict on its fairness would be in doubt.",
}

PROVED = {
    "pass": "No more of the domain than is tolerated is treated differently. That is proved from the model itself, not estimated.",
    "violation": "More of the domain than is tolerated is treated differently. That is proved from the model itself, not estimated.",
    "inconclusive": "The proof was not finished: the share may lie anywhere between the two bounds. This is no pass.",
}

SETTLED = {"certify": PROVED, "doctor": EXAMINED, "replay": ASKED_AGAIN}
"""What an outcome means where no sample was drawn."""

NEXT_OF_GROUPS = (
    "Look at the groups that fare worst and at who is in them; then gather more of them to learn from, repair the model "
    "(`evenhand repair`), or have the difference justified and waived in the project file, with an owner and an expiry."
)
"""Where groups differ and no pair was asked about."""

NEXT = {
    "violation": (
        "Look at the evidence and where it concentrates; ask the model again about one pair; then repair the model (`evenhand repair`) or "
        "have the difference justified and waived in the project file, with an owner and an expiry."
    ),
    "inconclusive": "Do what the reason above asks for: more rows, a larger budget, or a wider tolerance, and run it again.",
    "pass": (
        "Keep it so: put `evenhand gate` into the build, and measure groups as well as individuals (`evenhand measure`) and the other "
        "protected attributes."
    ),
}
NEXT_BY_VERB = {
    ("repair", "pass"): "Use the model that was written, and let the gate judge it on data that no repair has seen.",
    ("repair", "inconclusive"): (
        "Where a repair is better at a price, decide whether the price is worth it (`--tolerance`, or `--write NAME`); otherwise name the "
        "goal that matters (`--goal`), allow more seeds, or change the data."
    ),
    ("bench", "pass"): "Take the method that leads on data like yours for your scans.",
    ("synth", "pass"): "Look at the columns that fit worst before the rows are used for anything.",
    ("synth", "inconclusive"): (
        "Test no fairness on these rows: they hide a gap that the data have. Take another synthesiser (`--synthesiser trees`), more rows "
        "to learn from, or the data themselves."
    ),
    ("doctor", "pass"): "Run `evenhand scan`.",
    ("doctor", "inconclusive"): "Correct what fails or warns before anything that the model says is trusted.",
    ("compare", "pass"): "The second may replace the first as far as this was measured.",
    ("compare", "violation"): "Do not replace the first by the second before the new pairs are understood.",
    ("replay", "pass"): "Keep the pairs in the repository, so that the build asks them again.",
    ("bench", "inconclusive"): "Look at what failed below, and run it again.",
}
NEXT_BY_MEDIUM = {
    "scenes": (
        "Look at the pairs of the class that is named; add pictures of it to the training data (`evenhand scan --annotated` writes changed "
        "scenes with their annotations), or have the difference justified and waived in the project file, with an owner and an expiry."
    ),
}
"""What to do about a violation where the repairs of tables do not apply."""

NEXT_OF_OPEN_CLASSES = (
    "Add pictures that show the classes which are open, or raise `count` in the project file where the folder has more, and run it again; "
    "a class that no larger set would settle is one to look at by hand."
)
"""Where the classes of scenes could not be settled."""

NEXT_OF_LEADS = (
    "Run `evenhand measure`: it weighs what all pairs show against independent readers of the pictures, and compares groups, which needs "
    "no twins. Look at the pairs as leads."
)
"""After a search among twins that a learned editor made."""

IF_WIRED = (
    "The model may have been asked something else than it was trained for. The figures and pairs are what it answered; whether they say "
    "anything about its fairness is open. This is no pass."
)
NEXT_IF_WIRED = "Do what the reason above asks for (`evenhand doctor` checks every part of the wiring), and run it again."

NEXT_OVER_TIME = {
    "pass": "Keep the newest as the baseline of the next (`evenhand gate --baseline`).",
    "violation": "Find the step at which it became worse below, and compare the two results around it (`evenhand compare`).",
    "inconclusive": "Judge more people in each run, or tolerate more, before the newest is called no worse.",
}


@dataclass(frozen=True)
class BriefLine:
    """One of the four things that a reader in a hurry reads."""

    title: str
    text: str


def two_minutes(record: Record) -> list[BriefLine]:
    """The four lines."""
    return [
        BriefLine("What was tested", _what(record)),
        BriefLine("On whom", _whom(record)),
        BriefLine("What it means", _means(record)),
        BriefLine(
            "What to do next",
            _next(record),
        ),
    ]


def _next(record: Record) -> str:
    if record.body.wiring_doubt:
        return NEXT_IF_WIRED
    if record.body.series:
        return NEXT_OVER_TIME[record.outcome]
    if is_one_model(record):
        return "Nothing: there is only one model to choose from."
    medium, told = record.header.medium.kind or "table", NEXT_BY_VERB.get((record.verb, record.outcome))
    is_broken = record.outcome == "violation"
    if record.verb == "scan" and record.outcome == "inconclusive" and record.header.medium.learned_twins:
        return NEXT_OF_LEADS
    if record.outcome == "inconclusive" and medium == "scenes" and record.verb in ("scan", "measure"):
        return NEXT_OF_OPEN_CLASSES
    if is_broken and record.verb == "measure" and record.body.groups and not record.witnesses:
        return NEXT_OF_GROUPS
    return told or (NEXT_BY_MEDIUM.get(medium, NEXT[record.outcome]) if is_broken else NEXT[record.outcome])


def _means(record: Record) -> str:
    if record.body.wiring_doubt:
        return IF_WIRED
    if is_one_model(record):
        return "The model is the same, and every row that was asked is judged as before: it has become no worse."
    if record.verb in ("bench", "synth", "repair"):
        return _own(record)
    if record.verb in SETTLED:
        return SETTLED[record.verb][record.outcome]
    return f"{_of_a_round_number(record)}{DECIDED[record.outcome]}"


def _of_a_round_number(record: Record) -> str:
    """The rate among the real rows as a count out of a round number, which most readers grasp faster; empty where it does not lead."""
    leading = [rate.estimate for rate in record.body.rates[:1] if rate.is_measured and rate.population == "data" and rate.estimate]
    if not leading or record.outcome == "inconclusive" or classes_decide(record) or leaning_decides(record):
        return ""
    base = next((size for size in (100, 1_000, 10_000) if size * leading[0] >= 2), 100_000)
    return f"About {max(round(base * leading[0]), 1):,} of every {base:,} {nouns(record)[1]} like these are concerned. "


def _what(record: Record) -> str:
    header, (_, many) = record.header, nouns(record)
    subject = (
        OVER_TIME
        if record.body.series
        else SUBJECTS.get(record.verb, words.title(record.verb)).format(many=many, whom="whom" if many == "people" else "that")
    )
    kind = (
        f"; the model: {words.text(header.model.kind, 60)}"
        if header.model.kind and record.verb not in ("synth", "bench", "campaign")
        else ""
    )
    protected = listed([words.text(name, 60) for name in record.protected])
    told = f"; protected: {protected}" if protected else ""
    return f"{subject}{kind}{told}."


def _whom(record: Record) -> str:
    data = record.header.data
    if record.verb == "certify" and record.body.certificate:
        return "Every combination of values that the domain allows, most of which nobody has; no sample was drawn."
    if record.verb == "replay":
        return f"{words.plural(len(record.witnesses), 'pair', 'pairs')} that an earlier run kept, and nobody else."
    name = f"The data “{words.text(data.name, 80)}”" if data.name else "The data"
    rows = f" of {words.plural(data.rows, 'row', 'rows')}" if data.rows else ""
    rate = record.body.rates[0] if record.body.rates else None
    judged = f", {judged_words(rate, data.rows)}" if rate is not None and rate.is_measured else ""
    medium = record.header.medium.kind
    shown = f" ({medium})" if medium and medium != "table" else ""
    return f"{name}{rows}{shown}{judged}."


def judged_words(rate: RateRecord, rows: int | None) -> str:
    """How many of the population were asked about, and whether that is all of them."""
    if rate.whole and rows and rate.n < rows:
        return f"all {rate.n:,} of them that can be changed were asked about"
    if rate.whole:
        return "every one of which was asked about"
    if rate.population == "data" and rows:
        return f"{rate.n:,} of which were asked about"
    return f"and {rate.n:,} inputs of {population_words(words.text(rate.population, 60))}"


def _own(record: Record) -> str:
    if record.verb == "synth" and len(record.sentences) > 1:  # the first only counts rows; what they are worth comes after it
        return words.sentence_case(words.text(record.sentences[1], 600).rstrip(".")) + "."
    return words.sentence_case(words.text(record.sentences[0] if record.sentences else record.reason, 600).rstrip(".")) + "."


READ_STRIP = "The line is the interval, the dot the estimate."
READ_PROOF = "The line reaches from the lower to the upper bound; it is a single mark where the share is known exactly."
READ_BAND = "The grey band is what is tolerated, an engineering tolerance; beyond it is hatched."
READ_NOTHING = "Nothing is tolerated, so everything beyond 0 is hatched."


def strip(record: Record) -> FirstPicture | None:
    """The intervals that decide against what is tolerated, or the classes that decide; None where neither decides."""
    rows = (
        _condition_rows(record)
        or _proof_row(record)
        or _change_row(record)
        or _leaning_rows(record)
        or _repair_rows(record)
        or _rate_rows(record)
    )
    if record.verb == "measure" and _groups_decide(record):
        groups = _group_rows(record)
        rows = [*groups, *(_beside(row) for row in rows)] if groups and record.body.studies.get("leaning") else rows + groups
    hurt = _hurt_rows(record)
    rows = [*hurt, *(_beside(row) for row in rows)] if hurt else rows
    if not rows:
        return class_picture(record)
    marks = READ_STRIP if any(row.estimate is not None for row in rows) else READ_PROOF
    return FirstPicture(_strip(rows), f"{marks} {READ_BAND if any(row.tolerated for row in rows) else READ_NOTHING}")


def _groups_decide(record: Record) -> bool:
    """Whether groups belong into the first picture: of pictures with twins only where they, and no leaning, are the violation."""
    study = record.body.studies.get("leaning")
    return study is None or (record.outcome == "violation" and not any(check.outcome == "violation" for check in study.checks))


def _strip(rows: list[ToleranceRow]) -> Markup:
    lowest = min(0.0, *(row.low for row in rows))
    top = nice(max([row.high for row in rows] + [1.15 * row.tolerated for row in rows]))
    return tolerances(rows, Axis(lowest * 1.1, top, unit="share"))


def _condition_rows(record: Record) -> list[ToleranceRow]:
    """What a policy demands, where the result was judged by one."""
    found = [each for each in record.body.conditions if each.get("unit", "share") == "share" and _has_bounds(each)]
    order = {"violation": 0, "inconclusive": 1, "pass": 2}
    found.sort(key=lambda each: order.get(str(each.get("outcome")), 3))
    return [
        ToleranceRow(words.shorten(words.text(each.get("name"), 60), 60), _caption(each), each["low"], each["high"], each.get("estimate"),
                     float(each.get("tolerated") or 0.0))
        for each in found[:MOST_STRIPS]
    ]  # fmt: skip


def _has_bounds(each: Mapping[str, Any]) -> bool:
    return all(isinstance(each.get(name), (int, float)) for name in ("low", "high"))


def _caption(each: Mapping[str, Any]) -> str:
    estimate = each.get("estimate")
    bounds = f"{words.signed(each['low'])} to {words.signed(each['high'])}"
    return f"{words.signed(estimate)} ({bounds})" if isinstance(estimate, (int, float)) else f"between {bounds.replace(' to ', ' and ')}"


def _proof_row(record: Record) -> list[ToleranceRow]:
    proof = record.body.certificate or {}
    low, high = proof.get("lower"), proof.get("upper")
    if not isinstance(low, (int, float)) or not isinstance(high, (int, float)):
        return []
    caption = f"proved: at least {words.at_least(low)}, at most {words.at_most(high)}"
    return [ToleranceRow("The whole domain", caption, low, high, None, _tolerated(record)), *_likely_row(record, proof)]


def _likely_row(record: Record, proof: Mapping[str, Any]) -> list[ToleranceRow]:
    """Beside loose bounds: what questions to the model make likely, which is no proof."""
    likely = proof.get("likely") or {}
    low, high = likely.get("lower"), likely.get("upper")
    if not isinstance(low, (int, float)) or not isinstance(high, (int, float)) or proof.get("exact"):
        return []
    caption = f"likely, no proof: {words.at_least(low)} to {words.at_most(high)}, from {words.number(likely.get('rows'))} questions"
    return [ToleranceRow("The whole domain, by asking", caption, low, high, None, _tolerated(record))]


def _change_row(record: Record) -> list[ToleranceRow]:
    changes = (record.body.model_extra or {}).get("changes")
    if record.verb != "compare" or not isinstance(changes, list) or is_one_model(record):
        return []
    limit = record.header.details.get("tolerance")
    tolerated = float(limit) if isinstance(limit, (int, float)) else 0.0
    told = [each for each in changes[:MOST_STRIPS] if isinstance(each, Mapping) and _has_bounds(each)]
    rows = [_change(each, tolerated) for each in told]
    return [row if place == 0 or told[place].get("name") else _beside(row) for place, row in enumerate(rows)]


def _beside(row: ToleranceRow) -> ToleranceRow:
    return replace(row, allowed="told beside, decides nothing")


def _change(each: Mapping[str, Any], tolerated: float) -> ToleranceRow:
    what = words.text(each["name"], 60) if each.get("name") else words.population(str(each.get("population")))[0]
    name = f"Change of the rate: {what[:1].lower()}{what[1:]}" if each.get("name") else f"Change of the rate: {what}"
    caption = _caption({**each, "estimate": each.get("difference")})
    return ToleranceRow(name, caption, each["low"], each["high"], each.get("difference"), tolerated)


def _rate_rows(record: Record) -> list[ToleranceRow]:
    rate = record.body.rates[0] if record.body.rates else None
    if rate is None or not rate.is_measured or rate.low is None or rate.high is None or "classes" in record.body.studies:
        return []
    name = words.population(rate.population)[0]
    caption = f"{words.percent(rate.estimate)} ({words.percent(rate.low)} to {words.percent(rate.high)})"
    return [ToleranceRow(name, caption, rate.low, rate.high, rate.estimate, _tolerated(record))]


MOST_REPAIRS = 3


def _repair_rows(record: Record) -> list[ToleranceRow]:
    """Of every repair the change of the goal's figure, which must lie below 0, and the loss of accuracy against what is tolerated."""
    terms = record.header.details.get("terms")
    limit = terms.get("tolerance") if isinstance(terms, Mapping) else None
    rows: list[ToleranceRow] = []
    for name, change, accuracy in goal_changes(record)[:MOST_REPAIRS]:
        if _has_bounds(change) and _has_bounds(accuracy):
            lost = {"estimate": -accuracy["estimate"], "low": -accuracy["high"], "high": -accuracy["low"]}
            if goal_is_a_share(record):
                what = f"{name}: {goal_in_short(record)}"
                rows.append(ToleranceRow(what, _caption(change), change["low"], change["high"], change["estimate"], 0.0, "it must fall"))
            what = f"{name}: loss of {'what is explained' if is_of_amounts(record) else 'accuracy'}"
            rows.append(ToleranceRow(what, _caption(lost), lost["low"], lost["high"], lost["estimate"], float(limit or 0.0)))
    return rows


MOST_LEANINGS = 3


def _leaning_rows(record: Record) -> list[ToleranceRow]:
    """Pictures: how far an outcome moves, at its strongest, as the protected value changes, against what is tolerated."""
    study = record.body.studies.get("leaning")
    every = [each for each in (study.figures.get("leanings") or [] if study else []) if isinstance(each, Mapping)]
    rows = [row for each in every if (row := _leaning(each)) is not None]
    return sorted(rows, key=lambda row: -row.low)[:MOST_LEANINGS]


def _leaning(each: Mapping[str, Any]) -> ToleranceRow | None:
    outcome = str(each.get("strongest"))
    net, low, high = ((each.get(name) or {}).get(outcome) for name in ("net", "low", "high"))
    if net is None or low is None or high is None:
        return None
    low, high = (-high, -low) if net < 0 else (low, high)
    way = "less" if net < 0 else "more"
    caption = f"{words.percent(abs(net))} {way} often ({words.signed(low)} to {words.signed(high)}), n = {words.number(each.get('pairs'))}"
    name = f"“{words.text(outcome, 40)}” when {words.text(each.get('along'), 60)}"
    return ToleranceRow(words.shorten(name, 70), caption, low, high, abs(net), float(each.get("tolerance") or 0.0))


MOST_GROUP_STRIPS = 3
ANY_GAP = "any gap that is shown counts"
"""What is said of groups where the project sets no largest gap."""


def _hurt_rows(record: Record) -> list[ToleranceRow]:
    """Pictures: the changes that hurt one group more, where that is a violation."""
    study = record.body.studies.get("robust_groups")
    if study is None or record.verb != "measure":
        return []
    broken = {check.name for check in study.checks if check.outcome == "violation"}
    tolerated = float(study.figures.get("tolerated") or 0.0)
    told = [each for each in study.figures.get("changes") or () if isinstance(each, Mapping) and _has_bounds(each)]
    named = [(f"{each.get('title')}, by {each.get('attribute')}", each) for each in told]
    hurt = sorted(((name, each) for name, each in named if name[:1].lower() + name[1:] in broken), key=lambda one: -float(one[1]["low"]))
    return [
        ToleranceRow(f"Gap between groups, {words.text(name, 80).lower()}", _caption(each), each["low"], each["high"],
                     each.get("estimate"), tolerated)
        for name, each in hurt[:MOST_GROUP_STRIPS]
    ]  # fmt: skip


def _group_rows(record: Record) -> list[ToleranceRow]:
    """The widest gaps in the share with the favourable outcome, against what is tolerated; without such a share, in what differs."""
    shares = [each for each in record.body.groups if each.get("unit", "share") == "share" and _has_bounds(each)]
    figures = [each for each in shares if each.get("metric") == "statistical_parity"]
    figures = figures or [each for each in shares if each.get("verdict") == "different"]
    figures.sort(key=lambda each: -float(each["low"]))
    limit = record.header.details.get("max_gap")
    tolerated = float(limit) if isinstance(limit, (int, float)) else 0.0
    return [
        ToleranceRow(f"{_gap_name(each)} by {words.text(each.get('attribute'), 60)}", _caption(each), each["low"], each["high"],
                     each.get("estimate"), tolerated, "" if tolerated else ANY_GAP)
        for each in figures[:MOST_GROUP_STRIPS]
    ]  # fmt: skip


def _gap_name(each: Mapping[str, Any]) -> str:
    is_parity = each.get("metric") == "statistical_parity"
    return "Gap between groups" if is_parity else f"Gap between groups, {words.text(each.get('title'), 60).lower()},"


def _tolerated(record: Record) -> float:
    value = record.gate.get("max_rate", record.header.details.get("max_rate"))
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else 0.0
