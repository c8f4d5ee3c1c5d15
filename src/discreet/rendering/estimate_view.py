"""Estimates from reports, in the terminal and as JSON: shares, means, supports, itemsets and rules."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from discreet.belief.wording import format_percent, format_percent_up
from discreet.local.baskets import AssociationRule, FrequentItemset, ItemsetSupports
from discreet.local.estimates import FrequencyEstimate, MeanEstimate, NormalEstimate
from discreet.local.operator_json import operator_to_json
from discreet.rendering.terminal import build_plain_table, print_facts
from discreet.services.collect.estimate import EstimateResult, MiningResult

MAX_ROWS = 20


def show_estimates(console: Console, found: Sequence[EstimateResult]) -> None:
    """Print the estimates of one or several questions."""
    for place, each in enumerate(found):
        if place:
            console.print()
        _show_estimate(console, each)


def _show_estimate(console: Console, found: EstimateResult) -> None:
    """Print the largest shares with their intervals, and the belief after one report."""
    description = found.description
    console.print(_make_estimate_table(found, found.estimate), markup=False)
    _show_left_out(
        console,
        len(description.values),
        "items" if isinstance(found.estimate, ItemsetSupports) else "values",
    )
    console.print()
    sure = f"{'about ' if found.is_approximate else ''}{format_percent(found.confidence)}"
    pairs = [
        ("reports", f"{found.estimate.clients:,}; intervals hold with {sure} each"),
        ("belief", description.belief_sentence),
    ]
    if found.total_epsilon > description.operator.epsilon:
        prior, posterior = found.belief_bound
        reached = f"it goes from {format_percent(prior)} to at most {format_percent_up(posterior)}."
        pairs.append(("together", f"From the person's reports to all questions, {reached}"))
    pairs += [("warning", each) for each in found.warnings]
    print_facts(console, pairs)


def _make_estimate_table(
    found: EstimateResult, estimate: FrequencyEstimate | MeanEstimate | ItemsetSupports
) -> Table:
    column = found.description.column
    if isinstance(estimate, MeanEstimate):
        low, high = estimate.interval(found.confidence)
        table = build_plain_table("mean of", "about", "from", "to", text_columns=1)
        table.add_row(column, *(_round_to_error(each, estimate.error) for each in (estimate.mean, low, high)))
        return table
    value, share = found.row_names
    rows = _select_largest(found.list_rows(), share)
    table = build_plain_table(column, share, "from", "to", text_columns=1)
    for row in rows:
        table.add_row(str(row[value]), *(f"{100 * row[end]:.2f}%" for end in (share, "low", "high")))
    return table


def _round_to_error(value: float, error: float) -> str:
    digits = 1 - math.floor(math.log10(error))
    return f"{round(value, digits):,.{max(digits, 0)}f}"


def _select_largest(rows: list[dict[str, Any]], share: str) -> list[dict[str, Any]]:
    """Return all rows in their order, or the largest if there are many."""
    few = len(rows) <= MAX_ROWS
    return rows if few else sorted(rows, key=lambda row: -float(row[share]))[:MAX_ROWS]


def estimate_to_json(found: EstimateResult) -> dict[str, object]:
    """Return an estimate as a JSON object."""
    description, (prior, posterior) = found.description, found.belief_bound
    return {
        "column": description.column,
        "clients": found.estimate.clients,
        "confidence": found.confidence,
        **figures_to_json(found),
        "operator": operator_to_json(description.operator),
        "gamma": description.operator.gamma,
        "epsilon": description.operator.epsilon,
        "belief": {"prior": prior, "posterior": posterior},
    }


def figures_to_json(found: EstimateResult) -> dict[str, object]:
    """Return only the estimated numbers and warnings, as a JSON object."""
    if isinstance(found.estimate, MeanEstimate):
        low, high = found.estimate.interval(found.confidence)
        return {"mean": found.estimate.mean, "low": low, "high": high, "warnings": list(found.warnings)}
    if isinstance(found.estimate, ItemsetSupports):
        return {"items": found.list_rows(), "warnings": list(found.warnings)}
    return {"estimates": found.list_rows(), "warnings": list(found.warnings)}


def show_itemsets(console: Console, found: MiningResult) -> None:
    """Print itemsets, rules and their confidence."""
    wanted = found.request
    if found.frequent.itemsets:
        console.print(_make_itemset_table(found), markup=False)
        _show_left_out(console, len(found.frequent.itemsets), "itemsets")
    else:
        console.print(
            f"No itemset is in {format_percent(wanted.min_support)} of the baskets beyond doubt.",
            highlight=False,
        )
    if found.rules:
        console.print()
        console.print(_make_rule_table(found), markup=False)
        _show_left_out(console, len(found.rules), "rules")
    console.print()
    doubt = format_percent(1 - wanted.confidence)
    sure = (
        f"Itemsets of at least {format_percent(wanted.min_support)} of the baskets, rules of a strength "
        "of at least "
        f"{format_percent(wanted.min_strength)}. The chance that any itemset listed is wrong is at most "
        f"{doubt}, and so it is for the rules. Those too near to decide are left out."
    )
    intervals = f"{found.clients:,}; intervals hold with {format_percent(wanted.confidence)} each"
    print_facts(
        console, [("reports", intervals), ("found", sure), ("belief", found.description.belief_sentence)]
    )


def itemsets_to_json(found: MiningResult) -> dict[str, object]:
    """Return the result as a JSON object."""
    operator, (prior, posterior) = found.description.operator, found.description.belief_bound
    return {
        "column": found.description.column,
        "clients": found.clients,
        "confidence": found.request.confidence,
        "itemsets": [
            {"items": found.name_items(each.itemset), **_estimate_to_json("support", each.support)}
            for each in found.frequent.itemsets
        ],
        "rules": [
            {
                "given": found.name_items(rule.antecedent),
                "then": found.name_items(rule.consequent),
                "support": rule.support.value,
                **_estimate_to_json("strength", rule.strength),
            }
            for rule in found.rules
        ],
        "operator": operator_to_json(operator),
        "gamma": operator.gamma,
        "epsilon": operator.epsilon,
        "belief": {"prior": prior, "posterior": posterior},
    }


def _make_itemset_table(found: MiningResult) -> Table:
    table = build_plain_table("itemset", "support", "from", "to", text_columns=1)

    def sort_key(each: FrequentItemset) -> tuple[int, float]:
        return len(each.itemset), -each.support.value

    for each in sorted(found.frequent.itemsets, key=sort_key)[:MAX_ROWS]:
        table.add_row(_join_item_names(found, each.itemset), *_format_cells(each.support))
    return table


def _make_rule_table(found: MiningResult) -> Table:
    table = build_plain_table("who holds", "holds", "strength", "from", "to", text_columns=2)

    def sort_key(rule: AssociationRule) -> float:
        return -rule.strength.value

    for rule in sorted(found.rules, key=sort_key)[:MAX_ROWS]:
        table.add_row(
            _join_item_names(found, rule.antecedent),
            _join_item_names(found, rule.consequent),
            *_format_cells(rule.strength),
        )
    return table


def _show_left_out(console: Console, count: int, what: str) -> None:
    if count > MAX_ROWS:
        console.print(f"and {count - MAX_ROWS:,} more {what}, all with --json", highlight=False)


def _join_item_names(found: MiningResult, itemset: tuple[int, ...]) -> str:
    return ", ".join(found.name_items(itemset))


def _format_cells(figure: NormalEstimate) -> list[str]:
    """Return a share and its interval as percentages, clamped to 0..1."""
    return [f"{100 * min(max(each, 0.0), 1.0):.2f}%" for each in (figure.value, figure.low, figure.high)]


def _estimate_to_json(name: str, figure: NormalEstimate) -> dict[str, float]:
    return {name: figure.value, "low": figure.low, "high": figure.high}
