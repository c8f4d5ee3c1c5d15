"""`discreet ledger create`, `verify`, `backup`, `restore`, `export`, `change-unit`: ledger maintenance."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from discreet.accounting.belief_sentences import SHOWN
from discreet.accounting.high_water_marks import HighWaterMarks
from discreet.accounting.ledger import has_ledger
from discreet.accounting.ledger_backup import back_up_ledger, restore_ledger
from discreet.cli.shared_options import DEFAULT_POLICY, JsonOption, LedgerOption
from discreet.core.errors import RequestError
from discreet.rendering.terminal import Console
from discreet.services.ledger_addresses import strip_sibling_path
from discreet.services.ledger_export import WRITERS, export_entries
from discreet.services.ledgers import (
    find_high_water_marks,
    open_ledger,
    open_ledger_readonly,
    open_ledger_unmarked,
)
from discreet.services.policies import load_policy
from discreet.services.privacy_units import find_units

LedgerPolicyOption = Annotated[Path, typer.Option("--policy", "-p", help="The policy whose ledger it is.")]


def run_create(
    policy: LedgerPolicyOption = DEFAULT_POLICY,
    ledger: LedgerOption = None,
    separate_promise: Annotated[
        bool,
        typer.Option(
            "--separate-promise",
            help="Allow it even if another ledger exists for the same data; each then names the other.",
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Create a ledger, and write its high-water marks beside the data."""
    terms = load_policy(policy, ledger=ledger)
    if has_ledger(strip_sibling_path(terms.ledger)):
        raise RequestError(
            f"The ledger {_format_address(terms.ledger)} exists already.", hint="Use it as it is."
        )
    with open_ledger(terms, separate_promise=separate_promise) as made:
        made.write_marks()
        told = {"ledger": made.read_mark().ledger, "sentence": made.describe_belief()} | _marks_to_json(
            made.marks, made.read_mark().ledger
        )
    _print_result(
        told, f"The ledger {_format_address(terms.ledger)} was made. {told['sentence']}", as_json=as_json
    )


def run_verify(
    policy: LedgerPolicyOption = DEFAULT_POLICY, ledger: LedgerOption = None, as_json: JsonOption = False
) -> None:
    """Check every entry, sum and high-water mark; exit code 2 and one sentence if something was changed."""
    terms = load_policy(policy, ledger=ledger)
    if not has_ledger(strip_sibling_path(terms.ledger)):
        open_ledger_readonly(terms).close()  # raises if the data have marks of a ledger
        raise RequestError(
            f"There is no ledger {_format_address(terms.ledger)} yet.", hint="Ask something first."
        )
    with open_ledger_readonly(terms) as found:
        found.verify()
        mark, marks, separate = found.read_mark(), find_high_water_marks(terms), found.list_separate_ledgers()
    told = {
        "ledger": mark.ledger,
        "entries": mark.total[3],
        "links": mark.count,
        "head": mark.head,
        "separate": [*separate],
        "separate_ledgers": separate,
    } | _marks_to_json(marks, mark.ledger)
    text = (
        f"The ledger {_format_address(terms.ledger)} is whole: "
        f"{_format_count(mark.total[3], 'entry', 'entries')}, "
        f"{_format_count(mark.count, 'link', 'links')}. "
        f"{_describe_marks(marks, mark.ledger)}{_describe_separate(mark.ledger, separate)}"
    )
    _print_result(told, text, as_json=as_json)


