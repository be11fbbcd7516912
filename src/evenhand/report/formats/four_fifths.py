"""The four-fifths figures of the Uniform Guidelines, for those who ask for them: ratios below .8 are marked, with what chance allows."""

from __future__ import annotations

from evenhand.report import words
from evenhand.report.evidence import LegalSource, Selection, missing, opening, selection_table, selections
from evenhand.report.formats.md import code, table
from evenhand.report.record import Record

endings = (".four-fifths.md",)
tells_outcome = False  # evidence for others to judge: it has no pass mark

SOURCES = (
    LegalSource(
        "Uniform Guidelines on Employee Selection Procedures", "29 CFR § 1607.4(D) and § 1607.15(A)(2)(a)",
        "43 Fed. Reg. 38290, 1978-08-25",
        "https://www.ecfr.gov/current/title-29/subtitle-B/chapter-XIV/part-1607",
        "copies of the Code of Federal Regulations of 2008 and of 2024 or later",
    ),
    LegalSource(
        "Questions and Answers on the Uniform Guidelines", "on adverse impact", "44 Fed. Reg. 11996, 1979-03-02",
        "https://www.eeoc.gov/laws/guidance/questions-and-answers-clarify-and-provide-common-interpretation-uniform-guidelines",
        "quotations",
    ),
    LegalSource(
        "Unified Agenda of Federal Regulatory and Deregulatory Actions", "RIN 3046-AB43 and 3046-AB45", "issue 202510, as of 2026-07-05",
        "https://www.reginfo.gov/public/do/eAgendaViewRule?RIN=3046-AB43&pubId=202510", "a copy of the page",
    ),
)  # fmt: skip
FOUR_FIFTHS = 0.8

RULE = (
    "A selection rate below four fifths of the highest one *will generally be regarded* as evidence of adverse impact; smaller differences "
    "may be, and greater ones may not be where they rest on small numbers and are not statistically significant (§ 1607.4(D)). "
    "The Questions and Answers call it a rule of thumb. Adverse impact is to be determined for each group that makes up at least 2 % of "
    "the labour force in the relevant labour area, or 2 % of the applicable workforce (§ 1607.15(A)(2)(a)). This table shows every group "
    "that was measured, smaller ones too, since a share of these data is neither of the two.\n\n"
    "**Is the rule still in force?** The Equal Employment Opportunity Commission has announced that it will rescind the interpretive part "
    "of the Guidelines (RIN 3046-AB43, at the stage of a final rule) and proposes to rescind their record-keeping part (RIN 3046-AB45). "
    "Whether that has happened was not found; look up part 1607 before you rely on it."
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
