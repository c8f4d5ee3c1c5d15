"""Columns by the names that their source has, on every engine."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from discreet.core.errors import RequestError
from discreet.core.policy import Policy
from tests.engines.servers import Server
from tests.engines.test_asking import address


def test_every_engine_finds_a_column_by_its_own_name_and_refuses_reading_options(server: Server) -> None:
    source = server.put({"named": pa.table({"Gewicht/kg": [60.5, 70.0], "who": [1, 2]})})["named"]
    columns = {"weight": {"from": "gewicht/KG", "type": "decimal", "low": 0, "high": 99, "resolution": "0.1"}}
    entry: dict[str, Any] = {"source": source, "person": "row", "columns": columns}
    policy = Policy.model_validate({"engine": address(server), "tables": {"t": entry}})
    with server.open(policy) as engine:
        (row,) = engine.count("SELECT count(*) AS n, sum(weight) AS s FROM t").secret.to_pylist()
    assert (row["n"], row["s"]) == (2, 1305)
    with pytest.raises(RequestError, match=r"declares the column weight from Größe; .* does not have it"):
        server.open(
            Policy.model_validate(
                {"tables": {"t": {**entry, "columns": {"weight": {"from": "Größe", "type": "text"}}}}}
            )
        )
    with pytest.raises(RequestError, match=r"table t declares csv, and its source .* is a table"):
        server.open(Policy.model_validate({"tables": {"t": {**entry, "csv": {"decimal": ","}}}}))
