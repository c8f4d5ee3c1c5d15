"""Attacks on a published file: the attacker's knowledge is matched with the release, then every attack runs.

The attacker knows a register, a victim's values, everybody in the original table, or only the release. The
first three are matched with the release by what its labels cover; in the last case everybody in the release
is known by class, the most that is possible without another table. A release whose labels cannot be read is
refused; labels that are unreadable in part are reported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from discreet.anonymity.hierarchies import Hierarchy, HierarchySpec, build_column_spec, read_hierarchy_csv
from discreet.anonymity.tuple_counts import count_combinations, count_tuples
from discreet.attacks import Fact
from discreet.attacks.anonymization_criteria import compute_criteria
from discreet.attacks.attacker_knowledge import (
    AttackerKnowledge,
    Register,
    build_full_knowledge,
    read_register,
)
from discreet.attacks.class_matching import IllegibleColumn, find_illegible_columns, match_people
from discreet.attacks.engine_tables import list_columns
from discreet.attacks.match_sets import MatchSets, from_classes
from discreet.attacks.published_table import PublishedTable, read_release
from discreet.core.column_entry import Column, Role
from discreet.core.engine import Publisher
from discreet.core.errors import RequestError
from discreet.core.table_entry import Table
from discreet.services.attack.attack_request import AttackRequest
from discreet.services.attack.evaluation import AttackEvaluation, apply_bounds
from discreet.services.attack.table_attacks import (
    Scenario,
    attack_joined,
    attack_table,
    build_covering_hierarchy,
    build_sensitive_hierarchies,
    find_declared_specs,
)
from discreet.services.attack.target_release import (
    TargetRelease,
    join_releases,
    list_recorded_releases,
    resolve_release,
)
from discreet.services.policies import get_promise
from discreet.services.policy_draft.column_roles import guess_role
from discreet.services.progress import ProgressCallback
from discreet.services.publishers import open_publisher
from discreet.services.release_sources import build_hierarchies, build_release_source
from discreet.services.source_tables import build_file_table

VICTIM_TABLE = "the victim"
UNIFORM_PICK = "Every row that matches a person is assumed to be theirs with the same probability."
OVERLAP_NOTE = (
    "Labels overlap here, so several classes may match a person. The highest belief is that of an attacker "
    "who finds the person's class by elimination: nobody who knows only quasi-identifiers learns more. The "
    "success rates are those of attackers who do not eliminate classes."
)


@dataclass(frozen=True, kw_only=True, eq=False)
class PreparedAttack:
    """A scenario, with its knowledge, assumptions and unreadable labels in words."""

    scenario: Scenario
    knowledge: str
    assumptions: tuple[str, ...]
    unreadable_labels: tuple[str, ...] = ()
    joined_sets: MatchSets | None = None


def prepare_attack(engine: Publisher, request: AttackRequest, target: TargetRelease) -> PreparedAttack:
    """Match release, knowledge and earlier release, and return the prepared attack."""
    published = _read_published_table(engine, target.name, target)
    facts = request.parse_facts(target.sensitive)
    specs = _collect_hierarchy_specs(request, target)
    meanings = build_sensitive_hierarchies(published, specs)
    if request.knows is None and request.victim is None and target.original is None:
        return _prepare_class_attack(
            request, published, Scenario(sets=from_classes(published), hierarchies=meanings, facts=facts)
        )
    known, knowledge, assumed = _build_knowledge(engine, request, target, published, facts)
    readable = replace(published, hierarchies=_build_hierarchies(request, specs, known))
    sets, unread, plain = match_readable(readable, known, request.columns, target.name)
    earlier: tuple[MatchSets, ...] = ()
    both = None
    if request.earlier is not None:
        name = _name_earlier_release(request)
        before = replace(_read_published_table(engine, name, target), hierarchies=readable.hierarchies)
        laid, more_unread, more_plain = match_readable(before, known, request.earlier_columns, name)
        earlier, unread, plain = (laid,), (*unread, *more_unread), (*plain, *more_plain)
        called = (request.columns, request.earlier_columns)
        both = join_releases(engine, target, name, known, readable.hierarchies, called)
        assumed = (
            *assumed,
            f"They have the earlier release {Path(request.earlier).name}, too.",
            *_describe_shared_pseudonyms(both),
        )
    scene = Scenario(
        sets=sets,
        hierarchies=meanings,
        facts=facts,
        earlier=earlier,
        is_population=request.victim is None,
    )
    return PreparedAttack(
        scenario=scene,
        knowledge=knowledge,
        assumptions=(
            *assumed,
            *dict.fromkeys(plain),
            *_list_pick_assumptions(sets),
            *_describe_facts(facts),
        ),
        unreadable_labels=unread,
        joined_sets=both,
    )


def _describe_shared_pseudonyms(joined_sets: MatchSets | None) -> tuple[str, ...]:
    if joined_sets is None:
        return ()
    return (f"{joined_sets.published.rows:,} people have the same pseudonym in both, and are joined by it.",)


def _list_pick_assumptions(sets: MatchSets) -> tuple[str, ...]:
    return (UNIFORM_PICK,) if sets.overlap is None else (UNIFORM_PICK, OVERLAP_NOTE)


def collect_sources(
    request: AttackRequest, target: TargetRelease
) -> tuple[dict[str, Table], dict[str, pa.Table]]:
    """Return the tables that an attack reads, by the names that messages use."""
    tables, frames = {target.name: target.table}, {}
    if request.earlier is not None:
        tables[_name_earlier_release(request)] = build_file_table(request.earlier, {}, engine=target.engine)
    values = request.victim
    if request.knows is not None:
        tables[_name_register(request)] = build_file_table(request.knows, {}, engine=target.engine)
    elif values is not None:
        frames[VICTIM_TABLE] = pa.table({name: [value] for name, value in values.items()})
    elif target.original is not None and target.policy is not None:
        tables[target.original] = target.policy.tables[target.original]
    return tables, frames


def _read_published_table(engine: Publisher, name: str, target: TargetRelease) -> PublishedTable:
    person = target.person_column if target.person_column in list_columns(engine, name) else None
    return read_release(
        engine, name, quasi=target.quasi_identifiers, sensitive=target.sensitive, person=person
    )


def _name_earlier_release(request: AttackRequest) -> str:
    return f"the earlier release {Path(request.earlier or '').name}"


def _name_register(request: AttackRequest) -> str:
    return f"the register {Path(request.knows or '').name}"


def _prepare_class_attack(
    request: AttackRequest, published: PublishedTable, scenario: Scenario
) -> PreparedAttack:
    """Return the prepared attack of an attacker who has only the release."""
    if request.earlier is not None:
        raise RequestError(
            "attack: combining two releases needs knowledge of who is in both.",
            hint="Name a register with `knows=`, or the `policy=` of the table that they were made from.",
        )
    return PreparedAttack(
        scenario=scenario,
        knowledge="everybody in the release by what their row shows, and that they are in it",
        assumptions=(
            "There is no register and no original table: attackers know which class a person is in, and a "
            "guess is taken to be right as often as it is believed.",
            *_describe_facts(scenario.facts),
        ),
    )


def _build_knowledge(
    engine: Publisher,
    request: AttackRequest,
    target: TargetRelease,
    published: PublishedTable,
    facts: Mapping[str, Sequence[Fact]],
) -> tuple[AttackerKnowledge, str, tuple[str, ...]]:
    """Return the attacker's knowledge, its description and its assumptions."""
    if request.knows is not None:
        return _read_register_knowledge(engine, request, target, published, facts)
    values = request.victim
    if values is not None:
        known = read_register(
            engine, Register(table=VICTIM_TABLE), published, *_list_extra_columns(request, facts)
        )
        said = ", ".join(f"{name} {value}" for name, value in values.items())
        return known, f"of one person {said}", ("The person is in the release.",)
    assert target.policy is not None
    assert target.original is not None
    table = target.policy.tables[target.original]
    subject = build_release_source(target.original, table, ())
    combinations = count_combinations(engine, subject)
    hierarchies = build_hierarchies(combinations, table, target.policy)
    return (
        build_full_knowledge(count_tuples(engine, combinations, hierarchies), hierarchies),
        f"everybody in {target.original} by all quasi-identifiers, and that they are in it",
        (
            "Attackers know everybody's quasi-identifiers exactly as the table has them; no register tells "
            "more. Guesses are scored by the table's sensitive values.",
        ),
    )


