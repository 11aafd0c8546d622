"""The shared wire vectors over the Python client, against one real server."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import wire_vectors
from tests.support.memlane_server import running_server
from tests.support.vector_runner import Runner
from tests.support.wire_vectors import VECTORS, Vector, VectorError, differences, expand

PATHS = wire_vectors.paths()


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    with (
        running_server(tmp_path_factory.mktemp("vectors") / "data") as server,
        Runner(server.address) as runner,
    ):
        yield runner


@pytest.mark.parametrize("path", PATHS, ids=lambda p: p.stem)
def test_the_server_keeps_the_contract(runner: Runner, path: Path) -> None:
    runner.run(Vector.load(path))


def _cases(name: str) -> list[dict[str, Any]]:
    cases: list[dict[str, Any]] = json.loads(
        (VECTORS / "runner" / f"{name}.json").read_text(encoding="utf-8")
    )
    assert cases
    return cases


@pytest.mark.parametrize("case", _cases("expansion"), ids=lambda c: c["comment"])
def test_expansion(case: dict[str, Any]) -> None:
    if case.get("error"):
        with pytest.raises(VectorError):
            expand(case["input"], case["variables"])
    else:
        assert expand(case["input"], case["variables"]) == case["output"]


@pytest.mark.parametrize("case", _cases("matching"), ids=lambda c: c["comment"])
def test_matching(case: dict[str, Any]) -> None:
    found = [*differences(case["template"], case["value"])]
    assert (not found) == case["matches"], found
