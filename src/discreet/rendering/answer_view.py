"""Plans and answers on the terminal."""

from __future__ import annotations

from rich.console import Console

from discreet.belief.wording import format_percent
from discreet.rendering.terminal import build_plain_table, print_facts
from discreet.services.answers import Answer, format_cell
from discreet.services.plans import Plan

MAX_ROWS = 200


def show_proposal(console: Console, proposal: Plan) -> None:
    """Print cost, error, belief before and after, neighbor relation and groups."""
    plan = proposal.query_plan
    table = build_plain_table("measure", "noise", "share", f"error, {plan.confidence:.0%}")
    for each in proposal.expected_errors:
        table.add_row(each.name, each.mechanism, format_percent(each.share), each.description)
    console.print(table)
    groups = "selected privately" if plan.group_count is None else f"{plan.group_count:,}, as declared"
    facts = [*proposal.list_facts(), ("bounding", plan.bounding_description)]
    if plan.least_rows is not None:
        facts.append(("assumed", f"every group has at least {plan.least_rows:,} rows"))
    has_groups = any(core.question.keys for core in plan.cores)
    console.print()
    print_facts(console, [*facts, ("groups", groups)] if has_groups else facts)


def show_answer(console: Console, answer: Answer) -> None:
    """Print the table with ± beside each measure, then cost and belief."""
    table = build_plain_table()
    for name in answer.table.column_names:
        table.add_column(name, justify="right" if name in answer.measures else "left")
    for place, row in enumerate(answer.rows[:MAX_ROWS]):
        cells = zip(answer.table.column_names, row, strict=True)
        table.add_row(*(format_cell(answer, name, place, value) for name, value in cells))
    console.print(table)
    if answer.table.num_rows > MAX_ROWS:
        console.print(f"… {answer.table.num_rows - MAX_ROWS:,} more rows; --csv prints all.", style="dim")
    for note in answer.list_notes():
        console.print(note, style="dim", highlight=False, markup=False)
    console.print()
    print_facts(console, [("cost", answer.cost_sentence), ("belief", answer.sentence)])
