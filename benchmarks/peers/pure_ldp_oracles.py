"""pure-ldp's frequency oracles: one client object that is called for each value, in pure Python and NumPy."""

from __future__ import annotations

from collections.abc import Callable

from pure_ldp.frequency_oracles import (
    DEClient,
    DEServer,
    HadamardResponseClient,
    HadamardResponseServer,
    LHClient,
    LHServer,
    UEClient,
    UEServer,
)

from benchmarks.peers import task


def oracles(values: str, clients: str) -> None:
    """Clients and server together, for each oracle that it has."""
    k = int(values)
    made: dict[str, Callable[[], tuple[object, object]]] = {
        "k-RR": lambda: (DEClient(1, k), DEServer(1, k)),
        "Hadamard": lambda: _hadamard(k),
        "OUE": lambda: (UEClient(1, k, use_oue=True), UEServer(1, k, use_oue=True)),
        "OLH": lambda: (LHClient(1, k, use_olh=True), LHServer(1, k, use_olh=True)),
    }
    for name, make in made.items():
        task.collected(name, lambda n, make=make: _collect(make, k, n), int(clients))  # type: ignore[misc]


def _hadamard(k: int) -> tuple[object, object]:
    server = HadamardResponseServer(1, k)
    return HadamardResponseClient(1, k, server.get_hash_funcs()), server


def _collect(make: Callable[[], tuple[object, object]], k: int, clients: int) -> None:
    client, server = make()
    for i in range(clients):
        server.aggregate(client.privatise(i % k + 1))  # type: ignore[attr-defined]
    server.estimate_all(range(1, k + 1))  # type: ignore[attr-defined]


if __name__ == "__main__":
    task.main(oracles=oracles)
