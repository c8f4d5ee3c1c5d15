"""What every attack owes by being listed in `ATTACKS`."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Any

import pytest

from discreet.attacks import ATTACKS
from tests.attacks.cases import CASES, Case

LABELS = ("Knows", "Learns", "Score", "Stopped by")
every_attack = pytest.mark.parametrize("kind", ATTACKS, ids=lambda kind: kind.__name__)
every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.attack.__name__)


def test_every_listed_attack_has_a_case() -> None:
    assert sorted(kind.__name__ for kind in ATTACKS) == sorted(case.attack.__name__ for case in CASES)


@every_attack
def test_module_states_what_the_attacker_knows_and_what_stops_it(kind: Any) -> None:
    lines = (sys.modules[kind.__module__].__doc__ or "").splitlines()
    starts = [line.split("  ")[0] for line in lines if line and not line.startswith(" ")]
    assert [label for label in starts if label in LABELS] == list(LABELS)


@every_attack
def test_attack_is_a_frozen_keyword_only_dataclass_that_names_itself(kind: Any) -> None:
    assert kind.__bases__ == (object,)
    assert all(field.kw_only for field in dataclasses.fields(kind))
    assert kind.__dataclass_params__.frozen
    assert all(isinstance(getattr(kind, word), str) for word in ("name", "knows", "learns", "stopped_by"))


def test_attacks_have_different_names() -> None:
    assert len({kind.name for kind in ATTACKS}) == len(ATTACKS)


@every_case
def test_attack_beats_guessing_where_nothing_protects(case: Case, tmp_path: Path) -> None:
    found = case.unprotected(tmp_path)
    assert found.attack == case.attack.name
    assert found.interval[0] > found.baseline
    assert found.gain > 0.5


@every_case
def test_attack_does_not_beat_guessing_where_something_protects(case: Case, tmp_path: Path) -> None:
    found = case.protected(tmp_path)
    assert found.interval[0] <= found.baseline
    assert found.gain < 0.1
