"""What one connection remembers: its transaction, its statements, its portals.

Nothing here is ever written, so a transaction is but a status that clients rely on, and settings that go back
to what they were when it is rolled back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from discreet.app.wire.door import Columns, Prepared, Result, Session, Values
from discreet.app.wire.faults import WireError

IDLE, OPEN, FAILED = b"I", b"T", b"E"
MOST_HELD = 1_000


@dataclass(frozen=True, kw_only=True)
class Taken:
    """Rows of a portal that leave now, and whether others are left."""

    rows: Sequence[Sequence[object]]
    notices: tuple[str, ...]
    more: bool
    tag: str


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


@dataclass
class Talk:
    """The state of a connection."""

    session: Session
    status: bytes = IDLE
    statements: dict[str, Prepared] = field(default_factory=dict)
    portals: dict[str, Portal] = field(default_factory=dict)
    _before: Mapping[str, str] = field(default_factory=dict)
    _local: dict[str, str | None] = field(default_factory=dict)

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

    def begin(self) -> None:
        if self.status == IDLE:
            self.status, self._before = OPEN, dict(self.session.settings())

    def end(self, *, commit: bool) -> bool:
        """End the transaction; whether it was committed, which a failed one is not."""
        committed = commit and self.status != FAILED
        if self.status != IDLE:
            now = self.session.settings()
            back = (
                self._local if committed else {name: self._before.get(name) for name in {*now, *self._before}}
            )
            self.session.change(back)
        self.status, self._local = IDLE, {}
        self.tidy()
        return committed

    def change(self, settings: Mapping[str, str | None], *, local: bool) -> None:
        """Change settings; those that are `local` go back when the transaction ends."""
        before = dict(self.session.settings())
        self.session.change(settings)
        after = self.session.settings()
        for name in {*before, *after} if local else ():
            if before.get(name) != after.get(name):
                self._local.setdefault(name, before.get(name))

    def recover(self) -> None:
        """Back to a savepoint."""
        if self.status == FAILED:
            self.status = OPEN

    def fail(self) -> None:
        if self.status == OPEN:
            self.status = FAILED

    def tidy(self) -> None:
        """Outside of a transaction portals end with the statement, but for cursors WITH HOLD."""
        if self.status == IDLE:
            self.portals = {name: portal for name, portal in self.portals.items() if portal.holds}
