"""`discreet user`: manage the users of a served policy.

`list` and `remove` take the policy and at most a name, and have no request of their own.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.grouped_help import GroupedHelp
from discreet.cli.request_options import options_from
from discreet.cli.shared_options import DEFAULT_POLICY, JsonOption, LedgerOption
from discreet.core.policy import Policy
from discreet.rendering.terminal import Console, build_plain_table
from discreet.services.policies import load_policy
from discreet.services.request_fields import POLICY_PANEL
from discreet.services.users import UserAccounts, open_user_storage
from discreet.services.users.user_accounts import AddUserRequest, add_user

PolicyFile = Annotated[
    Path,
    typer.Option("--policy", "-p", metavar="FILE", help="The served policy.", rich_help_panel=POLICY_PANEL),
]
Name = Annotated[str, typer.Argument(help="The user's name.")]

app = typer.Typer(
    help="Manage the users of a served policy.", rich_markup_mode=None, pretty_exceptions_enable=False
)


@app.command("add", cls=GroupedHelp)
@options_from(AddUserRequest)
def run_add(
    request: AddUserRequest,
    *,
    password: Annotated[
        bool,
        typer.Option(
            "--password", help="Read the password from stdin; by default, one is generated and printed."
        ),
    ] = False,
    policy: PolicyFile = DEFAULT_POLICY,
    ledger: LedgerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add a user."""
    with _open_users(policy, ledger) as (terms, users):
        typed = sys.stdin.readline().rstrip("\n") if password else None
        analyst, drawn = add_user(users, terms, request, typed)
    if as_json:
        told = {"name": request.name, "role": request.role.value, "analyst": analyst}
        print(json.dumps(told | ({} if password else {"password": drawn})))
    elif not password:
        Console(soft_wrap=True).print(f"{request.name}  {drawn}", highlight=False, markup=False)
        _print_status("This password is not stored and cannot be shown again.")


@app.command("list", cls=GroupedHelp)
def run_list(
    policy: PolicyFile = DEFAULT_POLICY, ledger: LedgerOption = None, as_json: JsonOption = False
) -> None:
    """List the users."""
    with _open_users(policy, ledger) as (_, users):
        found = users.list_all()
    if as_json:
        each = [{"name": user.name, "role": user.role.value, "analyst": user.analyst} for user in found]
        print(json.dumps({"users": each}))
        return
    table = build_plain_table("user", "role", "asks as", gap=2)
    for user in found:
        table.add_row(user.name, user.role.value, user.analyst or "")
    Console().print(table if found else "There are no users yet; discreet serve makes the first ones.")


@app.command("remove", cls=GroupedHelp)
def run_remove(
    name: Name, policy: PolicyFile = DEFAULT_POLICY, ledger: LedgerOption = None, as_json: JsonOption = False
) -> None:
    """Remove a user at once; their charges remain."""
    with _open_users(policy, ledger) as (_, users):
        users.remove(name)
    if as_json:
        print(json.dumps({"removed": name}))
    else:
        _print_status(f"{name} was removed.")


@contextmanager
def _open_users(policy: Path, ledger: str | None) -> Iterator[tuple[Policy, UserAccounts]]:
    terms = load_policy(policy, ledger=ledger)
    with open_user_storage(terms.ledger) as file:
        yield terms, UserAccounts(file)


def _print_status(text: str) -> None:
    Console(stderr=True, soft_wrap=True).print(text, markup=False, highlight=False)
