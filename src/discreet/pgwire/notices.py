"""Notices of an answer and lines of EXPLAIN: cost, error and belief."""

from __future__ import annotations

from discreet.belief.wording import (
    format_count,
    format_number,
    format_number_up,
    format_percent,
    format_percent_up,
)
from discreet.services.answers import Answer
from discreet.services.plans import Plan


def format_notices(answer: Answer) -> tuple[str, ...]:
    """Return the notices of an answer: cost, error bars, belief."""
    cost = (
        "nothing: the same question was answered before"
        if answer.repeated
        else f"epsilon {format_number(answer.epsilon)}"
    )
    bars = [_format_error_bar(answer, name) for name in answer.intervals if name not in answer.rank_errors]
    bars += [f"{name}: {found.description}" for name, found in answer.rank_errors.items()]
    errors = [f"error at {format_percent(answer.confidence)}: {'; '.join(bars)}"] if bars else []
    errors += [f"error: {answer.no_interval_sentence}"] if answer.no_interval else []
    return f"cost: {cost} (entry {answer.entry})", *errors, f"belief: {answer.sentence}"


def _format_error_bar(answer: Answer, name: str) -> str:
    """Return the half-widths of a column's intervals as text, from the narrowest to the widest."""
    low, high = answer.intervals[name]
    halves, blank = [], 0
    for value, first, last in zip(answer.table[name].to_pylist(), low, high, strict=True):
        if value is None or first is None or last is None:
            blank += 1
        else:
            halves.append(max(last - float(value), float(value) - first))
    ends = dict.fromkeys((format_number_up(min(halves)), format_number_up(max(halves)))) if halves else {}
    shown = [f"{name} ± {' to ± '.join(ends)}"] if ends else []
    untold = [f"{name} unknown for {format_count(blank, 'row', 'rows')}"] if blank else []
    return ", ".join(shown + untold) or f"{name} has no rows"


def format_explain(proposal: Plan) -> list[str]:
    """Return the lines of EXPLAIN: cost, errors, groups, belief; nothing is spent."""
    plan = proposal.query_plan
    lines = [f"cost: epsilon {format_number(proposal.cost)} of {format_number(plan.promise.epsilon)}"]
    if proposal.repeated:
        lines = ["cost: nothing: the same question was answered before"]
    for each in proposal.expected_errors:
        error = f"± {format_number_up(each.error95)}" if each.error95 is not None else each.note
        lines.append(f"error at {format_percent(plan.confidence)}: {each.name}: {error} ({each.mechanism})")
    groups = "selected privately" if plan.group_count is None else f"{plan.group_count:,}"
    lines.append(f"groups: {groups}")
    highest = format_percent_up(proposal.belief_after.highest)
    after = f"at most {highest} after it" if proposal.fits else "it does not fit"
    lines.append(f"belief: {format_percent(proposal.belief_before.prior)} → {after}")
    return lines
