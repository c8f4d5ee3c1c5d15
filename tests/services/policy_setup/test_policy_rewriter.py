"""The text of a policy after a change: what differs is edited, and everything else is as it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from discreet.core.policy import Policy
from discreet.services.policies import load_policy, parse_policy_tree
from discreet.services.policy_setup.policy_rewriter import rewrite_policy
from discreet.services.yaml_reader import read_yaml

TEXT = """\
# Ours since 2019.
promise: {prior: 1%, posterior: 5%}   # agreed
tables:
  people:   # everybody
    source: people.csv
    person: patient
    rows_per_person: 3    # three visits
    columns:
      # who
      patient: {role: identifier}
      age: {type: integer, low: 0, high: 120}   # in years
      sex:
        type: category
        values:   # two of them
          - F
          - M
        role: quasi  # known
      city: {type: category, values: [A, B],
             role: quasi}
  # the end
epsilon: 0.1
"""
Tree = dict[str, Any]


def parsed(text: str, folder: Path) -> Policy:
    path = folder / "policy.yaml"
    path.write_text(text, newline="")
    tree = read_yaml(path).tree
    assert isinstance(tree, dict)
    policy, problems = parse_policy_tree(tree)
    assert policy is not None
    assert problems == []
    return policy


def changed(policy: Policy, **columns: Tree | None) -> Policy:
    """The policy with entries of columns of people set; None removes a column."""
    values = policy.model_dump(exclude_unset=True, by_alias=True)
    held = values["tables"]["people"]["columns"]
    for name, entries in columns.items():
        if entries is None:
            del held[name]
        else:
            held[name] = {k: v for k, v in {**held.get(name, {}), **entries}.items() if v is not None}
    return Policy.model_validate(values)


@pytest.mark.parametrize(
    ("columns", "replaced"),
    [
        ({"age": {"high": 110}}, {"high: 120}   # in": "high: 110}   # in"}),
        ({"age": {"low": None, "high": None}}, {"{type: integer, low: 0, high: 120}": "{type: integer}"}),
        ({"sex": {"role": "sensitive"}}, {"role: quasi  # known": "role: sensitive  # known"}),
        ({"sex": {"role": None}}, {"        role: quasi  # known\n": ""}),
        (
            {"sex": {"values": ["F", "M", "no"]}},
            {"values:   # two of them\n          - F\n          - M\n": 'values: [F, M, "no"]\n'},
        ),
        ({"sex": {"nulls": True}}, {"quasi  # known\n": "quasi  # known\n        nulls: true\n"}),
        ({"city": {"values": ["A"]}}, {"[A, B]": "[A]"}),
        ({"city": {"nulls": False}}, {"role: quasi}\n": "role: quasi, nulls: false}\n"}),
        ({"age": None}, {"      age: {type: integer, low: 0, high: 120}   # in years\n": ""}),
        (
            {"w/kg": {"type": "text"}},
            {"             role: quasi}\n": '             role: quasi}\n      "w/kg": {type: text}\n'},
        ),
    ],
)
def test_only_what_differs_is_edited(
    columns: dict[str, Tree | None], replaced: dict[str, str], tmp_path: Path
) -> None:
    before = parsed(TEXT, tmp_path)
    if "w/kg" in columns:
        columns, replaced = (
            {"w_kg": columns["w/kg"]},
            {k: v.replace('"w/kg"', "w_kg") for k, v in replaced.items()},
        )
    after = changed(before, **columns)
    wanted = TEXT
    for old, new in replaced.items():
        assert old in wanted
        wanted = wanted.replace(old, new)
    found = rewrite_policy(TEXT, before, after)
    assert found == wanted
    assert parsed(found, tmp_path).model_dump() == after.model_dump()


def test_lines_of_windows_stay(tmp_path: Path) -> None:
    text = TEXT.replace("\n", "\r\n")
    before = parsed(text, tmp_path)
    after = changed(before, age=None, sex={"nulls": True})
    found = rewrite_policy(text, before, after)
    assert "\n" not in found.replace("\r\n", "")
    assert parsed(found, tmp_path).model_dump() == after.model_dump()


def test_another_table_gets_lines_of_its_own(tmp_path: Path) -> None:
    before = parsed(TEXT, tmp_path)
    values = before.model_dump(exclude_unset=True, by_alias=True)
    values["tables"]["visits"] = {
        "source": "visits.csv",
        "person": "row",
        "columns": {"day": {"type": "date"}, "ward": {"type": "text"}},
        "csv": {"delimiter": ";"},
    }
    after = Policy.model_validate(values)
    found = rewrite_policy(TEXT, before, after)
    assert (
        "             role: quasi}\n"
        "  visits:\n"
        "    source: visits.csv\n"
        "    person: row\n"
        "    columns:\n"
        "      day: {type: date}\n"
        "      ward: {type: text}\n"
        '    csv: {delimiter: ";"}\n'
        "  # the end\n"
    ) in found
    path = tmp_path / "policy.yaml"
    path.write_text(found)
    assert list(load_policy(path).tables) == ["people", "visits"]
