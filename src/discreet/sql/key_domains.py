"""Domains of group keys: all possible groups, derived from the policy and the query alone.

From columns  a key is computed on all combinations of the values of its columns. A stored column has the
              values that the policy declares, a total per person those between its bounds.
From the key  if a column has too many values or declares none, a key may still have few: a condition, a CASE
              of constants, a whole number between bounds, the months of a declared time span.
Neither       partition selection chooses the groups privately, or the query is refused.

A row whose key is outside the domain is not counted. NULL is a group if a key can be NULL although the data
satisfies the policy: declared nulls, no match in a LEFT JOIN, a division by zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from fractions import Fraction
from math import prod

from discreet.core.column_entry import Column as Declared
from discreet.core.column_entry import ColumnType
from discreet.core.policy import Policy
from discreet.core.sql_quoting import quote_identifier
from discreet.sql import expression_sql
from discreet.sql.aggregates import restore_person_total
from discreet.sql.aggregates.base import SupportsPersonTotals
from discreet.sql.expression_tree import Call, Column, Expression, Literal, Scalar, find_columns
from discreet.sql.expression_types import Family, Type
from discreet.sql.nullability import CHOSEN
from discreet.sql.query import Query
from discreet.sql.relational_algebra import Join, PersonTotals, Project, Rows, Scan

LARGEST = 1 << 20  # groups that are written out and returned at most
MOST_CONSTANTS = 1_000
# Shortest length of each unit, so that the size of a domain is never underestimated.
DAYS = {"hour": 1, "day": 1, "week": 7, "month": 28, "quarter": 90, "year": 365}


@dataclass(frozen=True, kw_only=True)
class Domain:
    """A finite set of values: their number, the SQL of a list of them, and whether NULL is included."""

    size: int
    values_sql: str
    includes_null: bool

    @property
    def list_sql(self) -> str:
        return f"list_append({self.values_sql}, NULL)" if self.includes_null else self.values_sql

    @property
    def count(self) -> int:
        return self.size + self.includes_null


TRUTH = Domain(size=2, values_sql="[FALSE, TRUE]", includes_null=False)


# -- Groups -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class GroupDomain:
    """All combinations of group keys: `sources` are column domains by name, `keys` are computed on them."""

    sources: Mapping[str, Domain]
    keys: tuple[tuple[str, Expression], ...]

    @property
    def size(self) -> int:
        return prod(each.count for each in self.sources.values())

    @property
    def statement(self) -> str:
        """SQL of every combination, each once."""
        lists = [
            f"(SELECT unnest({domain.list_sql}) AS {quote_identifier(name)}) AS d{place}"
            for place, (name, domain) in enumerate(self.sources.items())
        ]
        outputs = ", ".join(
            f"{expression_sql.compile_value(key)} AS {quote_identifier(name)}" for name, key in self.keys
        )
        source = f" FROM {' CROSS JOIN '.join(lists)}" if lists else ""
        return f"SELECT DISTINCT {outputs}{source}"


def find_key_sizes(domain: GroupDomain) -> dict[str, int]:
    """Return the number of values of each key, if every combination of these is a group; else nothing."""
    columns = [key.name for _, key in domain.keys if isinstance(key, Column)]
    if len(columns) < len(domain.keys) or sorted(columns) != sorted(domain.sources):
        return {}
    return {
        name: domain.sources[column].count for (name, _), column in zip(domain.keys, columns, strict=True)
    }


def derive_group_domain(question: Query, policy: Policy) -> GroupDomain | None:
    """Return the domain of the groups; None if the values of some key are not declared."""
    bases = _find_base_columns(question.rows, policy)
    keys = [(column.name, _expand_columns(key, question.rows)) for column, key in question.keys]
    found = _combine_key_domains(keys, bases, narrow=False)
    if found is None or found.size <= LARGEST:
        return found
    return _combine_key_domains(keys, bases, narrow=True)


def add_truth_key(
    domain: GroupDomain, column: Column, key: Expression, rows: Rows, policy: Policy
) -> GroupDomain:
    """Return the groups by whether a condition is true, too, whichever truth values it has."""
    own = _derive_key_domain(_expand_columns(key, rows), _find_base_columns(rows, policy))
    assert own is not None
    shown = (column.name, Column(name=column.name, type=key.type))
    return GroupDomain(sources={**domain.sources, column.name: own}, keys=(*domain.keys, shown))


def find_declared_column(column: Column, rows: Rows, policy: Policy) -> Declared | None:
    """Return the policy's declaration of the stored column behind a column, possibly renamed."""
    origin = _expand_columns(column, rows)
    base = _find_base_columns(rows, policy).get(origin.name) if isinstance(origin, Column) else None
    return None if base is None else base.declared


