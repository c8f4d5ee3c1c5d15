"""What a column probably is to an attacker, judged by its name alone.

A proposal for a person to check. Identifiers are HIPAA's eighteen, as columns call them; the small places and
the dates among them are quasi-identifiers here, as they are generalized rather than left out.
"""

from __future__ import annotations

import re

from discreet.core.policy import Role

# Words that stand alone in a name; those of six letters and more also count inside of a longer word.
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
# These make an identifier only where nothing else is known of the column: disease_name is no name.
WEAK = "name id uuid guid key"
PEOPLE = """
    person patient user customer client member employee subject participant student respondent citizen people
    individual pupil worker donor voter
"""
NUMBERS_OF_PEOPLE = (["mrn"], ["ssn"], ["nhs"])
CODES = "sex gender race ethnicity ethnic nationality religion zip zipcode postcode plz marital married icd"
PLACES_OF_MEANING = "zip zipcode postcode postal plz icd"
NUMBERS = "id no nr num number"
SHORTEST_INSIDE = 6


def likely_role(name: str) -> Role:
    """
    >>> [likely_role(name).value for name in ("PatientID", "zip_code", "Diagnosis", "message")]
    ['identifier', 'quasi', 'sensitive', 'other']
    """
    for words, role in (
        (IDENTIFIERS, Role.IDENTIFIER),
        (SENSITIVE, Role.SENSITIVE),
        (QUASI, Role.QUASI),
        (WEAK, Role.IDENTIFIER),
    ):
        if speaks_of(name, words):
            return role
    return Role.IDENTIFIER if _is_people(name) else Role.OTHER


def is_id(name: str) -> bool:
    """Whether a column looks like a key."""
    keyed = _parts(name)[-1:] in (["id"], ["uuid"], ["guid"], *NUMBERS_OF_PEOPLE)
    return likely_role(name) is Role.IDENTIFIER and (keyed or _is_people(name))


def names_people(name: str) -> bool:
    """Whether a key speaks of people: patient_id, user, MRN."""
    spoken = speaks_of(name, PEOPLE) or _is_people(name) or _parts(name)[-1:] in NUMBERS_OF_PEOPLE
    return is_id(name) and spoken


def is_maskable(name: str) -> bool:
    """Whether values are codes that say less with every character that is left out."""
    return speaks_of(name, PLACES_OF_MEANING)


def is_code(name: str) -> bool:
    """Whether numbers in the column are names of groups rather than amounts."""
    return speaks_of(name, CODES)


def _is_people(name: str) -> bool:
    """patient, userid, Patient No: a word for people, alone or with a word for a number behind it."""
    joined = "".join(_parts(name))
    return any(joined.removesuffix(number) in PEOPLE.split() for number in NUMBERS.split())


def speaks_of(name: str, words: str) -> bool:
    """Whether one of the words is in a name."""
    parts = _parts(name)
    return any(
        word in parts or (len(word) >= SHORTEST_INSIDE and any(word in part for part in parts))
        for word in words.split()
    )


def _parts(name: str) -> list[str]:
    """The words of a name: date_of_birth, dateOfBirth, DATE-OF-BIRTH."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name)
    return re.findall(r"[a-z]+", spaced.lower())
