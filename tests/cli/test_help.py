"""The help of every command: options under headings, one word for each value, readable at 80 columns."""

from __future__ import annotations

import re

import pytest

from discreet.cli.main import COMMAND_GROUPS, COMMANDS
from discreet.cli.reference_pages import _list_subcommands as list_subcommands
from tests.services.test_promise import discreet

MOST_OPTIONS = 14
"""In one group: more are not read."""
WORDS = re.compile(r"[A-Z][A-Z.,:=]*|COLUMN=[a-z|]+|[a-z]+(\|[a-z]+)*")
"""A value's name in capitals, or the words to choose from."""
METAVARS = re.compile(r"^  (?:-\w, )?--?[\w-]+ (\S+)", re.MULTILINE)


def list_commands() -> list[tuple[str, ...]]:
    inner = [(verb, each) for verb in COMMAND_GROUPS for each in list_subcommands(verb)]
    return [*((verb,) for verb in sorted(COMMANDS)), *inner]


@pytest.fixture
def told(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> str:
    """What the command's help prints."""
    monkeypatch.setenv("COLUMNS", "80")
    assert discreet(*request.param, "--help") == 0
    return capsys.readouterr().out


every_command = pytest.mark.parametrize("told", list_commands(), indirect=True, ids=" ".join)


@every_command
def test_options_are_in_groups_that_can_be_read(told: str) -> None:
    groups = re.split(r"\n\n(?=\S.*:\n)", told)[1:]
    for group in groups:
        assert len(re.findall(r"^  -", group, re.MULTILINE)) <= MOST_OPTIONS, group
    assert groups[-1].startswith("Output:\n")
    assert "--help" in groups[-1]


@every_command
def test_values_are_named_in_the_same_way(told: str) -> None:
    assert not re.search(r"<\w+|list\[|<=x|x>=|\{\w+\}", told)
    named = {each for each in METAVARS.findall(told) if each != "/"}  # of --padding / --no-padding
    assert [each for each in named if not WORDS.fullmatch(each)] == []


@every_command
def test_no_line_is_wider_than_a_terminal(told: str) -> None:
    assert [line for line in told.splitlines() if len(line) > 80] == []


@pytest.mark.parametrize(
    "verb", ["promise", "ask", "plan", "synthesize", "serve", "tabulate", "train", "audit"]
)
def test_long_commands_have_several_groups(
    verb: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert discreet(verb, "--help") == 0
    headings = re.findall(r"^(\S.*):$", capsys.readouterr().out, re.MULTILINE)
    assert len(headings) >= 4
    assert "Options" not in headings
