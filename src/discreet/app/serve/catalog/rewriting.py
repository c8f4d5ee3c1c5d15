"""Rewriting of catalog queries from PostgreSQL's SQL to the built-in catalog's DuckDB SQL.

A catalog query reads only tables of the catalog and calls only functions of `catalog_functions`: everything
else is refused before anything is run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from itertools import islice

import sqlglot
from sqlglot import exp

from discreet.app.serve.catalog.functions import NAMES, PLAIN, PRIVILEGES
from discreet.app.serve.catalog.naming import is_catalog, output_name, place
from discreet.app.serve.catalog.voids import emptied
from discreet.app.wire.faults import WireError
from discreet.sql.expression_tree import Scalar
from discreet.sql.query_parameters import fill_parameters
from discreet.sql.query_parser import is_nested_deeper

WORDS = re.compile(r"\b(?:pg_\w+|information_schema)\b", re.IGNORECASE)
ARRAYS = re.compile(r"::\s*(?:pg_catalog\.)?(?:oid|int2|int4|regclass)\s*\[\s*\]", re.IGNORECASE)
DEEPEST = 100
LONGEST = 20_000
MOST_NODES = 10_000
LONGEST_SERIES = 100
KINDS = {
    **dict.fromkeys(("name", "char", "sql_identifier", "character_data", "yes_or_no"), "TEXT"),
    **dict.fromkeys(("regtype", "regproc", "regrole"), "TEXT"),
    **dict.fromkeys(("oid", "xid", "cardinal_number"), "BIGINT"),
}
SERIES = exp.ExplodingGenerateSeries
READS = (exp.Select, exp.SetOperation, exp.Values)
WRITES = (exp.DML, exp.DDL, exp.Command, exp.Into, exp.Lock)
ROLES = ("pg_roles", "pg_user", "pg_authid")
ROLE = {
    "oid": 10,
    "rolsuper": False,
    "rolinherit": True,
    "rolcreaterole": False,
    "rolcreatedb": False,
    "rolcanlogin": True,
    "rolreplication": False,
    "rolconnlimit": -1,
    "rolvaliduntil": None,
    "rolbypassrls": False,
    "rolconfig": None,
}
Setting = Callable[[str], str | None]


def parsed(sql: str) -> exp.Expr | None:
    """Return the parsed statement; None if the text is not one readable statement of limited size."""
    if len(sql) > LONGEST:
        return None
    try:
        found = sqlglot.parse(ARRAYS.sub("::bigint[]", sql), read="postgres")
    except Exception:  # the parser raises more than its own errors
        return None
    if len(found) != 1 or found[0] is None or is_nested_deeper(found[0], DEEPEST):
        return None
    return found[0] if sum(1 for _ in islice(found[0].walk(), MOST_NODES)) < MOST_NODES else None


def is_about_schema(sql: str) -> bool:
    """Return True if a statement reads only the catalog, or no table at all."""
    if re.search(r"\bfrom\b", sql, re.IGNORECASE) and not WORDS.search(sql):
        return False
    statement = parsed(sql)
    if statement is None:
        return WORDS.search(sql) is not None
    if not isinstance(statement, READS):
        return False
    common = {each.alias for each in statement.find_all(exp.CTE)}
    return all(
        is_catalog(table) or table.name in common or isinstance(table.this, SERIES)
        for table in statement.find_all(exp.Table)
    )


@dataclass(frozen=True, kw_only=True)
class Rewriting:
    """Rewriter of catalog queries, for one user and the tables of the built-in catalog."""

    known: Set[str]
    user: str
    setting: Setting

    def text(self, sql: str, values: Sequence[Scalar | float]) -> str:
        """Return the query as SQL of the built-in catalog."""
        statement = parsed(sql)
        if not isinstance(statement, READS):
            raise WireError("42601", "The catalog query cannot be parsed.")
        if any(isinstance(node, WRITES) for node in statement.walk()):
            raise WireError("42501", "The catalog is read-only.")
        _name_outputs(statement)
        statement = fill_parameters(statement, values).transform(lambda node: emptied(node, self.known))
        for node in reversed(list(statement.walk(bfs=True))):
            new = self._rewritten(node)
            if node is statement:
                statement = new
            elif new is not node:
                node.replace(new)
        return statement.sql("duckdb")

    def _rewritten(self, node: exp.Expr) -> exp.Expr:
        for kind, rewrite in REWRITES:
            if isinstance(node, kind):
                return rewrite(self, node)
        return node

    def source(self, table: exp.Expr) -> exp.Expr:
        """Return a table of the built-in catalog; tables of roles list only the current user."""
        assert isinstance(table, exp.Table)
        if isinstance(table.this, exp.Unnest):
            return exp.Unnest(expressions=table.this.expressions, alias=table.args.get("alias"))
        if isinstance(table.this, exp.Func):
            table.set("db", None)
            return table
        if not is_catalog(table):
            return table
        if place(table) not in self.known:
            raise WireError("42P01", "There is no such table in the catalog.")
        if table.name in ROLES:
            row = {**ROLE, "rolname": self.user, "usename": self.user}
            role = exp.select(*(exp.alias_(exp.convert(value), name) for name, value in row.items()))
            return role.subquery(table.alias_or_name)
        found = exp.table_(exp.to_identifier(place(table), quoted=True), db="main")
        named = exp.alias_(found, table.alias_or_name, table=True)
        named.set("joins", table.args.get("joins"))  # joins within the same parentheses
        return named

    def column(self, node: exp.Expr) -> exp.Expr:
        node.set("db", None)
        own = node.name in ("user", "session_user", "current_role") and not node.args.get("table")
        return exp.Literal.string(self.user) if own else node

    def called(self, node: exp.Expr) -> exp.Expr:
        """Return the call of an allowed function, under its name in DuckDB."""
        assert isinstance(node, exp.Func)
        own = isinstance(node, exp.Anonymous)
        name = (node.name if own else node.sql_name()).lower()
        given = node.expressions if own else [x for x in node.args.values() if isinstance(x, exp.Expr)]
        if isinstance(node, exp.CurrentUser | exp.SessionUser):
            return exp.Literal.string(self.user)
        if name == "current_setting" and given:
            return exp.convert(self.setting(given[0].name))
        if name in NAMES or name in PRIVILEGES:
            return self.call_macro(name, given)
        if name == "generate_subscripts" and given:
            return exp.func("unnest", exp.func("places", given[0]))
        if isinstance(node, SERIES):
            return exp.Unnest(expressions=[_places(node.args["start"], node.args["end"])])
        if name not in PLAIN and name not in NAMES.values():
            raise WireError("42883", "The catalog has no function of that name.")
        return node

    def call_macro(self, name: str, given: list[exp.Expr]) -> exp.Expr:
        """Return the call of the macro of a PostgreSQL function; privilege functions may omit the user."""
        if len(given) not in PRIVILEGES.get(name, (len(given),)):
            raise WireError("42883", "The catalog has no function of that name and number of arguments.")
        if name == "pg_has_role":
            return exp.Anonymous(this="is_member", expressions=[given[-2], exp.Literal.string(self.user)])
        return exp.Anonymous(this=NAMES.get(name, "has_privilege"), expressions=given)

    def dotted(self, node: exp.Expr) -> exp.Expr:
        """Return `pg_catalog.name` of a function or type without its schema."""
        return node.expression if node.this.name == "pg_catalog" else node

    def operation(self, node: exp.Expr) -> exp.Expr:
        symbol = str(node.args["operator"]).removeprefix("pg_catalog.")
        if symbol not in OPERATORS:
            raise WireError("42883", "The catalog has no operator of that name.")
        kind, negated = OPERATORS[symbol]
        found = kind(this=node.this, expression=node.expression)
        return exp.Not(this=found) if negated else found

    def quotient(self, node: exp.Expr) -> exp.Expr:
        """Return a division or remainder that fails for 0, as in PostgreSQL; whole numbers stay whole."""
        left, right = node.this.unnest(), node.expression.unnest()
        if isinstance(right, exp.Literal) and right.is_number and float(right.this) == 0:
            raise WireError("22012", "Division by zero.")
        whole = isinstance(node, exp.Div) and left.is_int and right.is_int
        kind = exp.IntDiv if whole else type(node)
        return kind(this=node.this, expression=exp.Anonymous(this="divisor", expressions=[node.expression]))

    def cast(self, node: exp.Expr) -> exp.Expr:
        """Return PostgreSQL's casts between OIDs and names as calls of macros."""
        assert isinstance(node, exp.Cast)
        name = _type_name(node.to)
        if name == "regclass":
            number = "relation_named" if isinstance(node.this, exp.Literal) else "name_of_relation"
            return exp.Anonymous(this=number, expressions=[node.this])
        if name == "regnamespace":
            return exp.Anonymous(this="name_of_schema", expressions=[node.this])
        if name == "regtype" and not isinstance(node.this, exp.Literal):
            return exp.Anonymous(this="format_type", expressions=[node.this, exp.Null()])
        if name in KINDS:
            return exp.cast(node.this, KINDS[name])
        return exp.cast(node.this, name) if node.to.args.get("kind") is not None else node


