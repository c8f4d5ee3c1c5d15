"""Every attack that fits a published table, on the knowledge at hand; the others are named with the reason.

Columns     attacks on sensitive values are run once for each sensitive column.
People      where a person has several rows, and so several values of a column, what is left after ruling
            some out is no probability: the attacks that reckon so are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from discreet.anonymity.hierarchies import Hierarchy
from discreet.anonymity.hierarchies.labels import number
from discreet.app.trials.trial import Run, Skipped
from discreet.attacks import (
    ATTACKS,
    Averaging,
    BackgroundKnowledge,
    Birthday,
    ClassInference,
    Differencing,
    Fact,
    FloatingPoint,
    Homogeneity,
    InformedAdversary,
    Intersection,
    Linkage,
    Reconstruction,
    Similarity,
    Skewness,
    Tracker,
    Uniqueness,
)
from discreet.attacks.match_sets import MatchSets
from discreet.core.errors import DataError

RULED_OUT = 1
ALONE = "there is but one release: name an earlier one with --with"
OF_ANSWERS = "it attacks answers: name a policy.yaml in the release's place"
NO_COLUMN = "the release has no sensitive column"
SEVERAL = "people have several values of {column}, so ruling some out leaves no belief in another"

Outcome = Run | Skipped


@dataclass(frozen=True, kw_only=True, eq=False)
class Scene:
    """People and the rows that may be theirs; what is known besides.

    `meanings` are hierarchies of sensitive columns, `facts` what is known of their values, `ruled_out` how
    many an attacker without facts rules out. `earlier` is the same people in an earlier release. `everyone`
    says whether the people are a population, and not one victim.
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
        """Whether people have several values of a column, so that its counts are more than people."""
        found = self.sets.published.classes.sensitive[column]
        return int(found.counts.sum()) != self.sets.published.rows


def attack_table(scene: Scene) -> tuple[tuple[Run, ...], tuple[Skipped, ...]]:
    """What was run and what was not, in the order of the family."""
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
        yield Skipped(name=attack.name, why=OF_ANSWERS if attack in ON_ANSWERS else of_another_kind(attack))


def of_another_kind(attack: type[Any]) -> str:
    return f"it attacks another kind of release; its attacker knows {attack.knows}"


def _linkage(scene: Scene) -> Outcome:
    return Run(findings=Linkage().run(scene.sets))


def _uniqueness(scene: Scene) -> Outcome:
    if not scene.everyone:
        return Skipped(name=Uniqueness.name, why="it is about a whole register, and one victim was named")
    known = scene.sets.known
    return Run(findings=Uniqueness(columns=known.columns).run(known.tuples.counts))


def _homogeneity(scene: Scene, column: str) -> Outcome:
    return Run(findings=Homogeneity(column=column).run(scene.sets), column=column)


def _background(scene: Scene, column: str) -> Outcome:
    if scene.several(column):
        return Skipped(name=BackgroundKnowledge.name, why=SEVERAL.format(column=column))
    attack = BackgroundKnowledge(
        column=column, facts=scene.facts.get(column, ()), ruled_out=scene.ruled_out.get(column, RULED_OUT)
    )
    return Run(findings=attack.run(scene.sets), column=column)


def _similarity(scene: Scene, column: str) -> Outcome:
    hierarchy, names = scene.meanings.get(column), scene.sets.names(column)
    if hierarchy is None and any(number(name) is None for name in names):
        why = f"nothing says which values of {column} mean much the same: give a hierarchy of it"
        return Skipped(name=Similarity.name, why=why)
    try:
        return Run(findings=Similarity(column=column, hierarchy=hierarchy).run(scene.sets), column=column)
    except DataError as error:
        return Skipped(name=Similarity.name, why=error.message.removeprefix("attack: ").rstrip("."))


def _skewness(scene: Scene, column: str) -> Outcome:
    return Run(findings=Skewness(column=column).run(scene.sets), column=column)


def _class_inference(scene: Scene, column: str) -> Outcome:
    return Run(findings=ClassInference(column=column).run(scene.sets), column=column)


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
ON_ANSWERS = (Differencing, Averaging, Tracker, Reconstruction, InformedAdversary, FloatingPoint)
