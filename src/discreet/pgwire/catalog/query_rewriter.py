"""Rewriting of catalog queries from PostgreSQL's SQL to the built-in catalog's DuckDB SQL.

Allowed     A catalog query reads only tables of the catalog and calls only functions of `catalog_functions`:
            everything else is refused before anything is run.
Empty       Most tables of PostgreSQL's catalog are always empty here. A SELECT from one has no rows, whatever
            its other clauses, and in a LEFT JOIN its columns are NULL. So these clauses need no support, and
            most client queries about triggers, policies or partitions are answered by this alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from itertools import islice

import sqlglot
from sqlglot import exp

from discreet.pgwire.catalog.catalog_functions import (
    MACROS_BY_FUNCTION,
    PRIVILEGE_FUNCTIONS,
    STANDARD_FUNCTIONS,
)
from discreet.pgwire.catalog.catalog_tables import EMPTY_TABLES
from discreet.pgwire.wire_errors import WireError
from discreet.sql.expression_tree import Scalar
from discreet.sql.query_parameters import fill_parameters
from discreet.sql.query_parser import is_nested_deeper

CATALOG_WORDS = re.compile(r"\b(?:pg_\w+|information_schema)\b", re.IGNORECASE)
ARRAY_CASTS = re.compile(r"::\s*(?:pg_catalog\.)?(?:oid|int2|int4|regclass)\s*\[\s*\]", re.IGNORECASE)
MAX_DEPTH = 100
MAX_LENGTH = 20_000
MAX_NODES = 10_000
MAX_SERIES = 100
DUCKDB_TYPES = {
    **dict.fromkeys(("name", "char", "sql_identifier", "character_data", "yes_or_no"), "TEXT"),
    **dict.fromkeys(("regtype", "regproc", "regrole"), "TEXT"),
    **dict.fromkeys(("oid", "xid", "cardinal_number"), "BIGINT"),
}
SERIES_NODE = exp.ExplodingGenerateSeries
READ_STATEMENTS = (exp.Select, exp.SetOperation, exp.Values)
WRITE_NODES = (exp.DML, exp.DDL, exp.Command, exp.Into, exp.Lock)
CATALOG_SCHEMAS = ("pg_catalog", "information_schema")
ROLE_TABLES = ("pg_roles", "pg_user", "pg_authid")
ROLE_ROW = {
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
GetSetting = Callable[[str], str | None]


def parse_catalog_query(sql: str) -> exp.Expr | None:
    """Return the parsed statement; None if the text is not one readable statement of limited size."""
    if len(sql) > MAX_LENGTH:
        return None
    try:
        found = sqlglot.parse(ARRAY_CASTS.sub("::bigint[]", sql), read="postgres")
    except Exception:  # the parser raises more than its own errors
        return None
    if len(found) != 1 or found[0] is None or is_nested_deeper(found[0], MAX_DEPTH):
        return None
    return found[0] if sum(1 for _ in islice(found[0].walk(), MAX_NODES)) < MAX_NODES else None


def is_catalog_query(sql: str) -> bool:
    """Return True if a statement reads only the catalog, or no table at all."""
    # decides nearly all questions without parsing them
    if re.search(r"\bfrom\b", sql, re.IGNORECASE) and not CATALOG_WORDS.search(sql):
        return False
    statement = parse_catalog_query(sql)
    if statement is None:
        return CATALOG_WORDS.search(sql) is not None
    if not isinstance(statement, READ_STATEMENTS):
        return False
    common = {each.alias for each in statement.find_all(exp.CTE)}
    return all(
        is_catalog_table(table) or table.name in common or isinstance(table.this, SERIES_NODE)
        for table in statement.find_all(exp.Table)
    )


@dataclass(frozen=True, kw_only=True)
class QueryRewriter:
    """Rewriter of catalog queries, for one user and the tables of the built-in catalog."""

    table_names: Set[str]
    user: str
    get_setting: GetSetting

    def rewrite(self, sql: str, values: Sequence[Scalar | float]) -> str:
        """Return the query as SQL of the built-in catalog."""
        statement = parse_catalog_query(sql)
        if not isinstance(statement, READ_STATEMENTS):
            raise WireError("42601", "The catalog query cannot be parsed.")
        if any(isinstance(node, WRITE_NODES) for node in statement.walk()):
            raise WireError("42501", "The catalog is read-only.")
        _alias_outputs(statement)
        statement = fill_parameters(statement, values).transform(
            lambda node: eliminate_empty_tables(node, self.table_names)
        )
        # children before their parents, so that what a rewrite puts in is not rewritten again
        for node in reversed(list(statement.walk(bfs=True))):
            new = self._rewrite_node(node)
            if node is statement:
                statement = new
            elif new is not node:
                node.replace(new)
        return statement.sql("duckdb")

    def _rewrite_node(self, node: exp.Expr) -> exp.Expr:
        for kind, rewrite in REWRITES:
            if isinstance(node, kind):
                return rewrite(self, node)
        return node

    def rewrite_table(self, table: exp.Expr) -> exp.Expr:
        """Return a table of the built-in catalog; tables of roles list only the current user."""
        assert isinstance(table, exp.Table)
        if isinstance(table.this, exp.Unnest):
            return exp.Unnest(expressions=table.this.expressions, alias=table.args.get("alias"))
        if isinstance(table.this, exp.Func):
            table.set("db", None)
            return table
        if not is_catalog_table(table):
            return table
        if find_builtin_name(table) not in self.table_names:
            raise WireError("42P01", "There is no such table in the catalog.")
        if table.name in ROLE_TABLES:
            row = {**ROLE_ROW, "rolname": self.user, "usename": self.user}
            role = exp.select(*(exp.alias_(exp.convert(value), name) for name, value in row.items()))
            return role.subquery(table.alias_or_name)
        found = exp.table_(exp.to_identifier(find_builtin_name(table), quoted=True), db="main")
        named = exp.alias_(found, table.alias_or_name, table=True)
        named.set("joins", table.args.get("joins"))  # joins within the same parentheses
        return named

    def rewrite_column(self, node: exp.Expr) -> exp.Expr:
        node.set("db", None)
        # PostgreSQL has these as keywords; the parser takes them for columns
        own = node.name in ("user", "session_user", "current_role") and not node.args.get("table")
        return exp.Literal.string(self.user) if own else node

    def rewrite_call(self, node: exp.Expr) -> exp.Expr:
        """Return the call of an allowed function, under its name in DuckDB."""
        assert isinstance(node, exp.Func)
        own = isinstance(node, exp.Anonymous)
        name = (node.name if own else node.sql_name()).lower()
        given = node.expressions if own else [x for x in node.args.values() if isinstance(x, exp.Expr)]
        if isinstance(node, exp.CurrentUser | exp.SessionUser):
            return exp.Literal.string(self.user)
        if name == "current_setting" and given:
            return exp.convert(self.get_setting(given[0].name))
        if name in MACROS_BY_FUNCTION or name in PRIVILEGE_FUNCTIONS:
            return self.call_macro(name, given)
        if name == "generate_subscripts" and given:
            return exp.func("unnest", exp.func("places", given[0]))
        if isinstance(node, SERIES_NODE):
            return exp.Unnest(expressions=[_rewrite_series(node.args["start"], node.args["end"])])
        if name not in STANDARD_FUNCTIONS and name not in MACROS_BY_FUNCTION.values():
            raise WireError("42883", "The catalog has no function of that name.")
        return node

    def call_macro(self, name: str, arguments: list[exp.Expr]) -> exp.Expr:
        """Return the call of the macro of a PostgreSQL function; privilege functions may omit the user."""
        if len(arguments) not in PRIVILEGE_FUNCTIONS.get(name, (len(arguments),)):
            raise WireError("42883", "The catalog has no function of that name and number of arguments.")
        if name == "pg_has_role":
            return exp.Anonymous(this="is_member", expressions=[arguments[-2], exp.Literal.string(self.user)])
        return exp.Anonymous(this=MACROS_BY_FUNCTION.get(name, "has_privilege"), expressions=arguments)

    def rewrite_dot(self, node: exp.Expr) -> exp.Expr:
        """Return `pg_catalog.name` of a function or type without its schema."""
        return node.expression if node.this.name == "pg_catalog" else node

    def rewrite_operator(self, node: exp.Expr) -> exp.Expr:
        symbol = str(node.args["operator"]).removeprefix("pg_catalog.")
        if symbol not in OPERATORS:
            raise WireError("42883", "The catalog has no operator of that name.")
        kind, negated = OPERATORS[symbol]
        found = kind(this=node.this, expression=node.expression)
        return exp.Not(this=found) if negated else found

    def rewrite_division(self, node: exp.Expr) -> exp.Expr:
        """Return a division or remainder that fails for 0, as in PostgreSQL; whole numbers stay whole."""
        left, right = node.this.unnest(), node.expression.unnest()
        if isinstance(right, exp.Literal) and right.is_number and float(right.this) == 0:
            raise WireError("22012", "Division by zero.")
        whole = isinstance(node, exp.Div) and left.is_int and right.is_int
        kind = exp.IntDiv if whole else type(node)
        return kind(this=node.this, expression=exp.Anonymous(this="divisor", expressions=[node.expression]))

    def rewrite_cast(self, node: exp.Expr) -> exp.Expr:
        """Return PostgreSQL's casts between OIDs and names as calls of macros."""
        assert isinstance(node, exp.Cast)
        name = _get_type_name(node.to)
        if name == "regclass":
            number = "relation_named" if isinstance(node.this, exp.Literal) else "name_of_relation"
            return exp.Anonymous(this=number, expressions=[node.this])
        if name == "regnamespace":
            return exp.Anonymous(this="name_of_schema", expressions=[node.this])
        if name == "regtype" and not isinstance(node.this, exp.Literal):
            return exp.Anonymous(this="format_type", expressions=[node.this, exp.Null()])
        if name in DUCKDB_TYPES:
            return exp.cast(node.this, DUCKDB_TYPES[name])
        return exp.cast(node.this, name) if node.to.args.get("kind") is not None else node


