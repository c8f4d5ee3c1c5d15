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

from discreet.belief import Promise
from discreet.cli.progress_bar import show_progress
from discreet.cli.server_process import ServerProcess, require_tls_or_loopback, run_until_signal
from discreet.cli.shared_options import EngineOption, JsonOption, LedgerOption
from discreet.core.errors import RequestError
from discreet.core.number_checks import require_positive
from discreet.core.policy import ASSUMED_ROWS, Policy
from discreet.http.host_names import normalize_host_names
from discreet.pgwire.catalog import BuiltinCatalog, Catalog, ShadowCatalog
from discreet.rendering.charts import chart_to_svg
from discreet.rendering.promise_chart import draw_promise
from discreet.rendering.terminal import Console
from discreet.services.network_addresses import open_listening_socket, parse_address
from discreet.services.policies import load_policy
from discreet.services.sample import write_policy, write_samples
from discreet.services.serving.curators import Curators
from discreet.services.serving.job_queue import has_running_job
from discreet.services.serving.query_timeouts import Deadlines
from discreet.services.serving.tls import TlsCertificate
from discreet.services.users import UserAccounts, open_user_storage
from discreet.services.users.user_accounts import FIRST_CUSTODIAN

SAMPLE_FOLDER = Path("sample")


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
    engine: EngineOption = None,
    ledger: LedgerOption = None,
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
    as_json: JsonOption = False,
) -> None:
    """Answer analysts over HTTP and the PostgreSQL protocol (psql, pandas, BI tools) until stopped."""
    certificate = _load_certificate(tls_cert, tls_key)
    require_tls_or_loopback(host, certificate)
    names = normalize_host_names([*(name or ()), *((host,) if parse_address(host) is None else ())])
    require_positive("serve", "slack", slack)
    with show_progress() as tell:
        place = policy or _write_sample(tell)
        terms = load_policy(place, engine=engine, ledger=ledger)
        deadlines = Deadlines(policy=terms, slack=slack) if padding else None
        curators = Curators.open_policy(terms, deadlines=deadlines, progress=tell)
        if padding:
            tell("timing made-up rows")
            curators.calibrate()
    with (
        curators,
        open_user_storage(terms.ledger) as file,
        closing(_open_catalog(catalog, terms)) as schema,
        open_listening_socket(host, http) as web,
        open_listening_socket(host, postgres) as wire,
    ):
        ports = {"http": web.getsockname()[1], "postgres": wire.getsockname()[1]}
        passwords = UserAccounts(file).create_first_users(terms)
        scheme = "http" if certificate is None else "https"
        assumed = _find_tables_without_rows(terms) if padding and policy is not None else []
        served = ServerProcess(
            curators=curators,
            user_storage=file,
            catalog=schema,
            certificate=certificate,
            host_names=names,
            policy_file=place,
        )
        threading.Thread(target=_load_chart_library, daemon=True).start()
        announced = False

        def announce() -> None:
            nonlocal announced
            announced = True
            _print_addresses(scheme, host, ports, passwords, assumed, as_json=as_json)

        try:
            run_until_signal(lambda stopped: served.run_listeners(web, wire, stopped, announce))
        finally:
            if passwords and not announced:
                announce()  # passwords are stored as hashes alone: nobody could tell them later
    if has_running_job():
        # A normal exit would wait for the running job, perhaps for hours; its charge is already on disk.
        sys.stdout.flush()
        os._exit(0)


def _load_chart_library() -> None:
    """Draw a chart, so that the first request does not wait for the charting library to load."""
    chart_to_svg(draw_promise(Promise(0.01, 0.05)))


def _write_sample(progress: Callable[[str], None]) -> Path:
    """Write the sample tables and their policy; return the policy's path."""
    write_samples(SAMPLE_FOLDER, progress)
    return write_policy(SAMPLE_FOLDER)


def _open_catalog(url: str | None, terms: Policy) -> Catalog:
    return BuiltinCatalog(terms) if url is None else ShadowCatalog(url, terms)


def _load_certificate(certificate: Path | None, key: Path | None) -> TlsCertificate | None:
    if (certificate is None) != (key is None):
        raise RequestError("serve: a certificate goes with its key.", hint="Give --tls-cert and --tls-key.")
    if certificate is None or key is None:
        return None
    return TlsCertificate(certificate_file=certificate, key_file=key)


def _find_tables_without_rows(terms: Policy) -> list[str]:
    """Return the tables without a declared number of rows; their answers wait as for a million rows."""
    return [name for name, table in terms.tables.items() if not table.rows and not table.most_rows]


def _print_addresses(
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
