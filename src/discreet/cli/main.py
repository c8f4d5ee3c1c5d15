"""Entry point of the `discreet` command: a table of subcommands, each in a module of its own.

Results go to stdout, everything else to stderr. With `--json`, stdout carries one object, also for an error.
The exit codes are those of `core.errors.ExitCode`.
"""

from __future__ import annotations

import io
import json
import os
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import typer
from pydantic import ValidationError

from discreet.cli.grouped_help import GroupedHelp
from discreet.cli.option_names import name_options
from discreet.core.errors import INNER_VERB, DiscreetError, ExitCode, RequestError
from discreet.core.output_files import remove_leftovers
from discreet.rendering.terminal import Console
from discreet.services.validation_errors import describe_validation_error

COMMANDS = {
    "anonymize": "anonymize.run",
    "ask": "ask.run_ask",
    "attack": "attack.run",
    "audit": "audit.run",
    "bounds": "bounds.run",
    "check": "check.run",
    "demo": "demo.run",
    "hierarchy": "hierarchy.run",
    "init": "init.run",
    "itemsets": "itemsets.run",
    "plan": "ask.run_plan",
    "promise": "promise.run",
    "reproduce": "reproduce.run",
    "serve": "serve.run",
    "stream": "stream.run",
    "synthesize": "synthesize.run",
    "tabulate": "tabulate.run",
    "train": "train.run",
}
"""Subcommands, each with its module and function in `discreet.cli`."""
COMMAND_GROUPS = {"collect": "collect.app", "ledger": "ledger.app", "user": "user.app"}
"""Subcommands that have subcommands of their own, each with its module and Typer application."""
RENAMED_COMMANDS = {"mine": "train"}
"""Former names of subcommands, which are refused with their present name."""
SUMMARIES = {
    "anonymize": "Publish a generalized table with its certificate.",
    "ask": "Answer a question; print its errors, cost and belief.",
    "attack": "Run every attack that applies to a release or to answers.",
    "audit": "Compute a lower bound on epsilon from many runs.",
    "bounds": "Learn the bounds of a column privately.",
    "check": "Show how the data fits the policy, and accept it.",
    "demo": "Show one private answer, one attack and what they reveal.",
    "hierarchy": "Show or export the hierarchy of a column, or check it.",
    "init": "Draft a policy to fill in, from the columns of tables.",
    "itemsets": "Find the itemsets that many rows have.",
    "plan": "Show the cost of a question and the error of its answer.",
    "promise": "Explain a promise in words, odds and, with --plot, a chart.",
    "reproduce": "Recompute the tables and figures of the five documents.",
    "serve": "Answer analysts over HTTP and the PostgreSQL protocol.",
    "stream": "Answer many counting questions, one after the other.",
    "synthesize": "Publish a synthetic table under the promise.",
    "tabulate": "Publish counts: a histogram, a table, marginals or ranges.",
    "train": "Train a model on noisy counts.",
    "collect": "Randomize answers at their source; learn their distribution.",
    "ledger": "Show the budget that is spent and left, and the belief.",
    "user": "Manage the users of a served policy.",
}
"""The first paragraph of each subcommand's help, for the list of all: loading all of them takes seconds.

It is one line of a terminal.
"""


def root_command() -> None:
    """Ask a table anything; learn about no one."""


