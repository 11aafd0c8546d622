"""What every `memlane` command pays for at its start, and what a server does."""

import subprocess
import sys

HEAVY = (
    "cryptography",
    "jwt",
    "numba",
    "openai",
    "pydantic",
    "pymilvus",
    "rjieba",
    "sqlalchemy",
    "starlette",
)


def imported_with(module: str) -> set[str]:
    check = f"import sys; import {module}; print(*({set(HEAVY)!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_the_commands_are_listed_without_kernels_models_and_stores() -> None:
    assert imported_with("memlane_server.cli.main") == set()


def test_a_server_without_a_model_or_a_console_imports_neither() -> None:
    assert imported_with("memlane_server.cli.serve") == set(HEAVY) - {"openai", "starlette"}
