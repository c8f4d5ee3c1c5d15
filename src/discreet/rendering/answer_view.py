"""Plans and answers on the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from discreet.belief.wording import format_percent
from discreet.rendering.terminal import build_plain_table, print_facts
from discreet.services.answer_batches import AnswerBatch
from discreet.services.answers import Answer, format_cell
from discreet.services.plan_batches import PlanBatch
from discreet.services.plans import Plan
from discreet.sql.refusal import format_snippet

MAX_ROWS = 200
SHOWN_QUESTION = 200


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


def show_batch_plan(console: Console, batch: PlanBatch) -> None:
    """Print the errors of each question of a batch and its part of the price, then cost and belief."""
    for place, plan in enumerate(batch.plans):
        table = build_plain_table("measure", "noise", f"error, {plan.query_plan.confidence:.0%}")
        for each in plan.expected_errors:
            table.add_row(each.name, each.mechanism, each.description)
        _print_question(console, place, plan.text)
        console.print(table)
        console.print(f"cost  {batch.describe_charge(place)}", highlight=False, markup=False)
        console.print()
    print_facts(console, batch.list_facts())


def show_answers(console: Console, questions: Sequence[str], answers: AnswerBatch) -> None:
    """Print the table of each question, then the cost of all, and belief."""
    for place, (question, answer) in enumerate(zip(questions, answers, strict=True)):
        _print_question(console, place, question)
        _print_table(console, answer)
        console.print()
    print_facts(console, [("cost", answers.cost_sentence), ("belief", answers.sentence)])


def _print_question(console: Console, place: int, question: str) -> None:
    text = f"{place + 1}. {format_snippet(question, SHOWN_QUESTION)}"
    console.print(text, style="bold", highlight=False, markup=False)


def show_answer(console: Console, answer: Answer) -> None:
    """Print the table with ± beside each measure, then cost and belief."""
    _print_table(console, answer)
    console.print()
    print_facts(console, [("cost", answer.cost_sentence), ("belief", answer.sentence)])


def _print_table(console: Console, answer: Answer) -> None:
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
