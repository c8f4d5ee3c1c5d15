"""What a release would show as it is, and whether somebody said that it may.

A column without a role was never looked at. One whose name says that it identifies people directly (a name,
an email address, free text), or most of whose values look so, is then refused. One whose name says that
others may know it (a date of birth, a place) is published with a warning, also where its role is other:
quasi-identifiers that are missing from the list are what linking starts from.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import numpy as np

from discreet.anonymity.hierarchies import Hierarchy
from discreet.anonymity.hierarchies.hierarchy import TOP
from discreet.anonymity.hierarchies.mask import MASK
from discreet.anonymity.models import AlphaKAnonymity, Model, ProbabilisticDiversity
from discreet.anonymity.recoding import Recoding
from discreet.app.drafting.identifiers import PATTERNS, by_content
from discreet.app.drafting.roles import likely_role
from discreet.core.engine import Publisher
from discreet.core.errors import DataError, RequestError
from discreet.core.policy import Kind, Role, Table
from discreet.engines.patterns import matching_in

TEXTS = (Kind.TEXT, Kind.CATEGORY)


def require_declared(name: str, table: Table, columns: Sequence[str]) -> None:
    """Refuse to publish what is called like an identifier unless the policy says that it is none."""
    for column in undeclared(table, columns):
        if likely_role(column) is Role.IDENTIFIER:
            raise RequestError(
                f"anonymize: {column} of {name} would be published as it is, and is called like something "
                "that identifies a person.",
                hint="Give it role: identifier to leave it out, or role: other if it tells of nobody.",
            )


def require_harmless(engine: Publisher, name: str, table: Table, columns: Sequence[str]) -> None:
    """Refuse to publish what looks like an identifier, unless the policy says that it is none."""
    texts = [each for each in undeclared(table, columns) if table.columns[each].type in TEXTS]
    if not texts:
        return
    for column, shares in matching_in(engine, name, texts, PATTERNS).items():
        found = by_content(shares)
        if found is not None and found.role is Role.IDENTIFIER:
            raise DataError(
                f"anonymize: {column} of {name} would be published as it is, and most of its values look "
                f"like {found.what}.",
                hint="Give it role: identifier to leave it out, or role: other if it tells of nobody.",
            )


def undeclared(table: Table, columns: Sequence[str]) -> list[str]:
    """The columns that nobody gave a role."""
    return [column for column in columns if "role" not in table.columns[column].model_fields_set]


ROWS_COUNTED = (
    "Rows were counted, and a person may have several: of a person, all of whose rows may be one class, "
    "nothing is bounded."
)
"""Follows each belief of a release that counts the rows of people who may have several."""


def about_people(model: Model) -> bool:
    """Whether it bounds what is believed of a person, however many values that person has."""
    return model.column is None or isinstance(model, ProbabilisticDiversity | AlphaKAnonymity)


def of_values(models: Iterable[Model], columns: Collection[str]) -> list[str]:
    """One sentence for each model that is about values where people have several of them."""
    return [
        f"People have several values of {model.column}, and {model.name} is about values: it bounds no "
        "belief about a person, as probabilistic diversity does."
        for model in models
        if model.column in columns and not about_people(model)
    ]


def warn_of_counted_rows(name: str) -> str:
    """One sentence for a table whose people have several rows, where rows were counted."""
    return (
        f"Rows of {name} were counted, and a person may have several: no model bounds what is believed of a "
        "person, all of whose rows may be one class. Leave out --unit row to count people."
    )


def of_lengths(hierarchies: Sequence[Hierarchy], recoding: Recoding) -> list[str]:
    """One sentence for each column of codes whose labels tell how long the longest one is."""
    shown = [np.unique(recoding.codes[recoding.kept, place]) for place in range(len(hierarchies))]
    return [
        f"Codes of {each.name} differ in length and the policy declares none, so masked labels are as long "
        "as the longest code, whoever has it: add length to its hierarchy."
        for place, each in enumerate(hierarchies)
        if not each.declared
        and len(set(map(len, each.values))) > 1
        and any(_is_masked(recoding.labels[place][code]) for code in shown[place].tolist())
    ]


def _is_masked(label: str) -> bool:
    """In part: of a label that says nothing no length can be read."""
    return MASK in label and label != TOP


def warnings(table: Table, columns: Sequence[str]) -> list[str]:
    """One sentence for each column that is shown as it is and may be known to others, one for the rest."""
    known = [
        f"{column} is published as it is, and its name says that others may know it of a person: consider "
        "role: quasi."
        for column in columns
        if table.columns[column].role is Role.OTHER and likely_role(column) is Role.QUASI
    ]
    others = [column for column in undeclared(table, columns) if likely_role(column) is not Role.QUASI]
    if not others:
        return known
    names, are = ", ".join(others), "is" if len(others) == 1 else "are"
    return [
        *known,
        f"{names} {are} published without change, as nobody said what is in there: give role: sensitive, "
        "quasi or identifier in a policy, or role: other where it tells of nobody.",
    ]
