"""What every `memlane` command pays for at its start."""

import subprocess
import sys

HEAVY = ("numba", "openai", "pymilvus", "sqlalchemy", "starlette")


def test_the_commands_are_listed_without_kernels_models_and_stores() -> None:
    check = f"import sys; import memlane_server.cli.main; print(*({set(HEAVY)!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
