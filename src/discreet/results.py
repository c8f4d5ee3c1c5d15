"""Classes of results that verbs return, for annotations; `Plan`, `Answer`, `Release` are in `discreet`.

>>> from discreet.results import Belief
>>> Belief(prior=0.01, highest=0.05, lowest=0.002, tail=0).highest
0.05
"""

from discreet.belief import Belief
from discreet.services.answer_batches import AnswerBatch
from discreet.services.attack.evaluation import AttackEvaluation
from discreet.services.audit.audit_dispatch import AuditResult
from discreet.services.bounds.learn_bounds import LearnedBounds
from discreet.services.check.check_report import DataCheck
from discreet.services.count_publication import ReleasedCounts
from discreet.services.plan_batches import PlanBatch
from discreet.services.plans import Budget
from discreet.services.stream import Stream
from discreet.services.synthesize.synthetic_results import SyntheticTable
from discreet.services.train import TrainedModel

__all__ = [
    "AnswerBatch",
    "AttackEvaluation",
    "AuditResult",
    "Belief",
    "Budget",
    "DataCheck",
    "LearnedBounds",
    "PlanBatch",
    "ReleasedCounts",
    "Stream",
    "SyntheticTable",
    "TrainedModel",
]
