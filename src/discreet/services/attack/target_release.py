"""The release under attack: a published file, the roles of its columns, and the table it was made from.

Columns     the options' roles; else those of the certificate beside the file; else those of the policy's
            table.
Original    the policy's table that the certificate names, or the only one with all quasi-identifiers.
Earlier     releases are joined with it by a pseudonym that both have.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from discreet.anonymity.hierarchies import Hierarchy
from discreet.attacks import Homogeneity
from discreet.attacks.attacker_knowledge import AttackerKnowledge
from discreet.attacks.class_matching import match_people
from discreet.attacks.engine_tables import list_columns
from discreet.attacks.match_sets import MatchSets
from discreet.attacks.published_table import read_release
from discreet.core.column_entry import Role
from discreet.core.engine import Publisher
from discreet.core.errors import RequestError
from discreet.core.policy import Policy
from discreet.core.release_target import split_source
from discreet.core.sql_quoting import quote_identifier
from discreet.core.table_entry import Table
from discreet.engines.duckdb_publisher import DuckDBPublisher
from discreet.engines.engine_spec import PATH_SUFFIXES
from discreet.services.attack.attack_request import AttackRequest
from discreet.services.attack.evaluation import BeliefBound, bound_from_json
from discreet.services.ledgers import open_ledger_readonly
from discreet.services.policies import load_policy
from discreet.services.source_tables import build_file_table, choose_engine

Certificate = Mapping[str, object]
JOINED_TABLE = "both releases"


@dataclass(frozen=True, kw_only=True)
class TargetRelease:
    """A release: a file, or a table of the engine, which has no digest.

    `original` is the policy's table that it was made from, if known.
    """

    name: str
    sha256: str | None
    table: Table
    quasi_identifiers: tuple[str, ...]
    sensitive: tuple[str, ...]
    engine: str = "duckdb"
    policy: Policy | None = None
    original: str | None = None
    person_column: str | None = None
    pseudonym_column: str | None = None
    bounds: tuple[BeliefBound, ...] = ()
    remarks: tuple[str, ...] = ()


def list_recorded_releases(target: TargetRelease) -> tuple[str, ...]:
    """Return the names of other releases of the same table that the policy's ledger records."""
    if target.policy is None or target.policy.promise is None or target.original is None:
        return ()
    with open_ledger_readonly(target.policy) as ledger:
        others = [
            each.name
            for each in ledger.list_releases()
            if each.certificate.get("table") == target.original and each.name != target.name
        ]
    return tuple(dict.fromkeys(others))


def resolve_release(request: AttackRequest) -> TargetRelease:
    """Return the release that the request names, with the roles of its columns."""
    if request.knows is None and (request.columns or request.earlier_columns):
        raise RequestError(
            "attack: `columns=` maps a column to a register, and there is no register.",
            hint="Name it with `knows=`.",
        )
    policy = None
    if request.policy is not None:
        policy = load_policy(request.policy, engine=request.engine)
    engine = choose_engine(policy, request.engine)
    table = build_file_table(request.release, {}, engine=engine)
    name, certificate = Path(request.release).name, read_certificate(request.release)
    original = _find_original_table(request, policy, certificate, table)
    quasi, sensitive = _resolve_roles(request, policy, original, certificate)
    if not quasi:
        raise RequestError(
            f"attack: no column of {name} is known to be a quasi-identifier.",
            hint='Name them with `quasi="a,b"` and the secret ones with `sensitive="c"`, or give the '
            "`policy=`.",
        )
    person = request.person or _find_person_column(policy, original, table)
    _require_person_column(request, person, table, engine)
    for column in (*quasi, *sensitive):
        if column not in table.columns:
            raise RequestError(
                f"attack: {name} has no column {column}.", hint=f"It has {', '.join(table.columns)}."
            )
    digest = compute_sha256(table.source)
    return TargetRelease(
        name=name,
        sha256=digest,
        table=table,
        engine=engine,
        quasi_identifiers=quasi,
        sensitive=sensitive,
        policy=policy,
        original=original,
        person_column=person if person in table.columns else None,
        pseudonym_column=_find_pseudonym_column(person, certificate, table),
        bounds=_read_bounds(certificate, counts_people=person in table.columns),
        remarks=(
            *_list_certificate_remarks(digest, certificate),
            *_describe_unit(policy, original, certificate, person, table),
        ),
    )