def run_backup(
    file: Annotated[Path, typer.Argument(help="The file to write; a new one.")],
    policy: LedgerPolicyOption = DEFAULT_POLICY,
    ledger: LedgerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Copy a snapshot of the ledger into a file; it may be in use meanwhile."""
    terms = load_policy(policy, ledger=ledger)
    if not has_ledger(strip_sibling_path(terms.ledger)):
        raise RequestError(
            f"There is no ledger {_format_address(terms.ledger)} yet.", hint="Ask something first."
        )
    with open_ledger(terms) as found:
        found.verify()
        back_up_ledger(found, file)
        entries = found.read_mark().total[3]
    _print_result({"file": str(file), "entries": entries}, f"The backup is in {file}.", as_json=as_json)


def run_restore(
    file: Annotated[
        Path | None, typer.Argument(help="A backup or an older copy; by default, the current ledger.")
    ] = None,
    policy: LedgerPolicyOption = DEFAULT_POLICY,
    ledger: LedgerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Replace the ledger by a backup, and charge what was asked since the backup."""
    terms = load_policy(policy, ledger=ledger)
    restored = restore_ledger(
        file,
        strip_sibling_path(terms.ledger),
        find_high_water_marks(terms),
        lambda address: open_ledger_unmarked(terms, address),
    )
    with open_ledger_readonly(terms) as found:
        sentence = found.describe_belief()
    charged = ", ".join(restored.charged)
    if restored.whole:
        text = f"No mark tells what was asked since: all that was left is charged ({charged or 'nothing'})."
    elif restored.charged:
        text = f"What was asked since the backup is charged to {charged}."
    else:
        text = "Nothing was lost."
    if restored.releases:
        text += f" Entered from a mark: {', '.join(restored.releases)}."
    _print_result(vars(restored) | {"sentence": sentence}, f"{text} {sentence}", as_json=as_json)


def run_export(
    file: Annotated[Path, typer.Argument(help="The file to write: .csv, .json or .parquet.")],
    policy: LedgerPolicyOption = DEFAULT_POLICY,
    ledger: LedgerOption = None,
    analyst: Annotated[str | None, typer.Option(help="Only this analyst's entries.")] = None,
    first: Annotated[int, typer.Option("--from", min=1, help="The first entry, by its id.")] = 1,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="The most entries to write.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Write the entries to a file, in pages."""
    if file.suffix.lower() not in WRITERS:
        raise RequestError(f"export: {file} has no known ending.", hint=f"Use {', '.join(WRITERS)}.")
    if file.exists():
        raise RequestError(f"export: {file} exists already.", hint="Name a new file.")
    with open_ledger_readonly(load_policy(policy, ledger=ledger)) as found:
        found.verify()
        count, following = export_entries(found, file, analyst=analyst, first=first, limit=limit)
    more = "" if following is None else f" More begin at --from {following}."
    told = {"file": str(file), "entries": count, "next": following}
    are = "is" if count == 1 else "are"
    _print_result(told, f"{_format_count(count, 'entry', 'entries')} {are} in {file}.{more}", as_json=as_json)


def run_change_unit(
    policy: LedgerPolicyOption = DEFAULT_POLICY, ledger: LedgerOption = None, as_json: JsonOption = False
) -> None:
    """Record a changed privacy unit; from then on the ledger's sentence mentions the earlier answers."""
    terms = load_policy(policy, ledger=ledger)
    with open_ledger(terms, check_units=False) as found:
        changed = found.change_units(find_units(terms))
        sentence = found.describe_belief()
    text = f"The privacy unit of {', '.join(changed)} was changed." if changed else "Nothing is changed."
    _print_result({"changed": changed, "sentence": sentence}, f"{text} {sentence}", as_json=as_json)


def _marks_to_json(marks: HighWaterMarks, identity: str) -> dict[str, object]:
    there, missing = _find_marks(marks, identity)
    return {
        "marks": [{"file": str(path), "entries": entries} for path, entries in there.items()],
        "unmarked": [str(path) for path in missing],
    }


def _find_marks(marks: HighWaterMarks, identity: str) -> tuple[dict[Path, int], list[Path]]:
    """Return how many entries each mark of a ledger holds, and the places where it has none."""
    there = {file.path: mark.total[3] for file, mark in marks.read() if mark.ledger == identity}
    return there, [file.path for file in marks.files if file.written and file.path not in there]


def _describe_marks(marks: HighWaterMarks, identity: str) -> str:
    there, missing = _find_marks(marks, identity)
    without = f" It has none at {', '.join(map(str, missing))}." if missing else ""
    if not there:
        return f"No mark stands anywhere, so that an older copy in its place would not be noticed.{without}"
    return f"Its marks: {', '.join(map(str, there))}.{without}"


def _describe_separate(identity: str, separate: Mapping[str, str]) -> str:
    """Describe the places of the ledgers with a separate promise; only the custodian sees this."""
    if not separate:
        return ""
    others = ", ".join(f"{each[:SHOWN]} at {place}" for each, place in separate.items())
    return f" This ledger is {identity[:SHOWN]}. With a separate promise about the same data: {others}."


def _format_count(number: int, one: str, several: str) -> str:
    return f"{number:,} {one if number == 1 else several}"


def _format_address(ledger: str) -> str:
    return strip_sibling_path(ledger).partition("?")[0].rpartition("@")[2]


def _print_result(result: Mapping[str, object], text: str, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(result))
    else:
        Console(soft_wrap=True).print(text, markup=False, highlight=False)
