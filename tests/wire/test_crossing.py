"""Nobody crosses from one tenant to another, nor from one user to another: thousands of attempts over TLS, after which
the victim's data has neither been seen nor changed."""

import asyncio
import random
import re
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from typer.testing import CliRunner, Result

import memlane
from memlane.v1 import error_reason_pb2, memory_service_pb2
from memlane_server.auth import issuing
from memlane_server.auth.example_certificates import Authority
from memlane_server.cli.main import app
from memlane_server.health import SERVICES
from memlane_server.permissions import PERMISSIONS, Reach
from memlane_server.principal import SCOPES
from tests.support.credentials import AUDIENCE, ISSUER
from tests.support.crossing import Forger, Known, Metadata, bearer, doubled_user, requests_for
from tests.support.secure_server import SecureServer, running_secure_server

HOME, OTHER = "bank-a", "bank-b"
USERS = ("客户-1", "customer-2")
ATTACKER = "attacker"
ROUNDS = 6
"""How often each kind of forged credential is tried on each request."""
_AT_ONCE = 24
LEEWAY_SECONDS = 30
TOKEN_EXPIRED = error_reason_pb2.ERROR_REASON_TOKEN_EXPIRED
_UNAUTHENTICATED, _DENIED = grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED
_ONLY_DENIED = frozenset((_DENIED,))
_METHODS = {
    f"{service.name}/{method.name}": method for service in SERVICES.values() for method in service.methods
}


@dataclass(frozen=True)
class Attempt:
    kind: str
    rpc: str
    sent: bytes
    metadata: Metadata
    codes: frozenset[grpc.StatusCode] | None
    """What it must end with; None = anything, as long as nothing of the victim is in it."""


class Attacker:
    """Sends attempts and looks at what comes back."""

    def __init__(self, channel: grpc.aio.Channel, secrets: Iterable[bytes]) -> None:
        self._channel = channel
        self._secrets = tuple(secrets)
        self._free = asyncio.Semaphore(_AT_ONCE)
        self.crossings: list[tuple[str, str, str, str]] = []
        self.tried: Counter[str] = Counter()
        self.codes: Counter[grpc.StatusCode] = Counter()

    async def attack(self, attempts: Iterable[Attempt]) -> None:
        await asyncio.gather(*(self._try(attempt) for attempt in attempts))

    async def _try(self, attempt: Attempt) -> None:
        async with self._free:
            code, answers = await self._send(attempt)
        self.tried[attempt.kind] += 1
        self.codes[code] += 1
        seen = any(secret in answer for answer in answers for secret in self._secrets)
        if seen or (attempt.codes is not None and code not in attempt.codes):
            self.crossings.append((attempt.kind, attempt.rpc, code.name, "seen" if seen else ""))

    async def _send(self, attempt: Attempt) -> tuple[grpc.StatusCode, list[bytes]]:
        method = _METHODS[attempt.rpc]
        path, options = f"/memlane.v1.{attempt.rpc}", {"metadata": attempt.metadata, "timeout": 60}
        try:
            if method.client_streaming:
                call = self._channel.stream_stream(path)(iter([attempt.sent]), **options)
                answers = [answer async for answer in call]
                return _code_of_stream(answers), answers
            if method.server_streaming:
                return grpc.StatusCode.OK, [
                    m async for m in self._channel.unary_stream(path)(attempt.sent, **options)
                ]
            return grpc.StatusCode.OK, [await self._channel.unary_unary(path)(attempt.sent, **options)]
        except grpc.aio.AioRpcError as error:
            told = [(error.details() or "").encode(), *(_raw(v) for _, v in error.trailing_metadata() or ())]
            # An id that the attacker sent may come back in the refusal; nothing else may.
            return error.code(), [t for t in told if attempt.codes is not None or b"NOT_FOUND" not in t]


def _raw(value: str | bytes) -> bytes:
    return value if isinstance(value, bytes) else value.encode()


