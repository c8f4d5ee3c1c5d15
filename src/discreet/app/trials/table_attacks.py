"""Every attack that applies to a published table with the given knowledge, and why others are skipped.

Columns     attacks on sensitive values run once for each sensitive column.
People      if a person has several rows, and so several values of a column, ruling some out leaves no
            probability: attacks that compute one are skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from discreet.anonymity.equivalence_classes import Integers
from discreet.anonymity.hierarchies import Hierarchy
from discreet.anonymity.hierarchies.label_parsing import parse_number
from discreet.app.trials.skipping import of_another_kind
from discreet.app.trials.trial import Run, Skipped
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
from discreet.attacks.attack import Findings
from discreet.attacks.match_sets import MatchSets
from discreet.attacks.overlap import apart, strongest_of
from discreet.core.errors import DataError

RULED_OUT = 1
ALONE = "there is but one release; --with names an earlier one"
NO_COLUMN = "the release has no sensitive column"
SEVERAL = "people have several values of {column}, so ruling some out leaves no belief in another"
UNITS = "of one release people are counted, and of the other rows"

Outcome = Run | Skipped


@dataclass(frozen=True, kw_only=True, eq=False)
class Scene:
    """Known people and their match sets, with further knowledge.

    `hierarchies` are those of sensitive columns, `facts` what is known about their values, `ruled_out` how
    many values an attacker without facts rules out. `earlier` are the match sets of the same people in
    earlier releases. `is_population` is False if the people are one victim.
    """

    sets: MatchSets
    meanings: Mapping[str, Hierarchy] = field(default_factory=dict)
    facts: Mapping[str, tuple[Fact, ...]] = field(default_factory=dict)
    ruled_out: Mapping[str, int] = field(default_factory=dict)
    earlier: tuple[MatchSets, ...] = ()
    everyone: bool = True

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.sets.published.classes.sensitive)

    def several(self, column: str) -> bool:
        """Return whether people have several values of a column, so that its counts exceed people."""
        found = self.sets.published.classes.sensitive[column]
        return int(found.counts.sum()) != self.sets.published.rows

    def known_several(self, column: str) -> bool:
        """Return the same for the known people, whose rows the release may not connect."""
        known = self.sets.known
        found = known.tuples.sensitive.get(column)
        return found is not None and int(found.counts.sum()) > known.people


def attack_table(scene: Scene) -> tuple[tuple[Run, ...], tuple[Skipped, ...]]:
    """Return the runs and the skipped attacks, in the order of `ATTACKS`."""
    outcomes = [outcome for attack in ATTACKS for outcome in _outcomes(attack, scene)]
    return (
        tuple(each for each in outcomes if isinstance(each, Run)),
        tuple(dict.fromkeys(each for each in outcomes if isinstance(each, Skipped))),
    )


def _outcomes(attack: type[Any], scene: Scene) -> Iterator[Outcome]:
    if attack in ON_PEOPLE:
        yield ON_PEOPLE[attack](scene)
    elif attack in ON_COLUMNS:
        if not scene.columns:
            yield Skipped(name=attack.name, why=NO_COLUMN)
        for column in scene.columns:
            yield ON_COLUMNS[attack](scene, column)
    elif attack in ON_PAIRS:
        yield from _on_pairs(attack, scene)
    else:
        yield of_another_kind(attack)


def _found(scene: Scene, attack: Any, parts: Integers | None = None) -> Findings:
    """Return an attack's findings, with the belief after elimination of classes where labels overlap."""
    found: Findings = attack.run(scene.sets)
    told = apart(scene.sets, parts)
    return found if told is None else strongest_of(found, attack.run(told))


def _linkage(scene: Scene) -> Outcome:
    return Run(findings=_found(scene, Linkage()))


def _uniqueness(scene: Scene) -> Outcome:
    if not scene.everyone:
        return Skipped(name=Uniqueness.name, why="it is about a whole register, and one victim was named")
    known = scene.sets.known
    return Run(findings=Uniqueness(columns=known.columns).run(known.tuples.counts))


def _homogeneity(scene: Scene, column: str) -> Outcome:
    return Run(findings=_found(scene, Homogeneity(column=column)), column=column)


def _background(scene: Scene, column: str) -> Outcome:
    facts = scene.facts.get(column, ())
    if scene.several(column) or (scene.known_several(column) and not facts):
        return Skipped(name=BackgroundKnowledge.name, why=SEVERAL.format(column=column))
    attack = BackgroundKnowledge(column=column, facts=facts, ruled_out=scene.ruled_out.get(column, RULED_OUT))
    parts = attack.parts(scene.sets)[0] if attack.facts else None
    return Run(findings=_found(scene, attack, parts), column=column)


def _similarity(scene: Scene, column: str) -> Outcome:
    hierarchy, names = scene.meanings.get(column), scene.sets.names(column)
    if hierarchy is None and any(parse_number(name) is None for name in names):
        why = f"nothing says which values of {column} mean much the same: give a hierarchy of it"
        return Skipped(name=Similarity.name, why=why)
    try:
        return Run(findings=_found(scene, Similarity(column=column, hierarchy=hierarchy)), column=column)
    except DataError as error:
        return Skipped(name=Similarity.name, why=error.message.removeprefix("attack: ").rstrip("."))


def _skewness(scene: Scene, column: str) -> Outcome:
    return Run(findings=_found(scene, Skewness(column=column)), column=column)


def _class_inference(scene: Scene, column: str) -> Outcome:
    return Run(findings=_found(scene, ClassInference(column=column)), column=column)


def _on_pairs(attack: type[Any], scene: Scene) -> Iterator[Outcome]:
    if not scene.earlier or not scene.columns:
        yield Skipped(name=attack.name, why=NO_COLUMN if scene.earlier else ALONE)
        return
    for earlier in scene.earlier:
        for column in scene.columns:
            yield _on_pair(attack, scene, earlier, column)


def _on_pair(attack: type[Any], scene: Scene, earlier: MatchSets, column: str) -> Outcome:
    if column not in earlier.published.classes.sensitive:
        return Skipped(name=attack.name, why=f"the earlier release has no column {column}")
    if scene.several(column):
        return Skipped(name=attack.name, why=SEVERAL.format(column=column))
    if attack is Birthday and (earlier.published.person is None) != (scene.sets.published.person is None):
        return Skipped(name=attack.name, why=UNITS)
    if attack is Birthday and earlier.published.columns != scene.sets.published.columns:
        return Skipped(name=attack.name, why="the two releases do not have the same quasi-identifiers")
    return Run(findings=attack(column=column).run(earlier, scene.sets), column=column)


ON_PEOPLE: dict[type[Any], Callable[[Scene], Outcome]] = {Linkage: _linkage, Uniqueness: _uniqueness}
ON_COLUMNS: dict[type[Any], Callable[[Scene, str], Outcome]] = {
    Homogeneity: _homogeneity,
    BackgroundKnowledge: _background,
    Similarity: _similarity,
    Skewness: _skewness,
    ClassInference: _class_inference,
}
ON_PAIRS = (Intersection, Birthday)
