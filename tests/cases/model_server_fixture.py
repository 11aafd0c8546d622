"""A memlane server whose model is a script: what the model says to a request, and how a test reads what it got."""

import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
from google.rpc import error_details_pb2, status_pb2

from tests.support.forked_server import running_forked_server
from tests.support.memlane_server import ServerProcess
from tests.support.openai_stub import Chat, Embeddings, OpenAIStub, Reply, Request

API_KEY = "sk-scripted-0f9c1e"
_PATIENCE_SECONDS = 30.0

Answer = Callable[[Request], Reply]


def settings(stub: OpenAIStub, clock_file: Path, **more: str) -> dict[str, str]:
    """`more` by the variable's name without its prefix: SERVER__MAX_SLOW_CALLS="2"."""
    return {
        "MEMLANE_CLOCK_OFFSET_FILE": str(clock_file),
        "MEMLANE_RETENTION__SWEEP_EVERY_SECONDS": "86400",
        "MEMLANE_CHAT__BASE_URL": stub.base_url,
        "MEMLANE_CHAT__MODEL": "scripted",
        "MEMLANE_CHAT__API_KEY": API_KEY,
        "MEMLANE_EMBEDDING__PROVIDER": "openai",
        "MEMLANE_EMBEDDING__BASE_URL": stub.base_url,
        "MEMLANE_EMBEDDING__API_KEY": API_KEY,
        "MEMLANE_EMBEDDING__DIMENSION": "64",
        **{f"MEMLANE_{name}": value for name, value in more.items()},
    }


@contextmanager
def scripted_server(
    data_dir: Path, stub: OpenAIStub, clock_file: Path, **more: str
) -> Iterator[ServerProcess]:
    with running_forked_server(data_dir, settings(stub, clock_file, **more)) as process:
        yield process


def reset(stub: OpenAIStub) -> None:
    """Empty queues and records, and a model that does its work."""
    stub.chat.clear()
    stub.embeddings.clear()
    stub.chat.default = model()
    stub.embeddings.default = Embeddings()


def model(*, facts: Answer | None = None, decisions: Answer | None = None) -> Answer:
    """A model that takes each turn of the user for a fact, and a fact for new unless its text is stored already."""

    def answer(request: Request) -> Reply:
        if asked_for(request) == "facts":
            return (facts or every_turn)(request)
        return (decisions or new_unless_stored)(request)

    return answer


def asked_for(request: Request) -> str:
    """ "facts" or "decisions"."""
    return str(request.json["response_format"]["json_schema"]["name"])


def records(request: Request) -> list[dict[str, Any]]:
    """What stands between the delimiters of the prompt's data."""
    lines = str(request.json["messages"][1]["content"]).split("\n")
    return [json.loads(line) for line in lines[1:-1]]


def every_turn(request: Request) -> Chat:
    turns = [r for r in records(request) if r["role"] == "user"]
    return Chat(listed(*(fact(t["content"], t["i"]) for t in turns)))


def new_unless_stored(request: Request) -> Chat:
    known = {r["text"]: r["memory"] for r in records(request) if "memory" in r}
    return decided(
        *(
            decision(r["fact"], "NOOP", known[r["text"]])
            if r["text"] in known
            else decision(r["fact"], "ADD", None)
            for r in records(request)
            if "fact" in r
        )
    )


def fact(text: str, source: int = 0, *, retraction: bool = False) -> dict[str, object]:
    return {"source": source, "subject": "user", "text": text, "retraction": retraction, "expires": None}


def listed(*facts: Mapping[str, object]) -> str:
    return json.dumps({"facts": list(facts)}, ensure_ascii=False)


def decision(number: int, action: str, target: object, text: str | None = None) -> dict[str, object]:
    return {"fact": number, "action": action, "target": target, "text": text, "reason": "scripted"}


def decided(*decisions: Mapping[str, object]) -> Chat:
    return Chat(json.dumps({"decisions": list(decisions)}, ensure_ascii=False))


class Gate:
    """Holds an answer back until the test opens it: a slow model without a clock."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._open = threading.Event()

    def __call__(self, request: Request) -> Reply:
        assert self._open.wait(2 * _PATIENCE_SECONDS), "the test never opened the gate"
        return self._answer(request)

    def open(self) -> None:
        self._open.set()


def reason_of(error: grpc.RpcError) -> str:
    """ErrorInfo.reason of a refused call."""
    trailers = dict(error.trailing_metadata() or ())
    status = status_pb2.Status.FromString(trailers["grpc-status-details-bin"])
    info = error_details_pb2.ErrorInfo()
    assert any(detail.Unpack(info) for detail in status.details)
    return str(info.reason)


def until(condition: Callable[[], bool]) -> None:
    """Returns once it holds; fails when it does not come to hold."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it never came to hold"
        time.sleep(0.05)


def holds(data: bytes, secret: str) -> bool:
    """Whether a file holds it; four digits inside of a time, an id or a hash are no PIN."""
    return re.search(rb"(?<![\w.-])" + re.escape(secret.encode()) + rb"(?![\w-])", data) is not None


def sent_texts(stub: OpenAIStub) -> str:
    """All that the model server was ever sent, without the random codes of the delimiters."""
    requests: Sequence[Request] = [*stub.chat.requests, *stub.embeddings.requests]
    sent = "\n".join(json.dumps(r.json, ensure_ascii=False) for r in requests)
    return re.sub(r"===== (begin|end) [0-9a-f]+ =====", "", sent)
