"""What one connection remembers: its transaction, its statements, its portals.

Nothing here is ever written, so a transaction is but a status that clients rely on, and settings:

SET         lasts after a commit, and goes back with a rollback, also with one to a savepoint.
SET LOCAL   ends with its transaction. Outside of one it changes nothing and warns, as PostgreSQL has it.
Implicit    Statements that are sent as one text are one transaction, where they do not begin their own.
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
    """Rows of a portal that leave now, and whether others are left."""

    rows: Sequence[Sequence[object]]
    notices: tuple[str, ...]
    more: bool
    tag: str
    warnings: tuple[Warned, ...] = ()


@dataclass
class Portal:
    """A statement with its parameters. It is run when rows are first taken, and never again."""

    prepared: Prepared
    values: Values = ()
    columns: Columns | None = None
    forms: tuple[int, ...] = ()
    holds: bool = False
    _begun: bool = False
    _result: Result | None = None
    _place: int = 0

    def take(self, most: int, wanted: Callable[[], bool]) -> Taken:
        """The next rows, at most so many; 0 for all."""
        first = not self._begun
        if first:
            self._require_as_told()
            self._begun = True
            self._result = self.prepared.run(self.values, wanted)
        if self._result is None:
            raise WireError("55000", "The portal failed before.", hint="Ask again.")
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
        """Settings may have changed what it returns since its columns were told; nothing is charged yet."""
        now = self.prepared.columns(self.values)
        if len(now or ()) != len(self.columns or ()):
            raise WireError(
                "0A000", "Settings have changed the columns since this was bound.", hint="Bind it again."
            )


@dataclass(frozen=True, kw_only=True)
class _Kept:
    """Settings to go back to: as they hold now, and as they would be after a commit."""

    now: Mapping[str, str]
    lasting: Mapping[str, str]


@dataclass
class Talk:
    """The state of a connection."""

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
        """Under a name that is free; the nameless one gives way."""
        held: dict[str, Prepared] | dict[str, Portal]
        held = self.portals if isinstance(what, Portal) else self.statements
        if name and name in held:
            state = "42P03" if isinstance(what, Portal) else "42P05"
            raise WireError(state, "That name is taken.", hint="Close it first.")
        if len(held) >= MOST_HELD:
            raise WireError("53000", f"A connection holds at most {MOST_HELD:,}.", hint="Close some.")
        held[name] = what  # type: ignore[assignment]

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open: by BEGIN, or as the text of several statements."""
        return self._before is not None

    def begin_implicitly(self) -> None:
        """Begin a transaction that no BEGIN was sent for; its status stays idle."""
        if self._before is None:
            self._lasting = dict(self.session.settings())
            self._before = self._keep_settings()

    def begin(self) -> None:
        self.begin_implicitly()
        if self.status == IDLE:
            self.status = OPEN

    def end(self, *, commit: bool) -> bool:
        """End the transaction; whether it was committed, which a failed one is not."""
        committed = commit and self.status != FAILED
        if self._before is not None:
            self._restore(self._lasting if committed else self._before.now)
        self.status, self._before, self._lasting = IDLE, None, {}
        self._savepoints.clear()
        self.tidy()
        return committed

    def end_implicitly(self, *, commit: bool) -> None:
        """End the transaction of a text of several statements, unless BEGIN has made it a lasting one."""
        if self.status == IDLE and self._before is not None:
            self.end(commit=commit)

    def change(self, settings: Mapping[str, str | None], *, local: bool) -> tuple[Warned, ...]:
        """Change settings, the `local` ones until the transaction ends; return what to warn of."""
        now = dict(self.session.settings())
        if local:
            self.session.change(settings)
            if not self.in_transaction:
                self._restore(now)
                return (LOCAL_OUTSIDE,)
        else:
            # applied to what lasts and to what holds now: of costs the last one set ends the others
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
        """Keep the settings under a name, for as long as the transaction lasts."""
        if self.status != OPEN:
            return
        if len(self._savepoints) >= MOST_HELD:
            raise WireError("53000", f"A transaction has at most {MOST_HELD:,} savepoints.")
        self._savepoints.append((name, self._keep_settings()))

    def release_savepoint(self, name: str) -> None:
        """Forget a savepoint and those after it; settings stay as they are."""
        place = self._find_savepoint(name)
        if place is not None:
            del self._savepoints[place:]

    def recover(self, name: str) -> None:
        """Go back to a savepoint, and to the settings that it was set under."""
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
        """The place of the last savepoint of a name; None outside of a transaction."""
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
        """Outside of a transaction portals end with the statement, but for cursors WITH HOLD."""
        if self.status == IDLE:
            self.portals = {name: portal for name, portal in self.portals.items() if portal.holds}
