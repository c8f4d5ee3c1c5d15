"""Exposure of columns that a release would show unchanged, and whether the policy allows it.

A column of a file that no option names is left out. A column without a role was never reviewed: it is
refused if its name suggests a direct identifier (a name, an email address, free text), if most of its values
look like one, or if hardly two rows have the same value. `keep=` with `force=` publishes it all the same, and
the certificate lists it. A column whose name suggests that others may know it (a date of birth, a place) is
published with a warning, even if its role is other, because linkage attacks use quasi-identifiers that were
not declared.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.anonymity.hierarchies import Hierarchy
from discreet.anonymity.hierarchies.generalization_hierarchy import TOP
from discreet.anonymity.hierarchies.label_parsing import parse_number
from discreet.anonymity.hierarchies.mask_hierarchy import MASK
from discreet.anonymity.models import Model
from discreet.anonymity.models.model_option import RequestedModel
from discreet.anonymity.recoding import Recoding
from discreet.anonymity.risk.quasi_identifier_discovery import (
    discover_quasi_identifiers,
    make_engine_counter,
)
from discreet.core.column_entry import ColumnType, Role
from discreet.core.engine import Publisher
from discreet.core.errors import DataError, RequestError
from discreet.core.table_entry import Table
from discreet.engines.inventory import compute_engine_pattern_shares
from discreet.services.policy_draft.column_roles import HIPAA_PATTERNS, guess_role, identify_by_content

TEXTS = (ColumnType.TEXT, ColumnType.CATEGORY)
NAMED = "its name suggests that it identifies people"
MOST_DISTINCTION = 0.5
"""Different values over rows: above it, a value belongs to fewer than two rows on average."""


REVIEW = (
    "Give it role: identifier to leave it out, or role: other if it identifies nobody. To publish it all the "
    'same, give `keep="{column}"` and `force=`.'
)


@dataclass(frozen=True, kw_only=True)
class ColumnExposure:
    """A column that would be published unchanged, and why it may identify people."""

    column: str
    reason: str


def require_reviewed_names(
    name: str, table: Table, columns: Sequence[str], allowed: Collection[str] = ()
) -> None:
    """Raise if a column is named like an identifier and has no role; those of `allowed` may be."""
    for column in list_undeclared(table, columns):
        if column not in allowed and guess_role(column) is Role.IDENTIFIER:
            raise RequestError(
                f"anonymize: {column} of {name} would be published unchanged, and {NAMED}.",
                hint=REVIEW.format(column=column),
            )


def require_reviewed_values(
    engine: Publisher, name: str, table: Table, columns: Sequence[str], allowed: Collection[str] = ()
) -> tuple[str, ...]:
    """Raise if a column's values may identify people and it has no role.

    Return those of `allowed` that may: they are published, and the certificate lists them.
    """
    found = list_exposures(engine, name, table, columns)
    refused = [each for each in found if each.column not in allowed]
    if refused:
        raise DataError(
            f"anonymize: {refused[0].column} of {name} would be published unchanged, and "
            f"{refused[0].reason}.",
            hint=REVIEW.format(column=refused[0].column),
        )
    return tuple(each.column for each in found)


def list_exposures(
    engine: Publisher, name: str, table: Table, columns: Sequence[str]
) -> list[ColumnExposure]:
    """Return the columns without a role whose name or values suggest that they identify people.

    Values do if most of them look like an identifier or like free text, or if hardly two rows have the same.
    """
    unreviewed = list_undeclared(table, columns)
    if not unreviewed:
        return []
    texts = [each for each in unreviewed if table.columns[each].type in TEXTS]
    shares = compute_engine_pattern_shares(engine, name, texts, HIPAA_PATTERNS) if texts else {}
    measured = discover_quasi_identifiers(unreviewed, make_engine_counter(engine, name), most=1)
    distinction = {each.columns[0]: each.distinction for each in measured}
    reasons = {
        column: _find_reason(column, shares.get(column, {}), distinction[column]) for column in unreviewed
    }
    return [ColumnExposure(column=column, reason=reason) for column, reason in reasons.items() if reason]


def _find_reason(column: str, shares: Mapping[str, float], distinction: float) -> str | None:
    if guess_role(column) is Role.IDENTIFIER:
        return NAMED
    found = identify_by_content(shares)
    if found is not None and found.role is Role.IDENTIFIER:
        return f"many of its values look like {found.label}"
    if distinction > MOST_DISTINCTION:
        return "hardly two rows have the same value of it, so it distinguishes people"
    return None


def list_undeclared(table: Table, columns: Sequence[str]) -> list[str]:
    """Return the columns without a declared role."""
    return [column for column in columns if "role" not in table.columns[column].model_fields_set]


ROWS_COUNTED = (
    "Rows were counted, and a person may have several: of a person, all of whose rows may be one class, "
    "nothing is bounded."
)
"""Follows each belief of a release that counts the rows of people who may have several."""


def bounds_person_belief(model: Model) -> bool:
    """Return whether the model bounds the belief about a person who has any number of values."""
    return model.column is None or (isinstance(model, RequestedModel) and model.bounds_person_belief)


def warn_of_value_models(models: Iterable[Model], columns: Collection[str]) -> list[str]:
    """Return one warning for each model that is about values where people have several of them."""
    return [
        f"People have several values of {model.column}, and {model.name} is about values: unlike "
        "probabilistic diversity, it bounds no belief about a person."
        for model in models
        if model.column in columns and not bounds_person_belief(model)
    ]


def warn_of_similar_values(models: Iterable[Model], values: Mapping[str, Sequence[str]]) -> list[str]:
    """Return one warning for each column that a model is about, some of whose values mean the same.

    They count as different values, so to whoever reads them as one a class is less diverse than it was judged
    to be. Which of them mean the same is the custodian's to decide: codes may differ only in case.
    """
    return [
        f"Some values of {name} differ only in case, blanks or the way that a letter or a number is written, "
        "and count as different: if they mean the same, write them in one way, or models promise too much."
        for name in dict.fromkeys(model.column for model in models)
        if name is not None and len({fold_text(each) for each in values[name]}) < len(values[name])
    ]


def fold_text(text: str) -> str:
    """Return one text for all that a reader takes for the same: of any case, with any blanks, as a number.

    >>> fold_text("Influenza  A") == fold_text("influenza a "), fold_text("07.50") == fold_text("7.5")
    (True, True)
    """
    known = "".join(
        each for each in unicodedata.normalize("NFKC", text) if unicodedata.category(each) != "Cf"
    )
    folded = " ".join(known.casefold().split())
    number = parse_number(folded)
    return folded if number is None else str(number.normalize())


def warn_of_counted_rows(name: str) -> str:
    """One sentence for a table whose people have several rows, where rows were counted."""
    return (
        f"Rows of {name} were counted, and a person may have several: no model bounds what is believed of a "
        "person, all of whose rows may be one class. Count people instead of rows to bound it."
    )


def warn_of_code_lengths(hierarchies: Sequence[Hierarchy], recoding: Recoding) -> list[str]:
    """Return one warning for each column of codes whose labels disclose the longest code's length."""
    shown = [np.unique(recoding.codes[recoding.published, place]) for place in range(len(hierarchies))]
    return [
        f"Codes of {each.name} differ in length and the policy declares none, so masked labels disclose the "
        "length of the longest code: add length to its hierarchy."
        for place, each in enumerate(hierarchies)
        if not each.is_declared
        and len(set(map(len, each.values))) > 1
        and any(_is_masked(recoding.labels[place][code]) for code in shown[place].tolist())
    ]


def _is_masked(label: str) -> bool:
    """Return whether a label is partly masked; a fully masked one discloses no length."""
    return MASK in label and label != TOP


def warn_of_columns(table: Table, columns: Sequence[str]) -> list[str]:
    """Return warnings about columns that are published unchanged and may be known, or have no role."""
    known = [
        f"{column} is published unchanged, and its name suggests that others may know it about a person: "
        "consider role: quasi."
        for column in columns
        if table.columns[column].role is Role.OTHER and guess_role(column) is Role.QUASI
    ]
    others = [column for column in list_undeclared(table, columns) if guess_role(column) is not Role.QUASI]
    if not others:
        return known
    names, are = ", ".join(others), "is" if len(others) == 1 else "are"
    return [
        *known,
        f"{names} {are} published unchanged without a declared role: give role: sensitive, quasi or "
        "identifier in a policy, or role: other if it identifies nobody.",
    ]
