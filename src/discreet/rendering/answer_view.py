"""Plans and answers on the terminal."""

from __future__ import annotations

import math

from rich.console import Console
from rich.table import Table

from discreet.belief.wording import format_number, format_number_up, format_percent, format_percent_up
from discreet.services.answers import INTERVAL_NOTE, Answer
from discreet.services.proposals import Proposal

MAX_ROWS = 200


def show_proposal(console: Console, proposal: Proposal) -> None:
    """Print cost, error, belief before and after, neighbor relation and groups."""
    plan, promise = proposal.plan, proposal.plan.promise
    table = Table(box=None, header_style="bold", padding=(0, 3, 0, 0))
    for heading in ("measure", "noise", "share", f"error, {plan.confidence:.0%}"):
        table.add_column(heading)
    for each in proposal.expected_errors:
        error = f"± {format_number_up(each.error95)}" if each.error95 is not None else each.note
        table.add_row(each.name, each.mechanism, format_percent(each.share), error)
    console.print(table)
    groups = "selected privately" if plan.group_count is None else f"{plan.group_count:,}, as declared"
    prior, posterior = format_percent(proposal.belief_before.prior), format_percent(promise.posterior)
    facts = [
        ("cost", f"epsilon {format_number(proposal.cost)} of {format_number(promise.epsilon)}"),
        ("belief", f"{prior} → {describe_belief_change(proposal)} (promise: {posterior})"),
        *([("not covered", proposal.uncovered)] if proposal.uncovered else []),
        ("neighbours", f"{promise.secret.neighbours} ({promise.secret.value})"),
        ("bounding", plan.bounding.description),
    ]
    if plan.least_rows is not None:
        facts.append(("assumed", f"every group has at least {plan.least_rows:,} rows"))
    show_facts(console, [*facts, ("groups", groups)] if plan.question.keys else facts)


def describe_belief_change(proposal: Proposal) -> str:
    """Describe how the answer would change the attacker's belief."""
    before = format_percent_up(proposal.belief_before.highest)
    if proposal.repeated:
        return f"{before}, as before: the answer is stored and costs nothing"
    if not proposal.fits:
        return f"{before}, as before: it costs more than is left and would be refused"
    return f"at most {format_percent_up(proposal.belief_after.highest)} after it ({before} before)"


def show_answer(console: Console, answer: Answer) -> None:
    """Print the table with ± beside each measure, then cost and belief."""
    table = Table(box=None, header_style="bold", padding=(0, 3, 0, 0))
    for name in answer.table.column_names:
        table.add_column(name, justify="right" if name in answer.measures else "left")
    for place, row in enumerate(answer.rows[:MAX_ROWS]):
        cells = zip(answer.table.column_names, row, strict=True)
        table.add_row(*(format_cell(answer, name, place, value) for name, value in cells))
    console.print(table)
    if answer.table.num_rows > MAX_ROWS:
        console.print(f"… {answer.table.num_rows - MAX_ROWS:,} more rows; --csv prints all.", style="dim")
    if any(end is not None for low, _ in answer.intervals.values() for end in low):
        console.print(f"± at {answer.confidence:.0%}. {INTERVAL_NOTE}", style="dim", highlight=False)
    if answer.no_interval:
        console.print(answer.no_interval_sentence, style="dim", highlight=False, markup=False)
    if answer.rank_errors:
        told = "; ".join(f"{name}: {found.description}" for name, found in answer.rank_errors.items())
        remarks = dict.fromkeys(found.remark for found in answer.rank_errors.values() if found.remark)
        note = " ".join([f"At {answer.confidence:.0%}, {told}.", *remarks])
        console.print(note, style="dim", highlight=False, markup=False)
    charge = f"epsilon {format_number(answer.epsilon)}"
    if answer.repeated:
        charge = "nothing: the same question was answered before"
    show_facts(console, [("cost", f"{charge} (entry {answer.entry})"), ("belief", answer.sentence)])


def format_cell(answer: Answer, name: str, row_index: int, value: object) -> str:
    """Return a value as text, with its ± if it has one."""
    half = _find_half_width(answer, name, row_index, value)
    if half is None:
        return _format_value(answer, name, value)
    if not isinstance(value, float):
        # Interval bounds of a whole number may be fractions, because rows are weighted.
        return f"{value:,} ± {math.ceil(half):,}"
    places = _count_decimals(half)
    rounded = round(value, places)
    return f"{rounded:,.{places}f} ± {_round_up(half + abs(value - rounded), places):,.{places}f}"


def _format_value(answer: Answer, name: str, value: object) -> str:
    """Return a value without ±; a NULL that has an interval could not be estimated."""
    if value is None:
        return "cannot be told" if name in answer.intervals else "NULL"
    if isinstance(value, float):
        return f"{value:,.3f}"
    whole = isinstance(value, int) and not isinstance(value, bool)
    return f"{value:,}" if whole and name in answer.measures else str(value)


def _find_half_width(answer: Answer, name: str, row_index: int, value: object) -> float | None:
    """Return the half-width of a cell's interval around the displayed value; None if it has no interval."""
    ends = answer.intervals.get(name)
    if ends is None or not isinstance(value, int | float):
        return None
    low, high = ends[0][row_index], ends[1][row_index]
    return None if low is None or high is None else max(high - value, value - low)


def _round_up(value: float, decimals: int) -> float:
    """Round up, so that the error bar still covers the value; ignore floating-point error below 1e-12."""
    scale = float(10**decimals)
    return math.ceil(value * scale * (1 - 1e-12)) / scale


def _count_decimals(half: float) -> int:
    """Return how many decimals show two significant digits of the error."""
    return min(6, max(0, 1 - math.floor(math.log10(half)))) if half > 0 else 3


def show_facts(console: Console, facts: list[tuple[str, str]]) -> None:
    """Print names and values below a result."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold")
    grid.add_column()
    for name, text in facts:
        grid.add_row(name, text)
    console.print()
    console.print(grid)