def _read_register_knowledge(
    engine: Publisher,
    request: AttackRequest,
    target: TargetRelease,
    published: PublishedTable,
    facts: Mapping[str, Sequence[Fact]],
) -> tuple[AttackerKnowledge, str, tuple[str, ...]]:
    """Return the knowledge from a register, its description and its assumptions."""
    name = _name_register(request)
    columns = build_file_table(request.knows or "", {}, engine=target.engine).columns
    truth = tuple(each for each in target.sensitive if each in columns)
    register = Register(
        table=name,
        name_column=find_name_column(columns),
        person_id=request.person if request.person in columns else None,
        truth=truth,
        victim=request.victim,
    )
    known = read_register(engine, register, published, *_list_extra_columns(request, facts))
    whom = "" if request.victim is None else f", and look for {_format_victim(request.victim)}"
    shared = ", ".join(known.columns)
    scored = (
        "Guesses are scored by the register's own values, which attackers do not have."
        if truth
        else "The register has no true values: a guess is taken to be right as often as it is believed."
    )
    return known, f"{name} with {shared}{whom}", ("The people of the register are in the release.", scored)


def find_name_column(columns: Mapping[str, Column]) -> str | None:
    """Return the column that names people: the first that is called a name, or another identifier."""
    named = [name for name in columns if guess_role(name) is Role.IDENTIFIER]
    return next((name for name in named if "name" in name.lower()), next(iter(named), None))


