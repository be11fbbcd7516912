"""Results as a scan writes them: an ordinary one, a hostile one, and the empty and broken ones.  Shared by the tests of the reports."""

from __future__ import annotations

import copy
from typing import Any

from evenhand.report.version_1 import converted

SCRIPT = "<script>document.title='owned'</script>"
HOSTILE = (
    SCRIPT,
    "</script><script>document.title='owned'</script>",
    "</style><img src=x onerror=\"document.title='owned'\">",
    "\" onmouseover=\"document.title='owned'\" x='",
    "' autofocus onfocus='document.title=\"owned\"'",
    "<svg onload=document.title='owned'>",
    "{{ 7 * 7 }}{% raw %}",
    "]]><!-- & &amp; <![CDATA[",
    "| a | b |\n# title\n`code` ``two`` @somebody https://example.org/x www.example.org [x](javascript:alert(1))",
    "日本語 ελληνικά עברית 🙂 \u202egnp.exe\u202c \x00\x07\x1b[31m \ud800",
    "long " * 4000,
    "unbroken" * 2000,
    "",
    "   ",
)


def rate(population: str = "data", unfair: int = 777, n: int = 10_000) -> dict[str, Any]:
    share = unfair / n
    return {
        "estimate": share,
        "low": share - 0.005,
        "high": share + 0.006,
        "n": n,
        "confidence": 0.95,
        "population": population,
        "unfair": unfair,
    }


def run(method: str = "themis", **changes: Any) -> dict[str, Any]:
    facts = {
        "causal_discrimination": {
            "estimate": 0.016, "low": 0.0144, "high": 0.0176, "n": 100_000, "confidence": 0.999, "population": "domain", "looks": 3,
        },
        "group_discrimination": {
            "estimate": 0.0142, "low": 0.0088, "high": 0.0195, "confidence": 0.999, "best": {"sex": "Male"}, "worst": {"sex": "Female"},
        },
    }  # fmt: skip
    ordinary = {
        "method": method, "candidates": 100_000, "duplicates": 4_000, "findings": 1_595, "model_rows": 200_000, "calls": 25,
        "ended": "budget spent", "cpu_seconds": 0.25, "wall_seconds": 0.3, "facts": facts,
    }  # fmt: skip
    return {**ordinary, **changes}


def witness(identity: str = "95a71c6f32", **changes: Any) -> dict[str, Any]:
    person = {"age": 23, "relationship": "Husband", "sex": "Male", "gain": 12629, "country": None}
    ordinary = {
        "id": identity, "protected": ["sex"], "person": person, "twin": {**person, "sex": "Female", "relationship": "Wife"},
        "outcome": ">50K", "twin_outcome": "<=50K", "gap": 0.543, "changed": {"gain": {"real": 0, "witness": 12629}},
        "real_row": 4732, "method": "", "model": "dense-ca82",
    }  # fmt: skip
    return {**ordinary, **changes}


def ordinary() -> dict[str, Any]:
    return converted(old())


def old() -> dict[str, Any]:
    """As version 1 wrote it; the others are told in the same words and converted."""
    return {
        "evenhand_result": 1,
        "header": {
            "evenhand": "0.1.0", "date": "2026-11-15", "data": "adult", "data_digest": "2bfe2fcb", "domain": "64ca4c27",
            "protected": ["sex"],
            "model": "dense-ca82", "model_kind": "DenseNet", "classes": ["<=50K", ">50K"], "oracle": "LabelFlip()", "population": "data",
            "seed": 7, "budget": {"candidates": 100_000, "model_rows": None, "seconds": None},
            "gate": {"max_rate": 0.0, "confidence": 0.95, "resolution": 0.001},
        },
        "outcome": "violation",
        "reason": "1,595 distinct people are proven to be treated differently, and none are tolerated",
        "rates": [rate(), rate("domain", 177)],
        "runs": [run()],
        "failures": {},
        "witnesses": [witness()],
        "valid_share": 1.0,
    }  # fmt: skip


