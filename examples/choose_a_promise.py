"""Choose a promise: what it says in words, what other ways to choose epsilon come to, what noise it takes.

python examples/choose_a_promise.py
"""

from __future__ import annotations

from discreet import Promise
from discreet.belief import accuracy_first, compute_belief, identifiability


def main() -> None:
    promise = Promise(0.01, 0.05)  # a claim of 1% may be held with 5% at most, after everything
    print(promise.explain().partition("\n\n")[0], "\n")
    print(f"gamma {promise.gamma:.3f}, epsilon {promise.epsilon:.4f}")
    print(f"A count takes Laplace noise of scale {promise.laplace_scale(1):.2f}.\n")

    print("The same epsilon, for other beliefs:")
    for prior in (0.001, 0.01, 0.1, 0.5):
        print(f"  {100 * prior:g}% → at most {100 * compute_belief(prior, promise.epsilon).highest:.3g}%")

    print("\nOther ways to arrive at an epsilon, each with what it allows:")
    ways = {
        "a count within ±10, with 95%": accuracy_first(10, 0.05, noise="geometric"),
        "nobody of 1,000 is found with more than 5%": identifiability(1_000, 0.05),
    }
    for said, way in ways.items():
        allowed = compute_belief(0.01, way.epsilon).highest
        print(f"  {said}: epsilon {way.epsilon:.3g}, so 1% → at most {100 * allowed:.3g}%")


if __name__ == "__main__":
    main()
