"""Split a statement at its aggregations over rows of people: below are cores, above is post-processing.

    WITH … SELECT … FROM (SELECT sex, COUNT(*) AS n FROM people GROUP BY sex) AS t ORDER BY n

has one core, COUNT(*) of people by sex, and the query

    SELECT … FROM (SELECT r0.k0 AS sex, r0.m0 AS n FROM r0) AS t ORDER BY n

over what is released for it. The query reads released tables, public tables, constants and its own
subqueries, and nothing else: that is checked once more at the end, whatever was done before.

A subquery in a condition on rows, age > (SELECT AVG(age) FROM people), is a constant that is released first:
`released_constants`.

Rows       what reads a table of people without aggregating over it (or totals it per person). It may only be
           in FROM of an aggregation; anywhere else the statement would show rows, and is refused.
Answers    aggregations over rows, and everything computed from them.
Public     tables without people, and constants; they can be beside rows as well as beside answers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import NoReturn

from sqlglot import exp

from discreet.core.policy import Policy
from discreet.sql.aggregate_calls import aggregates_rows
from discreet.sql.constant_subqueries import (
    ConstantCollection,
    define_common_tables,
    find_constant_subquery,
    require_single_number,
    write_constant,
)
from discreet.sql.core_extraction import CoreCollection, CoreSelect
from discreet.sql.empty_results import has_false_condition, is_probe, returns_no_rows
from discreet.sql.key_domains import LARGEST, derive_group_domain
from discreet.sql.post_processing_validation import (
    cast_without_errors,
    require_known_function,
    require_no_session_value,
    validate_post_processing,
)
from discreet.sql.public_tables import PublicTable, describe_public_table
from discreet.sql.query import Query
from discreet.sql.query_literals import ConstantNode
from discreet.sql.query_validation import refuse_statement, validate_query
from discreet.sql.refusal import format_snippet, refuse_query, suggest_names
from discreet.sql.released_constants import ConstantQuery
from discreet.sql.released_table_types import find_sql_type
from discreet.sql.row_resolver import (
    Commons,
    RowResolver,
    collect_common_tables,
    refuse_join_of_answer,
)
from discreet.sql.select_clauses import OWN_NAME, resolve_group_keys
from discreet.sql.sql_names import find_name, fold_case, split_alias

MOST_SELECTS = 200
RELEASED_NAME = re.compile(r"r\d+", re.IGNORECASE)
RENAMED = "_discreet_with"
RESERVED_NAME = re.compile(rf"r\d+|{RENAMED}.*", re.IGNORECASE)
"""Names of common tables that are replaced in post-processing: released tables and others have them."""
GENERATED = (exp.Values, exp.Unnest, exp.GenerateSeries)
"""Sources in FROM that are constants."""


class SourceKind(StrEnum):
    """The kinds of queries: over rows of people, over answers about them, over public tables alone."""

    ROWS = "rows"
    ANSWER = "answer"
    PUBLIC = "public"


@dataclass(frozen=True, kw_only=True)
class SplitStatement:
    """The cores of a statement, released as r0, r1 …, and the query over these and over public tables.

    `declared_groups` has, for released tables that are declared key values alone, the SQL of these values.
    `returns_no_rows` says that the query has no rows whatever is released. Nothing is measured then.
    `constants` are computed of some cores before others are measured, which compare rows with them.

    >>> from discreet.core.policy import Policy
    >>> columns = {"sex": {"type": "category", "values": ["f", "m"]}}
    >>> policy = Policy.model_validate({"tables": {"people": {"source": "people.csv", "columns": columns}}})
    >>> from discreet.sql.query_parser import parse_statement
    >>> text = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex HAVING n > 9"
    >>> split_statement(parse_statement(text), policy).post_processing
    'SELECT "r0"."k0" AS "sex", "r0"."m0" AS "n" FROM "r0" WHERE ("r0"."m0") > 9'
    """

    cores: Mapping[str, Query]
    query: exp.Expr
    public_tables: Mapping[str, PublicTable]
    declared_groups: Mapping[str, str]
    returns_no_rows: bool
    constants: Mapping[str, ConstantQuery] = field(default_factory=dict)

    @property
    def measured_cores(self) -> dict[str, Query]:
        """The cores that are measured and charged."""
        if self.returns_no_rows:
            return {}
        return {name: core for name, core in self.cores.items() if name not in self.declared_groups}

    @property
    def post_processing(self) -> str:
        """The query as DuckDB's SQL; every name is quoted, so that none can be read as a function."""
        return self.query.sql(dialect="duckdb", identify=True, comments=False)


