"""What every attack owes by being listed in `ATTACKS`: a case that it wins, and one that it does not.

Winning is decided by a Clopper-Pearson bound on the success with a false-alarm rate of 1e-9.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
from pathlib import Path
from typing import Any

import pytest

from discreet.attacks import ATTACKS
from discreet.attacks.findings import Findings
from discreet.core.binomial import clopper_pearson
from tests.attacks.case import Case
from tests.attacks.cases import CASES
from tests.statistical import FALSE_ALARM

LABELS = ("Knows", "Learns", "Score", "Stopped by")
every_attack = pytest.mark.parametrize("kind", ATTACKS, ids=lambda kind: kind.__name__)
every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.attack.__name__)


def at_least(findings: Findings) -> float:
    """The least success that explains what was found."""
    hits = round(findings.success * findings.attempts)
    return clopper_pearson(hits, findings.attempts, alpha=FALSE_ALARM)[0]


def test_every_listed_attack_has_a_case() -> None:
    assert {case.attack for case in CASES} == set(ATTACKS)


@every_attack
def test_documentation_states_knowledge_gain_score_and_remedy(kind: Any) -> None:
    alone = sum(each.__module__ == kind.__module__ for each in ATTACKS) == 1
    lines = ((sys.modules[kind.__module__].__doc__ if alone else inspect.getdoc(kind)) or "").splitlines()
    starts = [line.split("  ")[0] for line in lines if line and not line.startswith(" ")]
    assert [label for label in starts if label in LABELS] == list(LABELS)


@every_attack
def test_attack_is_a_frozen_keyword_only_dataclass_that_says_what_it_does(kind: Any) -> None:
    assert kind.__bases__ == (object,)
    assert kind.__dataclass_params__.frozen
    assert all(field.kw_only for field in dataclasses.fields(kind))
    assert all(
        isinstance(text, str) and text for text in (kind.name, kind.knows, kind.learns, kind.stopped_by)
    )


@every_case
def test_attack_beats_guessing_where_nothing_is_protected(case: Case, tmp_path: Path) -> None:
    findings = case.unprotected(tmp_path)
    assert at_least(findings) > findings.baseline
    assert findings.gain > 0.5


@every_case
def test_attack_does_not_beat_guessing_where_something_is(case: Case, tmp_path: Path) -> None:
    findings = case.protected(tmp_path)
    assert at_least(findings) <= findings.baseline


@every_case
def test_findings_are_beliefs_and_shares(case: Case, tmp_path: Path) -> None:
    for findings in (case.unprotected(tmp_path), case.protected(tmp_path)):
        low, high = findings.interval
        assert 0 <= low <= findings.success <= high <= 1
        assert 0 < findings.baseline < 1
        assert findings.attempts > 0
        assert all(0 <= belief <= 1 for each in findings.victims for belief in (each.prior, each.posterior))
        assert all(points == tuple(sorted(points)) for points in findings.series.values())
