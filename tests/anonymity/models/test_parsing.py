"""Models as typed: what is understood, and one sentence for what is not."""

from __future__ import annotations

from fractions import Fraction

import pytest

from discreet.anonymity.hierarchies.generalization_hierarchy import hierarchy_from_rows
from discreet.anonymity.models import (
    DeltaPresence,
    DistinctDiversity,
    EntropyDiversity,
    EqualCloseness,
    HierarchicalCloseness,
    Model,
    OrderedCloseness,
    ProbabilisticDiversity,
    RecursiveDiversity,
)
from discreet.anonymity.models.closeness import T_CLOSENESS
from discreet.anonymity.models.model_option import L_DIVERSITY, ModelContext, ModelOption
from discreet.anonymity.models.model_parsing import parse_model
from discreet.core.errors import RequestError

TREE = hierarchy_from_rows("disease", [("flu", "*"), ("acne", "*")])
FIFTH = Fraction(1, 5)


def parse(option: ModelOption, text: str, context: ModelContext | None = None) -> Model:
    return parse_model(option, text).build(context or ModelContext(has_population=True))


@pytest.mark.parametrize(
    ("text", "model"),
    [
        ("disease:2:distinct", DistinctDiversity(column="disease", l=2)),
        ("disease:2:probabilistic", ProbabilisticDiversity(column="disease", l=Fraction(2))),
        ("disease:2.5:probabilistic", ProbabilisticDiversity(column="disease", l=Fraction(5, 2))),
        ("disease:2:entropy", EntropyDiversity(column="disease", l=Fraction(2))),
        ("disease:3:recursive:4", RecursiveDiversity(column="disease", l=3, c=Fraction(4))),
        ("disease:3:recursive:0.5", RecursiveDiversity(column="disease", l=3, c=Fraction(1, 2))),
        ("what: ill:2:distinct", DistinctDiversity(column="what: ill", l=2)),
    ],
)
def test_diversity_is_understood(text: str, model: Model) -> None:
    assert parse(L_DIVERSITY, text) == model


@pytest.mark.parametrize(
    ("text", "model"),
    [
        ("disease:0.2:equal", EqualCloseness(column="disease", t=FIFTH)),
        ("disease:20%:ordered", OrderedCloseness(column="disease", t=FIFTH)),
        ("disease:1/5:hierarchical", HierarchicalCloseness(column="disease", t=FIFTH, hierarchy=TREE)),
    ],
)
def test_closeness_is_understood(text: str, model: Model) -> None:
    assert parse(T_CLOSENESS, text, ModelContext(find_hierarchy={"disease": TREE}.get)) == model


def test_presence_is_understood() -> None:
    assert parse(DeltaPresence.option, "0.05:15%") == DeltaPresence(
        delta_min=Fraction(1, 20), delta_max=Fraction(3, 20)
    )


@pytest.mark.parametrize(
    "text",
    [
        "", "disease", "disease:2", "2:distinct", ":2:distinct", "disease:2:diverse", "disease:2.5:distinct",
        "disease:0:distinct", "disease:-2:entropy", "disease:0.5:entropy", "disease:two:entropy",
        "disease:3:recursive", "disease:1:recursive:4", "disease:3:recursive:0", "disease:3:recursive:-1",
        "disease:3:recursive:1/0", "disease:1e999999999:entropy", "disease:" + "9" * 99 + ":distinct",
    ],
)  # fmt: skip
def test_bad_diversity_is_refused_in_one_sentence(text: str) -> None:
    with pytest.raises(RequestError, match=r"`l_diversity=` must be [^.]*(\.[^ ][^.]*)*; got .*\.$"):
        parse(L_DIVERSITY, text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "disease",
        "disease:0.2",
        "disease:0.2:near",
        "disease:1.2:equal",
        "disease:-1:equal",
        "disease:x:equal",
    ],
)
def test_bad_closeness_is_refused_in_one_sentence(text: str) -> None:
    with pytest.raises(RequestError, match=r"`t_closeness=` must be .*; got .*\.$"):
        parse(T_CLOSENESS, text)


def test_hierarchical_closeness_without_a_hierarchy_is_refused_with_a_way_out() -> None:
    with pytest.raises(RequestError, match=r"needs a hierarchy of the column disease\. Declare one"):
        parse(T_CLOSENESS, "disease:0.2:hierarchical")


@pytest.mark.parametrize("text", ["", "0.1", "0.1:0.2:0.3", "0.2:0.1", "0.1:2", "a:b", "-1:1"])
def test_bad_presence_is_refused_in_one_sentence(text: str) -> None:
    with pytest.raises(RequestError, match=r"`delta_presence=` must .*; got .*\.$"):
        parse(DeltaPresence.option, text)
