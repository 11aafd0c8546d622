"""`python -m memlane_server` is the command `memlane`."""

from .cli import main

main()
