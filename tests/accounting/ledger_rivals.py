"""Those who compete for one ledger, in processes of their own; and a naive ledger that they overdraw."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import sys
import threading
import time
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any

import psycopg

from discreet.accounting.entries import EntryState, LedgerTransaction
from discreet.accounting.ledger import Ledger
from discreet.accounting.ledger_storage import is_database_address
from discreet.belief import Promise
from discreet.core.errors import BudgetError
from discreet.core.guarantees import PureDP
from tests.patience import PATIENCE

PROMISE = Promise(0.01, 0.05)
PART = PROMISE.epsilon / 20
TRIES = 12
RIVALS = 8


def ask_often(ledger: Ledger, tries: int = TRIES) -> int:
    """How many of the questions were accepted, each a twentieth of the promise."""
    accepted = 0
    for each in range(tries):
        try:
            entry = ledger.reserve("alice", f"key {each}", "SELECT COUNT(*) FROM t", PureDP(epsilon=PART))
        except BudgetError:
            continue
        ledger.settle(entry, b"7")
        accepted += 1
    return accepted


@dataclass
class SelectThenUpdate:
    """The broken twin: it decides by what it has read, without holding what it has read."""

    place: str
    together: threading.Barrier
    room: int = 1

    def __post_init__(self) -> None:
        with self._connect() as connection:
            connection.execute("CREATE TABLE naive (spent INTEGER)")
            connection.execute(f"INSERT INTO naive VALUES ({20 - self.room})")
            connection.commit()

    def ask(self) -> int:
        """Return whether it was accepted; everybody has read before anybody writes."""
        with self._connect() as connection:
            spent = connection.execute("SELECT spent FROM naive").fetchone()[0]
            connection.commit()
            self.together.wait()
            if spent + 1 > 20:
                return 0
            connection.execute(f"UPDATE naive SET spent = {spent + 1}")
            connection.commit()
            return 1

    def _connect(self) -> closing[Any]:
        if is_database_address(self.place):
            return closing(psycopg.connect(self.place))
        return closing(sqlite3.connect(self.place, timeout=PATIENCE))


def main(role: str, place: str, *more: str) -> None:
    """As a process: many ask at once and are counted; many are killed; or one of them waits to be."""
    if is_database_address(place):
        import_module("sqlalchemy.dialects.postgresql.psycopg")  # once, before anything is forked
    if role == "together":
        print(sum(map(_wait_for_rival, [_fork_rival(place) for _ in range(RIVALS)])), flush=True)
        return
    if role == "killed":
        print(json.dumps(_killed_often(place, Path(more[0]), int(more[1]))), flush=True)
        return
    ledger = Ledger(place, PROMISE, analysts={"alice": 1})
    if role == "before the entry":
        LedgerTransaction.insert_entry = _never  # type: ignore[method-assign, assignment]
    ledger.reserve("alice", "key", "SELECT COUNT(*) FROM t", PureDP(epsilon=PART))
    _never()


def _killed_often(place: str, released: Path, times: int) -> dict[str, int]:
    """Release to a file, be killed at any moment, look at what is left; so many times."""
    moments = random.Random(20_240_229)
    for turn in range(times):
        ready, told = os.pipe()
        pid = os.fork()
        if pid == 0:
            _release_until_killed(place, released, turn, told)
        os.close(told)
        assert os.read(ready, 1) == b"!"
        os.close(ready)
        time.sleep(moments.uniform(0, 0.03))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        found = _left_behind(place, released)
    return found


def _release_until_killed(place: str, released: Path, turn: int, told: int) -> None:
    try:
        ledger = Ledger(place, PROMISE, analysts={"alice": 1})
        out = os.open(released, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        for number in count():
            key = f"{turn}-{number}"
            entry = ledger.reserve("alice", key, "SELECT COUNT(*) FROM t", PureDP(epsilon=Fraction(1, 10**6)))
            answer = f"answer to {key}".encode()
            ledger.settle(entry, answer)
            os.write(out, key.encode() + b":" + answer + b"\n")
            if number == 0:
                os.write(told, b"!")
    finally:
        os._exit(1)


def _left_behind(place: str, released: Path) -> dict[str, int]:
    """Return the entries beside the releases, when nobody writes any more."""
    with Ledger(place, PROMISE) as ledger:
        ledger.verify()
        entries = ledger.list_entries()
        lines = [line.partition(b":") for line in released.read_bytes().splitlines()]
        for key, _, answer in lines:
            stored = ledger.find_stored_answer("alice", key.decode())
            assert stored is not None, "released without its charge"
            assert stored.answer == answer
        spent = ledger.get_total_spent()
    assert spent == PureDP(epsilon=Fraction(len(entries), 10**6)), "an entry does not count as spent"
    states = Counter(each.state for each in entries)
    assert not states[EntryState.RESERVED], "the dead are not at work"
    return {
        "released": len(lines),
        "settled": states[EntryState.SETTLED],
        "orphaned": states[EntryState.ORPHANED],
    }


def _fork_rival(place: str) -> int:
    """A process that makes the ledger, or opens what another has made, asks, and ends with its count."""
    pid = os.fork()
    if pid == 0:
        code = 255
        try:
            with Ledger(place, PROMISE, analysts={"alice": 1}) as ledger:
                code = ask_often(ledger)
        finally:
            os._exit(code)
    return pid


def _wait_for_rival(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _never(*_: object) -> None:
    print("ready", flush=True)
    time.sleep(600)


if __name__ == "__main__":
    main(*sys.argv[1:])
