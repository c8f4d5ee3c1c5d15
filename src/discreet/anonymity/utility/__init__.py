"""What a release is still good for. Computed from real data, so for the custodian's eyes."""

from discreet.anonymity.utility.measures import MEASURES, Measure

__all__ = ["MEASURES", "Measure"]
