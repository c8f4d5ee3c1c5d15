"""PipelineDP on its local backend, with public partitions and Laplace noise."""

from __future__ import annotations

import pipeline_dp
import pyarrow.parquet as pq

from benchmarks.peers import task


def speed(visits: str) -> None:
    table = pq.read_table(visits)
    spend = table["spend"].cast("double").to_pylist()
    rows = list(zip(table["user_id"].to_pylist(), table["city"].to_pylist(), spend, strict=True))
    wanted = pipeline_dp.AggregateParams(
        metrics=[pipeline_dp.Metrics.COUNT, pipeline_dp.Metrics.SUM, pipeline_dp.Metrics.MEAN],
        noise_kind=pipeline_dp.NoiseKind.LAPLACE,
        max_partitions_contributed=task.MOST_CITIES,
        max_contributions_per_partition=task.EACH_CITY,
        min_value=task.SPEND[0],
        max_value=task.SPEND[1],
    )
    columns = pipeline_dp.DataExtractors(
        privacy_id_extractor=lambda row: row[0],
        partition_extractor=lambda row: row[1],
        value_extractor=lambda row: row[2],
    )

    def ask() -> object:
        budget = pipeline_dp.NaiveBudgetAccountant(total_epsilon=1, total_delta=task.LEAK)
        engine = pipeline_dp.DPEngine(budget, pipeline_dp.LocalBackend())
        released = engine.aggregate(rows, wanted, columns, public_partitions=task.CITIES)
        budget.compute_budgets()
        return list(released)

    task.timed(ask)


if __name__ == "__main__":
    task.main(speed=speed)
