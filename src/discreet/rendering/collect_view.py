"""Operators and reports of `discreet collect`, in the terminal and as JSON (estimates: `estimate_view`)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from discreet.belief import Promise
from discreet.belief.wording import format_number, format_percent, format_percent_up
from discreet.local import BASKET_OPERATORS, MEAN_OPERATORS, Rappor
from discreet.local.operator import Operator
from discreet.local.operator_json import operator_to_json
from discreet.mechanisms import get_mechanism_name
from discreet.rendering.terminal import build_plain_table, print_facts
from discreet.services.budget_units import Charge
from discreet.services.collect.analyse import AnalysisTask, InformationExample, OperatorAnalysis
from discreet.services.collect.collect_requests import DesignRequest
from discreet.services.collect.operators import DesignResult
from discreet.services.collect.randomize import RandomizePlan, RandomizeResult
from discreet.services.collect.report_files import ReportDescription

TRUNCATION_NOTE = (
    "From a basket of more than {size} items, {size} random ones are used; supports refer to these."
)
REPEATED_REPORTS_NOTE = (
    "Further reports of the same person, freshly randomized: each costs the promise once more."
)


def show_randomized(console: Console, done: RandomizeResult) -> None:
    """Print how many reports were written, their operator and the belief after one of them."""
    operator = done.description.operator
    pairs = [("reports", f"{done.clients:,}, {_describe_operator(operator)}"), *_list_facts(done.description)]
    if isinstance(operator, BASKET_OPERATORS):
        pairs.append(("baskets", TRUNCATION_NOTE.format(size=operator.size)))
    if done.other is not None:
        shown = f"{done.other:g}" if isinstance(done.other, float) else done.other
        pairs.append(("other", f"An answer that is missing or not among the values counts as {shown}."))
    if done.charge is not None:
        pairs.append(("cost", f"{done.charge} (entry {done.entry})"))
    print_facts(console, [*pairs, ("not covered", REPEATED_REPORTS_NOTE)])


def show_randomize_plan(console: Console, plan: RandomizePlan) -> None:
    """Print the operator, the belief after one report, and the cost to the promise."""
    pairs = [
        ("reports", _describe_operator(plan.description.operator)),
        *_list_facts(plan.description),
        ("cost", describe_plan_cost(plan)),
    ]
    print_facts(console, pairs)


def describe_plan_cost(plan: RandomizePlan) -> str:
    """Return what a randomization would cost, in a sentence's part."""
    if plan.charge is None:
        return "nothing is charged: no policy covers these answers"
    if not plan.charge.fits:
        return f"{plan.charge}: it costs more than is left and would be refused"
    return f"{plan.charge}; confirm with --spend-all" if plan.charge.leaves_nothing else str(plan.charge)


def _describe_operator(operator: Operator) -> str:
    return f"by {get_mechanism_name(type(operator))} over {format_domain(operator)}"


def _list_facts(description: ReportDescription) -> list[tuple[str, str]]:
    operator = description.operator
    return [
        ("gamma", f"{format_number(operator.gamma)} (epsilon {format_number(operator.epsilon)})"),
        ("belief", description.belief_sentence),
    ]


def format_domain(operator: Operator) -> str:
    """Return the domain of an operator in words."""
    if isinstance(operator, BASKET_OPERATORS):
        return f"baskets of {operator.size} of {operator.items:,} items"
    if isinstance(operator, MEAN_OPERATORS):
        return f"numbers from {operator.low:g} to {operator.high:g}"
    return f"{operator.values:,} values"


def show_designs(console: Console, found: DesignResult, request: DesignRequest) -> None:
    """Print the operators, best first."""
    promise = request.promise
    table = build_plain_table(
        "operator", f"error of {found.quantity}", "95%", "bits a report", "gamma", text_columns=1
    )
    told = format_percent if found.is_percentage else format_number
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
        ("clients", f"{request.clients:,}; the error is {found.error_meaning}"),
    ]
    print_facts(console, pairs)


def designs_to_json(found: DesignResult, request: DesignRequest) -> dict[str, object]:
    return {
        "promise": {"prior": request.promise.prior, "posterior": request.promise.posterior},
        "clients": request.clients,
        "designs": [
            {
                "operator": operator_to_json(each.operator),
                "error": each.error,
                "bits": each.bits,
                "gamma": each.operator.gamma,
                "epsilon": each.operator.epsilon,
            }
            for each in found.designs
        ],
    }


def randomized_to_json(done: RandomizeResult) -> dict[str, object]:
    return {
        "file": str(done.path),
        "clients": done.clients,
        **_randomization_to_json(done.description, done.charge),
        "other": done.other,
        "entry": done.entry,
    }


