"""Texts that are codes: postcodes of several countries, and numbers whose leading zeros matter.  Neither numbers nor free text.

A code says which of many it is; so its column is a category, however many there are, and its cells stay as they are written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice

from evenhand.domain.protected_words import plain_words

MOST_DIFFERENT = 50_000
"""More different codes than this are not listed in a project file."""
LOOKED_AT = 2_000
_NAMED = re.compile(
    r"\b(zip|zips|zipcode|zip ?code|zip3|zip5|post ?code|postal|postal ?code|plz|postleitzahl|code postal|codigo postal|cep|"
    r"codice postale|postnummer|postnr|kod pocztowy|pincode|pin code|eircode)\b|邮编|邮政编码|郵便番号"
)
_FORMS = {
    "postcodes": re.compile(
        r"[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}|[A-Z]\d[A-Z][ -]?\d[A-Z]\d|\d{4} ?[A-Z]{2}|\d{5}-\d{4}|\d{4}-\d{3}|\d{2}-\d{3}|\d{5}-\d{3}|"
        r"\d{3}-\d{4}|\d{3} \d{2}|[A-Z]\d{2} ?[A-Z\d]{4}"
    ),
    "codes with leading zeros": re.compile(r"\d{2,12}"),
}
"""Britain, Canada, the Netherlands, the States, Portugal, Poland, Brazil, Japan, Sweden, Ireland; and plain digits."""


def is_named_postcode(name: str) -> bool:
    """Whether a column is called so, in one of several languages."""
    return bool(_NAMED.search(plain_words(name)) or _NAMED.search(name.lower()))


def kind_of_codes(name: str, cells: Iterable[object]) -> str:
    """What kind of codes these texts are, in a word for a reader; empty for other texts."""
    texts = [cell.strip() for cell in islice(cells, LOOKED_AT) if isinstance(cell, str)]
    if not texts:
        return ""
    if is_named_postcode(name) and all(any(sign.isdigit() for sign in text) and len(text) <= 12 for text in texts):
        return "postcodes"
    for kind, form in _FORMS.items():
        is_padded = kind == "postcodes" or (len({len(text) for text in texts}) == 1 and any(text.startswith("0") for text in texts))
        if is_padded and all(form.fullmatch(text.upper()) for text in texts):
            return kind
    return ""
