"""What every privacy model owes by being listed in `MODELS`.

A model that joins the tuple adds one line to EXAMPLES: some instances with parameters that small tables both
meet and break. `tests.anonymity.models.brute` judges the same from the definitions.
"""

from __future__ import annotations

import dataclasses
import itertools
import sys
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.anonymity.equivalence_classes import EquivalenceClasses
from discreet.anonymity.hierarchies.generalization_hierarchy import hierarchy_from_rows
from discreet.anonymity.models import (
    ATTACKS,
    MODELS,
    AlphaKAnonymity,
    AverageRisk,
    BetaLikeness,
    DeltaDisclosure,
    DeltaPresence,
    DistinctDiversity,
    EntropyDiversity,
    EqualCloseness,
    HierarchicalCloseness,
    KAnonymity,
    KMap,
    MInvariance,
    Model,
    OrderedCloseness,
    ProbabilisticDiversity,
    PSensitiveKAnonymity,
    RecursiveDiversity,
    StrictRisk,
    TableModel,
    find_worst_class,
)
from discreet.anonymity.models.model_option import ModelContext, ModelSpec
from discreet.anonymity.models.model_parsing import parse_model
from discreet.anonymity.models.privacy_model import NEAR_HOMOGENEITY, LimitsKeptRows
from discreet.attacks import ATTACKS as ATTACK_KINDS
from discreet.core.errors import InvalidParameterError, RequestError
from tests.anonymity.models import brute
from tests.anonymity.models.tables import table
from tests.conformance.inheritance import derives_from_protocols_alone

LABELS = ("Definition", "Belief", "Monotone", "Attacks")
NAMES = ("a", "b", "c")
TREE = hierarchy_from_rows("disease", [("a", "ab", "*"), ("b", "ab", "*"), ("c", "c", "*")])
D = "disease"
THIRD = Fraction(1, 3)
EXAMPLES: dict[str, list[Any]] = {
    "KAnonymity": [KAnonymity(k=1), KAnonymity(k=2), KAnonymity(k=4)],
    "KMap": [KMap(k=2), KMap(k=5)],
    "DeltaPresence": [
        DeltaPresence(delta_min=low, delta_max=high)  # type: ignore[arg-type]
        for low, high in [(0, 0.5), (0.25, 0.75), (THIRD, THIRD), (0.5, 1)]
    ],
    "DistinctDiversity": [DistinctDiversity(column=D, l=2), DistinctDiversity(column=D, l=3)],
    "ProbabilisticDiversity": [
        ProbabilisticDiversity(column=D, l=Fraction(l)) for l in (1, "4/3", 2, "2.5", 3)
    ],
    "EntropyDiversity": [EntropyDiversity(column=D, l=Fraction(l)) for l in (1, "3/2", 2, "2.5", 3)],
    "RecursiveDiversity": [
        RecursiveDiversity(column=D, c=Fraction(c), l=l)
        for c, l in [("1/2", 2), ("1", 2), ("3", 2), ("2", 3), ("4", 3)]
    ],
    "EqualCloseness": [EqualCloseness(column=D, t=Fraction(t)) for t in ("0", "1/6", "0.2", "1/3", "0.5")],
    "OrderedCloseness": [OrderedCloseness(column=D, t=Fraction(t)) for t in ("0", "1/6", "0.2", "1/3")],
    "HierarchicalCloseness": [
        HierarchicalCloseness(column=D, t=Fraction(t), hierarchy=TREE) for t in ("0", "1/6", "0.2", "1/3")
    ],
    "AlphaKAnonymity": [
        AlphaKAnonymity(column=D, alpha=Fraction(1, 2), k=2),
        AlphaKAnonymity(column=D, alpha=THIRD, k=1),
        AlphaKAnonymity(column=D, alpha=THIRD, k=2, values=("a",)),
    ],
    "PSensitiveKAnonymity": [
        PSensitiveKAnonymity(column=D, p=2, k=2),
        PSensitiveKAnonymity(column=D, p=2, k=4),
        PSensitiveKAnonymity(column=D, p=3, k=3),
    ],
    "DeltaDisclosure": [DeltaDisclosure(column=D, delta=Fraction(d)) for d in ("0.3", "0.7", "1.2")],
    "BetaLikeness": [
        BetaLikeness(column=D, beta=Fraction(beta), enhanced=enhanced)
        for beta in ("1/2", "1", "2")
        for enhanced in (False, True)
    ],
    "MInvariance": [MInvariance(column=D, m=2), MInvariance(column=D, m=3)],
    "StrictRisk": [
        StrictRisk(risk=THIRD),
        StrictRisk(risk=Fraction("0.3"), attacker="journalist"),  # type: ignore[arg-type]
    ],
    "AverageRisk": [
        AverageRisk(risk=risk, attacker=attacker)  # type: ignore[arg-type]
        for risk in (THIRD, Fraction(1, 2), Fraction("0.2"))
        for attacker in ("prosecutor", "journalist", "marketer")
    ],
}
TOTALS = ({"a": 3, "b": 3, "c": 3}, {"a": 6, "b": 2, "c": 1})
AROUND_A_FIFTH = [(3, 3), (1, 3), (5, 9), (1, 1), (6, 7), (4, 4), (2, 2)]
Vector = tuple[int, ...]
VECTORS: list[Vector] = [v for v in itertools.product(range(5), repeat=3) if 1 <= sum(v) <= 5]

