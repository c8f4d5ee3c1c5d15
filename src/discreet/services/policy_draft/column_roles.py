"""The likely role of a column: identifier (one of HIPAA's eighteen), quasi-identifier or sensitive.

A proposal for a person to check. Identifiers are HIPAA's eighteen, by usual column names; its small places
and dates are quasi-identifiers here, because they are generalized rather than removed.

HIPAA's eighteen identifiers (45 CFR 164.514(b)(2)) are recognized by names first, patterns second. The engine
counts the share of the first rows that match a pattern; no value leaves it. Person names have no pattern,
since diseases would match it too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from discreet.core.policy import ColumnType, Role

# Matched as whole words of a name; those of six letters or more also match inside a longer word.
IDENTIFIERS = """
    ssn nin passport email mail phone mobile telephone tel fax address addr street mrn iban bic card
    account acct beneficiary licence license certificate vin plate vehicle device imei serial url
    website ip mac fingerprint biometric photo image portrait signature username login nickname
    firstname lastname surname fullname forename givenname familyname maidenname nhs tin cookie
    note notes comment comments remark remarks freetext
"""
SENSITIVE = """
    disease diagnosis diagnose diagnoses icd illness condition symptom hiv aids cancer medication drug
    treatment therapy procedure lab mental disability pregnancy pregnant blood genetic genome income salary
    wage wages earnings pay debt credit loan balance religion religious belief sexual orientation
    political party vote union criminal conviction offence offense arrest occupation grade score rating
"""
QUASI = """
    zip zipcode postcode postal plz birth birthday birthdate birthyear dob born age sex gender race ethnicity
    ethnic nationality citizenship native country city town village county district region state province
    place location latitude longitude lat lon lng marital married family household children education degree
    school workclass employer job language admission admitted discharge discharged death died deathdate
    relationship hispanic veteran
"""
# Identifiers only if no other word matches: disease_name is not a person's name.
WEAK_IDENTIFIERS = "name id uuid guid key"
PEOPLE = """
    person patient user customer client member employee subject participant student respondent citizen people
    individual pupil worker donor voter
"""
PERSON_NUMBERS = (["mrn"], ["ssn"], ["nhs"])
CODES = "sex gender race ethnicity ethnic nationality religion zip zipcode postcode plz marital married icd"
MASKABLE_CODES = "zip zipcode postcode postal plz icd"
NUMBERS = "id no nr num number"
SHORTEST_INSIDE = 6


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
    """Return whether a name is a word for people, with or without a number word: patient, userid."""
    joined = "".join(_split_words(name))
    return any(joined.removesuffix(number) in PEOPLE.split() for number in NUMBERS.split())


def contains_word(name: str, words: str) -> bool:
    """Return whether a name contains one of the words."""
    parts = _split_words(name)
    return any(
        word in parts or (len(word) >= SHORTEST_INSIDE and any(word in part for part in parts))
        for word in words.split()
    )


def _split_words(name: str) -> list[str]:
    """Return the words of a name: date_of_birth, dateOfBirth, DATE-OF-BIRTH."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name)
    return re.findall(r"[a-z]+", spaced.lower())


MIN_MATCH_SHARE = 0.5


@dataclass(frozen=True, kw_only=True)
class HipaaIdentifier:
    """One of the eighteen: its letter in the rule, words in column names, and a pattern of values."""

    letter: str
    label: str
    words: str = ""
    pattern: str = ""
    role: Role = Role.IDENTIFIER


HIPAA_IDENTIFIERS = (
    HipaaIdentifier(letter="E", label="fax numbers", words="fax faxnumber"),
    HipaaIdentifier(
        letter="F", label="email addresses", words="email mail", pattern=r"[^@\s]+@[^@\s]+\.[A-Za-z]{2,}"
    ),
    HipaaIdentifier(
        letter="D",
        label="telephone numbers",
        words="phone mobile telephone tel cellphone",
        pattern=r"(\+\d{1,3}[ .-]?)?(\(\d{2,4}\)[ .-]?|\d{2,4}[ .-])\d{3,4}[ .-]?\d{3,4}|\+\d{8,15}",
    ),
    HipaaIdentifier(
        letter="G", label="social security numbers", words="ssn nin tin nhs", pattern=r"\d{3}-\d{2}-\d{4}"
    ),
    HipaaIdentifier(letter="H", label="medical record numbers", words="mrn chart"),
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
        words="address addr street",
        pattern=r"(?i)\d{1,5}[a-z]?\s+\S.*\b(street|st|avenue|ave|road|rd|lane|ln|drive|dr|boulevard|blvd)\b.*",
    ),
    HipaaIdentifier(
        letter="B",
        label="places smaller than a state",
        words="""zip zipcode postcode postal plz city town village county district precinct place location
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
        words="name firstname lastname surname fullname forename givenname familyname maidenname nickname",
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
    likely = [each for each in HIPAA_IDENTIFIERS if shares.get(each.label, 0.0) >= MIN_MATCH_SHARE]
    return max(likely, key=lambda each: shares[each.label], default=None)
