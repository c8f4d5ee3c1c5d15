"""Plans that are broken on purpose: the twins that a check must find wrong."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import Any

from discreet.sql.planner import CorePlan, QueryPlan


@dataclass(frozen=True, kw_only=True)
class _CoreWithStatement(CorePlan):
    """A core whose statement was changed."""

    tampered: str

    def compile_counts(self, names: Iterable[str]) -> str:
        return self.tampered


def replace_in_core(plan: QueryPlan, **changes: Any) -> QueryPlan:
    """Return the plan with other fields of its core."""
    return replace(plan, cores=(replace(plan.core, **changes),))


def replace_statement(plan: QueryPlan, statement: str) -> QueryPlan:
    """Return the plan with another statement."""
    known = {each.name: getattr(plan.core, each.name) for each in fields(CorePlan)}
    return replace(plan, cores=(_CoreWithStatement(**known, tampered=statement),))
