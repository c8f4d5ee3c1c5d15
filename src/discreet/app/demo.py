"""The demonstration: one private answer under a promise, what another rule would have meant, and an attack.

Question    mean hours_per_week by workclass in `census`, the question of the EGM paper, under 1% → 5%.
EGM         what the Epsilon Generation Model would set for this table, the belief that its epsilon allows,
            and the epsilon that its noise, taken for a sensitivity of 1, really has for a class as small
            as the paper's smallest.
Attack      averaging, run for real: the same question many times, and then with a budget that is changed a
            little each time so that every answer is fresh, until the ledger refuses.

Everything is on made-up people. The ledger of the demonstration lives in memory, so each run starts anew.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from discreet.accounting.ledger_storage import MEMORY
from discreet.app.answers import Answer
from discreet.app.curator import Curator
from discreet.app.policies import load
from discreet.app.sample import SAMPLES, write, write_policy
from discreet.app.sample.census import PEOPLE
from discreet.attacks.averaging import expected_posterior
from discreet.belief import Belief, EpsilonChoice, Promise, epsilon_generation
from discreet.core.errors import BudgetError
from discreet.core.randomness import Randomness
from discreet.mechanisms.discrete_laplace import DiscreteLaplace

SQL = "SELECT workclass, AVG(hours_per_week) AS hours, COUNT(*) AS people FROM census GROUP BY workclass"
SHARE = Fraction(1, 2)
REPEATS = 1_000
FRESH = Fraction(1, 10)
SMALLEST = 7  # people of class Never-worked in the EGM paper


@dataclass(frozen=True, kw_only=True)
class Averaging:
    """The attack: `values` different answers in `repeats` tries; `fresh` more before the ledger refused.

    `unbounded` is what would be believed on average of a true claim, had every repetition got fresh noise.
    """

    repeats: int
    values: int
    fresh: int
    refusal: str
    belief: Belief
    unbounded: float


@dataclass(frozen=True, kw_only=True)
class Demo:
    """Everything that the demonstration shows."""

    promise: Promise
    answer: Answer
    egm: EpsilonChoice
    real_epsilon: float
    attack: Averaging
    policy: Path


def run(
    folder: Path, *, random: Randomness | None = None, progress: Callable[[str], None] | None = None
) -> Demo:
    """Make the sample in `folder` if it is not there, ask, compare, and attack."""
    write(folder, progress)
    path = write_policy(folder)
    policy = load(path).model_copy(update={"ledger": MEMORY, "store": str(folder.absolute() / "store")})
    schema, _ = SAMPLES["census"]
    # made-up people have no promise to lose: a demonstration beside a ledger about them is one more
    with Curator.under(policy, progress=progress, random=random, separate_promise=True) as curator:
        answer = curator.ask(SQL, share=SHARE)
        egm = epsilon_generation(PEOPLE, len(schema.columns))
        hours = schema.column("hours_per_week")
        spread = (hours.high or 0) - (hours.low or 0)
        return Demo(
            promise=curator.promise,
            answer=answer,
            egm=egm,
            real_epsilon=egm.epsilon * spread / SMALLEST,
            attack=_attack(curator, answer),
            policy=path,
        )


def _attack(curator: Curator, first: Answer) -> Averaging:
    answers = [curator.ask(SQL, share=SHARE) for _ in range(REPEATS)]
    fresh, refusal = 0, ""
    while not refusal:
        try:
            curator.ask(SQL, epsilon=FRESH + Fraction(fresh, 10**9))
            fresh += 1
        except BudgetError as error:
            refusal = error.message
    count_noise = DiscreteLaplace(epsilon=Fraction(first.epsilon) / 2, sensitivity=2)
    return Averaging(
        repeats=REPEATS,
        values=len({str(each.rows) for each in answers}),
        fresh=fresh,
        refusal=refusal,
        belief=curator.ledger.compute_belief(),
        unbounded=expected_posterior(count_noise, prior=curator.promise.prior, answers=REPEATS),
    )
