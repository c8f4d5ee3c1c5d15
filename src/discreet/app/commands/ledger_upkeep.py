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
from discreet.app.books import find_marks, looked_into, open_unmarked, opened
from discreet.app.commands.addressed import LedgerAddress
from discreet.app.commands.options import POLICY, AsJson
from discreet.app.ledger_addresses import kept_at
from discreet.app.ledger_export import FORMATS, export_entries
from discreet.app.policies import load
from discreet.app.privacy_units import find_units
from discreet.app.terminal import Console
from discreet.core.errors import RequestError

PolicyFile = Annotated[Path, typer.Option("--policy", "-p", help="The policy whose ledger it is.")]


def run_create(
    policy: PolicyFile = POLICY,
    ledger: LedgerAddress = None,
    separate_promise: Annotated[
        bool,
        typer.Option(
            "--separate-promise",
            help="Allow it even if another ledger exists for the same data; each then names the other.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Create a ledger, and write its high-water marks beside the data."""
    terms = load(policy, ledger=ledger)
    if has_ledger(kept_at(terms.ledger)):
        raise RequestError(f"The ledger {_place(terms.ledger)} exists already.", hint="Use it as it is.")
    with opened(terms, separate_promise=separate_promise) as made:
        made.write_marks()
        told = {"ledger": made.read_mark().ledger, "sentence": made.describe_belief()} | _marks_object(
            made.marks, made.read_mark().ledger
        )
    _tell(told, f"The ledger {_place(terms.ledger)} was made. {told['sentence']}", as_json=as_json)


def run_verify(policy: PolicyFile = POLICY, ledger: LedgerAddress = None, as_json: AsJson = False) -> None:
    """Check every entry, sum and high-water mark; exit code 2 and one sentence if something was changed."""
    terms = load(policy, ledger=ledger)
    if not has_ledger(kept_at(terms.ledger)):
        looked_into(terms).close()  # raises if the data have marks of a ledger
        raise RequestError(f"There is no ledger {_place(terms.ledger)} yet.", hint="Ask something first.")
    with looked_into(terms) as found:
        found.verify()
        mark, marks, separate = found.read_mark(), find_marks(terms), found.list_separate_ledgers()
    told = {
        "ledger": mark.ledger,
        "entries": mark.total[3],
        "links": mark.count,
        "head": mark.head,
        "separate": [*separate],
        "separate_ledgers": separate,
    } | _marks_object(marks, mark.ledger)
    text = (
        f"The ledger {_place(terms.ledger)} is whole: {_count(mark.total[3], 'entry', 'entries')}, "
        f"{_count(mark.count, 'link', 'links')}. "
        f"{_describe_marks(marks, mark.ledger)}{_describe_separate(mark.ledger, separate)}"
    )
    _tell(told, text, as_json=as_json)


def run_backup(
    file: Annotated[Path, typer.Argument(help="The file to write; a new one.")],
    policy: PolicyFile = POLICY,
    ledger: LedgerAddress = None,
    as_json: AsJson = False,
) -> None:
    """Copy a snapshot of the ledger into a file; it may be in use meanwhile."""
    terms = load(policy, ledger=ledger)
    if not has_ledger(kept_at(terms.ledger)):
        raise RequestError(f"There is no ledger {_place(terms.ledger)} yet.", hint="Ask something first.")
    with opened(terms) as found:
        found.verify()
        back_up_ledger(found, file)
        entries = found.read_mark().total[3]
    _tell({"file": str(file), "entries": entries}, f"The backup is in {file}.", as_json=as_json)


def run_restore(
    file: Annotated[
        Path | None, typer.Argument(help="A backup or an older copy; by default, the current ledger.")
    ] = None,
    policy: PolicyFile = POLICY,
    ledger: LedgerAddress = None,
    as_json: AsJson = False,
) -> None:
    """Replace the ledger by a backup, and charge what was asked since the backup."""
    terms = load(policy, ledger=ledger)
    restored = restore_ledger(
        file, kept_at(terms.ledger), find_marks(terms), lambda address: open_unmarked(terms, address)
    )
    with looked_into(terms) as found:
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
    _tell(vars(restored) | {"sentence": sentence}, f"{text} {sentence}", as_json=as_json)


def run_export(
    file: Annotated[Path, typer.Argument(help="The file to write: .csv, .json or .parquet.")],
    policy: PolicyFile = POLICY,
    ledger: LedgerAddress = None,
    analyst: Annotated[str | None, typer.Option(help="Only this analyst's entries.")] = None,
    first: Annotated[int, typer.Option("--from", min=1, help="The first entry, by its id.")] = 1,
    most: Annotated[int | None, typer.Option("--limit", min=1, help="The most entries to write.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write the entries to a file, in pages."""
    if file.suffix.lower() not in FORMATS:
        raise RequestError(f"export: {file} has no known ending.", hint=f"Use {', '.join(FORMATS)}.")
    if file.exists():
        raise RequestError(f"export: {file} exists already.", hint="Name a new file.")
    with looked_into(load(policy, ledger=ledger)) as found:
        found.verify()
        count, following = export_entries(found, file, analyst=analyst, first=first, most=most)
    more = "" if following is None else f" More begin at --from {following}."
    told = {"file": str(file), "entries": count, "next": following}
    are = "is" if count == 1 else "are"
    _tell(told, f"{_count(count, 'entry', 'entries')} {are} in {file}.{more}", as_json=as_json)


def run_change_unit(
    policy: PolicyFile = POLICY, ledger: LedgerAddress = None, as_json: AsJson = False
) -> None:
    """Record a changed privacy unit; from then on the ledger's sentence mentions the earlier answers."""
    terms = load(policy, ledger=ledger)
    with opened(terms, check_units=False) as found:
        changed = found.change_units(find_units(terms))
        sentence = found.describe_belief()
    text = f"The privacy unit of {', '.join(changed)} was changed." if changed else "Nothing is changed."
    _tell({"changed": changed, "sentence": sentence}, f"{text} {sentence}", as_json=as_json)


def _marks_object(marks: HighWaterMarks, identity: str) -> dict[str, object]:
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


def _count(number: int, one: str, several: str) -> str:
    return f"{number:,} {one if number == 1 else several}"


def _place(ledger: str) -> str:
    return kept_at(ledger).partition("?")[0].rpartition("@")[2]


def _tell(told: Mapping[str, object], text: str, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(told))
    else:
        Console(soft_wrap=True).print(text, markup=False, highlight=False)
