"""HIPAA's eighteen identifiers (45 CFR 164.514(b)(2)), recognized by column names and value patterns.

A proposal for a person to check: names first, patterns second. The engine counts the share of the first rows
that match a pattern; no value leaves it. Person names have no pattern, since diseases would match it too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from discreet.app.drafting.roles import is_id, likely_role, speaks_of
from discreet.core.policy import ColumnType, Role

ENOUGH = 0.5


@dataclass(frozen=True, kw_only=True)
class Identifier:
    """One of the eighteen: its letter in the rule, words in column names, and a pattern of values."""

    letter: str
    what: str
    words: str = ""
    pattern: str = ""
    role: Role = Role.IDENTIFIER


IDENTIFIERS = (
    Identifier(letter="E", what="fax numbers", words="fax faxnumber"),
    Identifier(
        letter="F", what="email addresses", words="email mail", pattern=r"[^@\s]+@[^@\s]+\.[A-Za-z]{2,}"
    ),
    Identifier(
        letter="D",
        what="telephone numbers",
        words="phone mobile telephone tel cellphone",
        pattern=r"(\+\d{1,3}[ .-]?)?(\(\d{2,4}\)[ .-]?|\d{2,4}[ .-])\d{3,4}[ .-]?\d{3,4}|\+\d{8,15}",
    ),
    Identifier(
        letter="G", what="social security numbers", words="ssn nin tin nhs", pattern=r"\d{3}-\d{2}-\d{4}"
    ),
    Identifier(letter="H", what="medical record numbers", words="mrn chart"),
    Identifier(letter="I", what="health plan numbers", words="beneficiary subscriber policy plan insurance"),
    Identifier(
        letter="J",
        what="account numbers",
        words="account acct iban bic card",
        pattern=r"[A-Z]{2}\d{2}( ?[A-Z0-9]{4}){3,7}( ?[A-Z0-9]{1,3})?|\d{4}([ -]?\d{4}){3}",
    ),
    Identifier(
        letter="L",
        what="vehicles",
        words="vin plate vehicle",
        pattern=r"[A-HJ-NPR-Z0-9][A-HJ-NPR-Z][A-HJ-NPR-Z0-9]{6}[0-9X][A-HJ-NPR-Z0-9]{4}[0-9]{4}",
    ),
    Identifier(letter="K", what="certificates and licences", words="licence license certificate passport"),
    Identifier(
        letter="M",
        what="devices and serial numbers",
        words="device imei serial mac",
        pattern=r"([0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}",
    ),
    Identifier(
        letter="N", what="web addresses", words="url website homepage", pattern=r"(https?://|www\.)\S+"
    ),
    Identifier(
        letter="O",
        what="IP addresses",
        words="ip",
        pattern=r"(\d{1,3}\.){3}\d{1,3}|([0-9A-Fa-f]{0,4}:){3,7}[0-9A-Fa-f]{0,4}",
    ),
    Identifier(letter="P", what="biometrics", words="fingerprint biometric voiceprint retina iris"),
    Identifier(letter="Q", what="photographs", words="photo image portrait picture"),
    Identifier(
        letter="B",
        what="addresses",
        words="address addr street",
        pattern=r"(?i)\d{1,5}[a-z]?\s+\S.*\b(street|st|avenue|ave|road|rd|lane|ln|drive|dr|boulevard|blvd)\b.*",
    ),
    Identifier(
        letter="B",
        what="places smaller than a state",
        words="""zip zipcode postcode postal plz city town village county district precinct place location
        latitude longitude lat lon lng""",
        pattern=r"\d{5}-\d{4}",
        role=Role.QUASI,
    ),
    Identifier(letter="C", what="ages above 89", words="age", role=Role.QUASI),
    Identifier(
        letter="C",
        what="dates",
        words="""birth birthday birthdate birthyear dob born admission admitted discharge discharged death
        died deathdate""",
        role=Role.QUASI,
    ),
    Identifier(
        letter="A",
        what="names",
        words="name firstname lastname surname fullname forename givenname familyname maidenname nickname",
    ),
    Identifier(
        letter="R",
        what="other unique codes",
        words="uuid guid username login cookie signature id key",
        pattern=r"[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}",
    ),
)
PATTERNS = {each.what: each.pattern for each in IDENTIFIERS if each.pattern}


def by_name(name: str, kind: ColumnType) -> Identifier | None:
    """Return the identifier that a column's name suggests, or its type if it is a date; None if neither."""
    role = likely_role(name)
    named = (each for each in IDENTIFIERS if each.role is role and speaks_of(name, each.words))
    found = next(named, None)
    if found is None and role is Role.IDENTIFIER and is_id(name):
        return IDENTIFIERS[-1]
    if found is None and kind in (ColumnType.DATE, ColumnType.TIMESTAMP):
        return next(each for each in IDENTIFIERS if each.what == "dates")
    return found


def by_content(shares: Mapping[str, float]) -> Identifier | None:
    """Return the identifier whose pattern most values match, or None."""
    likely = [each for each in IDENTIFIERS if shares.get(each.what, 0.0) >= ENOUGH]
    return max(likely, key=lambda each: shares[each.what], default=None)