def _format_victim(victim: Mapping[str, str]) -> str:
    return ",".join(f"{name}={value}" for name, value in victim.items())


def _list_extra_columns(request: AttackRequest, facts: Mapping[str, Sequence[Fact]]) -> list[str]:
    """Return known columns besides the release's: renamed ones, and those that facts refer to."""
    about = [name for each in facts.values() for fact in each for name in fact.where]
    return [*request.columns.values(), *request.earlier_columns.values(), *about]


def _collect_hierarchy_specs(request: AttackRequest, target: TargetRelease) -> dict[str, HierarchySpec]:
    """Return the hierarchies of columns: from files, else from the policy."""
    found: dict[str, HierarchySpec] = {}
    if target.policy is not None and target.original is not None:
        table = target.policy.tables[target.original]
        known = {name: table.columns[name] for name in target.quasi_identifiers if name in table.columns}
        found = {name: build_column_spec(name, column, target.policy) for name, column in known.items()}
        # similarity needs declared meanings: a drafted hierarchy is only an order of the values
        found |= find_declared_specs(target.sensitive, table, target.policy)
    for name, file in request.hierarchies.items():
        if name not in (*target.quasi_identifiers, *target.sensitive):
            raise RequestError(
                f"`hierarchies=` is about {name}, which is neither known nor sensitive in the release.",
                hint=f"Those are {', '.join((*target.quasi_identifiers, *target.sensitive))}.",
            )
        found[name] = read_hierarchy_csv(name, Path(file))
    return found


def _build_hierarchies(
    request: AttackRequest, specs: Mapping[str, HierarchySpec], known: AttackerKnowledge
) -> dict[str, Hierarchy]:
    """Return the hierarchies over the known values."""
    release_name = {called: name for name, called in request.columns.items()}
    found = {}
    for place, called in enumerate(known.columns):
        name = release_name.get(called, called)
        if name in specs:
            found[name] = build_covering_hierarchy(specs[name], known.values[place])
    return found


