"""memlane's core: domain, ports, kernels, index and services. Knows no transport."""
