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

from discreet.core.policy import Column as Declared
from discreet.core.policy import Kind, Policy
from discreet.sql import emit
from discreet.sql.emit import quoted
from discreet.sql.expressions import Call, Column, Expression, Literal, Scalar, columns
from discreet.sql.nulls import CHOSEN
from discreet.sql.question import Question
from discreet.sql.tree import Join, PerPerson, Project, Rows, Scan
from discreet.sql.types import Family, Type

LARGEST = 1 << 20  # groups that are written out and returned at most
MOST_CONSTANTS = 1_000
# Shortest length of each unit, so that the size of a domain is never underestimated.
DAYS = {"hour": 1, "day": 1, "week": 7, "month": 28, "quarter": 90, "year": 365}


@dataclass(frozen=True, kw_only=True)
class Domain:
    """A finite set of values: their number, the SQL of a list of them, and whether NULL is included."""

    size: int
    values: str
    nulls: bool

    @property
    def text(self) -> str:
        return f"list_append({self.values}, NULL)" if self.nulls else self.values

    @property
    def count(self) -> int:
        return self.size + self.nulls


TRUTH = Domain(size=2, values="[FALSE, TRUE]", nulls=False)


# -- Groups -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Groups:
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
            f"(SELECT unnest({domain.text}) AS {quoted(name)}) AS d{place}"
            for place, (name, domain) in enumerate(self.sources.items())
        ]
        outputs = ", ".join(f"{emit.value(key)} AS {quoted(name)}" for name, key in self.keys)
        source = f" FROM {' CROSS JOIN '.join(lists)}" if lists else ""
        return f"SELECT DISTINCT {outputs}{source}"


def groups(question: Question, policy: Policy) -> Groups | None:
    """Return the domain of the groups; None if the values of some key are not declared."""
    bases = _bases(question.rows, policy)
    keys = [(column.name, _expanded(key, question.rows)) for column, key in question.keys]
    found = _groups(keys, bases, narrow=False)
    if found is None or found.size <= LARGEST:
        return found
    return _groups(keys, bases, narrow=True)


def declared_column(column: Column, rows: Rows, policy: Policy) -> Declared | None:
    """Return the policy's declaration of the stored column behind a column, possibly renamed."""
    origin = _expanded(column, rows)
    base = _bases(rows, policy).get(origin.name) if isinstance(origin, Column) else None
    return None if base is None else base.declared


def _groups(keys: list[tuple[str, Expression]], bases: Mapping[str, _Base], *, narrow: bool) -> Groups | None:
    """Derive domains from the columns of each key if possible; with `narrow`, from the key itself."""
    sources: dict[str, Domain] = {}
    shown: list[tuple[str, Expression]] = []
    for name, key in keys:
        mine = {column.name: bases[column.name].domain for column in columns(key)}
        known = {each: domain for each, domain in mine.items() if domain is not None}
        own = _own_domain(key, bases)
        wide = len(known) < len(mine) or prod(each.count for each in known.values()) > LARGEST
        if own is not None and (wide or narrow):
            sources[name] = own
            shown.append((name, Column(name=name, type=key.type, scaled=key.type.exact)))
        elif len(known) < len(mine):
            return None
        else:
            sources.update(known)
            shown.append((name, key))
    return Groups(sources=sources, keys=tuple(shown))


# -- Columns that keys are computed from --------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Base:
    """A column not computed from others of its row: stored, a total per person, or optional in LEFT JOIN."""

    declared: Declared | None
    domain: Domain | None
    nulls: bool


def _bases(node: Rows, policy: Policy) -> dict[str, _Base]:
    if isinstance(node, Scan):
        entries = policy.tables[node.table].columns
        stored = zip(node.columns, node.stored, strict=True)
        return {column.name: _stored(entries.get(name)) for column, name in stored}
    if isinstance(node, PerPerson):
        inside = _bases(node.source, policy)
        totals = {each.name: _total(each, *total[:2], node.source, inside) for each, total in node.totals}
        return inside | totals
    if isinstance(node, Join):
        right = _bases(node.right, policy)
        if node.outer:
            right |= {each.name: _absent(each, node.right, right) for each in node.right.columns}
        return _bases(node.left, policy) | right
    return _bases(node.source, policy)


