"""`discreet serve`: answer analysts under a policy, over HTTP and the PostgreSQL wire protocol."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from discreet.app.commands.addressed import EngineAddress, LedgerAddress
from discreet.app.commands.options import AsJson
from discreet.app.commands.progress import spinner
from discreet.app.host_names import require_names
from discreet.app.listening import parse_address
from discreet.app.policies import load
from discreet.app.sample import write, write_policy
from discreet.app.serve.catalog import BuiltIn, Catalog, Shadow
from discreet.app.serve.curators import Curators
from discreet.app.serve.deadlines import Deadlines
from discreet.app.serve.doors import bound_to, require_safe, until_stopped
from discreet.app.serve.jobs import is_left_behind
from discreet.app.serve.process import Served
from discreet.app.terminal import Console
from discreet.app.tls import Certificate
from discreet.app.users import UserBook, users_of
from discreet.app.users.users import FIRST_CUSTODIAN
from discreet.belief import Promise
from discreet.core.errors import RequestError
from discreet.core.number_checks import require_positive
from discreet.core.policy import ASSUMED_ROWS, Policy

SAMPLE = Path("sample")


def run(
    policy: Annotated[
        Path | None,
        typer.Option("--policy", "-p", help="The custodian's policy; sample tables by default."),
    ] = None,
    host: Annotated[
        str, typer.Option(help="The address to listen on; any but this machine's own needs TLS.")
    ] = "127.0.0.1",
    name: Annotated[
        list[str] | None,
        typer.Option(help="A host name that clients use, besides the address; may be repeated."),
    ] = None,
    http: Annotated[int, typer.Option(min=0, max=65535, help="The HTTP port; 0 picks a free one.")] = 8000,
    postgres: Annotated[
        int, typer.Option(min=0, max=65535, help="The PostgreSQL port; 0 picks a free one.")
    ] = 5433,
    engine: EngineAddress = None,
    ledger: LedgerAddress = None,
    catalog: Annotated[
        str | None,
        typer.Option(help="An empty PostgreSQL database to answer catalog queries: postgresql://…."),
    ] = None,
    tls_cert: Annotated[Path | None, typer.Option(help="A certificate, as PEM.")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="Its key, as PEM.")] = None,
    padding: Annotated[
        bool,
        typer.Option(
            help="Delay answers so that their timing reveals nothing; not needed if analysts are trusted."
        ),
    ] = True,
    slack: Annotated[float, typer.Option(help="Multiply that delay, if questions take longer.")] = 1.0,
    as_json: AsJson = False,
) -> None:
    """Answer analysts over HTTP and the PostgreSQL protocol (psql, pandas, BI tools) until stopped."""
    certificate = _certificate(tls_cert, tls_key)
    require_safe(host, certificate)
    names = require_names([*(name or ()), *((host,) if parse_address(host) is None else ())])
    require_positive("serve", "slack", slack)
    with spinner() as tell:
        place = policy or _sample(tell)
        terms = load(place, engine=engine, ledger=ledger)
        deadlines = Deadlines(policy=terms, slack=slack) if padding else None
        curators = Curators.under(terms, deadlines=deadlines, progress=tell)
        if padding:
            tell("timing made-up rows")
            curators.calibrate()
    with (
        curators,
        users_of(terms.ledger) as file,
        closing(_catalog(catalog, terms)) as schema,
        bound_to(host, http) as web,
        bound_to(host, postgres) as wire,
    ):
        ports = {"http": web.getsockname()[1], "postgres": wire.getsockname()[1]}
        passwords = UserBook(file).begin(terms)
        scheme = "http" if certificate is None else "https"
        assumed = _assumed_tables(terms) if padding and policy is not None else []
        served = Served(
            curators=curators,
            file=file,
            catalog=schema,
            certificate=certificate,
            names=names,
            policy_file=place,
        )
        threading.Thread(target=_warm, daemon=True).start()
        announced = False

        def announce() -> None:
            nonlocal announced
            announced = True
            _announce(scheme, host, ports, passwords, assumed, as_json=as_json)

        try:
            until_stopped(lambda stopped: served.doors(web, wire, stopped, announce))
        finally:
            if passwords and not announced:
                announce()  # passwords are stored as hashes alone: nobody could tell them later
    if is_left_behind():
        # A normal exit would wait for the running job, perhaps for hours; its charge is already on disk.
        sys.stdout.flush()
        os._exit(0)


def _warm() -> None:
    """Draw a chart, so that the first request does not wait for the charting library to load."""
    from discreet.app.charts import as_svg, promise_picture

    as_svg(promise_picture(Promise(0.01, 0.05)))


def _sample(tell: Callable[[str], None]) -> Path:
    """Write the sample tables and their policy; return the policy's path."""
    write(SAMPLE, tell)
    return write_policy(SAMPLE)


def _catalog(url: str | None, terms: Policy) -> Catalog:
    return BuiltIn(terms) if url is None else Shadow(url, terms)


def _certificate(certificate: Path | None, key: Path | None) -> Certificate | None:
    if (certificate is None) != (key is None):
        raise RequestError("serve: a certificate goes with its key.", hint="Give --tls-cert and --tls-key.")
    if certificate is None or key is None:
        return None
    return Certificate(certificate=certificate, key=key)


def _assumed_tables(terms: Policy) -> list[str]:
    """Return the tables without a declared number of rows; their answers wait as for a million rows."""
    return [name for name, table in terms.tables.items() if not table.rows and not table.most_rows]


def _announce(
    scheme: str,
    host: str,
    ports: Mapping[str, int],
    passwords: Mapping[str, str],
    assumed: Sequence[str],
    *,
    as_json: bool,
) -> None:
    if as_json:
        places = {name: {"host": host, "port": port} for name, port in ports.items()}
        print(json.dumps({**places, "passwords": dict(passwords)}), flush=True)
        return
    console, at = Console(soft_wrap=True), f"[{host}]" if ":" in host else host
    console.print(f"http      {scheme}://{at}:{ports['http']}/", highlight=False, markup=False)
    console.print(
        f"postgres  postgresql://USER@{at}:{ports['postgres']}/discreet", highlight=False, markup=False
    )
    if assumed:
        told = f"as long as {ASSUMED_ROWS:,} rows of {', '.join(assumed)} may take; shorter with most_rows"
        console.print(f"times     {told} in the policy", highlight=False, markup=False)
    for name, password in passwords.items():
        once = "  (for one login: choose another)" if name == FIRST_CUSTODIAN else ""
        console.print(f"password  {name}  {password}{once}", highlight=False, markup=False)
    note = "These passwords are shown this one time; " if passwords else "Users are as they were; "
    console.print(f"{note}discreet user adds and removes users.", highlight=False, style="dim")
