"""The catalog of the policy that is served now: another one when the custodian has changed the policy."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from discreet.core.policy import Policy
from discreet.pgwire.backend import PreparedStatement
from discreet.pgwire.catalog.builtin_catalog import Catalog
from discreet.pgwire.catalog.query_rewriter import GetSetting
from discreet.pgwire.postgres_types import PostgresType

if TYPE_CHECKING:
    from discreet.services.serving.served_policy import ServedPolicy


class ServedCatalog:
    """A `Catalog` that opens one for each policy that is served, with `open_catalog`.

    Former catalogs stay open until the server ends: a client may still run a statement of them.
    """

    def __init__(self, served: ServedPolicy, open_catalog: Callable[[Policy], Catalog]) -> None:
        self._served, self._open_catalog = served, open_catalog
        self._opened: list[tuple[Policy, Catalog]] = []
        self._lock = threading.Lock()
        if not served.is_empty:
            self._find_catalog()  # errors of a catalog's database appear at the start

    def _find_catalog(self) -> Catalog:
        policy = self._served.curators.policy
        with self._lock:
            found = next((catalog for known, catalog in self._opened if known is policy), None)
            if found is None:
                found = self._open_catalog(policy)
                self._opened.append((policy, found))
            return found

    def prepare(
        self, sql: str, types: Sequence[PostgresType | None], user: str, get_setting: GetSetting
    ) -> PreparedStatement:
        """Prepare a catalog query on the policy that is served now."""
        return self._find_catalog().prepare(sql, types, user, get_setting)

    def close(self) -> None:
        for _, catalog in self._opened:
            catalog.close()
