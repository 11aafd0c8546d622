"""Erasure is looked for in the bytes of the files; its proof is checked as an auditor would, from outside."""

import hashlib
import json
import random
import string
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from memlane.v1 import compliance_service_pb2, memory_pb2, memory_service_pb2, session_service_pb2
from memlane_core.services.receipts import Receipt
from tests.support.forked_server import ForkedServer, running_forked_server
from tests.support.memlane_server import ServerProcess
from tests.support.openai_stub import After, Chat
from tests.support.openai_stub.fixtures import openai_stub  # noqa: F401 - a fixture
from tests.support.openai_stub.server import OpenAIStub
from tests.support.refusals import refused

from .conftest import Api

_DAY_SECONDS = 86_400
_RETENTION_SECONDS = 31 * _DAY_SECONDS
_RARE = "麒麟貔貅饕餮螭魅鼋鼍龘鬣犇猋骉羴鱻淼焱垚"


class Words:
    """Strings that occur in nobody else's texts, Chinese and English, two of each."""

    def __init__(self) -> None:
        chance = random.Random(uuid.uuid4().int)
        self.zh = ["".join(chance.sample(_RARE, 6)) for _ in range(2)]
        self.en = ["Q" + "".join(chance.choices(string.ascii_lowercase, k=14)) for _ in range(2)]

    def __iter__(self) -> Iterator[str]:
        return iter((*self.zh, *self.en))


def fill(api: Api, user: str) -> Words:
    """All the ways in which a user's words reach the disk."""
    words = Words()
    zh, en = words.zh, words.en
    made = api.create(user, f"公司名称是{zh[0]}贸易", ttl_seconds=_DAY_SECONDS)
    for content in (f"公司名称改为{zh[1]}贸易", f"The company is now called {en[0]}"):
        api.memory.UpdateMemory(
            memory_service_pb2.UpdateMemoryRequest(user_id=user, memory_id=made.memory_id, content=content)
        )
    gone = api.create(user, f"喜欢去{zh[0]}餐厅")
    api.memory.DeleteMemory(
        memory_service_pb2.DeleteMemoryRequest(user_id=user, memory_id=gone.memory_id, reason=f"去了{zh[1]}")
    )
    for _ in range(2):
        api.state(user, f"Prefers branch {en[1]}", f"常去{zh[0]}网点", request_id="replayed")
    api.say(user, f"我在{zh[1]}公司上班", f"I work for {en[0]} Holdings.")
    api.append(user, "s1", f"请问{zh[0]}怎么走？", f"My dog is called {en[1]}.")
    api.end(user, "s1")
    api.append(user, "s2", f"今天聊聊{zh[1]}")
    api.memory.Remember(
        memory_service_pb2.RememberRequest(
            user_id=user,
            facts=memory_pb2.FactList(
                facts=[memory_pb2.Fact(content=f"Has a cat called {en[1]}", metadata={"note": zh[0]})]
            ),
            mode=memory_pb2.REMEMBER_MODE_ASYNC,
        )
    )
    api.found(user, f"{zh[0]} {en[0]}")
    return words


def holding(server: ServerProcess, words: Words) -> dict[str, set[str]]:
    """Files that hold a word, as it is or escaped as in JSON: {word: names}. The log is looked through too."""
    found: dict[str, set[str]] = {}
    for path in [p for p in server.data_dir.rglob("*") if p.is_file()] + [server.log]:
        data = path.read_bytes()
        for word in words:
            forms = {word.encode(), json.dumps(word)[1:-1].encode(), word.encode("utf-16-le")}
            if any(form in data for form in forms):
                found.setdefault(word, set()).add(path.name)
    return found


def purge(api: Api) -> compliance_service_pb2.PurgeExpiredResponse:
    return api.compliance.PurgeExpired(
        compliance_service_pb2.PurgeExpiredRequest(operator="tester", reason="due"), timeout=120
    )


def hold(api: Api, user: str, *, active: bool) -> None:
    api.compliance.SetLegalHold(
        compliance_service_pb2.SetLegalHoldRequest(
            user_id=user, active=active, operator="counsel", reason="case 7"
        ),
        timeout=60,
    )


@pytest.fixture
def bystander(api: Api, server: ServerProcess) -> Iterator[None]:
    """Another user, whose words must still be found after the test: the scan sees what is there."""
    user = api.fresh("bystander")
    words = fill(api, user)
    yield
    assert set(holding(server, words)) == set(words)
    assert api.found(user, words.en[0])


@pytest.mark.usefixtures("bystander")
def test_purge_now_leaves_no_word_in_any_file(api: Api, server: ServerProcess) -> None:
    users = [api.fresh() for _ in range(3)]
    words = {user: fill(api, user) for user in users}
    for user in users:
        assert set(holding(server, words[user])) == set(words[user])
    for user in users:
        api.forget(user, purge_now=True)
        assert holding(server, words[user]) == {}
        assert api.live(user) == []


@pytest.mark.usefixtures("bystander")
def test_the_purge_after_the_retention_leaves_no_word_either(api: Api, server: ServerProcess) -> None:
    user = api.fresh()
    words = fill(api, user)
    receipt = api.forget(user).receipt
    assert receipt.purge_after.seconds > receipt.issue_time.seconds
    api.move_clock(_RETENTION_SECONDS)
    assert purge(api).purged_count >= receipt.counts.memories
    assert holding(server, words) == {}


