"""Tables and figures of the five source documents, recomputed.

Each is one function from `ReproductionInputs` (an engine to count with, and the Adult survey) to a
`Reproduction`: the printed numbers, the recomputed ones, and one line on why they differ. Formulas are those
that discreet uses; a document's errors are shown here and used nowhere.
"""

from discreet.papers.catalogue import REPRODUCTIONS, find, reproduce
from discreet.papers.reproduction import Bench, Curve, Line, Reproduction, Verdict

__all__ = ["REPRODUCTIONS", "Bench", "Curve", "Line", "Reproduction", "Verdict", "find", "reproduce"]
