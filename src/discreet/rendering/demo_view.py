"""The demonstration on the terminal and as a JSON object."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from discreet.belief.odds import highest_posterior
from discreet.belief.wording import format_number, format_percent, format_percent_up
from discreet.rendering.answer_view import show_answer
from discreet.rendering.ledger_json import promise_to_json
from discreet.services.demo import SMALLEST, SQL, Demo
from discreet.services.sample.census import PEOPLE

MAX_WIDTH = 100


def print_demo(console: Console, demo: Demo) -> None:
    """Print the answer, the comparison with EGM, the attack, and what to try next."""
    console.print(f"{PEOPLE:,} made-up people are asked how many hours a week they work:", highlight=False)
    console.print(f"{SQL}\n", style="bold", highlight=False, soft_wrap=True)
    show_answer(console, demo.answer)
    console.print()
    notes = Table(box=None, show_header=False, padding=(0, 2, 1, 0), width=min(console.width, MAX_WIDTH))
    notes.add_column(style="bold", no_wrap=True)
    notes.add_column()
    for title, text in (
        ("promise", _format_promise(demo)),
        ("EGM", _format_egm(demo)),
        ("attack", _format_attack(demo)),
    ):
        notes.add_row(title, text)
    console.print(notes)
    console.print(
        f'Try it: discreet ask --policy {demo.policy} "SELECT sex, AVG(age) FROM census GROUP BY sex"',
        highlight=False,
        soft_wrap=True,
    )


def _format_promise(demo: Demo) -> str:
    promise = demo.promise
    return (
        f"{format_percent(promise.prior)} → {format_percent(promise.posterior)}, in all epsilon "
        f"{format_number(promise.epsilon)}. "
        "It is stated for an attacker who knows all other records or takes records as independent; that "
        "someone is in the data is not hidden."
    )


def _format_egm(demo: Demo) -> str:
    egm, real = demo.egm, demo.real_epsilon
    allowed = ", ".join(
        f"{format_percent(p)} → {format_percent_up(highest_posterior(p, egm.epsilon))}" for p in (0.01, 0.5)
    )
    return (
        f"The Epsilon Generation Model would take epsilon {format_number(egm.epsilon)} from the "
        "table's size alone. "
        f"That allows {allowed}, if the noise fits the question; its noise is for a sensitivity of 1, so the "
        f"mean of a class of {SMALLEST} people has a real epsilon of {format_number(real)}: "
        f"1% → {format_percent_up(highest_posterior(0.01, real))}."
    )


def _format_attack(demo: Demo) -> str:
    attack, prior = demo.attack, format_percent(demo.promise.prior)
    return (
        f"Averaging. The same question {attack.repeats:,} more times: {attack.distinct_answers} answer, "
        f"charged once. Then with a slightly different budget each time, for fresh noise: "
        f"{attack.fresh_answers} answers, and the next was refused. All of them together take {prior} to at "
        f"most {format_percent_up(attack.belief.highest)}. "
        f"Without a ledger, {attack.repeats:,} fresh answers would take a true claim from {prior} to "
        f"{format_percent(attack.unlimited_posterior)} on average."
    )


def demo_to_json(demo: Demo) -> dict[str, object]:
    """Return the results as a JSON object, in the shapes of `promise`, `ask` and `attack`."""
    promise, attack = demo.promise, demo.attack
    return {
        "promise": promise_to_json(promise),
        "ask": {"sql": SQL, **demo.answer.to_json()},
        "egm": {
            "epsilon": demo.egm.epsilon,
            "posterior": highest_posterior(promise.prior, demo.egm.epsilon),
            "real_epsilon": demo.real_epsilon,
            "smallest": SMALLEST,
        },
        "attacks": [
            {
                "name": "averaging",
                "success": attack.belief.highest,
                "baseline": promise.prior,
                "victims": [{"prior": promise.prior, "posterior": attack.belief.highest}],
                "repeats": attack.repeats,
                "different_answers": attack.distinct_answers,
                "fresh_answers": attack.fresh_answers,
                "without_a_ledger": attack.unlimited_posterior,
            }
        ],
        "policy": str(demo.policy),
    }
