"""What a refused call says: status code, reason and metadata of its ErrorInfo."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2
from grpc_status import rpc_status


@dataclass(frozen=True, slots=True)
class Refusal:
    code: grpc.StatusCode
    reason: str
    metadata: dict[str, str]
    text: str


def refused(call: Callable[[], Any]) -> Refusal:
    """Run a call that must fail with an ErrorInfo."""
    with pytest.raises(grpc.RpcError) as caught:
        call()
    return refusal_of(caught.value)


def refusal_of(error: grpc.RpcError) -> Refusal:
    """What an error with an ErrorInfo says."""
    status = rpc_status.from_call(error)
    assert status is not None, error
    for packed in status.details:
        info = error_details_pb2.ErrorInfo()
        if packed.Unpack(info):
            assert info.domain == "memlane.io"
            return Refusal(error.code(), info.reason, dict(info.metadata), status.message)
    raise AssertionError(f"no ErrorInfo in {status}")
