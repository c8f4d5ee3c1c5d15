"""Mining: models, answers to many questions and synthetic tables, learned from counts alone.

`learning.plan` says what a model over a table of the policy costs before data is read, `learning.train`
learns it from an engine's counts. The estimators do the same for rows that are at hand, as scikit-learn does.
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
