"""Warnings about files without a policy: quasi-identifiers that can only be masked.

The bounds of a number are not declared, so without a hierarchy its characters are masked, 34 to 3*, which is
safe and seldom useful. A column of numbers that contains a word, or numbers that begin with 0, is read as
text.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from discreet.core.policy import ColumnType
from discreet.engines.inventory import Schema, compute_file_pattern_shares
from discreet.services.policy_draft.column_roles import is_code

AMOUNTS = (ColumnType.INTEGER, ColumnType.DECIMAL)
TIMES = (ColumnType.DATE, ColumnType.TIMESTAMP)
NUMBER = {"number": r"[-+]?\d+([.,]\d+)?"}
MOSTLY = 0.5
WAY_OUT = 'Give `hierarchy="{name}=FILE"`, or a policy with its bounds.'


def list_file_warnings(
    schema: Schema, quasi: Collection[str], hierarchies: Collection[str], centred: Collection[str] = ()
) -> tuple[str, ...]:
    """Return one warning, with a remedy, for each quasi-identifier that should have a hierarchy.

    Columns of `centred` show a number for each class, and need none.
    """
    plain = {name: kind for name, kind in schema.columns if name in quasi and name not in hierarchies}
    return tuple(
        f"{each} {WAY_OUT.format(name=name)}" for name, each in _find_warnings(schema, plain, centred)
    )


def _find_warnings(
    schema: Schema, plain: dict[str, ColumnType | None], centred: Collection[str]
) -> Iterator[tuple[str, str]]:
    texts = [name for name, kind in plain.items() if kind is ColumnType.TEXT and not is_code(name)]
    numbers = {
        name: found["number"] for name, found in compute_file_pattern_shares(schema, texts, NUMBER).items()
    }
    for name, kind in plain.items():
        if kind in AMOUNTS and (is_code(name) or name in centred):
            continue
        if kind in AMOUNTS:
            yield name, f"{name} is a number without bounds, so its digits are masked (34 becomes 3*)."
        elif kind in TIMES:
            yield name, f"{name} is a date without bounds, so its characters are masked."
        # a file that declares the column as text is believed
        elif numbers.get(name, 0) > MOSTLY and (schema.is_guessed or numbers[name] < 1):
            wrong = "values are not numbers" if numbers[name] < 1 else "numbers are written as 05"
            yield name, f"{name} is read as text, because some of its {wrong}."
