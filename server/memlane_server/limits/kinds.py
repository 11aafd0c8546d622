"""Which limit an RPC counts against: one table for all of them."""

from collections.abc import Mapping
from enum import StrEnum


class Kind(StrEnum):
    READS = "reads"
    WRITES = "writes"
    MODEL_CALLS = "model_calls"
    """May ask a language model, where one is configured; else they count as writes or reads."""
    FREE = "free"
    """Not limited: they do no work."""


KINDS: Mapping[str, Kind] = {
    f"/memlane.v1.{rpc}": kind
    for kind, rpcs in (
        (
            Kind.READS,
            (
                "MemoryService/GetIngestion",
                "MemoryService/ListIngestions",
                "MemoryService/GetMemory",
                "MemoryService/ListMemories",
                "MemoryService/ListMemoryRevisions",
                "MemoryService/SearchMemories",
                "MemoryService/BatchSearchMemories",
                "MemoryService/StreamSearchMemories",
                "SessionService/GetWindow",
                "ContextService/BuildContext",
                "KnowledgeService/GetKnowledge",
                "KnowledgeService/ListKnowledge",
                "KnowledgeService/SearchKnowledge",
                "RuleService/GetRules",
                "RuleService/ListRuleRevisions",
                "ComplianceService/ExportUser",
                "ComplianceService/GetLegalHold",
                "ComplianceService/ListAuditEvents",
                "ComplianceService/VerifyAuditLog",
            ),
        ),
        (
            Kind.WRITES,
            (
                "MemoryService/CreateMemory",
                "MemoryService/UpdateMemory",
                "MemoryService/DeleteMemory",
                "SessionService/AppendMessages",
                "KnowledgeService/UpsertKnowledge",
                "KnowledgeService/DeleteKnowledge",
                "RuleService/PutRules",
                "ComplianceService/ForgetUser",
                "ComplianceService/SetLegalHold",
                "ComplianceService/PurgeExpired",
            ),
        ),
        (
            Kind.MODEL_CALLS,
            (
                "MemoryService/Remember",
                "MemoryService/RetryIngestion",
                "SessionService/EndSession",
                "ContextService/Chat",
            ),
        ),
        (Kind.FREE, ("DiagnosticsService/Echo", "DiagnosticsService/GetServerInfo")),
    )
    for rpc in rpcs
}
"""By the path of the call. A test fails for an RPC that is not in here."""


def kind_of(path: str, *, model: bool) -> Kind:
    """`model`: a language model is configured. A path that is no RPC of the contract counts as a read."""
    kind = KINDS.get(path, Kind.READS)
    return Kind.WRITES if kind is Kind.MODEL_CALLS and not model else kind
