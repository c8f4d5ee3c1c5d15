"""What a release is still good for: measures of loss, wrong counts, models that can still be learnt.

Computed from real data, so for the custodian's eyes: nothing here is published with a release.
"""

from discreet.anonymity.utility.measures import MEASURES, Measure

__all__ = ["MEASURES", "Measure"]
