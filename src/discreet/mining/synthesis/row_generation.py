"""Row generation: rows from a model, with rounded instead of independently drawn counts.

Columns     one after the other, clique by clique. Rows that agree on the columns of the clique so far are
            a group; the model says how a group of k rows divides among the bins of the next column.
Rounding    with c_0, c_1, ... the cumulated expected counts of a group and u uniform in [0, 1), bin j gets
            floor(c_j + u) - floor(c_(j-1) + u) rows: the expected count on average, never one or more off,
            and so for every run of bins. Independent draws would be off by the square root of the count.
            Which rows of the group get which bin is drawn uniformly.
Impossible  a bin that the model excludes gets no row.
"""

from __future__ import annotations

import numpy as np

from discreet.core.randomness import Randomness
from discreet.mechanisms.sampling import UNIT, Floats, Integers
from discreet.mining.synthesis.graphical_model import GraphicalModel
from discreet.mining.synthesis.junction_tree import contract_tables
from discreet.mining.tabulation.cells import Columns


def generate_rows(model: GraphicalModel, rows: int, random: Randomness) -> Integers:
    """Return `rows` rows: the bin of every column."""
    codes = np.zeros((rows, len(model.tree.shape)), np.int64)
    done: list[int] = []
    for place in [0, *(joint.child for joint in model.tree.edges)]:
        clique = model.tree.cliques[place]
        for column in clique:
            if column not in done:
                given = tuple(each for each in clique if each in done)
                table = contract_tables([(model.beliefs[place], clique)], (*given, column))
                codes[:, column] = _generate_column(codes, given, model.tree.shape, table, random)
                done.append(column)
    return codes


def _generate_column(
    codes: Integers, given: Columns, shape: tuple[int, ...], table: Floats, random: Randomness
) -> Integers:
    """Return the bins of one more column, given those of the columns in `given`."""
    size = table.shape[-1]
    at = np.zeros(len(codes), np.int64)
    for each in given:
        at = at * shape[each] + codes[:, each]
    groups, counts = np.unique(at, return_counts=True)
    divided = _round_counts(table.reshape(-1, size)[groups], counts, random)
    order = np.lexsort((random.draw_words(len(codes)), at))
    drawn = np.empty(len(codes), np.int64)
    drawn[order] = np.repeat(np.tile(np.arange(size), len(groups)), divided.reshape(-1))
    return drawn


def _round_counts(weights: Floats, counts: Integers, random: Randomness) -> Integers:
    """Return each group's count divided by the weights, in whole rows."""
    cumulated = np.cumsum(weights, axis=1)
    totals = cumulated[:, -1:]
    reached = cumulated / totals * counts[:, None]
    # from the last bin that is possible on, everything is reached, whatever was rounded
    reached[cumulated >= totals] = np.broadcast_to(counts[:, None], reached.shape)[cumulated >= totals]
    offset = (random.draw_words(len(counts)) * UNIT * (1 - 2.0**-30))[:, None]
    ends = np.floor(reached + offset).astype(np.int64)
    return np.diff(ends, axis=1, prepend=0)