every_model = pytest.mark.parametrize("kind", MODELS, ids=lambda kind: kind.__name__)


def examples(kind: Any) -> list[Any]:
    return EXAMPLES[kind.__name__]


def small(vectors: Sequence[Vector], totals: dict[str, int], people: Sequence[int]) -> EquivalenceClasses:
    classes = [dict(zip(NAMES, vector, strict=True)) for vector in vectors]
    return table(classes, totals=totals, names=NAMES, population=people)


def pairs() -> Iterator[tuple[Vector, Vector, int, int]]:
    """Two small classes and how many people of the population each has beside its rows."""
    for one, other in itertools.combinations_with_replacement(VECTORS, 2):
        for spare in ((0, 0), (1, 3), (4, 0)):
            yield one, other, *spare


def test_every_listed_model_has_examples() -> None:
    assert sorted(EXAMPLES) == sorted(kind.__name__ for kind in MODELS)


@every_model
def test_module_states_definition_belief_monotonicity_and_attacks(kind: Any) -> None:
    lines = (sys.modules[kind.__module__].__doc__ or "").splitlines()
    starts = [line.split("  ")[0] for line in lines if line and not line.startswith(" ")]
    assert [label for label in starts if label in LABELS] == list(LABELS)
    assert any(line.startswith("[") for line in lines), "no source is named"


@every_model
def test_model_is_a_frozen_keyword_only_dataclass(kind: Any) -> None:
    model = examples(kind)[0]
    assert derives_from_protocols_alone(kind)
    assert all(field.kw_only for field in dataclasses.fields(kind))
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(model, dataclasses.fields(kind)[0].name, 2)


@every_model
def test_name_and_belief_are_read_by_people(kind: Any) -> None:
    for model in examples(kind):
        assert model.name
        assert "Fraction" not in model.name + model.belief
        assert model.belief.startswith("An attacker who ")
        assert model.belief.endswith(".")
        assert ". " not in model.belief
        assert "anonymous" not in model.belief
        assert (model.column is None) == ("disease" not in model.name)
    assert len({model.name for model in examples(kind)}) >= len(examples(kind)) - (kind is AlphaKAnonymity), (
        "two models of different parameters share a name"
    )


@every_model
def test_attacks_that_are_not_stopped_are_named(kind: Any) -> None:
    text = sys.modules[kind.__module__].__doc__ or ""
    attacks = " ".join(text.split("Attacks ")[1].split("\n[")[0].split())
    for model in examples(kind):
        assert set(model.not_stopped) <= {*ATTACKS, NEAR_HOMOGENEITY}
        assert all(each in attacks for each in model.not_stopped)
        # whoever knows more, or joins releases, gets past every one of these models
        assert {"background knowledge", "composition"} <= set(model.not_stopped)


@pytest.mark.parametrize(
    ("model", "stops"),
    [
        *[(DistinctDiversity(column=D, l=l), l > 1) for l in (1, 2, 3)],
        *[(PSensitiveKAnonymity(column=D, p=p, k=3), p > 1) for p in (1, 2, 3)],
    ],
)
def test_several_values_in_every_class_stop_homogeneity_of_all_rows(model: Any, stops: bool) -> None:
    assert ("homogeneity" not in model.not_stopped) == stops
    assert (NEAR_HOMOGENEITY in model.not_stopped) == stops