def _code_of_stream(answers: list[bytes]) -> grpc.StatusCode:
    """Of the one response: the stream itself goes on."""
    [answer] = answers
    number = memory_service_pb2.StreamSearchMemoriesResponse.FromString(answer).status.code
    return next(code for code in grpc.StatusCode if code.value[0] == number)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureServer]:
    settings = {
        # Rows come by time: often enough to wait for, seldom enough that a slow machine makes few of them.
        "MEMLANE_AUTH__REFUSALS_EVERY_SECONDS": "1",
        "MEMLANE_LOG__LEVEL": "debug",
        "MEMLANE_TENANT": "home",
    }
    with running_secure_server(tmp_path_factory.mktemp("memlane"), settings) as secure:
        yield secure


@pytest.fixture
async def channel(server: SecureServer) -> AsyncIterator[grpc.aio.Channel]:
    async with grpc.aio.secure_channel(server.target, server.credentials()) as channel:
        yield channel


def client(server: SecureServer, tenant: str, **claims: Any) -> memlane.Client:
    return memlane.Client(
        server.target,
        token=server.token(tenant, **claims),
        tls=memlane.TLS(root_certificates=server.authority.pem),
    )


class Victim:
    """Two users of a tenant with something of every kind, and all that there is to see of it."""

    def __init__(self, server: SecureServer) -> None:
        self._client = client(server, HOME, sub="victim")
        self.of_users: list[bytes] = []
        self.of_tenant = ["绝密知识 top secret rate 3.7%".encode(), "绝密规则 top secret rule".encode()]
        self.known = [self._fill(user_id) for user_id in USERS]
        self._client.upsert_knowledge(self.of_tenant[0].decode(), knowledge_id="kb-1")
        self._client.put_rules([self.of_tenant[1].decode()])
        self._client.set_legal_hold(USERS[1], True, operator="auditor", reason="case 7")

    def _fill(self, user_id: str) -> Known:
        marker = f"绝密{random.randrange(10**12)}"
        ask = self._client
        created = [ask.create_memory(user_id, f"{marker} secret {n} 存款") for n in range(3)]
        repeated = ask.create_memory(user_id, f"{marker} repeated", request_id="r-1")
        ask.append_messages(user_id, "s-1", [("user", f"{marker} said 我想买房"), ("assistant", "OK")])
        queued = ask.remember(user_id, facts=[f"Lives in {marker} town"], mode="ASYNC")
        while ask.get_ingestion(user_id, queued.ingestion_id).state != "SUCCEEDED":
            time.sleep(0.02)
        page = ask.list_memories(user_id, page_size=1)
        self.of_users.append(marker.encode())
        self.of_users += [m.memory.memory_id.encode() for m in (*created, repeated)]
        self.of_users.append(queued.ingestion_id.encode())
        return Known(
            user_id,
            memory_id=created[0].memory.memory_id,
            ingestion_id=queued.ingestion_id,
            page_token=page.next_page_token,
            consistency_token=created[0].written_at,
        )

    def state(self) -> list[str]:
        """All of it, so that two states can be compared: what changed is a record that differs."""
        ask = self._client
        records: list[Any] = [ask.get_rules(), *ask.iterate(ask.list_knowledge)]
        records += ask.iterate(ask.list_rule_revisions)
        for user_id in USERS:
            records += ask.export_user(user_id, operator="auditor", reason="compare")
            records += ask.iterate(ask.list_memories, user_id)
            records += ask.get_window(user_id, "s-1").messages
            records.append(ask.get_legal_hold(user_id))
        records += ask.iterate(ask.list_audit_events, whole_tenant=True)
        # How often somebody looked or was refused changes nothing; the attacker may change what is theirs.
        shown = (re.sub(r"(read|written)_at='[^']*'", "", repr(record)) for record in records)
        others = f"ExportUser|RefuseCall|ExportSummary|user_id='{ATTACKER}'"
        return [text for text in shown if not re.search(others, text)]


@pytest.fixture(scope="module")
def victim(server: SecureServer) -> Victim:
    return Victim(server)


