"""`discreet user`: manage the users of a served policy."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from discreet.cli.shared_options import DEFAULT_POLICY, JsonOption, LedgerOption
from discreet.core.errors import RequestError
from discreet.core.policy import Policy
from discreet.rendering.terminal import Console
from discreet.services.ledgers import resolve_analyst
from discreet.services.policies import load_policy
from discreet.services.users import Role, UserAccounts, open_user_storage
from discreet.services.users.user_accounts import get_sole_analyst

PolicyFile = Annotated[Path, typer.Option("--policy", "-p", help="The served policy.")]
Name = Annotated[str, typer.Argument(help="The user's name.")]

app = typer.Typer(
    help="Manage the users of a served policy.", rich_markup_mode=None, pretty_exceptions_enable=False
)


@app.command("add")
def run_add(
    name: Name,
    role: Annotated[Role, typer.Option(help="The user's role.")] = Role.ANALYST,
    analyst: Annotated[
        str | None,
        typer.Option(help="The analyst as whom the user asks; by default, the one of the same name."),
    ] = None,
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
        who = _resolve_analyst(terms, name, role, analyst)
        told = users.add(name, role, who, sys.stdin.readline().rstrip("\n") if password else None)
    if as_json:
        drawn = {} if password else {"password": told}
        print(json.dumps({"name": name, "role": role.value, "analyst": who} | drawn))
    elif not password:
        Console(soft_wrap=True).print(f"{name}  {told}", highlight=False, markup=False)
        _print_status("This password is not stored and cannot be shown again.")


@app.command("list")
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
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for column in ("user", "role", "asks as"):
        table.add_column(column)
    for user in found:
        table.add_row(user.name, user.role.value, user.analyst or "")
    Console().print(table if found else "There are no users yet; discreet serve makes the first ones.")


@app.command("remove")
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


def _resolve_analyst(policy: Policy, name: str, role: Role, analyst: str | None) -> str | None:
    """Return the analyst as whom a user asks: none for auditors, none for custodians unless given."""
    if role is Role.AUDITOR:
        if analyst is not None:
            raise RequestError("user: an auditor reads and does not ask.", hint="Leave out --analyst.")
        return None
    if role is Role.CUSTODIAN and analyst is None:
        return get_sole_analyst(policy)
    who = resolve_analyst(policy, analyst or (name if name in policy.analysts else None))
    if not policy.analysts and who != get_sole_analyst(policy):
        raise RequestError(
            f"user: the policy gives {who} no share.",
            hint=f"Leave out --analyst, or write analysts: {{{who}: {{share: 50%}}}} into the policy.",
        )
    return who


def _print_status(text: str) -> None:
    Console(stderr=True, soft_wrap=True).print(text, markup=False, highlight=False)
