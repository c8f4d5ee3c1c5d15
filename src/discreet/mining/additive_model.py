"""The released additive model: a score for every bin, whose sums give the probability of each class."""

from __future__ import annotations

import json
from dataclasses import dataclass

from discreet.core.guarantees import Guarantee
from discreet.mechanisms.sampling import Floats
from discreet.mining.attributes import Codes
from discreet.mining.schema import Schema
from discreet.mining.scores import Scores

FORMAT = "discreet-additive"


@dataclass(frozen=True, kw_only=True, eq=False)
class AdditiveModel:
    """A forest of trees over one attribute each, or a naive Bayes classifier."""

    schema: Schema
    scores: Scores
    guarantee: Guarantee

    def predict(self, codes: Codes) -> Floats:
        """Return the probabilities of the classes for each row."""
        return self.scores.predict_probabilities(codes, self.schema)

    def list_bin_scores(self, attribute: int, output: int = 0) -> list[tuple[str, float]]:
        """Return the score that each bin of an attribute adds."""
        begin, end = self.schema.offsets[attribute : attribute + 2]
        labels = self.schema.attributes[attribute].labels
        return list(zip(labels, self.scores.table[output, begin:end].tolist(), strict=True))

    def to_json(self) -> str:
        """Return intercepts and the scores of every attribute's bins, for each output, as JSON."""
        target = self.schema.target
        return json.dumps(
            {
                "format": FORMAT,
                "guarantee": repr(self.guarantee),
                "target": target.name if target else None,
                "classes": list(target.values) if target else [],
                "intercept": self.scores.intercepts.tolist(),
                "features": [
                    {
                        "name": each.name,
                        "bins": list(each.labels),
                        "scores": [
                            [score for _, score in self.list_bin_scores(j, output)]
                            for output in range(len(self.scores.table))
                        ],
                    }
                    for j, each in enumerate(self.schema.attributes)
                ],
            },
            indent=1,
        )
