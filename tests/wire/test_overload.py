"""More calls at once than the server takes: it refuses some at once, answers the others, and is as before."""

from collections import Counter
from pathlib import Path

import grpc

from memlane.v1 import diagnostics_service_pb2, diagnostics_service_pb2_grpc
from tests.support.forked_server import running_forked_server

CALLS = 2000


def test_a_burst_beyond_the_waiting_room_is_refused_and_forgotten(tmp_path: Path) -> None:
    payload = "突发 burst".encode()
    with (
        running_forked_server(tmp_path / "data", {"MEMLANE_SERVER__MAX_WAITING_CALLS": "2"}) as server,
        server.channel() as channel,
    ):
        echo = diagnostics_service_pb2_grpc.DiagnosticsServiceStub(channel).Echo
        request = diagnostics_service_pb2.EchoRequest(payload=payload)
        calls = [echo.future(request, timeout=60) for _ in range(CALLS)]
        outcomes = Counter(call.code() for call in calls)
        assert outcomes.total() == CALLS
        assert set(outcomes) == {grpc.StatusCode.OK, grpc.StatusCode.CANCELLED}
        # Refused unread: nothing came, and by that the clients know it from a call that the server has ended.
        refused = [call for call in calls if call.code() is grpc.StatusCode.CANCELLED]
        assert not any(call.initial_metadata() or call.trailing_metadata() for call in refused)
        assert all(call.result().payload == payload for call in calls if call.code() is grpc.StatusCode.OK)

        assert echo(request, timeout=30).payload == payload
