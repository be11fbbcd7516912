"""Words that name what is often protected, in many languages, and values that give it away.  Proposes; decides nothing."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache

CONCEPTS: dict[str, tuple[str, ...]] = {
    "sex": (
        "sex", "gender", "statussex", "male", "female", "is male", "is female", "geschlecht", "sexe", "genre", "sexo", "genero", "sesso",
        "genere", "geslacht", "kon", "kjonn", "kjoenn", "plec", "pohlavi", "nem", "cinsiyet", "sukupuoli", "gen", "пол", "стать", "φυλο",
        "性别", "性別", "성별", "الجنس", "مجنس", "लिंग", "jenis kelamin", "gioi tinh", "jantina",
    ),
    "age": (
        "age", "dob", "birth", "birthday", "birthdate", "birthyear", "born", "alter", "geburtsdatum", "geburtsjahr", "geburtstag", "naissance",
        "geboren", "gebdatum", "nacido", "nascido", "edad", "nacimiento", "idade", "nascimento", "eta", "nascita", "leeftijd", "geboortedatum", "geboortejaar", "alder", "aldern",
        "wiek", "vek", "kor", "yas", "ika", "varsta", "возраст", "вік", "ηλικια", "年龄", "年齡", "年齢", "나이", "العمر", "उम्र", "usia", "umur", "tuoi",
    ),
    "race": (
        "race", "racial", "ethnic", "ethnicity", "ethnicgroup", "ancestry", "caste", "skin", "skintone", "skincolor", "skincolour", "color",
        "colour", "rasse", "ethnie", "herkunft", "hautfarbe", "origine", "couleur", "raza", "etnia", "etnicidad", "raca", "cor", "etnicidade",
        "razza", "ras", "etniciteit", "afkomst", "rasa", "etnicitet", "etnisitet", "irk", "раса", "этнос", "φυλη", "种族", "民族", "人种", "人種", "인종",
        "العرق", "जाति", "suku",
    ),
    "religion": (
        "religion", "religious", "faith", "denomination", "konfession", "glaube", "religione", "religiao", "godsdienst", "geloof", "wyznanie",
        "trossamfund", "din", "uskonto", "религия", "θρησκεια", "宗教", "종교", "الدين", "धर्म", "agama",
    ),
    "disability": (
        "disab", "disability", "disabled", "handicap", "impairment", "behinderung", "schwerbehindert", "discapacidad", "deficiencia",
        "disabilita", "beperking", "niepelnosprawnosc", "funktionsnedsattning", "engelli", "инвалидность", "残疾", "障害", "장애", "الاعاقة",
    ),
    "nationality": (
        "nationality", "national", "nationalorigin", "native", "nativecountry", "citizen", "citizenship", "foreign", "foreigner", "immigrant",
        "migrant", "nationalitat", "staatsangehorigkeit", "staatsburgerschaft", "auslander", "nationalite", "etranger", "nacionalidad",
        "extranjero", "nacionalidade", "estrangeiro", "nazionalita", "cittadinanza", "straniero", "nationaliteit", "narodowosc",
        "obywatelstwo", "nationalitet", "medborgarskap", "uyruk", "национальность", "гражданство", "国籍", "國籍", "국적", "الجنسية", "राष्ट्रीयता",
    ),
    "family": (
        "marital", "maritalstatus", "pregnan", "pregnant", "pregnancy", "familienstand", "verheiratet", "etat civil", "situation familiale",
        "estado civil", "embarazo", "stato civile", "burgerlijke staat", "stan cywilny", "civilstand", "medeni", "medeni durum",
        "семейное положение", "婚姻", "婚姻状况", "配偶", "혼인", "الحالة الاجتماعية",
    ),
    "other": ("orientation", "veteran", "language", "sprache", "langue", "idioma", "lingua", "taal", "язык", "语言", "言語"),
}  # fmt: skip
"""Words by what they mean.  Accents are left out: names are compared without them."""

GIVEAWAYS: dict[str, tuple[frozenset[str], ...]] = {
    "sex": tuple(
        frozenset(pair)
        for pair in (
            ("male", "female"), ("m", "f"), ("man", "woman"), ("men", "women"), ("mann", "frau"), ("mannlich", "weiblich"), ("m", "w"),
            ("homme", "femme"), ("hombre", "mujer"), ("masculino", "femenino"), ("masculino", "feminino"), ("homem", "mulher"),
            ("maschio", "femmina"), ("uomo", "donna"), ("man", "vrouw"), ("mies", "nainen"), ("kobieta", "mezczyzna"), ("男", "女"), ("남", "여"),
            ("мужской", "женский"), ("erkek", "kadin"),
        )
    )
}  # fmt: skip
_EXTENDED = ("ethnic", "religio", "disab", "national", "native", "citizen", "foreign", "marital", "pregnan", "veteran", "skin", "birth")
"""English beginnings that stand for every word that goes on from them."""


def plain_words(name: str) -> str:
    """A name in lower case, camelCase taken apart, accents removed, everything that is no letter a space."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    letters = unicodedata.normalize(
        "NFKD", apart.replace("ß", "ss").replace("ø", "o").replace("Ø", "O").replace("ł", "l").replace("ı", "i")
    )
    bare = "".join(letter for letter in letters if not unicodedata.combining(letter)).lower()
    return " ".join(re.sub(r"[^\w]|[\d_]", " ", unicodedata.normalize("NFC", bare)).split())


def concept_of(name: str) -> str | None:
    """What a column's name means; None where no known word stands in it."""
    words = f" {_without_article(plain_words(name))} "
    for concept, known in CONCEPTS.items():
        if any(f" {_bare(word)} " in words or (_may_be_part(word) and word in words) for word in known):
            return concept
    if any(f" {beginning}" in words for beginning in _EXTENDED):
        return "other"
    return None


@cache
def _bare(word: str) -> str:
    """A known word as it is compared: without accents, and without the Arabic article."""
    plain = "".join(letter for letter in unicodedata.normalize("NFKD", word) if not unicodedata.combining(letter))
    return _without_article(unicodedata.normalize("NFC", plain))


def _without_article(words: str) -> str:
    return re.sub(r"(?<!\w)ال(?=\w{2})", "", words)


@cache
def _may_be_part(word: str) -> bool:
    """Whether a word counts inside a longer one too, as in scripts without spaces; Arabic stems stand for several things."""
    return not word.isascii() and not re.search("[\u0600-\u06ff]", word)


def concept_of_values(values: Iterable[object]) -> str | None:
    """What a column's values give away, whatever its name: two words for women and men, say."""
    texts = frozenset(plain_words(str(value)) for value in values)
    return next((concept for concept, pairs in GIVEAWAYS.items() if texts in pairs), None)


def meant(wanted: str, names: Sequence[str]) -> str | None:
    """The column that means what the wanted name means, in whatever language."""
    concept = concept_of(wanted)
    return next((name for name in names if concept is not None and concept_of(name) == concept), None)
