"""Chains of releases about the same people: who was published before, and among which sensitive values.

What the next release has to know of this one is, for every person, the signature of the class that the person
was published in (`models.m_invariance`). It is kept in a file of the custodian's: person, signature. A person
who is left out this time keeps the signature of the release before, so that coming back later is judged, too.

The file names people and says which few values each of them may have: it is as secret as the table.
"""

from __future__ import annotations

import pyarrow as pa
from sqlglot import exp

from discreet.anonymity.classes import Tuples
from discreet.anonymity.compression import (
    COUNT,
    Combinations,
    Subject,
    rows_that_count,
    text_of,
    with_column,
)
from discreet.anonymity.grouping import classes_of_recoding
from discreet.anonymity.hierarchies.hierarchy import Hierarchy
from discreet.anonymity.models.m_invariance import NEW, signatures
from discreet.anonymity.recoding import Recoding
from discreet.anonymity.writing import RECODING, Statement, matching, recoding_table
from discreet.core.engine import Publisher

EARLIER = "_discreet_earlier"
SIGNATURES = "_discreet_signatures"
PERSON, SIGNATURE = "person", "signature"


def chained(
    engine: Publisher, found: Combinations, tuples: Tuples, hierarchies: list[Hierarchy], earlier: pa.Table
) -> Tuples:
    """The tuples with the earlier signatures of their people, under the name `EARLIER`."""
    subject = found.subject
    known = exp.func("coalesce", exp.column(SIGNATURE, table="s"), exp.Literal.string(NEW))
    person = exp.column(_person(subject), table="c", quoted=True)
    quasi = [text_of(name, table="c").as_(f"c{place}") for place, name in enumerate(subject.quasi)]
    count = exp.Count(this=exp.Distinct(expressions=[person.copy()])).as_(COUNT)
    text = (
        exp.select(*quasi, known.as_(EARLIER), count)
        .from_(_rows(subject))
        .join(
            exp.alias_(exp.to_table(SIGNATURES), "s", table=True),
            on=exp.EQ(this=exp.cast(person.copy(), "text"), expression=exp.column(PERSON, table="s")),
            join_type="left",
        )
        .where(*rows_that_count(subject, "c"))
        .group_by(*(exp.Literal.number(place + 1) for place in range(len(quasi) + 1)))
    )
    counted = engine.count(text.sql(dialect="duckdb"), {SIGNATURES: earlier}).secret
    return with_column(tuples, EARLIER, counted, hierarchies)


def remembered(
    subject: Subject,
    tuples: Tuples,
    hierarchies: list[Hierarchy],
    recoding: Recoding,
    column: str,
    earlier: pa.Table | None,
) -> Statement:
    """Everybody who was ever published, and the signature that the next release has to keep."""
    classes, ids = classes_of_recoding(tuples, recoding)
    texts = signatures(classes.sensitive[column])
    kept = recoding.kept & (tuples.counts > 0)
    table = recoding_table(tuples, hierarchies, recoding)
    shown = pa.array([texts[place] for place in ids[kept].tolist()], pa.string())
    lent = {RECODING: table.append_column(SIGNATURE, shown), SIGNATURES: _or_none(earlier)}
    person = exp.cast(exp.column(_person(subject), table="c", quoted=True), "text")
    now = (
        exp.select(person.as_(PERSON), exp.column(SIGNATURE, table="r"))
        .distinct()
        .from_(_rows(subject))
        .join(exp.alias_(exp.to_table(RECODING), "r", table=True), on=matching(subject))
        .where(*rows_that_count(subject, "c"))
    ).sql(dialect="duckdb")
    both = (
        f"SELECT {PERSON}, {SIGNATURE}, 0 AS age FROM ({now}) AS n UNION ALL "
        f"SELECT {PERSON}, {SIGNATURE}, 1 AS age FROM {SIGNATURES}"
    )
    # the newest of each person
    sql = f"SELECT DISTINCT ON ({PERSON}) {PERSON}, {SIGNATURE} FROM ({both}) AS b ORDER BY {PERSON}, age"
    return Statement(sql=sql, lent=lent)


def _rows(subject: Subject) -> exp.Expr:
    table = exp.Table(this=exp.to_identifier(subject.table, quoted=True))
    return exp.alias_(table, "c", table=True)


def _person(subject: Subject) -> str:
    assert subject.person is not None, "a chain is about people who are named"
    return subject.person


def _or_none(earlier: pa.Table | None) -> pa.Table:
    nobody = pa.table({PERSON: pa.array([], pa.string()), SIGNATURE: pa.array([], pa.string())})
    return nobody if earlier is None else earlier.select([PERSON, SIGNATURE])
