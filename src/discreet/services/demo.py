"""The demonstration: one private answer under a promise, a comparison with EGM, and an attack.

Question    mean hours_per_week by workclass in `census`, the question of the EGM paper, under 1% → 5%.
EGM         the epsilon that the Epsilon Generation Model sets for this table, the belief that it allows,
            and the epsilon that its noise, scaled to a sensitivity of 1, really has for a class as small
            as the paper's smallest.
Attack      averaging, run for real: the same question many times, and then with a budget that is changed a
            little each time so that every answer is fresh, until the ledger refuses.

All people are synthetic. The ledger is in memory, so each run starts with a full budget.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from discreet.accounting.ledger_storage import MEMORY
from discreet.attacks.averaging import compute_expected_posterior
from discreet.belief import Belief, EpsilonChoice, Promise, epsilon_generation
from discreet.core.errors import BudgetError
from discreet.core.randomness import Randomness
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from discreet.services.answers import Answer
from discreet.services.curator import Curator
from discreet.services.policies import load_policy
from discreet.services.progress import ignore_progress
from discreet.services.sample import SAMPLES, write_policy, write_samples
from discreet.services.sample.census import PEOPLE

SQL = "SELECT workclass, AVG(hours_per_week) AS hours, COUNT(*) AS people FROM census GROUP BY workclass"
SHARE = Fraction(1, 2)
REPEATS = 1_000
FRESH = Fraction(1, 10)
SMALLEST = 7  # people of class Never-worked in the EGM paper


@dataclass(frozen=True, kw_only=True)
class AveragingAttack:
    """The averaging attack: `distinct_answers` in `repeats` tries, then `fresh_answers` before a refusal.

    `unlimited_posterior` is the mean posterior of a true claim if every repetition got fresh noise.
    """

    repeats: int
    distinct_answers: int
    fresh_answers: int
    refusal: str
    belief: Belief
    unlimited_posterior: float


@dataclass(frozen=True, kw_only=True)
class Demo:
    """The results of the demonstration."""

    promise: Promise
    answer: Answer
    egm: EpsilonChoice
    real_epsilon: float
    attack: AveragingAttack
    policy: Path


def run_demo(
    folder: Path, *, random: Randomness | None = None, progress: Callable[[str], None] = ignore_progress
) -> Demo:
    """Write the sample into `folder` if it is missing, then ask, compare and attack."""
    write_samples(folder, progress)
    path = write_policy(folder)
    policy = load_policy(path).model_copy(
        update={"ledger": MEMORY, "store": str(folder.absolute() / "store")}
    )
    schema, _ = SAMPLES["census"]
    # The people are synthetic, so a second promise about the same data does no harm.
    with Curator.open_policy(policy, progress=progress, random=random, separate_promise=True) as curator:
        answer = curator.ask(SQL, share=SHARE)
        egm = epsilon_generation(PEOPLE, len(schema.columns))
        hours = schema.get_column("hours_per_week")
        spread = (hours.high or 0) - (hours.low or 0)
        return Demo(
            promise=curator.promise,
            answer=answer,
            egm=egm,
            real_epsilon=egm.epsilon * spread / SMALLEST,
            attack=_run_averaging_attack(curator, answer),
            policy=path,
        )


def _run_averaging_attack(curator: Curator, first: Answer) -> AveragingAttack:
    answers = [curator.ask(SQL, share=SHARE) for _ in range(REPEATS)]
    fresh, refusal = 0, ""
    while not refusal:
        try:
            curator.ask(SQL, epsilon=FRESH, fresh=True)
            fresh += 1
        except BudgetError as error:
            refusal = error.message
    count_noise = DiscreteLaplace(epsilon=Fraction(first.epsilon) / 2, sensitivity=2)
    return AveragingAttack(
        repeats=REPEATS,
        distinct_answers=len({str(each.rows) for each in answers}),
        fresh_answers=fresh,
        refusal=refusal,
        belief=curator.ledger.compute_belief(),
        unlimited_posterior=compute_expected_posterior(
            count_noise, prior=curator.promise.prior, answers=REPEATS
        ),
    )