def build_app(arguments: Sequence[str]) -> typer.Typer:
    """Return the Typer application with the subcommand that `arguments` names, or with a list of all."""
    app = typer.Typer(
        name="discreet",
        help="Ask a table anything; learn about no one.",
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    app.callback()(root_command)
    name = next((word for word in arguments if word != "--"), "")
    if name in COMMAND_GROUPS:
        app.add_typer(_load_command(COMMAND_GROUPS[name]), name=name)
    elif name in COMMANDS:
        app.command(name, cls=GroupedHelp)(_load_command(COMMANDS[name]))
    else:
        for each, summary in SUMMARIES.items():
            app.command(each, help=summary)(root_command)
    return app


def _load_command(target: str) -> Any:
    module, _, name = target.partition(".")
    return getattr(import_module(f"discreet.cli.{module}"), name)


def main() -> None:
    """Run the command line; turn every failure into one sentence and an exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    warnings.showwarning = _print_warning
    try:
        words = sys.argv[1:] or ["--help"]
        _require_utf8(words)
        _refuse_renamed_command(words[0])
        remove_leftovers(Path())
        code = build_app(words)(args=words, standalone_mode=False)
        sys.stdout.flush()
    except DiscreetError as error:
        code = _print_error(error.message, code=error.code, hint=error.hint, exit_code=error.exit_code)
    except typer.TyperException as error:
        hint = f"See {_find_typed_command()} --help."
        code = _print_error(_describe_usage_error(error), code="usage", hint=hint, exit_code=ExitCode.REFUSED)
    except (typer.Abort, KeyboardInterrupt):
        code = _print_error("Stopped.", code="stopped", hint="", exit_code=ExitCode.STOPPED)
    except OSError as error:
        code = _end_system_error(error)
    except Exception as error:
        # The message of an unexpected error may contain a value from the data: only its type is shown.
        code = _print_error(
            f"An internal error: {type(error).__name__}.",
            code="internal",
            hint="",
            exit_code=ExitCode.INTERNAL,
        )
    sys.exit(code if isinstance(code, int) else ExitCode.DONE)


def _print_warning(message: Warning | str, *_: object, **__: object) -> None:
    """Print a warning of the library as a sentence, without the line of code that it comes from."""
    print(f"discreet: {message}", file=sys.stderr)


def _describe_usage_error(error: typer.TyperException) -> str:
    """Return Typer's sentence, or ours where it would repeat pydantic's."""
    if isinstance(error.__cause__, ValidationError):
        parameter: Any = getattr(error, "param", None)
        place = max(parameter.opts, key=len)
        return describe_validation_error(error.__cause__.errors()[0], place=place)
    message = error.format_message().rstrip(".")
    return message if message.endswith("?") else f"{message}."


def _end_system_error(error: OSError) -> int:
    """Print the system's reason; end at once if stdout cannot be written, silently if nobody reads it."""
    told = f"System error: {error.strerror or 'no reason given'}."
    try:
        sys.stdout.flush()
        code = _print_error(told, code="system", hint="", exit_code=ExitCode.REFUSED)
        sys.stdout.flush()
    except BrokenPipeError:
        os._exit(ExitCode.INTERNAL)  # a normal exit would flush stdout and fail again
    except OSError:
        print(f"discreet: {told}", file=sys.stderr)
        os._exit(ExitCode.REFUSED)
    return code


def _require_utf8(arguments: Sequence[str]) -> None:
    """Raise RequestError for bytes that are not UTF-8: names, SQL and paths are stored as text."""
    for place, word in enumerate(arguments, 1):
        try:
            word.encode()
        except UnicodeEncodeError:
            raise RequestError(
                f"Argument {place} of the command line is not valid UTF-8.",
                hint="Type it in UTF-8, or rename the file that it names.",
            ) from None


def _refuse_renamed_command(verb: str) -> None:
    if verb in RENAMED_COMMANDS:
        now = RENAMED_COMMANDS[verb]
        raise RequestError(f"{verb}: this command is called {now}.", hint=f"Write discreet {now}.")


def _list_typed_options() -> dict[str, str]:
    """List the option of each parameter of the typed command; empty where no command was typed."""
    words = [word for word in sys.argv[1:] if not word.startswith("-")]
    command: Any = typer.main.get_command(build_app(words))
    for word in words[:2]:
        command = getattr(command, "commands", {}).get(word, command)
    longest = ((each.name, max(each.opts, key=len)) for each in command.params)
    return {name: option for name, option in longest if option.startswith("-")}


def _find_typed_command() -> str:
    """Return the command and subcommand that were typed, for the hint of a usage error."""
    verb = next((word for word in sys.argv[1:] if word in (*COMMANDS, *COMMAND_GROUPS)), "")
    family = _load_command(COMMAND_GROUPS[verb]) if verb in COMMAND_GROUPS else None
    inner = {command.name for command in family.registered_commands} if family else set()
    return " ".join(
        ["discreet", *filter(None, [verb, *(word for word in sys.argv[2:] if word in inner)][:2])]
    )


def _print_error(message: str, *, code: str, hint: str, exit_code: ExitCode) -> int:
    options = _list_typed_options()
    message = INNER_VERB.sub(f"{_find_typed_command().removeprefix('discreet ')}: ", message)
    message, hint = name_options(message, options), name_options(hint, options)
    if "--json" in sys.argv[1:]:
        print(json.dumps({"error": message, "code": code, "hint": hint}))
    else:
        text = f"{message} {hint}".strip()
        Console(stderr=True, soft_wrap=True).print(f"discreet: {text}", markup=False, highlight=False)
    return exit_code
