"""Evidence for a bias audit under New York City's Local Law 144: selection rates and impact ratios by category, intersections included.

The law sets no pass mark, and none is printed.
"""

from __future__ import annotations

from evenhand.report.evidence import LegalSource, missing, opening, selection_table, selections
from evenhand.report.record import Record

endings = (".nyc144.md",)
tells_outcome = False  # evidence for others to judge: it has no pass mark

RULES = "https://codelibrary.amlegal.com/codes/newyorkcity/latest/NYCrules/0-0-0-138530"
SOURCES = (
    LegalSource(
        "Local Law 144 of 2021", "NYC Administrative Code § 20-870 to 20-874", "enforced from 2023-07-05",
        "https://www.nyc.gov/site/dca/about/automated-employment-decision-tools.page", "quotations",
    ),
    LegalSource(
        "Rules of the City of New York", "title 6, § 5-300 to 5-304, “Automated Employment Decision Tools”",
        "adopted 2023-04-06, effective 2023-05-06", RULES, "copies and quotations of its sections",
    ),
)  # fmt: skip
SMALL = 0.02
"""A category below this share of the data may be left out of the ratios by an auditor, who then says so (§ 5-301(d))."""

COLUMNS = (
    "The impact ratio of a category is its selection rate over the selection rate of the most selected category of the same division "
    "(§ 5-300). Sex, race or ethnicity, and their intersections are to be shown (§ 5-301(b)); which column is which the auditor knows. "
    "“Selected” here means the favourable outcome of the model under test, on the data named above. "
    "An audit uses historical data of the tool; where it uses test data instead, the published summary says why, and how they were made "
    "(§ 5-302). For a tool that scores instead of "
    "selecting, the rules ask for scoring rates (the share above the median score, § 5-301(c)), which are not shown here. **The law sets "
    "no pass mark.**"
)


def render(record: Record) -> str:
    """The pack."""
    found = selections(record)
    small = [each for each in found if each.share < SMALL]
    parts = [opening("Impact ratios for a bias audit (NYC Local Law 144)", record, SOURCES), COLUMNS]
    parts.append("## Selection rates and impact ratios\n\n" + (selection_table(found) if found else missing("groups")))
    if small:
        parts.append(
            "## Categories below 2 % of the data\n\nAn independent auditor may leave these out of the ratios, "
            "and then has to publish their "
            f"number and selection rate with a justification (§ 5-301(d)).\n\n{selection_table(small)}"
        )
    parts.append(
        "## Also to be published (§ 5-303)\n\n- the date of the most recent audit and the distribution date "
        "of the tool\n- the source and an "
        "explanation of the data\n- the number of people of unknown category, who are in no row above"
    )
    return "\n\n".join(parts) + "\n"
