"""Those who compete for one ledger, in processes of their own; and a naive ledger that they overdraw."""

from __future__ import annotations

import os
import sqlite3
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from discreet.accounting.book import Book
from discreet.accounting.ledger import Ledger
from discreet.belief import Promise
from discreet.core.errors import BudgetError
from discreet.core.guarantees import PureDP

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

    path: Path
    together: threading.Barrier

    def __post_init__(self) -> None:
        with sqlite3.connect(self.path) as connection:
            connection.execute("CREATE TABLE IF NOT EXISTS account (spent REAL)")
            connection.execute("INSERT INTO account VALUES (0)")
        connection.close()

    def ask_often(self) -> int:
        connection = sqlite3.connect(self.path, timeout=600, isolation_level=None)
        accepted = 0
        for each in range(TRIES):
            spent = connection.execute("SELECT spent FROM account").fetchone()[0]
            if each == 0:
                self.together.wait()
            if spent + PART <= PROMISE.epsilon * (1 + 1e-12):
                connection.execute("UPDATE account SET spent = ?", (spent + PART,))
                accepted += 1
        connection.close()
        return accepted


def main(role: str, path: str) -> None:
    """As a process: many ask at once and are counted; or one of them waits to be killed."""
    if role == "together":
        print(sum(map(_answered, [_forked(path) for _ in range(RIVALS)])), flush=True)
        return
    ledger = Ledger(path, PROMISE, analysts={"alice": 1})
    if role == "before the entry":
        Book.insert = _never  # type: ignore[method-assign, assignment]
    ledger.reserve("alice", "key", "SELECT COUNT(*) FROM t", PureDP(epsilon=PART))
    _never()


def _forked(path: str) -> int:
    """A process that makes the ledger, or opens what another has made, asks, and ends with its count."""
    pid = os.fork()
    if pid == 0:
        code = 255
        try:
            with Ledger(path, PROMISE, analysts={"alice": 1}) as ledger:
                code = ask_often(ledger)
        finally:
            os._exit(code)
    return pid


def _answered(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _never(*_: object) -> None:
    print("ready", flush=True)
    time.sleep(600)


if __name__ == "__main__":
    main(*sys.argv[1:])
