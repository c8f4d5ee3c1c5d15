"""Tables and figures of the five source documents, recomputed.

Each is one function from `ReproductionInputs` (an engine to count with, and the Adult survey) to a
`Reproduction`: the printed numbers, the recomputed ones, and one line on why they differ. Formulas are those
that discreet uses; a document's errors are shown here and used nowhere.
"""

from discreet.papers.catalogue import REPRODUCTIONS, find_reproductions, run_reproduction
from discreet.papers.reproduction import ComparedValue, Curve, Reproduction, ReproductionInputs, Verdict

__all__ = [
    "REPRODUCTIONS",
    "ComparedValue",
    "Curve",
    "Reproduction",
    "ReproductionInputs",
    "Verdict",
    "find_reproductions",
    "run_reproduction",
]
