"""How the tests are shared out among the workers of `make test`; a run in one process is left as it is."""

import gc
from collections.abc import Sequence
from typing import Any

import pytest

_LONG = (
    "tests/contract/test_vector_store_lite.py",
    "tests/wire/test_isolation.py",
    "tests/wire/test_crossing.py",
    "tests/cli/test_bench.py",
    "tests/contract/test_milvus_lite_own.py",
    "tests/wire/test_lifecycle.py",
    "tests/cases/",
    "tests/wire/",
    "tests/console/",
    "tests/cli/",
    "tests/vectors/",
    "tests/contract/",
    "tests/crash/",
    "tests/unit/benchmarks/",
    "tests/unit/kernels/",
)
"""What takes long goes first, so that no worker is left with it at the end."""

_TOGETHER = (
    "tests/unit/adapters/test_local_embedder.py",
    "tests/unit/builtin/decision/test_field_reports.py",
    "tests/unit/builtin/decision/test_quality.py",
)
"""Files of one worker: they share the embedder, which takes seconds to load."""

_SPREAD = ("tests/contract/test_milvus_lite_own.py", "tests/wire/test_lifecycle.py")
"""Files whose tests each start processes of their own: any worker may run any of their classes and functions. All
other files go to one worker whole, as their tests share a server."""


def pytest_configure(config: pytest.Config) -> None:
    """Compile the kernels once, where they are not cached yet, rather than in every worker at the same time.

    What is imported and collected from here on stays, so the garbage collector need not walk it.
    """
    gc.disable()
    if config.getoption("dist", "no") != "no" and not hasattr(config, "workerinput"):
        from memlane_core import kernels
        from tests.support import fork_server

        kernels.warm_up()
        fork_server.start()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: _rank(item.nodeid))


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


def _rank(nodeid: str) -> int:
    return next((rank for rank, start in enumerate(_LONG) if nodeid.startswith(start)), len(_LONG))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With `--dist loadscope`: by file, but for those that are spread."""
    if config.getoption("dist") != "loadscope":
        return None
    from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

    class ByFile(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            parts: Sequence[str] = nodeid.split("::")
            if parts[0] in _TOGETHER:
                return _TOGETHER[0]
            if parts[0] not in _SPREAD:
                return parts[0]
            return "::".join(parts[:2])

    return ByFile(config, log)
