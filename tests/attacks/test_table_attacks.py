"""Attacks on published tables: what is claimed, of whom, how often it is right, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.anonymity.hierarchies.generalization_hierarchy import hierarchy_from_rows
from discreet.anonymity.models import KAnonymity, ProbabilisticDiversity, RecursiveDiversity, judge_all
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
from discreet.attacks.anonymization_criteria import compute_criteria
from discreet.attacks.class_matching import match_people
from discreet.attacks.match_sets import MatchSets, from_classes
from discreet.core.errors import DataError, InvalidParameterError, RequestError
from tests.attacks.releases import against, known_of, release_of, table

RELEASE = table("""
    zip   | disease
    130** | flu
    130** | flu
    148** | flu
    148** | acne
    148** | acne
    15555 | cancer
""")
PEOPLE = table("""
    zip   | disease
    13053 | flu
    13068 | flu
    14850 | flu
    14851 | acne
    14852 | acne
    15555 | cancer
    99999 | flu
""")


def everyone() -> MatchSets:
    return against(RELEASE, PEOPLE, truth=["disease"])


def test_linkage_counts_rows_and_people() -> None:
    found = Linkage().run(everyone())
    assert found.success == pytest.approx((2 / 2 + 3 / 3 + 1) / 6)
    assert found.baseline == pytest.approx(1 / 6)
    assert found.attempts == 6
    assert found.figures["unique"] == pytest.approx(1 / 7)
    assert found.figures["matched"] == pytest.approx(6 / 7)
    assert found.figures["smallest match set"] == 1
    assert found.figures["median match set"] == 2
    assert found.victims[0].victim == "zip 15555"
    assert found.victims[0].posterior == 1


def test_guesses_are_scored_by_the_truth_beside_the_commonest_value() -> None:
    found = ClassInference(column="disease").run(everyone())
    assert found.success == pytest.approx(5 / 6)
    assert found.baseline == pytest.approx(3 / 6)
    certain = Homogeneity(column="disease").run(everyone())
    assert certain.figures["claimed"] == pytest.approx(3 / 7)
    assert certain.figures["precision"] == 1
    assert certain.success == pytest.approx(4 / 6)  # three by certainty, one of three by the commonest value
    assert {each.truth for each in certain.victims} == {True}


def test_a_person_who_is_not_in_the_release_makes_a_certain_claim_wrong() -> None:
    stranger = pa.concat_tables([PEOPLE, table("zip | disease\n13000 | acne")])
    found = Homogeneity(column="disease").run(against(RELEASE, stranger, truth=["disease"]))
    assert found.figures["precision"] == pytest.approx(3 / 4)


def test_without_the_truth_success_is_what_the_release_says() -> None:
    sets = against(RELEASE, PEOPLE.drop_columns(["disease"]))
    found = ClassInference(column="disease").run(sets)
    assert found.success == pytest.approx(5 / 6)
    assert all(each.truth is None for each in found.victims)


ROWS = st.lists(st.tuples(st.sampled_from("pqr"), st.sampled_from("abcd")), min_size=1, max_size=40)


@settings(max_examples=60)
@given(ROWS)
def test_beliefs_stay_within_what_the_models_of_a_release_say(rows: list[tuple[str, str]]) -> None:
    published = release_of(pa.table({"zip": [a for a, _ in rows], "disease": [b for _, b in rows]}))
    sets, classes = from_classes(published), published.equivalence_classes
    for k in (2, 4):
        if judge_all(classes, [KAnonymity(k=k)]).all():
            assert Linkage().run(sets).figures["highest posterior"] <= 1 / k
    for share in (Fraction(2, 3), Fraction(1, 2)):
        if judge_all(classes, [ProbabilisticDiversity(column="disease", l=1 / share)]).all():
            highest = ClassInference(column="disease").run(sets).figures["highest posterior"]
            assert highest <= float(share) + 1e-12
    for c, l in ((Fraction(2), 3), (Fraction(1), 3), (Fraction(3), 4)):
        model = RecursiveDiversity(column="disease", c=c, l=l)
        if judge_all(classes, [model]).all():
            knows = BackgroundKnowledge(column="disease", ruled_out=l - 2)
            assert knows.run(sets).figures["highest posterior"] < float(model.belief_bound)


@settings(max_examples=60)
@given(ROWS)
def test_the_best_guess_is_never_worse_than_the_commonest_value(rows: list[tuple[str, str]]) -> None:
    sets = from_classes(release_of(pa.table({"zip": [a for a, _ in rows], "disease": [b for _, b in rows]})))
    best = ClassInference(column="disease").run(sets)
    certain = Homogeneity(column="disease").run(sets)
    assert best.success >= certain.success - 1e-12 >= certain.baseline - 2e-12
    informed = BackgroundKnowledge(column="disease").run(sets)
    assert informed.success >= informed.baseline - 1e-12
    assert informed.success >= best.success - 1e-12


def test_the_same_release_twice_tells_no_more_than_once() -> None:
    published = release_of(RELEASE)
    known = known_of(PEOPLE, published, truth=["disease"])
    found = Intersection(column="disease").run(match_people(published, known), match_people(published, known))
    assert found.success == pytest.approx(found.baseline)
    assert all(each.posterior == pytest.approx(each.prior) for each in found.victims)


def test_criteria_are_those_of_the_attacks() -> None:
    found = compute_criteria(everyone(), ["disease"])
    assert found.singling_out.share == pytest.approx(1 / 7)
    assert found.linkability.share == pytest.approx(3 / 7)
    (inference,) = found.inference
    assert (inference.share, inference.baseline) == pytest.approx((5 / 6, 3 / 6))
    assert inference.learned_share == pytest.approx(4 / 7)  # flu is half of the release already
    assert "83.3% are guessed right; without quasi-identifiers, 50%" in inference.sentence
    assert found.risks is not None
    assert found.risks.prosecutor.highest == 1
    assert found.risks.journalist.success == found.risks.marketer


def test_a_register_with_more_people_lowers_the_journalists_risk() -> None:
    crowd = pa.concat_tables([PEOPLE, table("zip | disease\n" + "15555 | flu\n" * 9)])
    risks = compute_criteria(against(RELEASE, crowd), ["disease"]).risks
    assert risks is not None
    assert risks.journalist.highest == pytest.approx(1 / 2)


@pytest.mark.parametrize(
    ("attack", "refused"),
    [
        (BackgroundKnowledge(column="disease", facts=(Fact(value="gout"),)), "has no disease gout"),
        (
            BackgroundKnowledge(column="disease", facts=(Fact(value="flu", where={"age": "3"}),)),
            "is about age",
        ),
        (Skewness(column="disease", values=("gout",)), "has no disease gout"),
        (Similarity(column="disease"), "not numbers"),
        (
            Similarity(column="disease", hierarchy=hierarchy_from_rows("d", [("flu", "*")])),
            "does not cover 2 of the values",
        ),
        (Homogeneity(column="salary"), "not among the sensitive columns"),
    ],
)
def test_what_an_attack_cannot_use_is_refused_in_a_sentence(attack: Any, refused: str) -> None:
    with pytest.raises((RequestError, DataError), match=refused):
        attack.run(everyone())


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: Skewness(column="d", factor=1), r"Skewness\.factor"),
        (lambda: ClassInference(column="d", confidence=0), r"ClassInference\.confidence"),
        (lambda: BackgroundKnowledge(column="d", ruled_out=0), r"BackgroundKnowledge\.ruled_out"),
        (lambda: Fact(value="v", times=-1), r"Fact\.times"),
        (lambda: Similarity(column="d", narrow=Fraction(2)), r"Similarity\.narrow"),
    ],
)
def test_parameters_out_of_range_are_named(make: Any, named: str) -> None:
    with pytest.raises(InvalidParameterError, match=named):
        make()


@pytest.mark.parametrize("label", ["999**", "130**"])
def test_a_register_of_strangers_gives_nothing_away(label: str) -> None:
    """Under labels that overlap, and under some that do not."""
    rows = "\n".join(
        f"{zipcode} | M | {disease}" for zipcode, disease in zip(*RELEASE.to_pydict().values(), strict=True)
    )
    release = table(f"zip | sex | disease\n{rows}\n9**** | M | flu\n{label} | M | flu")
    sets = against(
        release, table("zip | sex | disease\n99999 | F | flu\n99998 | F | acne"), truth=["disease"]
    )
    attacks: list[Any] = [
        Linkage(),
        Homogeneity(column="disease"),
        BackgroundKnowledge(column="disease"),
        BackgroundKnowledge(column="disease", facts=(Fact(value="flu"),)),
        Similarity(
            column="disease",
            hierarchy=hierarchy_from_rows("d", [(each, "*") for each in ("flu", "acne", "cancer")]),
        ),
        Skewness(column="disease"),
        ClassInference(column="disease"),
    ]
    for found in [attack.run(sets) for attack in attacks]:
        assert (found.attempts, found.victims, found.gain) == (0, (), 0.0)
        assert found.note == "Nothing could be claimed of anybody."
    together = [Intersection(column="disease").run(sets, sets), Birthday(column="disease").run(sets, sets)]
    assert [found.attempts for found in together] == [0, 0]
    assert compute_criteria(sets, ["disease"]).linkability.share == 0


def test_releases_matched_with_different_knowledge_are_not_compared() -> None:
    published = release_of(RELEASE)
    one, other = (match_people(published, known_of(PEOPLE, published)) for _ in range(2))
    with pytest.raises(RequestError, match="matched with different knowledge"):
        Intersection(column="disease").run(one, other)
