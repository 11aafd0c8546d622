"""The commands as people run them, against a running server."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from memlane_server.cli import connection
from memlane_server.cli.main import app
from tests.support.forked_server import running_forked_server
from tests.support.memlane_server import ServerProcess


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("MEMLANE_")}
    return subprocess.run(
        [sys.executable, "-m", "memlane_server", *arguments],
        env={**inherited, "COLUMNS": "300", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8", **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with running_forked_server(tmp_path_factory.mktemp("memlane") / "data") as process:
        yield process


@pytest.fixture
def memlane(server: ServerProcess, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Run a command against the server; its output, once it ended well. In this process, where a new one for each
    command would cost seconds; exit codes and words of failure are taken from real processes."""

    monkeypatch.setattr(connection.console, "width", 300)

    def call(*arguments: str) -> str:
        ended = CliRunner().invoke(app, arguments, env={"MEMLANE_ADDRESS": server.address})
        assert ended.exit_code == 0, ended.output
        return ended.stdout

    return call


def test_one_customer_from_first_word_to_erasure(memlane: Callable[..., str]) -> None:
    user = "客户-1"
    learned = memlane("remember", user, "我们公司注册在开曼群岛", "My risk tolerance is low.")
    assert learned.count("ADD") == 2
    assert "开曼群岛" in learned and "risk tolerance" in learned
    assert "NOOP" in memlane("remember", user, "--facts", _second_column(memlane("list", user), "开曼"))
    changed = memlane("remember", user, "我们公司现在改为注册在香港")
    assert "香港" in changed

    listed = memlane("list", user)
    assert "risk tolerance" in listed and "香港" in listed
    assert re.search(r"\b[1-9]\d* memories", listed)
    assert "risk tolerance" in memlane("search", user, "how much risk does the user take", "--top-k", "1")
    prompt = memlane("context", user, "公司注册在哪里？")
    assert "【用户历史信息】" in prompt and "记录于" in prompt and "香港" in prompt

    memory_id = next(line for line in listed.splitlines() if "risk tolerance" in line).split()[0]
    history = memlane("history", user, memory_id)
    assert "ADD" in history and "risk tolerance" in history

    exported = [
        json.loads(line)
        for line in memlane("export", user, "--operator", "me", "--reason", "asked for").splitlines()
    ]
    assert any("risk tolerance" in r.get("memory", {}).get("content", "") for r in exported)
    assert "summary" in exported[-1]

    forgotten = memlane("forget", user, "--operator", "me", "--reason", "asked for", "--purge-now", "--yes")
    receipt = json.loads(forgotten[forgotten.index("{") :])
    assert receipt["user_id"] == user and receipt["signature"]
    assert "0 memories" in memlane("list", user)
    events = memlane("audit", "list", "--user", user, "--limit", "100")
    assert "ForgetUser" in events and "asked for" in events
    assert "开曼" not in events
    assert re.search(r"✓ \d+ events, head \d+ [0-9a-f]{64}", memlane("audit", "verify"))


def _second_column(table: str, word: str) -> str:
    """The text of the row with this word: what follows id, revision and day."""
    return next(line for line in table.splitlines() if word in line).split(maxsplit=3)[3].strip()


def test_dry_run_writes_nothing(memlane: Callable[..., str]) -> None:
    assert "ADD" in memlane("remember", "dry", "--dry-run", "--facts", "养了两只猫")
    assert "0 memories" in memlane("list", "dry")


def test_forget_without_yes_asks_and_can_be_refused(
    memlane: Callable[..., str], server: ServerProcess
) -> None:
    memlane("remember", "careful", "--facts", "养了两只猫")
    ended = run("forget", "careful", "--operator", "me", "--reason", "r", MEMLANE_ADDRESS=server.address)
    assert ended.returncode == 1, "no answer is no consent"
    assert "careful" in ended.stdout + ended.stderr
    assert "1 memories" in memlane("list", "careful")


def test_what_the_server_refuses_is_told_with_the_field(server: ServerProcess) -> None:
    ended = run("search", "someone", "x", "--top-k", "9999", MEMLANE_ADDRESS=server.address)
    assert ended.returncode == 1
    assert "INVALID_ARGUMENT" in ended.stderr and "top_k" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_eval_decisions_on_a_small_file(tmp_path: Path) -> None:
    cases = [
        {
            "id": "zh", "lang": "zh", "category": "number_change", "new_info": "外汇套保比例改为50%",
            "existing": [{"id": "m1", "content": "外汇套保比例为30%"}],
            "expected": {"action": "UPDATE", "target_id": "m1"},
        },
        {
            "id": "en", "lang": "en", "category": "same", "new_info": "User has a dog called Rex",
            "existing": [{"id": "m1", "content": "User has a dog called Rex"}],
            "expected": {"action": "NOOP", "target_id": "m1"},
        },
    ]  # fmt: skip
    source, out = tmp_path / "cases.jsonl", tmp_path / "predictions.jsonl"
    source.write_text("".join(json.dumps(c, ensure_ascii=False) + "\n" for c in cases), encoding="utf-8")
    ended = run("eval", "decisions", str(source), "--out", str(out))
    assert ended.returncode == 0, ended.stderr
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert rows == [
        {"id": "zh", "action": "UPDATE", "target_id": "m1"},
        {"id": "en", "action": "NOOP", "target_id": "m1"},
    ]


@pytest.mark.parametrize("command", [("search", "u", "q"), ("audit", "verify")])
def test_no_server_is_told_in_words(command: tuple[str, ...], unused_tcp_port: int) -> None:
    ended = run(*command, MEMLANE_ADDRESS=f"127.0.0.1:{unused_tcp_port}")
    assert ended.returncode == 1
    assert f"no memlane server answers at 127.0.0.1:{unused_tcp_port}" in ended.stderr
    assert "memlane serve" in ended.stderr and "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ('[server]\nport = "sk-very-secret"\n', "server.port"),
        ('[chat]\napi_keys = "sk-very-secret"\n', "chat.api_keys"),
        ('[chat]\napi_key = "sk-very-secret"\nbase_url = "http://x"\n', "model is required"),
        ("[chat]\napi_key = sk-very-secret\n", "cannot be read"),
    ],
)
def test_a_wrong_configuration_ends_with_2_and_shows_no_secret(
    tmp_path: Path, content: str, told: str
) -> None:
    config = tmp_path / "memlane.toml"
    config.write_text(content)
    ended = run("serve", "--config", str(config), MEMLANE_DATA_DIR=str(tmp_path / "data"))
    assert ended.returncode == 2
    assert told in ended.stderr
    assert "very-secret" not in ended.stdout + ended.stderr
    assert "Traceback" not in ended.stderr
    assert not (tmp_path / "data").exists()


def test_a_missing_configuration_file_is_named(tmp_path: Path) -> None:
    ended = run("serve", "--config", str(tmp_path / "none.toml"))
    assert ended.returncode == 2 and "none.toml" in ended.stderr
