"""Utility commands that every client sends: transactions, settings, cursors, prepared statements.

They are recognised by their text alone and answered without reading data; every other statement goes to the
backend session.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from discreet.app.wire.door import Column, Columns, Prepared, Result, Values
from discreet.app.wire.faults import WireError
from discreet.app.wire.kinds import Kind
from discreet.app.wire.talk import FAILED, Portal, Talk

# An unterminated string or comment extends to the end of the text, so that scanning takes linear time.
PIECES = re.compile(
    r"(?<!\w)[eE]'(?:[^'\\]|\\.|'')*(?:'|\Z)|'(?:[^']|'')*(?:'|\Z)|\"(?:[^\"]|\"\")*(?:\"|\Z)"
    r"|\$(?P<mark>[^\W\d]\w*|)\$.*?(?:\$(?P=mark)\$|\Z)"
    r"|(?P<comment>--[^\n]*|/\*.*?(?:\*/|\Z))|(?P<end>;)|[^'\"$;/eE-]+|.",
    re.DOTALL,
)
NAME = r'(?P<name>"(?:[^"]|"")+"|[\w$.]+)'
LEVEL = r"isolation\s+level\s+(?:serializable|repeatable\s+read|read\s+committed|read\s+uncommitted)"
MODES = rf"(?:(?:\s*,\s*|\s+)(?:{LEVEL}|read\s+only|read\s+write|(?:not\s+)?deferrable))*"
LENGTH = r"(?:(?:forward\s+)?(?P<count>all|\d{1,9})|next|forward)"
Shape = Callable[[], Columns | None]


@dataclass(frozen=True, kw_only=True)
class Command:
    """A prepared statement that acts on the session state and reads no data."""

    act: Callable[[Callable[[], bool]], Result]
    shape: Shape = lambda: None
    parameters: tuple[Kind, ...] = ()
    ends: bool = False

    def columns(self, values: Values | None) -> Columns | None:
        return self.shape()

    def run(self, values: Values, wanted: Callable[[], bool]) -> Result:
        return self.act(wanted)


def split(text: str) -> list[str]:
    """Split a text into its statements, without comments.

    >>> split("SET a = ';'; -- so\\n SELECT 1;")
    ["SET a = ';'", 'SELECT 1']
    """
    found, current = [], ""
    for piece in PIECES.finditer(text):
        if piece["end"]:
            found.append(current)
            current = ""
        else:
            current += " " if piece["comment"] else piece[0]
    return [each for part in (*found, current) if (each := part.strip())]


def command(text: str, talk: Talk) -> Command | None:
    """Return the utility command for a statement, or None if it is another statement."""
    for pattern, make in COMMANDS:
        found = pattern.fullmatch(text)
        if found is not None:
            return make(found, talk)
    return None


def declared(text: str) -> re.Match[str] | None:
    """Match DECLARE … CURSOR FOR …; the backend session prepares the query after FOR."""
    return DECLARE.fullmatch(text)


def cursor(found: re.Match[str], prepared: Prepared, talk: Talk) -> Prepared:
    """Return the prepared DECLARE of a query: running it opens a portal and does not run the query."""
    return _Declaration(prepared=prepared, talk=talk, name=plain(found["name"]), holds=bool(found["hold"]))


@dataclass(frozen=True, kw_only=True)
class _Declaration:
    """A prepared DECLARE … CURSOR."""

    prepared: Prepared
    talk: Talk
    name: str
    holds: bool

    @property
    def parameters(self) -> tuple[Kind, ...]:
        return self.prepared.parameters

    def columns(self, values: Values | None) -> Columns | None:
        return None

    def run(self, values: Values, wanted: Callable[[], bool]) -> Result:
        columns = self.prepared.columns(values)
        forms = (0,) * len(columns or ())
        portal = Portal(self.prepared, values, columns, forms, holds=self.holds)
        self.talk.keep(self.name, portal)
        return Result(tag="DECLARE CURSOR")


def plain(name: str) -> str:
    """Return a name as PostgreSQL reads it: unchanged within quotes, otherwise in lower case."""
    return name[1:-1].replace('""', '"') if name.startswith('"') else name.lower()


def _says(tag: str, act: Callable[[], object] = lambda: None, *, ends: bool = False) -> Command:
    """Return a command that acts and answers with a tag alone."""

    def acted(wanted: Callable[[], bool]) -> Result:
        act()
        return Result(tag=tag)

    return Command(act=acted, ends=ends)


def _begin(found: re.Match[str], talk: Talk) -> Command:
    return _says("BEGIN" if found["word"].lower() == "begin" else "START TRANSACTION", talk.begin)


def _commit(found: re.Match[str], talk: Talk) -> Command:
    # PostgreSQL answers COMMIT of a failed transaction with the tag ROLLBACK.
    tag = "ROLLBACK" if talk.status == FAILED else "COMMIT"
    return _says(tag, lambda: talk.end(commit=True), ends=True)


def _rollback(found: re.Match[str], talk: Talk) -> Command:
    if found["name"]:
        return _says("ROLLBACK", lambda: talk.recover(plain(found["name"])), ends=True)
    return _says("ROLLBACK", lambda: talk.end(commit=False), ends=True)


def _savepoint(found: re.Match[str], talk: Talk) -> Command:
    return _says("SAVEPOINT", lambda: talk.set_savepoint(plain(found["name"])))


def _release(found: re.Match[str], talk: Talk) -> Command:
    return _says("RELEASE", lambda: talk.release_savepoint(plain(found["name"])))


def _changes(found: re.Match[str], talk: Talk, change: dict[str, str | None]) -> Command:
    """Return the command for one form of SET; a LOCAL scope ends with the transaction."""
    local = (found["scope"] or "").strip().lower() == "local"
    return Command(act=lambda _: Result(tag="SET", warnings=talk.change(change, local=local)))


def _set(found: re.Match[str], talk: Talk) -> Command:
    value = ", ".join(
        _value(each) for each in re.findall(r"'(?:[^']|'')*'|\"[^\"]*\"|[^\s,]+", found["value"])
    )
    return _changes(found, talk, {plain(found["name"]): None if value.lower() == "default" else value})


def _value(written: str) -> str:
    quote = written[0]
    return written[1:-1].replace(quote * 2, quote) if quote in "'\"" and len(written) > 1 else written


def _zone(found: re.Match[str], talk: Talk) -> Command:
    value = _value(found["value"])
    return _changes(found, talk, {"timezone": None if value.lower() in ("default", "local") else value})


def _names(found: re.Match[str], talk: Talk) -> Command:
    return _changes(found, talk, {"client_encoding": _value(found["value"])})


def _reset(found: re.Match[str], talk: Talk) -> Command:
    name = plain(found["name"])

    def act() -> None:
        if name == "all":
            talk.reset()
        else:
            talk.change({name: None}, local=False)

    return _says("RESET", act)


def _show(found: re.Match[str], talk: Talk) -> Command:
    name = {"time zone": "timezone", "transaction isolation level": "transaction_isolation"}.get(
        " ".join(found["name"].lower().split()), plain(found["name"])
    )
    if name == "all":
        shape = tuple(Column(name=each, kind=Kind.TEXT) for each in ("name", "setting"))
        return Command(act=lambda _: Result(rows=talk.session.shown(), tag="SHOW"), shape=lambda: shape)

    def act(wanted: Callable[[], bool]) -> Result:
        value = talk.session.setting(name)
        if value is None:
            raise WireError("42704", "There is no setting of that name.", hint="SHOW ALL lists them.")
        return Result(rows=[[value]], tag="SHOW")

    return Command(act=act, shape=lambda: (Column(name=name, kind=Kind.TEXT),))


def _fetch(found: re.Match[str], talk: Talk) -> Command:
    count, name = (found["count"] or "1").lower(), plain(found["name"])
    moves = found["word"].lower() == "move"

    def act(wanted: Callable[[], bool]) -> Result:
        if count == "0":
            return Result(tag=found["word"].upper() + " 0")
        taken = talk.portal(name).take(0 if count == "all" else int(count), wanted)
        tag = f"{found['word'].upper()} {len(taken.rows)}"
        return Result(rows=() if moves else taken.rows, notices=taken.notices, tag=tag)

    return Command(act=act, shape=lambda: None if moves else talk.portal(name).columns)


def _close(found: re.Match[str], talk: Talk) -> Command:
    name = plain(found["name"])

    def act() -> None:
        if name == "all":
            talk.portals.clear()
        else:
            talk.portal(name)
            del talk.portals[name]

    return _says("CLOSE CURSOR ALL" if name == "all" else "CLOSE CURSOR", act)


def _deallocate(found: re.Match[str], talk: Talk) -> Command:
    name = plain(found["name"])

    def act() -> None:
        if name == "all":
            talk.statements.clear()
        else:
            talk.statement(name)
            del talk.statements[name]

    return _says("DEALLOCATE ALL" if name == "all" else "DEALLOCATE", act)


def _discard(found: re.Match[str], talk: Talk) -> Command:
    def act() -> None:
        if found["what"].lower() == "all":
            talk.reset()
            talk.statements.clear()
            talk.portals.clear()

    return _says(f"DISCARD {found['what'].upper()}", act)


def _plainly(found: re.Match[str], talk: Talk) -> Command:
    """Return a command that does nothing: it has no effect where nothing is ever written."""
    return _says(found["word"].upper())


FORMS: tuple[tuple[str, Callable[[re.Match[str], Talk], Command]], ...] = (
    (rf"(?P<word>begin)(?:\s+(?:work|transaction))?{MODES}", _begin),
    (rf"(?P<word>start)\s+transaction{MODES}", _begin),
    (r"(?:commit|end)(?:\s+(?:work|transaction))?", _commit),
    (rf"rollback\s+(?:work\s+|transaction\s+)?to\s+(?:savepoint\s+)?{NAME}", _rollback),
    (r"(?:rollback|abort)(?:\s+(?:work|transaction))?(?P<name>)", _rollback),
    (rf"savepoint\s+{NAME}", _savepoint),
    (rf"release\s+(?:savepoint\s+)?{NAME}", _release),
    (rf"(?P<word>set)\s+(?:session\s+characteristics\s+as\s+)?transaction{MODES}", _plainly),
    (r"set\s+(?P<scope>session\s+|local\s+)?time\s+zone\s+(?P<value>'[^']*'|\w+)", _zone),
    (r"set\s+(?P<scope>session\s+|local\s+)?names\s+(?P<value>'[^']*'|\w+)", _names),
    (rf"set\s+(?P<scope>session\s+|local\s+)?{NAME}\s*(?:=|\bto\b)\s*(?P<value>\S.*)", _set),
    (rf"reset\s+{NAME}", _reset),
    (r"show\s+(?P<name>time\s+zone|transaction\s+isolation\s+level|\"[^\"]+\"|[\w$.]+)", _show),
    (rf"(?P<word>fetch|move)\s+(?:{LENGTH}\s+)?(?:from\s+|in\s+)?{NAME}", _fetch),
    (rf"close\s+{NAME}", _close),
    (rf"deallocate\s+(?:prepare\s+)?{NAME}", _deallocate),
    (r"discard\s+(?P<what>all|plans|sequences|temp|temporary)", _discard),
    (r"(?P<word>unlisten)\s+(?:\*|\w+)", _plainly),
)
COMMANDS = tuple((re.compile(pattern, re.IGNORECASE | re.DOTALL), make) for pattern, make in FORMS)
DECLARE = re.compile(
    rf"declare\s+{NAME}\s+(?:(?:binary|asensitive|insensitive|(?:no\s+)?scroll)\s+)*cursor"
    r"(?:\s+(?:(?P<hold>with)|without)\s+hold)?\s+for\s+(?P<sql>.+)",
    re.IGNORECASE | re.DOTALL,
)
