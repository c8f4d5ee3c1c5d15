"""A server for tests: both listeners in a thread, and clients that are logged in."""

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
from discreet.cli.server_process import ServerProcess
from discreet.http.authentication import SESSION_COOKIE
from discreet.http.csrf import CSRF_HEADER
from discreet.pgwire.catalog import BuiltinCatalog, ServedCatalog
from discreet.services.policies import load_policy, make_empty_policy
from discreet.services.serving.admission import Admission
from discreet.services.serving.curators import Curators
from discreet.services.serving.query_timeouts import Deadlines
from discreet.services.serving.served_policy import ServedPolicy
from discreet.services.serving.tls import TlsCertificate
from discreet.services.users import Role, UserAccounts, UserFile, get_user_file_path, open_user_storage
from discreet.services.users.sessions import Sessions
from tests.patience import PATIENCE
from tests.pgwire.served import PASSWORD

PEOPLE = {"carl": Role.CUSTODIAN, "alice": Role.ANALYST, "bob": Role.ANALYST, "audrey": Role.AUDITOR}
COUNT = "SELECT COUNT(*) AS n FROM people"


@dataclass(frozen=True, kw_only=True)
class Server:
    """Where both listeners are, and what is behind them."""

    url: str
    postgres: int
    served: ServedPolicy
    users: UserAccounts
    folder: Path

    @property
    def curators(self) -> Curators:
        return self.served.curators

    @contextmanager
    def client(self, user: str | None = "alice") -> Iterator[httpx.Client]:
        """Somebody who is logged in, or a stranger."""
        with httpx.Client(base_url=self.url, timeout=PATIENCE, trust_env=False) as client:
            if user is not None:
                found, sessions = self.users.find(user), Sessions(self.users.storage)
                assert found is not None
                session, text = sessions.open(found)
                client.cookies.set(SESSION_COOKIE, text)
                client.headers[CSRF_HEADER] = sessions.derive_csrf_token(session)
            yield client

    def charges(self, analyst: str = "alice") -> int:
        return len(self.curators.ledger.list_entries(analyst))


@cache
def _people() -> bytes:
    """A file of users, made once: hashes of passwords are meant to take their time."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "users.db"
        with UserFile(str(path)) as file:
            add_people(UserAccounts(file))
        return path.read_bytes()


def add_people(users: UserAccounts) -> None:
    for name, role in PEOPLE.items():
        users.add(name, role, name if role is Role.ANALYST else None, PASSWORD)


@contextmanager
def both_listeners(
    folder: Path,
    certificate: TlsCertificate | None = None,
    slack: float | None = None,
    ledger: str | None = None,
    admission: Admission | None = None,
    *,
    accepted: bool = True,
) -> Iterator[Server]:
    """The server, ready, with data that the custodian has accepted, or empty; it ends with the block."""
    path = folder / "privacy.yaml"

    def open_curators() -> Curators:
        policy = load_policy(path, ledger=ledger)
        deadlines = None if slack is None else Deadlines(policy=policy, slack=slack)
        return Curators.open_policy(policy, deadlines=deadlines, admission=admission)

    known = load_policy(path, ledger=ledger) if path.exists() else make_empty_policy(folder, ledger=ledger)
    if not is_database_address(known.ledger):
        Path(get_user_file_path(known.ledger)).write_bytes(_people())
    first = open_curators() if path.exists() else None
    with (
        ServedPolicy(first, path=path, ledger=ledger, open_curators=open_curators) as served,
        open_user_storage(served.policy.ledger) as file,
        closing(ServedCatalog(served, BuiltinCatalog)) as catalog,
        socket.create_server(("127.0.0.1", 0)) as web,
        socket.create_server(("127.0.0.1", 0)) as wire,
    ):
        if accepted and not served.is_empty:
            served.curators.ledger.accept_data(served.curators.table_states)
        users = UserAccounts(file)
        if not users.list_all():
            add_people(users)
        ready, loop, stopped = threading.Event(), asyncio.new_event_loop(), asyncio.Event()
        process = ServerProcess(served=served, user_storage=file, catalog=catalog, certificate=certificate)
        serving = process.run_listeners(web, wire, stopped, ready.set)
        thread = threading.Thread(target=lambda: loop.run_until_complete(serving))
        thread.start()
        assert ready.wait(PATIENCE)
        scheme = "http" if certificate is None else "https"
        try:
            yield Server(
                url=f"{scheme}://127.0.0.1:{web.getsockname()[1]}",
                postgres=wire.getsockname()[1],
                served=served,
                users=users,
                folder=folder,
            )
        finally:
            loop.call_soon_threadsafe(stopped.set)
            thread.join()
            loop.close()
