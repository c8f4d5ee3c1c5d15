"""`discreet serve`: answer analysts under a policy, over HTTP and the PostgreSQL wire protocol."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path

from discreet.belief import Promise
from discreet.cli.progress_bar import show_progress
from discreet.cli.request_options import options_from
from discreet.cli.server_process import ServerProcess, run_until_signal
from discreet.cli.shared_options import DEFAULT_POLICY, JsonOption
from discreet.core.policy import Policy
from discreet.core.table_entry import ASSUMED_ROWS
from discreet.http.host_names import normalize_host_names
from discreet.pgwire.catalog import BuiltinCatalog, Catalog, ServedCatalog, ShadowCatalog
from discreet.rendering.charts import chart_to_svg
from discreet.rendering.check_view import format_notices
from discreet.rendering.promise_chart import draw_promise
from discreet.rendering.terminal import Console
from discreet.services.check.acceptance import list_unaccepted
from discreet.services.check.check import run_check
from discreet.services.check.check_request import CheckRequest
from discreet.services.network_addresses import open_listening_socket, parse_address
from discreet.services.policies import load_policy
from discreet.services.progress import ignore_progress
from discreet.services.sample import write_policy, write_samples
from discreet.services.serving.curators import Curators
from discreet.services.serving.job_queue import has_job_threads
from discreet.services.serving.query_timeouts import Deadlines
from discreet.services.serving.serve_request import ServeRequest
from discreet.services.serving.served_policy import ServedPolicy
from discreet.services.users import UserAccounts, open_user_storage
from discreet.services.users.user_accounts import FIRST_CUSTODIAN

SAMPLE_FOLDER = Path("sample")


@options_from(ServeRequest)
def run(request: ServeRequest, *, as_json: JsonOption = False) -> None:
    """Answer analysts over HTTP and the PostgreSQL protocol.

    Clients are psql, pandas, BI tools and browsers. It runs until it is stopped.
    """
    host, certificate = request.host, request.certificate
    names = normalize_host_names([*request.names, *((host,) if parse_address(host) is None else ())])
    own = request.policy or (DEFAULT_POLICY if request.setup or DEFAULT_POLICY.is_file() else None)
    with show_progress() as tell:
        place = own or _write_sample(tell)
        served = _open_policy(place, request, tell)
        if own is None:  # the sample is made here, and fits its policy
            curators = served.curators
            run_check(curators.policy, CheckRequest(accept=True), ledger=curators.ledger)
    with (
        served,
        open_user_storage(served.policy.ledger) as file,
        closing(ServedCatalog(served, lambda policy: _open_catalog(request.catalog, policy))) as schema,
        open_listening_socket(host, request.http) as web,
        open_listening_socket(host, request.postgres) as wire,
    ):
        ports = {"http": web.getsockname()[1], "postgres": wire.getsockname()[1]}
        passwords = UserAccounts(file).create_first_users(served.policy)
        scheme = "http" if certificate is None else "https"
        assumed = _find_tables_without_rows(served.policy) if request.padding and own is not None else []
        process = ServerProcess(
            served=served, user_storage=file, catalog=schema, certificate=certificate, host_names=names
        )
        threading.Thread(target=_load_chart_library, daemon=True).start()
        announced = False

        def announce() -> None:
            nonlocal announced
            announced = True
            _print_addresses(
                _describe_policy(place, served), scheme, host, ports, passwords, assumed, as_json=as_json
            )
            if not served.is_empty:
                _print_check(served.curators)

        try:
            run_until_signal(lambda stopped: process.run_listeners(web, wire, stopped, announce))
        finally:
            if passwords and not announced:
                announce()  # passwords are stored as hashes alone: nobody could tell them later
    if has_job_threads():
        # A normal exit would wait for a job that cannot be interrupted, perhaps for hours, and DuckDB would
        # print what an interrupted one left open. The charges are already on disk.
        sys.stdout.flush()
        os._exit(0)


def _open_policy(place: Path, request: ServeRequest, progress: Callable[[str], None]) -> ServedPolicy:
    """Open the policy that is served; with `setup`, one that is not there yet may be made in the console."""

    def open_curators(progress: Callable[[str], None] = ignore_progress) -> Curators:
        terms = load_policy(place, engine=request.engine, ledger=request.ledger)
        deadlines = Deadlines(policy=terms, slack=request.slack) if request.padding else None
        curators = Curators.open_policy(terms, deadlines=deadlines, progress=progress)
        if request.padding:
            progress("timing made-up rows")
            curators.calibrate()
        return curators

    first = None if request.setup and not place.exists() else open_curators(progress)
    return ServedPolicy(
        first, path=place, engine=request.engine, ledger=request.ledger, open_curators=open_curators
    )


def _describe_policy(place: Path, served: ServedPolicy) -> str:
    return f"{place}, to be made: log in as custodian and open Data" if served.is_empty else str(place)


def _print_check(curators: Curators) -> None:
    """Say on stderr what does not fit the policy, and whether analysts are refused for now."""
    lines = format_notices(curators.check_summaries)
    if list_unaccepted(curators.ledger, curators.table_states):
        lines.append(
            f"Analysts are refused until data version {curators.policy.data_version} is accepted: "
            "discreet check --accept."
        )
    console = Console(stderr=True, soft_wrap=True)
    for line in lines:
        console.print(line, highlight=False, markup=False)


def _load_chart_library() -> None:
    """Draw a chart, so that the first request does not wait for the charting library to load."""
    chart_to_svg(draw_promise(Promise(0.01, 0.05)))


def _write_sample(progress: Callable[[str], None]) -> Path:
    """Write the sample tables and their policy; return the policy's path."""
    write_samples(SAMPLE_FOLDER, progress)
    return write_policy(SAMPLE_FOLDER)


def _open_catalog(url: str | None, terms: Policy) -> Catalog:
    return BuiltinCatalog(terms) if url is None else ShadowCatalog(url, terms)


def _find_tables_without_rows(terms: Policy) -> list[str]:
    """Return the tables without a declared number of rows; their answers wait as for a million rows."""
    return [name for name, table in terms.tables.items() if not table.rows and not table.most_rows]


def _print_addresses(
    policy: str,
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
    console.print(f"policy    {policy}", highlight=False, markup=False)
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
