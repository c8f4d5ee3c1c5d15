"""The section of the SQL reference on what costs nothing, with the functions that it may use."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from discreet.sql.post_processing_validation import AGGREGATES, FUNCTIONS, NAMES, WINDOW_FUNCTIONS

SPELLED = {
    "DATEDIFF": "DATE_DIFF",
    "DATE_BIN": "TIME_BUCKET",
    "DATE_FROM_PARTS": "MAKE_DATE",
    "DAYOFWEEK_ISO": "ISODOW",
    "DAY_OF_YEAR": "DAYOFYEAR",
    "GROUP_CONCAT": "STRING_AGG",
    "LOGICAL_AND": "BOOL_AND",
    "LOGICAL_OR": "BOOL_OR",
    "PAD": "LPAD, RPAD",
    "PERCENTILE_CONT": "QUANTILE_CONT",
    "PERCENTILE_DISC": "QUANTILE_DISC",
    "STR_POSITION": "STRPOS",
    "TIME_TO_STR": "STRFTIME",
    "TIME_TO_UNIX": "EPOCH",
    "VARIANCE_POP": "VAR_POP",
    "WEEK_OF_YEAR": "WEEKOFYEAR",
}
"""Names of DuckDB for functions that the parser calls otherwise."""


def format_post_processing() -> str:
    """Return the Markdown of the section."""
    others = ", ".join(f"`{name.upper()}`" for name in sorted(NAMES))
    lines = [
        _POST_PROCESSING.strip(),
        "",
        "| | |",
        "|---|---|",
        f"| Functions | {_list_names(FUNCTIONS)}, {others} |",
        f"| Aggregates | {_list_names(AGGREGATES)} |",
        f"| Windows | {_list_names(WINDOW_FUNCTIONS)} |",
    ]
    return "\n".join(lines)


def _list_names(nodes: Iterable[type[exp.Func]]) -> str:
    names = (each.sql_names()[0] for each in nodes)
    return ", ".join(f"`{name}`" for name in sorted(SPELLED.get(name, name) for name in names))


_POST_PROCESSING = """
## What costs nothing

A statement is split at its aggregations over rows of people. They are measured, and measured once; what is
above them is SQL that DuckDB runs over what was released, and is free: arithmetic, HAVING, ORDER BY, LIMIT
and OFFSET, DISTINCT, window functions and QUALIFY, joins and set operations of answers, subqueries, PIVOT
with listed values, WITH. So this costs as much as its inner query:

```sql
SELECT sex, n, 100.0 * n / SUM(n) OVER () AS percent
FROM (SELECT sex, COUNT(*) AS n FROM census GROUP BY sex)
ORDER BY n DESC
```

- Several aggregations in one statement (UNION, a join of answers, `(SELECT COUNT(*) FROM census)` as a value)
  are measured together, for one epsilon. Equal ones are measured once.
- ROLLUP, CUBE and GROUPING SETS measure each set of keys.
- A condition on rows may compare with one number of an answer: `WHERE age > (SELECT AVG(age) FROM census)`.
  The subquery is measured first, for a part of the epsilon, and its released value is a constant of the rest;
  the answer names it. The ± is that of rows beyond the released value, not beyond the true one. Asked again,
  the statement is answered for the same value, and free. Elsewhere below an aggregate
  (`SUM(age - (SELECT …))`, FILTER, GROUP BY) ask for the value first, and write it as a number.
- Rows of people never pass: what reads them without aggregating is refused.
- Public tables (`person: none`) can be read in full, and joined with answers. They cost nothing; nor do
  `LIMIT 0`, `WHERE FALSE`, and the values of a key that the policy declares (`SELECT DISTINCT sex FROM
  census`).
- It runs in a process of its own, with limits of memory and time. What fails there, once measured, is an
  error that costs nothing more: the measurements are stored, and serve the next question.
- NULL comes last in every order, unless NULLS FIRST is written; a name that is an alias and a column too is
  the alias in ORDER BY. Division by zero, and whatever is not a finite number, is NULL. CAST gives NULL where
  a value has another form. A refused question costs nothing either.

Beside operators, CASE, CAST and the functions on rows above, it may use:
"""
