"""The likely role of a column (identifier, quasi-identifier, sensitive), guessed from its name alone.

A proposal for a person to check. Identifiers are HIPAA's eighteen, by usual column names; its small places
and dates are quasi-identifiers here, because they are generalized rather than removed.
"""

from __future__ import annotations

import re

from discreet.core.policy import Role

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
