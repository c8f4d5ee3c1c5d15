"""What a model learns from is counted alike on every engine: marginals, nodes of a tree, residuals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from discreet.core.policy import Policy
from discreet.mining.counting import EngineCounter
from discreet.mining.schema import Schema
from discreet.mining.scores import Scores, outputs
from discreet.mining.splits import Splits
from tests.engines.servers import Server
from tests.mining.rows import at_hand, drawn, policy, written
from tests.mining.test_counting import SPLITS


def test_every_engine_counts_what_the_rows_at_hand_count(server: Server, tmp_path: Path) -> None:
    written(tmp_path, drawn(500))
    source = server.put({"people": pq.read_table(tmp_path / "people.parquet")})["people"]
    terms = policy(tmp_path)
    people = terms.tables["people"].model_copy(update={"source": source})
    schema = Schema.of_table(people, "ill", logarithmic=["pay"])
    here = at_hand(schema, drawn(500))
    generator = np.random.default_rng(1)
    shape = outputs(schema.classes), schema.cells
    scores = Scores(table=generator.normal(size=shape).round(2), beforehand=generator.normal(size=shape[0]))
    with server.open(Policy(tables={"people": people})) as engine:
        there = EngineCounter(engine=engine, schema=schema, table="people")
        for splits in (Splits(), SPLITS):
            assert (there.by_node(splits).secret == here.by_node(splits).secret).all()
        assert (there.in_nodes(SPLITS).secret == here.in_nodes(SPLITS).secret).all()
        sets = [("age", "work"), ("owner",), ("pay", "owner")]
        for mine, theirs in zip(there.marginals(sets).secret, here.marginals(sets).secret, strict=True):
            assert (mine == theirs).all()
        found = there.residuals(scores).secret
    # exp may differ in its last bit, and so a residual by one step
    assert np.abs(found - here.residuals(scores).secret).sum() <= 5 * len(schema.attributes)
