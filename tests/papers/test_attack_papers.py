"""The lectures' attacks on published tables, with the lectures' conclusions. Database Privacy I and II."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

from discreet.anonymity.hierarchies.generalization_hierarchy import hierarchy_from_rows
from discreet.attacks import (
    BackgroundKnowledge,
    Birthday,
    ClassInference,
    Fact,
    Homogeneity,
    Intersection,
    Linkage,
    Similarity,
    Skewness,
)
from discreet.attacks.attacker_knowledge import Register, read_register
from discreet.attacks.class_matching import match_people
from discreet.attacks.findings import Findings
from discreet.attacks.match_sets import from_classes
from discreet.papers.lecture_tables import (
    FOUR_ANONYMOUS,
    MICRODATA,
    NEIGHBOURS,
    ORGANS,
    PEOPLE,
    SIMILAR,
    THREE_ANONYMOUS,
    THREE_DIVERSE,
    TWO_ANONYMOUS,
    VOTERS,
    make_single_class,
)
from tests.attacks.releases import against, engine, known_of, release_of, table

JAPANESE = Fact(value="Heart Disease", where={"nationality": "Japanese"})


def believed(found: Findings) -> list[tuple[str, Any]]:
    return [(each.claim, each.posterior) for each in found.victims]


def test_removing_names_leaves_everybody_of_the_table_to_the_voter_list() -> None:
    sets = against(MICRODATA.drop_columns(["name"]), VOTERS)
    found = Linkage().run(sets)
    assert (found.success, found.baseline, found.attempts) == (1.0, 1 / 10, 10)
    assert sets.unmatched_people == 1  # Mike
    assert found.figures["unique"] == 10 / 11


def test_two_anonymity_leaves_two_rows_or_four_to_each_voter() -> None:
    sets = against(TWO_ANONYMOUS, VOTERS)
    assert sorted(zip(sets.rows.tolist(), sets.people.tolist(), strict=True)) == [
        (2, 2),
        (2, 2),
        (2, 3),
        (4, 4),
    ]
    assert Linkage().run(sets).figures["unique"] == 0
    population = Linkage(present=False).run(sets)
    assert population.figures["highest posterior"] == 1 / 2
    assert population.success == pytest.approx((4 * 1 / 2 + 3 * 1 / 3 + 4 * 1 / 4) / 11)


def test_bob_has_cancer() -> None:
    sets = against(FOUR_ANONYMOUS, PEOPLE, victim={"name": "Bob"})
    found = Homogeneity(column="disease").run(sets)
    assert believed(found) == [("disease is Cancer", 1.0)]
    assert found.victims[0].prior == pytest.approx(5 / 12)


def test_umeko_has_a_viral_infection() -> None:
    sets = against(FOUR_ANONYMOUS, PEOPLE, victim={"name": "Umeko"})
    assert believed(Homogeneity(column="disease").run(sets)) == []
    found = BackgroundKnowledge(column="disease", facts=(JAPANESE,)).run(sets)
    assert believed(found) == [("disease is Viral Infection", 1.0)]
    assert found.victims[0].prior == pytest.approx(4 / 9)  # of the nine rows without heart disease


def test_a_low_incidence_leaves_some_doubt_about_umeko() -> None:
    rarely = Fact(value="Heart Disease", times=0.1, where={"nationality": "Japanese"})
    sets = against(FOUR_ANONYMOUS, PEOPLE, victim={"name": "Umeko"})
    found = BackgroundKnowledge(column="disease", facts=(rarely,)).run(sets)
    assert found.victims[0].posterior == pytest.approx(2 / 2.2)


def test_nothing_is_certain_after_three_diversity() -> None:
    """Umeko has a viral infection or cancer; Bob any of the three."""
    sets = against(THREE_DIVERSE, PEOPLE)
    assert believed(Homogeneity(column="disease").run(sets)) == []
    found = BackgroundKnowledge(column="disease", facts=(JAPANESE,)).run(sets)
    assert believed(found) == [("disease is Cancer", pytest.approx(2 / 3))]
    bob = ClassInference(column="disease").run(against(THREE_DIVERSE, PEOPLE, victim={"name": "Bob"}))
    assert believed(bob) == [("disease is Cancer", 1 / 2)]


def test_carl_and_a_group_of_heart_patients() -> None:
    bob = Homogeneity(column="disease").run(against(THREE_ANONYMOUS, NEIGHBOURS, victim={"name": "Bob"}))
    assert believed(bob) == [("disease is Heart Disease", 1.0)]
    carl = against(THREE_ANONYMOUS, NEIGHBOURS, victim={"name": "Carl"})
    knows = BackgroundKnowledge(column="disease", facts=(Fact(value="Heart Disease"),))
    assert believed(knows.run(carl)) == [("disease is Cancer", 1.0)]


DISEASES = hierarchy_from_rows(
    "disease", [(each, organ, "*") for organ, group in ORGANS.items() for each in group]
)


def test_bobs_salary_is_low_and_his_disease_is_of_the_stomach() -> None:
    bob = table("""
        name | zip   | age
        Bob  | 47678 | 27
    """)
    sets = against(SIMILAR, bob, ("salary", "disease"))
    assert believed(Homogeneity(column="disease").run(sets)) == []
    salary = Similarity(column="salary").run(sets)
    assert believed(salary) == [("salary is between 20000 and 40000", 1.0)]
    assert salary.victims[0].prior == pytest.approx(1 / 3)
    disease = Similarity(column="disease", hierarchy=DISEASES).run(sets)
    assert believed(disease) == [("disease is Stomach", 1.0)]
    assert disease.victims[0].prior == pytest.approx(5 / 9)


def test_nobody_elses_salary_or_organ_is_given_away() -> None:
    everybody = from_classes(release_of(SIMILAR, ("salary", "disease")))
    assert Similarity(column="salary").run(everybody).figures["claimed"] == pytest.approx(1 / 3)
    organs = Similarity(column="disease", hierarchy=DISEASES).run(everybody)
    assert organs.figures["claimed"] == pytest.approx(1 / 3)


def test_ninety_eight_of_a_hundred_have_hiv() -> None:
    sets = from_classes(release_of(make_single_class(HIV=98, pneumonia=1, bronchitis=1)))
    found = ClassInference(column="disease").run(sets)
    assert believed(found) == [("disease is HIV", 0.98)]
    assert found.figures["confident"] == 1


def test_sally_rules_out_pneumonia() -> None:
    sets = from_classes(release_of(make_single_class(HIV=50, pneumonia=49, bronchitis=1)))
    assert ClassInference(column="disease").run(sets).victims[0].posterior == 1 / 2
    for knows in (
        BackgroundKnowledge(column="disease", facts=(Fact(value="pneumonia"),)),
        BackgroundKnowledge(column="disease", ruled_out=1),
    ):
        assert believed(knows.run(sets)) == [("disease is HIV", pytest.approx(float(Fraction(50, 51))))]


def test_a_diverse_class_of_rare_flu_leaks_and_a_class_like_the_table_does_not() -> None:
    rows = [("Q1", "Cancer")] * 99 + [("Q1", "Flu")] + [("Q2", "Cancer")] * 5 + [("Q2", "Flu")] * 5
    release = pa.table({"group": [a for a, _ in rows], "disease": [b for _, b in rows]})
    found = Skewness(column="disease").run(from_classes(release_of(release)))
    assert believed(found) == [("disease is Flu", 0.5)]
    assert found.victims[0].victim == "group Q2"
    assert found.victims[0].prior == pytest.approx(6 / 110)


BIRTHDAYS = table("""
    name | age | age_after | sex | zip   | disease
    Ken  | 6   | 6         | M   | 18000 | pneumonia
    Nash | 8   | 8         | M   | 19000 | bronchitis
    Joe  | 10  | 11        | M   | 17000 | gastritis
    Sam  | 19  | 19        | M   | 24000 | pneumonia
    Tim  | 15  | 15        | M   | 16000 | flu
