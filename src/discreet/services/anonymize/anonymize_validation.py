"""Early validation of `discreet anonymize`: unknown names are refused before heavy modules are imported.

Searches and attacks take seconds to import, too long for reporting a misspelled word. The names here repeat
those of the modules imported later; a test compares them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from discreet.core.errors import RequestError

PRIVATE = "private"
METHODS = ("generalize", "local", "mondrian", "mondrian-relaxed", "cells", "microaggregate", PRIVATE)
OBJECTIVES = ("loss", "class-size", "discernibility", "precision", "entropy", "ambiguity", "height")


def require_known_names(
    table: str,
    policy: Path | None,
    *,
    method: str,
    objective: str,
    hierarchies: Sequence[str] = (),
    engine: str | None = None,
) -> None:
    """Raise if the method, objective, table or hierarchy file does not exist."""
    _require_one_of("method", method, METHODS)
    _require_one_of("objective", objective, OBJECTIVES)
    for each in hierarchies:
        name, _, file = each.partition("=")
        if file and not Path(file).is_file():
            raise RequestError(
                f"The hierarchy of {name} is the file {file}, which does not exist.",
                hint="Correct its path in --hierarchy.",
            )
    if _is_known(table, policy, engine):
        return
    named = Path(table)
    if named.suffix and not named.exists() and not Path(table.rpartition("#")[0] or table).exists():
        raise RequestError(f"{named} does not exist.", hint="Name a CSV, Parquet or DuckDB file.")


def _require_one_of(what: str, name: str, known: Sequence[str]) -> None:
    if name not in known:
        raise RequestError(f"There is no {what} {name}.", hint=f"There are {', '.join(known)}.")


def _is_known(table: str, policy: Path | None, engine: str | None) -> bool:
    """Return whether it is a table of the policy, or may be one that only its engine knows."""
    if policy is None and engine is None:
        return False
    from discreet.services.engine_addresses import (
        parse_engine_address,  # not needed for a file without a policy
    )
    from discreet.services.policies import load_policy, require_engine_address

    if policy is None:
        return parse_engine_address(require_engine_address(engine or "")).scheme != "duckdb"
    terms = load_policy(policy, engine=engine)
    return table in terms.tables or parse_engine_address(terms.engine).scheme != "duckdb"
