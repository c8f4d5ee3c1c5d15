"""The session state of one connection: its transaction, prepared statements and portals.

Clients cannot write, so a transaction is only a status that they rely on, and a scope of settings:

SET         lasts after a commit, and is undone by a rollback, also by one to a savepoint.
SET LOCAL   ends with its transaction. Outside of one it changes nothing and warns, as in PostgreSQL.
Implicit    Statements sent as one text form one transaction, unless they begin their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from discreet.app.wire.door import Columns, Prepared, Result, Session, Values, Warned
from discreet.app.wire.faults import WireError

IDLE, OPEN, FAILED = b"I", b"T", b"E"
MOST_HELD = 1_000
LOCAL_OUTSIDE = Warned(state="25P01", message="SET LOCAL changes nothing outside of a transaction.")


@dataclass(frozen=True, kw_only=True)
class Taken:
    """Rows fetched from a portal, with the notices to send; `has_more` if rows are left."""

    rows: Sequence[Sequence[object]]
    notices: tuple[str, ...]
    more: bool
    tag: str
    warnings: tuple[Warned, ...] = ()


@dataclass
class Portal:
    """A statement with its parameters. It runs when rows are first fetched, and never again."""

    prepared: Prepared
    values: Values = ()
    columns: Columns | None = None
    forms: tuple[int, ...] = ()
    holds: bool = False
    _begun: bool = False
    _result: Result | None = None
    _place: int = 0

    def take(self, most: int, wanted: Callable[[], bool]) -> Taken:
        """Return the next rows, at most `max_rows`; 0 for all."""
        first = not self._begun
        if first:
            self._require_as_told()
            # Set before the run: a failed run may have been charged, so it is not repeated.
            self._begun = True
            self._result = self.prepared.run(self.values, wanted)
        if self._result is None:
            raise WireError("55000", "The portal has already failed.", hint="Ask again.")
        rows = self._result.rows[self._place : self._place + most if most else None]
        self._place += len(rows)
        tag = self._result.tag
        return Taken(
            rows=rows,
            notices=self._result.notices if first else (),
            warnings=self._result.warnings if first else (),
            more=bool(most) and self._place < len(self._result.rows),
            tag=f"{tag}{len(rows)}" if tag.endswith(" ") else tag,
        )

    def _require_as_told(self) -> None:
        """Raise if settings changed the columns since they were described; nothing is charged yet."""
        now = self.prepared.columns(self.values)
        if len(now or ()) != len(self.columns or ()):
            raise WireError(
                "0A000", "A setting changed the columns after this was bound.", hint="Bind it again."
            )


@dataclass(frozen=True, kw_only=True)
class _Kept:
    """Settings to restore: the current ones, and those that a commit would leave."""

    now: Mapping[str, str]
    lasting: Mapping[str, str]


@dataclass
class Talk:
    """The transaction, prepared statements and portals of one connection."""

    session: Session
    status: bytes = IDLE
    statements: dict[str, Prepared] = field(default_factory=dict)
    portals: dict[str, Portal] = field(default_factory=dict)
    _before: _Kept | None = None
    _lasting: Mapping[str, str] = field(default_factory=dict)
    _savepoints: list[tuple[str, _Kept]] = field(default_factory=list)

    def statement(self, name: str) -> Prepared:
        if name not in self.statements:
            raise WireError("26000", "There is no prepared statement of that name.")
        return self.statements[name]

    def portal(self, name: str) -> Portal:
        if name not in self.portals:
            raise WireError("34000", "There is no portal or cursor of that name.")
        return self.portals[name]

    def keep(self, name: str, what: Prepared | Portal) -> None:
        """Add a statement or portal under an unused name; the unnamed one is replaced."""
        held: dict[str, Prepared] | dict[str, Portal]
        held = self.portals if isinstance(what, Portal) else self.statements
        if name and name in held:
            state = "42P03" if isinstance(what, Portal) else "42P05"
            raise WireError(state, "That name is taken.", hint="Close it first.")
        if len(held) >= MOST_HELD:
            raise WireError("53000", f"A connection has at most {MOST_HELD:,} of these.", hint="Close some.")
        held[name] = what  # type: ignore[assignment]

    @property
    def in_transaction(self) -> bool:
        """True within a transaction: after BEGIN, or within a text of several statements."""
        return self._before is not None

    def begin_implicitly(self) -> None:
        """Begin a transaction without BEGIN; its status stays idle."""
        if self._before is None:
            self._lasting = dict(self.session.settings())
            self._before = self._keep_settings()

    def begin(self) -> None:
        self.begin_implicitly()
        if self.status == IDLE:
            self.status = OPEN

    def end(self, *, commit: bool) -> bool:
        """End the transaction; return True if it was committed, which a failed one never is."""
        committed = commit and self.status != FAILED
        if self._before is not None:
            self._restore(self._lasting if committed else self._before.now)
        self.status, self._before, self._lasting = IDLE, None, {}
        self._savepoints.clear()
        self.tidy()
        return committed

    def end_implicitly(self, *, commit: bool) -> None:
        """End the transaction of a text of several statements, unless BEGIN made it an explicit one."""
        if self.status == IDLE and self._before is not None:
            self.end(commit=commit)

    def change(self, settings: Mapping[str, str | None], *, local: bool) -> tuple[Warned, ...]:
        """Change settings, `local` ones until the transaction ends; return warnings."""
        now = dict(self.session.settings())
        if local:
            self.session.change(settings)
            if not self.in_transaction:
                self._restore(now)
                return (LOCAL_OUTSIDE,)
        else:
            # Applied to the committed and to the current settings, not copied between them: setting one
            # of the cost settings resets the others.
            if self.in_transaction:
                self._restore(self._lasting)
                try:
                    self.session.change(settings)
                    self._lasting = dict(self.session.settings())
                finally:
                    self._restore(now)
            self.session.change(settings)
        return ()

    def reset(self) -> None:
        """Set everything back to its default."""
        self.change(dict.fromkeys({*self.session.settings(), *self._lasting}), local=False)

    def set_savepoint(self, name: str) -> None:
        """Save the settings under a name until the transaction ends."""
        if self.status != OPEN:
            return
        if len(self._savepoints) >= MOST_HELD:
            raise WireError("53000", f"A transaction has at most {MOST_HELD:,} savepoints.")
        self._savepoints.append((name, self._keep_settings()))

    def release_savepoint(self, name: str) -> None:
        """Remove a savepoint and those after it; settings stay as they are."""
        place = self._find_savepoint(name)
        if place is not None:
            del self._savepoints[place:]

    def recover(self, name: str) -> None:
        """Return to a savepoint and restore the settings saved with it."""
        place = self._find_savepoint(name)
        if place is None:
            return
        kept = self._savepoints[place][1]
        del self._savepoints[place + 1 :]
        self._restore(kept.now)
        self._lasting = kept.lasting
        if self.status == FAILED:
            self.status = OPEN

    def fail(self) -> None:
        if self.status == OPEN:
            self.status = FAILED
        self.end_implicitly(commit=False)

    def _find_savepoint(self, name: str) -> int | None:
        """Return the index of the last savepoint of that name; None outside of a transaction."""
        if self.status == IDLE:
            return None
        places = [place for place, (known, _) in enumerate(self._savepoints) if known == name]
        if not places:
            raise WireError("3B001", "There is no savepoint of that name.", hint="SAVEPOINT sets one.")
        return places[-1]

    def _keep_settings(self) -> _Kept:
        return _Kept(now=dict(self.session.settings()), lasting=dict(self._lasting))

    def _restore(self, settings: Mapping[str, str]) -> None:
        now = self.session.settings()
        self.session.change({name: settings.get(name) for name in {*now, *settings}})

    def tidy(self) -> None:
        """Close portals outside of a transaction, except cursors WITH HOLD."""
        if self.status == IDLE:
            self.portals = {name: portal for name, portal in self.portals.items() if portal.holds}
