"""Tables of many columns are prepared within memory, which columns take and rows do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.core.policy import Policy
from discreet.services.curator import Curator

COLUMNS = 3_000


@pytest.mark.night
def test_a_table_of_thousands_of_columns_is_asked(tmp_path: Path) -> None:
    names = [f"c{place}" for place in range(COLUMNS)]
    rows = [",".join(str(place % 7) for place in range(COLUMNS))] * 20
    (tmp_path / "wide.csv").write_text("\n".join([",".join(names), *rows, ""]))
    columns = {name: {"type": "integer", "low": 0, "high": 6} for name in names}
    policy = Policy.model_validate(
        {
            "promise": {"prior": "1%", "posterior": "99%"},
            "tables": {"wide": {"source": str(tmp_path / "wide.csv"), "columns": columns}},
            "ledger": str(tmp_path / "ledger.db"),
        }
    )
    with Curator(policy) as curator:
        answer = curator.ask("SELECT COUNT(*) AS n FROM wide", epsilon=1)
    # noise of scale 2 is larger with a probability below 1e-9
    assert abs(answer.to_arrow()["n"][0].as_py() - 20) <= 60