OPERATORS: dict[str, tuple[type[exp.Binary] | type[exp.Func], bool]] = {
    "~": (exp.RegexpLike, False),
    "!~": (exp.RegexpLike, True),
    "~*": (exp.RegexpILike, False),
    "!~*": (exp.RegexpILike, True),
    "=": (exp.EQ, False),
    "<>": (exp.NEQ, False),
}
REWRITES: tuple[tuple[type[exp.Expr], Callable[[QueryRewriter, exp.Expr], exp.Expr]], ...] = (
    (exp.Table, QueryRewriter.rewrite_table),
    (exp.Column, QueryRewriter.rewrite_column),
    (exp.Dot, QueryRewriter.rewrite_dot),
    (exp.Collate, lambda _, node: node.this),
    (exp.Operator, QueryRewriter.rewrite_operator),
    (exp.Div, QueryRewriter.rewrite_division),
    (exp.Mod, QueryRewriter.rewrite_division),
    (exp.Cast, QueryRewriter.rewrite_cast),
    (exp.Func, QueryRewriter.rewrite_call),
)


def _rewrite_series(first: exp.Expr, last: exp.Expr) -> exp.Expr:
    """Return the numbers from 1 to a small literal or to the length of an array; refuse other series."""
    from_one = first == exp.Literal.number(1) or first.name == "array_lower"
    if from_one and isinstance(last, exp.Literal) and last.name in map(str, range(1, MAX_SERIES)):
        return exp.func("range", exp.Literal.number(1), exp.Literal.number(int(last.name) + 1))
    if from_one and isinstance(last, exp.Anonymous) and last.name == "array_upper" and last.expressions:
        return exp.func("places", last.expressions[0])
    raise WireError("42883", "Series run from 1 to a small number or to an array's length.")