def forged(server: SecureServer, victim: Victim, chance: random.Random) -> Iterator[Attempt]:
    """Credentials that nobody should take, on every RPC."""
    refused = {"oversized": frozenset((_UNAUTHENTICATED, grpc.StatusCode.RESOURCE_EXHAUSTED))}
    for kind, forge in Forger(server, HOME, chance).kinds().items():
        for _ in range(ROUNDS):
            for rpc, requests in requests_for(chance.choice(victim.known)).items():
                for request in requests:
                    codes = refused.get(kind, frozenset((_UNAUTHENTICATED,)))
                    yield Attempt(kind, rpc, request.SerializeToString(), forge(), codes)


def lacking_scopes(server: SecureServer, victim: Victim) -> Iterator[Attempt]:
    """A good credential without the scope that the RPC needs, be it with all others."""
    for rpc, requests in requests_for(victim.known[0]).items():
        needs = PERMISSIONS[f"/memlane.v1.{rpc}"].needs
        opening = frozenset().union(*needs)
        for lacking in {opening} | ({frozenset((s,)) for s in opening} if len(needs) == 1 else set()):
            if not lacking:
                continue
            for scope in (" ".join(sorted(SCOPES - lacking)), "", "*", " ".join(lacking).upper()):
                token = server.token(HOME, scope)
                for request in requests:
                    yield Attempt(
                        "lacking_scope", rpc, request.SerializeToString(), bearer(token), _ONLY_DENIED
                    )


def bound_elsewhere(server: SecureServer, victim: Victim, chance: random.Random) -> Iterator[Attempt]:
    """A credential with every scope that is bound to one user, and names another, nobody or everybody."""
    for known in victim.known:
        near = (
            f"{known.user_id} ",
            known.user_id[:-1],
            f"{known.user_id}\u200b",
            known.user_id.swapcase() + "X",
        )
        for bound in (ATTACKER, *near):
            mark = bearer(server.token(HOME, user_id=bound))
            for rpc, requests in requests_for(known).items():
                if PERMISSIONS[f"/memlane.v1.{rpc}"].reach is Reach.OPEN:
                    continue
                for request in requests:
                    yield Attempt("bound_elsewhere", rpc, request.SerializeToString(), mark, _ONLY_DENIED)
        mark = bearer(server.token(HOME, user_id=ATTACKER))
        for rpc, requests in requests_for(Known("")).items():
            if PERMISSIONS[f"/memlane.v1.{rpc}"].reach is not Reach.OPEN:
                yield Attempt("bound_names_nobody", rpc, requests[0].SerializeToString(), mark, _ONLY_DENIED)
        own = memory_service_pb2.SearchMemoriesRequest(user_id=ATTACKER, query="绝密")
        foreign = memory_service_pb2.SearchMemoriesRequest(user_id=known.user_id, query="绝密")
        for _ in range(20):
            searches = [own] * chance.randrange(1, 60)
            searches.insert(chance.randrange(len(searches) + 1), foreign)
            batch = memory_service_pb2.BatchSearchMemoriesRequest(searches=searches).SerializeToString()
            yield Attempt(
                "smuggled_in_a_batch", "MemoryService/BatchSearchMemories", batch, mark, _ONLY_DENIED
            )
        for rpc, sent in doubled_user(ATTACKER, known.user_id):
            yield Attempt("user_id_twice", rpc, sent, mark, _ONLY_DENIED)
        for rpc, sent in doubled_user(known.user_id, ATTACKER):
            yield Attempt("user_id_twice", rpc, sent, mark, None)


def other_tenant(server: SecureServer, victim: Victim) -> Iterator[Attempt]:
    """Every right over one tenant, and every id of another one."""
    spoofed = (("x-tenant", HOME), ("tenant", HOME), ("x-user-id", USERS[1]), ("memlane-tenant", HOME))
    token = bearer(server.token(OTHER))
    for known in victim.known:
        for extra, kind in (((), "other_tenant"), (spoofed, "other_tenant_with_spoofed_metadata")):
            for rpc, requests in requests_for(known).items():
                for request in requests:
                    yield Attempt(kind, rpc, request.SerializeToString(), (*token, *extra), None)