def canonical(tenant: str, receipt: compliance_service_pb2.ErasureReceipt) -> Receipt:
    """The receipt as it was digested, rebuilt from the wire alone."""
    return Receipt(
        receipt_id=receipt.receipt_id,
        tenant=tenant,
        user_id=receipt.user_id,
        memories=receipt.counts.memories,
        revisions=receipt.counts.revisions,
        messages=receipt.counts.messages,
        ingestions=receipt.counts.ingestions,
        requests=receipt.counts.requests,
        sessions=receipt.counts.sessions,
        first_audit_seq=receipt.first_audit_seq,
        last_audit_seq=receipt.last_audit_seq,
        audit_head_hash=receipt.audit_head_hash,
        issued_us=receipt.issue_time.ToMicroseconds(),
        purge_after_us=receipt.purge_after.ToMicroseconds(),
        legal_hold=receipt.legal_hold,
    )


def test_a_receipt_is_proof_to_whoever_has_the_public_key(api: Api, server: ServerProcess) -> None:
    user = api.fresh("客户")
    fill(api, user)
    receipt = api.forget(user, purge_now=True).receipt
    assert receipt.counts.memories > 0 and receipt.counts.messages == 3
    assert receipt.counts.sessions == 2 and receipt.counts.requests > 0
    assert receipt.purge_after.ToMicroseconds() <= receipt.issue_time.ToMicroseconds()

    digest = hashlib.sha256(canonical("default", receipt).canonical()).digest()
    assert digest.hex() == receipt.digest
    key = load_pem_public_key((server.data_dir / "receipt-key.pub").read_bytes())
    assert isinstance(key, Ed25519PublicKey) and receipt.signature_algorithm == "Ed25519"
    key.verify(receipt.signature, digest)
    receipt.counts.memories += 1
    forged = hashlib.sha256(canonical("default", receipt).canonical()).digest()
    with pytest.raises(InvalidSignature):
        key.verify(receipt.signature, forged)

    anchor = compliance_service_pb2.AuditAnchor(seq=receipt.last_audit_seq, hash=receipt.audit_head_hash)
    check = api.compliance.VerifyAuditLog(
        compliance_service_pb2.VerifyAuditLogRequest(anchors=[anchor]), timeout=60
    )
    assert check.valid, check.description


@pytest.mark.usefixtures("bystander")
def test_a_legal_hold_hides_and_keeps_until_it_is_released(api: Api, server: ServerProcess) -> None:
    user = api.fresh()
    words = fill(api, user)
    hold(api, user, active=True)
    refusal = refused(lambda: api.forget(user, purge_now=True))
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "LEGAL_HOLD")
    assert api.live(user), "a refused call changes nothing"

    receipt = api.forget(user).receipt
    assert receipt.legal_hold
    assert api.live(user) == [] and api.found(user, words.en[0]) == []
    for session_id in ("s1", "s2"):
        window = api.session.GetWindow(
            session_service_pb2.GetWindowRequest(user_id=user, session_id=session_id)
        )
        assert not window.messages
    api.move_clock(_RETENTION_SECONDS)
    assert purge(api).legal_hold_skipped >= receipt.counts.memories
    assert holding(server, words), "what is held is kept back"

    hold(api, user, active=False)
    assert holding(server, words) == {}, "released is erased"
    assert purge(api).legal_hold_skipped == 0
    assert api.live(user) == []


def test_B29_nothing_grows_back_after_a_restart(tmp_path: Path) -> None:
    server = ForkedServer(tmp_path / "data")
    try:
        server.start()
        with server.channel() as channel:
            api = Api(channel, tmp_path / "clock")
            user = api.fresh()
            words = fill(api, user)
            memory_id = api.live(user)[0].memory_id
            api.forget(user)
        server.kill()
        server.start()
        with server.channel() as channel:
            api = Api(channel, tmp_path / "clock")
            assert api.live(user) == []
            assert api.found(user, words.zh[0]) == []
            assert not any(r.content or r.previous_content for r in api.revisions(user, memory_id))
            window = api.session.GetWindow(
                session_service_pb2.GetWindowRequest(user_id=user, session_id="s2")
            )
            assert not window.messages
            assert api.forget(user).memory_count == 0
            events = api.audit(user)
            assert {"operator": "tester", "detail": "asked for"} in [
                {"operator": e.actor, "detail": e.detail} for e in events
            ]
            assert not any(word in str(events) for word in words)
            api.create(user, "回来的客户")
            assert api.texts(user) == ["回来的客户"]
    finally:
        server.kill()


def test_B29_work_under_way_writes_nothing_for_a_forgotten_user(
    tmp_path: Path,
    openai_stub: OpenAIStub,  # noqa: F811
) -> None:
    settings = {"MEMLANE_CHAT__BASE_URL": openai_stub.base_url, "MEMLANE_CHAT__MODEL": "stub"}
    with running_forked_server(tmp_path / "data", settings) as server, server.channel() as channel:
        api = Api(channel, tmp_path / "clock")
        user = api.fresh()
        fact = {"source": 1, "subject": "user", "text": "The user keeps three parrots."}
        answer = json.dumps({"facts": [fact | {"retraction": False, "expires": None}]})
        openai_stub.chat.will(After(3.0, Chat(answer)))
        with ThreadPoolExecutor(1) as pool:
            learning = pool.submit(api.say, user, "I keep three parrots.")
            openai_stub.chat.wait_for_requests(1, timeout_seconds=30)
            api.forget(user)
            refusal = refused(learning.result)
        assert (refusal.code, refusal.reason) == (grpc.StatusCode.ABORTED, "USER_FORGOTTEN")
        assert api.live(user) == []
        assert not any(e.action == "ADD" for e in api.audit(user))
