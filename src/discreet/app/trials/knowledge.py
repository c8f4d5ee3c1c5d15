"""Preparation of attacks on a published file: the attacker's knowledge, matched with the release.

The attacker knows a register, a victim's values, everybody in the original table, or only the release. The
first three are matched with the release by what its labels cover; in the last case everybody in the release
is known by class, the most that is possible without another table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from discreet.anonymity.hierarchies import Hierarchy, HierarchySpec, build_column_spec, read_hierarchy_csv
from discreet.anonymity.tuple_counts import count_combinations, count_tuples
from discreet.app.drafting.roles import likely_role
from discreet.app.publishing.counted_table import build_hierarchies, build_release_source
from discreet.app.publishing.table_request import build_file_table
from discreet.app.trials.attacked import Attacked
from discreet.app.trials.by_pseudonym import joined
from discreet.app.trials.meanings import declared_specs, meanings_of, over_covered
from discreet.app.trials.reading import matched
from discreet.app.trials.request import Request
from discreet.app.trials.table_attacks import Scene
from discreet.attacks import Fact
from discreet.attacks.counting import columns_of
from discreet.attacks.known import Known, Register, everybody, from_register
from discreet.attacks.match_sets import MatchSets, from_classes
from discreet.attacks.published import PublishedTable, from_release
from discreet.core.engine import Publisher
from discreet.core.errors import RequestError
from discreet.core.policy import Column, Role, Table

VICTIM = "the victim"
PICKS = "Every row that matches a person is assumed to be theirs with the same probability."
OVERLAP = (
    "Labels overlap here, so several classes may match a person. The highest belief is that of an attacker "
    "who finds the person's class by elimination: nobody who knows only quasi-identifiers learns more. The "
    "success rates are those of attackers who do not eliminate classes."
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Stage:
    """A scenario, with its knowledge, assumptions and unreadable labels in words."""

    scene: Scene
    knowledge: str
    assumed: tuple[str, ...]
    unread: tuple[str, ...] = ()
    joined: MatchSets | None = None


def staged(engine: Publisher, request: Request, about: Attacked) -> Stage:
    """Match release, knowledge and earlier release, and return the prepared attack."""
    published = _published(engine, about.name, about)
    facts = request.facts(about.sensitive)
    specs = _specs(request, about)
    meanings = meanings_of(published, specs)
    if request.knows is None and request.victim is None and about.original is None:
        return _by_class(
            request, published, Scene(sets=from_classes(published), meanings=meanings, facts=facts)
        )
    known, knowledge, assumed = _known(engine, request, about, published, facts)
    readable = replace(published, hierarchies=_hierarchies(request, specs, known))
    sets, unread = matched(readable, known, request.called, about.name)
    earlier: tuple[MatchSets, ...] = ()
    both = None
    if request.earlier is not None:
        name = _earlier_name(request)
        before = replace(_published(engine, name, about), hierarchies=readable.hierarchies)
        laid, more = matched(before, known, request.called_earlier, name)
        earlier, unread = (laid,), (*unread, *more)
        called = (request.called, request.called_earlier)
        both = joined(engine, about, name, known, readable.hierarchies, called)
        assumed = (
            *assumed,
            f"They have the earlier release {Path(request.earlier).name}, too.",
            *_same(both),
        )
    scene = Scene(
        sets=sets,
        meanings=meanings,
        facts=facts,
        earlier=earlier,
        everyone=request.victim is None,
    )
    return Stage(
        scene=scene,
        knowledge=knowledge,
        assumed=(*assumed, *_picks(sets), *_said(facts)),
        unread=unread,
        joined=both,
    )


def _same(both: MatchSets | None) -> tuple[str, ...]:
    if both is None:
        return ()
    return (f"{both.published.rows:,} people have the same pseudonym in both, and are joined by it.",)


def _picks(sets: MatchSets) -> tuple[str, ...]:
    return (PICKS,) if sets.overlap is None else (PICKS, OVERLAP)


def sources(request: Request, about: Attacked) -> tuple[dict[str, Table], dict[str, pa.Table]]:
    """Return the tables that an attack reads, by the names that messages use."""
    tables, frames = {about.name: about.table}, {}
    if request.earlier is not None:
        tables[_earlier_name(request)] = build_file_table(request.earlier, {}, engine=about.engine)
    values = request.victim_values
    if request.knows is not None:
        tables[_register_name(request)] = build_file_table(request.knows, {}, engine=about.engine)
    elif values is not None:
        frames[VICTIM] = pa.table({name: [value] for name, value in values.items()})
    elif about.original is not None and about.policy is not None:
        tables[about.original] = about.policy.tables[about.original]
    return tables, frames


def _published(engine: Publisher, name: str, about: Attacked) -> PublishedTable:
    person = about.person if about.person in columns_of(engine, name) else None
    return from_release(engine, name, quasi=about.quasi, sensitive=about.sensitive, person=person)


def _earlier_name(request: Request) -> str:
    return f"the earlier release {Path(request.earlier or '').name}"


def _register_name(request: Request) -> str:
    return f"the register {Path(request.knows or '').name}"


def _by_class(request: Request, published: PublishedTable, scene: Scene) -> Stage:
    """Return the prepared attack of an attacker who has only the release."""
    if request.earlier is not None:
        raise RequestError(
            "attack: combining two releases needs knowledge of who is in both.",
            hint="Name a register with --knows, or the --policy of the table that they were made from.",
        )
    return Stage(
        scene=scene,
        knowledge="everybody in the release by what their row shows, and that they are in it",
        assumed=(
            "There is no register and no original table: attackers know which class a person is in, and "
            "guesses are taken to be right as often as they are believed.",
            *_said(scene.facts),
        ),
    )


def _known(
    engine: Publisher,
    request: Request,
    about: Attacked,
    published: PublishedTable,
    facts: Mapping[str, Sequence[Fact]],
) -> tuple[Known, str, tuple[str, ...]]:
    """Return the attacker's knowledge, its description and its assumptions."""
    if request.knows is not None:
        return _register(engine, request, about, published, facts)
    values = request.victim_values
    if values is not None:
        known = from_register(engine, Register(table=VICTIM), published, *_others(request, facts))
        said = ", ".join(f"{name} {value}" for name, value in values.items())
        return known, f"of one person {said}", ("The person is in the release.",)
    assert about.policy is not None
    assert about.original is not None
    table = about.policy.tables[about.original]
    subject = build_release_source(about.original, table, ())
    combinations = count_combinations(engine, subject)
    hierarchies = build_hierarchies(combinations, table, about.policy)
    return (
        everybody(count_tuples(engine, combinations, hierarchies), hierarchies),
        f"everybody in {about.original} by all quasi-identifiers, and that they are in it",
        (
            "Attackers know everybody's quasi-identifiers as the table has them, which no register tells "
            "better; their guesses are scored by its sensitive values.",
        ),
    )


