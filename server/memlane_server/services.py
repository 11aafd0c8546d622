"""What the edge is given by the composition root."""

from dataclasses import dataclass, field
from datetime import UTC, tzinfo

from memlane_core.domain.memory import DeciderKind
from memlane_core.guards.secrets import SecretPolicy
from memlane_core.ports.clock import Clock
from memlane_core.services.chat import ChatService
from memlane_core.services.compliance import ComplianceService
from memlane_core.services.consistency import Positions
from memlane_core.services.context import ContextService
from memlane_core.services.ingestion import IngestionService
from memlane_core.services.knowledge import KnowledgeService
from memlane_core.services.memories import MemoryService
from memlane_core.services.remember import RememberService
from memlane_core.services.rules import RulesService
from memlane_core.services.search import SearchService
from memlane_core.services.sessions import SessionService

from .limiter import Limiter
from .principal import Caller, OnDenied


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """What GetServerInfo tells. Holds no address, path or secret."""

    version: str
    embedder_model: str
    dimension: int
    nomination_threshold: float
    decider_kinds: tuple[DeciderKind, ...]
    """In the order they are asked."""
    vector_store_engine: str
    """Engine and version, as `milvus-lite 3.2.2`."""
    journal_engine: str


@dataclass(frozen=True, slots=True)
class Services:
    """The use cases, and what translation between them and the wire needs."""

    remember: RememberService
    memories: MemoryService
    search: SearchService
    sessions: SessionService
    rules: RulesService
    knowledge: KnowledgeService
    compliance: ComplianceService
    ingestion: IngestionService
    context: ContextService
    chat: ChatService
    positions: Positions
    clock: Clock
    caller: Caller
    info: ServerInfo
    key: bytes
    """Secret of this installation, the same on every replica and after a restart: request fingerprints and page
    tokens are keyed with it. At least 16 bytes."""
    secrets: SecretPolicy = field(default_factory=SecretPolicy)
    limiter: Limiter | None = None
    on_denied: OnDenied = lambda principal, error: None
    authenticated: bool = False
    """Callers bring credentials: who orders something is audited under the credential, too."""
    zone: tzinfo = UTC
    """In which speakers mean "yesterday" where a message names no zone."""
