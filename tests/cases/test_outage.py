"""Field reports about sizes and about a store that goes away, on a server of its own."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from memlane.v1 import memory_service_pb2
from tests.support.forked_server import ForkedServer
from tests.support.memlane_server import ServerProcess

from .conftest import Api


def test_B44_a_page_is_capped_by_bytes(api: Api) -> None:
    user = api.fresh()
    metadata = {f"键{n}": "值" * 300 for n in range(4)}
    wanted = {api.create(user, f"第 {n} 条", metadata=metadata).memory_id for n in range(320)}
    found: set[str] = set()
    token, pages = "", 0
    while True:
        page = api.memory.ListMemories(
            memory_service_pb2.ListMemoriesRequest(user_id=user, page_size=1000, page_token=token)
        )
        assert page.ByteSize() <= 1 << 20
        found |= {m.memory_id for m in page.memories}
        pages += 1
        token = page.next_page_token
        if not token:
            break
    assert found == wanted
    assert pages > 1


def test_B44_much_metadata_is_refused_and_the_next_call_works(api: Api) -> None:
    user = api.fresh()
    with pytest.raises(grpc.RpcError) as refused:
        api.memory.CreateMemory(
            memory_service_pb2.CreateMemoryRequest(
                user_id=user, content="User drinks tea", metadata={f"k{n}": "v" * 1000 for n in range(20)}
            )
        )
    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "metadata" in refused.value.details()
    api.create(user, "User drinks tea")
    assert api.texts(user) == ["User drinks tea"]


def engine_of(server: ServerProcess) -> list[int]:
    """Processes that the server started: the engine of Milvus Lite."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if int(fields[1]) == server.pid and fields[0] != "Z":
                found.append(int(entry.name))
    return found


@pytest.fixture
def own(tmp_path: Path) -> Iterator[ServerProcess]:
    server = ForkedServer(tmp_path / "data").start()
    try:
        yield server
    finally:
        server.kill()


def test_B40_a_store_that_dies_is_found_again(own: ServerProcess, tmp_path: Path) -> None:
    with own.channel() as channel:
        api = Api(channel, tmp_path / "clock")
        user = api.fresh()
        api.create(user, "用户住在上海")
        engines = engine_of(own)
        assert engines
        for pid in engines:
            os.kill(pid, signal.SIGKILL)
        started = time.monotonic()
        written = False
        while not written and time.monotonic() - started < 60:
            try:
                api.create(user, "User lives in Leeds")
                written = True
            except grpc.RpcError as error:
                assert error.code() is grpc.StatusCode.UNAVAILABLE
                # Reads of a warm user go on meanwhile.
                assert "用户住在上海" in api.texts(user)
                time.sleep(0.2)
        assert written
        assert "用户住在上海" in api.texts(user)
        health = health_pb2_grpc.HealthStub(channel)
        until = time.monotonic() + 30
        while (
            health.Check(health_pb2.HealthCheckRequest()).status != health_pb2.HealthCheckResponse.SERVING
            and time.monotonic() < until
        ):
            time.sleep(0.1)
        assert health.Check(health_pb2.HealthCheckRequest()).status == health_pb2.HealthCheckResponse.SERVING
    own.kill()
    own.start()
    with own.channel() as channel:
        texts = Api(channel, tmp_path / "clock").texts(user)
        assert "用户住在上海" in texts
        assert "User lives in Leeds" in texts