def find_base_names(expression: Expression, rows: Rows) -> set[str]:
    """Return the names of the columns that an expression reads in the end, behind those of subqueries."""
    return {column.name for column in find_columns(_expand_columns(expression, rows))}


@dataclass(frozen=True, kw_only=True)
class ColumnDomain:
    """The values of a column; `is_open` if rows may have none of them, but NULL, which is no group."""

    domain: Domain
    is_open: bool


def find_column_domain(column: Column, rows: Rows, policy: Policy) -> ColumnDomain | None:
    """Return the values of a column, possibly renamed, if the policy declares them; None else.

    A value that is none of them is NULL, also where the policy says that no value is missing.
    """
    origin = _expand_columns(column, rows)
    base = _find_base_columns(rows, policy).get(origin.name) if isinstance(origin, Column) else None
    if base is None or base.domain is None:
        return None
    return ColumnDomain(
        domain=base.domain, is_open=base.declared is not None and not base.domain.includes_null
    )


def _combine_key_domains(
    keys: list[tuple[str, Expression]], bases: Mapping[str, _BaseColumn], *, narrow: bool
) -> GroupDomain | None:
    """Derive domains from the columns of each key if possible; with `narrow`, from the key itself."""
    sources: dict[str, Domain] = {}
    shown: list[tuple[str, Expression]] = []
    for name, key in keys:
        mine = {column.name: bases[column.name].domain for column in find_columns(key)}
        known = {each: domain for each, domain in mine.items() if domain is not None}
        own = _derive_key_domain(key, bases)
        wide = len(known) < len(mine) or prod(each.count for each in known.values()) > LARGEST
        if own is not None and (wide or narrow):
            sources[name] = own
            shown.append((name, Column(name=name, type=key.type, is_scaled=key.type.is_exact)))
        elif len(known) < len(mine):
            return None
        else:
            sources.update(known)
            shown.append((name, key))
    return GroupDomain(sources=sources, keys=tuple(shown))


# -- Columns that keys are computed from --------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _BaseColumn:
    """A column not computed from others of its row: stored, a total per person, or optional in LEFT JOIN."""

    declared: Declared | None
    domain: Domain | None
    is_nullable: bool


def _find_base_columns(node: Rows, policy: Policy) -> dict[str, _BaseColumn]:
    if isinstance(node, Scan):
        entries = policy.tables[node.table].columns
        stored = zip(node.columns, node.stored, strict=True)
        return {column.name: _make_stored_column(entries.get(name)) for column, name in stored}
    if isinstance(node, PersonTotals):
        inside = _find_base_columns(node.source, policy)
        totals = {
            each.name: _make_total_column(each, restore_person_total(total), node.source, inside)
            for each, total in node.totals
        }
        return inside | totals
    if isinstance(node, Join):
        right = _find_base_columns(node.right, policy)
        if node.is_outer:
            right |= {
                each.name: _make_optional_column(each, node.right, right) for each in node.right.columns
            }
        return _find_base_columns(node.left, policy) | right
    return _find_base_columns(node.source, policy)


def _make_stored_column(declared: Declared | None) -> _BaseColumn:
    nulls = declared is None or bool(declared.nulls)
    domain = None if declared is None else _get_declared_domain(declared)
    return _BaseColumn(declared=declared, domain=domain, is_nullable=nulls)


