"""The command line `memlane`."""

import sys


def main() -> None:
    """Entry point; says what to install when only the thin client is there."""
    try:
        from .main import app
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] in ("memlane", "memlane_core", "memlane_server"):
            raise
        sys.exit(f"memlane: {error.name} is missing; the command line needs: pip install 'memlane[server]'")
    app()
