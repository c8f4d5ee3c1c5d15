"""Utility commands that every client sends: transactions, settings, cursors, prepared statements.

They are recognised by their text alone and answered without reading data; every other statement goes to the
backend session.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from discreet.pgwire.backend import Column, Columns, PreparedStatement, Result, Values
from discreet.pgwire.postgres_types import PostgresType
from discreet.pgwire.session_state import FAILED, Portal, SessionState
from discreet.pgwire.wire_errors import WireError

# An unterminated string or comment extends to the end of the text, so that scanning takes linear time.
SQL_TOKENS = re.compile(
    r"(?<!\w)[eE]'(?:[^'\\]|\\.|'')*(?:'|\Z)|'(?:[^']|'')*(?:'|\Z)|\"(?:[^\"]|\"\")*(?:\"|\Z)"
    r"|\$(?P<mark>[^\W\d]\w*|)\$.*?(?:\$(?P=mark)\$|\Z)"
    r"|(?P<comment>--[^\n]*|/\*.*?(?:\*/|\Z))|(?P<end>;)|[^'\"$;/eE-]+|.",
    re.DOTALL,
)
NAME_PATTERN = r'(?P<name>"(?:[^"]|"")+"|[\w$.]+)'
ISOLATION_LEVEL = (
    r"isolation\s+level\s+(?:serializable|repeatable\s+read|read\s+committed|read\s+uncommitted)"
)
TRANSACTION_MODES = (
    rf"(?:(?:\s*,\s*|\s+)(?:{ISOLATION_LEVEL}|read\s+only|read\s+write|(?:not\s+)?deferrable))*"
)
FETCH_COUNT = r"(?:(?:forward\s+)?(?P<count>all|\d{1,9})|next|forward)"
DescribeColumns = Callable[[], Columns | None]


@dataclass(frozen=True, kw_only=True)
class UtilityCommand:
    """A prepared statement that acts on the session state and reads no data."""

    execute: Callable[[Callable[[], bool]], Result]
    describe_columns: DescribeColumns = lambda: None
    parameters: tuple[PostgresType, ...] = ()
    ends_transaction: bool = False

    def plan_columns(self, values: Values | None) -> Columns | None:
        return self.describe_columns()

    def run(self, values: Values, should_continue: Callable[[], bool]) -> Result:
        return self.execute(should_continue)


def split_statements(text: str) -> list[str]:
    """Split a text into its statements, without comments.

    >>> split_statements("SET a = ';'; -- so\\n SELECT 1;")
    ["SET a = ';'", 'SELECT 1']
    """
    found, current = [], ""
    for piece in SQL_TOKENS.finditer(text):
        if piece["end"]:
            found.append(current)
            current = ""
        else:
            current += " " if piece["comment"] else piece[0]
    return [each for part in (*found, current) if (each := part.strip())]


def parse_command(text: str, state: SessionState) -> UtilityCommand | None:
    """Return the utility command for a statement, or None if it is another statement."""
    for pattern, make in COMMAND_PATTERNS:
        found = pattern.fullmatch(text)
        if found is not None:
            return make(found, state)
    return None


def match_declare(text: str) -> re.Match[str] | None:
    """Match DECLARE … CURSOR FOR …; the backend session prepares the query after FOR."""
    return DECLARE_PATTERN.fullmatch(text)


def prepare_cursor(
    declaration: re.Match[str], prepared: PreparedStatement, state: SessionState
) -> PreparedStatement:
    """Return the prepared DECLARE of a query: running it opens a portal and does not run the query."""
    return _CursorDeclaration(
        prepared=prepared,
        state=state,
        name=normalize_identifier(declaration["name"]),
        is_holdable=bool(declaration["hold"]),
    )


@dataclass(frozen=True, kw_only=True)
class _CursorDeclaration:
    """A prepared DECLARE … CURSOR."""

    prepared: PreparedStatement
    state: SessionState
    name: str
    is_holdable: bool

    @property
    def parameters(self) -> tuple[PostgresType, ...]:
        return self.prepared.parameters

    def plan_columns(self, values: Values | None) -> Columns | None:
        return None

    def run(self, values: Values, should_continue: Callable[[], bool]) -> Result:
        columns = self.prepared.plan_columns(values)
        forms = (0,) * len(columns or ())
        portal = Portal(self.prepared, values, columns, forms, is_holdable=self.is_holdable)
        self.state.register(self.name, portal)
        return Result(tag="DECLARE CURSOR")


def normalize_identifier(name: str) -> str:
    """Return a name as PostgreSQL reads it: unchanged within quotes, otherwise in lower case."""
    return name[1:-1].replace('""', '"') if name.startswith('"') else name.lower()


def _make_command(
    tag: str, action: Callable[[], object] = lambda: None, *, ends_transaction: bool = False
) -> UtilityCommand:
    """Return a command that acts and answers with a tag alone."""

    def run_action(should_continue: Callable[[], bool]) -> Result:
        action()
        return Result(tag=tag)

    return UtilityCommand(execute=run_action, ends_transaction=ends_transaction)


def _make_begin(match: re.Match[str], state: SessionState) -> UtilityCommand:
    return _make_command(
        "BEGIN" if match["word"].lower() == "begin" else "START TRANSACTION", state.begin_transaction
    )


def _make_commit(match: re.Match[str], state: SessionState) -> UtilityCommand:
    # PostgreSQL answers COMMIT of a failed transaction with the tag ROLLBACK.
    tag = "ROLLBACK" if state.status == FAILED else "COMMIT"
    return _make_command(tag, lambda: state.end_transaction(commit=True), ends_transaction=True)


def _make_rollback(match: re.Match[str], state: SessionState) -> UtilityCommand:
    if match["name"]:
        return _make_command(
            "ROLLBACK",
            lambda: state.roll_back_to_savepoint(normalize_identifier(match["name"])),
            ends_transaction=True,
        )
    return _make_command("ROLLBACK", lambda: state.end_transaction(commit=False), ends_transaction=True)


def _make_savepoint(match: re.Match[str], state: SessionState) -> UtilityCommand:
    return _make_command("SAVEPOINT", lambda: state.set_savepoint(normalize_identifier(match["name"])))


def _make_release(match: re.Match[str], state: SessionState) -> UtilityCommand:
    return _make_command("RELEASE", lambda: state.release_savepoint(normalize_identifier(match["name"])))


def _make_settings_change(
    match: re.Match[str], state: SessionState, settings: dict[str, str | None]
) -> UtilityCommand:
    """Return the command for one form of SET; a LOCAL scope ends with the transaction.

    One of the cost settings resets the others: a notice names them.
    """
    local = (match["scope"] or "").strip().lower() == "local"

    def execute(should_continue: Callable[[], bool]) -> Result:
        before = {*state.session.get_changed_settings()} - {*settings}
        warnings = state.change_settings(settings, local=local)
        reset = sorted(before - {*state.session.get_changed_settings()})
        notice = f"{', '.join(settings)} now applies instead of {', '.join(reset)}."
        return Result(tag="SET", warnings=warnings, notices=(notice,) if reset else ())

    return UtilityCommand(execute=execute)


def _make_set(match: re.Match[str], state: SessionState) -> UtilityCommand:
    value = ", ".join(
        _unquote_value(each) for each in re.findall(r"'(?:[^']|'')*'|\"[^\"]*\"|[^\s,]+", match["value"])
    )
    return _make_settings_change(
        match, state, {normalize_identifier(match["name"]): None if value.lower() == "default" else value}
    )


def _unquote_value(text: str) -> str:
    quote = text[0]
    return text[1:-1].replace(quote * 2, quote) if quote in "'\"" and len(text) > 1 else text


def _make_set_time_zone(match: re.Match[str], state: SessionState) -> UtilityCommand:
    value = _unquote_value(match["value"])
    return _make_settings_change(
        match, state, {"timezone": None if value.lower() in ("default", "local") else value}
    )


def _make_set_names(match: re.Match[str], state: SessionState) -> UtilityCommand:
    return _make_settings_change(match, state, {"client_encoding": _unquote_value(match["value"])})


def _make_reset(match: re.Match[str], state: SessionState) -> UtilityCommand:
    name = normalize_identifier(match["name"])

    def execute() -> None:
        if name == "all":
            state.reset_settings()
        else:
            state.change_settings({name: None}, local=False)

    return _make_command("RESET", execute)


def _make_show(match: re.Match[str], state: SessionState) -> UtilityCommand:
    name = {"time zone": "timezone", "transaction isolation level": "transaction_isolation"}.get(
        " ".join(match["name"].lower().split()), normalize_identifier(match["name"])
    )
    if name == "all":
        shape = tuple(Column(name=each, pg_type=PostgresType.TEXT) for each in ("name", "setting"))
        return UtilityCommand(
            execute=lambda _: Result(rows=state.session.list_settings(), tag="SHOW"),
            describe_columns=lambda: shape,
        )

    def execute(should_continue: Callable[[], bool]) -> Result:
        value = state.session.get_setting(name)
        if value is None:
            raise WireError("42704", "There is no setting of that name.", hint="SHOW ALL lists them.")
        return Result(rows=[[value]], tag="SHOW")

    return UtilityCommand(
        execute=execute, describe_columns=lambda: (Column(name=name, pg_type=PostgresType.TEXT),)
    )


def _make_fetch(match: re.Match[str], state: SessionState) -> UtilityCommand:
    count, name = (match["count"] or "1").lower(), normalize_identifier(match["name"])
    moves = match["word"].lower() == "move"

    def execute(should_continue: Callable[[], bool]) -> Result:
        if count == "0":
            return Result(tag=match["word"].upper() + " 0")
        taken = state.get_portal(name).fetch_rows(0 if count == "all" else int(count), should_continue)
        tag = f"{match['word'].upper()} {len(taken.rows)}"
        return Result(rows=() if moves else taken.rows, notices=taken.notices, tag=tag)

    return UtilityCommand(
        execute=execute, describe_columns=lambda: None if moves else state.get_portal(name).columns
    )


def _make_close(match: re.Match[str], state: SessionState) -> UtilityCommand:
    name = normalize_identifier(match["name"])

    def execute() -> None:
        if name == "all":
            state.portals.clear()
        else:
            state.get_portal(name)
            del state.portals[name]

    return _make_command("CLOSE CURSOR ALL" if name == "all" else "CLOSE CURSOR", execute)


def _make_deallocate(match: re.Match[str], state: SessionState) -> UtilityCommand:
    name = normalize_identifier(match["name"])

    def execute() -> None:
        if name == "all":
            state.statements.clear()
        else:
            state.get_statement(name)
            del state.statements[name]

    return _make_command("DEALLOCATE ALL" if name == "all" else "DEALLOCATE", execute)


def _make_discard(match: re.Match[str], state: SessionState) -> UtilityCommand:
    def execute() -> None:
        if match["what"].lower() == "all":
            state.reset_settings()
            state.statements.clear()
            state.portals.clear()

    return _make_command(f"DISCARD {match['what'].upper()}", execute)


def _make_no_op(match: re.Match[str], state: SessionState) -> UtilityCommand:
    """Return a command that does nothing: it has no effect where nothing is ever written."""
    return _make_command(match["word"].upper())


COMMAND_FACTORIES: tuple[tuple[str, Callable[[re.Match[str], SessionState], UtilityCommand]], ...] = (
    (rf"(?P<word>begin)(?:\s+(?:work|transaction))?{TRANSACTION_MODES}", _make_begin),
    (rf"(?P<word>start)\s+transaction{TRANSACTION_MODES}", _make_begin),
    (r"(?:commit|end)(?:\s+(?:work|transaction))?", _make_commit),
    (rf"rollback\s+(?:work\s+|transaction\s+)?to\s+(?:savepoint\s+)?{NAME_PATTERN}", _make_rollback),
    (r"(?:rollback|abort)(?:\s+(?:work|transaction))?(?P<name>)", _make_rollback),
    (rf"savepoint\s+{NAME_PATTERN}", _make_savepoint),
    (rf"release\s+(?:savepoint\s+)?{NAME_PATTERN}", _make_release),
    (rf"(?P<word>set)\s+(?:session\s+characteristics\s+as\s+)?transaction{TRANSACTION_MODES}", _make_no_op),
    (r"set\s+(?P<scope>session\s+|local\s+)?time\s+zone\s+(?P<value>'[^']*'|\w+)", _make_set_time_zone),
    (r"set\s+(?P<scope>session\s+|local\s+)?names\s+(?P<value>'[^']*'|\w+)", _make_set_names),
    (rf"set\s+(?P<scope>session\s+|local\s+)?{NAME_PATTERN}\s*(?:=|\bto\b)\s*(?P<value>\S.*)", _make_set),
    (rf"reset\s+{NAME_PATTERN}", _make_reset),
    (r"show\s+(?P<name>time\s+zone|transaction\s+isolation\s+level|\"[^\"]+\"|[\w$.]+)", _make_show),
    (rf"(?P<word>fetch|move)\s+(?:{FETCH_COUNT}\s+)?(?:from\s+|in\s+)?{NAME_PATTERN}", _make_fetch),
    (rf"close\s+{NAME_PATTERN}", _make_close),
    (rf"deallocate\s+(?:prepare\s+)?{NAME_PATTERN}", _make_deallocate),
    (r"discard\s+(?P<what>all|plans|sequences|temp|temporary)", _make_discard),
    (r"(?P<word>unlisten)\s+(?:\*|\w+)", _make_no_op),
)
COMMAND_PATTERNS = tuple(
    (re.compile(pattern, re.IGNORECASE | re.DOTALL), make) for pattern, make in COMMAND_FACTORIES
)
DECLARE_PATTERN = re.compile(
    rf"declare\s+{NAME_PATTERN}\s+(?:(?:binary|asensitive|insensitive|(?:no\s+)?scroll)\s+)*cursor"
    r"(?:\s+(?:(?P<hold>with)|without)\s+hold)?\s+for\s+(?P<sql>.+)",
    re.IGNORECASE | re.DOTALL,
)
