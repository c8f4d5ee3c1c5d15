"""Evaluation of a release before it is written, against an attacker who knows everybody's quasi-identifiers.

Nobody can know more about quasi-identifiers, so the result holds for every register. Earlier releases of the
same table whose files still exist are combined with the new one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.anonymity.equivalence_classes import Integers, Tuples
from discreet.anonymity.tuple_grouping import group_by_recoding
from discreet.app.addresses import engine_of
from discreet.app.policies import promise_of
from discreet.app.publishers import publisher
from discreet.app.publishing.release import Release
from discreet.app.publishing.release_goal import APART
from discreet.app.publishing.table_request import build_file_table
from discreet.app.trials.bounds import Bound, of_models, ruled_out
from discreet.app.trials.meanings import declared_specs, meanings_of
from discreet.app.trials.table_attacks import Scene, attack_table
from discreet.app.trials.trial import Trial, judged
from discreet.attacks.criteria import criteria
from discreet.attacks.known import everybody
from discreet.attacks.match_sets import told
from discreet.attacks.matching import match
from discreet.attacks.published import PublishedTable, from_recoding, from_release
from discreet.core.errors import RequestError
from discreet.core.policy import Policy
from discreet.engines.duckdb_publisher import ReleaseTarget
from discreet.engines.sources import split_source

if TYPE_CHECKING:
    from discreet.accounting.entries import NonPrivateRelease

KNOWLEDGE = "everybody in the table by all quasi-identifiers, and that they are in it"
ASSUMED = (
    "Attackers know everybody's quasi-identifiers as the table has them, which no register tells better.",
    "Every row that matches a person is assumed to be theirs with the same probability.",
    "Guesses are scored by the table's own sensitive values, which attackers do not have.",
)


OVERLAP = (
    "Labels overlap here: attackers are assumed to find everybody's class by elimination, as an attacker who "
    "knows everybody may."
)


def try_release(
    release: Release, policy: Policy, *, at_most: float | None = None, others: Iterable[str | Path] = ()
) -> Trial:
    """Run the attacks that apply on a release that is not written yet."""
    published = from_recoding(
        release.tuples, release.attacker_recoding, release.hierarchies, release.source.person
    )
    known = everybody(release.tuples, release.hierarchies)
    apart = release.goal.method in APART
    sets = match(published, known) if apart else told(published, known, _own(release))
    entries = _earlier(release, policy)
    tables = _others(release, entries, others)
    scene = Scene(
        sets=sets,
        meanings=meanings_of(published, declared_specs(release.source.sensitive, release.table, policy)),
        ruled_out=ruled_out(release.goal.models),
        earlier=tuple(match(each, known) for each in tables.values()),
    )
    runs, skipped = attack_table(scene)
    bounds = of_models(release.goal.models, _largest_shares(release.tuples), release.multivalued_columns)
    return Trial(
        subject=release.name,
        knowledge=KNOWLEDGE,
        tried=judged(runs, (*bounds, *stated(at_most))),
        skipped=skipped,
        criteria=criteria(sets, scene.columns),
        promise=None if policy.promise is None else promise_of(policy),
        assumed=(
            *ASSUMED,
            *(() if apart else (OVERLAP,)),
            *(_told_of(name, table, release) for name, table in tables.items()),
            *_left_aside(release, entries),
            *_same_pseudonyms(release, entries),
        ),
    )


def stated(at_most: float | None, option: str = "--at-most") -> tuple[Bound, ...]:
    """Return the bound that a custodian set for every attack, if any."""
    return () if at_most is None else (Bound(most=at_most, by=option),)


def _own(release: Release) -> Integers:
    """Return the class in which each tuple of the table is published."""
    return group_by_recoding(release.tuples, release.attacker_recoding)[1][release.tuples.counts > 0]


def _largest_shares(tuples: Tuples) -> dict[str, float]:
    """Return the share of each column's commonest value in the table."""
    return {
        name: int(column.totals.max()) / int(column.totals.sum()) for name, column in tuples.sensitive.items()
    }


