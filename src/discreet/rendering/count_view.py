"""Terminal and JSON views of released counts: their cost, their rows, and the resulting belief."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from discreet.belief.wording import format_number, format_percent, format_percent_up
from discreet.rendering.answer_view import show_facts
from discreet.services.count_publication import Offer, Publication, ReleasedCounts

MAX_ROWS = 40


def offer_to_json(offer: Offer) -> dict[str, object]:
    """Return the JSON object of a plan."""
    belief = {
        "prior": offer.belief_before.prior,
        "before": offer.belief_before.highest,
        "after": offer.belief_after.highest,
    }
    return {**offer.publication.certificate, "belief": belief, "fits": offer.fits_budget}


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
    change = f"{format_percent(offer.belief_before.prior)} → at most {after} after it ({before} before)"
    if not offer.fits_budget:
        change = f"{before}, as before: it costs more than is left and would be refused"
    relation = offer.publication.guarantee.relation
    neighbours = ("neighbours", f"{relation.neighbours} ({relation.value})")
    show_facts(
        console,
        [*offer.publication.facts, ("cost", _format_cost(offer.publication)), ("belief", change), neighbours],
    )


def print_counts(console: Console, released: ReleasedCounts, files: Sequence[Path]) -> None:
    """Print the first rows, then facts, cost and belief."""
    table = Table(box=None, header_style="bold", padding=(0, 3, 0, 0))
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
    show_facts(console, [*released.publication.facts, *told])
    for path in files:
        console.print(f"wrote {path}", highlight=False, markup=False, soft_wrap=True)


def _format_cost(publication: Publication) -> str:
    leak = f", delta {float(publication.delta):g}" if publication.delta else ""
    return f"epsilon {format_number(float(publication.epsilon))}{leak}"


def _format_value(value: object) -> str:
    if value is None:
        return "refused"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int | float) else str(value)