def split_statement(statement: exp.Expr, policy: Policy) -> SplitStatement:
    """Return the cores and the post-processing of a statement, or raise a refusal."""
    if isinstance(statement, exp.Pivot):
        statement = exp.Select(expressions=[exp.Star()], from_=exp.From(this=exp.Subquery(this=statement)))
    if not isinstance(statement, exp.Query):
        refuse_statement(statement)
    splitter = _Splitter(policy)
    query = splitter.split_query(statement, {})
    public_tables = {name: describe_public_table(policy, name) for name in splitter.public_tables}
    columns = [name for table in public_tables.values() for name in table.schema.names]
    constants = splitter.constants.constants
    for each in (query, *(constant.query for constant in constants.values())):
        splitter.require_released_tables(each)
        validate_post_processing(each)
        require_no_session_value(each, columns)
    cores = {
        core.name: Query(rows=core.rows, keys=core.keys, measures=tuple(core.measures), post_processing=())
        for core in splitter.collection.cores
    }
    return SplitStatement(
        cores=cores,
        query=cast_without_errors(query),
        public_tables=public_tables,
        declared_groups={
            name: _compile_declared_groups(core, policy) for name, core in cores.items() if not core.measures
        },
        returns_no_rows=returns_no_rows(query),
        constants={
            name: replace(each, query=cast_without_errors(each.query)) for name, each in constants.items()
        },
    )


def _compile_declared_groups(core: Query, policy: Policy) -> str:
    """Return the SQL of the groups of a core that measures nothing, if the policy declares them."""
    groups = derive_group_domain(core, policy)
    if groups is None or groups.size > LARGEST:
        refuse_query("the question aggregates nothing.", "Add COUNT(*), SUM(x), AVG(x) ….")
    names = ", ".join(column.name for column, _ in core.keys)
    return f"SELECT * FROM ({groups.statement}) AS d ORDER BY {names}"


def _refuse_rows(query: exp.Expr) -> NoReturn:
    hint = "Aggregate: SELECT COUNT(*) …, AVG(x) …, with GROUP BY."
    if query.args.get("group") is not None:
        hint = "Put the SELECT that groups by person into FROM, and aggregate over it."
    refuse_query("the question would show rows.", hint)


