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
from discreet.core.errors import RequestError
from discreet.core.policy import Policy
from discreet.services.users.user_storage import (
    UserStorage,
    get_timestamp,
    has_user_storage,
    open_user_storage,
)

REQUEST_COLUMNS = "id, time, analyst, share, reason, state, taken_from, note, decided"
MAX_OPEN_REQUESTS = 10
Shares = dict[str, Fraction]


@dataclass(frozen=True, kw_only=True)
class BudgetRequest:
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

    def to_json(self) -> dict[str, object]:
        return vars(self) | {"share": float(self.share)}


class BudgetRequests:
    """The budget requests of a ledger's users."""

    def __init__(self, storage: UserStorage) -> None:
        self._storage = storage

    def create(self, analyst: str, share: Fraction, reason: str) -> BudgetRequest:
        with self._storage.write_transaction() as rows:
            waiting = [each for each in _list_requests(rows, analyst) if each.state == "open"]
            if len(waiting) >= MAX_OPEN_REQUESTS:
                raise RequestError(
                    f"budget: {MAX_OPEN_REQUESTS} budget requests are already open.",
                    hint="Wait until the custodian decides.",
                )
            rows.execute(
                "INSERT INTO wish (time, analyst, share, reason, state)"
                " VALUES (:time, :analyst, :share, :reason, 'open')",
                {"time": get_timestamp(), "analyst": analyst, "share": str(share), "reason": reason},
            )
            return _list_requests(rows, analyst)[-1]

    def list_all(self, analyst: str | None = None) -> list[BudgetRequest]:
        """Return all requests, or those of one analyst, oldest first."""
        with self._storage.read_transaction() as rows:
            return _list_requests(rows, analyst)

    def grant(
        self,
        number: int,
        policy: Policy,
        apply_shares: Callable[[Shares], None],
        taken_from: str | None = None,
    ) -> BudgetRequest:
        """Grant a request; `apply_shares` sets the new shares, or raises, and then nothing is changed."""
        with self._decide(number, "granted", taken_from=taken_from) as (rows, request):
            if request.analyst not in policy.analysts or taken_from not in (None, *policy.analysts):
                raise RequestError("budget: the policy gives no share to an analyst of that name.")
            apply_shares(apply_granted_requests(policy, _list_requests(rows)))
        return request

    def deny(self, number: int, note: str) -> BudgetRequest:
        with self._decide(number, "denied", note=note) as (_, request):
            return request

    @contextmanager
    def _decide(
        self, number: int, state: str, *, taken_from: str | None = None, note: str | None = None
    ) -> Iterator[tuple[SqlTransaction, BudgetRequest]]:
        with self._storage.write_transaction() as rows:
            before = [each for each in _list_requests(rows) if each.id == number]
            if not before or before[0].state != "open":
                what = "is already decided" if before else "does not exist"
                raise RequestError(f"budget: request {number} {what}.")
            rows.execute(
                "UPDATE wish SET state = :state, taken_from = :giver, note = :note, decided = :decided"
                " WHERE id = :id",
                {"state": state, "giver": taken_from, "note": note, "decided": get_timestamp(), "id": number},
            )
            yield rows, next(each for each in _list_requests(rows) if each.id == number)


def _list_requests(rows: SqlTransaction, analyst: str | None = None) -> list[BudgetRequest]:
    found = [
        _request_from_row(row) for row in rows.execute(f"SELECT {REQUEST_COLUMNS} FROM wish ORDER BY id")
    ]
    return [each for each in found if analyst in (None, each.analyst)]


def get_analyst_shares(policy: Policy) -> Shares:
    """Return the analysts' shares: those of the policy, changed by granted requests."""
    if not has_user_storage(policy.ledger):
        return apply_granted_requests(policy, [])
    with open_user_storage(policy.ledger) as file:
        return apply_granted_requests(policy, BudgetRequests(file).list_all())


def apply_granted_requests(policy: Policy, requests: Sequence[BudgetRequest]) -> Shares:
    """Return the policy's shares after granted requests; requests of removed analysts are ignored."""
    shares = {name: Fraction(str(each.share)) for name, each in policy.analysts.items()}
    for request in requests:
        if request.state == "granted" and request.analyst in shares and request.taken_from in (None, *shares):
            shares[request.analyst] += request.share
            if request.taken_from is not None:
                shares[request.taken_from] -= request.share
    _require_valid_shares(shares)
    return shares


def _require_valid_shares(shares: Mapping[str, Fraction]) -> None:
    if sum(shares.values()) > 1 + SLACK:
        raise RequestError(
            f"budget: the analysts' shares would add up to {float(100 * sum(shares.values())):g}%.",
            hint="Take it from another analyst's share, or lower the shares in the policy.",
        )
    short = [name for name, share in shares.items() if share < 0]
    if short:
        raise RequestError(f"budget: {short[0]} does not have that large a share.", hint="Take less of it.")


def _request_from_row(row: tuple[object, ...]) -> BudgetRequest:
    number, time, analyst, share, *rest = row
    reason, state, taken_from, note, decided = (None if each is None else str(each) for each in rest)
    return BudgetRequest(
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
