"""`discreet check`: does the data fit the policy? And the custodian's acceptance of it.

The custodian's own `ask` shows the same check as long as the data is not accepted: at a terminal it asks
whether to accept it, elsewhere it prints a line on each table that does not fit, and goes on.
"""

from __future__ import annotations

import json
import sys

import typer

from discreet.accounting.ledger_storage import MEMORY
from discreet.cli.progress_bar import show_progress
from discreet.cli.request_options import options_from
from discreet.cli.shared_options import DEFAULT_POLICY, EngineOption, JsonOption, LedgerOption, PolicyOption
from discreet.core.errors import RequestError
from discreet.rendering.check_view import check_to_json, format_notices, print_check
from discreet.rendering.terminal import Console
from discreet.services.check.acceptance import find_table_states, list_unaccepted
from discreet.services.check.check import check_at_opening, run_check
from discreet.services.check.check_request import CheckRequest
from discreet.services.check.verdicts import Verdict
from discreet.services.curator import Curator
from discreet.services.policies import load_policy


@options_from(CheckRequest)
def run(
    request: CheckRequest,
    *,
    policy: PolicyOption = DEFAULT_POLICY,
    engine: EngineOption = None,
    ledger: LedgerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show how the data fits the policy, for the custodian alone; accept it for analysts."""
    with show_progress() as tell:
        found = run_check(load_policy(policy, engine=engine, ledger=ledger), request, progress=tell)
    if as_json:
        print(json.dumps(check_to_json(found)))
    else:
        print_check(Console(), found)


def show_unaccepted_data(curator: Curator) -> None:
    """Show the check of data that is not accepted yet; at a terminal, ask whether to accept it."""
    policy = curator.policy
    if policy.ledger == MEMORY or not list_unaccepted(
        curator.ledger, find_table_states(policy, curator.frames)
    ):
        return
    console = Console(stderr=True, soft_wrap=True)
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        for line in format_notices(check_at_opening(policy)):
            console.print(line, highlight=False, markup=False)
        return
    found = curator.check()
    print_check(console, found)
    is_beyond = found.verdict is Verdict.EXCEEDS
    question = "Accept it despite that?" if is_beyond else "Accept this version of the data?"
    if not typer.confirm(question, err=True):
        raise RequestError(
            "ask: the data was not accepted; nothing was charged.", hint="Correct it, or accept it."
        )
    curator.check(accept=True, despite=is_beyond)
