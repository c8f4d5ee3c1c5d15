"""Results of `discreet collect`, on the console and as JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from discreet.app.collect.analysing import Analysis, Contrast
from discreet.app.collect.analysis_files import Task
from discreet.app.collect.designing import Designed
from discreet.app.collect.estimating import Estimated, rows_of
from discreet.app.collect.randomizing import Randomized
from discreet.belief import Promise
from discreet.belief.wording import format_number, format_percent, format_percent_up
from discreet.local import BASKETS, MEANS, Rappor
from discreet.local.baskets import Supports
from discreet.local.estimates import Estimate, MeanEstimate
from discreet.local.notation import write
from discreet.local.operator import Operator
from discreet.mechanisms import get_mechanism_name

MOST_ROWS = 20
CUT = "From a basket of more than {size} items, {size} random ones are used; supports refer to these."
FRESH = "Further reports of the same person, freshly randomized: each costs the promise once more."


def grid(*headings: str, left: int = 1) -> Table:
    """Return a table without lines; all columns but the first `left` are aligned right."""
    table = Table(box=None, header_style="bold", padding=(0, 3, 0, 0))
    for place, heading in enumerate(headings):
        table.add_column(heading, justify="left" if place < left else "right")
    return table


def facts(console: Console, pairs: Sequence[tuple[str, str]]) -> None:
    """Print pairs of a name and a sentence."""
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column()
    for name, text in pairs:
        table.add_row(name, text)
    console.print(table, highlight=False, markup=False)


def show_randomized(console: Console, done: Randomized) -> None:
    """Print how many reports were written, their operator and the belief after one of them."""
    operator = done.description.operator
    pairs = [
        (
            "reports",
            f"{done.clients:,}, by {get_mechanism_name(type(operator))} over {domain_text(operator)}",
        ),
        ("gamma", f"{format_number(operator.gamma)} (epsilon {format_number(operator.epsilon)})"),
        ("belief", done.description.sentence),
    ]
    if isinstance(operator, BASKETS):
        pairs.append(("baskets", CUT.format(size=operator.size)))
    if done.other is not None:
        shown = f"{done.other:g}" if isinstance(done.other, float) else done.other
        pairs.append(("other", f"An answer that is missing or not among the values counts as {shown}."))
    if done.entry is not None:
        pairs.append(("ledger", f"entry {done.entry}"))
    facts(console, [*pairs, ("not covered", FRESH)])


def domain_text(operator: Operator) -> str:
    """Return the domain of an operator in words."""
    if isinstance(operator, BASKETS):
        return f"baskets of {operator.size} of {operator.items:,} items"
    if isinstance(operator, MEANS):
        return f"numbers from {operator.low:g} to {operator.high:g}"
    return f"{operator.values:,} values"


def show_estimates(console: Console, found: Sequence[Estimated]) -> None:
    """Print the estimates of one or several questions."""
    for place, each in enumerate(found):
        if place:
            console.print()
        _show_estimate(console, each)


def _show_estimate(console: Console, found: Estimated) -> None:
    """Print the largest shares with their intervals, and the belief after one report."""
    description = found.description
    console.print(_table(found, found.estimate), markup=False)
    left_out = len(description.values) - MOST_ROWS
    if left_out > 0:
        what = "items" if isinstance(found.estimate, Supports) else "values"
        console.print(f"and {left_out:,} more {what}, all with --json", highlight=False)
    console.print()
    sure = f"{'about ' if found.nearly else ''}{format_percent(found.confidence)}"
    pairs = [
        ("reports", f"{found.estimate.clients:,}; intervals hold with {sure} each"),
        ("belief", description.sentence),
    ]
    if found.together > description.operator.epsilon:
        prior, posterior = found.reached
        reached = f"it goes from {format_percent(prior)} to at most {format_percent_up(posterior)}."
        pairs.append(("together", f"From the person's reports to all questions, {reached}"))
    pairs += [("warning", each) for each in found.warnings]
    facts(console, pairs)


def _table(found: Estimated, estimate: Estimate | MeanEstimate | Supports) -> Table:
    column = found.description.column
    if isinstance(estimate, MeanEstimate):
        low, high = estimate.interval(found.confidence)
        table = grid("mean of", "about", "from", "to")
        table.add_row(column, *(_rounded(each, estimate.error) for each in (estimate.mean, low, high)))
        return table
    told, of = ("support", "item") if isinstance(estimate, Supports) else ("share", "value")
    rows = _largest(rows_of(found), told)
    table = grid(column, told, "from", "to")
    for row in rows:
        table.add_row(str(row[of]), *(f"{100 * row[end]:.2f}%" for end in (told, "low", "high")))
    return table


def _rounded(value: float, error: float) -> str:
    """Return a value rounded to two digits of its error."""
    digits = 1 - math.floor(math.log10(error))
    return f"{round(value, digits):,.{max(digits, 0)}f}"


def _largest(rows: list[dict[str, Any]], told: str) -> list[dict[str, Any]]:
    """Return all rows in their order, or the largest if there are many."""
    few = len(rows) <= MOST_ROWS
    return rows if few else sorted(rows, key=lambda row: -float(row[told]))[:MOST_ROWS]


def show_designs(console: Console, found: Designed, promise: Promise, clients: int) -> None:
    """Print the operators, best first."""
    table = grid("operator", f"error of {found.what}", "95%", "bits a report", "gamma")
    told = format_percent if found.in_percent else format_number
    for each in found.designs:
        within = 1.96 * each.error
        cells = told(each.error), f"± {told(within)}", f"{each.bits:,}", format_number(each.operator.gamma)
        table.add_row(get_mechanism_name(type(each.operator)), *cells)
    console.print(table, markup=False)
    console.print()
    pairs = [
        (
            "promise",
            f"{format_percent(promise.prior)} → {format_percent(promise.posterior)}, gamma "
            f"{format_number(promise.gamma)}",
        ),
        ("clients", f"{clients:,}; the error is {found.meaning}"),
    ]
    facts(console, pairs)


def designs_object(found: Designed, promise: Promise, clients: int) -> dict[str, object]:
    return {
        "promise": {"prior": promise.prior, "posterior": promise.posterior},
        "clients": clients,
        "designs": [
            {
                "operator": write(each.operator),
                "error": each.error,
                "bits": each.bits,
                "gamma": each.operator.gamma,
                "epsilon": each.operator.epsilon,
            }
            for each in found.designs
        ],
    }


def randomized_object(done: Randomized) -> dict[str, object]:
    prior, posterior = done.description.belief
    return {
        "file": str(done.path),
        "clients": done.clients,
        "column": done.description.column,
        "values": len(done.description.values) or done.description.operator.values,
        "operator": write(done.description.operator),
        "gamma": done.description.operator.gamma,
        "epsilon": done.description.operator.epsilon,
        "belief": {"prior": prior, "posterior": posterior},
        "other": done.other,
        "entry": done.entry,
    }


def show_analysis(
    console: Console, task: Task, found: Sequence[Analysis], warned: Sequence[Contrast]
) -> None:
    """Print the slides' table, gamma, both bounds, both measures of information, and the warning."""
    if task.properties:
        console.print(_beliefs(task, found), markup=False)
        console.print()
    for each in found:
        _show_one(console, each, task.promise)
        console.print()
    _show_warning(console, warned)