def _stored(declared: Declared | None) -> _Base:
    nulls = declared is None or bool(declared.nulls)
    domain = None if declared is None else _declared(declared)
    return _Base(declared=declared, domain=domain, nulls=nulls)


def _total(
    column: Column, function: str, of: Expression | None, node: Rows, bases: Mapping[str, _Base]
) -> _Base:
    """Return the base column of a total; MIN and MAX of a column have the values of that column."""
    nulls = function not in ("count", "count_distinct")
    origin = None if of is None else _expanded(of, node)
    if function in ("min", "max") and isinstance(origin, Column):
        domain = bases[origin.name].domain
    else:
        domain = _typed(column.type)
    domain = None if domain is None else replace(domain, nulls=nulls)
    return _Base(declared=None, domain=domain, nulls=nulls)


def _absent(column: Column, node: Rows, bases: Mapping[str, _Base]) -> _Base:
    """Return the base column of a column on the right of a LEFT JOIN, where it may be NULL."""
    inside = _expanded(column, node)
    if isinstance(inside, Column):
        base = bases[inside.name]
        declared, domain = base.declared, base.domain
    else:
        declared, domain = None, _own_domain(inside, bases)
    domain = None if domain is None else replace(domain, nulls=True)
    return _Base(declared=declared, domain=domain, nulls=True)


def _expanded(expression: Expression, node: Rows) -> Expression:
    """Replace the columns of subqueries by their definitions, down to base columns."""
    if isinstance(node, Scan):
        return expression
    if isinstance(node, PerPerson):
        keys = {column.name: key for column, key in node.keys}
        return _expanded(_replaced(expression, keys), node.source)
    if isinstance(node, Join):
        inside = _expanded(expression, node.left)
        return inside if node.outer else _expanded(inside, node.right)
    if isinstance(node, Project):
        made = dict(zip((each.name for each in node.columns), node.expressions, strict=True))
        expression = _replaced(expression, made)
    return _expanded(expression, node.source)


def _replaced(expression: Expression, made: Mapping[str, Expression]) -> Expression:
    if isinstance(expression, Column):
        return made.get(expression.name, expression)
    if isinstance(expression, Literal):
        return expression
    arguments = tuple(_replaced(each, made) for each in expression.arguments)
    return replace(expression, arguments=arguments)


# -- Values -------------------------------------------------------------------------------------------------


def _declared(declared: Declared) -> Domain | None:
    """Return all values of a declared column, as the prepared store holds them."""
    if declared.values is not None:
        texts = ", ".join(emit.literal(value) for value in declared.values)
        values = f"CAST([{texts}] AS ENUM ({texts})[])"
        return Domain(size=len(declared.values), values=values, nulls=bool(declared.nulls))
    if declared.grid is not None:
        return replace(_range(*declared.grid), nulls=bool(declared.nulls))
    if declared.type is Kind.DATE and isinstance(declared.low, date) and isinstance(declared.high, date):
        return replace(_moments(declared.low, declared.high, "day", "DATE"), nulls=bool(declared.nulls))
    return replace(TRUTH, nulls=bool(declared.nulls)) if declared.type is Kind.BOOLEAN else None


def _own_domain(key: Expression, bases: Mapping[str, _Base]) -> Domain | None:
    """Return the values that a key can have, whatever its columns hold; None if not finite."""
    constants = _constants(key)
    if constants is not None:
        values = [each for each in constants if each is not None]
        texts = ", ".join(emit.held(each, key.type) for each in values)
        return Domain(size=len(values), values=f"[{texts}]", nulls=None in constants) if values else None
    found = _typed(key.type, unit=_unit(key))
    return None if found is None else replace(found, nulls=_may_be_null(key, bases))


def _unit(key: Expression) -> str:
    """Return the date unit to which a key is truncated; empty if it may be any moment."""
    truncated = isinstance(key, Call) and key.function == "truncate"
    unit = key.options[0] if isinstance(key, Call) and truncated else ""
    return unit if key.type.family is Family.TIMESTAMP or unit not in ("", "hour") else "day"


