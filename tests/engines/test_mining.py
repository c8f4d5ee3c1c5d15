"""Mining where the rows are: every engine counts alike, and the same coins grow the same tree."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import yaml

from discreet.core.policy import Policy
from discreet.mining.bin_counters import EngineCounter
from discreet.mining.schema import Schema
from discreet.mining.scores import Scores, count_outputs
from discreet.mining.tree_splits import Splits
from discreet.services.curator import Curator
from discreet.services.train import TrainRequest, train_private_model
from tests.conftest import seeded
from tests.engines.servers import Server, spark_by_night
from tests.engines.support import shows
from tests.engines.test_asking import address
from tests.mining.rows import COLUMNS, at_hand, drawn, policy, written
from tests.mining.test_counting import SPLITS
from tests.services.test_promise import discreet


@shows("counts that `train` learns from")
@spark_by_night
def test_every_engine_counts_what_the_rows_at_hand_count(server: Server, tmp_path: Path) -> None:
    written(tmp_path, drawn(500))
    source = server.put({"people": pq.read_table(tmp_path / "people.parquet")})["people"]
    terms = policy(tmp_path)
    people = terms.tables["people"].model_copy(update={"source": source})
    schema = Schema.from_table(people, "ill", logarithmic=["pay"])
    here = at_hand(schema, drawn(500))
    generator = np.random.default_rng(1)
    shape = count_outputs(schema.classes), schema.cells
    scores = Scores(table=generator.normal(size=shape).round(2), intercepts=generator.normal(size=shape[0]))
    with server.open(Policy(tables={"people": people})) as engine:
        there = EngineCounter(engine=engine, schema=schema, table="people")
        for splits in (Splits(), SPLITS):
            assert (there.count_cells_by_node(splits).secret == here.count_cells_by_node(splits).secret).all()
        assert (there.count_by_node(SPLITS).secret == here.count_by_node(SPLITS).secret).all()
        sets = [("age", "work"), ("owner",), ("pay", "owner")]
        for mine, theirs in zip(
            there.count_marginals(sets).secret, here.count_marginals(sets).secret, strict=True
        ):
            assert (mine == theirs).all()
        found = there.sum_residuals(scores).secret
    # exp may differ in its last bit, and so a residual by one step
    assert np.abs(found - here.sum_residuals(scores).secret).sum() <= 5 * len(schema.attributes)


def terms_in(folder: Path, source: str) -> Path:
    """A policy in a folder, and so a ledger, of its own."""
    folder.mkdir()
    table: dict[str, Any] = {"source": source, "rows": 500, "columns": COLUMNS}
    terms = {"promise": {"prior": "1%", "posterior": "50%"}, "tables": {"people": table}}
    (folder / "privacy.yaml").write_text(yaml.safe_dump(terms))
    return folder / "privacy.yaml"


@shows("`train tree` end to end")
def test_the_same_coins_grow_the_same_tree_on_every_engine(server: Server, tmp_path: Path) -> None:
    written(tmp_path, drawn(500))
    file = tmp_path / "people.parquet"
    source = server.put({"people": pq.read_table(file)})["people"]
    request = TrainRequest(kind="tree", table="people", target="ill", epsilon=3.0, depth=2)
    found = []
    for name, place, engine in (("here", str(file), "duckdb"), ("there", source, address(server))):
        terms = terms_in(tmp_path / name, place)
        with Curator.open(terms, engine=engine, random=seeded(11)) as curator:
            found.append(json.loads(train_private_model(curator, request, lambda *_: None).model_json))
    assert found[0] == found[1]
    assert len(found[0]["question"]) > 1


def test_the_command_mines_a_tree_where_the_rows_are(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, drawn(500))
    source = server.put({"people": pq.read_table(tmp_path / "people.parquet")})["people"]
    policy = str(terms_in(tmp_path / "there", source))
    words = ("train", "tree", "people", "--target", "ill", "--depth", "1", "--policy", policy, "--json")
    assert discreet(*words, "--epsilon", "3", "--engine", address(server)) == 0
    assert json.loads(capsys.readouterr().out)["epsilon"] == 3
