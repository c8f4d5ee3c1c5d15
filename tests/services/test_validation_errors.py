"""A wrong value is refused in one sentence of ours, whichever library finds it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field

from discreet.core.errors import InvalidParameterError
from discreet.services.request_fields import make_request
from tests.services import patients
from tests.services.test_promise import discreet


class Order(BaseModel, extra="forbid"):
    """A request with fields of common types."""

    dish: Annotated[str, Field(max_length=10)]
    plates: Annotated[int, Field(ge=1, lt=9)] = 1
    price: float = 1
    hot: bool = False
    without: tuple[str, ...] = ()
    size: Literal["small", "large", "huge"] = "small"


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({}, "`dish=` is missing."),
        ({"dish": 5}, "`dish=` must be a text; got 5."),
        ({"dish": "x" * 11}, f"`dish=` must be at most 10 characters; got {'x' * 11}."),
        ({"dish": "a", "plates": "two"}, "`plates=` must be a whole number; got two."),
        ({"dish": "a", "plates": 2.5}, "`plates=` must be a whole number; got 2.5."),
        ({"dish": "a", "plates": 0}, "`plates=` must be at least 1; got 0."),
        ({"dish": "a", "plates": 9}, "`plates=` must be below 9; got 9."),
        ({"dish": "a", "price": "much"}, "`price=` must be a number; got much."),
        ({"dish": "a", "hot": "perhaps"}, "`hot=` must be true or false; got perhaps."),
        ({"dish": "a", "without": 5}, "`without=` must be a list; got 5."),
        ({"dish": "a", "size": "tiny"}, "`size=` must be small, large or huge; got tiny."),
        ({"dish": "a", "plate": 5}, "There is no field plate; did you mean `plates=`?"),
        (
            {"dish": "a", "zeal": 5},
            "There is no field zeal; the fields are dish, plates, price, hot, without, size.",
        ),
    ],
)
def test_a_wrong_field_is_one_sentence(fields: dict[str, object], sentence: str) -> None:
    with pytest.raises(InvalidParameterError) as refused:
        make_request(Order, **fields)
    assert str(refused.value) == sentence


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("anonymize", "patients", "-k", "5.5"), "-k must be a whole number; got 5.5."),
        (("train", "tree", "patients", "--target", "sex", "--depth", "x"), "--depth must be a whole number"),
        (("audit", "laplace", "--runs", "x"), "--runs must be a whole number; got x."),
        (("serve", "--http", "99999"), "--http must be at most 65535; got 99999."),
        (("promise", "--people", "x"), "--people must be a whole number; got x."),
    ],
)
def test_a_wrong_option_is_one_sentence(
    words: tuple[str, ...],
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    patients.write(tmp_path)
    assert discreet(*words) == 2
    told = capsys.readouterr().err
    assert sentence in told
    assert "nput should" not in told
    assert "See discreet" in told


def test_formats_of_stdout_exclude_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    patients.write(tmp_path)
    assert discreet("ask", "SELECT COUNT(*) FROM patients", "--json", "--csv") == 2
    assert json.loads(capsys.readouterr().out)["error"] == "--json and --csv exclude each other."
    assert not list(tmp_path.glob("*.db"))
    assert discreet("hierarchy", "age", "--csv", "--sql") == 2
    assert "--csv and --sql exclude each other." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "verb"),
    [
        (("ask", "SELECT COUNT(*) FROM patients", "--epsilon", "1"), "ask"),
        (("plan", "SELECT COUNT(*) FROM patients", "--epsilon", "1"), "plan"),
        (("tabulate", "patients", "--columns", "sex", "--epsilon", "1"), "tabulate"),
        (
            ("collect", "randomize", "patients", "--column", "sex", "-p", "privacy.yaml", "-o", "r.parquet"),
            "collect randomize",
        ),
    ],
)
def test_errors_begin_with_the_verb_that_was_called(
    words: tuple[str, ...],
    verb: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    policy = patients.write(tmp_path)
    policy.write_text(policy.read_text().replace("person: id", "person: row"))
    (tmp_path / "patients.parquet").unlink()
    assert discreet(*words) == 2
    assert capsys.readouterr().err.startswith(f"discreet: {verb}: the source of table ")
