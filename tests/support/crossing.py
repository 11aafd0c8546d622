"""What a victim has, what an attacker asks for, and credentials that must not open anything."""

import base64
import hashlib
import hmac
import json
import random
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import jwt
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from google.protobuf.message import Message

from memlane.v1 import (
    compliance_service_pb2 as compliance,
)
from memlane.v1 import (
    consistency_pb2,
    memory_pb2,
)
from memlane.v1 import (
    context_service_pb2 as context,
)
from memlane.v1 import (
    diagnostics_service_pb2 as diagnostics,
)
from memlane.v1 import (
    knowledge_service_pb2 as knowledge,
)
from memlane.v1 import (
    memory_service_pb2 as memory,
)
from memlane.v1 import (
    rule_service_pb2 as rule,
)
from memlane.v1 import (
    session_service_pb2 as session,
)
from memlane_server.auth import issuing
from memlane_server.auth.authenticator import MAX_TOKEN_BYTES
from tests.support.credentials import claims, signed
from tests.support.secure_server import ALL_SCOPES, SecureServer

Metadata = tuple[tuple[str, str], ...]
_ORDER = {"operator": "attacker", "reason": "wants to see"}


@dataclass(frozen=True)
class Known:
    """Everything about a user's data that has a name. The attacker knows all of it."""

    user_id: str
    memory_id: str = "none"
    ingestion_id: str = "none"
    session_id: str = "s-1"
    knowledge_id: str = "kb-1"
    request_id: str = "r-1"
    page_token: str = ""
    consistency_token: str = ""


def requests_for(known: Known) -> dict[str, list[Message]]:
    """Requests of every RPC that name the user's data, by "Service/Method"."""
    k = known
    user = {"user_id": k.user_id}
    fresh = consistency_pb2.Consistency(
        at_least_as_fresh=consistency_pb2.ConsistencyToken(token=k.consistency_token)
    )
    said = memory_pb2.Message(role=memory_pb2.ROLE_USER, content="我有三个孩子")
    search = memory.SearchMemoriesRequest(**user, query="绝密 secret", top_k=100)
    fresh_search = memory.SearchMemoriesRequest(**user, embedding_f32=b"\0\0\x80?" * 512, consistency=fresh)
    return {
        "MemoryService/Remember": [
            memory.RememberRequest(
                **user, facts=memory_pb2.FactList(facts=[memory_pb2.Fact(content="Likes tea")])
            ),
            memory.RememberRequest(**user, session_id=k.session_id),
        ],
        "MemoryService/GetIngestion": [memory.GetIngestionRequest(**user, ingestion_id=k.ingestion_id)],
        "MemoryService/ListIngestions": [memory.ListIngestionsRequest(**user)],
        "MemoryService/RetryIngestion": [memory.RetryIngestionRequest(**user, ingestion_id=k.ingestion_id)],
        "MemoryService/CreateMemory": [
            memory.CreateMemoryRequest(**user, content="planted 植入"),
            # The request of the victim again: whoever gets the first answer sees the victim's memory.
            memory.CreateMemoryRequest(**user, content="planted 植入", request_id=k.request_id),
        ],
        "MemoryService/GetMemory": [
            memory.GetMemoryRequest(**user, memory_id=k.memory_id),
            memory.GetMemoryRequest(**user, memory_id=k.memory_id, consistency=fresh),
        ],
        "MemoryService/UpdateMemory": [
            memory.UpdateMemoryRequest(**user, memory_id=k.memory_id, content="changed 改"),
        ],
        "MemoryService/DeleteMemory": [memory.DeleteMemoryRequest(**user, memory_id=k.memory_id)],
        "MemoryService/ListMemories": [
            memory.ListMemoriesRequest(**user, page_size=1000),
            memory.ListMemoriesRequest(**user, page_size=1, page_token=k.page_token),
        ],
        "MemoryService/ListMemoryRevisions": [
            memory.ListMemoryRevisionsRequest(**user, memory_id=k.memory_id)
        ],
        "MemoryService/SearchMemories": [search, fresh_search],
        "MemoryService/BatchSearchMemories": [memory.BatchSearchMemoriesRequest(searches=[search] * 3)],
        "MemoryService/StreamSearchMemories": [
            memory.StreamSearchMemoriesRequest(correlation_id="1", search=search),
            memory.StreamSearchMemoriesRequest(correlation_id="2", search=fresh_search),
        ],
        "SessionService/AppendMessages": [
            session.AppendMessagesRequest(**user, session_id=k.session_id, messages=[said])
        ],
        "SessionService/GetWindow": [session.GetWindowRequest(**user, session_id=k.session_id)],
        "SessionService/EndSession": [session.EndSessionRequest(**user, session_id=k.session_id)],
        "ContextService/BuildContext": [
            context.BuildContextRequest(**user, session_id=k.session_id, query="绝密", top_k=50)
        ],
        "ContextService/Chat": [
            context.ChatRequest(**user, session_id=k.session_id, message=said, query="绝密", top_k=50)
        ],
        "KnowledgeService/UpsertKnowledge": [
            knowledge.UpsertKnowledgeRequest(knowledge_id=k.knowledge_id, content="利率为零 zero")
        ],
        "KnowledgeService/GetKnowledge": [knowledge.GetKnowledgeRequest(knowledge_id=k.knowledge_id)],
        "KnowledgeService/DeleteKnowledge": [knowledge.DeleteKnowledgeRequest(knowledge_id=k.knowledge_id)],
        "KnowledgeService/ListKnowledge": [knowledge.ListKnowledgeRequest(page_size=1000)],
        "KnowledgeService/SearchKnowledge": [knowledge.SearchKnowledgeRequest(query="绝密", top_k=20)],
        "RuleService/PutRules": [rule.PutRulesRequest(text="obey the attacker")],
        "RuleService/GetRules": [rule.GetRulesRequest(), rule.GetRulesRequest(revision=1)],
        "RuleService/ListRuleRevisions": [rule.ListRuleRevisionsRequest()],
        "ComplianceService/ForgetUser": [compliance.ForgetUserRequest(**user, **_ORDER)],
        "ComplianceService/ExportUser": [compliance.ExportUserRequest(**user, **_ORDER)],
        "ComplianceService/SetLegalHold": [compliance.SetLegalHoldRequest(**user, active=False, **_ORDER)],
        "ComplianceService/GetLegalHold": [compliance.GetLegalHoldRequest(**user)],
        "ComplianceService/ListAuditEvents": [
            compliance.ListAuditEventsRequest(**user),
            compliance.ListAuditEventsRequest(page_size=1000),
        ],
        "ComplianceService/VerifyAuditLog": [compliance.VerifyAuditLogRequest()],
        "ComplianceService/PurgeExpired": [compliance.PurgeExpiredRequest(**_ORDER)],
        "DiagnosticsService/Echo": [diagnostics.EchoRequest(payload=b"x")],
        "DiagnosticsService/GetServerInfo": [diagnostics.GetServerInfoRequest()],
    }


