"""Fixes of the check, pasted: the option that a finding proposes reads what was unreadable before."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from discreet.core.policy import Policy
from discreet.services.check.check_report import ColumnCheck
from discreet.services.check.data_check import check_data
from discreet.services.check.verdicts import Verdict

DATE = {"type": "date", "low": "2020-01-01", "high": "2030-01-01"}
NUMBER = {"type": "decimal", "low": 0, "high": 10_000, "resolution": "0.01"}
SEX = {"type": "category", "values": ["Male", "Female"]}


def check_column(path: Path, texts: list[str], column: dict[str, Any], csv: dict[str, Any]) -> ColumnCheck:
    path.write_text("x|y\n" + "".join(f"{text}|1\n" for text in texts))
    table = {"source": str(path), "columns": {"x": column}, "csv": {"delimiter": "|"} | csv}
    report = check_data(Policy.model_validate({"tables": {"t": table}, "ledger": ":memory:"}))
    return report.tables[0].columns[0]


@pytest.mark.parametrize(
    ("texts", "column", "csv"),
    [
        (["1,5", "20,25", "3"], NUMBER, {}),
        (["1,234.5", "2,000"], NUMBER, {}),
        (["1.234,5", "2,5"], NUMBER, {}),
        (["31.12.2024", "2024-05-06"], DATE, {}),
        (["31/12/2024", "05/06/2025"], DATE, {}),
        (["12/31/2024", "05/06/2025"], DATE, {}),
        (["31.12.2024", "31/12/2024"], DATE, {"dates": ["%d.%m.%Y"]}),
        (["NA", "2.5"], NUMBER, {}),
        (["?", "2.5", "NA"], NUMBER, {"nulls": ["?"]}),
        (["Male", "?"], SEX, {}),
        (["Male", " Female "], SEX, {"trim": False}),
    ],
)
def test_a_reading_option_that_is_proposed_reads_the_column(
    tmp_path: Path, texts: list[str], column: dict[str, Any], csv: dict[str, Any]
) -> None:
    before = check_column(tmp_path / "t.csv", texts, column, csv)
    assert before.verdict is not Verdict.FITS
    found = re.fullmatch(r"Add (csv: \{.*\}) to the table\.", before.fix)
    assert found is not None, before.fix
    after = check_column(tmp_path / "t.csv", texts, column, csv | yaml.safe_load(found[1])["csv"])
    assert after.verdict is Verdict.FITS, after.text


@pytest.mark.parametrize("text", ["male", "Malé", "Ma le"])
def test_another_spelling_that_is_declared_fits(tmp_path: Path, text: str) -> None:
    before = check_column(tmp_path / "t.csv", ["Female", text], SEX, {})
    fix = f"Declare them as the data spells them: {text!r} for 'Male'."
    assert before.fix == f"{fix} Where both are in the data, declare both."
    after = check_column(tmp_path / "t.csv", ["Female", text], SEX | {"values": [text, "Female"]}, {})
    assert after.verdict is Verdict.FITS


COUNT = {"type": "integer", "low": 0, "high": 10_000}


@pytest.mark.parametrize("texts", [["1.234", "12.500", "5"], ["2.5", "3"]])
def test_whole_numbers_with_a_fraction_may_be_thousands(tmp_path: Path, texts: list[str]) -> None:
    found = check_column(tmp_path / "t.csv", texts, COUNT, {})
    assert found.verdict is Verdict.EXCEEDS
    assert found.profile.rounded == len([text for text in texts if "." in text])
    assert found.fix == (
        'Declare type: decimal with a resolution, or csv: {decimal: ",", thousands: "."} if 1.234 means more '
        "than a thousand."
    )
    whole = check_column(tmp_path / "t.csv", ["1.0", "1e3", "7"], COUNT, {})
    assert (whole.verdict, whole.profile.rounded) == (Verdict.FITS, 0)
    grouped = {"decimal": ",", "thousands": "."}
    assert check_column(tmp_path / "t.csv", ["1.234", "5"], COUNT, grouped).verdict is Verdict.FITS


def test_a_comma_that_separates_either_is_not_decided(tmp_path: Path) -> None:
    found = check_column(tmp_path / "t.csv", ["1,234", "20,500"], NUMBER, {})
    assert found.fix == (
        'Add csv: {decimal: ","} to the table if 1,234 is less than two, or csv: {thousands: ","} if it is '
        "more."
    )


def test_days_that_are_none_are_not_mended_by_the_format_that_is_declared(tmp_path: Path) -> None:
    found = check_column(tmp_path / "t.csv", ["31.02.2024", "01.02.2024"], DATE, {"dates": ["%d.%m.%Y"]})
    assert found.fix == "Name their format under csv: {dates: […]}, or correct them in the file."


def test_currencies_and_units_are_named(tmp_path: Path) -> None:
    found = check_column(tmp_path / "t.csv", ["$5.00", "12 %", "7 kg"], NUMBER, {})
    assert found.fix == "Write them as numbers alone, without kg and % and $, where the table is made."


def test_a_typing_error_is_shown_beside_the_command_that_learns_values(tmp_path: Path) -> None:
    found = check_column(tmp_path / "t.csv", ["Femael", "diverse"], SEX, {})
    assert found.fix.startswith("Perhaps misspelled: 'Femael' for 'Female'. Learn the frequent values: ")
    assert shlex.split(found.fix.rpartition(": ")[2]) == [
        *("discreet", "bounds", "t", "x", "--epsilon", "0.05", "--values"),
    ]


def test_bounds_are_learned_by_a_command_that_can_be_pasted(tmp_path: Path) -> None:
    found = check_column(tmp_path / "t.csv", ["5", "20000"], NUMBER, {})
    assert found.fix == "Learn bounds: discreet bounds t x --epsilon 0.05"
