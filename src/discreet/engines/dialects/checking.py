"""Checking: what was written for an engine is parsed again, and compared with what it may hold.

Transpiling is a boundary: a quote that is read in another way would let a constant of a question become a
part of a statement. So a text that is about to run has to be one SELECT that reads the tables that it is said
to read, totals rows of them alone, and holds no text that our own statement, the policy's values or the
dialect did not put there. Of functions, those that sqlglot does not know have to be on the dialect's list;
those that it knows, and the shape of the statement, are not compared.
"""

from __future__ import annotations

import re

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from discreet.core.errors import EngineFault
from discreet.core.randomness import Randomness
from discreet.engines.dialects.dialect import Dialect
from discreet.engines.dialects.statements import Written, parsed
from discreet.engines.faults import CUSTODIAN, TEXT

NUMBER = re.compile(r"-?(\d+\.?\d*([eE][+-]?\d+)?|inf|nan)")
FORBIDDEN = (
    exp.Command,
    exp.DDL,
    exp.DML,
    exp.Into,
    exp.Lock,
    exp.Set,
)


def checked(written: Written, sql: str, dialect: Dialect) -> str:
    """The text, if it says what the statement `sql` of ours does."""
    wrong = _wrong(written, sql, dialect)
    if wrong:
        incident = f"{Randomness().bits(48):012x}"
        CUSTODIAN.error("incident %s: a statement was not written as it was meant: %s", incident, wrong)
        raise EngineFault(TEXT, incident=incident)
    return written.text


def _wrong(written: Written, sql: str, dialect: Dialect) -> str:
    try:
        trees = sqlglot.parse(written.text, read=dialect.grammar)
    except SqlglotError:
        return "it does not parse"
    if len(trees) != 1 or not isinstance(trees[0], exp.Select | exp.Union):
        return "it is not one SELECT"
    return _beyond(trees[0], written, sql, dialect)


def _beyond(tree: exp.Select | exp.Union, written: Written, sql: str, dialect: Dialect) -> str:
    """What a SELECT does that it should not."""
    if any(isinstance(node, FORBIDDEN) and not isinstance(node, exp.Query) for node in tree.walk()):
        return "it does more than to select"
    if any(_totals_nothing(select) for select in tree.find_all(exp.Select)):
        return "it has a total or a window over no rows of the data"
    known = _texts(parsed(sql)) | written.values | dialect.constants
    strange = {
        "reads": _tables(tree) - written.tables,
        "calls": _functions(tree) - dialect.functions,
        "holds constants of unknown origin:": {
            text for text in _texts(tree) - known if not NUMBER.fullmatch(text)
        },
    }
    return "; ".join(f"it {verb} {', '.join(sorted(found))}" for verb, found in strange.items() if found)


def _totals_nothing(select: exp.Select) -> bool:
    """Whether a SELECT without a source has a total, which would be one of its single row."""
    found = (node for output in select.expressions for node in output.find_all(exp.AggFunc, exp.Window))
    return select.args.get("from_") is None and any(node.parent_select is select for node in found)


def _tables(tree: exp.Expr) -> set[str]:
    """Tables by their full names, but for those that WITH makes."""
    made = {cte.alias for cte in tree.find_all(exp.CTE)}
    found = {".".join(part.name for part in table.parts) for table in tree.find_all(exp.Table)}
    return found - made


def _functions(tree: exp.Expr) -> set[str]:
    """Only those that sqlglot does not know by itself can be of any meaning."""
    return {node.name.lower() for node in tree.find_all(exp.Anonymous)}


def _texts(tree: exp.Expr) -> set[str]:
    return {str(node.this) for node in tree.find_all(exp.Literal) if node.is_string}
