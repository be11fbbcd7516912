"""What a result means and what it does not, and what makes the same result again."""

from __future__ import annotations

from evenhand.report import words
from evenhand.report.frame import Section, filled
from evenhand.report.lead import listed, nouns
from evenhand.report.provenance import provenance
from evenhand.report.record import Record


def meaning(record: Record) -> Section | None:
    """What it means; verbs that judge no pairs and no groups explain themselves."""
    does = _does(record)
    if not does:
        return None
    html = filled("sections/meaning.html.j2", does=does, does_not=does_not(record))
    return Section("meaning", "What this means, and what it does not", "What it means", html)


def reproduce(record: Record) -> Section:
    """The header, and how a pair is asked again."""
    has_replay = bool(record.witnesses) and record.verb != "certify"
    html = filled(
        "sections/reproduce.html.j2",
        replay=words.text(record.witnesses[0].id, 40) if has_replay else "",
        provenance=provenance(record),
    )
    return Section("reproduce", "How to reproduce it", "Reproduce", html)


def _does(record: Record) -> list[str]:
    body, told = record.body, []
    _, many = nouns(record)
    if record.witnesses and record.header.medium.learned_twins:
        told.append(
            f"Every pair above is a lead, no proof: this model gave these two answers to two {many}, and a learned editor made the second."
        )
    elif record.witnesses:
        whose = "one of the two models" if record.verb == "compare" else "this model"
        told.append(f"Every pair above is proof: {whose} gave these two answers to these two {many}. Anyone with the model can ask again.")
    elif body.rates and not body.rates[0].unfair:
        told.append("A rate of 0% has an upper bound above 0: unfair treatment that is rarer than this bound can have gone unseen.")
    if body.rates:
        told.append(
            "Each rate is a share of one named population. Its interval is exact: it allows for the size of the sample, in "
            f"{words.level(body.rates[0].confidence)} of such samples holding the true rate of that population."
        )
        told.append(
            "Rates of different populations answer different questions. For what the model meets, the one among real rows is nearest."
        )
    if body.groups:
        told.append(
            "“Different” was found by a test that rarely convicts a fair model: over all figures together, as the confidence says. "
            "Test and bounds agree: a difference is called so only where the bounds leave out none, at the level left to the figure."
        )
    return told


def does_not(record: Record) -> list[str]:
    """What the result does not say."""
    body, told = record.body, []
    protected = listed([words.text(name, 60) for name in record.protected])
    if body.runs:
        told.append(
            "Findings are a count of a search, not a rate. Twice the budget gives more of them; compare methods by them, not models."
        )
    if body.groups:
        told.append("“No difference shown” is not “no difference”: the upper bound says how large one may still be.")
        told.append("Groups can differ for reasons that the data knows, such as different base rates. Which gap matters no test can say.")
    tested = "was" if len(record.protected) == 1 else "were"
    told.append(f"Only {protected or 'the protected columns'} {tested} tested. Nothing is said about other attributes.")
    if body.rates or record.witnesses:
        told.append(
            "Twins change the protected cells and what is declared to follow from them. A model that works through a proxy, such as a "
            "postcode or an occupation, can treat groups very differently and still pass this test."
        )
    if body.rates:
        told.append("The interval covers chance in drawing the sample. It does not cover data that misrepresents those concerned.")
    return [*told, "Whether a difference is unlawful or justified is a judgement that no test makes."]
