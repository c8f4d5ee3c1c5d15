"""Utility of a release: measures of loss, errors of counts, and accuracy of models trained on it.

It is computed from real data, so it is for the custodian only and never published with a release.
"""

from discreet.anonymity.utility.utility_measures import MEASURES, Measure

__all__ = ["MEASURES", "Measure"]