@every_model
def test_a_model_is_requested_by_the_text_of_its_option(kind: Any) -> None:
    for model in examples(kind):
        named = [word.lower() for word in kind.form.split(":") if word.isupper()]
        spec = ModelSpec(kind=kind, parameters={name: getattr(model, name) for name in named})
        assert parse_model(kind.option, model.k if kind.option.is_number else str(spec)) == spec
        context = ModelContext(k=2, has_population=True, find_hierarchy={D: TREE}.get)
        built = spec.build(context)
        assert isinstance(built, kind)
        assert {name: getattr(built, name) for name in named} == spec.parameters


@every_model
def test_beliefs_are_bounded_for_attacks_that_exist(kind: Any) -> None:
    for model in examples(kind):
        for bound in model.derive_bounds({D: 0.5}):
            assert bound.attack in {attack.name for attack in ATTACK_KINDS}
            assert 0 < bound.limit <= 1
            assert bound.column in (None, model.column)


@every_model
def test_judgement_is_the_one_of_the_definition_on_every_small_class(kind: Any) -> None:
    if kind is AverageRisk:
        pytest.skip(
            "a mean has no judgement of one class; tests/anonymity/models/test_average_risk.py has it"
        )
    people = [sum(vector) + place % 4 for place, vector in enumerate(VECTORS)]
    seen = set()
    for model, totals in itertools.product(examples(kind), TOTALS):
        verdicts = model.judge(small(VECTORS, totals, people))
        for vector, verdict, living in zip(VECTORS, verdicts, people, strict=True):
            counts = dict(zip(NAMES, vector, strict=True))
            assert verdict == brute.meets(model, counts, totals, NAMES, living), (model.name, counts)
        seen |= set(verdicts.tolist())
    assert seen == {True, False}, "the examples do not try the model"


CLASSES = st.lists(
    st.fixed_dictionaries({name: st.integers(0, 40) for name in NAMES}).filter(lambda c: sum(c.values()) > 0),
    min_size=1,
    max_size=6,
)


@every_model
@settings(max_examples=30)
@given(classes=CLASSES, spare=st.integers(0, 50))
def test_judgement_is_the_one_of_the_definition_on_random_tables(
    kind: Any, classes: list[dict[str, int]], spare: int
) -> None:
    if kind is AverageRisk:
        return
    totals = {name: sum(each[name] for each in classes) for name in NAMES}
    people = [sum(each.values()) + spare for each in classes]
    for model in examples(kind):
        verdicts = model.judge(table(classes, totals=totals, names=NAMES, population=people))
        assert verdicts.tolist() == [
            brute.meets(model, each, totals, NAMES, living)
            for each, living in zip(classes, people, strict=True)
        ]


@every_model
def test_monotone_in_generalization_as_claimed(kind: Any) -> None:
    broken = next(_broken(kind, generalization=True), None)
    assert (broken is None) == kind.monotone_in_generalization, broken


@every_model
def test_monotone_in_suppression_as_claimed(kind: Any) -> None:
    broken = next(_broken(kind, generalization=False), None)
    assert (broken is None) == kind.monotone_in_suppression, broken


LIMITED = [kind for kind in MODELS if issubclass(kind, LimitsKeptRows)]
limited_model = pytest.mark.parametrize("kind", LIMITED, ids=lambda kind: kind.__name__)


@limited_model
def test_no_two_classes_keep_more_than_the_most_that_their_union_is_said_to_keep(kind: Any) -> None:
    cases, tight = list(pairs()), False
    ones, others = [one for one, *_ in cases], [other for _, other, *_ in cases]
    unions = [tuple(np.add(one, other).tolist()) for one, other in zip(ones, others, strict=True)]
    left, right = [sum(one) + a for one, _, a, _ in cases], [sum(other) + b for _, other, _, b in cases]
    for model, totals in itertools.product(examples(kind), TOTALS):
        kept = _kept(model, small(ones, totals, left)) + _kept(model, small(others, totals, right))
        union = small(unions, totals, np.add(left, right).tolist())
        most = model.bound_kept_rows(union)
        assert (kept <= most).all()
        assert (most <= union.sizes).all()
        assert (most[model.judge(union)] == union.sizes[model.judge(union)]).all()
        tight |= bool((most < union.sizes).any())
    assert tight, "it bounds nothing"


