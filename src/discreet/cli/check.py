"""`discreet check`: does the data fit the policy? And the custodian's acceptance of it.

The custodian's own `ask` shows the check as long as the data is not accepted: at a terminal it asks whether
to accept it; elsewhere it prints a line on each table that does not fit beside the answer, and refuses the
question, uncharged, if a table departs from the policy by more than `at_most` allows.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

import typer

from discreet.accounting.ledger_storage import MEMORY
from discreet.cli.progress_bar import show_progress
from discreet.cli.request_options import options_from
from discreet.cli.shared_options import DEFAULT_POLICY, EngineOption, JsonOption, LedgerOption, PolicyOption
from discreet.core.errors import RequestError
from discreet.rendering.check_view import check_to_json, format_notices, print_check
from discreet.rendering.terminal import Console
from discreet.services.check.acceptance import find_table_states, list_unaccepted
from discreet.services.check.check import list_unaccepted_summaries, run_check
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
    """Show how the data fits the policy, and accept it.

    What it shows is for the custodian alone. Servers answer analysts only about data that was accepted.
    """
    with show_progress() as tell:
        found = run_check(load_policy(policy, engine=engine, ledger=ledger), request, progress=tell)
    if as_json:
        print(json.dumps(check_to_json(found)))
    else:
        print_check(Console(), found)


def confirm_data(curator: Curator, questions: Sequence[str]) -> None:
    """At a terminal, show the check of data that is not accepted yet, and ask whether to accept it.

    Elsewhere, refuse a question about a table that departs too far from the policy.
    """
    policy = curator.policy
    if policy.ledger == MEMORY:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        _require_fit(curator, questions)
        return
    if not list_unaccepted(curator.ledger, find_table_states(policy, curator.frames)):
        return
    found = curator.check()
    print_check(Console(stderr=True), found)
    is_beyond = found.verdict is Verdict.EXCEEDS
    question = "Accept it despite that?" if is_beyond else "Accept this version of the data?"
    if not typer.confirm(question, err=True):
        raise RequestError(
            "ask: the data was not accepted; nothing was charged.", hint="Correct it, or accept it."
        )
    curator.check(accept=True, despite=is_beyond)


def _require_fit(curator: Curator, questions: Sequence[str]) -> None:
    found = list_unaccepted_summaries(curator.policy, curator.ledger, questions, curator.frames)
    beyond = [each.text for each in found if each.verdict is Verdict.EXCEEDS]
    if beyond:
        raise RequestError(
            f"ask: the data does not fit the policy, and was not accepted; nothing was charged. {beyond[0]}",
            hint="Correct it as discreet check proposes, or accept it: discreet check --accept --despite.",
        )


def print_notices(curator: Curator, questions: Sequence[str]) -> None:
    """Print a line on each table of some questions that does not fit the policy and is not accepted yet."""
    console = Console(stderr=True, soft_wrap=True)
    summaries = list_unaccepted_summaries(curator.policy, curator.ledger, questions, curator.frames)
    for line in format_notices(summaries):
        console.print(line, highlight=False, markup=False)
