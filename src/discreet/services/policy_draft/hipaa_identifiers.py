"""HIPAA's eighteen identifiers (45 CFR 164.514(b)(2)), recognized by column names and value patterns.

A proposal for a person to check: names first, patterns second. The engine counts the share of the first rows
that match a pattern; no value leaves it. Person names have no pattern, since diseases would match it too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from discreet.core.policy import ColumnType, Role
from discreet.services.policy_draft.column_roles import contains_word, guess_role, is_key

MIN_MATCH_SHARE = 0.5


@dataclass(frozen=True, kw_only=True)
class HipaaIdentifier:
    """One of the eighteen: its letter in the rule, words in column names, and a pattern of values."""

    letter: str
    label: str
    words: str = ""
    pattern: str = ""
    role: Role = Role.IDENTIFIER


IDENTIFIERS = (
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
PATTERNS = {each.label: each.pattern for each in IDENTIFIERS if each.pattern}


def identify_by_name(name: str, kind: ColumnType) -> HipaaIdentifier | None:
    """Return the identifier that a column's name suggests, or its type if it is a date; None if neither."""
    role = guess_role(name)
    named = (each for each in IDENTIFIERS if each.role is role and contains_word(name, each.words))
    found = next(named, None)
    if found is None and role is Role.IDENTIFIER and is_key(name):
        return IDENTIFIERS[-1]
    if found is None and kind in (ColumnType.DATE, ColumnType.TIMESTAMP):
        return next(each for each in IDENTIFIERS if each.label == "dates")
    return found


def identify_by_content(shares: Mapping[str, float]) -> HipaaIdentifier | None:
    """Return the identifier whose pattern most values match, or None."""
    likely = [each for each in IDENTIFIERS if shares.get(each.label, 0.0) >= MIN_MATCH_SHARE]
    return max(likely, key=lambda each: shares[each.label], default=None)
