"""The schema of policies, by which editors complete and check them."""

from __future__ import annotations

from typing import Any

import pytest

from discreet.core.policy import Policy

SCHEMA: dict[str, Any] = Policy.model_json_schema()
MODELS = {"Policy": SCHEMA} | {
    name: model for name, model in SCHEMA["$defs"].items() if "properties" in model
}


@pytest.mark.parametrize("name", MODELS)
def test_every_field_is_described_with_an_example(name: str) -> None:
    for field, entry in MODELS[name]["properties"].items():
        assert entry.get("description"), field
        assert entry.get("examples"), field
