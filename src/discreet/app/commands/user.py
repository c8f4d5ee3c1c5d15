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

from discreet.app.books import asking
from discreet.app.commands.addressed import LedgerAddress
from discreet.app.commands.options import POLICY, AsJson
from discreet.app.policies import load
from discreet.app.terminal import Console
from discreet.app.users import Role, UserBook, users_of
from discreet.app.users.users import sole
from discreet.core.errors import RequestError
from discreet.core.policy import Policy

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
    policy: PolicyFile = POLICY,
    ledger: LedgerAddress = None,
    as_json: AsJson = False,
) -> None:
    """Add a user."""
    with _users(policy, ledger) as (terms, users):
        who = _asks_as(terms, name, role, analyst)
        told = users.add(name, role, who, sys.stdin.readline().rstrip("\n") if password else None)
    if as_json:
        drawn = {} if password else {"password": told}
        print(json.dumps({"name": name, "role": role.value, "analyst": who} | drawn))
    elif not password:
        Console(soft_wrap=True).print(f"{name}  {told}", highlight=False, markup=False)
        _said("This password is not stored and cannot be shown again.")


@app.command("list")
def run_list(policy: PolicyFile = POLICY, ledger: LedgerAddress = None, as_json: AsJson = False) -> None:
    """List the users."""
    with _users(policy, ledger) as (_, users):
        found = users.all()
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
    name: Name, policy: PolicyFile = POLICY, ledger: LedgerAddress = None, as_json: AsJson = False
) -> None:
    """Remove a user at once; their charges remain."""
    with _users(policy, ledger) as (_, users):
        users.remove(name)
    if as_json:
        print(json.dumps({"removed": name}))
    else:
        _said(f"{name} was removed.")


@contextmanager
def _users(policy: Path, ledger: str | None) -> Iterator[tuple[Policy, UserBook]]:
    terms = load(policy, ledger=ledger)
    with users_of(terms.ledger) as file:
        yield terms, UserBook(file)


def _asks_as(policy: Policy, name: str, role: Role, analyst: str | None) -> str | None:
    """Return the analyst as whom a user asks: none for auditors, none for custodians unless given."""
    if role is Role.AUDITOR:
        if analyst is not None:
            raise RequestError("user: an auditor reads and does not ask.", hint="Leave out --analyst.")
        return None
    if role is Role.CUSTODIAN and analyst is None:
        return sole(policy)
    who = asking(policy, analyst or (name if name in policy.analysts else None))
    if not policy.analysts and who != sole(policy):
        raise RequestError(
            f"user: the policy gives {who} no share.",
            hint=f"Leave out --analyst, or write analysts: {{{who}: {{share: 50%}}}} into the policy.",
        )
    return who


def _said(text: str) -> None:
    Console(stderr=True, soft_wrap=True).print(text, markup=False, highlight=False)
