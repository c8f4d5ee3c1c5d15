"""A server for tests: both doors in a thread, and clients that are logged in."""

from __future__ import annotations

import asyncio
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import httpx

from discreet.accounting.ledger_storage import is_database_address
from discreet.app.http.entering import COOKIE, PROOF
from discreet.app.policies import load
from discreet.app.serve.admission import Admission
from discreet.app.serve.catalog import BuiltIn
from discreet.app.serve.curators import Curators
from discreet.app.serve.deadlines import Deadlines
from discreet.app.serve.process import Served
from discreet.app.tls import Certificate
from discreet.app.users import Role, UserBook, UserFile, beside, users_of
from discreet.app.users.sessions import Sessions
from tests.patience import PATIENCE
from tests.wire.served import PASSWORD

PEOPLE = {"carl": Role.CUSTODIAN, "alice": Role.ANALYST, "bob": Role.ANALYST, "audrey": Role.AUDITOR}
COUNT = "SELECT COUNT(*) AS n FROM people"


@dataclass(frozen=True, kw_only=True)
class Server:
    """Where both doors are, and what is behind them."""

    url: str
    postgres: int
    curators: Curators
    users: UserBook
    folder: Path

    @contextmanager
    def client(self, user: str | None = "alice") -> Iterator[httpx.Client]:
        """Somebody who is logged in, or a stranger."""
        with httpx.Client(base_url=self.url, timeout=PATIENCE, trust_env=False) as client:
            if user is not None:
                found, sessions = self.users.find(user), Sessions(self.users.file)
                assert found is not None
                session, text = sessions.open(found)
                client.cookies.set(COOKIE, text)
                client.headers[PROOF] = sessions.proof(session)
            yield client

    def charges(self, analyst: str = "alice") -> int:
        return len(self.curators.ledger.list_entries(analyst))


@cache
def _people() -> bytes:
    """A file of users, made once: hashes of passwords are meant to take their time."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "users.db"
        with UserFile(str(path)) as file:
            add_people(UserBook(file))
        return path.read_bytes()


def add_people(users: UserBook) -> None:
    for name, role in PEOPLE.items():
        users.add(name, role, name if role is Role.ANALYST else None, PASSWORD)


@contextmanager
def both_doors(
    folder: Path,
    certificate: Certificate | None = None,
    slack: float | None = None,
    ledger: str | None = None,
    admission: Admission | None = None,
) -> Iterator[Server]:
    """The server, ready; it ends with the block."""
    policy = load(folder / "privacy.yaml", ledger=ledger)
    if not is_database_address(policy.ledger):
        Path(beside(policy.ledger)).write_bytes(_people())
    deadlines = None if slack is None else Deadlines(policy=policy, slack=slack)
    with (
        Curators.under(policy, deadlines=deadlines, admission=admission) as curators,
        users_of(policy.ledger) as file,
        closing(BuiltIn(policy)) as catalog,
        socket.create_server(("127.0.0.1", 0)) as web,
        socket.create_server(("127.0.0.1", 0)) as wire,
    ):
        users = UserBook(file)
        if not users.all():
            add_people(users)
        ready, loop, stopped = threading.Event(), asyncio.new_event_loop(), asyncio.Event()
        served = Served(
            curators=curators,
            file=file,
            catalog=catalog,
            certificate=certificate,
            policy_file=folder / "privacy.yaml",
        )
        serving = served.doors(web, wire, stopped, ready.set)
        thread = threading.Thread(target=lambda: loop.run_until_complete(serving))
        thread.start()
        assert ready.wait(PATIENCE)
        scheme = "http" if certificate is None else "https"
        try:
            yield Server(
                url=f"{scheme}://127.0.0.1:{web.getsockname()[1]}",
                postgres=wire.getsockname()[1],
                curators=curators,
                users=users,
                folder=folder,
            )
        finally:
            loop.call_soon_threadsafe(stopped.set)
            thread.join()
            loop.close()
