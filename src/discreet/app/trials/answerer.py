"""A curator as an attacker sees it: SQL in, a table or a refusal out."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from discreet.app.curator import Curator
from discreet.attacks.asking import Refused
from discreet.core.errors import RequestError
from discreet.core.number_checks import Real


@dataclass(frozen=True, kw_only=True)
class CuratorAnswerer:
    """A curator that is asked each question for `epsilon`; counts keep their noise, even below 0."""

    curator: Curator
    epsilon: Real

    def ask(self, sql: str) -> pa.Table | Refused:
        """Return the curator's answer, or its refusal."""
        try:
            return self.curator.ask(sql, epsilon=self.epsilon, raw=True).table
        except RequestError as refusal:
            return Refused(message=str(refusal))
