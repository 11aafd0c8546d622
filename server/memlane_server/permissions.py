"""Which RPC needs which scope, and whose data it touches: one table for all of them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from memlane_core.domain.errors import PermissionDenied

from .principal import ADMIN, COMPLIANCE, KNOWLEDGE_WRITE, MEMORY_READ, MEMORY_WRITE, RULES_WRITE, Principal


class ScopeMissing(PermissionDenied):
    """The credential lacks a scope that the RPC needs."""

    reason = "SCOPE_MISSING"


class UserMismatch(PermissionDenied):
    """The credential is bound to one user, the request names another one or the whole tenant."""

    reason = "USER_MISMATCH"


class Reach(Enum):
    """Whose data a request touches: what a credential that is bound to one user is held to."""

    OPEN = "nothing of any user"
    USER = "its user_id"
    SEARCHES = "the user_id of each of its searches"
    SEARCH = "the user_id of its search"
    USER_OR_TENANT = "its user_id, or the whole tenant where that is unset"
    TENANT = "the whole tenant"
    """Also a user's data where the decision is the tenant's and not the user's own."""


@dataclass(frozen=True, slots=True)
class Permission:
    """What one RPC asks of a principal."""

    reach: Reach
    needs: tuple[frozenset[str], ...] = (frozenset(),)
    """Sets of scopes, one of which the principal must hold whole. The empty set = any credential."""

    def check(self, principal: Principal, request: Any) -> None:
        """Raises ScopeMissing or UserMismatch. What is refused here is not looked at any further."""
        held = principal.scopes
        for wanted in self.needs:
            if wanted <= held:
                break
        else:
            raise ScopeMissing(
                f"the credential lacks the scope {self.wanted_scopes()}",
                metadata={"scope": self.wanted_scopes()},
            )
        if principal.user_id is not None:
            self._check_user(principal.user_id, request)

    def wanted_scopes(self) -> str:
        return " or ".join(" ".join(sorted(wanted)) for wanted in self.needs)

    def user_id(self, request: Any) -> str:
        """The one user that a request names; "" = none or several."""
        if self.reach is Reach.SEARCH:
            return str(request.search.user_id)
        return getattr(request, "user_id", "")

    def _check_user(self, bound: str, request: Any) -> None:
        """An equal name or nothing: a request that names nobody is not let through either."""
        reach = self.reach
        if reach is Reach.OPEN or (reach is Reach.USER and request.user_id == bound):
            return
        if reach is Reach.TENANT or (reach is Reach.USER_OR_TENANT and not request.HasField("user_id")):
            raise UserMismatch("the credential is bound to one user and this call concerns the whole tenant")
        named: Iterable[str] = (
            (search.user_id for search in request.searches)
            if reach is Reach.SEARCHES
            else (self.user_id(request),)
        )
        if any(user_id != bound for user_id in named):
            raise UserMismatch("the credential is bound to another user")


_READ = (frozenset((MEMORY_READ,)),)
_WRITE = (frozenset((MEMORY_WRITE,)),)
_COMPLIANCE = (frozenset((COMPLIANCE,)),)
_OPERATION = (frozenset((COMPLIANCE,)), frozenset((ADMIN,)))
_ANY = (frozenset[str](),)

PERMISSIONS: Mapping[str, Permission] = {
    f"/memlane.v1.{rpc}": Permission(reach, needs)
    for rpc, reach, needs in (
        ("MemoryService/Remember", Reach.USER, _WRITE),
        ("MemoryService/GetIngestion", Reach.USER, _READ),
        ("MemoryService/ListIngestions", Reach.USER, _READ),
        ("MemoryService/RetryIngestion", Reach.USER, _WRITE),
        ("MemoryService/CreateMemory", Reach.USER, _WRITE),
        ("MemoryService/GetMemory", Reach.USER, _READ),
        ("MemoryService/UpdateMemory", Reach.USER, _WRITE),
        ("MemoryService/DeleteMemory", Reach.USER, _WRITE),
        ("MemoryService/ListMemories", Reach.USER, _READ),
        ("MemoryService/ListMemoryRevisions", Reach.USER, _READ),
        ("MemoryService/SearchMemories", Reach.USER, _READ),
        ("MemoryService/BatchSearchMemories", Reach.SEARCHES, _READ),
        ("MemoryService/StreamSearchMemories", Reach.SEARCH, _READ),
        ("SessionService/AppendMessages", Reach.USER, _WRITE),
        ("SessionService/GetWindow", Reach.USER, _READ),
        ("SessionService/EndSession", Reach.USER, _WRITE),
        ("ContextService/BuildContext", Reach.USER, _READ),
        # It shows memories to the model and adds the round to the window.
        ("ContextService/Chat", Reach.USER, (frozenset((MEMORY_READ, MEMORY_WRITE)),)),
        # Knowledge and rules hold nothing of a user: reading them is open to every credential of the tenant.
        ("KnowledgeService/UpsertKnowledge", Reach.TENANT, (frozenset((KNOWLEDGE_WRITE,)),)),
        ("KnowledgeService/GetKnowledge", Reach.OPEN, _ANY),
        ("KnowledgeService/DeleteKnowledge", Reach.TENANT, (frozenset((KNOWLEDGE_WRITE,)),)),
        ("KnowledgeService/ListKnowledge", Reach.OPEN, _ANY),
        ("KnowledgeService/SearchKnowledge", Reach.OPEN, _ANY),
        ("RuleService/PutRules", Reach.TENANT, (frozenset((RULES_WRITE,)),)),
        ("RuleService/GetRules", Reach.OPEN, _ANY),
        ("RuleService/ListRuleRevisions", Reach.OPEN, _ANY),
        ("ComplianceService/ForgetUser", Reach.USER, _COMPLIANCE),
        ("ComplianceService/ExportUser", Reach.USER, _COMPLIANCE),
        # A hold stands against the wish of the user whom it is about: their own credential cannot lift it.
        ("ComplianceService/SetLegalHold", Reach.TENANT, _COMPLIANCE),
        ("ComplianceService/GetLegalHold", Reach.USER, _COMPLIANCE),
        ("ComplianceService/ListAuditEvents", Reach.USER_OR_TENANT, _COMPLIANCE),
        # Upkeep that shows nothing of anybody: whoever runs the server may order it, too.
        ("ComplianceService/VerifyAuditLog", Reach.TENANT, _OPERATION),
        ("ComplianceService/PurgeExpired", Reach.TENANT, _OPERATION),
        ("DiagnosticsService/Echo", Reach.OPEN, _ANY),
        ("DiagnosticsService/GetServerInfo", Reach.OPEN, _ANY),
    )
}
"""By the path of the call. A server does not start with an RPC that is not in here."""
