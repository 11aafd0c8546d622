"""A server for the field reports, with a clock that tests can move."""

import itertools
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import grpc
import pytest

from memlane.v1 import (
    compliance_service_pb2,
    compliance_service_pb2_grpc,
    context_service_pb2_grpc,
    memory_pb2,
    memory_service_pb2,
    memory_service_pb2_grpc,
    session_service_pb2,
    session_service_pb2_grpc,
)
from tests.support.forked_server import running_forked_server
from tests.support.memlane_server import ServerProcess


class Api:
    """The RPCs as a test wants to say them. One user per test: `fresh()` gives an id nobody has used."""

    _numbers = itertools.count()

    def __init__(self, channel: grpc.Channel, clock_file: Path) -> None:
        self.memory = memory_service_pb2_grpc.MemoryServiceStub(channel)
        self.session = session_service_pb2_grpc.SessionServiceStub(channel)
        self.context = context_service_pb2_grpc.ContextServiceStub(channel)
        self.compliance = compliance_service_pb2_grpc.ComplianceServiceStub(channel)
        self._clock_file = clock_file

    def fresh(self, prefix: str = "user") -> str:
        return f"{prefix}-{next(self._numbers)}-{uuid.uuid4().hex[:8]}"

    def move_clock(self, seconds: float) -> None:
        """On, never back: the file is the server's for all tests of the module."""
        offset = float(self._clock_file.read_text()) if self._clock_file.exists() else 0.0
        self._clock_file.write_text(str(offset + seconds))

    def say(self, user_id: str, *texts: str) -> list[memory_pb2.RememberOperation]:
        """Remember a conversation of user messages."""
        return list(self.converse(user_id, *((memory_pb2.ROLE_USER, t) for t in texts)).operations)

    def converse(
        self, user_id: str, *messages: tuple["memory_pb2.Role", str], recalled: Sequence[str] = ()
    ) -> memory_service_pb2.RememberResponse:
        request = memory_service_pb2.RememberRequest(user_id=user_id)
        request.conversation.recalled.extend(recalled)
        for role, text in messages:
            request.conversation.messages.append(memory_pb2.Message(role=role, content=text))
        response: memory_service_pb2.RememberResponse = self.memory.Remember(request, timeout=60)
        return response

    def state(
        self, user_id: str, *facts: str, request_id: str = "", ttl_seconds: int = 0
    ) -> memory_service_pb2.RememberResponse:
        """Remember facts that are given as such."""
        request = memory_service_pb2.RememberRequest(user_id=user_id, request_id=request_id)
        for text in facts:
            fact = request.facts.facts.add(content=text)
            if ttl_seconds:
                fact.ttl.FromSeconds(ttl_seconds)
        response: memory_service_pb2.RememberResponse = self.memory.Remember(request, timeout=60)
        return response

    def create(
        self, user_id: str, content: str, ttl_seconds: int = 0, metadata: Mapping[str, str] | None = None
    ) -> memory_pb2.Memory:
        request = memory_service_pb2.CreateMemoryRequest(user_id=user_id, content=content, metadata=metadata)
        if ttl_seconds:
            request.ttl.FromSeconds(ttl_seconds)
        memory: memory_pb2.Memory = self.memory.CreateMemory(request, timeout=30).memory
        return memory

    def live(self, user_id: str) -> list[memory_pb2.Memory]:
        return list(
            self.memory.ListMemories(
                memory_service_pb2.ListMemoriesRequest(user_id=user_id, page_size=1000), timeout=30
            ).memories
        )

    def texts(self, user_id: str) -> list[str]:
        return [m.content for m in self.live(user_id)]

    def found(self, user_id: str, query: str, top_k: int = 5) -> list[str]:
        answer = self.memory.SearchMemories(
            memory_service_pb2.SearchMemoriesRequest(user_id=user_id, query=query, top_k=top_k), timeout=30
        )
        return [r.memory.content for r in answer.results]

    def revisions(self, user_id: str, memory_id: str) -> list[memory_pb2.MemoryRevision]:
        return list(
            self.memory.ListMemoryRevisions(
                memory_service_pb2.ListMemoryRevisionsRequest(user_id=user_id, memory_id=memory_id),
                timeout=30,
            ).revisions
        )

    def forget(self, user_id: str, *, purge_now: bool = False) -> compliance_service_pb2.ForgetUserResponse:
        response: compliance_service_pb2.ForgetUserResponse = self.compliance.ForgetUser(
            compliance_service_pb2.ForgetUserRequest(
                user_id=user_id, operator="tester", reason="asked for", purge_now=purge_now
            ),
            timeout=60,
        )
        return response

    def append(self, user_id: str, session_id: str, *texts: str) -> None:
        messages = [memory_pb2.Message(role=memory_pb2.ROLE_USER, content=t) for t in texts]
        self.session.AppendMessages(
            session_service_pb2.AppendMessagesRequest(
                user_id=user_id, session_id=session_id, messages=messages
            ),
            timeout=30,
        )

    def end(self, user_id: str, session_id: str) -> session_service_pb2.EndSessionResponse:
        response: session_service_pb2.EndSessionResponse = self.session.EndSession(
            session_service_pb2.EndSessionRequest(
                user_id=user_id, session_id=session_id, mode=memory_pb2.REMEMBER_MODE_WAIT
            ),
            timeout=60,
        )
        return response

    def audit(self, user_id: str) -> list[compliance_service_pb2.AuditEvent]:
        return list(
            self.compliance.ListAuditEvents(
                compliance_service_pb2.ListAuditEventsRequest(user_id=user_id, page_size=1000), timeout=30
            ).events
        )


@pytest.fixture(scope="module")
def clock_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("clock") / "offset"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, clock_file: Path) -> Iterator[ServerProcess]:
    settings = {
        "MEMLANE_CLOCK_OFFSET_FILE": str(clock_file),
        # Only what a test asks for may remove what has expired.
        "MEMLANE_RETENTION__SWEEP_EVERY_SECONDS": "86400",
    }
    with running_forked_server(tmp_path_factory.mktemp("memlane") / "data", settings) as process:
        yield process


@pytest.fixture
def api(server: ServerProcess, clock_file: Path) -> Iterator[Api]:
    with server.channel() as channel:
        yield Api(channel, clock_file)
