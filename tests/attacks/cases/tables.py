"""Attacks on published tables: people in classes that give them away, and in classes that do not."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from discreet.anonymity.hierarchies.generalization_hierarchy import hierarchy_from_rows
from discreet.attacks.attribute_disclosure import ClassInference, Homogeneity, Similarity, Skewness
from discreet.attacks.background_knowledge import BackgroundKnowledge
from discreet.attacks.class_matching import match_people
from discreet.attacks.composition_attacks import Birthday, Intersection
from discreet.attacks.linkage import Linkage
from discreet.attacks.match_sets import MatchSets
from tests.attacks.case import Case
from tests.attacks.releases import known_of, release_of

PEOPLE = 800
VALUES = tuple("abcdefgh")
MEANING = hierarchy_from_rows(
    "illness", [(value, "vowel" if value in "ae" else "consonant", "*") for value in VALUES]
)
Y = "illness"


def released(groups: Sequence[str], values: Sequence[str]) -> pa.Table:
    return pa.table({"group": list(groups), Y: list(values)})


def sets(groups: Sequence[str], values: Sequence[str]) -> MatchSets:
    """Everybody against a release, with the truth for scoring."""
    release = released(groups, values)
    published = release_of(release, (Y,))
    return match_people(published, known_of(release, published, truth=(Y,)))


def both(first: Sequence[str], second: Sequence[str], values: Sequence[str]) -> tuple[MatchSets, MatchSets]:
    """The same people in two releases, who are in another group at the second."""
    releases = [release_of(released(groups, values), (Y,)) for groups in (first, second)]
    people = pa.table({"group": list(first), "later": list(second), Y: list(values)})
    known = known_of(people, releases[0], "later", truth=(Y,))
    return match_people(releases[0], known), match_people(releases[1], known, {"group": "later"})


ALONE = [f"g{i}" for i in range(PEOPLE)]
ONE = ["*"] * PEOPLE
BY_VALUE = [f"g{i % 8}" for i in range(PEOPLE)]
IN_EIGHTS = [f"g{i // 8}" for i in range(PEOPLE)]
EACH = [VALUES[i % 8] for i in range(PEOPLE)]
PAIRED = [f"p{i % 8 // 2}" for i in range(PEOPLE)]
CROSSED = [f"q{(i + 1) % 8 // 2}" for i in range(PEOPLE)]
MOSTLY = [f"g{i % 8 if i % 10 else (i + 3) % 8}" for i in range(PEOPLE)]
UNEVEN = ["aaabbcde"[i % 8] for i in range(PEOPLE)]
MOVING_ALONE = [f"g{i // 8 + (i // 8 % 2 == 0 and i % 8 == i // 16 % 8)}" for i in range(PEOPLE)]
CHANGING_PLACES = [f"g{i // 8 ^ 1}" for i in range(PEOPLE)]
SIMILAR = ["g0" if value in "ae" else "g1" for value in EACH]

CASES_ON_TABLES = (
    Case(
        attack=Linkage,
        unprotected=lambda _: Linkage().run(sets(ALONE, EACH)),
        protected=lambda _: Linkage().run(sets(ONE, EACH)),
    ),
    Case(
        attack=Homogeneity,
        unprotected=lambda _: Homogeneity(column=Y).run(sets(BY_VALUE, EACH)),
        protected=lambda _: Homogeneity(column=Y).run(sets(IN_EIGHTS, EACH)),
    ),
    Case(
        attack=BackgroundKnowledge,
        unprotected=lambda _: BackgroundKnowledge(column=Y).run(sets(PAIRED, EACH)),
        protected=lambda _: BackgroundKnowledge(column=Y).run(sets(IN_EIGHTS, EACH)),
    ),
    Case(
        attack=Similarity,
        unprotected=lambda _: Similarity(column=Y, hierarchy=MEANING).run(sets(SIMILAR, EACH)),
        protected=lambda _: Similarity(column=Y, hierarchy=MEANING).run(sets(IN_EIGHTS, EACH)),
    ),
    Case(
        attack=Skewness,
        unprotected=lambda _: Skewness(column=Y).run(sets(MOSTLY, EACH)),
        protected=lambda _: Skewness(column=Y).run(sets(IN_EIGHTS, EACH)),
    ),
    Case(
        attack=ClassInference,
        unprotected=lambda _: ClassInference(column=Y).run(sets(MOSTLY, EACH)),
        protected=lambda _: ClassInference(column=Y).run(sets(IN_EIGHTS, EACH)),
    ),
    Case(
        attack=Intersection,
        unprotected=lambda _: Intersection(column=Y).run(*both(PAIRED, CROSSED, EACH)),
        protected=lambda _: Intersection(column=Y).run(*both(PAIRED, PAIRED, EACH)),
    ),
    Case(
        attack=Birthday,
        unprotected=lambda _: Birthday(column=Y).run(*both(IN_EIGHTS, MOVING_ALONE, UNEVEN)),
        protected=lambda _: Birthday(column=Y).run(*both(IN_EIGHTS, CHANGING_PLACES, UNEVEN)),
    ),
)
