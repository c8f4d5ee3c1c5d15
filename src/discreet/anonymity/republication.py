"""Republication: a chain of releases about the same people, linked by their earlier signatures.

The next release needs, for every person, the signature of the class in which the person was published
(`models.m_invariance`). The custodian keeps a file with the columns person and signature. A person who is
suppressed in this release keeps the signature of the previous one, so a later return is judged as well.

The file names people and lists the few values that each may have, so it is as secret as the table.
"""

from __future__ import annotations

import pyarrow as pa
from sqlglot import exp

from discreet.anonymity.equivalence_classes import Tuples
from discreet.anonymity.hierarchies.generalization_hierarchy import Hierarchy
from discreet.anonymity.models.m_invariance import NEW, format_signatures
from discreet.anonymity.recoding import Recoding, group_by_recoding
from discreet.anonymity.release_statement import (
    RECODING,
    ReleaseStatement,
    build_match_condition,
    build_recoding_table,
)
from discreet.anonymity.tuple_counts import (
    COUNT,
    Combinations,
    ReleaseSource,
    add_sensitive_column,
    build_row_filters,
    cast_to_text,
)
from discreet.core.engine import Publisher

EARLIER = "_discreet_earlier"
SIGNATURES = "_discreet_signatures"
PERSON, SIGNATURE = "person", "signature"


def add_earlier_signatures(
    engine: Publisher,
    combinations: Combinations,
    tuples: Tuples,
    hierarchies: list[Hierarchy],
    earlier: pa.Table,
) -> Tuples:
    """Return the tuples with a column `EARLIER` that counts the earlier signatures of their people."""
    subject = combinations.source
    known = exp.func("coalesce", exp.column(SIGNATURE, table="s"), exp.Literal.string(NEW))
    person = exp.column(_require_person(subject), table="c", quoted=True)
    quasi = [cast_to_text(name, table="c").as_(f"c{place}") for place, name in enumerate(subject.quasi)]
    count = exp.Count(this=exp.Distinct(expressions=[person.copy()])).as_(COUNT)
    text = (
        exp.select(*quasi, known.as_(EARLIER), count)
        .from_(_build_source_table(subject))
        .join(
            exp.alias_(exp.to_table(SIGNATURES), "s", table=True),
            on=exp.EQ(this=exp.cast(person.copy(), "text"), expression=exp.column(PERSON, table="s")),
            join_type="left",
        )
        .where(*build_row_filters(subject, "c"))
        .group_by(*(exp.Literal.number(place + 1) for place in range(len(quasi) + 1)))
    )
    counted = engine.count(text.sql(dialect="duckdb"), {SIGNATURES: earlier}).secret
    return add_sensitive_column(tuples, EARLIER, counted, hierarchies)


def build_signature_statement(
    source: ReleaseSource,
    tuples: Tuples,
    hierarchies: list[Hierarchy],
    recoding: Recoding,
    column: str,
    earlier: pa.Table | None,
) -> ReleaseStatement:
    """Return the statement that selects each person ever published and their newest signature."""
    classes, ids = group_by_recoding(tuples, recoding)
    texts = format_signatures(classes.sensitive[column])
    kept = recoding.published & (tuples.counts > 0)
    table = build_recoding_table(tuples, hierarchies, recoding)
    shown = pa.array([texts[place] for place in ids[kept].tolist()], pa.string())
    lent = {RECODING: table.append_column(SIGNATURE, shown), SIGNATURES: _select_signatures(earlier)}
    person = exp.cast(exp.column(_require_person(source), table="c", quoted=True), "text")
    now = (
        exp.select(person.as_(PERSON), exp.column(SIGNATURE, table="r"))
        .distinct()
        .from_(_build_source_table(source))
        .join(exp.alias_(exp.to_table(RECODING), "r", table=True), on=build_match_condition(source))
        .where(*build_row_filters(source, "c"))
    ).sql(dialect="duckdb")
    both = (
        f"SELECT {PERSON}, {SIGNATURE}, 0 AS age FROM ({now}) AS n UNION ALL "
        f"SELECT {PERSON}, {SIGNATURE}, 1 AS age FROM {SIGNATURES}"
    )
    # the newest of each person
    sql = f"SELECT DISTINCT ON ({PERSON}) {PERSON}, {SIGNATURE} FROM ({both}) AS b ORDER BY {PERSON}, age"
    return ReleaseStatement(sql=sql, tables=lent)


def _build_source_table(source: ReleaseSource) -> exp.Expr:
    table = exp.Table(this=exp.to_identifier(source.table, quoted=True))
    return exp.alias_(table, "c", table=True)


def _require_person(source: ReleaseSource) -> str:
    assert source.person is not None, "a chain is about people who are named"
    return source.person


def _select_signatures(earlier: pa.Table | None) -> pa.Table:
    nobody = pa.table({PERSON: pa.array([], pa.string()), SIGNATURE: pa.array([], pa.string())})
    return nobody if earlier is None else earlier.select([PERSON, SIGNATURE])
