"""Evaluation of a release before it is written, against an attacker who knows everybody's quasi-identifiers.

Nobody can know more about quasi-identifiers, so the result holds for every register. Earlier releases of the
same table whose files still exist are combined with the new one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from discreet.accounting.entries import NonPrivateRelease
from discreet.anonymity.equivalence_classes import Integers, Tuples
from discreet.anonymity.recoding import group_by_recoding
from discreet.attacks.anonymization_criteria import compute_criteria
from discreet.attacks.attacker_knowledge import build_full_knowledge
from discreet.attacks.class_matching import match_people
from discreet.attacks.match_sets import from_known_classes
from discreet.attacks.published_table import PublishedTable, from_recoding, read_release
from discreet.core.errors import RequestError
from discreet.core.policy import Policy
from discreet.core.release_target import ReleaseTarget, split_source
from discreet.services.addresses import parse_engine_address
from discreet.services.anonymize.release import Release
from discreet.services.anonymize.release_goal import APART
from discreet.services.attack.evaluation import (
    AttackEvaluation,
    apply_bounds,
    bound_from_option,
    count_ruled_out_values,
    derive_model_bounds,
)
from discreet.services.attack.table_attacks import (
    Scenario,
    attack_table,
    build_sensitive_hierarchies,
    find_declared_specs,
)
from discreet.services.ledgers import open_ledger_readonly
from discreet.services.policies import get_promise
from discreet.services.publishers import open_publisher
from discreet.services.source_tables import build_file_table

KNOWLEDGE = "everybody in the table by all quasi-identifiers, and that they are in it"


ASSUMPTIONS = (
    "Attackers know everybody's quasi-identifiers exactly as the table has them; no register tells more.",
    "Every row that matches a person is assumed to be theirs with the same probability.",
    "Guesses are scored by the table's own sensitive values, which attackers do not have.",
)


OVERLAP_NOTE = (
    "Labels overlap here: attackers are assumed to find everybody's class by elimination, as an attacker who "
    "knows everybody may."
)


def evaluate_release(
    release: Release,
    policy: Policy,
    *,
    at_most: float | None = None,
    other_releases: Iterable[str | Path] = (),
) -> AttackEvaluation:
    """Run the attacks that apply on a release that is not written yet."""
    published = from_recoding(
        release.tuples, release.attacker_recoding, release.hierarchies, release.source.person
    )
    known = build_full_knowledge(release.tuples, release.hierarchies)
    apart = release.goal.method in APART
    sets = (
        match_people(published, known)
        if apart
        else from_known_classes(published, known, _find_published_classes(release))
    )
    entries = _list_earlier_releases(release, policy)
    tables = _read_other_releases(release, entries, other_releases)
    scene = Scenario(
        sets=sets,
        hierarchies=build_sensitive_hierarchies(
            published, find_declared_specs(release.source.sensitive, release.table, policy)
        ),
        ruled_out=count_ruled_out_values(release.goal.models),
        earlier=tuple(match_people(each, known) for each in tables.values()),
    )
    runs, skipped = attack_table(scene)
    bounds = derive_model_bounds(
        release.goal.models, _largest_shares(release.tuples), release.multivalued_columns
    )
    return AttackEvaluation(
        subject=release.name,
        knowledge=KNOWLEDGE,
        runs=apply_bounds(runs, (*bounds, *bound_from_option(at_most))),
        skipped=skipped,
        criteria=compute_criteria(sets, scene.columns),
        promise=None if policy.promise is None else get_promise(policy),
        assumptions=(
            *ASSUMPTIONS,
            *(() if apart else (OVERLAP_NOTE,)),
            *(_describe_other_release(name, table, release) for name, table in tables.items()),
            *_describe_uncombined_releases(release, entries),
            *_describe_shared_pseudonyms(release, entries),
        ),
    )


def _find_published_classes(release: Release) -> Integers:
    """Return the class in which each tuple of the table is published."""
    return group_by_recoding(release.tuples, release.attacker_recoding)[1][release.tuples.counts > 0]


def _largest_shares(tuples: Tuples) -> dict[str, float]:
    """Return the share of each column's commonest value in the table."""
    return {
        name: int(column.totals.max()) / int(column.totals.sum()) for name, column in tuples.sensitive.items()
    }


