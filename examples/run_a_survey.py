"""Run a survey: answers are randomized before they leave a person, and the distribution is learned.

The people of this survey are in this file. `discreet collect survey survey.yaml` puts the same questions into
a browser, which draws by the same law.

    python examples/run_a_survey.py
"""

from __future__ import annotations

import numpy as np

from discreet import Promise
from discreet.local import SubsetSelection

QUESTION = "What were you treated for last?"
VALUES = ("Nothing", "Flu", "Diabetes", "Depression", "Cancer")
PEOPLE = (6_000, 2_500, 800, 500, 200)


def main() -> None:
    promise = Promise(0.01, 0.05)  # `design_frequencies(promise, …)` compares the operators that keep it
    operator = SubsetSelection.for_epsilon(promise.epsilon, values=len(VALUES))
    print(f"{QUESTION} A report names {operator.size} of {len(VALUES)} answers;")
    print(f"one's own is among them with {operator.p:.1%}, any other with {operator.q:.1%}.")
    print(f"All that a person sends loses epsilon {operator.epsilon:.3f} of {promise.epsilon:.3f}.\n")

    answers = np.repeat(np.arange(len(PEOPLE)), PEOPLE)
    reports = operator.randomize(answers)  # this happens at each person's
    found = operator.estimate(reports)  # this is all that a server can do
    low, high = found.intervals(0.95)
    print(f"{'':12}{'truth':>8}{'share':>8}{'from':>8}{'to':>8}")
    for place, value in enumerate(VALUES):
        truth, share = PEOPLE[place] / sum(PEOPLE), found.shares[place]
        print(f"{value:12}{truth:>8.1%}{share:>8.1%}{low[place]:>8.1%}{high[place]:>8.1%}")

    everyone = np.full(len(PEOPLE), 1 / len(PEOPLE))
    after = max(operator.posterior(everyone, reports[0]))
    print(f"\nAn attacker who gave each answer 20% gives one {after:.1%} after this person's report.")


if __name__ == "__main__":
    main()
