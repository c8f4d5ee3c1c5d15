"""Ask a table anything; learn about no one.

Promise, Policy, Curator     what an attacker may come to believe, what is declared of the data, who answers
ask, tabulate, itemsets,     releases under the promise: each is charged to the ledger
open_stream, synthesize,
train, learn_bounds
check, anonymize, attack,    for the custodian: check the data, publish a recoded table, attack a release,
audit                        audit an epsilon
draw, write_sample_data      charts, and made-up people to try all of it on
models, local, mining,       submodules: privacy models, local randomization, estimators as in scikit-learn,
belief, results              the arithmetic of belief, and the classes of results

`docs/reference/python.md` has every name with an example. All other modules are private.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet import belief as belief
    from discreet import local as local
    from discreet import mining as mining
    from discreet import models as models
    from discreet import results as results
    from discreet.api.anonymizer import Anonymizer as Anonymizer
    from discreet.api.anonymizer import Release as Release
    from discreet.api.charged_verbs import ask as ask
    from discreet.api.charged_verbs import itemsets as itemsets
    from discreet.api.charged_verbs import learn_bounds as learn_bounds
    from discreet.api.charged_verbs import open_stream as open_stream
    from discreet.api.charged_verbs import synthesize as synthesize
    from discreet.api.charged_verbs import tabulate as tabulate
    from discreet.api.charged_verbs import train as train
    from discreet.api.charts import draw as draw
    from discreet.api.custodian_verbs import anonymize as anonymize
    from discreet.api.custodian_verbs import attack as attack
    from discreet.api.custodian_verbs import audit as audit
    from discreet.api.custodian_verbs import check as check
    from discreet.api.custodian_verbs import write_sample_data as write_sample_data
    from discreet.belief.promise import Promise as Promise
    from discreet.core.errors import AlreadyRunningError as AlreadyRunningError
    from discreet.core.errors import BudgetError as BudgetError
    from discreet.core.errors import BusyError as BusyError
    from discreet.core.errors import DataError as DataError
    from discreet.core.errors import DiscreetError as DiscreetError
    from discreet.core.errors import EngineFault as EngineFault
    from discreet.core.errors import InvalidParameterError as InvalidParameterError
    from discreet.core.errors import ModelNotMetError as ModelNotMetError
    from discreet.core.errors import RequestError as RequestError
    from discreet.services.answers import Answer as Answer
    from discreet.services.curator import Curator as Curator
    from discreet.services.plans import Plan as Plan
    from discreet.services.policy_model import Policy as Policy

__version__ = "0.1.0"

_HOMES = {
    "Promise": "discreet.belief.promise",
    "Policy": "discreet.services.policy_model",
    "Curator": "discreet.services.curator",
    "Plan": "discreet.services.plans",
    "Answer": "discreet.services.answers",
    "Anonymizer": "discreet.api.anonymizer",
    "Release": "discreet.api.anonymizer",
    "ask": "discreet.api.charged_verbs",
    "tabulate": "discreet.api.charged_verbs",
    "itemsets": "discreet.api.charged_verbs",
    "open_stream": "discreet.api.charged_verbs",
    "synthesize": "discreet.api.charged_verbs",
    "train": "discreet.api.charged_verbs",
    "learn_bounds": "discreet.api.charged_verbs",
    "anonymize": "discreet.api.custodian_verbs",
    "attack": "discreet.api.custodian_verbs",
    "audit": "discreet.api.custodian_verbs",
    "check": "discreet.api.custodian_verbs",
    "draw": "discreet.api.charts",
    "write_sample_data": "discreet.api.custodian_verbs",
    "DiscreetError": "discreet.core.errors",
    "RequestError": "discreet.core.errors",
    "InvalidParameterError": "discreet.core.errors",
    "BudgetError": "discreet.core.errors",
    "BusyError": "discreet.core.errors",
    "AlreadyRunningError": "discreet.core.errors",
    "DataError": "discreet.core.errors",
    "ModelNotMetError": "discreet.core.errors",
    "EngineFault": "discreet.core.errors",
}
_SUBMODULES = ("belief", "local", "mining", "models", "results")

__all__ = [
    "AlreadyRunningError",
    "Anonymizer",
    "Answer",
    "BudgetError",
    "BusyError",
    "Curator",
    "DataError",
    "DiscreetError",
    "EngineFault",
    "InvalidParameterError",
    "ModelNotMetError",
    "Plan",
    "Policy",
    "Promise",
    "Release",
    "RequestError",
    "__version__",
    "anonymize",
    "ask",
    "attack",
    "audit",
    "belief",
    "check",
    "draw",
    "itemsets",
    "learn_bounds",
    "local",
    "mining",
    "models",
    "open_stream",
    "results",
    "synthesize",
    "tabulate",
    "train",
    "write_sample_data",
]


def __getattr__(name: str) -> object:
    """Import a public name on first use, so that `import discreet` is quick and loads no driver."""
    if name in _SUBMODULES:
        return import_module(f"discreet.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'discreet' has no attribute {name!r}")
    found: object = getattr(import_module(_HOMES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
