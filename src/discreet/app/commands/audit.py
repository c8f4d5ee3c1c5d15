"""`discreet audit`: an empirical lower bound on epsilon: of a mechanism, a question or a whole curator."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from discreet.app.commands.options import POLICY, AsJson
from discreet.app.commands.progress import spinner
from discreet.app.policies import load
from discreet.app.terminal import Console
from discreet.core.errors import RequestError
from discreet.core.number_checks import parse_number, parse_probability
from discreet.mechanisms import MECHANISMS, get_mechanism_name

NAMES = ", ".join(get_mechanism_name(kind) for kind in MECHANISMS)
NOT_MET = 4


def run(
    audited: Annotated[
        str,
        typer.Argument(
            metavar="MECHANISM|SQL",
            help=f"A question under a policy; or one of {NAMES} (geometric is discrete-laplace).",
        ),
    ],
    policy: Annotated[
        Path | None,
        typer.Option("--policy", "-p", help="Of a question; privacy.yaml, if it is here."),
    ] = None,
    epsilon: Annotated[
        str | None,
        typer.Option(help="What is claimed, or in a session is asked for with; 1, or by the policy."),
    ] = None,
    delta: Annotated[str | None, typer.Option(help="For mechanisms that have one; 1e-6.")] = None,
    runs: Annotated[
        int | None, typer.Option(help="How often to run it on each of the two neighbours.")
    ] = None,
    posterior: Annotated[
        bool,
        typer.Option(
            "--posterior",
            help="Of a question: also what attackers come to believe, beside what is promised.",
        ),
    ] = False,
    session: Annotated[
        bool,
        typer.Option(
            "--session",
            help="The whole curator: a question asked anew until there is no room left in the promise.",
        ),
    ] = False,
    confidence: Annotated[str, typer.Option(help="How sure the bound is.")] = "95%",
    as_json: AsJson = False,
) -> None:
    """A lower bound on epsilon from many runs; exit code 4 if it is above what is claimed.

    With --session all answers of an analyst who asks until refused, and what is claimed is the promise.
    With --posterior also the share of attackers who come to believe more than is promised: 0, or the tail.

    Reads no data and charges nothing: mechanisms run on numbers, questions on tables that are made up.
    """
    from discreet.app.audits import auditing  # what it needs takes a second to load

    sure = parse_probability("--confidence", confidence)
    claimed = None if epsilon is None else parse_number("--epsilon", epsilon)
    policy = policy or (_usual_policy() if auditing.is_question(audited) else None)
    with spinner() as tell:
        found, beliefs = auditing.audit_any(
            audited,
            None if policy is None else load(policy),
            claimed,
            delta,
            runs,
            sure,
            tell,
            posterior=posterior,
            session=session,
        )
    if as_json:
        print(json.dumps(auditing.as_object(found, beliefs)))
    else:
        auditing.show(Console(), audited, found)
        if beliefs is not None:
            auditing.show_posteriors(Console(), beliefs)
    if not (found.holds and (beliefs is None or beliefs.holds)):
        raise typer.Exit(NOT_MET)


def _usual_policy() -> Path:
    """The policy of a question that names none."""
    if not POLICY.is_file():
        raise RequestError(
            "audit: a question is asked under a policy, and none was named.", hint="Name it with --policy."
        )
    return POLICY
