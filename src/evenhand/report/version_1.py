"""Results of version 1 in the form of version 2.

Version 1 had one key for each verb (evenhand_result of a scan, evenhand_measurement, evenhand_certificate, evenhand_repair,
evenhand_arena), a flat header, and no checks.  Nothing is judged here: checks repeat what the old result had decided.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Old = Mapping[str, Any]

KEYS = {
    "evenhand_measurement": "measure",
    "evenhand_certificate": "certify",
    "evenhand_repair": "repair",
    "evenhand_arena": "bench",
    "evenhand_result": "scan",
}
HEADER = ("evenhand", "date", "command", "seed", "budget", "oracle")
PARTS = {
    "data": {"name": "data", "digest": "data_digest", "rows": "rows"},
    "domain": {"digest": "domain", "protected": "protected", "label": "label", "favourable": "favourable", "classes": "classes"},
    "model": {"kind": "model_kind", "digest": "model"},
}
"""The parts of the new header, and what each of their fields was called."""


class NotConvertible(Exception):
    """An old result that lacks what its version always had; the text names the place."""


def is_old(content: Old) -> bool:
    """Whether this is a result of version 1."""
    return any(_is_one(content.get(key)) for key in KEYS)


def _is_one(version: object) -> bool:
    return version == 1 and not isinstance(version, bool)


def converted(content: Any) -> dict[str, Any]:
    """The same result in version 2; one that is of version 2 already comes back as it is."""
    if not is_old(content):
        return dict(content)
    verb = next(verb for key, verb in KEYS.items() if _is_one(content.get(key)))
    try:
        parts = CONVERTERS[verb](content)
        return {"evenhand_result": 2, "verb": verb, "sentences": [], "checks": [], "witnesses": [], **parts}
    except KeyError as missing:
        raise NotConvertible(f"{missing.args[0]}: field required") from None
    except (TypeError, AttributeError, ValueError) as fault:
        raise NotConvertible(f"its parts are not those of a result of version 1 ({fault})") from None


def nested_header(flat: Old) -> dict[str, Any]:
    """The flat header of version 1 by parts; what has no part of its own is a detail."""
    taken = {old for names in PARTS.values() for old in names.values()} | set(HEADER)
    header: dict[str, Any] = {name: flat[name] for name in HEADER if name in flat}
    for part, names in PARTS.items():
        header[part] = {new: flat[old] for new, old in names.items() if flat.get(old) is not None}
    header["medium"] = {"kind": "table"}
    header["details"] = {name: value for name, value in flat.items() if name not in taken}
    return header


def _scan(old: Old) -> dict[str, Any]:
    body = {name: old[name] for name in ("rates", "runs", "failures", "valid_share", "anytime", "where") if name in old}
    checks = [_method_check(run, old["outcome"]) for run in old["runs"]]
    checks += [{"name": name, "outcome": "failed", "message": why} for name, why in old["failures"].items()]
    return {
        "header": nested_header(old["header"]),
        "outcome": old["outcome"],
        "reason": old["reason"],
        "checks": checks,
        "witnesses": old["witnesses"],
        "body": body,
    }


def _method_check(run: Old, outcome: str) -> dict[str, Any]:
    """A search that found something shares the blame of the whole; an interrupted one decides nothing."""
    message = f"{run['findings']:,} findings among {run['candidates']:,} candidates"
    seconds = {"seconds": run["wall_seconds"]} if run.get("wall_seconds") is not None else {}
    if outcome == "violation" and run["findings"]:
        return {"name": run["method"], "outcome": "violation", "message": message, **seconds}
    if run["ended"] == "interrupted":
        stopped = f"interrupted after {run['candidates']:,} candidates"
        return {"name": run["method"], "outcome": "inconclusive", "message": stopped, **seconds}
    return {"name": run["method"], "outcome": "pass", "message": message, **seconds}


FIGURE_OUTCOMES = {"different": "violation", "not shown": "pass", "insufficient": "inconclusive"}


def _measure(old: Old) -> dict[str, Any]:
    body = {name: old[name] for name in ("anytime", "weighted", "groups", "fairlearn", "oracles", "alarms", "notes")}
    checks = [
        {"name": f"{each['title']} by {each['attribute']}", "outcome": _figure_outcome(each, old["outcome"]), "message": each["meaning"]}
        for each in old["groups"]
    ]
    return {
        "header": nested_header(old["header"]),
        "outcome": old["outcome"],
        "reason": old["reason"],
        "checks": checks,
        "body": {"rates": old["individual"], **body},
    }


def _figure_outcome(figure: Old, whole: str) -> str:
    """A difference is a violation unless the whole tolerated it."""
    outcome = FIGURE_OUTCOMES[figure["verdict"]]
    return "pass" if outcome == "violation" and whole == "pass" else outcome


def _certify(old: Old) -> dict[str, Any]:
    told = ("lower", "upper", "exact", "ended", "measure", "boxes", "cpu_seconds", "sample", "sample_agrees", "facts", "curve")
    header = {"model": {"kind": old["model_kind"]}, "domain": {"protected": old["protected"]}, "medium": {"kind": "table"}}
    return {
        "header": header,
        "outcome": old["outcome"],
        "reason": old["reason"],
        "sentences": [old["sentence"]],
        "checks": [{"name": "proof", "outcome": old["outcome"], "message": old["reason"]}],
        "witnesses": [_proved_pair(place, pair, old) for place, pair in enumerate(old["pairs"], 1)],
        "body": {"certificate": {name: old[name] for name in told if name in old}},
    }


def _proved_pair(place: int, pair: Old, old: Old) -> dict[str, Any]:
    """Version 1 kept no id for the pairs of a proof; they cannot be replayed by one."""
    return {
        "id": f"proof-{place}",
        "protected": old["protected"],
        "person": pair["person"],
        "twin": pair["twin"],
        "outcome": pair["label"],
        "twin_outcome": pair["twin_label"],
        "method": "proof",
    }


REPAIR_OUTCOMES = {"better": "pass", "worse": "violation", "alarm": "violation"}


def _repair(old: Old) -> dict[str, Any]:
    told = {name: old[name] for name in ("best", "measures", "lines", "refused")}
    facts = old.get("facts") or [{}]
    checks = [
        {
            "name": line["name"],
            "outcome": REPAIR_OUTCOMES.get(line["verdict"], "inconclusive"),
            "message": f"{line['verdict']}: {line['reason']}",
        }
        for line in old["lines"]
        if line["role"] == "repair"
    ]
    checks += [{"name": name, "outcome": "failed", "message": f"not possible: {why}"} for name, why in old["refused"].items()]
    return {
        "header": nested_header(old["header"]),
        "outcome": "pass" if old["best"] else "inconclusive",
        "reason": old["sentence"],
        "checks": checks,
        "body": {"repairs": {**told, "facts": facts[0]}, "notes": old.get("notes") or []},
    }


def _bench(old: Old) -> dict[str, Any]:
    dates = old.get("dates") or []
    names = ", ".join(dict.fromkeys(str(ground["dataset"]) for ground in old["grounds"]))
    header = {
        "date": dates[-1] if dates else None,
        "budget": old.get("budget"),
        "data": {"name": names},
        "details": {"seeds": old["seeds"]},
    }
    return {
        "header": header,
        "outcome": "inconclusive" if old["troubles"] else "pass",
        "reason": _bench_reason(old),
        "checks": [
            {
                "name": str(each["method"]),
                "outcome": "failed",
                "message": f"{each['status']} on {', '.join(each['grounds'])}: {each['reason']}",
            }
            for each in old["troubles"]
        ],
        "body": {"standings": {name: value for name, value in old.items() if name != "evenhand_arena"}},
    }


def _bench_reason(old: Old) -> str:
    finished = f"{old['runs']:,} runs of {len(old['methods'])} methods on {len(old['grounds'])} grounds"
    return f"{finished}; {len(old['troubles'])} not finished" if old["troubles"] else finished


CONVERTERS: dict[str, Callable[[Old], dict[str, Any]]] = {
    "scan": _scan,
    "measure": _measure,
    "certify": _certify,
    "repair": _repair,
    "bench": _bench,
}