def _make_total_column(
    column: Column, total: SupportsPersonTotals, node: Rows, bases: Mapping[str, _BaseColumn]
) -> _BaseColumn:
    """Return the base column of a total; MIN and MAX of a column have the values of that column."""
    nulls = not total.is_whole_count
    origin = None if total.argument is None else _expand_columns(total.argument, node)
    if total.keeps_values and isinstance(origin, Column):
        domain = bases[origin.name].domain
    else:
        domain = _get_type_domain(column.type)
    domain = None if domain is None else replace(domain, includes_null=nulls)
    return _BaseColumn(declared=None, domain=domain, is_nullable=nulls)


def _make_optional_column(column: Column, node: Rows, bases: Mapping[str, _BaseColumn]) -> _BaseColumn:
    """Return the base column of a column on the right of a LEFT JOIN, where it may be NULL."""
    inside = _expand_columns(column, node)
    if isinstance(inside, Column):
        base = bases[inside.name]
        declared, domain = base.declared, base.domain
    else:
        declared, domain = None, _derive_key_domain(inside, bases)
    domain = None if domain is None else replace(domain, includes_null=True)
    return _BaseColumn(declared=declared, domain=domain, is_nullable=True)


def _expand_columns(expression: Expression, node: Rows) -> Expression:
    """Replace the columns of subqueries by their definitions, down to base columns."""
    if isinstance(node, Scan):
        return expression
    if isinstance(node, PersonTotals):
        keys = {column.name: key for column, key in node.keys}
        return _expand_columns(_replace_columns(expression, keys), node.source)
    if isinstance(node, Join):
        inside = _expand_columns(expression, node.left)
        return inside if node.is_outer else _expand_columns(inside, node.right)
    if isinstance(node, Project):
        made = dict(zip((each.name for each in node.columns), node.expressions, strict=True))
        expression = _replace_columns(expression, made)
    return _expand_columns(expression, node.source)


def _replace_columns(expression: Expression, made: Mapping[str, Expression]) -> Expression:
    if isinstance(expression, Column):
        return made.get(expression.name, expression)
    if isinstance(expression, Literal):
        return expression
    arguments = tuple(_replace_columns(each, made) for each in expression.arguments)
    return replace(expression, arguments=arguments)


# -- Values -------------------------------------------------------------------------------------------------


def _get_declared_domain(declared: Declared) -> Domain | None:
    """Return all values of a declared column, as the prepared store holds them."""
    if declared.values is not None:
        texts = ", ".join(expression_sql.format_literal(value) for value in declared.values)
        values = f"CAST([{texts}] AS ENUM ({texts})[])"
        return Domain(size=len(declared.values), values_sql=values, includes_null=bool(declared.nulls))
    if declared.grid_bounds is not None:
        return replace(_make_integer_domain(*declared.grid_bounds), includes_null=bool(declared.nulls))
    if (
        declared.type is ColumnType.DATE
        and isinstance(declared.low, date)
        and isinstance(declared.high, date)
    ):
        return replace(
            _make_date_domain(declared.low, declared.high, "day", "DATE"), includes_null=bool(declared.nulls)
        )
    return replace(TRUTH, includes_null=bool(declared.nulls)) if declared.type is ColumnType.BOOLEAN else None


def _derive_key_domain(key: Expression, bases: Mapping[str, _BaseColumn]) -> Domain | None:
    """Return the values that a key can have, whatever its columns hold; None if not finite."""
    constants = _find_constants(key)
    if constants is not None:
        values = [each for each in constants if each is not None]
        texts = ", ".join(expression_sql.format_operand(each, key.type) for each in values)
        return (
            Domain(size=len(values), values_sql=f"[{texts}]", includes_null=None in constants)
            if values
            else None
        )
    found = _get_type_domain(key.type, unit=_get_date_unit(key))
    return None if found is None else replace(found, includes_null=_may_be_null(key, bases))


def _get_date_unit(key: Expression) -> str:
    """Return the date unit to which a key is truncated; empty if it may be any moment."""
    truncated = isinstance(key, Call) and key.function == "truncate"
    unit = key.options[0] if isinstance(key, Call) and truncated else ""
    return unit if key.type.family is Family.TIMESTAMP or unit not in ("", "hour") else "day"


