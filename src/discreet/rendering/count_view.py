"""Terminal and JSON views of released counts: their cost, their rows, and the resulting belief."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from pathlib import Path

from rich.console import Console

from discreet.belief.wording import format_number, format_percent, format_percent_up
from discreet.mechanisms import get_mechanism_name
from discreet.mining.stream import StreamPlan
from discreet.mining.tabulation.contingency import ContingencyPlan
from discreet.mining.tabulation.frequent_itemsets import ItemsetPlan
from discreet.mining.tabulation.workloads import WorkloadPlan
from discreet.rendering.terminal import build_plain_table, print_facts
from discreet.services.budget_units import format_share
from discreet.services.count_publication import Offer, Publication, ReleasedCounts

MAX_ROWS = 40
Fact = tuple[str, str]


def offer_to_json(offer: Offer) -> dict[str, object]:
    """Return the JSON object of a plan."""
    belief = {
        "prior": offer.belief_before.prior,
        "before": offer.belief_before.highest,
        "after": offer.belief_after.highest,
    }
    return {
        **offer.publication.certificate,
        "belief": belief,
        "share": float(offer.share),
        "fits": offer.fits_budget,
        "repeated": offer.entry is not None,
        "entry": offer.entry,
    }


def counts_to_json(released: ReleasedCounts, files: Sequence[Path]) -> dict[str, object]:
    """Return the JSON object of a release."""
    return {
        **released.publication.certificate,
        "names": released.rows.column_names,
        "rows": [list(row.values()) for row in released.rows.to_pylist()],
        "belief": {
            "prior": released.belief.prior,
            "posterior": released.belief.highest,
            "tail": released.belief.tail,
        },
        "entry": released.entry,
        "repeated": released.repeated,
        "sentence": released.sentence,
        "files": [str(path) for path in files],
    }


def print_offer(console: Console, offer: Offer) -> None:
    """Print a plan: facts, cost and effect on belief."""
    before, after = (
        format_percent_up(offer.belief_before.highest),
        format_percent_up(offer.belief_after.highest),
    )
    cost = f"{_format_cost(offer.publication)}, {format_share(offer.share, up=True)} of the promise"
    change = f"at most {after}, now {before}"
    if offer.entry is not None:
        cost = f"nothing: the same was released before (entry {offer.entry})"
        change = f"{before}, as now"
    elif not offer.fits_budget:
        change = f"{before}, as now: it costs more than is left and would be refused"
    change = f"{format_percent(offer.belief_before.prior)} → {change}"
    relation = offer.publication.guarantee.relation
    neighbours = ("neighbours", f"{relation.neighbours} ({relation.value})")
    console.print()
    print_facts(
        console,
        [
            *describe_plan(offer.publication.plan),
            ("cost", cost),
            ("belief", change),
            neighbours,
        ],
    )


def print_counts(console: Console, released: ReleasedCounts, files: Sequence[Path]) -> None:
    """Print the first rows, then facts, cost and belief."""
    table = build_plain_table()
    for name, column in zip(released.rows.column_names, released.rows.columns, strict=True):
        words = str(column.type) in ("string", "bool")
        table.add_column(name, justify="left" if words else "right", overflow="fold")
    for row in released.rows.slice(0, MAX_ROWS).to_pylist():
        table.add_row(*map(_format_value, row.values()))
    console.print(table)
    if released.rows.num_rows > MAX_ROWS:
        rest = f"… {released.rows.num_rows - MAX_ROWS:,} more rows; -o FILE.csv writes all."
        console.print(rest, style="dim", highlight=False)
    charge = (
        "nothing: the same was released before" if released.repeated else _format_cost(released.publication)
    )
    told = [("cost", f"{charge} (entry {released.entry})"), ("belief", released.sentence)]
    console.print()
    print_facts(console, [*describe_plan(released.publication.plan), *told])
    for path in files:
        console.print(f"wrote {path}", highlight=False, markup=False, soft_wrap=True)


def describe_plan(plan: ContingencyPlan | WorkloadPlan | ItemsetPlan | StreamPlan) -> list[Fact]:
    """Return what is counted and how accurately, in words."""
    if isinstance(plan, ContingencyPlan):
        return [
            ("cells", f"{plan.possible.size:,}, as declared"),
            ("noise", f"{get_mechanism_name(type(plan.noise))}, ± {plan.error95:,} for 95% of cells"),
        ]
    if isinstance(plan, WorkloadPlan):
        best = plan.strategy.name
        errors = sorted((error, name) for name, error in plan.errors.items() if isfinite(error))
        others = [f"{name} {format_number(error)}" for error, name in errors if name != best]
        return [
            ("counts", f"{len(plan.workload.questions):,}"),
            ("measured", f"by the strategy {best}, which has the least expected error"),
            ("error", f"{format_number(plan.errors[best])} rows, root mean square"),
            *([("others", f"{', '.join(others)} rows")] if others else []),
        ]
    if isinstance(plan, ItemsetPlan):
        items = len(plan.schema.attributes)
        picked = "all of them" if plan.basis == items else f"{plan.basis}, picked privately"
        return [
            ("items", f"{items}; combined are {picked}"),
            ("sets", f"up to {plan.largest} items, of at least {format_percent(plan.threshold)} of rows"),
            ("error", f"at most {format_number(plan.deviation)} rows, one deviation of a set's count"),
        ]
    return _describe_stream(plan)


def _describe_stream(plan: StreamPlan) -> list[Fact]:
    columns = ", ".join(each.name for each in plan.universe.schema.attributes)
    cells = ("cells", f"{plan.universe.cells:,} of {columns}")
    if plan.sparse_vector is None:
        method = f"{plan.method}: noise on each of {plan.questions:,} answers"
        error = f"± {plan.fresh_error95:,} for 95% of them"
    else:
        method = f"{plan.method}: up to {plan.updates} of {plan.questions:,} answers are counted anew"
        error = f"95% of those ± {plan.fresh_error95:,}, of the others ± {plan.error95:,}"
    return [cells, ("method", method), ("error", error), *_explain_choice(plan)]


def _explain_choice(plan: StreamPlan) -> list[Fact]:
    """Return the fact that explains the choice of a method, if the request named none."""
    if not plan.method_errors:
        return []
    others = [f"{name} ± {error:,}" for name, error in plan.method_errors.items() if name != plan.method]
    others += [] if "median" in plan.method_errors else ["median does not fit so many cells"]
    return [("chosen", f"{plan.method} errs least; {', '.join(others)}")]


def _format_cost(publication: Publication) -> str:
    leak = f", delta {float(publication.delta):g}" if publication.delta else ""
    return f"epsilon {format_number(float(publication.epsilon))}{leak}"


def _format_value(value: object) -> str:
    if value is None:
        return "refused"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        # counts err by rows, so one decimal is enough; shares need their leading digits
        return format_number(round(value, 1), 15) if abs(value) >= 1 else format_number(value, 4)
    return f"{value:,}" if isinstance(value, int) else str(value)
