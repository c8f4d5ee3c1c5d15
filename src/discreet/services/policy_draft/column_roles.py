"""The likely role of a column: identifier (one of HIPAA's eighteen), quasi-identifier or sensitive.

A proposal for a person to check. Identifiers are HIPAA's eighteen, by usual column names; its small places
and dates are quasi-identifiers here, because they are generalized rather than removed.

HIPAA's eighteen identifiers (45 CFR 164.514(b)(2)) are recognized by names first, patterns second. The engine
counts the share of the first rows that match a pattern; no value leaves it. Capital letters would also match
diseases, so people's names are recognized by the commonest given names.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass

from discreet.core.column_entry import ColumnType, Role
from discreet.services.policy_draft.column_words import (
    CODES,
    IDENTIFIERS,
    MASKABLE_CODES,
    NUMBERS,
    PEOPLE,
    PERSON_NUMBERS,
    QUASI,
    SENSITIVE,
    WEAK_IDENTIFIERS,
)

SHORTEST_INSIDE = 6
"""Letters of a word that also matches inside a longer word."""

SHORTEST_ACROSS = 8
"""Letters of a word that also matches across words: codice_fiscale, data_de_nascimento."""

JOINING_WORDS = ("de", "di", "da", "do", "del", "della", "van", "of", "la")


def guess_role(name: str) -> Role:
    """Return the role that a column's name suggests.

    >>> [guess_role(name).value for name in ("PatientID", "zip_code", "Diagnosis", "message")]
    ['identifier', 'quasi', 'sensitive', 'other']
    """
    for words, role in (
        (IDENTIFIERS, Role.IDENTIFIER),
        (SENSITIVE, Role.SENSITIVE),
        (QUASI, Role.QUASI),
        (WEAK_IDENTIFIERS, Role.IDENTIFIER),
    ):
        if contains_word(name, words):
            return role
    return Role.IDENTIFIER if _is_word_for_people(name) else Role.OTHER


def is_key(name: str) -> bool:
    """Return whether a column looks like a key."""
    keyed = _split_words(name)[-1:] in (["id"], ["uuid"], ["guid"], *PERSON_NUMBERS)
    return guess_role(name) is Role.IDENTIFIER and (keyed or _is_word_for_people(name))


def is_person_key(name: str) -> bool:
    """Return whether a column looks like a key of people: patient_id, user, MRN."""
    spoken = (
        contains_word(name, PEOPLE) or _is_word_for_people(name) or _split_words(name)[-1:] in PERSON_NUMBERS
    )
    return is_key(name) and spoken


def is_maskable(name: str) -> bool:
    """Return whether values are codes that become coarser with every character removed."""
    return contains_word(name, MASKABLE_CODES)


def is_code(name: str) -> bool:
    """Return whether numbers in the column are codes of groups rather than amounts."""
    return contains_word(name, CODES)


def _is_word_for_people(name: str) -> bool:
    """Return whether a name is a word for people, with or without a number word: patient, numero_paciente."""
    joined, people = "".join(_split_words(name)), PEOPLE.split()
    return any(
        without in people
        for number in NUMBERS.split()
        for without in (joined.removesuffix(number), joined.removeprefix(number))
    )


def contains_word(name: str, words: str) -> bool:
    """Return whether a name contains one of the words."""
    parts = _split_words(name)
    joined = "".join(part for part in parts if part not in JOINING_WORDS)
    return any(
        word in parts
        or (len(word) >= SHORTEST_INSIDE and any(word in part for part in parts))
        or (len(word) >= SHORTEST_ACROSS and word in joined)
        for word in words.split()
    )


def _split_words(name: str) -> list[str]:
    """Return the words of a name without accents: date_of_birth, dateOfBirth, DATE-OF-BIRTH, Téléphone."""
    folded = unicodedata.normalize("NFKD", name.translate(UNDECOMPOSED))
    plain = "".join(each for each in folded if not unicodedata.combining(each))
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", plain)
    return re.findall(r"[a-z]+", spaced.lower())


UNDECOMPOSED = str.maketrans(
    {"ß": "ss", "ł": "l", "Ł": "L", "ø": "o", "Ø": "O", "ä": "ae", "ö": "oe", "ü": "ue"}
    | {"Ä": "Ae", "Ö": "Oe", "Ü": "Ue"}
)
"""Letters that Unicode does not decompose into a plain one and an accent, or that German writes with two."""


@dataclass(frozen=True, kw_only=True)
class HipaaIdentifier:
    """One of the eighteen: its letter in the rule, words in column names, and a pattern of values."""

    letter: str
    label: str
    words: str = ""
    pattern: str = ""
    role: Role = Role.IDENTIFIER
    least_share: float = 0.5
    """The share of values that must match for the column to be one of these."""


GIVEN_NAMES = """
    james john robert michael william david richard joseph thomas charles mary patricia jennifer
    linda elizabeth barbara susan jessica sarah karen emma olivia sophie sophia lucas noah liam hans
    peter wolfgang klaus juergen jürgen dieter manfred uwe andreas stefan anna maria ursula monika
    petra sabine renate helga karin brigitte lena hannah lukas leon jean pierre michel andre andré
    philippe louis jacques marie nathalie isabelle catherine francoise françoise jose josé antonio
    juan manuel francisco luis javier carmen josefa isabel dolores lucia lucía pilar giuseppe
    giovanni mario luigi francesco salvatore angela giulia giovanna paolo jan johannes cornelis
    willem hendrik daan johanna wilhelmina cornelia joao joão pedro paulo carlos beatriz mariana
    piotr krzysztof andrzej tomasz pawel paweł katarzyna malgorzata małgorzata agnieszka krystyna
    ewa
