"""Mondrian, multidimensional recoding: the table is cut repeatedly while both sides meet every model.

Cut         An ordered column is cut where the sides have most nearly equal numbers of rows; a column with a
            hierarchy is cut into the labels below its current one, at the first level with more than one
            present. A cut is made only if every side meets every model; each side is judged by itself, so
            models need not be monotone. Of the allowed cuts, the one in the column whose present values span
            most of its domain (times its weight) is made [LDR06].
Strict      Regions do not overlap: a person's quasi-identifiers lie in one of them.
Relaxed     Tuples at the value of a cut may fall on either side, in the order of their codes. The rows of
            one tuple stay together. A person may then match several regions; for the consequences see
            `discreet.anonymity.recodings.local_recoding`.
Labels      The bounds of the cuts, not the least and greatest value of a class: a bound is in the middle of
            the gap that it divides, so no label discloses the extreme values. The positions of the cuts
            still depend on the data, as the levels of every optimal generalization do.
Not claimed That the choice of cuts discloses nothing: an attacker who knows the algorithm learns from a cut
            that was not made that one of its sides failed a model, which matters where models look at
            sensitive values (minimality attack [WFWP07]).
Averages    A model of the whole table judges the whole table: the cuts of a round are admitted together, else
            in halves, down to single cuts.

[LDR06]     LeFevre, DeWitt & Ramakrishnan, Mondrian Multidimensional k-Anonymity, ICDE 2006.
[WFWP07]    Wong, Fu, Wang & Pei, Minimality Attack in Privacy Preserving Data Publishing, VLDB 2007.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from discreet.anonymity.equivalence_classes import Codes, Integers, Tuples, number_rows, order_codes
from discreet.anonymity.hierarchies.generalization_hierarchy import Hierarchy
from discreet.anonymity.models.privacy_model import Model, judge_all, select_class_models
from discreet.anonymity.recoding import (
    Floats,
    LabelExtents,
    Recoding,
    Weights,
    build_all_level_extents,
    build_interval_extents,
    format_interval,
    group_tuples,
    judge_tuples,
    list_column_weights,
    number_shown_classes,
    order_siblings,
    require_columns,
    select_tuples,
    sum_by_group,
)
from discreet.core.numba_kernels import compile_kernel


@compile_kernel
def cut_parts(
    starts: Integers,
    places: Integers,
    counts: Integers,
    relaxed: bool,
    sides: NDArray[np.bool_],
    left_high: Integers,
    right_low: Integers,
) -> None:
    """Cut every part where its two sides come closest to having equally many rows.

    Part p holds the entries `starts[p]:starts[p + 1]`. `sides` marks the upper side; the lower side ends
    before `left_high[p]`, the upper side begins at `right_low[p]`; both are -1 where a part cannot be cut. A
    strict cut falls between two positions, in the middle of a gap, so that both sides have rows; a relaxed
    one may divide the entries at one position, in their given order.
    """
    for p in range(len(starts) - 1):
        first, last = starts[p], starts[p + 1]
        left_high[p] = right_low[p] = -1
        by = np.argsort(places[first:last], kind="mergesort") + first
        total = counts[first:last].sum()
        below, best, at, previous = 0, total + 1, -1, -1
        lowest, highest = -1, -1
        for n in range(len(by)):
            i = by[n]
            if counts[i] == 0:
                continue
            if lowest < 0:
                lowest = places[i]
            highest = places[i]
            free = previous >= 0 and (relaxed or places[by[previous]] != places[i])
            if free and abs(2 * below - total) < best:
                best, at = abs(2 * below - total), n
            below += counts[i]
            previous = n
        if at < 0 or lowest == highest:
            continue
        upper, lower = places[by[at]], -1
        for n in range(at):
            if counts[by[n]] > 0:
                lower = places[by[n]]
        if lower == upper:
            left_high[p], right_low[p] = upper + 1, upper
        else:
            left_high[p] = right_low[p] = (lower + upper + 1) // 2
        for n in range(len(by)):
            i = by[n]
            sides[i] = places[i] >= right_low[p] if lower != upper else n >= at


@dataclass(frozen=True, kw_only=True)
class Mondrian:
    """Options of the cuts: the columns of `ordered` are cut into intervals of their values' order."""

    ordered: frozenset[str] = frozenset()
    relaxed: bool = False
    weights: Weights = field(default_factory=dict)

    def recode(self, tuples: Tuples, hierarchies: Sequence[Hierarchy], models: Sequence[Model]) -> Recoding:
        """Return the finest partition that the cuts reach; nothing is published if the whole table fails."""
        require_columns("Mondrian", "ordered", self.ordered, hierarchies)
        by = order_codes(tuples.codes)
        # sorted by code, so that relaxed cuts do not depend on the order of counting
        state = _Partition(self, select_tuples(tuples, by), list(hierarchies), list(models))
        while state.cut_open_parts():
            pass
        codes, labels, extents = state.build_labels()
        back = np.argsort(by)
        recoding = Recoding(
            columns=tuple(hierarchy.name for hierarchy in hierarchies),
            labels=labels,
            codes=codes[back],
            published=np.ones(len(tuples), np.bool_),
            extents=extents,
        )
        kept = judge_tuples(tuples, *number_shown_classes(recoding), models)
        return Recoding(
            columns=recoding.columns, labels=labels, codes=recoding.codes, published=kept, extents=extents
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class _ProposedCuts:
    """One proposed cut of each part in one column: the side of every tuple, and the spread of each part.

    `side` numbers the sides over all parts, -1 where the part is not cut; `low`, `high` and `level` describe
    the tuple's region after the cut.
    """

    side: Integers
    is_allowed: np.ndarray
    spread: Floats
    low: Integers
    high: Integers
    level: Integers


class _Partition:
    """The current partition, stored per tuple: its region's extents in each column and its labels' levels."""

    def __init__(
        self, plan: Mondrian, tuples: Tuples, hierarchies: list[Hierarchy], models: list[Model]
    ) -> None:
        self.plan, self.tuples, self.hierarchies, self.models = plan, tuples, hierarchies, models
        self.each = select_class_models(models)
        self.weights = list_column_weights(plan.weights, hierarchies)
        self.part = np.zeros(len(tuples), np.int64)
        self.open = np.full(len(tuples), tuples.rows > 0)
        self.ordered = [hierarchy.name in plan.ordered for hierarchy in hierarchies]
        self.orders = [
            np.arange(len(h.values)) if ordered else order_siblings(h)
            for h, ordered in zip(hierarchies, self.ordered, strict=True)
        ]
        self.places = (
            np.stack([order[tuples.codes[:, j]] for j, order in enumerate(self.orders)], axis=1)
            if hierarchies
            else np.zeros((len(tuples), 0), np.int64)
        )
        shape = self.places.shape
        self.low = np.zeros(shape, np.int64)
        self.high = np.tile([len(h.values) for h in hierarchies], (shape[0], 1)).reshape(shape)
        self.level = np.tile([h.height for h in hierarchies], (shape[0], 1)).reshape(shape)

    def cut_open_parts(self) -> bool:
        """Cut every open part once; return False if none could be cut."""
        active = np.flatnonzero(self.open)
        if not len(active) or not self.hierarchies:
            return False
        part, number = number_rows([self.part[active]], [int(self.part.max()) + 1])
        by = np.argsort(part, kind="stable")
        active, part = active[by], part[by]
        starts = np.searchsorted(part, np.arange(number + 1))
        tuples = select_tuples(self.tuples, active)
        cuts = [self._propose_cuts(j, active, part, starts, tuples) for j in range(len(self.hierarchies))]
        scores = np.stack([np.where(c.is_allowed, c.spread, -1.0) for c in cuts])
        column = np.where(scores.max(axis=0) >= 0, scores.argmax(axis=0), -1)
        column = self._admit_cuts(column, cuts, active, part)
        self._apply(column, cuts, active, part)
        rows = sum_by_group(self.part, self.tuples.counts, int(self.part.max()) + 1)
        self.open[active] = (column[part] >= 0) & (rows[self.part[active]] > 0)
        return bool((column >= 0).any())

    def _propose_cuts(
        self, j: int, active: Integers, part: Integers, starts: Integers, tuples: Tuples
    ) -> _ProposedCuts:
        """Return the judged cut of each part in column j."""
        places, number = self.places[active, j], len(starts) - 1
        present = tuples.counts > 0
        least = np.minimum.reduceat(np.where(present, places, len(self.orders[j])), starts[:-1])
        most = np.maximum.reduceat(np.where(present, places, -1), starts[:-1])
        spread = self.weights[j] * (most - least) / max(len(self.orders[j]) - 1, 1)
        if self.ordered[j]:
            divided = self._halve_parts(j, active, part, starts, tuples)
        else:
            divided = self._split_by_label(j, active, part, least, most)
        side, low, high, level = divided
        classes, ids = group_tuples(tuples, side, int(side.max(initial=-1)) + 1, rows=self.tuples.rows)
        # a side that only the population has is in no class, and its tuples leave the part
        fine = np.append(judge_all(classes, self.each), True)[ids]
        allowed = np.zeros(number, np.bool_)
        allowed[part[side >= 0]] = True
        allowed[part[~fine]] = False
        return _ProposedCuts(side=side, is_allowed=allowed, spread=spread, low=low, high=high, level=level)

    def _halve_parts(
        self, j: int, active: Integers, part: Integers, starts: Integers, tuples: Tuples
    ) -> tuple[Integers, Integers, Integers, Integers]:
        upper = np.zeros(len(active), np.bool_)
        left_high, right_low = np.empty((2, len(starts) - 1), np.int64)
        places = np.ascontiguousarray(self.places[active, j])
        cut_parts(starts, places, tuples.counts, self.plan.relaxed, upper, left_high, right_low)
        side, _ = number_rows([part, upper], [len(starts) - 1, 2])
        side = np.where(left_high[part] >= 0, side, -1)
        low = np.where(upper, right_low[part], self.low[active, j])
        high = np.where(upper, self.high[active, j], left_high[part])
        return side, low, high, self.level[active, j]

    def _split_by_label(
        self, j: int, active: Integers, part: Integers, least: Integers, most: Integers
    ) -> tuple[Integers, Integers, Integers, Integers]:
        """Split each part by label: labels are runs, so a level divides a part whose ends differ in label."""
        hierarchy, order = self.hierarchies[j], self.orders[j]
        values = np.argsort(order)
        level = np.full(len(least), -1, np.int64)
        for below in range(hierarchy.height):
            labels = hierarchy.maps[below][values]
            level = np.where(labels[least] != labels[most], below, level)
        child = np.zeros(len(active), np.int64)
        codes, mine = self.tuples.codes[active, j], level[part]
        for below in range(hierarchy.height):
            child = np.where(mine == below, hierarchy.maps[below][codes], child)
        side, _ = number_rows([part, child], [len(least), max(map(len, hierarchy.labels))])
        side = np.where(mine >= 0, side, -1)
        return side, self.low[active, j], self.high[active, j], np.where(mine >= 0, mine, 0)

    def _admit_cuts(
        self, column: Integers, cuts: list[_ProposedCuts], active: Integers, part: Integers
    ) -> Integers:
        """Return the proposed cuts that models of the whole table admit."""
        if len(self.each) == len(self.models):
            return column
        admitted = np.full_like(column, -1)
        waiting = [np.flatnonzero(column >= 0)]
        while waiting:
            some = waiting.pop()
            trial = admitted.copy()
            trial[some] = column[some]
            if not len(some) or self._meets_models(trial, cuts, active, part):
                admitted = trial
            elif len(some) > 1:
                half = len(some) // 2
                waiting += [some[half:], some[:half]]
        return admitted

    def _meets_models(
        self, column: Integers, cuts: list[_ProposedCuts], active: Integers, part: Integers
    ) -> bool:
        parts = self._number_parts(column, cuts, active, part)
        classes, _ = group_tuples(self.tuples, parts, int(parts.max(initial=-1)) + 1)
        return bool(judge_all(classes, self.models).all())

    def _number_parts(
        self, column: Integers, cuts: list[_ProposedCuts], active: Integers, part: Integers
    ) -> Integers:
        """Return the partition after some cuts."""
        side = np.zeros(len(active), np.int64)
        for j, cut in enumerate(cuts):
            side = np.where(column[part] == j, cut.side + 1, side)
        sides = np.zeros(len(self.part), np.int64)
        sides[active] = side
        parts, _ = number_rows([self.part, sides], [int(self.part.max()) + 1, int(sides.max()) + 1])
        return parts

    def _apply(self, column: Integers, cuts: list[_ProposedCuts], active: Integers, part: Integers) -> None:
        self.part = self._number_parts(column, cuts, active, part)
        for j, cut in enumerate(cuts):
            mine = column[part] == j
            self.low[active[mine], j] = cut.low[mine]
            self.high[active[mine], j] = cut.high[mine]
            self.level[active[mine], j] = cut.level[mine]

    def build_labels(self) -> tuple[Codes, tuple[tuple[str, ...], ...], tuple[LabelExtents, ...]]:
        codes = np.zeros(self.places.shape, np.int32)
        labels, extents = [], []
        for j, hierarchy in enumerate(self.hierarchies):
            if self.ordered[j]:
                bounds, codes[:, j] = np.unique(
                    np.stack([self.low[:, j], self.high[:, j]], axis=1), axis=0, return_inverse=True
                )
                labels.append(tuple(format_interval(hierarchy, int(a), int(b)) for a, b in bounds))
                extents.append(build_interval_extents(hierarchy, bounds[:, 0], bounds[:, 1]))
            else:
                names, places, extent = build_all_level_extents(hierarchy)
                codes[:, j] = np.stack(places)[self.level[:, j], self.tuples.codes[:, j]]
                labels.append(names)
                extents.append(extent)
        return codes, tuple(labels), tuple(extents)