def _describe_facts(facts: Mapping[str, Sequence[Fact]]) -> list[str]:
    """Return each assumed fact as a sentence."""
    said = []
    for column, each in facts.items():
        for fact in each:
            whose = " and ".join(f"{name} {value}" for name, value in fact.where.items())
            often = "never have" if fact.times == 0 else f"have {fact.times:g} times as often as others"
            people = f"people with {whose}" if whose else "the people who are known"
            said.append(f"Attackers assume that {people} {often} {column} {fact.value}.")
    return said


def match_readable(
    published: PublishedTable, known: AttackerKnowledge, columns: Mapping[str, str], name: str
) -> tuple[MatchSets, tuple[str, ...], tuple[str, ...]]:
    """Return match sets, sentences on unreadable labels, and assumptions about others.

    Raises RequestError if nothing could match.
    """
    found = find_illegible_columns(published, known, columns)
    _refuse_illegible([each for each in found if each.is_wholly_illegible], name)
    sets = match_people(published, known, columns)
    if not sets.people.any():
        _refuse_illegible(found, name)
    plain = [each for each in found if each.sole_value is not None]
    return (
        sets,
        tuple(_describe_illegible(each, name) for each in found if each not in plain),
        tuple(_describe_plain(each) for each in plain),
    )


def _refuse_illegible(illegible_columns: Sequence[IllegibleColumn], name: str) -> None:
    for each in illegible_columns:
        if each.kind is not None:
            raise RequestError(
                f"attack: {name} has {each.kind} in {each.column}, and the known values of "
                f"{each.known_column} have none.",
                hint=f'Check it, or name another column of a register: `columns="{each.column}=NAME"`.',
            )
    if illegible_columns:
        columns = ", ".join(each.column for each in illegible_columns)
        raise RequestError(
            f"attack: the labels of {columns} in {name} are not known values, and no hierarchy says what "
            "they cover.",
            hint=f"Give {' '.join(map(_format_hierarchy_argument, illegible_columns))} or the "
            "`policy=`; if labels are plain values, spell known ones the same way.",
        )


def _format_hierarchy_argument(column: IllegibleColumn) -> str:
    return f'`hierarchies="{column.column}=FILE"`'


def _describe_illegible(column: IllegibleColumn, name: str) -> str:
    return (
        f"{column.illegible} of the {column.total} labels of {column.column} in {name} could not be read and "
        f"match nobody here; if they are groups, give a hierarchy of {column.column}."
    )


def _describe_plain(column: IllegibleColumn) -> str:
    return (
        f"Labels of {column.column} other than {column.sole_value} are taken to be other values, not groups "
        "that hold it."
    )


def attack_published_table(request: AttackRequest, report_progress: ProgressCallback) -> AttackEvaluation:
    """Run every attack that applies to a published table."""
    about = resolve_release(request)
    tables, frames = collect_sources(request, about)
    report_progress("matching people and rows")
    with open_publisher(about.engine, tables, frames) as engine:
        stage = prepare_attack(engine, request, about)
        report_progress("attacking")
        runs, skipped = attack_table(replace(stage.scenario, recorded_releases=list_recorded_releases(about)))
        if stage.joined_sets is not None:
            runs = (*runs, *attack_joined(stage.joined_sets))
        found = compute_criteria(stage.scenario.sets, stage.scenario.columns)
    bounds = (*about.bounds, *request.bounds)
    policy = about.policy
    return AttackEvaluation(
        subject=about.name,
        knowledge=stage.knowledge,
        runs=apply_bounds(runs, bounds),
        skipped=skipped,
        criteria=found,
        promise=None if policy is None or policy.promise is None else get_promise(policy),
        assumptions=stage.assumptions,
        remarks=about.remarks,
        unreadable_labels=stage.unreadable_labels,
        sha256=about.sha256,
        policy=policy,
    )