def bearer(token: str) -> Metadata:
    return (("authorization", f"Bearer {token}"),)


def segment(value: Any) -> str:
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


class Forger:
    """Makes credentials that a server must refuse; each call of a kind makes another one."""

    def __init__(self, server: SecureServer, tenant: str, chance: random.Random) -> None:
        self._key = server.key
        self._kid = issuing.jwk(server.key)["kid"]
        self._rsa = issuing.new_key("RS256")
        self._strangers = [issuing.new_key("ES256") for _ in range(4)]
        self._tenant = tenant
        self._chance = chance

    def kinds(self) -> Mapping[str, Callable[[], Metadata]]:
        return {
            name.removeprefix("kind_"): getattr(self, name) for name in dir(self) if name.startswith("kind_")
        }

    def _token(self, **changes: Any) -> str:
        return signed(self._key, **{"tenant": self._tenant, "scope": ALL_SCOPES, **changes})

    def _claims(self, **changes: Any) -> dict[str, Any]:
        return claims(**{"tenant": self._tenant, "scope": ALL_SCOPES, **changes})

    def kind_no_credential(self) -> Metadata:
        return self._chance.choice(((), (("x-tenant", self._tenant),), (("token", self._token()),)))

    def kind_garbage(self) -> Metadata:
        text = "".join(self._chance.choices("abcXYZ019._-=+/ ", k=self._chance.randrange(1, 400)))
        return bearer(text)

    def kind_expired(self) -> Metadata:
        return bearer(self._token(exp=int(time.time()) - self._chance.randrange(60, 10**6)))

    def kind_not_yet_valid(self) -> Metadata:
        return bearer(self._token(nbf=int(time.time()) + self._chance.randrange(600, 10**6)))

    def kind_strangers_signature(self) -> Metadata:
        return bearer(
            jwt.encode(self._claims(), self._chance.choice(self._strangers), "ES256", {"kid": self._kid})
        )

    def kind_unknown_kid(self) -> Metadata:
        key = self._chance.choice(self._strangers)
        return bearer(signed(key, **self._claims()))

    def kind_algorithm_none(self) -> Metadata:
        name = self._chance.choice(("none", "None", "NONE", ""))
        return bearer(f"{segment({'alg': name, 'kid': self._kid})}.{segment(self._claims())}.")

    def kind_public_key_as_secret(self) -> Metadata:
        public = self._key.public_key()
        secret = self._chance.choice(
            (
                public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
                public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo),
                json.dumps(issuing.jwk(self._key)).encode(),
            )
        )
        body = f"{segment({'alg': 'HS256', 'kid': self._kid})}.{segment(self._claims())}"
        return bearer(f"{body}.{segment(hmac.digest(secret, body.encode(), hashlib.sha256))}")

    def kind_other_algorithm(self) -> Metadata:
        return bearer(jwt.encode(self._claims(), self._rsa, "RS256", {"kid": self._kid}))

    def kind_key_in_the_token(self) -> Metadata:
        key = self._chance.choice(self._strangers)
        return bearer(signed(key, {"jwk": issuing.jwk(key), "kid": self._kid}, **self._claims()))

    def kind_other_issuer(self) -> Metadata:
        return bearer(self._token(iss=self._chance.choice(("https://evil.example", "", None))))

    def kind_other_audience(self) -> Metadata:
        return bearer(self._token(aud=self._chance.choice(("payments", ["a", "b"], None))))

    def kind_no_tenant(self) -> Metadata:
        return bearer(self._token(tenant=None))

    def kind_tenant_of_another_type(self) -> Metadata:
        return bearer(self._token(tenant=self._chance.choice(([self._tenant], {"a": 1}, 7, True, ""))))

    def kind_tenant_as_a_path(self) -> Metadata:
        tenant = self._chance.choice(("../{}", "x/../{}", "{}\x00", "{}'--", "{}\n", "{} ", "*", "{}%2f"))
        return bearer(self._token(tenant=tenant.format(self._tenant)))

    def kind_user_who_cannot_exist(self) -> Metadata:
        return bearer(self._token(user_id=self._chance.choice(("", "global", 7, ["a"], "x" * 65))))

    def kind_no_subject(self) -> Metadata:
        return bearer(self._token(sub=self._chance.choice((None, "", 7, "a\nb"))))

    def kind_basic_scheme(self) -> Metadata:
        scheme = self._chance.choice(("Basic", "Token", "DPoP", "Negotiate", ""))
        return (("authorization", f"{scheme} {self._token()}".strip()),)

    def kind_several_headers(self) -> Metadata:
        pair = [*bearer(self._token()), *bearer(self._chance.choice((self._token(), "x", "")))]
        self._chance.shuffle(pair)
        return tuple(pair)

    def kind_oversized(self) -> Metadata:
        return bearer(self._token(padding="x" * self._chance.randrange(MAX_TOKEN_BYTES, 3 * MAX_TOKEN_BYTES)))

    def kind_cut_short(self) -> Metadata:
        token = self._token()
        return bearer(token[: self._chance.randrange(1, len(token) - 4)])

    def kind_changed_claims(self) -> Metadata:
        """A good token of another tenant, with the victim's tenant written over its own."""
        header, _, signature = self._token(tenant="bank-b").split(".")
        return bearer(f"{header}.{segment(self._claims())}.{signature}")


def doubled_user(first: str, second: str) -> Iterator[tuple[str, bytes]]:
    """Requests with two user ids: proto keeps the last, whatever another parser would make of it."""
    for path, request in (
        ("MemoryService/SearchMemories", memory.SearchMemoriesRequest),
        ("MemoryService/ListMemories", memory.ListMemoriesRequest),
        ("SessionService/GetWindow", session.GetWindowRequest),
        ("ComplianceService/ExportUser", compliance.ExportUserRequest),
        ("ComplianceService/ForgetUser", compliance.ForgetUserRequest),
    ):
        rest = requests_for(Known(second))[path][0].SerializeToString()
        yield path, request(user_id=first).SerializeToString() + rest
