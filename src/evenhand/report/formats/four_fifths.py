"""The four-fifths figures of the Uniform Guidelines, for those who ask for them: ratios below .8 are marked, with what chance allows."""

from __future__ import annotations

from evenhand.report import words
from evenhand.report.evidence import LegalSource, Selection, missing, opening, selection_table, selections
from evenhand.report.formats.md import code, table
from evenhand.report.record import Record

endings = (".four-fifths.md",)
tells_outcome = False  # evidence for others to judge: it has no pass mark

SOURCES = (
    LegalSource("Uniform Guidelines on Employee Selection Procedures", "29 CFR § 1607.4(D) and § 1607.15(A)", "1978"),
    LegalSource("Questions and Answers on the Uniform Guidelines", "44 Fed. Reg. 11996, questions 10 to 27", "1979-03-02"),
)
FOUR_FIFTHS = 0.8

RULE = (
    "A selection rate below four fifths of the highest one *will generally be regarded* as evidence of adverse impact; smaller differences "
    "may be, and greater ones may not be where numbers are small (§ 1607.4(D)). It is a rule of thumb of "
    "enforcement, not a limit of lawfulness. "
    "The Questions and Answers of 1979 compare groups of more than 2 % of the labour force in the relevant area; the clause itself, said "
    "to be § 1607.15(A)(2)(a), is known here from secondary sources only. This table shows every group that was measured, small ones too."
)


def render(record: Record) -> str:
    """The pack."""
    found = selections(record)
    below = [each for each in found if each.ratio is not None and each.ratio < FOUR_FIFTHS]
    parts = [opening("Four-fifths figures", record, SOURCES), RULE]
    parts.append("## Selection rates\n\n" + (selection_table(found) if found else missing("groups")))
    if found:
        parts.append("## Below four fifths\n\n" + (_table(below) if below else "None."))
    return "\n\n".join(parts) + "\n"


def _table(below: list[Selection]) -> str:
    rows = [
        [
            code(each.attribute, in_table=True),
            code(each.group, in_table=True),
            f"{each.ratio:.3f}",
            f"{each.rows:,}",
            words.percent(each.rate),
        ]
        for each in below
    ]
    return table(["By", "Group", "Ratio", "n", "Selection rate"], rows)
