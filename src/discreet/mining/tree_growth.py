"""Tree growth: a split for every node, level by level, selected by mechanisms from exact counts.

Release     For every level the engine counts (node, bin, class) once. Each node's split is chosen among all
            cuts and values of all attributes that still divide it, by the scores of `criteria`: attribute and
            place at once, for what the choice of an attribute alone costs. The class counts of the leaves get
            discrete Laplace noise. Where the number of rows is not declared, the depth is chosen by a noisy
            one.
Requires    Bins, classes and rows per person R are declared.
Guarantee   epsilon-DP for added and removed people. A row is in one node of a level. A person with r_i rows
            in node i, sum r_i <= R, moves that node's scores by at most r_i times the sensitivity, all one
            way, so each node's choice loses at most r_i / R of the level's epsilon, and all nodes together at
            most all of it: for R = 1 that is parallel composition, the largest of the nodes' losses. Levels,
            leaves and the number of rows are released one after the other: their epsilons add up to epsilon.
            Under replaced values a removal and an addition change two nodes: twice epsilon, so a value
            promise of e grows its tree at e / 2.
Utility     Which splits are possible follows from those above and the declared bins; so which nodes there are
            tells nothing more.

Rule        depth: log2(epsilon n / R) - 8, rounded, from 1 to 8: a node of the last level has then about 2**8
            / epsilon rows. 1/50 of epsilon for the number of rows where it is needed; of the rest 4/5 to
            choose splits, each level 6/5 of the one above, as its nodes have fewer rows, and 1/5 for leaves.

[FS10]      Friedman & Schuster, Data Mining with Differential Privacy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import require_parameter
from discreet.core.exact_values import Exact, Released
from discreet.core.guarantees import PureDP
from discreet.core.neighbor_relations import Relation
from discreet.core.number_checks import Real, coerce_positive_fraction, require_count
from discreet.core.randomness import Randomness
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.noisy_max import NoisyMax
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.sampling import Integers
from discreet.mining.bin_counters import Counter, Progress
from discreet.mining.decision_tree import Split, Splits, count_sides, list_candidate_splits
from discreet.mining.schema import Schema
from discreet.mining.split_criteria import Criterion

Booleans = NDArray[np.bool_]
Selection = type[Exponential] | type[PermuteAndFlip] | type[NoisyMax]

SELECTIONS: dict[str, Selection] = {
    "exponential": Exponential,
    "permute-and-flip": PermuteAndFlip,
    "laplace": NoisyMax,
}
ROW_COUNT_SHARE = Fraction(1, 50)
SPLIT_SHARE = Fraction(4, 5)
LEVEL_GROWTH = Fraction(6, 5)
DEEPEST, SHALLOWEST, FILL = 8, 1, 8
MAX_DEPTH = 16


@dataclass(frozen=True, kw_only=True)
class TreePlan:
    """The plan of a tree and its cost, known before data is read."""

    schema: Schema
    epsilon: Fraction
    criterion: Criterion
    selection: str = "permute-and-flip"
    depth: int | None = None
    rows: int | None = None
    rows_per_person: int = 1

    def __post_init__(self) -> None:
        coerce_positive_fraction(self, "epsilon")
        known = isinstance(self.selection, str) and self.selection in SELECTIONS
        require_parameter(known, "", "selection", self.selection, f"one of {', '.join(SELECTIONS)}")
        if self.depth is not None:
            require_count("", "depth", self.depth, minimum=0)
            require_parameter(self.depth <= MAX_DEPTH, "", "depth", self.depth, f"at most {MAX_DEPTH}")
        if self.rows is not None:
            require_count("", "rows", self.rows)
        require_count(self, "rows_per_person", self.rows_per_person)

    @property
    def guarantee(self) -> PureDP:
        return PureDP(epsilon=self.epsilon, relation=Relation.PRESENCE)

    @property
    def row_count_noise(self) -> DiscreteLaplace | None:
        """The noise of the number of rows, if the depth depends on it and it is not declared."""
        if self.depth is not None or self.rows is not None:
            return None
        return self._make_noise(self.epsilon * ROW_COUNT_SHARE)

    @property
    def split_and_leaf_epsilon(self) -> Fraction:
        """The epsilon of splits and leaves together."""
        return self.epsilon * (1 - ROW_COUNT_SHARE) if self.row_count_noise else self.epsilon

    def compute_leaf_epsilon(self, depth: int) -> Fraction:
        """Return the epsilon of the leaves: all that remains for a tree without splits."""
        return self.split_and_leaf_epsilon * (1 - SPLIT_SHARE) if depth else self.split_and_leaf_epsilon

    def make_leaf_noise(self, depth: int) -> DiscreteLaplace:
        """Return the noise of the leaves."""
        return self._make_noise(self.compute_leaf_epsilon(depth))

    def make_split_selector(self, level: int, depth: int) -> Exponential | PermuteAndFlip | NoisyMax:
        """Return the mechanism that selects the splits of a level."""
        share = LEVEL_GROWTH**level / sum(LEVEL_GROWTH**each for each in range(depth))
        return SELECTIONS[self.selection](
            epsilon=self.split_and_leaf_epsilon * SPLIT_SHARE * share,
            sensitivity=self.criterion.sensitivity * self.rows_per_person,
            monotone=True,
            relation=Relation.PRESENCE,
        )

    def _make_noise(self, epsilon: Fraction) -> DiscreteLaplace:
        return DiscreteLaplace(epsilon=epsilon, sensitivity=self.rows_per_person, relation=Relation.PRESENCE)


def choose_depth(epsilon: Real, rows: int, rows_per_person: int = 1) -> int:
    """Return the depth of a tree for this many rows, by the rule above.

    >>> [choose_depth(epsilon, 32_561) for epsilon in (0.1, 0.5, 1, 2, 5)]
    [4, 6, 7, 8, 8]
    """
    reach = math.log2(max(float(epsilon) * max(rows, 1) / rows_per_person, 1))
    return max(SHALLOWEST, min(DEEPEST, round(reach) - FILL))


def grow_tree(
    plan: TreePlan, counter: Counter, random: Randomness, report_progress: Progress = lambda _: None
) -> tuple[Splits, int]:
    """Return the splits of all levels, and their number; `report_progress` receives the share done."""
    schema, splits, possible = plan.schema, Splits(), list_candidate_splits(plan.schema)
    counts = counter.count_cells_by_node(splits) if plan.depth != 0 else None
    depth = _release_depth(plan, counts, random)
    inside, onward = _build_membership(schema, possible), _make_pass_through_split(schema)
    regions = np.ones((1, schema.cells), np.bool_)
    for level in range(depth):
        counts = counts if level == 0 and counts is not None else counter.count_cells_by_node(splits)
        chooser = plan.make_split_selector(level, depth)
        first, second = count_sides(schema, counts.secret)
        scores = plan.criterion.score_side(first) + plan.criterion.score_side(second)
        open_to = _find_dividing_splits(schema, possible, inside, regions)
        chosen = [
            _select_split(Exact(scores[node]), open_to[node], chooser, random) for node in range(splits.nodes)
        ]
        splits = splits.add_level(tuple(onward if k is None else possible[k] for k in chosen))
        regions = _divide_regions(schema, regions, chosen, inside, possible)
        report_progress((level + 1) / (depth + 1))
    return splits, depth


def _release_depth(plan: TreePlan, counts: Exact[Integers] | None, random: Randomness) -> int:
    if plan.depth is not None:
        return plan.depth
    rows = plan.rows
    if plan.row_count_noise is not None and counts is not None:
        first = int(plan.schema.offsets[1])
        rows = plan.row_count_noise.release(Exact(int(counts.secret[:, :first].sum())), random).value
    return choose_depth(plan.epsilon, max(rows or 0, 1), plan.rows_per_person)


def _select_split(
    scores: Exact[Integers],
    open_to: Booleans,
    selector: Exponential | PermuteAndFlip | NoisyMax,
    random: Randomness,
) -> int | None:
    """Return one of the splits open to a node, or None if there is none."""
    places = np.flatnonzero(open_to)
    if not places.size:
        return None
    return int(places[selector.release(Exact(scores.secret[places]), random).value])


def _build_membership(schema: Schema, candidates: tuple[Split, ...]) -> Booleans:
    """Return the mask over (candidate, cell) of cells that go to the first child."""
    inside = np.zeros((len(candidates), schema.cells), np.bool_)
    for place, split in enumerate(candidates):
        inside[place, schema.offsets[split.attribute] + np.array(sorted(split.first))] = True
    return inside


def _find_dividing_splits(
    schema: Schema, candidates: tuple[Split, ...], inside: Booleans, regions: Booleans
) -> Booleans:
    """Return the mask over (node, candidate) of splits that leave bins on both sides."""
    attribute = np.repeat(np.arange(len(schema.attributes)), np.diff(schema.offsets))
    own = attribute[None, :] == np.array([split.attribute for split in candidates])[:, None]
    held = regions.astype(np.float32)  # numbers of cells are exact in it, and its products fast
    first, second = (each.T.astype(np.float32) for each in (inside, own & ~inside))
    return np.asarray((held @ first > 0) & (held @ second > 0))


def _divide_regions(
    schema: Schema,
    regions: Booleans,
    chosen: list[int | None],
    inside: Booleans,
    candidates: tuple[Split, ...],
) -> Booleans:
    """Return the mask of the cells that rows of each child may be in."""
    below = np.repeat(regions, 2, axis=0)
    for node, k in enumerate(chosen):
        if k is None:
            below[2 * node + 1] = False
            continue
        begin, end = schema.offsets[candidates[k].attribute : candidates[k].attribute + 2]
        below[2 * node, begin:end] &= inside[k, begin:end]
        below[2 * node + 1, begin:end] &= ~inside[k, begin:end]
    return below


def _make_pass_through_split(schema: Schema) -> Split:
    """Return the split that sends all rows to the first child."""
    return Split(attribute=0, first=frozenset(range(schema.attributes[0].bins)))


def release_leaf_counts(
    plan: TreePlan, counter: Counter, splits: Splits, random: Randomness
) -> Released[Integers]:
    """Release noisy counts over (leaf, class)."""
    exact = counter.count_by_node(splits).secret
    released = plan.make_leaf_noise(len(splits.levels)).release_many(Exact(exact.reshape(-1)), random)
    return Released(released.value.reshape(exact.shape), released.guarantee)
