"""The request of `check`: which tables of a policy to check, and whether to accept them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from discreet.core.errors import RequestError
from discreet.services.request_fields import CommandLine, make_request

ACCEPTANCE_PANEL = "Acceptance"


class CheckFields(BaseModel):
    """The tables, and the custodian's decision."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tables: Annotated[
        tuple[str, ...],
        Field(description="The tables to check; all tables of the policy if none is named."),
        CommandLine(is_argument=True),
    ] = ()
    accept: Annotated[
        bool,
        Field(description="Accept this version of the data for analysts, and enter that in the ledger."),
        CommandLine(panel=ACCEPTANCE_PANEL),
    ] = False
    despite: Annotated[
        bool,
        Field(description="Accept data of which more does not fit the policy than its at_most."),
        CommandLine(panel=ACCEPTANCE_PANEL),
    ] = False

    @model_validator(mode="after")
    def _require_acceptance(self) -> Self:
        if self.despite and not self.accept:
            raise RequestError("check: `despite=` goes with `accept=`.", hint="Give both, or neither.")
        return self


class CheckRequest(CheckFields):
    """A check of a policy's tables."""


def make_check_request(tables: Sequence[str] | str, *, accept: bool, despite: bool) -> CheckRequest:
    """Return the request of a Python call; a text is the name of one table."""
    listed = (tables,) if isinstance(tables, str) else tables
    return make_request(CheckRequest, tables=listed, accept=accept, despite=despite)
