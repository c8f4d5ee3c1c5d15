"""Mining: models, answers to many questions and synthetic tables, learned from counts alone.

`model_training.plan_training` plans a model over a table of the policy before data is read, and
`model_training.train_model` trains it from an engine's counts. The estimators do the same for rows that are
at hand, as scikit-learn does.
"""

from discreet.mining.estimators import (
    ESTIMATORS,
    PrivateForestClassifier,
    PrivateNaiveBayes,
    PrivateTreeClassifier,
    PrivateTreeRegressor,
)

__all__ = [
    "ESTIMATORS",
    "PrivateForestClassifier",
    "PrivateNaiveBayes",
    "PrivateTreeClassifier",
    "PrivateTreeRegressor",
]
