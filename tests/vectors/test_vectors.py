"""The shared wire vectors over the Python client, against real servers: in plain text, and with TLS and tokens."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import memlane
from memlane.v1 import error_reason_pb2
from tests.support import wire_vectors
from tests.support.forked_server import running_forked_server
from tests.support.secure_server import running_secure_server
from tests.support.vector_runner import RPCS, Runner, StepFailed
from tests.support.wire_vectors import CAPABILITIES, VECTORS, Step, Vector, VectorError, differences, expand

PATHS = wire_vectors.paths()
VECTORS_BY_NAME = {path.stem: Vector.load(path) for path in PATHS}

NOT_BY_REQUEST = {
    "ALREADY_EXISTS": "raised where two servers start at once",
    "ABORTED": "needs a writer of another process in the race",
    "FAILED_PRECONDITION": "raised at the start of a server",
    "SESSION_ENDED": "not raised by this version",
    "STORE_MISMATCH": "raised at the start of a server",
    "BACKLOG_FULL": "needs a model slower than the requests",
    "MODEL_THROTTLED": "needs a model that refuses",
    "MODEL_UNAVAILABLE": "needs a model that is down",
    "MODEL_ANSWER_UNUSABLE": "needs a model that answers nonsense",
    "UNAVAILABLE": "needs a part that is down",
    "STORE_UNAVAILABLE": "needs a store that is down",
    "JOURNAL_UNAVAILABLE": "needs a journal that is down",
    "NOT_READY": "needs a replica that lags, or a server that is starting",
    "SHUTTING_DOWN": "needs a server that drains",
    "OVERLOADED": "needs more calls at once than a server takes",
    "DEADLINE_EXCEEDED": "needs a server slower than the deadline; the client's own clock may be first",
    "CANCELLED": "seen by the server alone: the client ends its call itself",
    "UNAUTHENTICATED": "needs a server that asks for credentials",
    "TOKEN_INVALID": "needs a server that asks for tokens",
    "TOKEN_EXPIRED": "needs a server that asks for tokens",
    "CERTIFICATE_UNKNOWN": "needs a server that asks for certificates",
    "PERMISSION_DENIED": "not raised by this version",
    "SCOPE_MISSING": "needs a credential without the scope",
    "USER_MISMATCH": "needs a credential that is bound to one user",
    "QUOTA_REACHED": "needs a user with as many memories as the quota allows",
    "RATE_LIMITED": "needs more calls a second than a tenant or user may send",
    "CONCURRENCY_LIMITED": "needs more calls at once than a tenant or user may have",
    "DATA_CORRUPT": "needs a file that was tampered with",
    "INTERNAL": "needs a fault of the server",
}
"""Reasons that no request to a healthy server with all scopes can provoke, and why."""


@pytest.fixture(scope="module", params=["plain", "secure"])
def runner(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    directory = tmp_path_factory.mktemp("vectors")
    if request.param == "secure":
        with running_secure_server(directory) as secure:
            tls = memlane.TLS(root_certificates=secure.authority.pem)
            with Runner(secure.target, tls=tls, token=secure.token("bank")) as runner:
                yield runner
    else:
        with running_forked_server(directory / "data") as server, Runner(server.address) as runner:
            yield runner


@pytest.mark.parametrize("path", PATHS, ids=lambda p: p.stem)
def test_the_server_keeps_the_contract(runner: Runner, path: Path) -> None:
    runner.run(VECTORS_BY_NAME[path.stem])


def test_the_server_has_all_that_a_vector_requires(runner: Runner) -> None:
    """Otherwise a vector would be run on a server that it does not fit."""
    assert runner.capabilities() == CAPABILITIES


def test_every_rpc_is_called() -> None:
    called = {step.rpc for vector in VECTORS_BY_NAME.values() for step in vector.steps}
    assert called == set(RPCS)


def test_every_error_reason_is_provoked_or_excused() -> None:
    provoked = {
        step.expect["error"]["reason"]
        for vector in VECTORS_BY_NAME.values()
        for step in vector.steps
        if "error" in step.expect
    }
    in_band = {
        name.removeprefix("ERROR_REASON_")
        for path in PATHS
        for name in re.findall(r'"(ERROR_REASON_[A-Z_]+)"', path.read_text(encoding="utf-8"))
    }
    known = {name.removeprefix("ERROR_REASON_") for name in error_reason_pb2.ErrorReason.keys()} - {  # noqa: SIM118
        "UNSPECIFIED"
    }
    assert not (provoked | in_band) & set(NOT_BY_REQUEST)
    assert provoked | in_band | set(NOT_BY_REQUEST) == known


@pytest.mark.parametrize("path", PATHS, ids=lambda p: p.stem)
def test_errors_name_their_reason_and_fields(path: Path) -> None:
    for number, step in enumerate(VECTORS_BY_NAME[path.stem].steps):
        if "error" in step.expect:
            wanted = {"code", "reason"} | (
                {"fields"} if step.expect["error"].get("reason") == "INVALID_FIELD" else set()
            )
            assert wanted <= set(step.expect["error"]), f"step {number}"


def test_a_failing_step_tells_where_it_differs(runner: Runner) -> None:
    step = {
        "comment": "never so",
        "rpc": "memlane.v1.MemoryService/ListMemories",
        "request": {"userId": "${run}-x", "pageSize": -1},
        "expect": {"error": {"code": "INVALID_ARGUMENT", "fields": ["page_token"]}},
    }
    with pytest.raises(StepFailed) as failed:
        runner.run(Vector("made_up", "", (Step.of(step),)))
    text = str(failed.value)
    assert "made_up, step 0 (memlane.v1.MemoryService/ListMemories): never so" in text
    assert "expected ['page_token'], got ['page_size']" in text


@pytest.mark.parametrize(
    "step",
    [
        {"rpc": "x/Y", "expect": {"response": {}}},
        {"rpc": "x/Y", "request": {}, "requests": [], "expect": {"response": {}}},
        {"rpc": "x/Y", "request": {}, "expect": {}},
        {"rpc": "x/Y", "request": {}, "expect": {"response": {}}, "sleep": 1},
        {"rpc": "x/Y", "request": {}, "expect": {"error": {"code": "OK", "message": ""}}},
    ],
    ids=["no body", "two bodies", "no outcome", "unknown key", "unknown key of an error"],
)
def test_a_malformed_step_is_refused(step: dict[str, Any]) -> None:
    with pytest.raises(VectorError):
        Step.of(step)


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
