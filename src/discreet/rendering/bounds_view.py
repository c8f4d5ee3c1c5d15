"""Terminal and JSON views of learned bounds and values: what was learned, its price, cost and belief."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console

from discreet.belief.wording import format_number, format_percent, format_percent_up
from discreet.rendering.terminal import print_facts
from discreet.services.bounds.policy_writer import format_entries
from discreet.services.bounds.value_scale import format_bound

if TYPE_CHECKING:
    from discreet.services.bounds.learn_bounds import BoundsPlan, LearnedBounds


def plan_to_json(plan: BoundsPlan) -> dict[str, object]:
    """Return the JSON object of a plan."""
    belief = {
        "prior": plan.belief_before.prior,
        "before": plan.belief_before.highest,
        "after": plan.belief_after.highest,
    }
    return {**plan.certificate, "belief": belief, "fits": plan.fits_budget, "repeated": plan.repeated}


def bounds_to_json(found: LearnedBounds, *, written: str | None = None) -> dict[str, object]:
    """Return the JSON object of what was learned; `written` is the policy that it was written into."""
    return {
        **found.plan.certificate,
        "low": None if found.low is None else format_bound(found.low),
        "high": None if found.high is None else format_bound(found.high),
        "values": None if found.values is None else list(found.values),
        "noisy": found.rows.to_pylist(),
        "policy": format_entries(found),
        "written": written,
        "belief": {"prior": found.belief.prior, "posterior": found.belief.highest, "tail": found.belief.tail},
        "entry": found.entry,
        "repeated": found.repeated,
        "sentence": found.sentence,
    }


def print_plan(console: Console, plan: BoundsPlan) -> None:
    """Print a plan: price, cost and effect on belief."""
    before, after = (format_percent_up(each.highest) for each in (plan.belief_before, plan.belief_after))
    change = f"{format_percent(plan.belief_before.prior)} → at most {after} after it ({before} before)"
    if not plan.fits_budget:
        change = f"{before}, as before: it costs more than is left and would be refused"
    relation = plan.guarantee.relation
    console.print()
    print_facts(
        console,
        [
            *_describe_measurement(plan),
            ("cost", _describe_cost(plan, repeated=plan.repeated)),
            ("belief", change),
            ("neighbours", f"{relation.neighbours} ({relation.value})"),
        ],
    )


def print_bounds(console: Console, found: LearnedBounds) -> None:
    """Print what was learned, its entries in a policy, its price, cost and belief."""
    console.print(found.describe(), highlight=False, markup=False, soft_wrap=True)
    entries = ", ".join(f"{name}: {value}" for name, value in format_entries(found).items())
    cost = _describe_cost(found.plan, repeated=found.repeated)
    facts = [
        *([("policy", entries)] if entries else []),
        *_describe_measurement(found.plan),
        ("cost", f"{cost} (entry {found.entry})"),
        ("belief", found.sentence),
    ]
    console.print()
    print_facts(console, facts)


def _describe_cost(plan: BoundsPlan, *, repeated: bool) -> str:
    if repeated:
        return "nothing: the same was learned before"
    return f"epsilon {format_number(float(plan.epsilon))}"


def _describe_measurement(plan: BoundsPlan) -> list[tuple[str, str]]:
    certificate = plan.certificate
    noise = certificate.get("noise")
    how = f"{certificate['bins']} noisy counts, {noise}" if noise else str(certificate["mechanism"])
    return [("measured", f"{how}, threshold {plan.mechanism.threshold:,}"), ("price", plan.price)]
