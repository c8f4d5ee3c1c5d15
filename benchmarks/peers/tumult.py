"""Tumult Analytics on a local Spark, which needs Java: three measures are three evaluations."""

from __future__ import annotations

from pyspark.sql import SparkSession
from tmlt.analytics import (
    AddRowsWithID,
    KeySet,
    MaxGroupsPerID,
    MaxRowsPerGroupPerID,
    PureDPBudget,
    QueryBuilder,
    Session,
)

from benchmarks.peers import task


def speed(visits: str) -> None:
    settings: dict[str, bool | float | int | str | None] = {
        "spark.ui.enabled": "false",
        "spark.driver.memory": "4g",
        "spark.sql.shuffle.partitions": "4",
    }
    spark = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    columns = ("user_id", "city", "age", "CAST(spend AS double) AS spend")
    frame = spark.read.parquet(visits).selectExpr(*columns).cache()
    frame.count()
    keys = KeySet.from_dict({"city": task.CITIES})

    def ask() -> object:
        session = Session.from_dataframe(
            PureDPBudget(1), "visits", frame, protected_change=AddRowsWithID("user_id")
        )
        bounded = QueryBuilder("visits").enforce(MaxGroupsPerID("city", task.MOST_CITIES))
        groups = bounded.enforce(MaxRowsPerGroupPerID("city", task.EACH_CITY)).groupby(keys)
        measures = (groups.count(), groups.sum("spend", *task.SPEND), groups.average("spend", *task.SPEND))
        return [session.evaluate(each, PureDPBudget(1 / 3)).toPandas() for each in measures]

    task.timed(ask, times=2)
    spark.stop()


if __name__ == "__main__":
    task.main(speed=speed)
