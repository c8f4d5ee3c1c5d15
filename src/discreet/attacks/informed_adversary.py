"""The informed adversary, who knows everything but one person's value, and sees answers with known noise.

Knows       all other records, so the exact answer in every possible world; the mechanism; a prior.
Learns      the exact posterior of every world, by Bayes' rule on the answers: the most that anybody can learn
            from the same answers.
Score       each release is attacked separately: how often the most probable world is the true one; the
            baseline is the world with the highest prior. The score is fair only over worlds drawn by the
            prior: if the true world is at an end of the range, guessing that end is often right whatever was
            released.
Stopped by  noise whose epsilon is ln gamma of the promise: odds then change by a factor of gamma at most.
            Noise at an epsilon chosen without regard to priors may not: the LPB paper's Table I has a mean at
            epsilon 2 that raises 20% to 54%.

[LPB]       Ouyang, Yin & Liu, Limiting Privacy Breaches in Differential Privacy, Table I.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from discreet.attacks.findings import Finding, Findings, select_strongest
from discreet.belief.informed_adversary import SupportsLikelihood, compute_posterior, uniform_prior
from discreet.core.binomial import clopper_pearson
from discreet.core.errors import RequestError
from discreet.core.number_checks import Real


@dataclass(frozen=True, kw_only=True)
class InformedAdversary:
    """An adversary whose `worlds` map each possible value of the person to the exact answer.

    >>> from discreet.mechanisms import Laplace
    >>> noise = Laplace(epsilon=2, sensitivity=2.25, resolution=0.001)
    >>> table = InformedAdversary(worlds={x: (6 + x) / 4 for x in (1, 2, 3, 5, 10)}, mechanism=noise)
    >>> {x: round(after, 4) for x, after in table.compute_posteriors(5.041).items()}
    {1: 0.0734, 2: 0.0916, 3: 0.1144, 5: 0.1785, 10: 0.5421}
    """

    worlds: Mapping[object, float]
    mechanism: SupportsLikelihood[float]
    prior: Mapping[object, Real] | None = None
    victim: str = "the missing person"

    name: ClassVar[str] = "informed adversary"
    knows: ClassVar[str] = "every other record, and the mechanism"
    learns: ClassVar[str] = "the exact posterior of each value that the person may have"
    stopped_by: ClassVar[str] = "noise that was calibrated by the promise"

    def __post_init__(self) -> None:
        if len(self.worlds) < 2:
            raise RequestError("informed adversary: there is only one world.", hint="Give two or more.")

    @property
    def prior_by_world(self) -> dict[object, float]:
        """The prior of each world; uniform unless given."""
        return {w: float(p) for w, p in (self.prior or uniform_prior(self.worlds)).items()}

    def compute_posteriors(self, *outputs: float) -> dict[object, float]:
        """Return the posterior of each world after all these independent outputs."""
        now = self.prior_by_world
        for output in outputs:
            now = compute_posterior(self.mechanism, self.worlds, now, output)
        return now

    def run(self, outputs: Sequence[float], truths: Sequence[object]) -> Findings:
        """Attack several releases separately; `truths` are the worlds that produced them."""
        fits = len(outputs) == len(truths) > 0 and all(truth in self.worlds for truth in truths)
        if not fits:
            raise RequestError(
                "informed adversary: every output needs a true world that is one of the worlds.",
                hint="Give at least one output, and the person's true value for each.",
            )
        beliefs = {output: self.compute_posteriors(output) for output in dict.fromkeys(outputs)}
        made = list(zip(outputs, truths, strict=True))
        right = sum(_find_most_probable(beliefs[output]) == truth for output, truth in made)
        return Findings(
            attack=self.name,
            knows=self.knows,
            learns=self.learns,
            stopped_by=self.stopped_by,
            success=right / len(made),
            baseline=sum(map(self._compute_guess_success, truths)) / len(made),
            attempts=len(made),
            interval=clopper_pearson(right, len(made)),
            victims=select_strongest([self._build_finding(beliefs[output], truth) for output, truth in made]),
            figures={
                "mean posterior of the truth": sum(beliefs[output][truth] for output, truth in made)
                / len(made),
                "highest posterior": max(max(each.values()) for each in beliefs.values()),
            },
        )

    def _compute_guess_success(self, truth: object) -> float:
        """Return the success probability of guessing a world with the highest prior."""
        highest = max(self.prior_by_world.values())
        likeliest = [world for world, p in self.prior_by_world.items() if p == highest]
        return (truth in likeliest) / len(likeliest)

    def _build_finding(self, posteriors: Mapping[object, float], truth: object) -> Finding:
        before = self.prior_by_world
        claim = max(posteriors, key=lambda world: posteriors[world] - before[world])
        return Finding(
            victim=self.victim,
            claim=f"it is {claim}",
            prior=before[claim],
            posterior=posteriors[claim],
            truth=claim == truth,
        )


def _find_most_probable(posteriors: Mapping[object, float]) -> object:
    return max(posteriors, key=posteriors.__getitem__)
