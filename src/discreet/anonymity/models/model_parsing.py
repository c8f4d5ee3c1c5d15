"""Parsing of models from command-line options.

--l-diversity COLUMN:2:distinct|probabilistic|entropy      --l-diversity COLUMN:3:recursive:4   (l, then c)
--t-closeness COLUMN:0.2:equal|ordered|hierarchical        --delta-presence 0.05:0.15

A column's name may contain colons, so the text is parsed from the right.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction

from discreet.anonymity.hierarchies.generalization_hierarchy import Hierarchy
from discreet.anonymity.models.delta_presence import DeltaPresence
from discreet.anonymity.models.distinct_diversity import DistinctDiversity
from discreet.anonymity.models.entropy_diversity import EntropyDiversity
from discreet.anonymity.models.equal_closeness import EqualCloseness
from discreet.anonymity.models.hierarchical_closeness import HierarchicalCloseness
from discreet.anonymity.models.model_parameters import parse_fraction
from discreet.anonymity.models.ordered_closeness import OrderedCloseness
from discreet.anonymity.models.privacy_model import MeasuredModel
from discreet.anonymity.models.probabilistic_diversity import ProbabilisticDiversity
from discreet.anonymity.models.recursive_diversity import RecursiveDiversity
from discreet.core.errors import InvalidParameterError, RequestError

DIVERSITY = "--l-diversity"
CLOSENESS = "--t-closeness"
PRESENCE = "--delta-presence"


def parse_l_diversity(text: str) -> MeasuredModel:
    """Parse the model of one `--l-diversity`.

    >>> parse_l_diversity("disease:3:recursive:4").name
    'recursive (4, 3)-diversity of disease'
    """
    match = re.fullmatch(
        r"(.+):([^:]+):(?:(distinct|probabilistic|entropy)|recursive:([^:]+))", text, re.DOTALL
    )
    if match is None:
        raise InvalidParameterError(
            f"{DIVERSITY} must be COLUMN:L:distinct, COLUMN:L:probabilistic, COLUMN:L:entropy or "
            f"COLUMN:L:recursive:C; got {text}."
        )
    column, l, kind, c = match.groups()
    if kind == "probabilistic":
        return ProbabilisticDiversity(column=column, l=_parse_at_least_one(l))
    if kind == "entropy":
        return EntropyDiversity(column=column, l=_parse_at_least_one(l))
    if kind == "distinct":
        return DistinctDiversity(column=column, l=_parse_whole_number(l, 1))
    bound = parse_fraction(f"the c of {DIVERSITY}", c)
    if bound == 0:
        raise InvalidParameterError(f"the c of {DIVERSITY} must be above 0; got {c}.")
    return RecursiveDiversity(column=column, l=_parse_whole_number(l, 2), c=bound)


def parse_t_closeness(text: str, hierarchies: Mapping[str, Hierarchy]) -> MeasuredModel:
    """Parse the model of one `--t-closeness`; the hierarchical distance uses the column's hierarchy.

    >>> parse_t_closeness("disease:20%:equal", {}).name
    '0.2-closeness of disease, equal distance'
    """
    match = re.fullmatch(r"(.+):([^:]+):(equal|ordered|hierarchical)", text, re.DOTALL)
    if match is None:
        raise InvalidParameterError(
            f"{CLOSENESS} must be COLUMN:T:equal, COLUMN:T:ordered or COLUMN:T:hierarchical; got {text}."
        )
    column, bound, distance = match.groups()
    t = _parse_share(f"the t of {CLOSENESS}", bound)
    if distance == "equal":
        return EqualCloseness(column=column, t=t)
    if distance == "ordered":
        return OrderedCloseness(column=column, t=t)
    if column not in hierarchies:
        raise RequestError(
            f"{CLOSENESS} with the hierarchical distance needs a hierarchy of the column {column}.",
            hint="Declare one in the policy, or use the equal distance.",
        )
    return HierarchicalCloseness(column=column, t=t, hierarchy=hierarchies[column])


def parse_delta_presence(text: str) -> DeltaPresence:
    """Parse the model of `--delta-presence`.

    >>> parse_delta_presence("0.05:0.15").name
    '(0.05, 0.15)-presence'
    """
    match = re.fullmatch(r"([^:]+):([^:]+)", text)
    if match is None:
        raise InvalidParameterError(
            f"{PRESENCE} must be two numbers from 0 to 1 such as 0.05:0.15; got {text}."
        )
    low, high = (_parse_share(PRESENCE, each) for each in match.groups())
    if low > high:
        raise InvalidParameterError(f"{PRESENCE} must name the smaller number first; got {text}.")
    return DeltaPresence(delta_min=low, delta_max=high)


def _parse_whole_number(text: str, least: int) -> int:
    if not re.fullmatch(r"\d{1,18}", text) or int(text) < least:
        raise InvalidParameterError(
            f"the l of {DIVERSITY} must be a whole number of at least {least}; got {text}."
        )
    return int(text)


def _parse_at_least_one(text: str) -> Fraction:
    l = parse_fraction(f"the l of {DIVERSITY}", text)
    if l < 1:
        raise InvalidParameterError(f"the l of {DIVERSITY} must be at least 1; got {text}.")
    return l


def _parse_share(name: str, text: str) -> Fraction:
    share = parse_fraction(name, text)
    if share > 1:
        raise InvalidParameterError(f"{name} must be a number from 0 to 1; got {text}.")
    return share
