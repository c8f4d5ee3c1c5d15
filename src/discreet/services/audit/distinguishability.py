"""Distinguishability of two neighboring databases by a plan's mechanisms; it decides which pair to audit.

Noise       the distance of the exact counts in units of the noise, over all groups: for discrete Laplace
            noise, the largest privacy loss.
Picks       the lower bound on epsilon that an audit can expect from the best event: picking one of the values
            whose likelihood ratio exceeds a threshold. A larger loss at a value that is hardly ever picked
            could not be observed.
"""

from __future__ import annotations

import numpy as np

from discreet.attacks.distinguishing_events import compute_epsilon_lower_bound
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from discreet.mechanisms.quantile import Quantile
from discreet.services.audit.question_simulation import (
    Floats,
    Integers,
    Key,
    NeighborCounts,
    compute_pick_log_probabilities,
    get_exact_counts,
    get_value_counts,
)
from discreet.sql.interval_estimates import Noise
from discreet.sql.value_selection import ValueSelection

ERROR_RATE = 0.05


def estimate_distinguishability(neighbor_counts: NeighborCounts, runs: int) -> float:
    """Estimate the lower bound on epsilon that `runs` runs can show."""
    groups = neighbor_counts.groups
    told = sum(
        _compute_noise_weight(each.noise) * _compute_distance(neighbor_counts, name, groups)
        for name, each in neighbor_counts.plan.noisy_primitives.items()
    )
    if neighbor_counts.plan.partition_selection is not None:
        told += float(neighbor_counts.plan.partition_selection.rate) * _compute_distance(
            neighbor_counts, "people", groups
        )
    for name, counted in neighbor_counts.plan.value_selections.items():
        told += sum(_estimate_pick_bound(neighbor_counts, name, counted, key, runs) for key in groups)
    return float(told)


def _compute_noise_weight(noise: Noise) -> float:
    return float(noise.rate) if isinstance(noise, DiscreteLaplace) else float(noise.variance) ** -0.5


def _compute_distance(neighbor_counts: NeighborCounts, name: str, groups: list[Key]) -> float:
    here, there = (
        get_exact_counts(side, name, groups)
        for side in (neighbor_counts.counts, neighbor_counts.neighbor_counts)
    )
    return float(np.abs(here - there).sum())


def _estimate_pick_bound(
    neighbor_counts: NeighborCounts, name: str, counted: ValueSelection, key: Key, runs: int
) -> float:
    sides = [
        get_value_counts(side, name, key)
        for side in (neighbor_counts.counts, neighbor_counts.neighbor_counts)
    ]
    mechanism = counted.mechanism
    if isinstance(mechanism, Quantile):
        starts = [mechanism.candidate_runs(rows)[0] for rows in sides]
        outputs = np.unique(np.concatenate(starts))
        outputs = outputs[outputs <= mechanism.high]
        many = np.diff(outputs, append=mechanism.high + 1)
    else:
        outputs = np.arange(len(counted.domain))
        many = np.ones(outputs.size, np.int64)
    ours, theirs = (compute_pick_log_probabilities(counted, rows, outputs) for rows in sides)
    return _find_best_bound(ours, theirs, many, runs)


def _find_best_bound(ours: Floats, theirs: Floats, many: Integers, runs: int) -> float:
    """Return the best bound over the events that are thresholds on the loss, in either direction."""
    order = np.argsort(theirs - ours, kind="stable")
    masses = [np.exp(side[order]) * many[order] for side in (ours, theirs)]
    ahead = [np.minimum(np.cumsum(mass), 1) for mass in masses]
    behind = [np.minimum(np.cumsum(mass[::-1]), 1) for mass in masses]
    return max(
        compute_epsilon_lower_bound(int(more * runs), int(fewer * runs), runs, error_rate=ERROR_RATE)
        for likelier, rarer in (ahead, behind[::-1])
        for more, fewer in zip(likelier, rarer, strict=True)
    )