def _earlier(release: Release, policy: Policy) -> list[NonPrivateRelease]:
    """Return the ledger's releases of the same table."""
    if policy.promise is None:
        return []
    from discreet.app.books import looked_into  # without a promise nothing needs it

    with looked_into(policy) as ledger:
        return [each for each in ledger.list_releases() if each.certificate.get("table") == release.name]


def _others(
    release: Release, entries: Iterable[NonPrivateRelease], named: Iterable[str | Path]
) -> dict[str, PublishedTable]:
    """Return other releases of the same table: named ones, and those whose files still exist."""
    engine = engine_of(release.policy.engine)
    files = {engine.named(str(each)): Path(each).name for each in named}
    files |= {file: each.name for each in entries if (file := _file(each, release))}
    often = Counter(files.values())
    names = {file: name if often[name] == 1 else file for file, name in files.items()}
    return {name: _read(name, file, release) for file, name in names.items()}


def _told_of(name: str, table: PublishedTable, release: Release) -> str:
    several = release.source.person is not None and table.person is None
    rows = " Of it rows are counted, as it does not show which of them are one person's." if several else ""
    return f"They have the release {name}, too.{rows}"


def _left_aside(release: Release, entries: Iterable[NonPrivateRelease]) -> list[str]:
    """Return sentences on releases of the same table that could not be combined with this one."""
    names = dict.fromkeys(each.name for each in entries if _file(each, release) is None)
    return [
        f"What the release {name} tells besides was not tried: its file is not where it was written, or "
        "lacks a column."
        for name in names
    ]


def _same_pseudonyms(release: Release, entries: Iterable[NonPrivateRelease]) -> list[str]:
    """Return sentences on releases with pseudonyms of the same key, whose rows can be joined."""
    ours = {(each.column, each.fingerprint) for each in release.goal.pseudonyms}
    names = [each.name for each in entries if ours & _pseudonyms(each.certificate)]
    return [
        f"The release {name} shows the same pseudonyms, so the rows of a person in both can be joined. That "
        "was not tried here: attack --with does it once both are written. Another --key prevents it."
        for name in dict.fromkeys(names)
    ]


def _pseudonyms(certificate: Mapping[str, object]) -> set[tuple[str, str]]:
    entries = certificate.get("pseudonyms")
    return {(each["column"], each["key"]) for each in entries} if isinstance(entries, list) else set()


def _file(entry: NonPrivateRelease, release: Release) -> str | None:
    """Return the address of an entry's file or table, if it still exists with the needed columns."""
    certificate = entry.certificate
    kept = str(certificate.get("kept_as", ""))
    if kept:
        return kept if set(_columns_at(kept, release)) >= set(release.source.quasi) else None
    target = ReleaseTarget.from_ledger_entry(certificate)
    if target is None or not target.file.is_file() or not _columns(certificate) >= set(release.source.quasi):
        return None
    return target.source


def _columns(certificate: Mapping[str, object]) -> set[str]:
    columns = certificate.get("columns")
    return set(columns) if isinstance(columns, dict) else set()


def _columns_at(kept: str, release: Release) -> Collection[str]:
    """Return the columns of a release that the engine keeps; none if it no longer exists."""
    try:
        return build_file_table(kept, {}, engine=release.policy.engine).columns
    except RequestError:
        return ()


def _read(name: str, file: str, release: Release) -> PublishedTable:
    engine = "duckdb" if Path(split_source(file)[0]).is_file() else release.policy.engine
    table = build_file_table(file, {}, engine=engine)
    lacking = [name for name in release.source.quasi if name not in table.columns]
    if lacking:
        raise RequestError(f"{name} has no column {lacking[0]}.", hint="Name another release of the table.")
    sensitive = [name for name in release.source.sensitive if name in table.columns]
    hierarchies = {each.name: each for each in release.hierarchies}
    person = release.source.person if release.source.person in table.columns else None
    with publisher(engine, {name: table}) as opened:
        return from_release(
            opened,
            name,
            quasi=release.source.quasi,
            sensitive=sensitive,
            hierarchies=hierarchies,
            person=person,
        )