@limited_model
@settings(max_examples=100)
@given(classes=CLASSES, spare=st.integers(0, 50))
def test_no_classes_keep_more_than_the_most_that_their_union_is_said_to_keep(
    kind: Any, classes: list[dict[str, int]], spare: int
) -> None:
    totals = {name: sum(each[name] for each in classes) + spare for name in NAMES}
    people = [sum(each.values()) + spare for each in classes]
    union = {name: sum(each[name] for each in classes) for name in NAMES}
    for model in examples(kind):
        kept = _kept(model, table(classes, totals=totals, names=NAMES, population=people)).sum()
        assert kept <= model.bound_kept_rows(
            table([union], totals=totals, names=NAMES, population=[sum(people)])
        )


@limited_model
def test_where_people_have_several_values_nothing_is_said_to_be_lost(kind: Any) -> None:
    """A person with two values is one row of a class; leaving out one value leaves out nobody."""
    counted = table([{"a": 9, "b": 1, "c": 0}], totals=TOTALS[0], names=NAMES, population=[100])
    people = dataclasses.replace(counted, sizes=np.array([9]))
    for model in examples(kind):
        if model.column is not None and not getattr(model, "k", 0) > 9:
            assert model.bound_kept_rows(people).tolist() == [9]


def _kept(model: Model, classes: EquivalenceClasses) -> Any:
    return np.where(model.judge(classes), classes.sizes, 0)


def _broken(kind: Any, *, generalization: bool) -> Iterator[object]:
    """Tables that show a claim to be false: where merging breaks what was met, or suppresses more rows."""
    if kind is AverageRisk:
        yield from _broken_average(generalization)
        return
    cases = list(pairs())
    for model, totals in itertools.product(examples(kind), TOTALS):
        first, second, merged = (
            model.judge(small([each[0] for each in side], totals, [each[1] for each in side]))
            for side in (
                [(one, sum(one) + a) for one, _, a, _ in cases],
                [(other, sum(other) + b) for _, other, _, b in cases],
                [
                    (tuple(np.add(one, other).tolist()), sum(one) + sum(other) + a + b)
                    for one, other, a, b in cases
                ],
            )
        )
        met = first & second if generalization else first | second
        for place in np.flatnonzero(met & ~merged):
            yield model.name, cases[place]


def _broken_average(generalization: bool) -> Iterator[object]:
    kinds = [(f, F) for f in (1, 2, 3) for F in range(f, 5)]
    tables = [*itertools.product(kinds, repeat=3), *itertools.combinations(AROUND_A_FIFTH, 4)]
    for model, classes in itertools.product(EXAMPLES["AverageRisk"], tables):
        before = _suppressed(model, classes)
        for i, j in itertools.combinations(range(len(classes)), 2):
            rest = [each for place, each in enumerate(classes) if place not in (i, j)]
            both = tuple(a + b for a, b in zip(classes[i], classes[j], strict=True))
            after = _suppressed(model, [*rest, both])
            if (before == 0 and after > 0) if generalization else after > before:
                yield model.name, classes, (i, j)


def _suppressed(model: Model, classes: Sequence[tuple[int, ...]]) -> int:
    sizes = np.array([f for f, _ in classes], np.int64)
    people = np.array([F for _, F in classes], np.int64)
    kept = model.judge(EquivalenceClasses(sizes=sizes, rows=int(sizes.sum()), population=people))
    return int(sizes[~kept].sum())


@every_model
def test_verdicts_follow_their_classes_whatever_the_order(kind: Any) -> None:
    places = np.random.default_rng(4).permutation(len(VECTORS))
    people = [sum(vector) + 2 for vector in VECTORS]
    for model in examples(kind):
        plain = model.judge(small(VECTORS, TOTALS[1], people))
        shuffled = model.judge(small([VECTORS[i] for i in places], TOTALS[1], [people[i] for i in places]))
        assert plain.dtype == shuffled.dtype == np.bool_
        if not isinstance(model, TableModel):
            assert (plain[places] == shuffled).all()
        else:
            assert plain.sum() == shuffled.sum()