OPERATORS: dict[str, tuple[type[exp.Binary] | type[exp.Func], bool]] = {
    "~": (exp.RegexpLike, False),
    "!~": (exp.RegexpLike, True),
    "~*": (exp.RegexpILike, False),
    "!~*": (exp.RegexpILike, True),
    "=": (exp.EQ, False),
    "<>": (exp.NEQ, False),
}
REWRITES: tuple[tuple[type[exp.Expr], Callable[[Rewriting, exp.Expr], exp.Expr]], ...] = (
    (exp.Table, Rewriting.source),
    (exp.Column, Rewriting.column),
    (exp.Dot, Rewriting.dotted),
    (exp.Collate, lambda _, node: node.this),
    (exp.Operator, Rewriting.operation),
    (exp.Div, Rewriting.quotient),
    (exp.Mod, Rewriting.quotient),
    (exp.Cast, Rewriting.cast),
    (exp.Func, Rewriting.called),
)


def _places(first: exp.Expr, last: exp.Expr) -> exp.Expr:
    """Return the numbers from 1 to a small literal or to the length of an array; refuse other series."""
    from_one = first == exp.Literal.number(1) or first.name == "array_lower"
    if from_one and isinstance(last, exp.Literal) and last.name in map(str, range(1, LONGEST_SERIES)):
        return exp.func("range", exp.Literal.number(1), exp.Literal.number(int(last.name) + 1))
    if from_one and isinstance(last, exp.Anonymous) and last.name == "array_upper" and last.expressions:
        return exp.func("places", last.expressions[0])
    raise WireError("42883", "Series run from 1 to a small number or to an array's length.")


def _type_name(kind: exp.Expr) -> str:
    """Return the name of a type without its schema."""
    named = kind.args.get("kind") or kind.this
    return (named if isinstance(named, str) else named.name).lower().strip('"')


def _name_outputs(statement: exp.Expr) -> None:
    """Give output columns PostgreSQL's names."""
    select = statement
    while isinstance(select, exp.SetOperation):
        select = select.this
    if isinstance(select, exp.Select):
        outputs = [
            each
            if isinstance(each, exp.Alias) or each.is_star
            else exp.alias_(each, output_name(each), quoted=True)
            for each in select.expressions
        ]
        select.set("expressions", outputs)