@dataclass
class _Splitter:
    policy: Policy
    collection: CoreCollection = field(default_factory=CoreCollection)
    public_tables: set[str] = field(default_factory=set)
    common_names: set[str] = field(default_factory=set)
    kinds: dict[int, tuple[exp.Expr, SourceKind]] = field(default_factory=dict)
    constants: ConstantCollection = field(default_factory=ConstantCollection)
    replaced: dict[int, exp.Select] = field(default_factory=dict)
    selects: int = 0

    # -- Queries --------------------------------------------------------------------------------------------

    def split_query(self, query: exp.Expr, common_tables: Commons) -> exp.Expr:
        """Return a query over released tables; refuse one that would show rows."""
        if isinstance(query, exp.Subquery):
            return self._rebuild(query, collect_common_tables(query, common_tables))
        self.selects += 1
        if self.selects > MOST_SELECTS:
            refuse_query("the question has too many subqueries.", f"Use at most {MOST_SELECTS}.")
        common_tables = self._collect_common_tables(query, common_tables)
        if isinstance(query, exp.Select) and not query.expressions:
            refuse_query("SELECT names no column.", "Write SELECT … FROM ….")
        if isinstance(query, exp.SetOperation):
            made = self._rebuild(query, common_tables)
        elif isinstance(query, exp.Select):
            made = self._split_select(query, common_tables)
        else:
            refuse_statement(query)
        return self._keep_common_tables(query, made, common_tables)

    def _collect_common_tables(self, query: exp.Expr, common_tables: Commons) -> Commons:
        written = query.args.get("with_")
        if written is not None and written.args.get("recursive"):
            refuse_query("WITH RECURSIVE is not answered.", "Write WITH name AS (SELECT …).")
        made = collect_common_tables(query, common_tables)
        for each in written.expressions if written is not None else []:
            known = made[fold_case(each.alias)]
            if not isinstance(known.query, exp.Query):
                refuse_query(
                    f"WITH {format_snippet(each.alias)} is no SELECT.", "Write WITH name AS (SELECT …)."
                )
            if RESERVED_NAME.fullmatch(known.name):
                known.name = f"{RENAMED}{len(self.common_names)}"
            self.common_names.add(fold_case(known.name))
        return made

    def _keep_common_tables(self, query: exp.Expr, made: exp.Expr, common_tables: Commons) -> exp.Expr:
        """Return the query with those of its common tables that it still refers to."""
        written = query.args.get("with_")
        made.set("with_", None)
        kept = []
        for each in written.expressions if written is not None else []:
            known = common_tables[fold_case(each.alias)]
            if known.released is not None:
                alias = each.args["alias"].copy()
                alias.set("this", exp.to_identifier(known.name, quoted=True))
                kept.append(exp.CTE(**{**each.args, "this": known.released, "alias": alias}))
        if kept:
            made.set("with_", exp.With(expressions=kept))
        return made

    def _split_select(self, select: exp.Select, common_tables: Commons) -> exp.Select:
        if self._reads_rows(select, common_tables):
            if self._find_select_kind(select, common_tables) is not SourceKind.PUBLIC:
                return self._extract_core(select, common_tables)
            return self._write_empty_rows(select, common_tables)
        return self._rebuild_select(select, common_tables)

    def _extract_core(self, select: exp.Select, common_tables: Commons) -> exp.Select:
        for part in ("laterals", "pivots", "sample", "into", "locks", "hint", "kind", "operation_modifiers"):
            if select.args.get(part):
                validate_query(select)
        scope, rows = RowResolver(self.policy).resolve_from(select, common_tables)
        return CoreSelect(
            select=select,
            scope=scope,
            rows=rows,
            collection=self.collection,
            split_query=lambda query: self.split_query(query, common_tables),
            reads_nothing=has_false_condition(select),
        ).rewrite()

    def _write_empty_rows(self, select: exp.Select, common_tables: Commons) -> exp.Select:
        """Return the columns of a SELECT over rows that asks for none of them."""
        bare = select.copy()
        for part in ("limit", "offset", "order", "qualify", "with_"):
            bare.set(part, None)
        validate_query(bare)
        source = RowResolver(self.policy).resolve_rows(bare, "question", common_tables)
        outputs = [
            exp.alias_(
                exp.cast(exp.Null(), find_sql_type(column.type, is_key=True), dialect="duckdb"),
                name,
                quoted=True,
            )
            for name, column in source.names.items()
        ]
        if not outputs:
            _refuse_rows(select)
        return exp.Select(expressions=outputs, where=exp.Where(this=exp.Boolean(this=False)))

    # -- What is above released tables ----------------------------------------------------------------------

    def _rebuild_select(self, select: exp.Select, common_tables: Commons) -> exp.Select:
        """Return a SELECT over answers, in which computed columns have the names that answers show."""
        made = self._rebuild(select, common_tables)
        assert isinstance(made, exp.Select)
        outputs = []
        for projection, written in zip(made.expressions, select.expressions, strict=True):
            name = split_alias(written)[0]
            if isinstance(projection, exp.Alias | exp.Column) or projection.find(exp.Star, exp.Columns):
                is_plain = not isinstance(projection, exp.Count)
            else:
                is_plain = False
            if OWN_NAME.fullmatch(written.alias):
                refuse_query(
                    f"the name {format_snippet(name)} is reserved for interval bounds.", "Choose another."
                )
            outputs.append(projection if is_plain else exp.alias_(projection, name, quoted=True))
        made.set("expressions", outputs)
        return made

    def _rebuild(self, node: exp.Expr, common_tables: Commons) -> exp.Expr:
        """Return a node over released tables, with every query and table below it split."""
        parts: dict[str, object] = {}
        for part, given in node.args.items():
            if isinstance(given, list):
                parts[part] = [self._rebuild_part(each, common_tables) for each in given]
            else:
                parts[part] = self._rebuild_part(given, common_tables)
        return type(node)(**parts)

    def _rebuild_part(self, given: object, common_tables: Commons) -> object:
        if not isinstance(given, exp.Expr):
            return given
        if isinstance(given, exp.With):
            return given.copy()  # replaced by `_keep_common_tables`
        if isinstance(given, exp.Query):
            return self.split_query(given, common_tables)
        if isinstance(given, exp.Table):
            return self._rebuild_table(given, common_tables)
        return self._rebuild(given, common_tables)

    def _rebuild_table(self, table: exp.Table, common_tables: Commons) -> exp.Expr:
        if isinstance(table.this, GENERATED):
            return self._rebuild(table, common_tables)
        if not isinstance(table.this, exp.Identifier):
            refuse_query(
                f"«{format_snippet(table)}» is no table of the policy.",
                f"There are {', '.join(self.policy.tables)}.",
            )
        made = table.copy()
        known = None if table.args.get("db") else common_tables.get(fold_case(table.name))
        if known is not None:
            if known.released is None:
                known.released = self.split_query(known.query, known.visible_tables)
            name = known.name
        elif self._find_table_kind(table) is SourceKind.ROWS:
            _refuse_rows(table)
        else:
            name = self._add_public_table(table.name)
        made.set("this", exp.to_identifier(name, quoted=True))
        if name != table.name and not table.alias:
            made.set("alias", exp.TableAlias(this=exp.to_identifier(table.name, quoted=True)))
        return made

    def _add_public_table(self, written: str) -> str:
        """Return the name of a public table of the policy, and note that the query reads it."""
        name = find_name(written, self.policy.tables)
        assert name is not None
        if RELEASED_NAME.fullmatch(name):
            refuse_query(
                f"the public table {format_snippet(name)} has a name of released tables.",
                "Give it another name in the policy.",
            )
        self.public_tables.add(name)
        return name

    # -- Kinds ----------------------------------------------------------------------------------------------

    def _find_kind(self, query: exp.Expr, common_tables: Commons) -> SourceKind:
        """Return what a query reads, for the SELECT around it."""
        known = self.kinds.get(id(query))
        if known is None:
            # the query is kept with its kind, so that its id is not used again
            known = self.kinds[id(query)] = (query, self._compute_kind(query, common_tables))
        return known[1]

    def _compute_kind(self, query: exp.Expr, common_tables: Commons) -> SourceKind:
        common_tables = collect_common_tables(query, common_tables)
        if isinstance(query, exp.Subquery | exp.Pivot | exp.Lateral):
            return self._find_source_kind(query.this, common_tables)
        if isinstance(query, exp.SetOperation):
            kinds = [self._find_kind(each, common_tables) for each in (query.left, query.right)]
            if SourceKind.ROWS in kinds:
                refuse_query(
                    f"«{format_snippet(query)}» would put rows of people together.",
                    "Aggregate in each SELECT of it: its answers can be put together.",
                )
            return SourceKind.ANSWER if SourceKind.ANSWER in kinds else SourceKind.PUBLIC
        if isinstance(query, exp.Select):
            return self._find_select_kind(query, common_tables)
        return SourceKind.PUBLIC

    def _find_select_kind(self, select: exp.Select, common_tables: Commons) -> SourceKind:
        kinds = self._list_kinds(select, common_tables)
        if SourceKind.ROWS not in kinds:
            return SourceKind.ANSWER if SourceKind.ANSWER in kinds else SourceKind.PUBLIC
        if SourceKind.ANSWER in kinds:
            refuse_join_of_answer()
        if self._groups_by_person(select, common_tables):
            return SourceKind.PUBLIC if is_probe(select) else SourceKind.ROWS
        if aggregates_rows(select):
            return SourceKind.ANSWER
        if is_probe(select):
            return SourceKind.PUBLIC
        return SourceKind.ANSWER if select.args.get("distinct") is not None else SourceKind.ROWS

    def _groups_by_person(self, select: exp.Select, common_tables: Commons) -> bool:
        if select.args.get("group") is None:
            return False
        self._validate_sources(select, common_tables)
        scope, _ = RowResolver(self.policy).resolve_from(select, common_tables)
        keys = resolve_group_keys(select, scope.has_column)
        return any(scope.find_person_source(key) is not None for key in keys)

    def _reads_rows(self, select: exp.Select, common_tables: Commons) -> bool:
        """Return True if FROM reads rows of people; refuse a SELECT that would show them."""
        if SourceKind.ROWS not in self._list_kinds(select, common_tables):
            return False
        self._validate_sources(select, common_tables)
        if self._find_select_kind(select, common_tables) is SourceKind.ROWS:
            for projection in select.expressions:  # an aggregate of another database reads as no aggregate
                for node in projection.walk():
                    require_known_function(node)
            _refuse_rows(select)
        return True

    def _validate_sources(self, select: exp.Select, common_tables: Commons) -> None:
        """Refuse what is not answered in FROM, JOIN and WHERE of an aggregation over rows."""
        self._replace_constants(select, common_tables)
        for each in (select.args["from_"], *(select.args.get("joins") or []), select.args.get("where")):
            if each is not None:
                validate_query(each)

    def _list_kinds(self, select: exp.Select, common_tables: Commons) -> list[SourceKind]:
        first = select.args.get("from_")
        sources = [] if first is None else [first.this]
        sources += [join.this for join in select.args.get("joins") or []]
        return [self._find_source_kind(each, common_tables) for each in sources]

    def _find_source_kind(self, source: exp.Expr, common_tables: Commons) -> SourceKind:
        if not isinstance(source, exp.Table):
            return self._find_kind(source, common_tables)
        if not isinstance(source.this, exp.Identifier):
            return SourceKind.PUBLIC
        known = None if source.args.get("db") else common_tables.get(fold_case(source.name))
        if known is not None:
            return self._find_kind(known.query, known.visible_tables)
        return self._find_table_kind(source)

    def _find_table_kind(self, table: exp.Table) -> SourceKind:
        if table.args.get("db") is not None:
            refuse_query(
                f"a schema's name in «{format_snippet(table)}» is not answered.",
                "Write alias.column, or the table alone.",
            )
        name = find_name(table.name, self.policy.tables)
        if name is None:
            refuse_query(
                f"there is no table {format_snippet(table.name)}.",
                suggest_names(table.name, self.policy.tables),
            )
        return SourceKind.PUBLIC if self.policy.tables[name].person == "none" else SourceKind.ROWS

    # -- Constants that are released first ------------------------------------------------------------------

    def _replace_constants(self, select: exp.Select, common_tables: Commons) -> None:
        """Put constants in the place of subqueries in conditions on rows, of a SELECT and of its sources."""
        if id(select) in self.replaced:  # common tables are referred to many times
            return
        self.replaced[id(select)] = select
        while (written := find_constant_subquery(select.args.get("where"))) is not None:
            written.replace(self._add_constant(written, common_tables))
        for source in (select.args["from_"].this, *(join.this for join in select.args.get("joins") or [])):
            query, visible = source.this if isinstance(source, exp.Subquery) else None, common_tables
            known = common_tables.get(fold_case(source.name)) if isinstance(source, exp.Table) else None
            if known is not None:
                query, visible = known.query, known.visible_tables
            if isinstance(query, exp.Select) and query.args.get("from_") is not None:
                visible = collect_common_tables(query, visible)
                if SourceKind.ROWS in self._list_kinds(query, visible):
                    self._replace_constants(query, visible)

    def _add_constant(self, written: exp.Subquery, common_tables: Commons) -> ConstantNode:
        """Return the constant that a subquery is; its cores come before the one that compares with it."""
        query, text = written.this, write_constant(written)
        is_answer = self._find_kind(query, common_tables) is SourceKind.ANSWER
        require_single_number(query, is_answer=is_answer)
        made = self.split_query(query, common_tables)
        define_common_tables(made, common_tables)
        return self.constants.add_constant(made, text, self.collection.cores, self.public_tables)

    # -- Afterwards -----------------------------------------------------------------------------------------

    def require_released_tables(self, query: exp.Expr) -> None:
        """Refuse a query that names anything but released tables, public tables and its own subqueries."""
        allowed = {core.name for core in self.collection.cores} | {*self.public_tables}
        for table in query.find_all(exp.Table):
            if isinstance(table.this, GENERATED):
                continue
            name = table.name
            if name not in allowed and fold_case(name) not in self.common_names:
                self._refuse_table(table)

    def _refuse_table(self, table: exp.Table) -> NoReturn:
        refuse_query(
            f"«{format_snippet(table)}» is no table of the policy.",
            f"There are {', '.join(self.policy.tables)}.",
        )
