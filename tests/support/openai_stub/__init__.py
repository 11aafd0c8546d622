"""A scripted OpenAI-compatible server over real HTTP, for tests of everything that calls a model.

It runs in threads of its own, so clients in this process, synchronous or asynchronous, and servers in other
processes can all use it:

    with OpenAIStub() as stub:
        stub.chat.will(Throttled(retry_after_seconds=1), Chat('{"facts": []}'))
        stub.embeddings.will(Status(500), Embeddings(shuffled=True))
        client = AsyncOpenAI(base_url=stub.base_url, api_key="test")
        ...
        assert stub.chat.requests[0].json["messages"][-1]["content"] == "我住在上海"

Each endpoint (`stub.chat`, `stub.embeddings`) answers with the replies queued by `will(...)`, in order, and then with
its `default`: embeddings that depend on the text alone; for chat, status 500, since nothing sensible can be made
up. Replies are values: `Chat`, `Embeddings`, `Status`, `Throttled`, `Raw`, `Hang`, `Reset`, and around any of them
`After` (a delay) and `Drip` (a few bytes a second); a function from the request to a reply is a reply, too.

The fixture `openai_stub` is in `tests.support.openai_stub.fixtures`.
"""

from .replies import After, Chat, Drip, Embeddings, Hang, Raw, Reply, Reset, Status, Throttled, vector_of
from .server import Endpoint, OpenAIStub, Request

__all__ = [
    "After",
    "Chat",
    "Drip",
    "Embeddings",
    "Endpoint",
    "Hang",
    "OpenAIStub",
    "Raw",
    "Reply",
    "Request",
    "Reset",
    "Status",
    "Throttled",
    "vector_of",
]
