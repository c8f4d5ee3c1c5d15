"""multi-freq-ldpy's frequency oracles: a function that is called for each value, partly compiled by numba."""

from __future__ import annotations

from collections.abc import Callable

from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_MI, GRR_Client
from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Aggregator_MI, LH_Client
from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Aggregator_MI, SS_Client
from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI, UE_Client

from benchmarks.peers import task


def oracles(values: str, clients: str) -> None:
    """Clients and server together, for each oracle that it has."""
    k = int(values)
    made: dict[str, Callable[[int], object]] = {
        "k-RR": lambda n: GRR_Aggregator_MI([GRR_Client(i % k, k, 1.0) for i in range(n)], k, 1.0),
        "OUE": lambda n: UE_Aggregator_MI([UE_Client(i % k, k, 1.0) for i in range(n)], 1.0),
        "OLH": lambda n: LH_Aggregator_MI([LH_Client(i % k, k, 1.0) for i in range(n)], k, 1.0),
        "subset selection": lambda n: SS_Aggregator_MI([SS_Client(i % k, k, 1.0) for i in range(n)], k, 1.0),
    }
    for name, collect in made.items():
        task.collected(name, collect, int(clients))


if __name__ == "__main__":
    task.main(oracles=oracles)