def changed(**parts: Any) -> dict[str, Any]:
    return converted({**old(), **parts})


def hostile() -> dict[str, Any]:
    """Every text that comes from data, model or user is an attack."""
    result = copy.deepcopy(old())
    attacks = list(HOSTILE)
    person: dict[str, Any] = {f"{attack}{place}": attack for place, attack in enumerate(attacks)}
    columns = list(person)
    twin = {name: (attacks[(place + 1) % len(attacks)] if place < 4 else person[name]) for place, name in enumerate(columns)}
    pair = {
        "protected": columns[:3],
        "person": person,
        "twin": twin,
        "outcome": attacks[0],
        "twin_outcome": attacks[1],
        "method": attacks[2],
    }
    departures = {name: {"real": attacks[3], "witness": person[name]} for name in columns[4:8]}
    result["witnesses"] = [witness(attack, **pair, changed=departures) for attack in attacks]
    result["header"] |= {
        name: attacks[place % len(attacks)] for place, name in enumerate(["data", "model", "model_kind", "oracle", "evenhand", "date"])
    }
    result["header"] |= {"protected": columns[:3], "classes": attacks, attacks[0]: attacks[1]}
    result["reason"] = attacks[1]
    result["rates"] = [rate(attack) for attack in attacks]
    result["runs"] = [run(attack, ended=attack, facts={attack: attack, "nested": {attack: [attack, None]}}) for attack in attacks]
    result["failures"] = {attack: attack for attack in attacks}
    return converted(result)


def wide(columns: int = 60) -> dict[str, Any]:
    """Many columns, several of them protected."""
    person = {f"column_{place}": place for place in range(columns)}
    twin = {**person, "column_3": -1, "column_50": -1}
    protected = ["column_3", "column_50", "column_51"]
    pair = witness(protected=protected, person=person, twin=twin, changed={"column_40": {"real": 0, "witness": 40}})
    return changed(witnesses=[pair], header={**old()["header"], "protected": protected})


def empty_cases() -> dict[str, dict[str, Any]]:
    """What a page must survive and say well."""
    nothing = {"candidates": 50_000, "duplicates": 0, "findings": 0, "facts": {}}
    unmeasured = {"estimate": float("nan"), "low": 0.0, "high": 1.0, "n": 0, "confidence": 0.95, "population": "data", "unfair": 0}
    zero = {"estimate": 0.0, "low": 0.0, "high": 0.00037, "n": 10_000, "confidence": 0.95, "population": "data", "unfair": 0}
    return {
        "pass": changed(outcome="pass", reason="nothing found", rates=[zero], runs=[run(**nothing)], witnesses=[], valid_share=None),
        "interrupted": changed(
            outcome="inconclusive", reason="interrupted", runs=[run(**nothing | {"ended": "interrupted"})], witnesses=[]
        ),
        "only failures": changed(outcome="inconclusive", reason="all failed", runs=[], failures={"adf": "no gradients"}, witnesses=[]),
        "nothing at all": changed(
            outcome="inconclusive", reason="nothing ran", runs=[], rates=[], witnesses=[], header={}, valid_share=None
        ),
        "unmeasured": changed(outcome="inconclusive", reason="no rows", rates=[unmeasured], runs=[run(**nothing)], witnesses=[]),
        "no time": changed(runs=[run(cpu_seconds=0.0, wall_seconds=None)]),
        "only sampled": changed(runs=[run(**nothing)], witnesses=[], valid_share=None),
        "unkept": changed(witnesses=[]),
        "tolerated": changed(header={**old()["header"], "gate": {"max_rate": 0.05, "confidence": 0.95, "resolution": 0.001}}),
        "score gap": changed(witnesses=[witness(twin_outcome=">50K")], header={**old()["header"], "oracle": "ScoreGap(threshold=0.2)"}),
        "without data": changed(witnesses=[witness(real_row=None, changed={})]),
        "a real row": changed(witnesses=[witness(changed={})]),
        "wide": wide(),
    }