""")
BEFORE = table("""
    age      | sex | zip            | disease
    [1, 10]  | M   | [15001, 25000] | pneumonia
    [1, 10]  | M   | [15001, 25000] | bronchitis
    [1, 10]  | M   | [15001, 25000] | gastritis
    [11, 20] | M   | [15001, 25000] | pneumonia
    [11, 20] | M   | [15001, 25000] | flu
""")
AFTER = table("""
    age      | sex | zip            | disease
    [1, 10]  | M   | [15001, 25000] | pneumonia
    [1, 10]  | M   | [15001, 25000] | bronchitis
    [11, 20] | M   | [15001, 25000] | gastritis
    [11, 20] | M   | [15001, 25000] | pneumonia
    [11, 20] | M   | [15001, 25000] | flu
""")


def test_joes_disease_is_known_on_his_birthday() -> None:
    """Three diseases may be his before and after; he is the only one who moved."""
    first, second = release_of(BEFORE), release_of(AFTER)
    known = known_of(BIRTHDAYS, first, "age_after", truth=["disease"])
    found = Birthday(column="disease").run(
        match_people(first, known), match_people(second, known, {"age": "age_after"})
    )
    assert found.attempts == 1
    (joe,) = found.victims
    assert "age 10" in joe.victim
    assert (joe.claim, joe.posterior, joe.truth) == ("disease is gastritis", 1.0, True)
    assert joe.prior == pytest.approx(1 / 3)


def test_joe_moves_into_the_group_without_diversity() -> None:
    """The lectures' own table: ten and in a group of two diseases, then eleven and in one of pneumonia."""
    after = TWO_ANONYMOUS.to_pylist()
    first = release_of(pa.Table.from_pylist([*after, {**after[2]}]))
    joined = [{**row, "zip": "[15001, 25000]"} if row["age"] == "[11, 20]" else row for row in after]
    second = release_of(pa.Table.from_pylist([*joined, joined[4]]))
    joe = table("""
        name | age | age_after | sex | zip
        Joe  | 10  | 11        | M   | 17000
    """)
    known = known_of(joe, first, "age_after")
    sets = match_people(first, known), match_people(second, known, {"age": "age_after"})
    assert ClassInference(column="disease").run(sets[0]).victims[0].posterior == pytest.approx(2 / 3)
    assert believed(Intersection(column="disease").run(*sets)) == [("disease is pneumonia", 1.0)]


def test_a_name_is_looked_up_in_the_register() -> None:
    published = release_of(FOUR_ANONYMOUS)
    with engine(voters=PEOPLE) as opened:
        known = read_register(opened, Register(table="voters", name_column="name"), published)
        found = Homogeneity(column="disease").run(match_people(published, known))
    assert [each.victim for each in found.victims] == ["Bob"]
