"""Fingerprints and page tokens."""

from typing import Any

import pytest

from memlane.v1 import memory_service_pb2 as pb
from memlane_core.domain.errors import InvalidArgument
from memlane_server.translate.stamps import Pages, request_stamp
from memlane_server.validate import Violations

KEY = b"k" * 32


def listing(**changes: Any) -> pb.ListMemoriesRequest:
    return pb.ListMemoriesRequest(
        **{"user_id": "张三", "page_size": 10, "metadata_filter": {"a": "1", "b": "2"}, **changes}
    )


def cursor(
    token: str, *, tenant: str = "t", method: str = "ListMemories", key: bytes = KEY, **changes: Any
) -> object:
    v = Violations()
    found = Pages(key, tenant, method, listing(page_token=token, **changes)).cursor(v, 2)
    v.check()
    return found


def test_a_request_without_id_has_no_stamp() -> None:
    assert request_stamp(KEY, "CreateMemory", pb.CreateMemoryRequest(user_id="a", content="b")) is None


def test_a_fingerprint_covers_everything_but_the_id() -> None:
    def fingerprint(key: bytes = KEY, **changes: Any) -> str:
        fields = {
            "user_id": "a",
            "content": "b",
            "request_id": "r",
            "metadata": {"x": "1", "y": "2"},
            **changes,
        }
        stamp = request_stamp(key, "CreateMemory", pb.CreateMemoryRequest(**fields))
        assert stamp is not None and stamp.request_id == fields["request_id"]
        return stamp.fingerprint

    assert fingerprint() == fingerprint(request_id="other") == fingerprint(metadata={"y": "2", "x": "1"})
    others = [
        fingerprint(content="c"),
        fingerprint(user_id="A"),
        fingerprint(metadata={}),
        fingerprint(b"z" * 32),
    ]
    assert len({fingerprint(), *others}) == 5


def test_a_token_brings_its_cursor_back() -> None:
    token = Pages(KEY, "t", "ListMemories", listing()).token(1_700_000_000, 42)
    assert token.isascii() and cursor(token) == (1_700_000_000, 42)
    assert cursor(token, page_size=3) == (1_700_000_000, 42)
    assert cursor("") is None


@pytest.mark.parametrize(
    "changes",
    [
        {"user_id": "李四"}, {"metadata_filter": {}}, {"order": pb.MEMORY_ORDER_UPDATE_TIME_DESC},
        {"tenant": "other"}, {"method": "ListIngestions"}, {"key": b"x" * 32},
    ],
)  # fmt: skip
def test_a_token_is_good_for_its_own_request_only(changes: dict[str, object]) -> None:
    token = Pages(KEY, "t", "ListMemories", listing()).token(1, 2)
    with pytest.raises(InvalidArgument):
        cursor(token, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "spoil",
    [lambda t: t[:-1], lambda t: t + "A", lambda t: "B" + t[1:], lambda t: "记忆", lambda t: "A" * 10_000],
)
def test_tokens_that_were_altered(spoil: object) -> None:
    token = Pages(KEY, "t", "ListMemories", listing()).token(1, 2)
    with pytest.raises(InvalidArgument) as caught:
        cursor(spoil(token))  # type: ignore[operator]
    assert [v.field for v in caught.value.violations] == ["page_token"]