def _list_earlier_releases(release: Release, policy: Policy) -> list[NonPrivateRelease]:
    """Return the ledger's releases of the same table."""
    if policy.promise is None:
        return []
    with open_ledger_readonly(policy) as ledger:
        return [each for each in ledger.list_releases() if each.certificate.get("table") == release.name]


def _read_other_releases(
    release: Release, entries: Iterable[NonPrivateRelease], named: Iterable[str | Path]
) -> dict[str, PublishedTable]:
    """Return other releases of the same table: named ones, and those whose files still exist."""
    engine = parse_engine_address(release.policy.engine)
    files = {engine.source_from_name(str(each)): Path(each).name for each in named}
    files |= {file: each.name for each in entries if (file := _find_release_file(each, release))}
    often = Counter(files.values())
    names = {file: name if often[name] == 1 else file for file, name in files.items()}
    return {name: _read_published_table(name, file, release) for file, name in names.items()}


def _describe_other_release(name: str, table: PublishedTable, release: Release) -> str:
    several = release.source.person is not None and table.person is None
    rows = " Of it rows are counted, as it does not show which of them are one person's." if several else ""
    return f"They have the release {name}, too.{rows}"


def _describe_uncombined_releases(release: Release, entries: Iterable[NonPrivateRelease]) -> list[str]:
    """Return sentences on releases of the same table that could not be combined with this one."""
    names = dict.fromkeys(each.name for each in entries if _find_release_file(each, release) is None)
    return [
        f"What the release {name} tells besides was not tried: its file is not where it was written, or "
        "lacks a column."
        for name in names
    ]


def _describe_shared_pseudonyms(release: Release, entries: Iterable[NonPrivateRelease]) -> list[str]:
    """Return sentences on releases with pseudonyms of the same key, whose rows can be joined."""
    ours = {(each.column, each.fingerprint) for each in release.goal.pseudonyms}
    names = [each.name for each in entries if ours & _read_pseudonyms(each.certificate)]
    return [
        f"The release {name} shows the same pseudonyms, so the rows of a person in both can be joined. That "
        "was not tried here: an attack on both does it once they are written. Another key prevents it."
        for name in dict.fromkeys(names)
    ]


def _read_pseudonyms(certificate: Mapping[str, object]) -> set[tuple[str, str]]:
    entries = certificate.get("pseudonyms")
    return {(each["column"], each["key"]) for each in entries} if isinstance(entries, list) else set()


def _find_release_file(entry: NonPrivateRelease, release: Release) -> str | None:
    """Return the address of an entry's file or table, if it still exists with the needed columns."""
    certificate = entry.certificate
    kept = str(certificate.get("kept_as", ""))
    if kept:
        return kept if set(_list_stored_columns(kept, release)) >= set(release.source.quasi) else None
    target = ReleaseTarget.from_ledger_entry(certificate)
    if (
        target is None
        or not target.file.is_file()
        or not _read_certificate_columns(certificate) >= set(release.source.quasi)
    ):
        return None
    return target.source


def _read_certificate_columns(certificate: Mapping[str, object]) -> set[str]:
    columns = certificate.get("columns")
    return set(columns) if isinstance(columns, dict) else set()


def _list_stored_columns(address: str, release: Release) -> Collection[str]:
    """Return the columns of a release that the engine keeps; none if it no longer exists."""
    try:
        return build_file_table(address, {}, engine=release.policy.engine).columns
    except RequestError:
        return ()


def _read_published_table(name: str, file: str, release: Release) -> PublishedTable:
    engine = "duckdb" if Path(split_source(file)[0]).is_file() else release.policy.engine
    table = build_file_table(file, {}, engine=engine)
    lacking = [name for name in release.source.quasi if name not in table.columns]
    if lacking:
        raise RequestError(f"{name} has no column {lacking[0]}.", hint="Name another release of the table.")
    sensitive = [name for name in release.source.sensitive if name in table.columns]
    hierarchies = {each.name: each for each in release.hierarchies}
    person = release.source.person if release.source.person in table.columns else None
    with open_publisher(engine, {name: table}) as opened:
        return read_release(
            opened,
            name,
            quasi=release.source.quasi,
            sensitive=sensitive,
            hierarchies=hierarchies,
            person=person,
        )
