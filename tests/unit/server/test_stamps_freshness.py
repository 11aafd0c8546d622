"""How fresh a read must be is no part of what it asks."""

from memlane.v1 import consistency_pb2, memory_service_pb2
from memlane_server.translate.stamps import Pages
from memlane_server.validate import Violations


def test_a_page_token_survives_a_newer_consistency_token() -> None:
    first = memory_service_pb2.ListMemoriesRequest(user_id="客户")
    token = Pages(b"k" * 32, "tenant", "ListMemories", first).token(7, 9)
    newer = consistency_pb2.Consistency(
        at_least_as_fresh=consistency_pb2.ConsistencyToken(token="a later one")
    )
    second = memory_service_pb2.ListMemoriesRequest(user_id="客户", page_token=token, consistency=newer)
    violations = Violations()
    assert Pages(b"k" * 32, "tenant", "ListMemories", second).cursor(violations, 2) == (7, 9)
    violations.check()


def test_a_page_token_of_another_user_is_refused() -> None:
    first = memory_service_pb2.ListMemoriesRequest(user_id="a")
    token = Pages(b"k" * 32, "tenant", "ListMemories", first).token(7, 9)
    second = memory_service_pb2.ListMemoriesRequest(user_id="b", page_token=token)
    assert Pages(b"k" * 32, "tenant", "ListMemories", second).cursor(Violations(), 2) is None
