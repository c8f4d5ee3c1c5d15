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
            ComparedValue("people of the table found by name", "10", float(_count_unique_matches(bare))),
            ComparedValue(
                "after the 2-anonymous generalization: found for certain",
                "0",
                float(_count_unique_matches(general)),
            ),
            ComparedValue("the same: fewest rows that may be a voter's", "2", _get_fewest_rows(general)),
            ComparedValue(
                "the same: others who look like a row, at least",
                "2",
                float(published.classes.counts.min()) - 1,
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
            ComparedValue("4-anonymous: Bob, 31, of 13053", "Cancer", _find_certain_claim(attack.run(bob))),
            ComparedValue(
                "3-anonymous: Bob, 27, of 47678", "Heart Disease", _find_certain_claim(attack.run(other))
            ),
            ComparedValue(
                "after 3-diversity: Bob, 31, of 13053", NOTHING, _find_certain_claim(attack.run(diverse))
            ),
            ComparedValue(
                "the same: most that is believed of Bob",
                "33%",
                ClassInference(column="disease").run(diverse).victims[0].posterior,
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
                "4-anonymous: Umeko, as Japanese have few heart diseases",
                "Viral Infection",
                _find_certain_claim(attack.run(umeko)),
            ),
            ComparedValue("after 3-diversity: Umeko", NOTHING, _find_certain_claim(attack.run(diverse))),
            ComparedValue(
                "the same: most that is believed of Umeko", "", attack.run(diverse).victims[0].posterior
            ),
            ComparedValue(
                "3-anonymous: Carl, who has no heart disease",
                "Cancer",
                _find_certain_claim(
                    BackgroundKnowledge(column="disease", facts=(Fact(value="Heart Disease"),)).run(carl)
                ),
            ),
            ComparedValue(
                "50 HIV and 49 pneumonia of 100: Joe, who has no pneumonia",
                "0.9804",
                rules_out.run(group).victims[0].posterior,
            ),
            ComparedValue(
                "perfectly t-close: Bob, who looks Asian and has shingles",
                "+",
                _find_certain_claim(Homogeneity(column="hiv").run(shingles), where=("Asian", "Shingles")),
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
                "3-diverse: Bob's disease",
                NOTHING,
                _find_certain_claim(Homogeneity(column="disease").run(bob)),
            ),
            ComparedValue(
                "Bob's salary",
                "between 20000 and 40000",
                _find_certain_claim(Similarity(column="salary").run(bob)),
            ),
            ComparedValue(
                "what Bob's disease is of",
                "Stomach",
                _find_certain_claim(Similarity(column="disease", hierarchy=ORGANS).run(bob)),
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
                "belief that Joe has HIV",
                "0.98",
                ClassInference(column="disease").run(group).victims[0].posterior,
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
                "before: most that is believed of Joe",
                "",
                ClassInference(column="disease").run(sets[0]).victims[0].posterior,
            ),
            ComparedValue(
                "after his birthday",
                "pneumonia",
                _find_certain_claim(Intersection(column="disease").run(*sets)),
            ),
            ComparedValue(
                "Joe's age and zip code in the microdata",
                "10, 17000",
                _format_row("Joe"),
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
