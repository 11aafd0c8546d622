"""What tools learn from the server itself: its services by reflection, its state by grpc.health.v1."""

import time
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from google.protobuf.descriptor_pool import DescriptorPool
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

from memlane.v1 import (
    compliance_service_pb2,
    context_service_pb2,
    diagnostics_service_pb2,
    diagnostics_service_pb2_grpc,
    knowledge_service_pb2,
    memory_service_pb2,
    rule_service_pb2,
    session_service_pb2,
)
from tests.support.forked_server import ForkedServer
from tests.support.memlane_server import ServerProcess

SERVICES = {
    service.full_name: service
    for module in (
        memory_service_pb2,
        session_service_pb2,
        context_service_pb2,
        knowledge_service_pb2,
        rule_service_pb2,
        compliance_service_pb2,
        diagnostics_service_pb2,
    )
    for service in module.DESCRIPTOR.services_by_name.values()
}
SERVING = health_pb2.HealthCheckResponse.SERVING


def _check(channel: grpc.Channel, service: str) -> int:
    request = health_pb2.HealthCheckRequest(service=service)
    return health_pb2_grpc.HealthStub(channel).Check(request, timeout=10).status


def test_reflection_lists_every_service_and_rpc(channel: grpc.Channel) -> None:
    database = ProtoReflectionDescriptorDatabase(channel)
    listed = set(database.get_services())
    assert listed >= set(SERVICES)
    assert listed - set(SERVICES) == {"grpc.health.v1.Health", "grpc.reflection.v1alpha.ServerReflection"}
    pool = DescriptorPool(database)
    for name, known in SERVICES.items():
        told = pool.FindServiceByName(name)
        signatures = [
            {
                m.name: (
                    m.input_type.full_name,
                    m.output_type.full_name,
                    m.client_streaming,
                    m.server_streaming,
                )
                for m in service.methods
            }
            for service in (told, known)
        ]
        assert signatures[0] == signatures[1]


@pytest.mark.parametrize("service", ["", *SERVICES])
def test_health_is_serving_once_the_server_says_so(channel: grpc.Channel, service: str) -> None:
    assert _check(channel, service) == SERVING


def test_health_of_an_unknown_service(channel: grpc.Channel) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        _check(channel, "memlane.v1.NoSuchService")
    assert caught.value.code() is grpc.StatusCode.NOT_FOUND
    watch = health_pb2_grpc.HealthStub(channel).Watch(
        health_pb2.HealthCheckRequest(service="memlane.v1.NoSuchService"), timeout=10
    )
    assert next(watch).status == health_pb2.HealthCheckResponse.SERVICE_UNKNOWN
    watch.cancel()


def test_a_watcher_is_told_of_the_end(tmp_path: Path) -> None:
    server = ForkedServer(tmp_path / "data")
    try:
        server.start()
        with server.channel() as channel:
            watch = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest(), timeout=60)
            assert next(watch).status == SERVING
            assert server.terminate() == 0
            assert _states_until_closed(watch) in (
                [health_pb2.HealthCheckResponse.NOT_SERVING],
                [],
            )
            assert watch.code() is grpc.StatusCode.UNAVAILABLE
    finally:
        server.kill()


def _states_until_closed(watch: Iterator[health_pb2.HealthCheckResponse]) -> list[int]:
    states = []
    try:
        for answer in watch:
            states.append(answer.status)
    except grpc.RpcError:
        pass
    return states


def test_no_call_is_answered_before_health_says_serving(tmp_path: Path, unused_tcp_port: int) -> None:
    """Asked from the first moment on: refused connections and NOT_SERVING, then SERVING for good. Echo never
    succeeds where health, asked afterwards, does not serve."""
    server = ServerProcess(tmp_path / "data", {"MEMLANE_SERVER__PORT": str(unused_tcp_port)})
    states: list[str] = []
    deadline = time.monotonic() + 60
    reconnect = [("grpc.initial_reconnect_backoff_ms", 20), ("grpc.max_reconnect_backoff_ms", 20)]
    try:
        server.spawn()
        with grpc.insecure_channel(f"127.0.0.1:{unused_tcp_port}", options=reconnect) as channel:
            echo = diagnostics_service_pb2_grpc.DiagnosticsServiceStub(channel).Echo
            while not states or states[-1] != "SERVING":
                assert time.monotonic() < deadline
                try:
                    echo(diagnostics_service_pb2.EchoRequest(), timeout=5)
                    answered = True
                except grpc.RpcError as error:
                    assert error.code() is grpc.StatusCode.UNAVAILABLE
                    answered = False
                try:
                    states.append(health_pb2.HealthCheckResponse.ServingStatus.Name(_check(channel, "")))
                except grpc.RpcError as error:
                    assert error.code() is grpc.StatusCode.UNAVAILABLE
                    states.append("refused")
                assert not answered or states[-1] == "SERVING"
                time.sleep(0.005)
        assert states[0] == "refused", "asked before the process could listen"
        assert set(states) <= {"refused", "NOT_SERVING", "SERVING"}
        server.wait_until_serving()
    finally:
        server.kill()
