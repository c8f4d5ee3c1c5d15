"""The tables and figures of the five documents that discreet stands on, recomputed.

Each is one function from a `Bench` (an engine to count with, and the Adult survey) to a `Reproduction`:
what is printed, what it should be, and in one line why the two differ. Formulas are the product's own; what
a document gets wrong is shown here and used nowhere.
"""

from discreet.papers.catalogue import REPRODUCTIONS, find, reproduce
from discreet.papers.reproduction import Bench, Curve, Line, Reproduction, Verdict

__all__ = ["REPRODUCTIONS", "Bench", "Curve", "Line", "Reproduction", "Verdict", "find", "reproduce"]
