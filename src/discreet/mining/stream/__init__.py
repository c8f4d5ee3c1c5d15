"""Streams: counting queries that arrive one after the other, answered under one budget.

    columns → universe of cells (by declaration alone) → plan → one histogram by the engine, which stays
    → for each question: a noisy test whether what is known already answers it; if not, a noisy count

`plan_stream` says what a stream costs and how wrong answers may be, before data is read; `OnlineAnswerer`
answers.
"""

from discreet.mining.stream.online_answerer import OnlineAnswerer, StreamAnswer
from discreet.mining.stream.stream_plan import METHODS, StreamPlan, plan_stream
from discreet.mining.stream.universe import CountingQuery, Universe, parse_counting_query

__all__ = [
    "METHODS",
    "CountingQuery",
    "OnlineAnswerer",
    "StreamAnswer",
    "StreamPlan",
    "Universe",
    "parse_counting_query",
    "plan_stream",
]