def own_name_with_foreign_ids(server: SecureServer, victim: Victim) -> Iterator[Attempt]:
    """A user of the same tenant who names themselves, and the ids of another user."""
    token = bearer(server.token(HOME, user_id=ATTACKER))
    for known in victim.known:
        for rpc, requests in requests_for(replace(known, user_id=ATTACKER)).items():
            if PERMISSIONS[f"/memlane.v1.{rpc}"].reach in (Reach.USER, Reach.SEARCH, Reach.SEARCHES):
                for request in requests:
                    yield Attempt("foreign_ids", rpc, request.SerializeToString(), token, None)


@pytest.mark.timeout(300)
async def test_nobody_crosses(server: SecureServer, channel: grpc.aio.Channel, victim: Victim) -> None:
    chance = random.Random(20)
    before = await asyncio.to_thread(victim.state)
    outside = Attacker(channel, (*victim.of_users, *victim.of_tenant))
    inside = Attacker(channel, victim.of_users)
    await outside.attack(forged(server, victim, chance))
    await outside.attack(lacking_scopes(server, victim))
    await inside.attack(bound_elsewhere(server, victim, chance))
    await outside.attack(other_tenant(server, victim))
    await inside.attack(own_name_with_foreign_ids(server, victim))
    tried = outside.tried + inside.tried
    assert outside.crossings + inside.crossings == []
    assert await asyncio.to_thread(victim.state) == before
    assert len(tried) >= 20 and tried.total() >= 5000, tried
    assert outside.codes[grpc.StatusCode.OK] and inside.codes[grpc.StatusCode.OK], (
        "some were let through, as they may"
    )

    refused = outside.codes + inside.codes
    # Of a call with too much metadata gRPC may tell the client before the server has its say.
    most = refused[_UNAUTHENTICATED] + refused[grpc.StatusCode.RESOURCE_EXHAUSTED]
    await asyncio.to_thread(_audited, server, range(refused[_UNAUTHENTICATED], most + 1), refused[_DENIED])
    log = server.process.log.read_text()
    for secret in (*victim.of_users, *victim.of_tenant, b"eyJ", ATTACKER.encode()):
        assert secret.decode() not in log
    print(f"{tried.total()} attempts of {len(tried)} kinds, {dict(refused)}")


def _audited(server: SecureServer, unauthenticated: range, denied: int) -> None:
    """Every refusal is counted in the audit log, in few rows and without content."""

    def rows(tenant: str) -> list[memlane.AuditEvent]:
        with client(server, tenant) as ask:
            return list(
                ask.iterate(
                    ask.list_audit_events, whole_tenant=True, operations=["RefuseCall"], page_size=1000
                )
            )

    def counted(tenant: str) -> int:
        return sum(row.count for row in rows(tenant))

    while counted("home") < unauthenticated.start or counted(HOME) < denied:
        time.sleep(0.05)
    own, of_victim = rows("home"), rows(HOME)
    assert sum(row.count for row in own) in unauthenticated
    assert sum(row.count for row in of_victim) == denied
    assert {row.reason_code for row in own} == {"UNAUTHENTICATED", "TOKEN_INVALID", "TOKEN_EXPIRED"}
    assert {row.reason_code for row in of_victim} == {"SCOPE_MISSING", "USER_MISMATCH"}
    assert {row.actor for row in own} == {""} and {row.actor for row in of_victim} == {"svc-assistant"}
    assert all(not row.user_id and not row.detail and row.action == "REFUSE" for row in (*own, *of_victim))
    assert len(own) + len(of_victim) < 1000


_SHOWS_DATA = frozenset(
    f"MemoryService/{name}"
    for name in (
        "GetIngestion", "ListIngestions", "GetMemory", "ListMemories", "ListMemoryRevisions", "SearchMemories",
        "BatchSearchMemories", "StreamSearchMemories",
    )
) | {
    "SessionService/GetWindow", "ContextService/BuildContext", "ComplianceService/ExportUser",
    "ComplianceService/ListAuditEvents", "KnowledgeService/GetKnowledge", "KnowledgeService/ListKnowledge",
    "KnowledgeService/SearchKnowledge", "RuleService/GetRules", "RuleService/ListRuleRevisions",
}  # fmt: skip


