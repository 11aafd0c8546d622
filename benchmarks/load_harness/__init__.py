"""How the service bears load: common scenarios by ghz, a soak, an overload, a noisy neighbour.

    python -m benchmarks.load_harness [--only overload,neighbours] [--soak-seconds 3600]

Writes benchmarks/results/load/report.md, load.json and plots beside it. Each part starts servers of its own.
"""
