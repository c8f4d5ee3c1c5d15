"""Linkage of two releases with the same pseudonyms: their rows are joined and attacked as one release.

Join        the people in both, each with the labels of both releases; known values must match both.
Attacks     linkage, and class inference of every sensitive column, over the people in both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from discreet.anonymity.hierarchies import Hierarchy
from discreet.app.trials.attacked import Attacked
from discreet.app.trials.trial import Run
from discreet.attacks import ClassInference, Linkage
from discreet.attacks.counting import columns_of
from discreet.attacks.known import Known
from discreet.attacks.match_sets import MatchSets
from discreet.attacks.matching import match
from discreet.attacks.published import from_release
from discreet.core.engine import Publisher
from discreet.engines.duckdb_connection import quote_identifier
from discreet.engines.duckdb_publisher import DuckDBPublisher

BOTH = "both releases"
HOW = "by pseudonym"


def joined(
    engine: Publisher,
    about: Attacked,
    earlier: str,
    known: Known,
    hierarchies: Mapping[str, Hierarchy],
    called: tuple[Mapping[str, str], Mapping[str, str]],
) -> MatchSets | None:
    """Return match sets of people whose pseudonym is in both releases; None if they share none.

    `column_names` map columns of the release, and of the earlier one, to their names in the knowledge.
    """
    key = about.pseudonym
    if key is None or key not in columns_of(engine, earlier):
        return None
    before = {name: f"{name} before" for name in about.quasi}
    rows = engine.count(_statement(about, earlier, key, before)).secret
    if not rows.num_rows:
        return None
    with DuckDBPublisher({}, {BOTH: rows}) as other:
        published = from_release(
            other, BOTH, quasi=(*about.quasi, *before.values()), sensitive=about.sensitive, person=key
        )
    meant = {before[name]: each for name, each in hierarchies.items() if name in before}
    then = {label: called[1].get(name, name) for name, label in before.items()}
    shared = {label: name for label, name in then.items() if name in known.columns}
    return match(replace(published, hierarchies={**hierarchies, **meant}), known, {**called[0], **shared})


def runs_on(sets: MatchSets) -> Iterator[Run]:
    """Yield the attacks on the joined releases."""
    linked = Linkage().run(sets)
    yield Run(findings=replace(linked, attack=f"{linked.attack} {HOW}"))
    for column in sets.published.classes.sensitive:
        found = ClassInference(column=column).run(sets)
        yield Run(findings=replace(found, attack=f"{found.attack} {HOW}"), column=column)


def _statement(about: Attacked, earlier: str, key: str, before: Mapping[str, str]) -> str:
    by = quote_identifier(key)
    ours = ", ".join(f"a.{quote_identifier(name)}" for name in (key, *about.quasi, *about.sensitive))
    theirs = ", ".join(
        f"b.{quote_identifier(name)} AS {quote_identifier(label)}" for name, label in before.items()
    )
    once = ", ".join(map(quote_identifier, (key, *before)))
    return (
        f"SELECT {ours}, {theirs} FROM {quote_identifier(about.name)} AS a "
        f"JOIN (SELECT DISTINCT {once} FROM {quote_identifier(earlier)}) AS b ON a.{by} = b.{by}"
    )