async def test_the_same_requests_show_the_data_to_whoever_may_see_it(
    server: SecureServer, channel: grpc.aio.Channel, victim: Victim
) -> None:
    """Otherwise the attempts above would prove nothing."""
    owner = Attacker(channel, (*victim.of_users, *victim.of_tenant))
    for known in victim.known:
        mark = bearer(server.token(HOME))
        for rpc, requests in requests_for(known).items():
            if rpc in _SHOWS_DATA:
                sent = [
                    Attempt("owner", rpc, request.SerializeToString(), mark, None) for request in requests
                ]
                await owner.attack(sent[:1])
    assert {rpc for _, rpc, code, seen in owner.crossings if code == "OK" and seen} == _SHOWS_DATA


async def test_a_stream_is_checked_request_by_request(
    server: SecureServer, channel: grpc.aio.Channel, victim: Victim
) -> None:
    search = memory_service_pb2.SearchMemoriesRequest
    users = [ATTACKER, USERS[0], ATTACKER, "", USERS[1], ATTACKER]
    sent = [
        memory_service_pb2.StreamSearchMemoriesRequest(
            correlation_id=str(n), search=search(user_id=user_id, query="绝密")
        )
        for n, user_id in enumerate(users)
    ]
    call = channel.stream_stream(
        "/memlane.v1.MemoryService/StreamSearchMemories",
        request_serializer=memory_service_pb2.StreamSearchMemoriesRequest.SerializeToString,
        response_deserializer=memory_service_pb2.StreamSearchMemoriesResponse.FromString,
    )(iter(sent), metadata=bearer(server.token(HOME, user_id=ATTACKER)), timeout=60)
    answers = [answer async for answer in call]
    assert [a.correlation_id for a in answers] == [s.correlation_id for s in sent]
    for user_id, answer in zip(users, answers, strict=True):
        if user_id == ATTACKER:
            assert answer.HasField("response")
        else:
            assert answer.status.code == _DENIED.value[0] and not answer.HasField("response")
        assert not any(secret in answer.SerializeToString() for secret in victim.of_users)


async def test_a_token_that_expires_ends_the_right_to_go_on(
    server: SecureServer, channel: grpc.aio.Channel
) -> None:
    """The leeway of the server is a setting; the token is made to end within it."""
    request = memory_service_pb2.StreamSearchMemoriesRequest(
        search=memory_service_pb2.SearchMemoriesRequest(user_id=ATTACKER, query="x")
    )
    token = server.token(HOME, exp=int(time.time()) - LEEWAY_SECONDS + 2)
    call = channel.stream_stream(
        "/memlane.v1.MemoryService/StreamSearchMemories",
        request_serializer=memory_service_pb2.StreamSearchMemoriesRequest.SerializeToString,
        response_deserializer=memory_service_pb2.StreamSearchMemoriesResponse.FromString,
    )(metadata=bearer(token), timeout=60)
    codes = []
    while not codes or codes[-1] == 0:
        await call.write(request)
        answer = await call.read()
        codes.append(answer.status.code)
    await call.done_writing()
    assert set(codes) == {0, _UNAUTHENTICATED.value[0]} and answer.status.reason == TOKEN_EXPIRED


def test_what_a_credential_allows_goes_through(server: SecureServer) -> None:
    """The client as applications use it, with a token that is asked for at each call."""
    asked: list[str] = []

    def token() -> str:
        asked.append(server.token("bank-c", "memory:read memory:write", user_id="客户-7"))
        return asked[-1]

    tls = memlane.TLS(root_certificates=server.directory / "ca.pem")
    with memlane.Client(server.target, token=token, tls=tls) as ask:
        written = ask.create_memory("客户-7", "预算五十万 budget")
        assert written.memory.content == "预算五十万 budget"
        [hit] = ask.search_memories("客户-7", "预算")
        assert hit.memory.memory_id == written.memory.memory_id
        with ask.stream_search_memories([memlane.Search("客户-7", "预算")] * 3) as outcomes:
            assert [len(outcome.unwrap()) for outcome in outcomes] == [1, 1, 1]
        with pytest.raises(memlane.PermissionDenied, match="USER_MISMATCH"):
            ask.search_memories("客户-8", "预算")
        with pytest.raises(memlane.PermissionDenied, match="SCOPE_MISSING"):
            ask.forget_user("客户-7", operator="o", reason="r")
    assert len(set(asked)) >= 4


