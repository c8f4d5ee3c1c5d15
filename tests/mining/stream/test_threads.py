"""An open stream that several threads ask at once tells no more than one thread would be told."""

from __future__ import annotations

import os
from fractions import Fraction

import numpy as np
import pytest

from discreet.core.errors import BudgetError, RequestError
from discreet.core.exact_values import Exact
from discreet.core.guarantees import PureDP
from discreet.core.neighbor_relations import Relation
from discreet.core.randomness import Randomness
from discreet.mining.stream import OnlineAnswerer, StreamAnswer, plan_stream
from discreet.mining.stream.sparse_vector import SparseVector, SparseVectorRun
from tests.mining.stream.worlds import declared
from tests.threads import SLOW, THREADS, run_at_once, select_errors

ONE = PureDP(epsilon=1, relation=Relation.VALUE)
CELLS = THREADS
ROWS = 10**6


def open_answerer(method: str, *, questions: int = 50, updates: int | None = None) -> OnlineAnswerer:
    """Over a table whose rows are all in the first cell: far from what anybody would guess."""
    made = plan_stream(
        declared(CELLS, ROWS), "t", ["x"], ONE, method=method, questions=questions, updates=updates
    )
    return OnlineAnswerer(made, Exact(np.array([ROWS] + [0] * (CELLS - 1), np.int64)), SLOW)


def test_one_paid_update_is_one_fresh_answer_to_sixteen_threads() -> None:
    stream = open_answerer("weights", updates=1)
    questions = [np.arange(CELLS) <= place for place in range(CELLS - 1)]
    told = run_at_once(lambda place: stream.answer_cells(questions[place]), CELLS - 1)
    fresh = [each for each in told if isinstance(each, StreamAnswer) and each.is_fresh]
    assert len(fresh) <= 1
    assert stream.updates == len(fresh)
    assert all(isinstance(each, BudgetError) for each in select_errors(told))


@pytest.mark.parametrize("method", ["laplace", "weights"])
def test_the_same_question_of_sixteen_threads_is_one_answer(method: str) -> None:
    stream = open_answerer(method)
    told = run_at_once(lambda _: stream.answer_cells(np.arange(CELLS) == 0))
    assert len({each.count for each in told if isinstance(each, StreamAnswer)}) == 1
    assert stream.asked == 1


def test_no_more_questions_are_answered_than_were_paid() -> None:
    stream = open_answerer("laplace", questions=3)
    told = run_at_once(lambda place: stream.answer_cells(np.arange(CELLS) == place))
    assert len(select_errors(told)) == THREADS - 3
    assert stream.asked == 3


@pytest.mark.parametrize("renewed", [False, True])
def test_no_more_scores_pass_than_were_paid(renewed: bool) -> None:
    terms = SparseVector.from_epsilon(Fraction(1), passes=2, sensitivity=1, redraws_threshold=renewed)
    watch = SparseVectorRun(terms, 0, SLOW)
    told = run_at_once(lambda _: watch.test_score(Exact(ROWS)))
    assert sum(each is True for each in told) == watch.passed == 2
    assert all(isinstance(each, BudgetError) for each in select_errors(told))


class Interrupted(BaseException):
    """What a signal raises in the middle of a draw."""


@pytest.mark.parametrize("renewed", [False, True])
def test_a_pass_whose_draw_is_interrupted_stays_taken(renewed: bool) -> None:
    opened = False

    def draw(count: int) -> bytes:
        if opened:
            raise Interrupted
        return os.urandom(count)

    watch = SparseVectorRun(
        SparseVector.from_epsilon(Fraction(1), passes=1, sensitivity=1, redraws_threshold=renewed),
        0,
        Randomness(source=draw),
    )
    opened = True
    with pytest.raises(Interrupted):
        watch.test_score(Exact(ROWS))
    with pytest.raises(BudgetError):
        watch.test_score(Exact(-ROWS))


def test_a_child_process_does_not_ask_what_its_parent_has_opened() -> None:
    stream = open_answerer("laplace")
    child = os.fork()
    if child == 0:
        try:
            stream.answer_cells(np.arange(CELLS) == 0)
        except RequestError:
            os._exit(0)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
