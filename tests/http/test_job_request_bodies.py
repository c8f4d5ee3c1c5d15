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
    assert body.level == {"age": 2}


@pytest.mark.parametrize(
    "field", ["output", "policy", "key", "earlier", "hierarchy", "engine", "quasi", "m_invariance"]
)
def test_a_body_names_no_path(field: str) -> None:
    with pytest.raises(ValidationError, match="Extra inputs"):
        AnonymizeBody.model_validate(BODY | {field: "/etc/passwd"})
