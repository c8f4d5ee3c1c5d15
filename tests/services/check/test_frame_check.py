"""The check of frames from memory: the same report as that of a file, and a warning where much is lost."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import discreet
from discreet.services import session_ledger
from discreet.services.check.verdicts import Verdict

COLUMNS = {"age": (17, 90), "sex": ["Male", "Female"]}
ROWS = {"age": [20, 40, 300, None], "sex": ["Male", "male", "Female", "Female"]}
FRAMES = {
    "arrow": pa.table(ROWS),
    "pandas": pd.DataFrame(ROWS),
    "polars": pl.DataFrame(ROWS),
    "lazy": pl.LazyFrame(ROWS),
    "duckdb": duckdb.from_arrow(pa.table(ROWS)),
}


@pytest.mark.parametrize("library", FRAMES)
def test_a_frame_of_every_library_is_checked(library: str) -> None:
    report = discreet.check(FRAMES[library], columns=COLUMNS)
    (table,) = report.tables
    age, sex = (column.profile for column in table.columns)
    assert (table.rows, age.missing, age.clamped_high, sex.undeclared) == (4, 1, 1, 1)
    assert report.verdict is Verdict.EXCEEDS
    assert "'male' for 'Male'" in table.columns[1].fix


def test_a_curator_over_a_frame_checks_and_accepts_it() -> None:
    policy = {"promise": ("1%", "5%"), "tables": {"people": {"columns": {"age": (17, 400)}}}}
    with discreet.Curator(policy, tables={"people": FRAMES["arrow"]}, ledger=":memory:") as curator:
        assert not curator.check().tables[0].accepted
        assert curator.check(accept=True).tables[0].accepted


def test_acceptance_is_not_for_a_frame_without_a_curator() -> None:
    with pytest.raises(discreet.DiscreetError, match="`accept=`"):
        discreet.check(FRAMES["arrow"], columns=COLUMNS, accept=True)
    with pytest.raises(discreet.DiscreetError, match="`columns=` is for a frame"):
        discreet.check("privacy.yaml", columns=COLUMNS)


@pytest.fixture
def new_session() -> Iterator[None]:
    """A session of its own: other tests of the process may have made another promise in theirs."""
    session_ledger.make_session_ledger.cache_clear()
    yield
    session_ledger.make_session_ledger.cache_clear()


@pytest.mark.usefixtures("new_session")
def test_whoever_asks_a_frame_that_does_not_fit_is_warned_once() -> None:
    frame = pa.table({"age": [20, 40, 300, 500]})
    question = "SELECT COUNT(*) FROM df"
    with pytest.warns(UserWarning, match=r"df\.age \(50% are above the bounds\)") as seen:
        discreet.ask(frame, question, columns={"age": (17, 90)}, epsilon=0.1)
    assert len(seen) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        discreet.ask(frame, question, columns={"age": (17, 90)}, epsilon=0.1)


@pytest.mark.usefixtures("new_session")
def test_another_declaration_of_the_same_frame_is_checked_as_well() -> None:
    frame, question = pa.table({"sex": ["F", "M"] * 10}), "SELECT COUNT(*) FROM df"
    discreet.ask(frame, question, columns={"sex": ["F", "M"]}, epsilon=0.1)
    with pytest.warns(UserWarning, match=r"df\.sex \(100% are not among the declared values\)"):
        discreet.ask(frame, question, columns={"sex": ["female", "male"]}, epsilon=0.1)


@pytest.mark.usefixtures("new_session")
def test_a_frame_that_fits_is_asked_in_silence() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        discreet.ask(
            pa.table({"age": [20, 40]}), "SELECT COUNT(*) FROM df", columns={"age": (17, 90)}, epsilon=0.1
        )


@pytest.mark.parametrize("people", [[], [None, None]], ids=["no row", "nobody named"])
def test_a_table_without_people_is_checked(people: list[int | None]) -> None:
    frame = pa.table(
        {"patient": pa.array(people, pa.int64()), "age": pa.array([30] * len(people), pa.int64())}
    )
    columns = {"patient": "integer", "age": (0, 90)}
    found = discreet.check(frame, columns=columns, person="patient", rows_per_person=2)
    (table,) = found.tables
    assert table.people is not None
    assert (table.people.people, table.people.over, table.people.unnamed) == (0, 0, len(people))


def test_a_check_shows_itself_in_one_line_and_as_a_table() -> None:
    frame = pa.table({"age": ["34", "61", "<b>"], "sex": ["m", "f", "f"]})
    found = discreet.check(frame, columns={"age": (17, 90), "sex": ["m", "f"]})
    assert repr(found) == "<DataCheck: df exceeds; for the custodian alone>"
    page = found._repr_html_()
    assert page.index(">age<") < page.index(">sex<")  # findings come first
    assert "&lt;b&gt;" in page or "<b>" not in page
    assert "for the custodian alone" in page
