"""Belief: the most that an attacker may come to believe about one person, and the epsilon that bounds it.

This package has the promise, the conversion from (prior, posterior) to gamma and epsilon and back from any
privacy loss, the effect of single outputs on the belief in a property, and the methods to choose epsilon.
Nothing here reads data or draws noise: it is arithmetic about the releases of other packages.
"""

from discreet.belief.breaches import (
    Amplification,
    Breach,
    WorstProperty,
    amplification,
    downward_breaches,
    posteriors,
    upward_breaches,
    worst_property,
)
from discreet.belief.choice import Choice, WhatIf
from discreet.belief.choosing import (
    accuracy_first,
    epsilon_generation,
    identifiability,
    limiting_breaches,
    possible_worlds,
    relative_error,
    risk_profile,
    tight_identifiability,
)
from discreet.belief.inference import Likelihood, posterior, uniform
from discreet.belief.information import (
    bound_from_information,
    breach_bound,
    mutual_information,
    worst_case_information,
    worst_case_information_of,
)
from discreet.belief.odds import (
    Gain,
    chance_of_reaching,
    gamma,
    highest,
    largest_gain,
    logit,
    lowest,
    sigmoid,
)
from discreet.belief.promise import Promise
from discreet.belief.tails import smallest_gamma, tail
from discreet.belief.update import Belief, belief

__all__ = [
    "Amplification",
    "Belief",
    "Breach",
    "Choice",
    "Gain",
    "Likelihood",
    "Promise",
    "WhatIf",
    "WorstProperty",
    "accuracy_first",
    "amplification",
    "belief",
    "bound_from_information",
    "breach_bound",
    "chance_of_reaching",
    "downward_breaches",
    "epsilon_generation",
    "gamma",
    "highest",
    "identifiability",
    "largest_gain",
    "limiting_breaches",
    "logit",
    "lowest",
    "mutual_information",
    "possible_worlds",
    "posterior",
    "posteriors",
    "relative_error",
    "risk_profile",
    "sigmoid",
    "smallest_gamma",
    "tail",
    "tight_identifiability",
    "uniform",
    "upward_breaches",
    "worst_case_information",
    "worst_case_information_of",
    "worst_property",
]