def _beliefs(task: Task, found: Sequence[Analysis]) -> Table:
    table = grid("known", *task.properties)
    table.add_row("nothing", *(format_percent(task.before(mask)) for mask in task.properties.values()))
    for each in found:
        seen = f"{each.name}(X) = {task.report}" if task.report is not None else f"{each.name}(X), the worst"
        table.add_row(seen, *(format_percent(after) for after in each.posteriors))
    return table


def _show_one(console: Console, each: Analysis, promise: Promise | None) -> None:
    pairs = [
        (each.name, f"{get_mechanism_name(type(each.operator))}, gamma {format_number(each.operator.gamma)}"),
        (
            "mutual",
            "too many reports to average over" if each.mutual is None else f"{_bits(each.mutual)} bits",
        ),
        ("worst case", f"{_bits(each.worst_case)} bits" if math.isfinite(each.worst_case) else "infinite"),
    ]
    if isinstance(each.operator, Rappor):
        lasting = (
            f"gamma {format_number(each.operator.lasting_gamma)}, of all reports of a value "
            "that stays the same"
        )
        pairs.append(("lasting", lasting))
    if promise is not None:
        verdict = "kept" if each.keeps else "broken"
        pairs.append(
            ("promise", f"{format_percent(promise.prior)} → {format_percent(promise.posterior)} is {verdict}")
        )
    facts(console, pairs)
    table = grid("believed before", "after, by gamma", "by information", left=0)
    for bound in each.bounds:
        cells = (bound.amplification, bound.information)
        table.add_row(format_percent(bound.prior), *(format_percent_up(cell) for cell in cells))
    console.print(table, markup=False)


def _show_warning(console: Console, warned: Sequence[Contrast]) -> None:
    console.print(
        "Mutual information is no measure of privacy. A fair bit, randomized in two ways:", highlight=False
    )
    table = grid("operator", "mutual", "worst case", "belief, from 50%")
    for each in warned:
        table.add_row(each.name, _bits(each.mutual), _bits(each.worst_case), format_percent(each.posterior))
    console.print(table, markup=False)
    first, second = warned
    console.print(
        f"“{first.name}” sends {first.law}; “{second.name}” sends {second.law}. By mutual information the "
        "second reveals less; yet it exposes a few people almost completely.",
        highlight=False,
    )


def _bits(value: float) -> str:
    return f"{value:.4g}" if value >= 1e-4 else f"{value:.2e}"


def analysis_object(task: Task, found: Sequence[Analysis], warned: Sequence[Contrast]) -> dict[str, object]:
    return {
        "report": task.report,
        "properties": [{"name": name, "prior": task.before(mask)} for name, mask in task.properties.items()],
        "operators": [_operator_object(each) for each in found],
        "warning": [vars(each) for each in warned],
    }


def _operator_object(each: Analysis) -> dict[str, object]:
    gamma, worst = each.operator.gamma, each.worst_case
    return {
        "name": each.name,
        "operator": get_mechanism_name(type(each.operator)),
        "gamma": gamma if math.isfinite(gamma) else None,
        "epsilon": each.operator.epsilon if math.isfinite(gamma) else None,
        "lasting_gamma": each.operator.lasting_gamma if isinstance(each.operator, Rappor) else None,
        "posteriors": list(each.posteriors),
        "bounds": [vars(bound) for bound in each.bounds],
        "mutual_information": each.mutual,
        "worst_case_information": worst if math.isfinite(worst) else None,
        "keeps": each.keeps,
    }
