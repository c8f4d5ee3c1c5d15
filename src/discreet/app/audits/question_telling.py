"""Distinguishability of two neighboring databases by a plan's mechanisms; it decides which pair to audit.

Noise       the distance of the exact counts in units of the noise, over all groups: for discrete Laplace
            noise, the largest privacy loss.
Picks       the lower bound on epsilon that an audit can expect from the best event: picking one of the values
            whose likelihood ratio exceeds a threshold. A larger loss at a value that is hardly ever picked
            could not be observed.
"""

from __future__ import annotations

import numpy as np

from discreet.app.audits.question_runs import Floats, Integers, Key, Worlds, law, numbers_of, rows_of
from discreet.attacks.lower_bound import epsilon_lower_bound
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from discreet.mechanisms.quantile import Quantile
from discreet.sql.interval_estimates import Noise
from discreet.sql.value_selection import ValueSelection

MISS = 0.05


def telling(worlds: Worlds, runs: int) -> float:
    """Estimate the lower bound on epsilon that `runs` runs can show."""
    groups = worlds.groups
    told = sum(
        _weight(each.noise) * _distance(worlds, name, groups)
        for name, each in worlds.plan.noisy_primitives.items()
    )
    if worlds.plan.partition_selection is not None:
        told += float(worlds.plan.partition_selection.rate) * _distance(worlds, "people", groups)
    for name, counted in worlds.plan.value_selections.items():
        told += sum(_picked(worlds, name, counted, key, runs) for key in groups)
    return float(told)


def _weight(noise: Noise) -> float:
    return float(noise.rate) if isinstance(noise, DiscreteLaplace) else float(noise.variance) ** -0.5


def _distance(worlds: Worlds, name: str, groups: list[Key]) -> float:
    here, there = (numbers_of(side, name, groups) for side in (worlds.here, worlds.there))
    return float(np.abs(here - there).sum())


def _picked(worlds: Worlds, name: str, counted: ValueSelection, key: Key, runs: int) -> float:
    sides = [rows_of(side, name, key) for side in (worlds.here, worlds.there)]
    mechanism = counted.mechanism
    if isinstance(mechanism, Quantile):
        starts = [mechanism.candidate_runs(rows)[0] for rows in sides]
        outputs = np.unique(np.concatenate(starts))
        outputs = outputs[outputs <= mechanism.high]
        many = np.diff(outputs, append=mechanism.high + 1)
    else:
        outputs = np.arange(len(counted.domain))
        many = np.ones(outputs.size, np.int64)
    ours, theirs = (law(counted, rows, outputs) for rows in sides)
    return _shown(ours, theirs, many, runs)


def _shown(ours: Floats, theirs: Floats, many: Integers, runs: int) -> float:
    """Return the best bound over the events that are thresholds on the loss, in either direction."""
    order = np.argsort(theirs - ours, kind="stable")
    masses = [np.exp(side[order]) * many[order] for side in (ours, theirs)]
    ahead = [np.minimum(np.cumsum(mass), 1) for mass in masses]
    behind = [np.minimum(np.cumsum(mass[::-1]), 1) for mass in masses]
    return max(
        epsilon_lower_bound(int(more * runs), int(fewer * runs), runs, miss=MISS)
        for likelier, rarer in (ahead, behind[::-1])
        for more, fewer in zip(likelier, rarer, strict=True)
    )
