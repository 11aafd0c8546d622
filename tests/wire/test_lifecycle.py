"""Start, stop, crash, and everything that `memlane serve` refuses: real processes, judged by exit code and words."""

import hashlib
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest

from memlane.v1 import memory_pb2, memory_service_pb2, memory_service_pb2_grpc
from tests.support.forked_server import ForkedServer, running_forked_server
from tests.support.memlane_server import ServerProcess
from tests.support.openai_stub import After, Chat
from tests.support.openai_stub.fixtures import openai_stub  # noqa: F401 - a fixture
from tests.support.openai_stub.server import OpenAIStub

USER = "客户-1"


def run(data_dir: Path, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """A command of memlane that is expected to end by itself."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MEMLANE_")}
    environment |= {
        "MEMLANE_DATA_DIR": str(data_dir),
        "MEMLANE_SERVER__PORT": "0",
        "COLUMNS": "400",
        **settings,
    }
    return subprocess.run(
        [sys.executable, "-m", "memlane_server", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def create(channel: grpc.Channel, *texts: str) -> list[str]:
    stub = memory_service_pb2_grpc.MemoryServiceStub(channel)
    return [
        stub.CreateMemory(
            memory_service_pb2.CreateMemoryRequest(user_id=USER, content=text), timeout=30
        ).memory.memory_id
        for text in texts
    ]


def texts(channel: grpc.Channel) -> set[str]:
    stub = memory_service_pb2_grpc.MemoryServiceStub(channel)
    listed = stub.ListMemories(
        memory_service_pb2.ListMemoriesRequest(user_id=USER, page_size=1000), timeout=30
    )
    found = stub.SearchMemories(
        memory_service_pb2.SearchMemoriesRequest(user_id=USER, query="事实 fact", top_k=100), timeout=30
    )
    both = {m.content for m in listed.memories}
    assert both == {r.memory.content for r in found.results}, "list and search know the same"
    return both


def fingerprint(directory: Path) -> dict[str, str]:
    """What stands in the files, the lock apart: {name: SHA-256}."""
    return {
        str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and path.name != "lock"
    }


def test_sigterm_lets_a_running_call_end(
    tmp_path: Path,
    openai_stub: OpenAIStub,  # noqa: F811
) -> None:
    """The model is asked, then SIGTERM comes, then the model answers: the call is answered and its write is kept."""
    settings = {"MEMLANE_CHAT__BASE_URL": openai_stub.base_url, "MEMLANE_CHAT__MODEL": "stub"}
    openai_stub.chat.will(After(2.0, Chat('{"facts": []}')))
    message = memory_pb2.Message(role=memory_pb2.ROLE_USER, content="I keep three parrots.")
    request = memory_service_pb2.RememberRequest(
        user_id=USER, conversation=memory_pb2.Conversation(messages=[message]), request_id="r"
    )
    with running_forked_server(tmp_path / "data", settings) as server:
        with server.channel() as channel, ThreadPoolExecutor(1) as pool:
            create(channel, "事实一")
            remember = memory_service_pb2_grpc.MemoryServiceStub(channel).Remember
            running = pool.submit(remember, request, timeout=60)
            openai_stub.chat.wait_for_requests(1, timeout_seconds=30)
            begun = time.monotonic()
            assert server.terminate() == 0
            assert time.monotonic() - begun < 25, "the grace time of 10 s, and closing"
            assert not running.result().operations, "answered, not broken off"
        server.start()
        with server.channel() as channel:
            assert texts(channel) == {"事实一"}


def test_sigterm_ends_an_open_stream(tmp_path: Path) -> None:
    search = memory_service_pb2.SearchMemoriesRequest(user_id=USER, query="事实")
    with running_forked_server(tmp_path / "data") as server, server.channel() as channel:
        create(channel, "事实一")
        asked, end = [memory_service_pb2.StreamSearchMemoriesRequest(search=search)], []

        def requests():
            yield asked[0]
            while not end:
                time.sleep(0.02)

        stream = memory_service_pb2_grpc.MemoryServiceStub(channel).StreamSearchMemories(
            requests(), timeout=60
        )
        assert next(stream).response.results
        assert server.terminate() == 0
        with pytest.raises(grpc.RpcError) as ended:
            next(stream)
        end.append(True)
        assert ended.value.code() is grpc.StatusCode.UNAVAILABLE


def test_B41_a_second_server_on_the_same_data_ends_and_touches_nothing(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with running_forked_server(data) as server, server.channel() as channel:
        create(channel, "事实一")
        texts(channel)
        os.kill(server.pid, signal.SIGSTOP)  # so that what changes is not its own work
        try:
            before = fingerprint(data)
            second = run(data, "serve")
            assert second.returncode == 1
            assert "in use" in second.stderr and str(data) in second.stderr
            assert fingerprint(data) == before
        finally:
            os.kill(server.pid, signal.SIGCONT)
        create(channel, "fact two")
        assert texts(channel) == {"事实一", "fact two"}


@pytest.mark.parametrize(("kind", "end"), [(ServerProcess, "terminate"), (ForkedServer, "kill")])
def test_B40_B41_a_restart_keeps_everything_and_answers_at_once(
    tmp_path: Path, kind: type[ServerProcess], end: str
) -> None:
    server = kind(tmp_path / "data")
    kept: set[str] = set()
    try:
        for life in range(2):
            server.start()
            with server.channel() as channel:
                assert texts(channel) == kept, "the first call after the start"
                new = [f"事实{life}-{n}" for n in range(5)]
                gone, *_ = create(channel, *new)
                memory_service_pb2_grpc.MemoryServiceStub(channel).DeleteMemory(
                    memory_service_pb2.DeleteMemoryRequest(user_id=USER, memory_id=gone), timeout=30
                )
                kept |= set(new[1:])
            getattr(server, end)()
    finally:
        server.kill()


def test_a_public_address_needs_tls_and_credentials_or_a_word(tmp_path: Path) -> None:
    refused = run(tmp_path / "data", "serve", "--host", "0.0.0.0")
    assert refused.returncode == 1
    assert "TLS" in refused.stderr and "--allow-insecure-public" in refused.stderr
    refused = run(tmp_path / "data", "serve", "--host", "0.0.0.0", "--allow-insecure-public")
    assert refused.returncode == 1
    assert "credentials" in refused.stderr and "--allow-unauthenticated-public" in refused.stderr
    assert not (tmp_path / "data").exists(), "refused before anything is made"

    settings = {
        "MEMLANE_SERVER__HOST": "0.0.0.0",
        "MEMLANE_SERVER__ALLOW_INSECURE_PUBLIC": "true",
        "MEMLANE_SERVER__ALLOW_UNAUTHENTICATED_PUBLIC": "true",
    }
    with running_forked_server(tmp_path / "data", settings) as server:
        port = server.address.rsplit(":", 1)[1]
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            create(channel, "事实一")
            assert texts(channel) == {"事实一"}
    flags = ("--allow-insecure-public", "--allow-unauthenticated-public", "--print-config")
    shown = run(tmp_path / "data", "serve", "--host", "0.0.0.0", *flags)
    assert shown.returncode == 0
    for flag in flags[:2]:
        assert f'"{flag[2:].replace("-", "_")}": true' in shown.stdout


def test_print_config_masks_secrets(tmp_path: Path) -> None:
    secrets = {
        "MEMLANE_CHAT__API_KEY": "sk-chat-very-secret",
        "MEMLANE_EMBEDDING__API_KEY": "sk-embedding-very-secret",
        "MEMLANE_AUTH__HS256_SECRET": "a-secret-for-tokens-that-is-very-secret",
        "MEMLANE_STORE__MILVUS_TOKEN": "root:milvus-very-secret",
        "MEMLANE_STORE__JOURNAL_URL": "postgresql+psycopg://memlane:pg-very-secret@db/memlane",
    }
    shown = run(tmp_path / "data", "serve", "--print-config", **secrets)
    assert shown.returncode == 0
    assert str(tmp_path / "data") in shown.stdout and "db/memlane" in shown.stdout
    assert "very-secret" not in shown.stdout + shown.stderr
    assert re.search(r'"api_key": "\*+"', shown.stdout)


def test_doctor_tells_good_from_broken(tmp_path: Path) -> None:
    good = run(tmp_path / "data", "doctor")
    assert good.returncode == 0, good.stdout + good.stderr
    assert "✗" not in good.stdout
    for part in ("configuration", "journal", "vector store", "embedder", "model"):
        assert part in good.stdout

    broken = run(
        tmp_path / "other",
        "doctor",
        MEMLANE_EMBEDDING__PROVIDER="openai",
        MEMLANE_EMBEDDING__BASE_URL="http://127.0.0.1:9/v1",
        MEMLANE_EMBEDDING__API_KEY="sk-very-secret",
    )
    assert broken.returncode == 1
    line = next(part for part in broken.stdout.splitlines() if "embedder:" in part)
    assert "✗" in line
    assert "Traceback" not in broken.stdout + broken.stderr
    assert "very-secret" not in broken.stdout + broken.stderr


@pytest.mark.parametrize("dimension", [512, 8])
def test_another_embedder_than_the_data_was_made_with_is_refused(
    tmp_path: Path,
    openai_stub: OpenAIStub,  # noqa: F811
    dimension: int,
) -> None:
    """Also where the dimension happens to be the same: vectors of two models must never be compared."""
    data = tmp_path / "data"
    with running_forked_server(data) as server, server.channel() as channel:
        create(channel, "事实一")
    other = run(
        data,
        "serve",
        MEMLANE_EMBEDDING__PROVIDER="openai",
        MEMLANE_EMBEDDING__BASE_URL=openai_stub.base_url,
        MEMLANE_EMBEDDING__MODEL="text-embedding-other",
        MEMLANE_EMBEDDING__DIMENSION=str(dimension),
        MEMLANE_EMBEDDING__API_KEY="sk-very-secret",
    )
    assert other.returncode == 1
    assert "text-embedding-other" in other.stderr, other.stderr
    stored = re.search(r"made with \w+(?: \w+)* (\S+), this process has (\S+)", other.stderr)
    assert stored is not None and stored[1] != stored[2], other.stderr
    with running_forked_server(data) as server, server.channel() as channel:
        assert texts(channel) == {"事实一"}
