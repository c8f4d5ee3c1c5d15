"""Terminal and JSON views of released counts: their cost, their rows, and the resulting belief."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from discreet.app.ask_view import show_facts
from discreet.app.counts.publication import Made, Offer, Publication
from discreet.belief.wording import format_number, format_percent, format_percent_up

MOST_ROWS = 40


def offered(offer: Offer) -> dict[str, object]:
    """Return the JSON object of a plan."""
    belief = {"prior": offer.before.prior, "before": offer.before.highest, "after": offer.after.highest}
    return {**offer.publication.certificate, "belief": belief, "fits": offer.fits}


def made(found: Made, written: Sequence[Path]) -> dict[str, object]:
    """Return the JSON object of a release."""
    return {
        **found.publication.certificate,
        "names": found.rows.column_names,
        "rows": [list(row.values()) for row in found.rows.to_pylist()],
        "belief": {"prior": found.belief.prior, "posterior": found.belief.highest, "tail": found.belief.tail},
        "entry": found.entry,
        "repeated": found.repeated,
        "sentence": found.sentence,
        "files": [str(path) for path in written],
    }


def show_offer(console: Console, offer: Offer) -> None:
    """Print a plan: facts, cost and effect on belief."""
    before, after = format_percent_up(offer.before.highest), format_percent_up(offer.after.highest)
    change = f"{format_percent(offer.before.prior)} → at most {after} after it ({before} before)"
    if not offer.fits:
        change = f"{before}, as before: it costs more than is left and would be refused"
    relation = offer.publication.guarantee.relation
    neighbours = ("neighbours", f"{relation.neighbours} ({relation.value})")
    show_facts(
        console,
        [*offer.publication.facts, ("cost", _cost(offer.publication)), ("belief", change), neighbours],
    )


def show(console: Console, found: Made, written: Sequence[Path]) -> None:
    """Print the first rows, then facts, cost and belief."""
    table = Table(box=None, header_style="bold", padding=(0, 3, 0, 0))
    for name, column in zip(found.rows.column_names, found.rows.columns, strict=True):
        words = str(column.type) in ("string", "bool")
        table.add_column(name, justify="left" if words else "right", overflow="fold")
    for row in found.rows.slice(0, MOST_ROWS).to_pylist():
        table.add_row(*map(_shown, row.values()))
    console.print(table)
    if found.rows.num_rows > MOST_ROWS:
        rest = f"… {found.rows.num_rows - MOST_ROWS:,} more rows; -o FILE.csv writes all."
        console.print(rest, style="dim", highlight=False)
    charge = "nothing: the same was released before" if found.repeated else _cost(found.publication)
    told = [("cost", f"{charge} (entry {found.entry})"), ("belief", found.sentence)]
    show_facts(console, [*found.publication.facts, *told])
    for path in written:
        console.print(f"wrote {path}", highlight=False, markup=False, soft_wrap=True)


def _cost(publication: Publication) -> str:
    leak = f", delta {float(publication.delta):g}" if publication.delta else ""
    return f"epsilon {format_number(float(publication.epsilon))}{leak}"


def _shown(value: object) -> str:
    if value is None:
        return "refused"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int | float) else str(value)
