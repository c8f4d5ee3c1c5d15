"""Frequent itemsets and association rules, on the console and as JSON."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from discreet.app.collect.mining import Found
from discreet.app.collect.views import MOST_ROWS, facts, grid
from discreet.belief.wording import format_percent
from discreet.local.baskets import Frequent, Rule
from discreet.local.estimates import Figure
from discreet.local.notation import write


def show_mined(console: Console, found: Found) -> None:
    """Print itemsets, rules and their confidence."""
    wanted = found.wanted
    if found.mined.found:
        console.print(_itemsets(found), markup=False)
        _left_out(console, len(found.mined.found), "itemsets")
    else:
        console.print(
            f"No itemset is in {format_percent(wanted.support)} of the baskets beyond doubt.", highlight=False
        )
    if found.rules:
        console.print()
        console.print(_rules(found), markup=False)
        _left_out(console, len(found.rules), "rules")
    console.print()
    doubt = format_percent(1 - wanted.confidence)
    sure = (
        f"Itemsets of at least {format_percent(wanted.support)} of the baskets, rules of a strength "
        "of at least "
        f"{format_percent(wanted.strength)}: that any itemset here is none of them has a chance of "
        f"at most {doubt}, "
        "and so for the rules. What is too near to tell is left out."
    )
    intervals = f"{found.clients:,}; intervals hold with {format_percent(wanted.confidence)} each"
    facts(console, [("reports", intervals), ("found", sure), ("belief", found.description.sentence)])


def mined_object(found: Found) -> dict[str, object]:
    """Return the result as a JSON object."""
    operator, (prior, posterior) = found.description.operator, found.description.belief
    return {
        "column": found.description.column,
        "clients": found.clients,
        "confidence": found.wanted.confidence,
        "itemsets": [
            {"items": found.names(each.itemset), **_object("support", each.support)}
            for each in found.mined.found
        ],
        "rules": [
            {
                "given": found.names(rule.given),
                "then": found.names(rule.then),
                "support": rule.support.value,
                **_object("strength", rule.strength),
            }
            for rule in found.rules
        ],
        "operator": write(operator),
        "gamma": operator.gamma,
        "epsilon": operator.epsilon,
        "belief": {"prior": prior, "posterior": posterior},
    }


def _itemsets(found: Found) -> Table:
    table = grid("itemset", "support", "from", "to")

    def order(each: Frequent) -> tuple[int, float]:
        return len(each.itemset), -each.support.value

    for each in sorted(found.mined.found, key=order)[:MOST_ROWS]:
        table.add_row(_listed(found, each.itemset), *_cells(each.support))
    return table


def _rules(found: Found) -> Table:
    table = grid("who holds", "holds", "strength", "from", "to", left=2)

    def order(rule: Rule) -> float:
        return -rule.strength.value

    for rule in sorted(found.rules, key=order)[:MOST_ROWS]:
        table.add_row(_listed(found, rule.given), _listed(found, rule.then), *_cells(rule.strength))
    return table


def _left_out(console: Console, count: int, what: str) -> None:
    if count > MOST_ROWS:
        console.print(f"and {count - MOST_ROWS:,} more {what}, all with --json", highlight=False)


def _listed(found: Found, itemset: tuple[int, ...]) -> str:
    return ", ".join(found.names(itemset))


def _cells(figure: Figure) -> list[str]:
    """Return a share and its interval as percentages, clamped to 0..1."""
    return [f"{100 * min(max(each, 0.0), 1.0):.2f}%" for each in (figure.value, figure.low, figure.high)]


def _object(name: str, figure: Figure) -> dict[str, float]:
    return {name: figure.value, "low": figure.low, "high": figure.high}
