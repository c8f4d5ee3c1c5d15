"""OpenDP's Polars front end: add/remove neighbours, public keys, pure epsilon."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import opendp.prelude as dp
import polars as pl

from benchmarks.peers import task

dp.enable_features("contrib")
WIDE = 10_000_000
Asked = Callable[[pl.DataFrame], pl.DataFrame]


def speed(visits: str) -> None:
    data = pl.read_parquet(visits).with_columns(pl.col("spend").cast(pl.Float64))
    spend, keys = _known("spend", 0.0).fill_nan(0.0), pl.LazyFrame({"city": task.CITIES})

    def ask() -> object:
        context = _context(data, "city", epsilon=1.0, identifier=pl.col("user_id"))
        asked = context.query().truncate_per_group(task.MOST_ROWS).group_by("city")
        measures = (
            dp.len(signed=True),
            spend.dp.sum(task.SPEND).alias("s"),
            spend.dp.mean(task.SPEND).alias("a"),
        )
        return asked.agg(*measures).with_keys(keys).release().collect()

    task.timed(ask)


def utility(census: str) -> None:
    data = pl.read_parquet(census, columns=["workclass", "age", "hours_per_week"]).with_columns(
        pl.col("workclass").cast(pl.String), pl.col("age", "hours_per_week").cast(pl.Int32)
    )
    task.repeated(_questions(data))


def _questions(data: pl.DataFrame) -> Iterator[tuple[str, task.Answer]]:
    hours, age = _known("hours_per_week", task.HOURS[0]), _known("age", task.AGES[0])
    grid = list(range(task.AGES[0], task.AGES[1] + 1))
    rows, total, mean = dp.len(signed=True), hours.dp.sum(task.HOURS), hours.dp.mean(task.HOURS)
    middle = age.dp.median(grid)
    for name, measure in (("count", rows), ("sum", total), ("avg", mean), ("median", middle)):
        yield name, _answers(data, _measured(data, [measure.alias("x")]), [])
        yield f"{name} by class", _answers(data, _measured(data, [measure.alias("x")], by=True), ["x"])
    together = [rows.alias("n"), total.alias("s"), mean.alias("a")]
    yield "three by class", _answers(data, _measured(data, together, by=True), ["n", "s", "a"])


def _answers(data: pl.DataFrame, asked: Asked, columns: list[str]) -> task.Answer:
    """One number, or those of each column in the order of the classes."""

    def answer() -> list[float]:
        found = asked(data)
        if not columns:
            return [float(found.item())]
        place = {name: row for row, name in enumerate(found["workclass"])}
        return [float(found[column][place[name]]) for column in columns for name in task.CLASSES]

    return answer


def _measured(
    data: pl.DataFrame, measures: list[pl.Expr], *, by: bool = False, epsilon: float = task.EPSILON
) -> Asked:
    """The question with its noise fixed, so that asking again does not look for the scale again."""
    query = _context(data, "workclass", epsilon=epsilon).query()
    keys = pl.LazyFrame({"workclass": list(task.CLASSES)})
    shaped = query.group_by("workclass").agg(*measures).with_keys(keys) if by else query.select(*measures)
    measurement = shaped.resolve()
    return lambda rows: measurement(rows.lazy()).collect()


def audit() -> None:
    """COUNT with and without one person, and whether a group's AVG is there with and without its only one."""
    shape = {"workclass": pl.String, "age": pl.Int32, "hours_per_week": pl.Int32}
    five = pl.DataFrame([("Private", 40, 40)] * 4 + [("Never-worked", 40, 99)], schema=shape, orient="row")
    four = five.head(4)
    count = _measured(five, [dp.len(signed=True).alias("x")], epsilon=task.AUDITED)
    task.audited(
        "COUNT(*) is 5 or more, with 5 rows and with 4",
        "count",
        lambda: count(five).item() >= 5,
        lambda: count(four).item() >= 5,
    )
    mean = _known("hours_per_week", 1).dp.mean(task.HOURS).alias("x")
    asked = _answers(five, _measured(five, [mean], by=True, epsilon=task.AUDITED), ["x"])
    fewer = _answers(four, _measured(four, [mean], by=True, epsilon=task.AUDITED), ["x"])
    place = task.CLASSES.index("Never-worked")
    task.audited(
        "AVG of a class is above 50, with 1 row in it and with none",
        "avg",
        lambda: asked()[place] > 50,
        lambda: fewer()[place] > 50,
    )


def _known(column: str, missing: float) -> pl.Expr:
    return pl.col(column).fill_null(missing)


def _context(
    data: pl.DataFrame, key: str, *, epsilon: float, identifier: pl.Expr | None = None
) -> dp.Context:
    margins = [
        dp.polars.Margin(max_length=WIDE),
        dp.polars.Margin(by=[key], max_length=WIDE, max_groups=len(task.CITIES)),
    ]
    return dp.Context.compositor(
        data=data.lazy(),
        privacy_unit=dp.unit_of(contributions=1, identifier=identifier),
        privacy_loss=dp.loss_of(epsilon=epsilon),
        split_evenly_over=1,
        margins=margins,
    )


if __name__ == "__main__":
    task.main(speed=speed, utility=utility, audit=audit)
