"""The session state of one connection: its transaction, prepared statements and portals.

Clients cannot write, so a transaction is only a status that they rely on, and a scope of settings:

SET         lasts after a commit, and is undone by a rollback, also by one to a savepoint.
SET LOCAL   ends with its transaction. Outside of one it changes nothing and warns, as in PostgreSQL.
Implicit    Statements sent as one text form one transaction, unless they begin their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from discreet.pgwire.backend import Columns, PreparedStatement, Result, Session, Values, WireWarning
from discreet.pgwire.wire_errors import WireError

IDLE, OPEN, FAILED = b"I", b"T", b"E"
MAX_ENTRIES = 1_000
SET_LOCAL_WARNING = WireWarning(
    sqlstate="25P01", message="SET LOCAL changes nothing outside of a transaction."
)


@dataclass(frozen=True, kw_only=True)
class FetchedRows:
    """Rows fetched from a portal, with the notices to send; `has_more` if rows are left."""

    rows: Sequence[Sequence[object]]
    notices: tuple[str, ...]
    has_more: bool
    tag: str
    warnings: tuple[WireWarning, ...] = ()


@dataclass
class Portal:
    """A statement with its parameters. It runs when rows are first fetched, and never again."""

    prepared: PreparedStatement
    values: Values = ()
    columns: Columns | None = None
    formats: tuple[int, ...] = ()
    is_holdable: bool = False
    _has_run: bool = False
    _result: Result | None = None
    _position: int = 0

    def fetch_rows(self, max_rows: int, should_continue: Callable[[], bool]) -> FetchedRows:
        """Return the next rows, at most `max_rows`; 0 for all."""
        first = not self._has_run
        if first:
            self._require_described_columns()
            # Set before the run: a failed run may have been charged, so it is not repeated.
            self._has_run = True
            self._result = self.prepared.run(self.values, should_continue)
        if self._result is None:
            raise WireError("55000", "The portal has already failed.", hint="Ask again.")
        rows = self._result.rows[self._position : self._position + max_rows if max_rows else None]
        self._position += len(rows)
        tag = self._result.tag
        return FetchedRows(
            rows=rows,
            notices=self._result.notices if first else (),
            warnings=self._result.warnings if first else (),
            has_more=bool(max_rows) and self._position < len(self._result.rows),
            tag=f"{tag}{len(rows)}" if tag.endswith(" ") else tag,
        )

    def _require_described_columns(self) -> None:
        """Raise if settings changed the columns since they were described; nothing is charged yet."""
        now = self.prepared.plan_columns(self.values)
        if len(now or ()) != len(self.columns or ()):
            raise WireError(
                "0A000", "A setting changed the columns after this was bound.", hint="Bind it again."
            )


@dataclass(frozen=True, kw_only=True)
class _SavedSettings:
    """Settings to restore: the current ones, and those that a commit would leave."""

    current: Mapping[str, str]
    committed: Mapping[str, str]


@dataclass
class SessionState:
    """The transaction, prepared statements and portals of one connection."""

    session: Session
    status: bytes = IDLE
    statements: dict[str, PreparedStatement] = field(default_factory=dict)
    portals: dict[str, Portal] = field(default_factory=dict)
    _settings_before: _SavedSettings | None = None
    _committed_settings: Mapping[str, str] = field(default_factory=dict)
    _savepoints: list[tuple[str, _SavedSettings]] = field(default_factory=list)

    def get_statement(self, name: str) -> PreparedStatement:
        if name not in self.statements:
            raise WireError("26000", "There is no prepared statement of that name.")
        return self.statements[name]

    def get_portal(self, name: str) -> Portal:
        if name not in self.portals:
            raise WireError("34000", "There is no portal or cursor of that name.")
        return self.portals[name]

    def register(self, name: str, item: PreparedStatement | Portal) -> None:
        """Add a statement or portal under an unused name; the unnamed one is replaced."""
        held: dict[str, PreparedStatement] | dict[str, Portal]
        held = self.portals if isinstance(item, Portal) else self.statements
        if name and name in held:
            state = "42P03" if isinstance(item, Portal) else "42P05"
            raise WireError(state, "That name is taken.", hint="Close it first.")
        if len(held) >= MAX_ENTRIES:
            raise WireError(
                "53000", f"A connection has at most {MAX_ENTRIES:,} of these.", hint="Close some."
            )
        held[name] = item  # type: ignore[assignment]

    @property
    def is_in_transaction(self) -> bool:
        """True within a transaction: after BEGIN, or within a text of several statements."""
        return self._settings_before is not None

    def begin_implicit_transaction(self) -> None:
        """Begin a transaction without BEGIN; its status stays idle."""
        if self._settings_before is None:
            self._committed_settings = dict(self.session.get_changed_settings())
            self._settings_before = self._save_settings()

    def begin_transaction(self) -> None:
        self.begin_implicit_transaction()
        if self.status == IDLE:
            self.status = OPEN

    def end_transaction(self, *, commit: bool) -> bool:
        """End the transaction; return True if it was committed, which a failed one never is."""
        committed = commit and self.status != FAILED
        if self._settings_before is not None:
            self._restore_settings(self._committed_settings if committed else self._settings_before.current)
        self.status, self._settings_before, self._committed_settings = IDLE, None, {}
        self._savepoints.clear()
        self.close_transaction_portals()
        return committed

    def end_implicit_transaction(self, *, commit: bool) -> None:
        """End the transaction of a text of several statements, unless BEGIN made it an explicit one."""
        if self.status == IDLE and self._settings_before is not None:
            self.end_transaction(commit=commit)

    def change_settings(self, settings: Mapping[str, str | None], *, local: bool) -> tuple[WireWarning, ...]:
        """Change settings, `local` ones until the transaction ends; return warnings."""
        now = dict(self.session.get_changed_settings())
        if local:
            self.session.change_settings(settings)
            if not self.is_in_transaction:
                self._restore_settings(now)
                return (SET_LOCAL_WARNING,)
        else:
            # Applied to the committed and to the current settings, not copied between them: setting one
            # of the cost settings resets the others.
            if self.is_in_transaction:
                self._restore_settings(self._committed_settings)
                try:
                    self.session.change_settings(settings)
                    self._committed_settings = dict(self.session.get_changed_settings())
                finally:
                    self._restore_settings(now)
            self.session.change_settings(settings)
        return ()

    def reset_settings(self) -> None:
        """Set everything back to its default."""
        self.change_settings(
            dict.fromkeys({*self.session.get_changed_settings(), *self._committed_settings}), local=False
        )

    def set_savepoint(self, name: str) -> None:
        """Save the settings under a name until the transaction ends."""
        if self.status != OPEN:
            return
        if len(self._savepoints) >= MAX_ENTRIES:
            raise WireError("53000", f"A transaction has at most {MAX_ENTRIES:,} savepoints.")
        self._savepoints.append((name, self._save_settings()))

    def release_savepoint(self, name: str) -> None:
        """Remove a savepoint and those after it; settings stay as they are."""
        place = self._find_savepoint(name)
        if place is not None:
            del self._savepoints[place:]

    def roll_back_to_savepoint(self, name: str) -> None:
        """Return to a savepoint and restore the settings saved with it."""
        place = self._find_savepoint(name)
        if place is None:
            return
        kept = self._savepoints[place][1]
        del self._savepoints[place + 1 :]
        self._restore_settings(kept.current)
        self._committed_settings = kept.committed
        if self.status == FAILED:
            self.status = OPEN

    def mark_failed(self) -> None:
        if self.status == OPEN:
            self.status = FAILED
        self.end_implicit_transaction(commit=False)

    def _find_savepoint(self, name: str) -> int | None:
        """Return the index of the last savepoint of that name; None outside of a transaction."""
        if self.status == IDLE:
            return None
        places = [place for place, (known, _) in enumerate(self._savepoints) if known == name]
        if not places:
            raise WireError("3B001", "There is no savepoint of that name.", hint="SAVEPOINT sets one.")
        return places[-1]

    def _save_settings(self) -> _SavedSettings:
        return _SavedSettings(
            current=dict(self.session.get_changed_settings()), committed=dict(self._committed_settings)
        )

    def _restore_settings(self, settings: Mapping[str, str]) -> None:
        now = self.session.get_changed_settings()
        self.session.change_settings({name: settings.get(name) for name in {*now, *settings}})

    def close_transaction_portals(self) -> None:
        """Close portals outside of a transaction, except cursors WITH HOLD."""
        if self.status == IDLE:
            self.portals = {name: portal for name, portal in self.portals.items() if portal.is_holdable}
