"""Policies that are mutated are read, or refused in a sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from discreet.core.errors import RequestError
from discreet.services.policies import get_promise, load_policy
from discreet.services.policy_blanks import list_blanks
from discreet.services.policy_version import compute_policy_version
from tests.fuzz.mutations import Mutations
from tests.pgwire.served import POLICY
from tests.services import patients

BY_DAY, BY_NIGHT = 60, 2_400


def check_policy(path: Path, draw: Mutations) -> None:
    """Read one mutated policy; whatever is wrong with it is a refusal of one or more sentences."""
    text = draw.one((POLICY, patients.write(path.parent).read_text()))
    if draw.below(2):
        text = draw.mutate_text(text)
    else:
        tree = draw.mutate_tree(yaml.safe_load(text))
        text = yaml.safe_dump(tree) if draw.below(2) else json.dumps(tree, default=str)
    content = text.encode(errors="surrogatepass")
    path.write_bytes(draw.mutate_bytes(content) if draw.below(10) == 0 else content)
    refusal = read_policy(path)
    assert refusal is None or str(refusal).strip()


def read_policy(path: Path) -> RequestError | None:
    try:
        policy = load_policy(path)
        compute_policy_version(policy)
        get_promise(policy)
        list_blanks(path)
    except RequestError as refusal:
        return refusal
    return None


def test_a_sample_of_mutated_policies(tmp_path: Path) -> None:
    for seed in range(BY_DAY):
        check_policy(tmp_path / "mutated.yaml", Mutations(seed))


@pytest.mark.night
def test_many_mutated_policies(tmp_path: Path) -> None:
    for seed in range(BY_DAY, BY_DAY + BY_NIGHT):
        try:
            check_policy(tmp_path / "mutated.yaml", Mutations(seed))
        except Exception as error:
            raise AssertionError(f"seed {seed}: {type(error).__name__}: {error}") from error


@pytest.mark.parametrize("entry", ["type", "role", "missing", "values", "low", "resolution", "hierarchy"])
@pytest.mark.parametrize("value", ["[]", "{}", "[[]]", "{a: []}", "[null]", '""'])
def test_a_list_where_a_word_belongs_is_a_sentence(tmp_path: Path, entry: str, value: str) -> None:
    path = tmp_path / "privacy.yaml"
    path.write_text(f"tables: {{t: {{source: t.csv, columns: {{a: {{{entry}: {value}}}}}}}}}\n")
    refusal = read_policy(path)
    assert refusal is None or "olicy" in str(refusal) or "privacy.yaml" in str(refusal)