@every_model
def test_a_class_without_rows_breaks_nothing_that_is_about_values(kind: Any) -> None:
    """A population may have classes in which the table has nobody."""
    for model in examples(kind):
        with_empty = small([(0, 0, 0), *VECTORS, (0, 0, 0)], TOTALS[0], [3] * (len(VECTORS) + 2))
        without = small(VECTORS, TOTALS[0], [3] * len(VECTORS))
        assert (model.judge(with_empty)[1:-1] == model.judge(without)).all()
        assert not np.isnan(model.measure_margins(with_empty)).any()


@every_model
def test_margin_has_the_sign_of_the_verdict(kind: Any) -> None:
    if kind is AverageRisk:
        return
    people = [sum(vector) + place % 4 for place, vector in enumerate(VECTORS)]
    for model, totals in itertools.product(examples(kind), TOTALS):
        classes = small(VECTORS, totals, people)
        verdicts, margins = model.judge(classes), model.measure_margins(classes)
        assert (margins[verdicts] >= -1e-12).all()
        assert (margins[~verdicts] <= 1e-12).all()


@every_model
def test_worst_class_fails_where_any_does(kind: Any) -> None:
    people = [sum(vector) + 1 for vector in VECTORS]
    for model in examples(kind):
        classes = small(VECTORS, TOTALS[0], people)
        found = find_worst_class(classes, model)
        assert found is not None
        assert found.holds == model.judge(classes).all()
        assert found.holds or not model.judge(classes)[found.place]


@every_model
def test_a_table_without_classes_is_judged(kind: Any) -> None:
    for model in examples(kind):
        empty = table([], totals={}, names=NAMES, population=[])
        assert model.judge(empty).shape == (0,)
        assert find_worst_class(empty, model) is None


@every_model
def test_what_a_model_needs_and_does_not_get_is_said(kind: Any) -> None:
    bare = EquivalenceClasses(sizes=np.array([3, 4]), rows=7)
    for model in examples(kind):
        needs_people = kind in (KMap, DeltaPresence) or getattr(model, "attacker", "") == "journalist"
        if model.column is None and not needs_people:
            assert model.judge(bare).shape == (2,)
            continue
        with pytest.raises(RequestError, match="sensitive" if model.column else "population"):
            model.judge(bare)


REFUSED: list[tuple[Any, str, list[Any]]] = [
    (KAnonymity, "k", [0, -1, 2.5, True, "2", None]),
    (KMap, "k", [0, 1.5]),
    (DeltaPresence, "delta_min", [-0.1, 2, "0.1", float("nan")]),
    (DeltaPresence, "delta_max", [1.01, 0.1]),
    (DistinctDiversity, "l", [0, 2.5]),
    (ProbabilisticDiversity, "l", [0, 0.5, "2", float("inf")]),
    (EntropyDiversity, "l", [0.99, None]),
    (RecursiveDiversity, "c", [0, -1]),
    (RecursiveDiversity, "l", [1, 0]),
    (EqualCloseness, "t", [-0.1, 1.1, float("nan")]),
    (OrderedCloseness, "t", [-0.1, 1.1]),
    (HierarchicalCloseness, "t", [-0.1, 1.1]),
    (AlphaKAnonymity, "alpha", [0, 1.5]),
    (AlphaKAnonymity, "k", [0]),
    (PSensitiveKAnonymity, "p", [0, 1.5]),
    (PSensitiveKAnonymity, "k", [0, True]),
    (DeltaDisclosure, "delta", [0, -1]),
    (BetaLikeness, "beta", [0, -1]),
    (BetaLikeness, "enhanced", ["yes"]),
    (MInvariance, "m", [1, 0]),
    (StrictRisk, "risk", [0, 1.5]),
    (StrictRisk, "attacker", ["thief", "marketer"]),
    (AverageRisk, "risk", [0, 1.5]),
    (AverageRisk, "attacker", ["thief"]),
]


@pytest.mark.parametrize(
    ("kind", "name", "value"), [(kind, name, value) for kind, name, values in REFUSED for value in values]
)
def test_parameters_that_mean_nothing_are_refused_by_name(kind: Any, name: str, value: Any) -> None:
    model = EXAMPLES[kind.__name__][1 if kind is DeltaPresence else 0]
    with pytest.raises(InvalidParameterError, match=rf"^{kind.__name__}\.{name} must be .*; got .*\.$"):
        dataclasses.replace(model, **{name: value})
