"""The model path against the stub server that the whole project's tests share: one client, one server, all
three uses."""

import json

import pytest

from memlane_core.adapters.openai import (
    ChatClient,
    ChatSettings,
    ModelDecider,
    ModelExtractor,
    OpenAIChatModel,
)
from memlane_core.adapters.openai.calls import RetryPolicy
from memlane_core.domain.conversation import Fact, Message, Role
from memlane_core.domain.decision import Candidate, Decision, FactToDecide
from memlane_core.domain.errors import DeadlineExceeded, ModelUnavailable
from memlane_core.domain.memory import Action, Memory
from memlane_core.ports.chat_model import ChatDelta, ChatEnd, ChatPrompt, FinishReason
from memlane_core.ports.decider import DecisionRequest
from memlane_core.ports.extractor import ExtractionRequest
from tests.support.openai_stub import Chat, Drip, Hang, OpenAIStub, Reply, Reset, Throttled

from .model_cases import NOW, fact, facts, unchanged, user
from .test_model_decision import Rules


def _client(stub: OpenAIStub) -> ChatClient:
    settings = ChatSettings(stub.base_url, "k", "m", timeout_seconds=10.0)
    return ChatClient(settings, retry=RetryPolicy(3, 0.01, 0.02))


async def test_extraction_decision_and_chat_share_a_client() -> None:
    extracted = json.dumps(facts(fact("用户搬到了深圳")), ensure_ascii=False)
    decided = json.dumps(
        {"decisions": [{"fact": 0, "action": "UPDATE", "target": 0, "text": None, "reason": "搬家"}]}
    )
    with OpenAIStub() as stub:
        stub.chat.will(Reset(), Throttled(0.01), Chat(extracted), Chat(decided), Chat("您住在深圳。"))
        client = _client(stub)
        request = ExtractionRequest((user("我上个月搬到深圳了"),), NOW)
        extraction = await ModelExtractor(client, redact=unchanged).extract(request)
        assert extraction.facts == (Fact("用户搬到了深圳", source=0),)

        home = Memory("m_home", "u", "用户住在上海")
        entry = FactToDecide(extraction.facts[0], (Candidate(home, 0.8),))
        decider = ModelDecider(client, fallback=Rules(), redact=unchanged)
        assert await decider.decide(DecisionRequest((entry,))) == (
            Decision(Action.UPDATE, "m_home", None, "搬家"),
        )

        prompt = ChatPrompt((Message(Role.USER, "我住哪里？"),))
        events = [e async for e in OpenAIChatModel(client, redact=unchanged).stream(prompt)]
        assert "".join(e.text for e in events if isinstance(e, ChatDelta)) == "您住在深圳。"
        assert isinstance(events[-1], ChatEnd) and events[-1].finish_reason is FinishReason.STOP
        assert events[-1].usage.total_tokens == 12
        assert stub.chat.left == 0 and len(stub.chat.requests) == 5
        await client.close()


@pytest.mark.parametrize("reply", [Hang(), Drip(Chat("{}"))], ids=["hang", "drip"])
async def test_b39_slow_servers_end_with_the_callers_time(reply: Reply) -> None:
    with OpenAIStub() as stub:
        stub.chat.will(reply)
        client = _client(stub)
        with pytest.raises(DeadlineExceeded):
            await ModelExtractor(client, redact=unchanged).extract(
                ExtractionRequest((user("I like tea"),), NOW, timeout_seconds=0.3)
            )
        await client.close()


async def test_a_broken_stream_is_an_error() -> None:
    with OpenAIStub() as stub:
        stub.chat.will(Chat("half an answer", end_stream=False))
        client = _client(stub)
        seen: list[object] = []
        with pytest.raises(ModelUnavailable):
            async for event in OpenAIChatModel(client, redact=unchanged).stream(ChatPrompt((user("hi"),))):
                seen.append(event)
        assert seen and not any(isinstance(event, ChatEnd) for event in seen)
        await client.close()
