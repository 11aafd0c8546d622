"""The hand-made bytes of BuildContext mean what a message built field by field means."""

from datetime import UTC, datetime, timedelta, timezone

from memlane.v1 import context_service_pb2
from memlane_core.domain.conversation import Message, Role, StoredMessage
from memlane_core.domain.memory import Memory
from memlane_server.translate import message_record
from memlane_server.translate.common import memory_message
from memlane_server.translate.remember import message_message
from memlane_server.translate.wire import context_response
from tests.support.hits import hit_of

BEIJING = timezone(timedelta(hours=8))
MESSAGES = (
    Message(Role.USER, "我的存款什么时候到期？", datetime(2026, 3, 1, 9, 30, tzinfo=BEIJING)),
    Message(Role.ASSISTANT, "On March 20.", datetime(2026, 3, 1, 1, 30, tzinfo=UTC)),
    Message(Role.USER, "好的" * 900),
)
MEMORIES = (
    Memory("m1", "客户/1", "有三个孩子", created_at=5, updated_at=9, revision=2),
    Memory("m2", "客户/1", "prefers calls " * 100, metadata={"topic": "contact"}, expires_at=77),
)


def test_messages_and_memories_are_those_of_a_message_built_field_by_field() -> None:
    rest = context_service_pb2.BuildContextResponse(system_prompt="规则", total_tokens=7)
    window = [
        StoredMessage(0, MESSAGES[0], 1, tokens=9, record=message_record(MESSAGES[0])),
        StoredMessage(1, MESSAGES[1], 1, tokens=9, record=message_record(MESSAGES[1])),
        StoredMessage(2, MESSAGES[2], 1),
    ]
    hits = [hit_of(m, 0.5 + i, 0.25) for i, m in enumerate(MEMORIES)]
    answer = context_service_pb2.BuildContextResponse.FromString(context_response(rest, window, hits))
    assert answer.system_prompt == "规则" and answer.total_tokens == 7
    assert list(answer.messages) == [message_message(m) for m in MESSAGES]
    assert [s.memory for s in answer.memories] == [memory_message(m) for m in MEMORIES]
    assert [s.score for s in answer.memories] == [0.5, 1.5]
