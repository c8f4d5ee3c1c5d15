"""Models that are learned under the promise, as a custodian's analyst asks for them."""
