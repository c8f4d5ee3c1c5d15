"""What every engine owes by being listed in `ENGINES`; what it computes is compared in tests/engines."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from discreet.core.engine import SupportsWrites
from discreet.core.errors import RequestError
from discreet.engines.engine_reference import generate_engine_page
from discreet.engines.engine_registry import ENGINES
from discreet.engines.engine_spec import EngineSpec
from discreet.services.addresses import (
    EXPECTED_ADDRESS,
    is_engine_address,
    parse_engine_address,
    remove_password,
    require_engine_address,
)
from tests.engines import support

ROOT = Path(__file__).parents[2]
OPENINGS = ("prepare_engine", "open_tables", "open_publisher", "open_inventory")
every_engine = pytest.mark.parametrize("kind", ENGINES, ids=lambda kind: kind.__name__)


def list_examples(kind: type[EngineSpec]) -> list[str]:
    return [example for form in kind.forms for example in form.examples]


def test_no_two_engines_have_a_name_or_a_scheme_in_common() -> None:
    assert len({kind.name for kind in ENGINES}) == len(ENGINES)
    schemes = [scheme for kind in ENGINES for scheme in kind.schemes]
    assert len(set(schemes)) == len(schemes)


def test_one_engine_is_embedded_and_the_default() -> None:
    assert [kind.is_embedded for kind in ENGINES] == [True, *[False] * (len(ENGINES) - 1)]


@every_engine
def test_a_specification_is_frozen_and_an_address(kind: type[EngineSpec]) -> None:
    engine = kind(list_examples(kind)[0])
    assert [field.name for field in dataclasses.fields(kind)] == ["text"]
    with pytest.raises(dataclasses.FrozenInstanceError):
        engine.text = "other"  # type: ignore[misc]


@every_engine
def test_every_example_is_an_address_of_this_engine_alone(kind: type[EngineSpec]) -> None:
    for example in list_examples(kind):
        assert is_engine_address(example)
        assert [each for each in ENGINES if each.address_pattern.fullmatch(example)] == [kind]
        assert type(parse_engine_address(example)) is kind
        assert parse_engine_address(example).scheme in kind.schemes


@every_engine
def test_messages_name_every_form(kind: type[EngineSpec]) -> None:
    assert all(text in EXPECTED_ADDRESS for form in kind.forms for text in form.texts)
    with pytest.raises(RequestError) as refusal:
        require_engine_address(f"{kind.schemes[0]}+unknown://ann:secret@db.example")
    assert "secret" not in str(refusal.value)


@every_engine
def test_a_location_and_a_draft_hold_no_password(kind: type[EngineSpec]) -> None:
    for scheme in kind.schemes:
        address = f"{scheme}://ann:hidden@db.example:1234/shop"
        if not is_engine_address(address):
            continue
        assert "hidden" not in parse_engine_address(address).location
        if not kind.is_embedded:
            assert "hidden" not in remove_password(address)


@every_engine
def test_the_driver_is_an_extra_of_the_package(kind: type[EngineSpec]) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert bool(kind.extra) == bool(kind.driver) == (not kind.is_embedded)
    assert kind.extra == "" or kind.extra in extras


@every_engine
def test_a_missing_driver_is_named_with_its_extra(
    kind: type[EngineSpec], monkeypatch: pytest.MonkeyPatch
) -> None:
    if not kind.driver:
        return
    monkeypatch.setitem(sys.modules, kind.driver, None)
    with pytest.raises(RequestError, match=f"{kind.name}: its driver is not installed") as refusal:
        kind(list_examples(kind)[0]).load_driver()
    assert f"discreet[{kind.extra}]" in refusal.value.hint


@every_engine
def test_its_module_opens_whatever_an_engine_opens(kind: type[EngineSpec]) -> None:
    driver = kind(list_examples(kind)[0]).load_driver()
    assert [name for name in OPENINGS if not callable(getattr(driver, name))] == []


@every_engine
def test_every_engine_but_the_embedded_one_writes_releases_itself(
    kind: type[EngineSpec],
) -> None:
    driver = kind(list_examples(kind)[0]).load_driver()
    (publisher,) = [each for name, each in vars(driver).items() if name.endswith("Publisher")]
    assert issubclass(publisher, SupportsWrites) != kind.is_embedded


@every_engine
def test_its_class_has_all_that_the_pages_say(kind: type[EngineSpec]) -> None:
    facts = (kind.name, kind.table_hint, kind.empty_hint, kind.inexact_identifiers)
    assert all(len(fact) > 3 for fact in (*facts, kind.time_limit, kind.memory_limit, *kind.store_example))
    assert all(form.rows and form.sources for form in kind.forms)
    assert kind.cost_model.minimum > 0
    assert (kind.cost_model.per_row_in_place > 0) != kind.is_embedded


def test_the_conformance_suite_knows_every_engine() -> None:
    assert list(support.ENGINES.values()) == [kind.name for kind in ENGINES]


def test_the_reference_page_is_that_of_the_code() -> None:
    kept = (ROOT / "docs" / "reference" / "engines.md").read_text()
    assert kept == generate_engine_page(), "python -m discreet.engines.engine_reference writes it anew"


def test_specifications_load_no_driver() -> None:
    heavy = ("adbc_driver_postgresql", "duckdb", "pyarrow", "pyspark")
    script = (
        f"import sys, discreet.services.addresses\nprint([name for name in {heavy} if name in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert told.stdout.split() == ["[]"]
