"""Changes by another server while this one runs: the ledger's format, and who a person is.

A server that goes on as if nothing had happened would write what a newer format does not hold, or charge for
answers about another privacy unit than the ledger says.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from discreet.accounting.high_water_marks import LedgerTerms
from discreet.accounting.ledger import SOLE_ANALYST, Ledger
from discreet.accounting.ledger_storage import FORMAT
from discreet.accounting.privacy_unit import PrivacyUnit, change_units
from discreet.belief import Promise
from discreet.core.errors import EngineFault, RequestError
from discreet.core.guarantees import PureDP
from tests.engines.servers import PostgresServer

PROMISE, HALF = Promise(0.01, 0.05), PureDP(epsilon=0.5)


def terms_of_person(person: str, source: str = "visits.csv") -> LedgerTerms:
    return LedgerTerms(units={"visits": PrivacyUnit(source=source, person=person)})


def check_newer(address: str, raise_format: str) -> None:
    with Ledger(address, PROMISE) as ledger:
        entry = ledger.reserve(SOLE_ANALYST, "one", "SELECT 1", HALF)
        if address.startswith("postgresql"):
            with psycopg.connect(address) as connection:
                connection.execute(raise_format.encode())
        else:
            with closing(sqlite3.connect(address)) as file:
                file.execute(raise_format)
        for begin in (ledger.reserve, ledger.reserve_or_replay):
            with pytest.raises(RequestError, match=f"has format {FORMAT + 1}"):
                begin(SOLE_ANALYST, "two", "SELECT 2", HALF)
        with pytest.raises(EngineFault, match="the charge stays"):
            ledger.settle(entry, b"5")


def test_a_ledger_file_that_a_newer_version_has_taken_over_is_not_written(tmp_path: Path) -> None:
    check_newer(str(tmp_path / "ledger.db"), f"PRAGMA user_version = {FORMAT + 1}")


@pytest.mark.xdist_group("postgres")
def test_a_ledger_database_that_a_newer_version_has_taken_over_is_not_written(
    postgres: PostgresServer,
) -> None:
    check_newer(postgres.schema(), f"UPDATE ledger SET format = {FORMAT + 1}")


def test_two_servers_cannot_charge_for_different_people(tmp_path: Path) -> None:
    place = tmp_path / "ledger.db"
    with (
        Ledger(place, PROMISE, terms=terms_of_person("patient")) as one,
        Ledger(place, PROMISE, terms=terms_of_person("row")) as two,
    ):
        two.reserve(SOLE_ANALYST, "a", "SELECT 1", HALF)
        for begin in (one.reserve, one.reserve_or_replay):
            with pytest.raises(RequestError, match=r"a person of visits is row.*it is patient"):
                begin(SOLE_ANALYST, "b", "SELECT 2", HALF)
        assert one.get_total_spent() == two.get_total_spent() == HALF


def test_a_changed_unit_stops_a_server_that_runs_with_the_former_one(tmp_path: Path) -> None:
    place = tmp_path / "ledger.db"
    with Ledger(place, PROMISE, terms=terms_of_person("row")) as running:
        running.reserve(SOLE_ANALYST, "a", "SELECT 1", HALF)
        with Ledger(place, PROMISE) as custodian:
            custodian.transact(
                lambda transaction: change_units(transaction, terms_of_person("patient").units)
            )
        with pytest.raises(RequestError, match="a person of visits is patient"):
            running.reserve(SOLE_ANALYST, "b", "SELECT 2", HALF)
    with Ledger(place, PROMISE, terms=terms_of_person("patient")) as again:
        again.reserve(SOLE_ANALYST, "b", "SELECT 2", HALF)


def test_servers_with_copies_of_the_data_in_different_places_charge_by_turns(tmp_path: Path) -> None:
    place = tmp_path / "ledger.db"
    with (
        Ledger(place, PROMISE, terms=terms_of_person("patient", "/one/visits.csv")) as one,
        Ledger(place, PROMISE, terms=terms_of_person("patient", "/two/visits.csv")) as two,
    ):
        for number, ledger in enumerate((one, two, one, two)):
            ledger.reserve(SOLE_ANALYST, str(number), "SELECT 1", PureDP(epsilon=0.1))
