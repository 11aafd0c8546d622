"""Which RPC needs what: every one has an entry, and a credential bound to a user stays with that user."""

from collections.abc import Iterator
from typing import Any

import pytest
from google.protobuf.descriptor import Descriptor, MethodDescriptor
from google.protobuf.message_factory import GetMessageClass

from memlane.v1 import compliance_service_pb2, memory_service_pb2
from memlane_server.health import SERVICES
from memlane_server.permissions import PERMISSIONS, Reach, ScopeMissing, UserMismatch
from memlane_server.principal import SCOPES, Principal

METHODS = {
    f"/{service.full_name}/{method.name}": method
    for service in SERVICES.values()
    for method in service.methods
}
BOUND = Principal("bank", "app", user_id="客户-1")
FREE = Principal("bank", "back-end")


def user_paths(message: Descriptor, before: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Ways to each user_id in a request."""
    for field in message.fields:
        if field.name == "user_id":
            yield (*before, field.name)
        elif (
            field.message_type is not None
            and len(before) < 4
            and not field.message_type.GetOptions().map_entry
        ):
            yield from user_paths(field.message_type, (*before, field.name))


def naming(method: MethodDescriptor, user_id: str) -> Any:
    """A request that names a user wherever it can."""
    request = GetMessageClass(method.input_type)()
    for path in user_paths(method.input_type):
        at = request
        for name in path[:-1]:
            at = getattr(at, name)
            at = at.add() if hasattr(at, "add") else at
        setattr(at, path[-1], user_id)
    return request


def test_every_rpc_has_an_entry_and_every_entry_an_rpc() -> None:
    assert set(PERMISSIONS) == set(METHODS)


def test_every_scope_opens_something_and_no_other_is_asked_for() -> None:
    asked = {scope for p in PERMISSIONS.values() for wanted in p.needs for scope in wanted}
    assert asked == SCOPES


@pytest.mark.parametrize("path", METHODS)
def test_reach_follows_the_request(path: str) -> None:
    """A request with a user_id anywhere in it is never let through unlooked at."""
    paths = set(user_paths(METHODS[path].input_type))
    reach = PERMISSIONS[path].reach
    expected = {
        Reach.OPEN: [set()],
        Reach.TENANT: [set(), {("user_id",)}],
        Reach.USER: [{("user_id",)}],
        Reach.USER_OR_TENANT: [{("user_id",)}],
        Reach.SEARCH: [{("search", "user_id")}],
        Reach.SEARCHES: [{("searches", "user_id")}],
    }
    assert paths in expected[reach]


@pytest.mark.parametrize("path", METHODS)
def test_a_bound_credential_stays_with_its_user(path: str) -> None:
    permission, method = PERMISSIONS[path], METHODS[path]
    permission.check(FREE, naming(method, "somebody"))
    if permission.reach is Reach.OPEN:
        permission.check(BOUND, naming(method, "somebody"))
        return
    for other in ("客户-2", "客户-1 ", "客户-", "", "global"):
        with pytest.raises(UserMismatch) as caught:
            permission.check(BOUND, naming(method, other))
        assert "客户" not in caught.value.message
    if permission.reach is Reach.TENANT:
        with pytest.raises(UserMismatch):
            permission.check(BOUND, naming(method, "客户-1"))
    else:
        permission.check(BOUND, naming(method, "客户-1"))


@pytest.mark.parametrize("path", METHODS)
def test_each_scope_that_is_missing_closes_the_rpc(path: str) -> None:
    permission = PERMISSIONS[path]
    request = naming(METHODS[path], "somebody")
    opening = set().union(*permission.needs)
    without = Principal("bank", "back-end", scopes=SCOPES - opening)
    if not opening:
        permission.check(Principal("bank", "x", scopes=frozenset()), request)
        return
    with pytest.raises(ScopeMissing) as caught:
        permission.check(without, request)
    assert caught.value.metadata["scope"] == permission.wanted_scopes()
    for wanted in permission.needs:
        permission.check(Principal("bank", "x", scopes=wanted), request)
        for scope in wanted:
            with pytest.raises(ScopeMissing):
                permission.check(Principal("bank", "x", scopes=wanted - {scope}), request)


def test_one_foreign_search_closes_a_whole_batch() -> None:
    permission = PERMISSIONS["/memlane.v1.MemoryService/BatchSearchMemories"]
    own = memory_service_pb2.SearchMemoriesRequest(user_id="客户-1", query="x")
    foreign = memory_service_pb2.SearchMemoriesRequest(user_id="客户-2", query="x")
    permission.check(BOUND, memory_service_pb2.BatchSearchMemoriesRequest(searches=[own] * 1000))
    with pytest.raises(UserMismatch):
        permission.check(
            BOUND, memory_service_pb2.BatchSearchMemoriesRequest(searches=[own] * 999 + [foreign])
        )


def test_the_audit_log_of_the_tenant_is_not_for_a_bound_credential() -> None:
    permission = PERMISSIONS["/memlane.v1.ComplianceService/ListAuditEvents"]
    permission.check(FREE, compliance_service_pb2.ListAuditEventsRequest())
    with pytest.raises(UserMismatch):
        permission.check(BOUND, compliance_service_pb2.ListAuditEventsRequest())


@pytest.mark.parametrize("path", METHODS)
def test_the_user_of_a_request_is_the_one_it_names(path: str) -> None:
    permission = PERMISSIONS[path]
    one = permission.reach in (Reach.USER, Reach.SEARCH, Reach.USER_OR_TENANT) or path.endswith(
        "/SetLegalHold"
    )
    assert permission.user_id(naming(METHODS[path], "客户-1")) == ("客户-1" if one else "")
