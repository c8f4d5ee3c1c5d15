"""The lectures' attacks on published tables, carried out by `discreet.attacks`, with their conclusions."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from discreet.anonymity.hierarchies.generalization_hierarchy import hierarchy_from_rows
from discreet.attacks import (
    BackgroundKnowledge,
    ClassInference,
    Fact,
    Homogeneity,
    Intersection,
    Linkage,
    Similarity,
)
from discreet.attacks.attacker_knowledge import Register, read_register
from discreet.attacks.class_matching import match_people
from discreet.attacks.findings import Findings
from discreet.attacks.match_sets import MatchSets, from_classes
from discreet.attacks.published_table import PublishedTable, read_release
from discreet.papers import lecture_tables as tables
from discreet.papers.lecture_tables import DOCUMENT
from discreet.papers.reproduction import ComparedValue, Reproduction, ReproductionInputs

JAPANESE = Fact(value="Heart Disease", where={"nationality": "Japanese"})
ORGANS = hierarchy_from_rows(
    "disease", [(each, organ, "*") for organ, group in tables.ORGANS.items() for each in group]
)
NOTHING = "nothing is certain"


def reproduce_linkage(inputs: ReproductionInputs) -> Reproduction:
    """Reproduce linkage: a voter list re-identifies the rows of a table without names."""
    bare = _match_register(inputs, tables.MICRODATA.drop_columns(["name"]), tables.VOTERS)
    general = _match_register(inputs, tables.TWO_ANONYMOUS, tables.VOTERS)
    published = _publish_table(inputs, tables.TWO_ANONYMOUS)
    return Reproduction(
        name="lectures-linkage",
        document=DOCUMENT,
        title="Linkage: a table without names, and a voter registration list",
        lines=(
            ComparedValue(
                description="people of the table found by name",
                printed="10",
                recomputed=float(_count_unique_matches(bare)),
            ),
            ComparedValue(
                description="after the 2-anonymous generalization: found for certain",
                printed="0",
                recomputed=float(_count_unique_matches(general)),
            ),
            ComparedValue(
                description="the same: fewest rows that may be a voter's",
                printed="2",
                recomputed=_get_fewest_rows(general),
            ),
            ComparedValue(
                description="the same: others who look like a row, at least",
                printed="2",
                recomputed=float(published.classes.counts.min()) - 1,
                reason="the lectures define it by k others; a class has k people, including oneself",
            ),
        ),
        notes=(
            "Unique by zip code, sex and birth date: 63% of Americans (Golle), not 87%. discreet attack "
            "computes it for a register of one's own.",
        ),
    )


def reproduce_homogeneity(inputs: ReproductionInputs) -> Reproduction:
    """Reproduce the homogeneity attack: everybody in an equivalence class has the same disease."""
    bob = _match_register(inputs, tables.FOUR_ANONYMOUS, tables.PEOPLE, victim="Bob")
    other = _match_register(inputs, tables.THREE_ANONYMOUS, tables.NEIGHBOURS, victim="Bob")
    diverse = _match_register(inputs, tables.THREE_DIVERSE, tables.PEOPLE, victim="Bob")
    attack = Homogeneity(column="disease")
    return Reproduction(
        name="lectures-homogeneity",
        document=DOCUMENT,
        title="Homogeneity: a class of one disease",
        lines=(
            ComparedValue(
                description="4-anonymous: Bob, 31, of 13053",
                printed="Cancer",
                recomputed=_find_certain_claim(attack.run(bob)),
            ),
            ComparedValue(
                description="3-anonymous: Bob, 27, of 47678",
                printed="Heart Disease",
                recomputed=_find_certain_claim(attack.run(other)),
            ),
            ComparedValue(
                description="after 3-diversity: Bob, 31, of 13053",
                printed=NOTHING,
                recomputed=_find_certain_claim(attack.run(diverse)),
            ),
            ComparedValue(
                description="the same: most that is believed of Bob",
                printed="33%",
                recomputed=ClassInference(column="disease").run(diverse).victims[0].posterior,
                reason="'at most 1/l' fails for distinct values: half of his class has cancer",
            ),
        ),
    )


def reproduce_background(inputs: ReproductionInputs) -> Reproduction:
    """Reproduce the background-knowledge attack: prior facts rule out values."""
    attack = BackgroundKnowledge(column="disease", facts=(JAPANESE,))
    umeko = _match_register(inputs, tables.FOUR_ANONYMOUS, tables.PEOPLE, victim="Umeko")
    diverse = _match_register(inputs, tables.THREE_DIVERSE, tables.PEOPLE, victim="Umeko")
    carl = _match_register(inputs, tables.THREE_ANONYMOUS, tables.NEIGHBOURS, victim="Carl")
    group = from_classes(_publish_table(inputs, tables.make_single_class(HIV=50, pneumonia=49, bronchitis=1)))
    rules_out = BackgroundKnowledge(column="disease", facts=(Fact(value="pneumonia"),))
    shingles = from_classes(_publish_table(inputs, tables.PERFECTLY_CLOSE, ("hiv",)))
    return Reproduction(
        name="lectures-background",
        document=DOCUMENT,
        title="Background knowledge: what is ruled out beforehand",
        lines=(
            ComparedValue(
                description="4-anonymous: Umeko, as Japanese have few heart diseases",
                printed="Viral Infection",
                recomputed=_find_certain_claim(attack.run(umeko)),
            ),
            ComparedValue(
                description="after 3-diversity: Umeko",
                printed=NOTHING,
                recomputed=_find_certain_claim(attack.run(diverse)),
            ),
            ComparedValue(
                description="the same: most that is believed of Umeko",
                recomputed=attack.run(diverse).victims[0].posterior,
            ),
            ComparedValue(
                description="3-anonymous: Carl, who has no heart disease",
                printed="Cancer",
                recomputed=_find_certain_claim(
                    BackgroundKnowledge(column="disease", facts=(Fact(value="Heart Disease"),)).run(carl)
                ),
            ),
            ComparedValue(
                description="50 HIV and 49 pneumonia of 100: Joe, who has no pneumonia",
                printed="0.9804",
                recomputed=rules_out.run(group).victims[0].posterior,
            ),
            ComparedValue(
                description="perfectly t-close: Bob, who looks Asian and has shingles",
                printed="+",
                recomputed=_find_certain_claim(
                    Homogeneity(column="hiv").run(shingles), where=("Asian", "Shingles")
                ),
            ),
        ),
        notes=(
            "The slide says that flu is not a quasi-identifier; it is shingles that the coworker saw.",
            "50/51 is the lectures' group of 100; (c, 3)-diversity would need c above 50 to allow it.",
        ),
    )


def reproduce_similarity(inputs: ReproductionInputs) -> Reproduction:
    """Reproduce the similarity attack: all values of an equivalence class have a similar meaning."""
    bob = _match_register(
        inputs, tables.SIMILAR, tables.NEIGHBOURS, victim="Bob", sensitive=("salary", "disease")
    )
    return Reproduction(
        name="lectures-similarity",
        document=DOCUMENT,
        title="Similarity: a diverse class of alike values",
        lines=(
            ComparedValue(
                description="3-diverse: Bob's disease",
                printed=NOTHING,
                recomputed=_find_certain_claim(Homogeneity(column="disease").run(bob)),
            ),
            ComparedValue(
                description="Bob's salary",
                printed="between 20000 and 40000",
                recomputed=_find_certain_claim(Similarity(column="salary").run(bob)),
            ),
            ComparedValue(
                description="what Bob's disease is of",
                printed="Stomach",
                recomputed=_find_certain_claim(Similarity(column="disease", hierarchy=ORGANS).run(bob)),
            ),
        ),
    )


def reproduce_probabilistic(inputs: ReproductionInputs) -> Reproduction:
    """Reproduce the probabilistic attack: 98 of 100 in an equivalence class have HIV."""
    group = from_classes(_publish_table(inputs, tables.make_single_class(HIV=98, pneumonia=1, bronchitis=1)))
    return Reproduction(
        name="lectures-probabilistic",
        document=DOCUMENT,
        title="A probabilistic attack: three diseases in a class, one of them 98 times in 100",
        lines=(
            ComparedValue(
                description="belief that Joe has HIV",
                printed="0.98",
                recomputed=ClassInference(column="disease").run(group).victims[0].posterior,
            ),
        ),
    )


def reproduce_birthday(inputs: ReproductionInputs) -> Reproduction:
    """Reproduce the intersection of two releases between which Joe turns eleven."""
    rows = tables.TWO_ANONYMOUS.to_pylist()
    first = _publish_table(inputs, pa.Table.from_pylist([*rows, {**rows[2]}]))
    moved = [{**row, "zip": "[15001, 25000]"} if row["age"] == "[11, 20]" else row for row in rows]
    second = _publish_table(inputs, pa.Table.from_pylist([*moved, moved[4]]))
    joe = tables.parse_printed_table("""
        name | age | age_after | sex | zip
        Joe  | 10  | 11        | M   | 17000
    """)
    with inputs.open_engine({"register": joe}) as engine:
        known = read_register(engine, Register(table="register"), first, "age_after")
    sets = match_people(first, known), match_people(second, known, {"age": "age_after"})
    return Reproduction(
        name="lectures-birthday",
        document=DOCUMENT,
        title="Updates: Joe's birthday moves him into a class of one disease",
        lines=(
            ComparedValue(
                description="before: most that is believed of Joe",
                recomputed=ClassInference(column="disease").run(sets[0]).victims[0].posterior,
            ),
            ComparedValue(
                description="after his birthday",
                printed="pneumonia",
                recomputed=_find_certain_claim(Intersection(column="disease").run(*sets)),
            ),
            ComparedValue(
                description="Joe's age and zip code in the microdata",
                printed="10, 17000",
                recomputed=_format_row("Joe"),
                reason="the two slides have different Joes",
            ),
        ),
    )


def _publish_table(
    inputs: ReproductionInputs, release: pa.Table, sensitive: Sequence[str] = ("disease",)
) -> PublishedTable:
    quasi = [name for name in release.column_names if name not in sensitive]
    with inputs.open_engine({"release": release}) as engine:
        return read_release(engine, "release", quasi=quasi, sensitive=sensitive)


def _match_register(
    inputs: ReproductionInputs,
    release: pa.Table,
    register: pa.Table,
    *,
    victim: str | None = None,
    sensitive: Sequence[str] = ("disease",),
) -> MatchSets:
    """Match a register's people, or one victim, against a release."""
    published = _publish_table(inputs, release, sensitive)
    asked = Register(table="register", victim=None if victim is None else {"name": victim})
    with inputs.open_engine({"register": register}) as engine:
        return match_people(published, read_register(engine, asked, published))


def _count_unique_matches(sets: MatchSets) -> int:
    """Return the number of people with exactly one matching row."""
    return round(Linkage().run(sets).figures["unique"] * (int(sets.people.sum()) + sets.unmatched_people))


def _format_row(name: str) -> str:
    (row,) = (row for row in tables.MICRODATA.to_pylist() if row["name"] == name)
    return f"{row['age']}, {row['zip']}"


def _get_fewest_rows(sets: MatchSets) -> float:
    return float(sets.rows.min())


def _find_certain_claim(found: Findings, where: Sequence[str] = ()) -> str:
    """Return the first claim that is certain, or NOTHING."""
    sure = [
        each.claim for each in found.victims if each.posterior == 1 and all(w in each.victim for w in where)
    ]
    return sure[0].partition(" is ")[2] if sure else NOTHING