def _get_type_name(data_type: exp.Expr) -> str:
    """Return the name of a type without its schema."""
    named = data_type.args.get("kind") or data_type.this
    return (named if isinstance(named, str) else named.name).lower().strip('"')


def _alias_outputs(statement: exp.Expr) -> None:
    """Give output columns PostgreSQL's names."""
    select = statement
    while isinstance(select, exp.SetOperation):
        select = select.this
    if isinstance(select, exp.Select):
        outputs = [
            each
            if isinstance(each, exp.Alias) or each.is_star
            else exp.alias_(each, find_output_name(each), quoted=True)
            for each in select.expressions
        ]
        select.set("expressions", outputs)


def eliminate_empty_tables(node: exp.Expr, table_names: Set[str]) -> exp.Expr:
    """Return a SELECT without its empty tables; other nodes unchanged."""
    source = node.args.get("from_") if isinstance(node, exp.Select) else None
    if source is None:
        return node
    joins = node.args.get("joins") or []
    outer = [each for each in joins if each.side == "LEFT" and _is_empty(each.this, table_names)]
    for each in outer:
        _remove_outer_join(node, each)
    inner = [source.this, *(each.this for each in joins if each.side not in ("LEFT", "FULL"))]
    if not any(_is_empty(each, table_names) for each in inner):
        return node
    own = [each for each in node.find_all(exp.AggFunc) if each.find_ancestor(exp.Select) is node]
    if own and node.args.get("group") is None:
        return _aggregate_no_rows(node)
    outputs = [exp.alias_(exp.Null(), find_output_name(each), quoted=True) for each in node.expressions]
    return exp.select(*outputs).where(exp.false())


