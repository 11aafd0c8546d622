"""The examples, run as a reader would run them, against a real server."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.forked_server import running_forked_server
from tests.support.memlane_server import ServerProcess

EXAMPLES = Path(__file__).parents[2] / "clients" / "python" / "examples"


@pytest.fixture(scope="module")
def real_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with running_forked_server(tmp_path_factory.mktemp("memlane") / "data") as process:
        yield process


def run(name: str, server: ServerProcess) -> list[str]:
    command = [sys.executable, str(EXAMPLES / name), server.address]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.splitlines()


def test_quickstart(real_server: ServerProcess) -> None:
    lines = run("quickstart.py", real_server)
    assert any(line.startswith("learned: ADD") and "两个孩子" in line for line in lines)
    assert any(line.startswith("found: Prefers to be contacted by e-mail") for line in lines)
    assert "somebody was faster: the current revision is 2" in lines
    assert "history: 1 ADD 预算 30 万元" in lines and "history: 2 UPDATE 预算 50 万元" in lines
    assert any("【用户历史信息】" in line for line in lines)
    assert lines[-1].startswith("forgotten: ")


def test_search_stream(real_server: ServerProcess) -> None:
    assert run("search_stream.py", real_server) == [
        "travel: Flies to Shanghai every month",
        "seat: 偏好靠窗的座位",
        "food: 对花生过敏",
    ]


def test_every_example_is_run() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == {"quickstart.py", "search_stream.py"}