"""
"""Common given names: they are at least a tenth of a column of names, and no column of diseases has them.

Left out are those with another meaning in tables: Christian, Rosa, ANA.
"""

HIPAA_IDENTIFIERS = (
    HipaaIdentifier(letter="E", label="fax numbers", words="fax faxnumber"),
    HipaaIdentifier(
        letter="F", label="email addresses", words="email mail", pattern=r"[^@\s]+@[^@\s]+\.[A-Za-z]{2,}"
    ),
    HipaaIdentifier(
        letter="D",
        label="telephone numbers",
        words="phone mobile telephone tel cellphone telefon telefono telefone telefoon handy movil cellulare",
        # with a country's code, an area code and a separator, French pairs, or digits alone after a 0
        pattern=r"(\+\d{1,3}[ .-]?)?(\(\d{2,4}\)[ .-]?|\d{2,4}[ .-])\d{3,4}[ .-]?\d{3,4}|\+[\d ./()-]{8,20}"
        r"|0\d{1,5}[ /-]\d[\d ]{4,12}|0\d([ .]\d{2}){4}|0\d{9,12}",
    ),
    HipaaIdentifier(
        letter="G", label="social security numbers", words="ssn nin tin nhs", pattern=r"\d{3}-\d{2}-\d{4}"
    ),
    HipaaIdentifier(
        letter="G",
        label="national identity numbers",
        words="nino steuerid insee nir dni nie nif codicefiscale bsn cpf pesel personalausweis kvnr ahv",
        # British, Spanish, Italian, French, German and Polish, Brazilian, Swiss, German health insurance
        pattern=r"[A-Z]{2}\d{6}[A-D]|\d{8}[A-Z]|[XYZ]\d{7}[A-Z]|[A-Z]{6}\d{2}[A-EHLMPRST]\d{2}[A-Z]\d{3}[A-Z]"
        r"|[12]( ?\d{2}){3}( ?\d{3}){2}( ?\d{2})?|\d{11}|\d{3}\.\d{3}\.\d{3}-\d{2}|756\.\d{4}\.\d{4}\.\d{2}"
        r"|[A-Z]\d{9}",
    ),
    HipaaIdentifier(
        letter="H", label="medical record numbers", words="mrn chart fallnummer fallnr aktenzeichen"
    ),
    HipaaIdentifier(
        letter="I", label="health plan numbers", words="beneficiary subscriber policy plan insurance"
    ),
    HipaaIdentifier(
        letter="J",
        label="account numbers",
        words="account acct iban bic card",
        pattern=r"[A-Z]{2}\d{2}( ?[A-Z0-9]{4}){3,7}( ?[A-Z0-9]{1,3})?|\d{4}([ -]?\d{4}){3}",
    ),
    HipaaIdentifier(
        letter="L",
        label="vehicles",
        words="vin plate vehicle",
        pattern=r"[A-HJ-NPR-Z0-9][A-HJ-NPR-Z][A-HJ-NPR-Z0-9]{6}[0-9X][A-HJ-NPR-Z0-9]{4}[0-9]{4}",
    ),
    HipaaIdentifier(
        letter="K", label="certificates and licences", words="licence license certificate passport"
    ),
    HipaaIdentifier(
        letter="M",
        label="devices and serial numbers",
        words="device imei serial mac",
        pattern=r"([0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}",
    ),
    HipaaIdentifier(
        letter="N", label="web addresses", words="url website homepage", pattern=r"(https?://|www\.)\S+"
    ),
    HipaaIdentifier(
        letter="O",
        label="IP addresses",
        words="ip",
        pattern=r"(\d{1,3}\.){3}\d{1,3}|([0-9A-Fa-f]{0,4}:){3,7}[0-9A-Fa-f]{0,4}",
    ),
    HipaaIdentifier(letter="P", label="biometrics", words="fingerprint biometric voiceprint retina iris"),
    HipaaIdentifier(letter="Q", label="photographs", words="photo image portrait picture"),
    HipaaIdentifier(
        letter="B",
        label="addresses",
        words="address addr street adresse anschrift strasse direccion indirizzo adres endereco morada ulica",
        pattern=r"(?i)\d{1,5}[a-z]?\s+\S.*\b(street|st|avenue|ave|road|rd|lane|ln|drive|dr|boulevard|blvd)\b.*",
    ),
    HipaaIdentifier(
        letter="B",
        label="places smaller than a state",
        words="""zip zipcode postcode postal plz ort city town village county district precinct place location
        latitude longitude lat lon lng""",
        pattern=r"\d{5}-\d{4}",
        role=Role.QUASI,
    ),
    HipaaIdentifier(letter="C", label="ages above 89", words="age", role=Role.QUASI),
    HipaaIdentifier(
        letter="C",
        label="dates",
        words="""birth birthday birthdate birthyear dob born admission admitted discharge discharged death
        died deathdate""",
        role=Role.QUASI,
    ),
    HipaaIdentifier(
        letter="A",
        label="names",
        words="""name firstname lastname surname fullname forename givenname familyname maidenname nickname
        vorname nachname prenom nom apellido nombre cognome nome voornaam achternaam apelido imie nazwisko""",
        pattern=r"(?i)(NAMES)([ ,].*)?|[^ ,]+, ?(NAMES)( .*)?".replace(
            "NAMES", "|".join(GIVEN_NAMES.split())
        ),
        least_share=0.1,
    ),
    HipaaIdentifier(
        letter="R",
        label="free text",
        words="""note notes comment comments remark remarks freetext bemerkung bemerkungen kommentar remarque
        commentaire observaciones comentario commento opmerking uwagi komentarz""",
        pattern=r"(\S+\s+){5,}\S+",
    ),
    HipaaIdentifier(
        letter="R",
        label="other unique codes",
        words="uuid guid username login cookie signature id key",
        pattern=r"[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}",
    ),
)
HIPAA_PATTERNS = {each.label: each.pattern for each in HIPAA_IDENTIFIERS if each.pattern}


def identify_by_name(name: str, kind: ColumnType) -> HipaaIdentifier | None:
    """Return the identifier that a column's name suggests, or its type if it is a date; None if neither."""
    role = guess_role(name)
    named = (each for each in HIPAA_IDENTIFIERS if each.role is role and contains_word(name, each.words))
    found = next(named, None)
    if found is None and role is Role.IDENTIFIER and is_key(name):
        return HIPAA_IDENTIFIERS[-1]
    if found is None and kind in (ColumnType.DATE, ColumnType.TIMESTAMP):
        return next(each for each in HIPAA_IDENTIFIERS if each.label == "dates")
    return found


def identify_by_content(shares: Mapping[str, float]) -> HipaaIdentifier | None:
    """Return the identifier whose pattern most values match, or None."""
    likely = [each for each in HIPAA_IDENTIFIERS if shares.get(each.label, 0.0) >= each.least_share]
    return max(likely, key=lambda each: shares[each.label], default=None)