def _aggregate_no_rows(select: exp.Expr) -> exp.Expr:
    """Return a SELECT of aggregates over no rows, which has one row."""
    for column in list(select.find_all(exp.Column)):
        if column.find_ancestor(exp.Select) is select:
            column.replace(exp.Null())
    nothing = exp.select(exp.Null()).where(exp.false()).subquery("nothing")
    select.set("from_", exp.From(this=nothing))
    for part in ("joins", "where", "order"):
        select.set(part, None)
    return select


def _is_empty(table: exp.Expr, table_names: Set[str]) -> bool:
    if not isinstance(table, exp.Table) or isinstance(table.this, exp.Func) or not is_catalog_table(table):
        return False
    if find_builtin_name(table) in table_names:
        return False
    if table.name in EMPTY_TABLES or table.db == "information_schema":
        return True
    raise WireError("42P01", "There is no such table in the catalog.")


def _remove_outer_join(select: exp.Expr, join: exp.Join) -> None:
    alias = join.this.alias_or_name
    for column in list(select.find_all(exp.Column)):
        if column.table == alias:
            column.replace(exp.alias_(exp.Null(), column.name) if column.parent is select else exp.Null())
    join.pop()


def is_catalog_table(table: exp.Table) -> bool:
    """Return True if a table is one of the catalog, by its name."""
    return table.db in CATALOG_SCHEMAS or (not table.db and table.name.startswith("pg_"))


def find_builtin_name(table: exp.Table) -> str:
    """Return the name of a catalog table in the built-in catalog."""
    return f"information_schema.{table.name}" if table.db == "information_schema" else table.name


def find_output_name(node: exp.Expr) -> str:
    """Return PostgreSQL's name of an output column without an alias."""
    if isinstance(node, exp.Alias | exp.Column):
        return node.alias or node.name
    if isinstance(node, exp.Cast | exp.Paren):
        return find_output_name(node.this)
    if isinstance(node, exp.Dot):
        return find_output_name(node.expression)
    if isinstance(node, exp.Anonymous):
        return node.name.lower()
    if isinstance(node, exp.Func):
        return "version" if isinstance(node, exp.CurrentVersion) else node.sql_name().lower()
    return "?column?"
