"""Belief: the most that an attacker may come to believe about one person, and the epsilon that bounds it.

This package has the promise, the conversion from (prior, posterior) to gamma and epsilon and back from any
privacy loss, the effect of single outputs on the belief in a property, and the methods to choose epsilon.
Nothing here reads data or draws noise: it is arithmetic about the releases of other packages.
"""

from discreet.belief.belief_update import (
    Belief,
    SupportsLikelihood,
    compute_belief,
    compute_posterior,
    uniform_prior,
)
from discreet.belief.breaches import (
    Amplification,
    Breach,
    WorstProperty,
    amplification,
    compute_posteriors,
    find_downward_breaches,
    find_upward_breaches,
    find_worst_property,
)
from discreet.belief.epsilon_selection import (
    EpsilonChoice,
    WhatIf,
    accuracy_first,
    epsilon_generation,
    identifiability,
    limiting_breaches,
    possible_worlds,
    relative_error,
    risk_profile,
    tight_identifiability,
)
from discreet.belief.information import (
    bound_posterior,
    bound_posterior_from_information,
    mutual_information,
    worst_case_information,
    worst_case_information_for_epsilon,
)
from discreet.belief.odds import (
    Gain,
    bound_chance_of_reaching,
    gamma,
    highest_posterior,
    largest_gain,
    logit,
    lowest_posterior,
    sigmoid,
)
from discreet.belief.promise import Promise
from discreet.belief.tail_bounds import smallest_gamma, tail_probability

__all__ = [
    "Amplification",
    "Belief",
    "Breach",
    "EpsilonChoice",
    "Gain",
    "Promise",
    "SupportsLikelihood",
    "WhatIf",
    "WorstProperty",
    "accuracy_first",
    "amplification",
    "bound_chance_of_reaching",
    "bound_posterior",
    "bound_posterior_from_information",
    "compute_belief",
    "compute_posterior",
    "compute_posteriors",
    "epsilon_generation",
    "find_downward_breaches",
    "find_upward_breaches",
    "find_worst_property",
    "gamma",
    "highest_posterior",
    "identifiability",
    "largest_gain",
    "limiting_breaches",
    "logit",
    "lowest_posterior",
    "mutual_information",
    "possible_worlds",
    "relative_error",
    "risk_profile",
    "sigmoid",
    "smallest_gamma",
    "tail_probability",
    "tight_identifiability",
    "uniform_prior",
    "worst_case_information",
    "worst_case_information_for_epsilon",
]
