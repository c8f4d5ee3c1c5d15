"""Budget requests: analysts ask for a larger share of the budget, and the custodian decides.

Grant       The analyst's share grows by the requested amount, taken from the unassigned budget or from
            another analyst's share. The promise itself never grows.
Storage     Requests are stored apart from the policy; granted ones change the policy's shares wherever its
            ledger is opened. If the shares then add up to more than 100%, the ledger is not opened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction

from discreet.accounting.budget import SLACK
from discreet.accounting.ledger_storage import SqlTransaction
from discreet.app.users.opening import has_users, users_of
from discreet.app.users.storage import UserStorage, now
from discreet.core.errors import RequestError
from discreet.core.policy import Policy

FIELDS = "id, time, analyst, share, reason, state, taken_from, note, decided"
MOST_OPEN = 10
Shares = dict[str, Fraction]


@dataclass(frozen=True, kw_only=True)
class Wish:
    """A request to increase a share: by how much, why, and the decision."""

    id: int
    time: str
    analyst: str
    share: Fraction
    reason: str
    state: str
    taken_from: str | None
    note: str | None
    decided: str | None

    def as_object(self) -> dict[str, object]:
        return vars(self) | {"share": float(self.share)}


class Wishes:
    """The budget requests of a ledger's users."""

    def __init__(self, file: UserStorage) -> None:
        self._file = file

    def make(self, analyst: str, share: Fraction, reason: str) -> Wish:
        with self._file.writing() as rows:
            waiting = [each for each in _found(rows, analyst) if each.state == "open"]
            if len(waiting) >= MOST_OPEN:
                raise RequestError(
                    f"budget: {MOST_OPEN} budget requests are already open.",
                    hint="Wait until the custodian decides.",
                )
            rows.execute(
                "INSERT INTO wish (time, analyst, share, reason, state)"
                " VALUES (:time, :analyst, :share, :reason, 'open')",
                {"time": now(), "analyst": analyst, "share": str(share), "reason": reason},
            )
            return _found(rows, analyst)[-1]

    def all(self, analyst: str | None = None) -> list[Wish]:
        """Return all requests, or those of one analyst, oldest first."""
        with self._file.reading() as rows:
            return _found(rows, analyst)

    def grant(
        self, number: int, policy: Policy, divide: Callable[[Shares], None], taken_from: str | None = None
    ) -> Wish:
        """Grant a request; `apply_shares` sets the new shares, or raises, and then nothing is changed."""
        with self._decided(number, "granted", taken_from=taken_from) as (rows, wish):
            if wish.analyst not in policy.analysts or taken_from not in (None, *policy.analysts):
                raise RequestError("budget: the policy gives no share to an analyst of that name.")
            divide(moved(policy, _found(rows)))
        return wish

    def deny(self, number: int, note: str) -> Wish:
        with self._decided(number, "denied", note=note) as (_, wish):
            return wish

    @contextmanager
    def _decided(
        self, number: int, state: str, *, taken_from: str | None = None, note: str | None = None
    ) -> Iterator[tuple[SqlTransaction, Wish]]:
        with self._file.writing() as rows:
            before = [each for each in _found(rows) if each.id == number]
            if not before or before[0].state != "open":
                what = "is already decided" if before else "does not exist"
                raise RequestError(f"budget: request {number} {what}.")
            rows.execute(
                "UPDATE wish SET state = :state, taken_from = :giver, note = :note, decided = :decided"
                " WHERE id = :id",
                {"state": state, "giver": taken_from, "note": note, "decided": now(), "id": number},
            )
            yield rows, next(each for each in _found(rows) if each.id == number)


def _found(rows: SqlTransaction, analyst: str | None = None) -> list[Wish]:
    """Return all requests, or those of one analyst."""
    found = [_wish(row) for row in rows.execute(f"SELECT {FIELDS} FROM wish ORDER BY id")]
    return [each for each in found if analyst in (None, each.analyst)]


def shares_of(policy: Policy) -> Shares:
    """Return the analysts' shares: those of the policy, changed by granted requests."""
    if not has_users(policy.ledger):
        return moved(policy, [])
    with users_of(policy.ledger) as file:
        return moved(policy, Wishes(file).all())


def moved(policy: Policy, wishes: Sequence[Wish]) -> Shares:
    """Return the policy's shares after granted requests; requests of removed analysts are ignored."""
    shares = {name: Fraction(str(each.share)) for name, each in policy.analysts.items()}
    for wish in wishes:
        if wish.state == "granted" and wish.analyst in shares and wish.taken_from in (None, *shares):
            shares[wish.analyst] += wish.share
            if wish.taken_from is not None:
                shares[wish.taken_from] -= wish.share
    _require_whole(shares)
    return shares


def _require_whole(shares: Mapping[str, Fraction]) -> None:
    if sum(shares.values()) > 1 + SLACK:
        raise RequestError(
            f"budget: the analysts' shares would add up to {float(100 * sum(shares.values())):g}%.",
            hint="Take it from another analyst's share, or lower the shares in the policy.",
        )
    short = [name for name, share in shares.items() if share < 0]
    if short:
        raise RequestError(f"budget: {short[0]} does not have that large a share.", hint="Take less of it.")


def _wish(row: tuple[object, ...]) -> Wish:
    number, time, analyst, share, *rest = row
    reason, state, taken_from, note, decided = (None if each is None else str(each) for each in rest)
    return Wish(
        id=int(str(number)),
        time=str(time),
        analyst=str(analyst),
        share=Fraction(str(share)),
        reason=reason or "",
        state=state or "",
        taken_from=taken_from,
        note=note,
        decided=decided,
    )
