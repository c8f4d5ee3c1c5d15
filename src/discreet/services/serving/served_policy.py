"""The policy of a server, which the custodian may make or extend while the server runs.

Empty       A server may start without a policy (`discreet serve --setup`). Then there are users, and nothing
            else: everybody but the custodian gets one constant sentence.
Reload      opens the policy's file anew, beside the curators that serve. Only if that succeeds do the new
            ones take their place. Both use one ledger, which requires the same promise and the same privacy
            units of every charge, so a question that still runs under the former policy is charged rightly.
Retired     curators finish what they run and are closed when they are idle.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.core.engine import Closeable
from discreet.core.errors import RequestError
from discreet.core.policy import Policy
from discreet.services.policies import make_empty_policy

if TYPE_CHECKING:
    from discreet.services.serving.curators import Curators


class NoDataError(RequestError):
    """A request to a server that has no policy yet."""

    code = "no-data"

    def __init__(self) -> None:
        super().__init__(
            "The custodian has not brought in any data yet; nothing was charged.",
            hint="Try again when the custodian has.",
        )


class ServedPolicy(Closeable):
    """The curators of the policy that is served now; a context manager that closes them.

    `path` is the policy's file, `open_curators` opens what it says. Without curators the server is empty, and
    its users are beside `ledger`.
    """

    def __init__(
        self,
        curators: Curators | None,
        *,
        path: Path | None = None,
        engine: str | None = None,
        ledger: str | None = None,
        open_curators: Callable[[], Curators] | None = None,
    ) -> None:
        self._curators, self.path = curators, path
        self._empty = make_empty_policy(Path() if path is None else path.parent, engine=engine, ledger=ledger)
        self._open_curators = open_curators
        self._retired: list[Curators] = []
        self._lock = threading.Lock()

    @property
    def curators(self) -> Curators:
        """The curators that serve; an empty server raises `NoDataError`."""
        if self._curators is None:
            raise NoDataError
        return self._curators

    @property
    def is_empty(self) -> bool:
        """True if there is no policy yet."""
        return self._curators is None

    @property
    def policy(self) -> Policy:
        """The policy that is served, or one without tables."""
        return self._empty if self._curators is None else self._curators.policy

    def reload(self) -> None:
        """Serve the policy's file as it is now; if it cannot be opened, what is served stays."""
        assert self._open_curators is not None
        with self._lock:
            former, self._curators = self._curators, self._open_curators()
            self._retired += [] if former is None else [former]
            self._retired = [each for each in self._retired if not each.close_if_idle()]

    def close(self) -> None:
        with self._lock:
            for each in (*self._retired, *([] if self._curators is None else [self._curators])):
                each.close()
            self._retired = []
