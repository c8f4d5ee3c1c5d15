"""Streams: counting queries that arrive one after the other, answered under one budget.

    columns → universe of cells (by declaration alone) → plan → one histogram by the engine, which stays
    → for each question: a noisy test whether what is known already answers it; if not, a noisy count

`plan` says what a stream costs and how wrong answers may be, before data is read; `OnlineAnswerer` answers.
"""

from discreet.mining.stream.answerer import OnlineAnswerer, StreamAnswer
from discreet.mining.stream.plan import METHODS, StreamPlan, plan
from discreet.mining.stream.questions import Asked, read
from discreet.mining.stream.universe import Universe

__all__ = ["METHODS", "Asked", "OnlineAnswerer", "StreamAnswer", "StreamPlan", "Universe", "plan", "read"]
