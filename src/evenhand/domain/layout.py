"""How a domain looks as a YAML file: the order of its sections, and the comments that explain them to a person."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from evenhand.domain.columns import Column
from evenhand.domain.tabular import Constraint, Label, TabularDomain
from evenhand.domain.twins import Implied
from evenhand.domain.yamltext import entry, flow, item_text, scalar

if TYPE_CHECKING:
    from evenhand.domain.infer import Proposal

_HEAD = "# What an input of the model may be, and which part of it is protected.  Edit freely: mistakes are reported with their line.\n"
MEDIUM_HEAD = "# What a row shows, and which part of it is protected.  Edit freely: mistakes are reported with their line.\nversion: 1\n"
_COMMENTS = {
    "medium": "# What a row shows: an album of pictures, portraits, scenes or text, and how it is made.",
    "label": "# What the model predicts.  `favourable`: the outcomes that a person hopes for.",
    "protected": "# Columns that must not change the model's answer.  Each person is compared with its twins under every other value.",
    "columns": "# One line per input.  kind: category, ordinal (values in order), boolean, integer, real, date, datetime (low to high).\n"
    "# missing: the share of missing cells (left out: none may be missing).  dtype: the pandas type that the model expects.",
    "twins": "# How twins are made.  compare: which values or bins of a protected number are compared.\n"
    "# implied: what else must change with a protected value, so that a twin is a possible person.",
    "constraints": '# Rules that a possible person keeps: age >= 18, start <= end, relationship == "Husband" => sex == "Male",\n'
    "# education determines education_num.  A missing cell breaks no rule, except through `is missing`.",
    "relations": "# Rules that hold in every row of the data, such as total == a + b.  Made-up rows keep them by computing, every search\n"
    "# keeps them as constraints.  With this key, also an empty one, no others are looked for.",
    "data": "# The data, beside this file.",
    "model": "# The model under test: a file or a URL.  One that runs code when loaded (pickle, torch): `{path: FILE, trusted: true}`.",
    "oracle": "# What counts as unfair: an oracle by name, or with its parameters, as in `gap: {threshold: 0.2}`.",
    "scan": "# How the model is searched.",
    "gate": "# When a result passes: engineering tolerances of rates, groups and classes, kept pairs, a baseline, waivers.",
}


def section_text(title: str, value: object) -> str:
    """One section with its comment."""
    return f"\n{_COMMENTS[title]}\n{entry(title, value, 0)}"


def domain_text(domain: TabularDomain, proposal: Proposal | None = None) -> str:
    """A domain as the text of a file; suggestions stand in it as comments."""
    text = _HEAD + _notes(proposal) + "version: 1\n"
    if domain.label is not None:
        text += section_text("label", _label(domain.label))
    text += _candidates(proposal) + (section_text("protected", domain.protected) if domain.protected else "")
    text += f"\n{_COMMENTS['columns']}\ncolumns:\n" + "".join(entry(column.name, _column(column), 2) for column in domain.columns)
    if domain.comparisons or domain.implied:
        text += f"\n{_COMMENTS['twins']}\ntwins:\n{_twins(domain)}"
    text += _co_changes(domain, proposal)
    return text + _constraints(domain, proposal) + _relations(domain, proposal)


def _label(label: Label) -> dict[str, object]:
    if not label.is_amount:
        return {"column": label.column, "values": label.values, "favourable": label.favourable}
    limits = {"tolerance": label.tolerance, "share": label.share}
    return {"column": label.column, "unit": label.unit} | {name: value for name, value in limits.items() if value is not None}


def _notes(proposal: Proposal | None) -> str:
    if proposal is None:
        return ""
    notes = [*proposal.notes, *(f"column {name!r} is left out: {why}" for name, why in proposal.left_out.items())]
    return "".join(f"# Note: {_one_line(note)}\n" for note in notes)


def _one_line(text: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in text)


def _candidates(proposal: Proposal | None) -> str:
    if proposal is None or not proposal.protected_candidates:
        return ""
    return f"\n# Columns whose names suggest protection: {_one_line(flow(proposal.protected_candidates))}\n"


def _column(column: Column) -> dict[str, object]:
    spec: dict[str, object] = {"kind": column.kind}
    spec |= {"values": column.values} if column.is_listed else {"low": _limit(column, column.low), "high": _limit(column, column.high)}
    if column.missing:
        spec["missing"] = column.missing
    return spec | ({"dtype": column.dtype} if column.dtype else {})


def _limit(column: Column, code: float | int | None) -> object:
    return column.value(code) if column.is_moment and code is not None else code


def _twins(domain: TabularDomain) -> str:
    text = ""
    if domain.comparisons:
        text += "  compare:\n"
        for name, comparison in domain.comparisons.items():
            text += entry(name, {"bins": comparison.edges} if comparison.edges else {"values": comparison.values}, 4)
    if domain.implied:
        text += "  implied:\n" + "".join(f"    - {_implied(rule)}\n" for rule in domain.implied)
    return text


def _implied(rule: Implied) -> str:
    told = {"column": rule.column, "from": rule.source, "to": rule.target, "changes": rule.changes}
    return flow(told | ({"learnt": True} if rule.is_learnt else {}))


def _co_changes(domain: TabularDomain, proposal: Proposal | None) -> str:
    """What seems to change along with a protected value, each with its reason; in force only once a person has taken the marks away."""
    found = [each for each in (proposal.co_changes if proposal else ()) if each.rule not in domain.implied]
    if not found:
        return ""
    text = "\n# The data suggests that these change along with a protected value; put the ones that are true of people into force:\n"
    text += ("" if domain.comparisons else "# twins:\n") + ("" if domain.implied else "#   implied:\n")
    return text + _lines(f"#     - {_one_line(_implied(each.rule))}  # {_one_line(each.reason)}" for each in found)


def _constraints(domain: TabularDomain, proposal: Proposal | None) -> str:
    found = proposal.further if proposal else ()
    suggested = [f"#  - {_one_line(_rule(one.text))}  # {_share(one.broken)} of the rows break it" for one in found]
    rules = [_declared(constraint) for constraint in domain.constraints if not getattr(constraint, "is_relation", False)]
    if not suggested and not rules:
        return ""
    text = f"\n{_COMMENTS['constraints']}\n"
    if suggested:
        text += "# The data suggests these; put the ones that are true of every possible person into force:\n"
        text += ("" if rules else "# constraints:\n") + _lines(suggested)
    return text + ("constraints:\n" + _lines(rules) if rules else "")


def _relations(domain: TabularDomain, proposal: Proposal | None) -> str:
    """Declared relations, and found ones as comments; a learnt map stands in the file only once it is in force."""
    found = [
        f"#  - {_one_line(_rule(each.text))}  # kept by {each.support:.2%} of the rows" for each in (proposal.relations if proposal else ())
    ]
    rules = [_declared(constraint) for constraint in domain.constraints if getattr(constraint, "is_relation", False)]
    if not found and not rules and domain.finds_relations:
        return ""
    text = f"\n{_COMMENTS['relations']}\n"
    if found:
        text += "# The data has these:\n" + ("" if rules else "# relations:\n") + _lines(found)
    if rules:
        return text + "relations:\n" + _lines(rules)
    return text if domain.finds_relations else text + "relations: []\n"


def _declared(constraint: Constraint) -> str:
    return f"  - {_rule(getattr(constraint, 'source', constraint.text))}"


def _share(broken: float) -> str:
    return "none" if broken == 0 else "under 0.01%" if broken < 0.0001 else f"{broken:.2%}"


def _rule(source: object) -> str:
    if isinstance(source, Mapping):
        return flow(source)
    return item_text(source) if isinstance(source, str) else scalar(source)


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