def randomize_plan_to_json(plan: RandomizePlan) -> dict[str, object]:
    fits = plan.charge is None or plan.charge.fits
    return {**_randomization_to_json(plan.description, plan.charge), "fits": fits}


def _randomization_to_json(description: ReportDescription, charge: Charge | None) -> dict[str, object]:
    """Return the operator, the belief, and the shares of the promise that it costs and leaves."""
    prior, posterior = description.belief_bound
    return {
        "column": description.column,
        "values": len(description.values) or description.operator.values,
        "operator": operator_to_json(description.operator),
        "gamma": description.operator.gamma,
        "epsilon": description.operator.epsilon,
        "belief": {"prior": prior, "posterior": posterior},
        "share": None if charge is None else float(charge.share),
        "left": None if charge is None else float(charge.left_share),
    }


def show_analysis(
    console: Console,
    task: AnalysisTask,
    found: Sequence[OperatorAnalysis],
    warned: Sequence[InformationExample],
) -> None:
    """Print the slides' table, gamma, both bounds, both measures of information, and the warning."""
    if task.properties:
        console.print(_make_belief_table(task, found), markup=False)
        console.print()
    for each in found:
        _show_operator(console, each, task.promise)
        console.print()
    _show_warning(console, warned)


def _make_belief_table(task: AnalysisTask, found: Sequence[OperatorAnalysis]) -> Table:
    table = build_plain_table("known", *task.properties, text_columns=1)
    table.add_row("nothing", *(format_percent(task.compute_prior(mask)) for mask in task.properties.values()))
    for each in found:
        seen = f"{each.name}(X) = {task.report}" if task.report is not None else f"{each.name}(X), the worst"
        table.add_row(seen, *(format_percent(after) for after in each.posteriors))
    return table


def _show_operator(console: Console, each: OperatorAnalysis, promise: Promise | None) -> None:
    pairs = [
        (each.name, f"{get_mechanism_name(type(each.operator))}, gamma {format_number(each.operator.gamma)}"),
        (
            "mutual",
            "too many reports to average over"
            if each.mutual is None
            else f"{_format_bits(each.mutual)} bits",
        ),
        (
            "worst case",
            f"{_format_bits(each.worst_case)} bits" if math.isfinite(each.worst_case) else "infinite",
        ),
    ]
    if isinstance(each.operator, Rappor):
        lasting = (
            f"gamma {format_number(each.operator.lasting_gamma)}, of all reports of a value "
            "that stays the same"
        )
        pairs.append(("lasting", lasting))
    if promise is not None:
        verdict = "kept" if each.keeps_promise else "broken"
        pairs.append(
            ("promise", f"{format_percent(promise.prior)} → {format_percent(promise.posterior)} is {verdict}")
        )
    print_facts(console, pairs)
    table = build_plain_table("believed before", "after, by gamma", "by information", text_columns=0)
    for bound in each.bounds:
        cells = (bound.amplification, bound.information)
        table.add_row(format_percent(bound.prior), *(format_percent_up(cell) for cell in cells))
    console.print(table, markup=False)


def _show_warning(console: Console, warned: Sequence[InformationExample]) -> None:
    console.print(
        "Mutual information is no measure of privacy. A fair bit, randomized in two ways:", highlight=False
    )
    table = build_plain_table("operator", "mutual", "worst case", "belief, from 50%", text_columns=1)
    for each in warned:
        table.add_row(
            each.name,
            _format_bits(each.mutual),
            _format_bits(each.worst_case),
            format_percent(each.posterior),
        )
    console.print(table, markup=False)
    first, second = warned
    console.print(
        f"“{first.name}” sends {first.law}; “{second.name}” sends {second.law}. By mutual information the "
        "second reveals less; yet it exposes a few people almost completely.",
        highlight=False,
    )


def _format_bits(value: float) -> str:
    return f"{value:.4g}" if value >= 1e-4 else f"{value:.2e}"


def analysis_to_json(
    task: AnalysisTask, found: Sequence[OperatorAnalysis], warned: Sequence[InformationExample]
) -> dict[str, object]:
    return {
        "report": task.report,
        "properties": [
            {"name": name, "prior": task.compute_prior(mask)} for name, mask in task.properties.items()
        ],
        "operators": [_operator_to_json(each) for each in found],
        "warning": [vars(each) for each in warned],
    }


def _operator_to_json(each: OperatorAnalysis) -> dict[str, object]:
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
        "keeps": each.keeps_promise,
    }
