"""Ask: a plan that costs nothing, an answer with its error, the same again for free, and what is refused.

python examples/ask.py
"""

from __future__ import annotations

from discreet import Curator, RequestError, write_sample_data

QUESTION = "SELECT sex, COUNT(*) AS people, AVG(hours_per_week) AS hours FROM census GROUP BY sex"


def main() -> None:
    policy = write_sample_data("sample")  # 48,842 made-up people
    with Curator.open(policy) as curator:
        plan = curator.plan(QUESTION, epsilon=0.1)
        print(f"It would cost epsilon {plan.cost} of {curator.promise.epsilon:.3g}; nothing is read yet.")
        for each in plan.expected_errors:
            print(f"  {each.name}: {f'± {each.error95:.3g}' if each.error95 else each.note}")

        answer = curator.ask(plan)
        print()
        print(answer.to_pandas().to_string(index=False))
        low, high = (ends[0] for ends in answer.intervals["hours"])
        print(f"The first mean is from {low:.2f} to {high:.2f}, with {answer.confidence:.0%}.")
        print(answer.sentence)

        again = curator.ask(QUESTION, epsilon=0.1)
        print(f"\nAsked again: the same answer, charged again: {'no' if again.repeated else 'yes'}.")

        within = curator.plan("SELECT COUNT(*) AS n FROM census WHERE age > 80", within=50)
        print(f"A count within ±50 takes epsilon {within.cost:.3g}.")
        try:
            curator.plan("SELECT * FROM census")
        except RequestError as refused:
            print(f"Refused, for nothing: {refused}")
        print(curator.budget)


if __name__ == "__main__":
    main()
