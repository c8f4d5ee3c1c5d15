"""Every attack that applies to a published table with the given knowledge, and why others are skipped.

Columns     attacks on sensitive values run once for each sensitive column.
People      if a person has several rows, and so several values of a column, ruling some out leaves no
            probability: attacks that compute one are skipped.
Pseudonyms  two releases with the same pseudonyms are joined by them, and attacked as one release over the
            people in both: each has the labels of both, and known values must match both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from discreet.anonymity.equivalence_classes import Integers
from discreet.anonymity.hierarchies import Hierarchy, HierarchySpec, build_column_hierarchy, build_column_spec
from discreet.anonymity.hierarchies.label_parsing import parse_number
from discreet.attacks import (
    ATTACKS,
    BackgroundKnowledge,
    Birthday,
    ClassInference,
    Fact,
    Homogeneity,
    Intersection,
    Linkage,
    Similarity,
    Skewness,
    Uniqueness,
)
from discreet.attacks.class_matching import eliminate_classes, merge_strongest
from discreet.attacks.findings import Findings
from discreet.attacks.match_sets import MatchSets
from discreet.attacks.published_table import PublishedTable
from discreet.core.errors import DataError
from discreet.core.hierarchy_entry import MissingValues
from discreet.core.policy import Policy
from discreet.core.table_entry import Table
from discreet.services.attack.evaluation import AttackRun, SkippedAttack, skip_attack

DEFAULT_RULED_OUT = 1
NO_EARLIER_RELEASE = "no earlier release is given: name an earlier one, too"
NO_SENSITIVE_COLUMN = "the release has no sensitive column"
REPEATED_VALUES = "people have several values of {column}, so ruling some out leaves no belief in another"
DIFFERENT_UNITS = "one release counts people, the other rows"
BY_PSEUDONYM = "by pseudonym"
Outcome = AttackRun | SkippedAttack


@dataclass(frozen=True, kw_only=True, eq=False)
class Scenario:
    """Known people and their match sets, with further knowledge.

    `hierarchies` are those of sensitive columns, `facts` what is known about their values, `ruled_out` how
    many values an attacker without facts rules out. `earlier` are the match sets of the same people in
    earlier releases, `recorded_releases` the names of those that the ledger has and that are not among them.
    `is_population` is False if the people are one victim.
    """

    sets: MatchSets
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    facts: Mapping[str, tuple[Fact, ...]] = field(default_factory=dict)
    ruled_out: Mapping[str, int] = field(default_factory=dict)
    earlier: tuple[MatchSets, ...] = ()
    recorded_releases: tuple[str, ...] = ()
    is_population: bool = True

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.sets.published.classes.sensitive)

    def has_repeated_values(self, column: str) -> bool:
        """Return whether people have several values of a column, so that its counts exceed people."""
        found = self.sets.published.classes.sensitive[column]
        return int(found.counts.sum()) != self.sets.published.rows

    def has_known_repeated_values(self, column: str) -> bool:
        """Return the same for the known people, whose rows the release may not connect."""
        known = self.sets.known
        found = known.tuples.sensitive.get(column)
        return found is not None and int(found.counts.sum()) > known.people


def attack_table(scenario: Scenario) -> tuple[tuple[AttackRun, ...], tuple[SkippedAttack, ...]]:
    """Return the runs and the skipped attacks, in the order of `ATTACKS`."""
    outcomes = [outcome for attack in ATTACKS for outcome in _run_attack(attack, scenario)]
    return (
        tuple(each for each in outcomes if isinstance(each, AttackRun)),
        tuple(dict.fromkeys(each for each in outcomes if isinstance(each, SkippedAttack))),
    )


def _run_attack(attack: type[Any], scenario: Scenario) -> Iterator[Outcome]:
    if attack in PEOPLE_ATTACKS:
        yield PEOPLE_ATTACKS[attack](scenario)
    elif attack in COLUMN_ATTACKS:
        if not scenario.columns:
            yield SkippedAttack(name=attack.name, reason=NO_SENSITIVE_COLUMN)
        for column in scenario.columns:
            yield COLUMN_ATTACKS[attack](scenario, column)
    elif attack in PAIR_ATTACKS:
        yield from _run_pair_attacks(attack, scenario)
    else:
        yield skip_attack(attack)


def _run_with_elimination(scenario: Scenario, attack: Any, parts: Integers | None = None) -> Findings:
    """Return an attack's findings, with the belief after elimination of classes where labels overlap."""
    found: Findings = attack.run(scenario.sets)
    told = eliminate_classes(scenario.sets, parts)
    return found if told is None else merge_strongest(found, attack.run(told))


def _run_linkage(scenario: Scenario) -> Outcome:
    return AttackRun(findings=_run_with_elimination(scenario, Linkage()))


def _run_uniqueness(scenario: Scenario) -> Outcome:
    if not scenario.is_population:
        return SkippedAttack(
            name=Uniqueness.name, reason="it is about a whole register, and one victim was named"
        )
    known = scenario.sets.known
    return AttackRun(findings=Uniqueness(columns=known.columns).run(known.tuples.counts))


def _run_homogeneity(scenario: Scenario, column: str) -> Outcome:
    return AttackRun(findings=_run_with_elimination(scenario, Homogeneity(column=column)), column=column)


