"""Early validation of `anonymize`: files that do not exist are refused before heavy modules are imported."""

from __future__ import annotations

from pathlib import Path

from discreet.core.errors import RequestError
from discreet.services.addresses import parse_engine_address, require_engine_address
from discreet.services.anonymize.anonymize_request import AnonymizeRequest


def require_known_files(request: AnonymizeRequest) -> None:
    """Raise if the table or a hierarchy file does not exist."""
    for name, file in request.hierarchy.items():
        if not Path(file).is_file():
            raise RequestError(
                f"The hierarchy of {name} is the file {file}, which does not exist.",
                hint="Correct its path in --hierarchy.",
            )
    table = request.table
    if _is_known(table, request.policy, request.engine):
        return
    named = Path(table)
    if named.suffix and not named.exists() and not Path(table.rpartition("#")[0] or table).exists():
        raise RequestError(f"{named} does not exist.", hint="Name a CSV, Parquet or DuckDB file.")


def _is_known(table: str, policy: Path | None, engine: str | None) -> bool:
    """Return whether it is a table of the policy, or may be one that only its engine knows."""
    if policy is None and engine is None:
        return False
    from discreet.services.policies import load_policy  # not needed for a file without a policy

    if policy is None:
        return not parse_engine_address(require_engine_address(engine or "")).is_embedded
    terms = load_policy(policy, engine=engine)
    return table in terms.tables or not parse_engine_address(terms.engine).is_embedded