def read_certificate(release: str | Path) -> Certificate:
    """Return the certificate beside a published file, or an empty mapping if there is none."""
    file, inner = split_source(str(release))
    stem = Path(file).stem if Path(file).suffix.lower() in PATH_SUFFIXES else Path(file).name
    own = stem if inner in ("", stem) else f"{stem}.{inner}"
    beside = Path(file).with_name(f"{own}.certificate.json")
    if not beside.is_file():
        return {}
    try:
        found = json.loads(beside.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        found = None
    if not isinstance(found, dict):
        raise RequestError(
            f"{beside} is not a certificate.", hint="Remove it, or put the release's own there."
        )
    return found


def _find_original_table(
    request: AttackRequest, policy: Policy | None, certificate: Certificate, table: Table
) -> str | None:
    """Return the policy's table that the release was made from, or None."""
    if request.table is not None:
        if policy is None or request.table not in policy.tables:
            known = "There is no policy" if policy is None else f"It has {', '.join(policy.tables)}"
            raise RequestError(f"attack: the policy has no table {request.table}.", hint=f"{known}.")
        return request.table
    if policy is None:
        return None
    if certificate.get("table") in policy.tables:
        return str(certificate["table"])
    # of several tables that fit, a guess would judge the release by other people's rows
    fitting = [name for name, each in policy.tables.items() if _has_quasi_identifiers(each, table)]
    return fitting[0] if len(fitting) == 1 else None


def _has_quasi_identifiers(original: Table, published: Table) -> bool:
    """Return whether a release has all quasi-identifiers of a table."""
    quasi = [name for name, column in original.columns.items() if column.role is Role.QUASI]
    return bool(quasi) and all(name in published.columns for name in quasi)


def _resolve_roles(
    request: AttackRequest, policy: Policy | None, original: str | None, certificate: Certificate
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the quasi-identifiers and the sensitive columns; options override other sources."""
    roles: dict[str, str] = {}
    declared = certificate.get("columns")
    # the certificate describes this file; the policy may have changed since it was published
    if isinstance(declared, dict):
        roles = {
            name: str(each.get("role"))
            for name, each in declared.items()
            if each.get("published") != "left out"
        }
    elif policy is not None and original is not None:
        roles = {name: column.role.value for name, column in policy.tables[original].columns.items()}
    roles |= dict.fromkeys(request.quasi, Role.QUASI.value)
    both = [name for name in request.sensitive if name in request.quasi]
    if both:
        raise RequestError(f"{both[0]} is both a quasi-identifier and sensitive.", hint="Name it in one.")
    roles |= dict.fromkeys(request.sensitive, Role.SENSITIVE.value)
    quasi, sensitive = (
        tuple(name for name, each in roles.items() if each == role.value)
        for role in (Role.QUASI, Role.SENSITIVE)
    )
    return quasi, sensitive


def _read_bounds(certificate: Certificate, *, counts_people: bool) -> tuple[BeliefBound, ...]:
    """Return the certificate's bounds that apply to what is counted here, rows or people.

    A share of people with a value is not a share of rows, because one person may have many rows. The set of
    values in a class and its minimum number of rows are the same for both.
    """
    entries = certificate.get("bounds")
    bounds = [bound_from_json(entry) for entry in entries] if isinstance(entries, list) else []
    same = counts_people or certificate.get("unit") != "person"
    return tuple(each for each in bounds if same or each.column is None or each.attack == Homogeneity.name)


def compute_sha256(source: str | Path) -> str | None:
    """Return the SHA-256 of a file, also for a table inside it; None for an engine's table."""
    place = split_source(str(source))[0]
    if not os.path.isfile(place):
        return None
    with open(place, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _list_certificate_remarks(digest: str | None, certificate: Certificate) -> tuple[str, ...]:
    """Return remarks about a certificate that does not match the file or was forced."""
    remarks = []
    if digest is not None and certificate.get("sha256") not in (None, digest):
        remarks.append("The certificate beside the release belongs to a file with other content.")
    if certificate.get("forced"):
        remarks.append("It was published by force, so that bounds of its certificate may be broken.")
    return tuple(remarks)


def _find_person_column(policy: Policy | None, original: str | None, table: Table) -> str | None:
    """Return the original's person column if the release has it, as with pseudonyms."""
    if policy is None or original is None:
        return None
    named = policy.tables[original].person_column
    return named if named in table.columns else None


def _find_pseudonym_column(person: str | None, certificate: Certificate, table: Table) -> str | None:
    """Return the column that joins rows of two releases: the person's, or one declared as pseudonym."""
    entries = certificate.get("pseudonyms")
    declared = [str(each.get("column")) for each in entries] if isinstance(entries, list) else []
    return next((name for name in (person, *declared) if name is not None and name in table.columns), None)


def _require_person_column(request: AttackRequest, person: str | None, table: Table, engine: str) -> None:
    """Raise RequestError for a person column that neither the release nor the register has."""
    if person is None or person in table.columns:
        return
    if request.knows is None or person not in build_file_table(request.knows, {}, engine=engine).columns:
        name = Path(request.release).name
        raise RequestError(
            f"attack: neither {name} nor a register has a column {person}.",
            hint=f"{name} has {', '.join(table.columns)}.",
        )


def _describe_unit(
    policy: Policy | None, original: str | None, certificate: Certificate, person: str | None, table: Table
) -> tuple[str, ...]:
    """Return a remark on whether rows or people are counted, if a person may have several rows."""
    if person in table.columns:
        return (f"People are counted, not rows: rows with the same {person} are one person's.",)
    declared = None if policy is None or original is None else policy.tables[original]
    several = declared is not None and declared.person_column is not None and declared.rows_per_person != 1
    if several or certificate.get("unit") == "person":
        return (
            "Rows are counted, although people may have several: nothing in the release says which rows "
            "belong to one person. The figures of anonymize count people, so they differ, and its bounds on "
            "beliefs in values are not compared with rows.",
        )
    return ()


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
    # distinct, so that several earlier rows of a person do not multiply those of the release
    once = ", ".join(map(quote_identifier, (key, *earlier_labels)))
    return (
        f"SELECT {ours}, {theirs} FROM {quote_identifier(target.name)} AS a "
        f"JOIN (SELECT DISTINCT {once} FROM {quote_identifier(earlier)}) AS b ON a.{by} = b.{by}"
    )