def _run_background_knowledge(scenario: Scenario, column: str) -> Outcome:
    facts = scenario.facts.get(column, ())
    if scenario.has_repeated_values(column) or (scenario.has_known_repeated_values(column) and not facts):
        return SkippedAttack(name=BackgroundKnowledge.name, reason=REPEATED_VALUES.format(column=column))
    attack = BackgroundKnowledge(
        column=column, facts=facts, ruled_out=scenario.ruled_out.get(column, DEFAULT_RULED_OUT)
    )
    parts = attack.group_by_facts(scenario.sets)[0] if attack.facts else None
    return AttackRun(findings=_run_with_elimination(scenario, attack, parts), column=column)


def _run_similarity(scenario: Scenario, column: str) -> Outcome:
    hierarchy, names = scenario.hierarchies.get(column), scenario.sets.names(column)
    if hierarchy is None and any(parse_number(name) is None for name in names):
        why = f"nothing says which values of {column} are similar: give a hierarchy of {column}"
        return SkippedAttack(name=Similarity.name, reason=why)
    try:
        return AttackRun(
            findings=_run_with_elimination(scenario, Similarity(column=column, hierarchy=hierarchy)),
            column=column,
        )
    except DataError as error:
        return SkippedAttack(name=Similarity.name, reason=error.message.removeprefix("attack: ").rstrip("."))


def _run_skewness(scenario: Scenario, column: str) -> Outcome:
    return AttackRun(findings=_run_with_elimination(scenario, Skewness(column=column)), column=column)


def _run_class_inference(scenario: Scenario, column: str) -> Outcome:
    return AttackRun(findings=_run_with_elimination(scenario, ClassInference(column=column)), column=column)


def _run_pair_attacks(attack: type[Any], scenario: Scenario) -> Iterator[Outcome]:
    if not scenario.earlier:
        yield SkippedAttack(name=attack.name, reason=_explain_missing_release(scenario))
        return
    if not scenario.columns:
        yield SkippedAttack(name=attack.name, reason=NO_SENSITIVE_COLUMN)
        return
    for earlier in scenario.earlier:
        for column in scenario.columns:
            yield _run_pair_attack(attack, scenario, earlier, column)


def _explain_missing_release(scenario: Scenario) -> str:
    names = scenario.recorded_releases
    if not names:
        return NO_EARLIER_RELEASE
    return f"{NO_EARLIER_RELEASE}; the ledger has {', '.join(names)}"


def _run_pair_attack(attack: type[Any], scenario: Scenario, earlier: MatchSets, column: str) -> Outcome:
    if column not in earlier.published.classes.sensitive:
        return SkippedAttack(name=attack.name, reason=f"the earlier release has no column {column}")
    if scenario.has_repeated_values(column):
        return SkippedAttack(name=attack.name, reason=REPEATED_VALUES.format(column=column))
    if attack is Birthday and (earlier.published.person is None) != (scenario.sets.published.person is None):
        return SkippedAttack(name=attack.name, reason=DIFFERENT_UNITS)
    if attack is Birthday and earlier.published.columns != scenario.sets.published.columns:
        return SkippedAttack(
            name=attack.name, reason="the two releases do not have the same quasi-identifiers"
        )
    return AttackRun(findings=attack(column=column).run(earlier, scenario.sets), column=column)


PEOPLE_ATTACKS: dict[type[Any], Callable[[Scenario], Outcome]] = {
    Linkage: _run_linkage,
    Uniqueness: _run_uniqueness,
}
COLUMN_ATTACKS: dict[type[Any], Callable[[Scenario, str], Outcome]] = {
    Homogeneity: _run_homogeneity,
    BackgroundKnowledge: _run_background_knowledge,
    Similarity: _run_similarity,
    Skewness: _run_skewness,
    ClassInference: _run_class_inference,
}
PAIR_ATTACKS = (Intersection, Birthday)


def find_declared_specs(names: Iterable[str], table: Table, policy: Policy) -> dict[str, HierarchySpec]:
    """Return the hierarchies that a policy declares for some columns; drafted ones are left out."""
    columns = {name: table.columns[name] for name in names if name in table.columns}
    return {
        name: build_column_spec(name, column, policy)
        for name, column in columns.items()
        if (column.hierarchy or name) in policy.hierarchies
    }


def build_covering_hierarchy(spec: HierarchySpec, values: Iterable[str]) -> Hierarchy:
    """Return a hierarchy over the values that it covers."""
    given = list(values)
    beyond = set(spec.find_uncovered([value for value in given if value]))
    covered = [value for value in given if value not in beyond]
    return build_column_hierarchy(spec, covered, missing=MissingValues.CATEGORY, column=spec.name)


def build_sensitive_hierarchies(
    published: PublishedTable, specs: Mapping[str, HierarchySpec]
) -> dict[str, Hierarchy]:
    """Return the hierarchies of sensitive columns, over the values in a release."""
    return {
        name: build_covering_hierarchy(specs[name], column.names)
        for name, column in published.classes.sensitive.items()
        if name in specs
    }


def attack_joined(sets: MatchSets) -> Iterator[AttackRun]:
    """Yield the attacks on the joined releases."""
    linked = Linkage().run(sets)
    yield AttackRun(findings=replace(linked, attack=f"{linked.attack} {BY_PSEUDONYM}"))
    for column in sets.published.classes.sensitive:
        found = ClassInference(column=column).run(sets)
        yield AttackRun(findings=replace(found, attack=f"{found.attack} {BY_PSEUDONYM}"), column=column)
