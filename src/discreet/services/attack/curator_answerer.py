"""A curator as an attacker sees it: SQL in, a table or a refusal out."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from discreet.attacks.query_attacks import Refusal
from discreet.core.errors import RequestError
from discreet.core.number_checks import Real
from discreet.services.curator import Curator


@dataclass(frozen=True, kw_only=True)
class CuratorAnswerer:
    """A curator that is asked each question for `epsilon`; counts keep their noise, even below 0."""

    curator: Curator
    epsilon: Real

    def ask(self, sql: str) -> pa.Table | Refusal:
        """Return the curator's answer, or its refusal."""
        try:
            return self.curator.ask(sql, epsilon=self.epsilon, raw=True).table
        except RequestError as refusal:
            return Refusal(message=str(refusal))
