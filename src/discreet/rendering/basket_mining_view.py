"""Frequent itemsets and association rules, on the console and as JSON."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from discreet.belief.wording import format_percent
from discreet.local.baskets import AssociationRule, FrequentItemset
from discreet.local.estimates import NormalEstimate
from discreet.local.operator_json import operator_to_json
from discreet.rendering.collect_view import MAX_ROWS, make_grid, print_facts
from discreet.services.collect.basket_mining import MiningResult


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
        f"{format_percent(wanted.min_strength)}: that any itemset here is none of them has a chance of "
        f"at most {doubt}, "
        "and so for the rules. What is too near to tell is left out."
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
    table = make_grid("itemset", "support", "from", "to")

    def sort_key(each: FrequentItemset) -> tuple[int, float]:
        return len(each.itemset), -each.support.value

    for each in sorted(found.frequent.itemsets, key=sort_key)[:MAX_ROWS]:
        table.add_row(_join_item_names(found, each.itemset), *_format_cells(each.support))
    return table


def _make_rule_table(found: MiningResult) -> Table:
    table = make_grid("who holds", "holds", "strength", "from", "to", left=2)

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
