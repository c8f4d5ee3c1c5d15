"""Bodies of jobs have the fields of the requests, and never name a path."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from discreet.anonymity.models import PSensitiveKAnonymity
from discreet.anonymity.models.model_option import ModelContext
from discreet.anonymity.models.model_parsing import MODEL_OPTIONS
from discreet.http.request_bodies import AnonymizeBody

BODY = {"kind": "anonymize", "table": "people"}


def test_every_model_that_needs_no_file_has_a_field() -> None:
    fields = AnonymizeBody.model_json_schema()["properties"]
    assert {option.name for option in MODEL_OPTIONS if not option.needs_file} <= set(fields)
    assert all(each.get("description") for name, each in fields.items() if name != "kind")


def test_models_are_parsed_with_the_body() -> None:
    body = AnonymizeBody.model_validate(BODY | {"k": 3, "p_sensitive": ["disease:2"], "level": {"age": 2}})
    built = [each.build(ModelContext(k=3)) for each in body.model_specs]
    assert built[1:] == [PSensitiveKAnonymity(column="disease", p=2, k=3)]
    assert body.levels == {"age": 2}


@pytest.mark.parametrize(
    "field", ["output", "policy", "key", "earlier", "hierarchy", "engine", "quasi", "m_invariance"]
)
def test_a_body_names_no_path(field: str) -> None:
    with pytest.raises(ValidationError, match="Extra inputs"):
        AnonymizeBody.model_validate(BODY | {field: "/etc/passwd"})


@pytest.mark.parametrize("field", ["analyst", "method", "objective", "table"])
def test_a_name_that_is_longer_than_any_is_refused(field: str) -> None:
    with pytest.raises(ValidationError, match="at most 200 characters"):
        AnonymizeBody.model_validate(BODY | {field: "x" * 201})


@pytest.mark.parametrize(("field", "value"), [("level", 1), ("centre", "mean"), ("weight", 2)])
def test_a_column_whose_name_is_longer_than_any_is_refused(field: str, value: object) -> None:
    with pytest.raises(ValidationError, match="at most 200 characters"):
        AnonymizeBody.model_validate(BODY | {field: {"x" * 201: value}})


def test_an_idempotency_key_is_bound_to_values_and_not_to_names_of_classes() -> None:
    body = AnonymizeBody.model_validate(BODY | {"k": 3, "p_sensitive": ["disease:2"]})
    assert "class" not in str(body.model_dump(mode="json"))
