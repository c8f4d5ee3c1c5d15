"""Privacy models, one file each; any number of them may be asked for together."""

from discreet.anonymity.models.k_anonymity import KAnonymity
from discreet.anonymity.models.model import Model

MODELS: tuple[type[Model], ...] = (KAnonymity,)

__all__ = ["MODELS", "KAnonymity", "Model"]