def _find_constants(key: Expression) -> tuple[Scalar, ...] | None:
    """Return the constants among which a key chooses (a CASE of constants); None for other keys."""
    if isinstance(key, Literal):
        return (key.value,)
    if not isinstance(key, Call) or key.function not in (*CHOSEN, "coalesce", "negate"):
        return None
    parts = key.arguments
    if key.function in CHOSEN:
        parts = (*parts[CHOSEN[key.function] : -1 : 2], parts[-1])
    found = [_find_constants(each) for each in parts]
    if any(each is None for each in found):
        return None
    values = [value for each in found if each is not None for value in each]
    if key.function == "negate":
        values = [0 - value if value else value for value in values]  # type: ignore[operator]
    if key.function == "coalesce" and None not in (found[-1] or ()):
        values = [value for value in values if value is not None]
    different = tuple(dict.fromkeys(values))
    return different if len(different) <= MOST_CONSTANTS else None


def _get_type_domain(kind: Type, *, unit: str = "") -> Domain | None:
    """Return the values of a type: whole numbers, steps of exact numbers, dates; None if too many."""
    if kind.family is Family.BOOLEAN:
        return TRUTH
    if kind.family is Family.NUMBER and (kind.is_integral or (kind.is_exact and kind.is_bounded)):
        step = kind.step or 1
        found = _make_integer_domain(int(kind.low / step), int(kind.high / step))  # type: ignore[operator]
    elif unit and kind.first is not None and kind.last is not None:
        found = _make_date_domain(kind.first, kind.last, unit, kind.family.value.upper())
    else:
        return None
    return found if found.size <= LARGEST else None


def _make_integer_domain(low: int, high: int) -> Domain:
    return Domain(size=high - low + 1, values_sql=f"range({low}, {high + 1})", includes_null=False)


def _make_date_domain(first: date, last: date, unit: str, kind: str) -> Domain:
    """Return the starts of all units from `first` to `last`."""
    end = f"{expression_sql.format_literal(last)} + INTERVAL 1 SECOND"
    step = f"INTERVAL {3 if unit == 'quarter' else 1} {'MONTH' if unit == 'quarter' else unit.upper()}"
    values = (
        f"list_transform(range({expression_sql.format_literal(first)}, {end}, {step}), lambda "
        f"d: CAST(d AS {kind}))"
    )
    days = (date(last.year, last.month, last.day) - date(first.year, first.month, first.day)) + timedelta(1)
    size = days.days * 24 if unit == "hour" else days.days // DAYS[unit] + (unit != "day")
    return Domain(size=size, values_sql=values, includes_null=False)


def _may_be_null(key: Expression, bases: Mapping[str, _BaseColumn]) -> bool:
    """Return True if an expression can be NULL although its columns satisfy the policy."""
    if isinstance(key, Column):
        return bases[key.name].is_nullable if key.name in bases else True
    if isinstance(key, Literal):
        return key.value is None
    inner = [_may_be_null(each, bases) for each in key.arguments]
    if key.function in CHOSEN:
        return any((*inner[CHOSEN[key.function] : -1 : 2], inner[-1]))
    if key.function in ("is_null", "coalesce", "least", "greatest"):
        return key.function != "is_null" and all(inner)
    return any(inner) or _may_give_null(key)


def _may_exceed_digits(cast: Call) -> bool:
    """Return True if a number may have more digits than the DECIMAL that it is cast to."""
    if cast.options[0] != "decimal":
        return False
    digits, places, reach = *map(int, cast.options[1:]), cast.arguments[0].type.max_magnitude
    return reach is None or reach >= 10 ** (digits - places) - Fraction(1, 2 * 10**places)


def _may_give_null(call: Call) -> bool:
    """Return True if a function can be NULL although none of its arguments is."""
    if call.function in ("divide", "modulo"):
        divisor = call.arguments[1].type
        return divisor.low is None or divisor.high is None or divisor.low <= 0 <= divisor.high
    if call.function == "cast":
        return call.arguments[0].type.family is Family.TEXT or _may_exceed_digits(call)
    unbounded = call.type.family is Family.NUMBER and not call.type.is_bounded
    return unbounded or call.function in ("nullif", "substr")