def _register(
    engine: Publisher,
    request: Request,
    about: Attacked,
    published: PublishedTable,
    facts: Mapping[str, Sequence[Fact]],
) -> tuple[Known, str, tuple[str, ...]]:
    """Return the knowledge from a register, its description and its assumptions."""
    name = _register_name(request)
    columns = build_file_table(request.knows or "", {}, engine=about.engine).columns
    truth = tuple(each for each in about.sensitive if each in columns)
    register = Register(
        table=name,
        person=person_of(columns),
        unit=request.person if request.person in columns else None,
        truth=truth,
        victim=request.victim_values,
    )
    known = from_register(engine, register, published, *_others(request, facts))
    whom = "" if request.victim is None else f", and of it {request.victim}"
    shared = ", ".join(known.columns)
    scored = (
        "Guesses are scored by the register's own values, which attackers do not have."
        if truth
        else "Guesses are taken to be right as often as they are believed, as the register has no truth."
    )
    return known, f"{name} with {shared}{whom}", ("The people of the register are in the release.", scored)


def person_of(columns: Mapping[str, Column]) -> str | None:
    """Return the column that names people: the first that is called a name, or another identifier."""
    named = [name for name in columns if likely_role(name) is Role.IDENTIFIER]
    return next((name for name in named if "name" in name.lower()), next(iter(named), None))


def _others(request: Request, facts: Mapping[str, Sequence[Fact]]) -> list[str]:
    """Return known columns besides the release's: renamed ones, and those that facts refer to."""
    about = [name for each in facts.values() for fact in each for name in fact.where]
    return [*request.called.values(), *request.called_earlier.values(), *about]


def _specs(request: Request, about: Attacked) -> dict[str, HierarchySpec]:
    """Return the hierarchies of columns: from files, else from the policy."""
    found: dict[str, HierarchySpec] = {}
    if about.policy is not None and about.original is not None:
        table = about.policy.tables[about.original]
        known = {name: table.columns[name] for name in about.quasi if name in table.columns}
        found = {name: build_column_spec(name, column, about.policy) for name, column in known.items()}
        # similarity needs declared meanings: a drafted hierarchy is only an order of the values
        found |= declared_specs(about.sensitive, table, about.policy)
    for name, file in request.hierarchy_files.items():
        if name not in (*about.quasi, *about.sensitive):
            raise RequestError(
                f"--hierarchy is about {name}, which is neither known nor sensitive in the release.",
                hint=f"Those are {', '.join((*about.quasi, *about.sensitive))}.",
            )
        found[name] = read_hierarchy_csv(name, Path(file))
    return found


def _hierarchies(request: Request, specs: Mapping[str, HierarchySpec], known: Known) -> dict[str, Hierarchy]:
    """Return the hierarchies over the known values."""
    release_name = {called: name for name, called in request.called.items()}
    found = {}
    for place, called in enumerate(known.columns):
        name = release_name.get(called, called)
        if name in specs:
            found[name] = over_covered(specs[name], known.values[place])
    return found


def _said(facts: Mapping[str, Sequence[Fact]]) -> list[str]:
    """Return each assumed fact as a sentence."""
    said = []
    for column, each in facts.items():
        for fact in each:
            whose = " and ".join(f"{name} {value}" for name, value in fact.where.items())
            often = "never have" if fact.times == 0 else f"have {fact.times:g} times as often as others"
            people = f"people with {whose}" if whose else "the people who are known"
            said.append(f"Attackers take it that {people} {often} {column} {fact.value}.")
    return said
