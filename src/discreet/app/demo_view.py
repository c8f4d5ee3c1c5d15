"""How the demonstration looks: for people on a console, for machines as one object."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from discreet.app.demo import CONFIDENCE, Demo, Group
from discreet.app.sample.census import PEOPLE
from discreet.belief.wording import number, percent

TOO_FEW = "not enough people to tell"


def show(console: Console, demo: Demo) -> None:
    """The answer as a table, then cost, belief and attack."""
    console.print(
        f"How many hours a week do people work? (census, {PEOPLE:,} made-up people)",
        style="bold",
        highlight=False,
    )
    console.print(_answer(demo))
    console.print(f"Each ± holds with {CONFIDENCE:.0%} confidence.\n", style="dim", highlight=False)
    notes = Table(box=None, show_header=False, padding=(0, 2, 1, 0), width=min(console.width, 100))
    notes.add_column(style="bold", no_wrap=True)
    notes.add_column()
    for title, text in (("Cost", _cost(demo)), ("Belief", _belief(demo)), ("Attack", _attack(demo))):
        notes.add_row(title, text)
    console.print(notes)


def _answer(demo: Demo) -> Table:
    table = Table(header_style="bold", box=None, padding=(0, 3, 0, 0))
    table.add_column("workclass")
    table.add_column("mean hours", justify="right")
    table.add_column("people", justify="right")
    for group in demo.groups:
        table.add_row(group.workclass, _mean(group), f"{group.people:,} ± {group.people_error}")
    return table


def _mean(group: Group) -> str:
    if group.mean is None:
        return TOO_FEW
    return f"{group.mean:.2f} ± {max(group.high - group.mean, group.mean - group.low):.2f}"


def _cost(demo: Demo) -> str:
    return (
        f"epsilon {number(demo.epsilon)} of the {number(demo.promise.epsilon)} that the promise allows in "
        "all; half of it for the sums of hours, half for the counts."
    )


def _belief(demo: Demo) -> str:
    promise = demo.promise
    return (
        f"What an attacker believes of one person's record with {percent(promise.prior)} can become at most "
        f"{percent(demo.belief)} by this answer. The promise: never more than {percent(promise.posterior)}, "
        "whatever else is asked. (For an attacker who knows all other records or takes records as "
        "independent. That someone is in the data is not hidden.)"
    )


def _attack(demo: Demo) -> str:
    attack, promise = demo.attack, demo.promise
    return (
        f"Averaging: ask the same {attack.repeats:,} times, so that the noise cancels out. With fresh noise "
        f"each time, the counts alone would turn a true claim of {percent(promise.prior)} into one of "
        f"{percent(attack.fresh)}, on average, at a cost of epsilon {number(attack.epsilon_of_fresh)}; the "
        f"promise has room for {attack.allowed} such answers (at most {percent(promise.posterior)}). So a "
        f"repeated question must get its first answer again: then {percent(promise.prior)} stays at most "
        f"{percent(demo.belief)}. (Computed, not run. This demo keeps no ledger: on made-up people, each run "
        "draws fresh noise.)"
    )


def as_object(demo: Demo) -> dict[str, object]:
    """The machine-readable form, in the shapes of `promise`, `ask` and `attack`."""
    promise, attack = demo.promise, demo.attack
    belief = {"prior": promise.prior, "posterior": demo.belief}
    return {
        "promise": {
            "prior": promise.prior,
            "posterior": promise.posterior,
            "secret": promise.secret.value,
            "group": promise.group,
            "tail": promise.tail,
            "gamma": promise.gamma,
            "epsilon": promise.epsilon,
        },
        "ask": {
            "columns": ["workclass", "mean_hours", "people"],
            "rows": [[group.workclass, group.mean, group.people] for group in demo.groups],
            "intervals": [
                {
                    "mean_hours": [group.low, group.high],
                    "people": [max(group.people - group.people_error, 0), group.people + group.people_error],
                }
                for group in demo.groups
            ],
            "confidence": CONFIDENCE,
            "epsilon": demo.epsilon,
            "belief": belief,
        },
        "attacks": [
            {
                "name": "averaging",
                "computed": True,
                "success": attack.stored,
                "baseline": promise.prior,
                "victims": [belief],
                "repeats": attack.repeats,
                "success_with_fresh_noise": attack.fresh,
                "epsilon_of_fresh_noise": attack.epsilon_of_fresh,
                "answers_within_promise": attack.allowed,
            }
        ],
    }
