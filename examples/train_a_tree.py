"""Train a tree: rows stay in the engine, every level is one statement, and the model is a charged release.

python examples/train_a_tree.py
"""

from __future__ import annotations

import numpy as np
import pyarrow.parquet as pq

from discreet import draw, train, write_sample_data
from discreet.mining import PrivateTreeClassifier

FEATURES = ["age", "education_num", "hours_per_week"]


def main() -> None:
    policy = write_sample_data("sample")
    trained = train(policy, "tree", "census", "income", epsilon=0.5)
    model = trained.model
    questions = [each for each in model["question"] if each]
    print(f"A tree over {len(model['features'])} columns that asks {len(questions)} questions, the first:")
    print(f"  {questions[0]}, of about {model['n_node_samples'][0]:,.0f} people")
    print(trained.sentence)
    draw(trained).save("tree.svg")
    print("wrote tree.svg\n")

    # rows that are at hand: scikit-learn's conventions; bounds and classes are declared, not looked up
    census = pq.read_table("sample/census.parquet")
    rows = np.column_stack([census[name].to_numpy() for name in FEATURES])
    labels = np.asarray(census["income"].to_pylist())
    taught, held_out = slice(0, 40_000), slice(40_000, None)
    for epsilon in (0.1, 1.0):
        tree = PrivateTreeClassifier(
            epsilon=epsilon, depth=4, bounds=[(17, 90), (1, 16), (1, 99)], classes=["<=50K", ">50K"]
        ).fit(rows[taught], labels[taught])
        print(
            f"epsilon {epsilon}: {tree.score(rows[held_out], labels[held_out]):.1%} of other people are right"
        )


if __name__ == "__main__":
    main()
