"""Linkage of two releases with the same pseudonyms: their rows are joined and attacked as one release.

Join        the people in both, each with the labels of both releases; known values must match both.
Attacks     linkage, and class inference of every sensitive column, over the people in both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from discreet.anonymity.hierarchies import Hierarchy
from discreet.attacks import ClassInference, Linkage
from discreet.attacks.attacker_knowledge import AttackerKnowledge
from discreet.attacks.class_matching import match_people
from discreet.attacks.distinct_tuples import list_columns
from discreet.attacks.match_sets import MatchSets
from discreet.attacks.published_table import read_release
from discreet.core.engine import Publisher
from discreet.core.sql_quoting import quote_identifier
from discreet.engines.duckdb_publisher import DuckDBPublisher
from discreet.services.attack.evaluation import AttackRun
from discreet.services.attack.target_release import TargetRelease

JOINED_TABLE = "both releases"
BY_PSEUDONYM = "by pseudonym"


def join_releases(
    engine: Publisher,
    target: TargetRelease,
    earlier: str,
    known: AttackerKnowledge,
    hierarchies: Mapping[str, Hierarchy],
    column_names: tuple[Mapping[str, str], Mapping[str, str]],
) -> MatchSets | None:
    """Return match sets of people whose pseudonym is in both releases; None if they share none.

    `column_names` map columns of the release, and of the earlier one, to their names in the knowledge.
    """
    key = target.pseudonym_column
    if key is None or key not in list_columns(engine, earlier):
        return None
    before = {name: f"{name} before" for name in target.quasi_identifiers}
    rows = engine.count(_build_join_statement(target, earlier, key, before)).secret
    if not rows.num_rows:
        return None
    with DuckDBPublisher({}, {JOINED_TABLE: rows}) as other:
        published = read_release(
            other,
            JOINED_TABLE,
            quasi=(*target.quasi_identifiers, *before.values()),
            sensitive=target.sensitive,
            person=key,
        )
    meant = {before[name]: each for name, each in hierarchies.items() if name in before}
    then = {label: column_names[1].get(name, name) for name, label in before.items()}
    shared = {label: name for label, name in then.items() if name in known.columns}
    return match_people(
        replace(published, hierarchies={**hierarchies, **meant}), known, {**column_names[0], **shared}
    )


def attack_joined(sets: MatchSets) -> Iterator[AttackRun]:
    """Yield the attacks on the joined releases."""
    linked = Linkage().run(sets)
    yield AttackRun(findings=replace(linked, attack=f"{linked.attack} {BY_PSEUDONYM}"))
    for column in sets.published.classes.sensitive:
        found = ClassInference(column=column).run(sets)
        yield AttackRun(findings=replace(found, attack=f"{found.attack} {BY_PSEUDONYM}"), column=column)


def _build_join_statement(
    target: TargetRelease, earlier: str, key: str, earlier_labels: Mapping[str, str]
) -> str:
    by = quote_identifier(key)
    ours = ", ".join(
        f"a.{quote_identifier(name)}" for name in (key, *target.quasi_identifiers, *target.sensitive)
    )
    theirs = ", ".join(
        f"b.{quote_identifier(name)} AS {quote_identifier(label)}" for name, label in earlier_labels.items()
    )
    once = ", ".join(map(quote_identifier, (key, *earlier_labels)))
    return (
        f"SELECT {ours}, {theirs} FROM {quote_identifier(target.name)} AS a "
        f"JOIN (SELECT DISTINCT {once} FROM {quote_identifier(earlier)}) AS b ON a.{by} = b.{by}"
    )
