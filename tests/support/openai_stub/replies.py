"""What the stub can answer, as values."""

import base64
import hashlib
import json
import math
import random
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Union

CHUNK_CHARS = 4
"""Of a streamed answer: small, so that pieces split words and JSON tokens."""

_USAGE = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}


@dataclass(frozen=True, slots=True)
class Chat:
    """An answer of /chat/completions; streamed as server-sent events when the request asks for that."""

    content: str | None
    finish_reason: str = "stop"
    """"length" for an answer cut by the token limit."""
    reasoning_content: str | None = None
    """Thinking in a field of its own, as some servers send it."""
    end_stream: bool = True
    """False breaks a stream off: no finish reason, no [DONE]."""


@dataclass(frozen=True, slots=True)
class Embeddings:
    """An answer of /embeddings: one vector per input, in the encoding that the request asks for."""

    vectors: Sequence[Sequence[float]] | None = None
    """None = `vector_of` each input."""
    shuffled: bool = False
    """Last input first; `index` still tells which is which."""
    missing: int = 0
    """Leave out this many at the end."""
    indices: Sequence[int] | None = None
    """Claim these, instead of 0, 1, 2 …"""
    max_input_chars: int | None = None
    """Refuse the whole request with 400 when one input is longer, as servers do at their context length."""


@dataclass(frozen=True, slots=True)
class Status:
    """An error, with OpenAI's form of a body unless another one is given."""

    code: int
    message: str = "scripted failure"
    headers: Mapping[str, str] = field(default_factory=dict)
    error_code: str | None = None
    body: bytes | None = None


def Throttled(retry_after_seconds: float | None = None) -> Status:
    headers = {} if retry_after_seconds is None else {"Retry-After": f"{retry_after_seconds:g}"}
    return Status(429, "rate limit reached", headers, "rate_limit_exceeded")


@dataclass(frozen=True, slots=True)
class Raw:
    """These bytes, with status 200."""

    body: bytes
    content_type: str = "application/json"


@dataclass(frozen=True, slots=True)
class Hang:
    """Take the request, never answer; until the client leaves or the stub is closed."""


@dataclass(frozen=True, slots=True)
class Reset:
    """Reset the connection without an answer."""


@dataclass(frozen=True, slots=True)
class After:
    """Another reply, this much later."""

    seconds: float
    reply: "Reply"


@dataclass(frozen=True, slots=True)
class Drip:
    """The body of another reply a byte at a time; head and headers come at once."""

    reply: "Reply"
    seconds_per_byte: float = 1.0


Fixed = Chat | Embeddings | Status | Raw
Reply = Union[Fixed, Hang, Reset, After, Drip, Callable[[Any], "Reply"]]  # noqa: UP007 - refers to itself
"""A function gets the `Request`."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """A reply as bytes; in several pieces when it is streamed."""

    status: int
    headers: Mapping[str, str]
    pieces: tuple[bytes, ...]
    streamed: bool = False
    complete: bool = True


def render(reply: Fixed, request: Mapping[str, Any], dimension: int) -> Rendered:
    """`request` is the JSON that came."""
    match reply:
        case Chat():
            if request.get("stream"):
                return Rendered(
                    200,
                    {"Content-Type": "text/event-stream"},
                    tuple(_events(reply, request)),
                    True,
                    reply.end_stream,
                )
            return _json(200, _completion(reply, request))
        case Embeddings():
            return _embeddings(reply, request, dimension)
        case Status():
            error = {"message": reply.message, "type": "scripted", "code": reply.error_code, "param": None}
            body = reply.body if reply.body is not None else json.dumps({"error": error}).encode()
            return Rendered(reply.code, {"Content-Type": "application/json", **reply.headers}, (body,))
        case Raw():
            return Rendered(200, {"Content-Type": reply.content_type}, (reply.body,))


def vector_of(text: str, dimension: int) -> list[float]:
    """A unit vector that depends on the text alone; nothing like a meaning is in it."""
    source = random.Random(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())
    values = [source.gauss(0.0, 1.0) for _ in range(dimension)]
    norm = math.sqrt(sum(value * value for value in values))
    return [value / norm for value in values]


def _json(status: int, body: Mapping[str, Any]) -> Rendered:
    encoded = json.dumps(body, ensure_ascii=False).encode()
    return Rendered(status, {"Content-Type": "application/json"}, (encoded,))


def _completion(reply: Chat, request: Mapping[str, Any]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.content}
    if reply.reasoning_content is not None:
        message["reasoning_content"] = reply.reasoning_content
    return {
        "id": "chatcmpl-stub",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": request.get("model", ""),
        "choices": [{"index": 0, "message": message, "finish_reason": reply.finish_reason}],
        "usage": _USAGE,
    }


def _events(reply: Chat, request: Mapping[str, Any]) -> Iterator[bytes]:
    def event(**fields: Any) -> bytes:
        chunk = {
            "id": "chatcmpl-stub",
            "object": "chat.completion.chunk",
            "created": 1_700_000_000,
            "model": request.get("model", ""),
            **fields,
        }
        return f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n".encode()

    def choice(delta: Mapping[str, Any], finish_reason: str | None = None) -> list[dict[str, Any]]:
        return [{"index": 0, "delta": delta, "finish_reason": finish_reason}]

    yield event(choices=choice({"role": "assistant", "content": ""}))
    for name, text in (
        ("reasoning_content", reply.reasoning_content or ""),
        ("content", reply.content or ""),
    ):
        for start in range(0, len(text), CHUNK_CHARS):
            yield event(choices=choice({name: text[start : start + CHUNK_CHARS]}))
    if reply.end_stream:
        yield event(choices=choice({}, reply.finish_reason))
        if (request.get("stream_options") or {}).get("include_usage"):
            yield event(choices=[], usage=_USAGE)
        yield b"data: [DONE]\n\n"


def _embeddings(reply: Embeddings, request: Mapping[str, Any], dimension: int) -> Rendered:
    asked = request.get("input", [])
    texts = [asked] if isinstance(asked, str) else list(asked)
    if reply.max_input_chars is not None and any(len(text) > reply.max_input_chars for text in texts):
        message = f"This model's maximum context length is {reply.max_input_chars} tokens."
        error = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
        return _json(400, {"error": error})
    size = int(request.get("dimensions") or dimension)
    vectors = reply.vectors if reply.vectors is not None else [vector_of(text, size) for text in texts]
    indices = reply.indices if reply.indices is not None else range(len(vectors))
    in_base64 = request.get("encoding_format") == "base64"
    data = [
        {"object": "embedding", "index": index, "embedding": _encode(vector) if in_base64 else list(vector)}
        for index, vector in zip(indices, vectors, strict=True)
    ]
    data = data[: len(data) - reply.missing]
    if reply.shuffled:
        data.reverse()
    usage = {"prompt_tokens": len(texts), "total_tokens": len(texts)}
    return _json(200, {"object": "list", "data": data, "model": request.get("model", ""), "usage": usage})


def _encode(vector: Sequence[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode("ascii")
