"""What was chosen on the Publish screen becomes what `discreet anonymize` would have been asked."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from discreet.anonymity.models import (
    EqualCloseness,
    KAnonymity,
    PSensitiveKAnonymity,
    RecursiveDiversity,
    StrictRisk,
)
from discreet.anonymity.models.model_option import ModelContext
from discreet.anonymity.models.posterior_cap import PosteriorCap
from discreet.core.column_entry import Role
from discreet.core.errors import RequestError
from discreet.core.policy import Policy
from discreet.http.console.publish_form import COLUMN_MODELS, PublishForm, list_publishable_tables
from discreet.services.anonymize.anonymize_request import AnonymizeFields
from discreet.services.policies import load_policy
from tests.services import patients


@pytest.fixture
def policy(tmp_path: Path) -> Policy:
    return load_policy(patients.write(tmp_path))


def chosen(policy: Policy, **fields: str) -> PublishForm:
    return PublishForm(
        policy=policy,
        name="patients",
        fields={name.replace("__", ":"): each for name, each in fields.items()},
    )


def test_models_are_those_of_the_fields(policy: Policy) -> None:
    made = chosen(
        policy,
        k="7",
        l_diversity_column="disease",
        l_diversity_kind="recursive",
        l_diversity_l="3",
        l_diversity_c="4",
        t_closeness_column="disease",
        t_closeness_t="0.3",
        suppress="2%",
        posterior="20%",
    ).build_request(None)
    assert [each.build(ModelContext()) for each in made.model_specs] == [
        KAnonymity(k=7),
        RecursiveDiversity(column="disease", l=3, c=Fraction(4)),
        EqualCloseness(column="disease", t=Fraction("0.3")),
    ]
    assert (made.suppress, made.posterior) == (Fraction("0.02"), PosteriorCap(cap=0.2))


def test_without_any_model_classes_have_five(policy: Policy) -> None:
    [only] = chosen(policy).build_request(None).model_specs
    assert only.build(ModelContext()) == KAnonymity(k=5)
    assert chosen(policy, posterior="20%").build_request(None).model_specs == ()


def test_a_role_is_the_policys_until_another_is_chosen(policy: Policy) -> None:
    assert chosen(policy, role__sex="quasi").policy_with_choices == policy
    columns = (
        chosen(policy, role__sex="sensitive", role__stays="quasi")
        .policy_with_choices.tables["patients"]
        .columns
    )
    assert (columns["sex"].role, columns["stays"].role) == (Role.SENSITIVE, Role.QUASI)


def test_a_column_that_nobody_gave_a_role_stays_one_until_it_is_given_one(policy: Policy) -> None:
    table = policy.tables["patients"]
    unsaid = table.columns["stays"].model_copy()
    unsaid.model_fields_set.discard("role")
    table = table.model_copy(update={"columns": {**table.columns, "stays": unsaid}})
    open_policy = policy.model_copy(update={"tables": {"patients": table}})
    for fields, said in (({"role__stays": ""}, False), ({"role__stays": "other"}, True)):
        column = chosen(open_policy, **fields).policy_with_choices.tables["patients"].columns["stays"]
        assert ("role" in column.model_fields_set) == said


@pytest.mark.parametrize(
    "fields",
    [
        {"role__id": "other"},
        {"role__id": "quasi"},
        {"role__sex": "nobody"},
        {"hierarchy__sex": "decades"},
        {"hierarchy__age": "nowhere"},
    ],
)
def test_what_is_not_offered_is_refused(policy: Policy, fields: dict[str, str]) -> None:
    with pytest.raises(RequestError, match=r"publish: "):
        _ = chosen(policy, **fields).policy_with_choices


@pytest.mark.parametrize(
    "fields",
    [{"k": "many"}, {"method": "private"}, {"l_diversity_column": "disease", "l_diversity_kind": "odd"}],
)
def test_what_is_no_model_or_method_of_the_page_is_refused(policy: Policy, fields: dict[str, str]) -> None:
    with pytest.raises(RequestError, match=r"publish: "):
        chosen(policy, **fields).build_request(None)


def test_quasi_identifiers_come_with_their_hierarchy_as_a_tree(policy: Policy) -> None:
    shown = {each.name: each for each in chosen(policy, role__sex="other").column_choices}
    assert shown["age"].tree is not None
    assert shown["age"].hierarchies == ("age", "zipcode", "decades")
    assert shown["sex"].tree is None
    assert list_publishable_tables(policy) == ("patients",)


def test_every_field_that_frontends_share_has_an_input(policy: Policy) -> None:
    rows = [row for section in chosen(policy).sections for row in (*section.rows, *section.folded)]
    inputs = {each.name: each for row in rows for each in row}
    fields = set(AnonymizeFields.model_fields) - {"table", "epsilon", "delta", "analyst"}
    assert fields - set(inputs) == fields & set(COLUMN_MODELS)
    assert {
        "l_diversity_column",
        "l_diversity_kind",
        "l_diversity_l",
        "l_diversity_c",
        "t_closeness_column",
        "p_sensitive_column",
        "delta_disclosure_delta",
        "beta_likeness_beta",
    } <= set(inputs)
    assert inputs["suppress"].label == "Suppress at most"
    assert inputs["method"].choices[0] == "generalize"
    assert "private" not in inputs["method"].choices


def test_fields_without_a_hand_written_input_reach_the_request(policy: Policy) -> None:
    made = chosen(
        policy,
        k="3",
        risk="prosecutor:0.4",
        p_sensitive_column="disease",
        p_sensitive_p="2",
        levels="age=1, zipcode=2",
        weights="age=2",
        sampling="1%",
        unit="row",
        seconds="7",
    ).build_request(None)
    assert [each.kind for each in made.model_specs] == [KAnonymity, PSensitiveKAnonymity, StrictRisk]
    assert (made.levels, made.weights) == ({"age": 1, "zipcode": 2}, {"age": 2.0})
    assert (made.sampling, made.unit, made.seconds) == (0.01, "row", 7.0)


def test_a_section_is_open_where_a_folded_input_is_filled(policy: Policy) -> None:
    assert [section.is_open for section in chosen(policy).sections] == [False] * 4
    assert [section.is_open for section in chosen(policy, seconds="7").sections] == [
        False,
        True,
        False,
        False,
    ]


def test_a_population_is_a_table_of_the_policy_and_never_a_file(policy: Policy, tmp_path: Path) -> None:
    (tmp_path / "everybody.csv").write_text("age,sex\n30,f\n")
    form = chosen(policy, k_map="5", population=str(tmp_path / "everybody.csv"))
    with pytest.raises(RequestError, match=r"There is no table .*everybody"):
        _ = form.resolved_table
    assert chosen(policy, k_map="5", population="patients").resolved_table.population == "patients"


def test_every_input_has_a_name_of_its_own(policy: Policy) -> None:
    """Also of models whose parameters have the same letter: one input never asks for two models."""
    rows = [row for section in chosen(policy).sections for row in (*section.rows, *section.folded)]
    names = [each.name for row in rows for each in row]
    assert len(names) == len(set(names))
    assert {f"{name}_column" for name in set(COLUMN_MODELS) & set(AnonymizeFields.model_fields)} <= set(names)
