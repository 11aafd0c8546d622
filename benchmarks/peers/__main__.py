"""memlane beside other stores and memory libraries: same vectors, same queries, same run. Under twenty minutes.

    make bench-peers     or     .venv-peers/bin/python -m benchmarks.peers [--only memlane,postgres] [--users 50]

Everyone holds the same users' rows, a tenth of them deleted, and is asked for the five nearest of one user that are not
deleted, with id, score and text. The query's vector is given: nobody's embedder is asked. Services (reached over a
socket) and engines (inside this process) are two groups; in each round of a group everyone is asked ten queries in a
row (fewer where that takes longer than half a second), in an order drawn anew. OMP and BLAS have one thread. The right
answers come from NumPy.

A contender that cannot be installed or started is named with the reason, and the others go on; the exit code is then 1.
A whole run is kept: benchmarks/results/peers.json, peers.md, peers.png, and the part `peers` of bench.json.
"""

import os

ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "NUMBA")}
"""Read when the libraries are loaded, also by the servers that are started here."""


def main() -> None:
    os.environ.update(ONE_THREAD)
    # The Milvus server tells pymilvus that it pings too often, which it then does less often: nothing to be told.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    # Only now: numpy and what is built on it read the variables when they are imported.
    from .run import main as run

    run(__doc__)


if __name__ == "__main__":
    main()
