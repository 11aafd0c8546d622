"""Decisions and guards are counted, without content."""

import urllib.request
from pathlib import Path

from memlane.v1 import memory_pb2, memory_service_pb2, memory_service_pb2_grpc
from tests.support.forked_server import running_forked_server
from tests.support.ports import free_port


def test_decisions_and_guards_are_counted(tmp_path: Path) -> None:
    port = free_port()
    with (
        running_forked_server(tmp_path / "data", {"MEMLANE_METRICS__PORT": str(port)}) as server,
        server.channel() as channel,
    ):
        stub = memory_service_pb2_grpc.MemoryServiceStub(channel)
        for text in ("用户有两个孩子", "用户有两个孩子", "用户有三个孩子"):
            stub.Remember(
                memory_service_pb2.RememberRequest(
                    user_id="客户-1", facts=memory_pb2.FactList(facts=[memory_pb2.Fact(content=text)])
                )
            )
        page = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10).read().decode()
    for action in ("ADD", "NOOP", "UPDATE"):
        assert f'memlane_operations_total{{action="{action}",decider="RULES"}} 1.0' in page
    assert 'memlane_guard_interventions_total{guard="' in page
    assert "孩子" not in page
    assert "客户" not in page