def _constants(key: Expression) -> tuple[Scalar, ...] | None:
    """Return the constants among which a key chooses (a CASE of constants); None for other keys."""
    if isinstance(key, Literal):
        return (key.value,)
    if not isinstance(key, Call) or key.function not in (*CHOSEN, "coalesce", "negate"):
        return None
    parts = key.arguments
    if key.function in CHOSEN:
        parts = (*parts[CHOSEN[key.function] : -1 : 2], parts[-1])
    found = [_constants(each) for each in parts]
    if any(each is None for each in found):
        return None
    values = [value for each in found if each is not None for value in each]
    if key.function == "negate":
        values = [0 - value if value else value for value in values]  # type: ignore[operator]
    if key.function == "coalesce" and None not in (found[-1] or ()):
        values = [value for value in values if value is not None]
    different = tuple(dict.fromkeys(values))
    return different if len(different) <= MOST_CONSTANTS else None


def _typed(kind: Type, *, unit: str = "") -> Domain | None:
    """Return the values of a type: whole numbers, steps of exact numbers, dates; None if too many."""
    if kind.family is Family.BOOLEAN:
        return TRUTH
    if kind.family is Family.NUMBER and (kind.integral or (kind.exact and kind.bounded)):
        step = kind.step or 1
        found = _range(int(kind.low / step), int(kind.high / step))  # type: ignore[operator]
    elif unit and kind.first is not None and kind.last is not None:
        found = _moments(kind.first, kind.last, unit, kind.family.value.upper())
    else:
        return None
    return found if found.size <= LARGEST else None


def _range(low: int, high: int) -> Domain:
    return Domain(size=high - low + 1, values=f"range({low}, {high + 1})", nulls=False)


def _moments(first: date, last: date, unit: str, kind: str) -> Domain:
    """Return the starts of all units from `first` to `last`."""
    end = f"{emit.literal(last)} + INTERVAL 1 SECOND"
    step = f"INTERVAL {3 if unit == 'quarter' else 1} {'MONTH' if unit == 'quarter' else unit.upper()}"
    values = f"list_transform(range({emit.literal(first)}, {end}, {step}), lambda d: CAST(d AS {kind}))"
    days = (date(last.year, last.month, last.day) - date(first.year, first.month, first.day)) + timedelta(1)
    size = days.days * 24 if unit == "hour" else days.days // DAYS[unit] + (unit != "day")
    return Domain(size=size, values=values, nulls=False)


def _may_be_null(key: Expression, bases: Mapping[str, _Base]) -> bool:
    """Return True if an expression can be NULL although its columns satisfy the policy."""
    if isinstance(key, Column):
        return bases[key.name].nulls if key.name in bases else True
    if isinstance(key, Literal):
        return key.value is None
    inner = [_may_be_null(each, bases) for each in key.arguments]
    if key.function in CHOSEN:
        return any((*inner[CHOSEN[key.function] : -1 : 2], inner[-1]))
    if key.function in ("is_null", "coalesce", "least", "greatest"):
        return key.function != "is_null" and all(inner)
    return any(inner) or _may_give_null(key)


def _may_be_too_long(cast: Call) -> bool:
    """Return True if a number may have more digits than the DECIMAL that it is cast to."""
    if cast.options[0] != "decimal":
        return False
    digits, places, reach = *map(int, cast.options[1:]), cast.arguments[0].type.reach
    return reach is None or reach >= 10 ** (digits - places) - Fraction(1, 2 * 10**places)


def _may_give_null(call: Call) -> bool:
    """Return True if a function can be NULL although none of its arguments is."""
    if call.function in ("divide", "modulo"):
        divisor = call.arguments[1].type
        return divisor.low is None or divisor.high is None or divisor.low <= 0 <= divisor.high
    if call.function == "cast":
        return call.arguments[0].type.family is Family.TEXT or _may_be_too_long(call)
    unbounded = call.type.family is Family.NUMBER and not call.type.bounded
    return unbounded or call.function in ("nullif", "substr")
