"""The child process that hosts Milvus Lite: `python -m memlane_core.adapters.milvus_lite DATA_DIR SOCKET`.

Protocol with the parent: it writes one line, READY or IN_USE, to standard output; it reads standard input, where
a line asks for an orderly end and the end of file says that the parent is gone. The pipe, and not a signal on
the parent's death (Linux' PDEATHSIG), because that one fires when the *thread* that started the child ends.

The engine listens on a Unix socket in a private folder and not on a port: it knows no authentication.
"""

READY = "READY"
IN_USE = "IN_USE"
"""What the child says about itself."""
