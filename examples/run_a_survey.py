"""Run a survey: answers are randomized before they leave a person, and the distribution is learned.

The people of this survey are in this file. `discreet collect survey survey.yaml` puts the same questions into
a browser, which draws by the same law.

    python examples/run_a_survey.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from discreet.belief.wording import format_percent
from discreet.services.collect.survey_files import load_survey

SURVEY = """
title: Health at work
promise: 1%:5%
questions:
  illness:
    text: What were you treated for last?
    values: [Nothing, Flu, Diabetes, Depression, Cancer]
"""
PEOPLE = (6_000, 2_500, 800, 500, 200)


def main() -> None:
    Path("survey.yaml").write_text(SURVEY)
    survey = load_survey(Path("survey.yaml"))
    (question,) = survey.questions
    operator = question.operator
    print(f"{question.text} A report names {operator.size} of {len(question.values)} answers;")
    print(
        f"one's own is among them with {format_percent(operator.p)}, any other with "
        f"{format_percent(operator.q)}."
    )
    print(f"All that a person sends loses epsilon {survey.epsilon:.3f} of {survey.promise.epsilon:.3f}.\n")

    answers = np.repeat(np.arange(len(PEOPLE)), PEOPLE)
    reports = operator.randomize(answers)  # this happens at each person's
    found = operator.estimate(reports)  # this is all that a server can do
    low, high = found.intervals(0.95)
    print(f"{'':12}{'truth':>8}{'share':>8}{'from':>8}{'to':>8}")
    for place, value in enumerate(question.values):
        truth, share = PEOPLE[place] / sum(PEOPLE), found.shares[place]
        print(f"{value:12}{truth:>8.1%}{share:>8.1%}{low[place]:>8.1%}{high[place]:>8.1%}")

    everyone = np.full(len(PEOPLE), 1 / len(PEOPLE))
    after = max(operator.posterior(everyone, reports[0]))
    print(f"\nWho gave each answer 20% gives one {format_percent(after)} after this person's report.")


if __name__ == "__main__":
    main()