async def test_the_asyncio_client_is_told_why_it_was_refused(server: SecureServer) -> None:
    tls = memlane.TLS(root_certificates=server.authority.pem)
    expired = server.token(HOME, exp=int(time.time()) - 3600)
    async with memlane.AsyncClient(server.target, token=expired, tls=tls) as ask:
        for _ in range(20):
            with pytest.raises(memlane.Unauthenticated, match="TOKEN_EXPIRED"):
                async with ask.stream_search_memories([memlane.Search("u", "x")] * 5) as outcomes:
                    async for _outcome in outcomes:
                        raise AssertionError("an outcome without a credential")


def test_commands_take_the_credential(server: SecureServer, tmp_path: Path) -> None:
    where = ["--address", server.target, "--ca", str(server.directory / "ca.pem")]

    def run(*arguments: str, **environment: str) -> Result:
        return CliRunner().invoke(app, arguments, env=environment)

    token = server.token("bank-d")
    assert run("remember", "u", "--facts", "Likes tea", *where, "--token", token).exit_code == 0
    found = run("search", "u", "tea", *where, MEMLANE_TOKEN=token)
    assert found.exit_code == 0 and "Likes tea" in found.stdout
    refused = run("search", "u", "tea", *where)
    assert refused.exit_code == 1 and "UNAUTHENTICATED" in refused.stderr
    strange = run("search", "u", "tea", "--address", server.target, "--ca", _stranger(tmp_path))
    assert "right authority" in strange.stderr.replace("\n", " ")
    assert "cannot be read" in run("search", "u", "x", *where[:2], "--ca", "/nowhere.pem").stderr
    made = run(
        "token", "--tenant", "bank-d", "--user", "u", "--key", _key(server, tmp_path), **_settings(server)
    )
    own = run("search", "u", "tea", *where, MEMLANE_TOKEN=made.stdout.strip())
    assert own.exit_code == 0 and "Likes tea" in own.stdout
    assert "PERMISSION_DENIED" in run("list", "v", *where, MEMLANE_TOKEN=made.stdout.strip()).stderr


def test_orders_are_audited_under_the_credential(server: SecureServer) -> None:
    with client(server, "bank-e", sub="svc-compliance") as ask:
        ask.set_legal_hold("u", True, operator="王审计", reason="case 9")
        assert ask.get_legal_hold("u").legal_hold.operator == "svc-compliance: 王审计"


def test_health_answers_everybody_and_reflection_nobody(server: SecureServer) -> None:
    with grpc.secure_channel(server.target, server.credentials()) as open_channel:
        health = health_pb2_grpc.HealthStub(open_channel)
        assert health.Check(health_pb2.HealthCheckRequest()).status == health_pb2.HealthCheckResponse.SERVING
        reflect = reflection_pb2_grpc.ServerReflectionStub(open_channel).ServerReflectionInfo
        for mark in ((), bearer(server.token(HOME))):
            with pytest.raises(grpc.RpcError) as caught:
                list(reflect(iter([reflection_pb2.ServerReflectionRequest(list_services="")]), metadata=mark))
            assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED


def _stranger(directory: Path) -> str:
    (directory / "other-ca.pem").write_bytes(Authority("stranger").pem)
    return str(directory / "other-ca.pem")


def _key(server: SecureServer, directory: Path) -> str:
    (directory / "issuer-key.pem").write_bytes(issuing.private_pem(server.key))
    return str(directory / "issuer-key.pem")


def _settings(server: SecureServer) -> dict[str, str]:
    return {
        "MEMLANE_AUTH__JWKS_FILE": str(server.directory / "jwks.json"),
        "MEMLANE_AUTH__ISSUER": ISSUER,
        "MEMLANE_AUTH__AUDIENCE": AUDIENCE,
    }
