"""Write learned bounds or values into a policy file, with everything else in it as it was.

Only the text of one column's entry changes: an open `?` is replaced, and what is missing is inserted after
the column's type, on its line within braces or on lines of its own. Comments, order and quotes stay. The
result is read as a policy before it replaces the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeGuard

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from discreet.core.column_entry import LearnedFrom
from discreet.core.errors import RequestError
from discreet.core.output_files import write_output
from discreet.services.bounds.value_scale import format_bound
from discreet.services.policies import load_policy
from discreet.services.policy_draft.table_drafts import quote_scalar
from discreet.services.yaml_reader import parse_nodes

if TYPE_CHECKING:
    from discreet.services.bounds.learn_bounds import LearnedBounds

BOM = b"\xef\xbb\xbf"
PRINTED = "Repeating it without `write=True` is free, and shows what was learned, to be written by hand."


def format_entries(found: LearnedBounds) -> dict[str, str]:
    """Return the entries of the column that declare what was learned, each as YAML."""
    if found.is_empty:
        return {}
    if found.values is not None:
        entries = {"values": f"[{', '.join(map(quote_scalar, found.values))}]"}
    else:
        entries = {"low": format_bound(found.low), "high": format_bound(found.high)}
    return entries | {"learned": _format_origin(found.learned)}


def _format_origin(learned: LearnedFrom) -> str:
    told = {
        "entry": str(learned.entry),
        "ledger": quote_scalar(learned.ledger),
        "identity": f'"{learned.identity}"',
        "epsilon": repr(learned.epsilon),
    }
    if learned.analyst is not None:
        told["analyst"] = quote_scalar(learned.analyst)
    return f"{{{', '.join(f'{name}: {value}' for name, value in told.items())}}}"


def require_writable_entry(path: Path, table: str, column: str) -> None:
    """Raise, before anything is charged, if the column's entry in the file cannot be written."""
    _find_entry(path, _read_text(path), table, column)


def write_bounds(found: LearnedBounds, path: Path) -> bool:
    """Write what was learned into the policy file; return False if it stands there already, or is nothing."""
    request = found.plan.request
    entries = format_entries(found)
    if not entries or _get_declared(path, request.table, request.column) == found.learned:
        return False
    edited = insert_entries(path, request.table, request.column, entries)
    _require_policy(path, edited, found)
    write_output(path, edited)
    return True


def insert_entries(path: Path, table: str, column: str, entries: Mapping[str, str]) -> bytes:
    """Return the content of a policy file with entries of a column set; each is YAML."""
    text = _read_text(path)
    edited = _insert_entries(text, _find_entry(path, text, table, column), entries)
    return (BOM if path.read_bytes().startswith(BOM) else b"") + edited.encode()


def _get_declared(path: Path, table: str, column: str) -> LearnedFrom | None:
    policy = load_policy(path, allow_open_bounds=True)
    return policy.tables[table].columns[column].learned


def _read_text(path: Path) -> str:
    return path.read_bytes().decode("utf-8-sig")


def _find_entry(path: Path, text: str, table: str, column: str) -> MappingNode:
    """Return the node of a column's entry; refuse one that other entries share by an alias."""
    root = node = parse_nodes(text)
    for name in ("tables", table, "columns", column):
        found = [value for key, value in node.value if key.value == name] if _is_mapping(node) else []
        if not found:
            raise RequestError(f"{path} declares no column {column} of {table}.", hint="Name another policy.")
        node = found[0]
    if not _is_mapping(node) or not any(
        key.value == "type" and isinstance(value, ScalarNode) for key, value in node.value
    ):
        raise RequestError(f"{path} declares no type for {column} of {table}.", hint="Add its type.")
    if sum(each is node for each in _iterate_nodes(root)) > 1:
        raise RequestError(
            f"{path} declares {column} of {table} by an alias, which other entries share.",
            hint="Write the entry out.",
        )
    return node


def _is_mapping(node: Node | None) -> TypeGuard[MappingNode]:
    return isinstance(node, MappingNode)


def _iterate_nodes(node: Node | None) -> Iterator[Node]:
    """Yield a node and all below it, as often as they are referred to."""
    if node is None:
        return
    yield node
    if isinstance(node, MappingNode):
        for _, value in node.value:
            yield from _iterate_nodes(value)
    elif isinstance(node, SequenceNode):
        for value in node.value:
            yield from _iterate_nodes(value)


def _insert_entries(text: str, node: MappingNode, entries: Mapping[str, str]) -> str:
    """Return the text with the entries of a column replaced, or inserted after its type."""
    places = {key.value: (key, value) for key, value in node.value}
    edits = [
        (places[name][1].start_mark.index, places[name][1].end_mark.index, value)
        for name, value in entries.items()
        if name in places
    ]
    added = {name: value for name, value in entries.items() if name not in places}
    key, kind = places["type"]
    if node.flow_style:
        last = node.value[-1][1].end_mark.index
        edits += [
            (at, at, f", {name}: {value}")
            for name, value in reversed(added.items())
            for at in [last if name == "learned" else kind.end_mark.index]
        ]
    else:
        ends = [place for place in (text.find(end, kind.end_mark.index) for end in "\r\n") if place >= 0]
        at = min(ends, default=len(text))
        newline = "\r\n" if text[at : at + 2] == "\r\n" else "\n"
        indent = " " * key.start_mark.column
        edits.append((at, at, "".join(f"{newline}{indent}{name}: {value}" for name, value in added.items())))
    for start, end, value in sorted(edits, key=lambda edit: edit[0], reverse=True):
        text = text[:start] + value + text[end:]
    return text


def _require_policy(path: Path, edited: bytes, found: LearnedBounds) -> None:
    """Raise unless the edited text differs from the policy only in what was learned."""
    draft = path.with_name(f".{path.name}.bounds")
    try:
        draft.write_bytes(edited)
        policy, before = (load_policy(each, allow_open_bounds=True) for each in (draft, path))
    except RequestError as refusal:
        raise RequestError(
            f"The policy does not accept what was learned: {refusal.message.replace(str(draft), str(path))}",
            hint=PRINTED,
        ) from None
    finally:
        draft.unlink(missing_ok=True)
    request, learned = found.plan.request, {"learned": found.learned}
    declared = (
        {"values": found.values} if found.values is not None else {"low": found.low, "high": found.high}
    )
    table = before.tables[request.table]
    column = table.columns[request.column].model_copy(update=declared | learned)
    columns = table.columns | {request.column: column}
    tables = before.tables | {request.table: table.model_copy(update={"columns": columns})}
    if policy.model_dump() != before.model_copy(update={"tables": tables}).model_dump():
        raise RequestError(
            f"{path} could not be edited without changing something else.",
            hint=PRINTED,
        )
