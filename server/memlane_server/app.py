"""Composition root: with models.py and openai_models.py the only place that names adapters."""

import asyncio
import contextlib
import fcntl
import logging
import math
import os
import secrets as secrets_module
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from zoneinfo import ZoneInfo

from memlane_core import kernels
from memlane_core.adapters.clock import OffsetFileClock, SystemClock
from memlane_core.adapters.milvus import MilvusStore
from memlane_core.adapters.signing import Ed25519Signer
from memlane_core.adapters.sql import SqlJournal
from memlane_core.domain.errors import FailedPrecondition, Unauthenticated, Unavailable
from memlane_core.domain.memory import DeciderKind
from memlane_core.guards import GuardPolicy
from memlane_core.index import UserIndex
from memlane_core.ports.clock import Clock
from memlane_core.ports.vector_store import StoredRow
from memlane_core.services.blocks import UserBlocks
from memlane_core.services.chat import ChatService
from memlane_core.services.compliance import ComplianceService
from memlane_core.services.consistency import Positions
from memlane_core.services.context import ContextPolicy, ContextService
from memlane_core.services.embedding_cache import CachingEmbedder
from memlane_core.services.ingestion import IngestionPolicy, IngestionService
from memlane_core.services.knowledge import KnowledgeService
from memlane_core.services.locks import KeyedLocks
from memlane_core.services.memories import MemoryService
from memlane_core.services.offload import Offload
from memlane_core.services.remember import RememberPolicy, RememberService
from memlane_core.services.rules import RulesService
from memlane_core.services.search import SearchService
from memlane_core.services.sessions import SessionService
from memlane_core.services.sweeper import Retention, Sweeper
from memlane_core.services.writer import MemoryWriter

from .auth import Authenticator, Refusals
from .auth.refusals import Refused
from .config import Settings
from .grpc_server import capacity
from .health import HealthBoard
from .limits import TenantLimiter
from .models import minds
from .principal import Principal, single
from .services import ServerInfo, Services
from .telemetry import Telemetry
from .telemetry.sources import Sources, SourcesCollector
from .telemetry.stages import TimedDecider, TimedEmbedder, TimedExtractor
from .translate import MemoryRecords, message_record

_log = logging.getLogger(__name__)

_SCAN_ROWS = 5000
_SCAN_SECONDS = 300.0
_PROBE_SECONDS = 1.0


class App:
    """Everything between the settings and the gRPC server. `open` blocks; `start` and `stop` run on the loop."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.telemetry = Telemetry(settings.metrics, settings.tracing)
        self._lock: int | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._on_ready: Callable[[bool], None] = lambda ready: None

    def open(self) -> None:
        """Lock the data directory, open journal and store. Raises FailedPrecondition (data in use, StoreMismatch),
        Unavailable, NotConfigured, with texts made for an operator."""
        settings = self.settings
        settings.data_dir.mkdir(parents=True, exist_ok=True)
        self._lock = _lock(settings.data_dir)
        self.clock: Clock = (
            OffsetFileClock(settings.clock_offset_file) if settings.clock_offset_file else SystemClock()
        )
        self.authenticator = (
            Authenticator(settings.auth, on_refusal=self._refused) if settings.auth.configured else None
        )
        self.journal = SqlJournal(settings.journal_url)
        self.minds = minds(settings, self.telemetry)
        self.embedder = CachingEmbedder(
            TimedEmbedder(self.minds.embedder, self.telemetry), max_entries=settings.index.query_cache_entries
        )
        self.store = MilvusStore(
            settings.milvus_uri,
            collection_prefix=settings.store.collection_prefix,
            dimension=self.embedder.dimension,
            embedder_model=self.embedder.model,
            index_type=settings.store.index_type,
            token=settings.store.milvus_token.get_secret_value() or None,
        )
        self.store.open(sorted({settings.tenant, *self.journal.tenants()}))
        self.index = UserIndex(
            self.embedder.dimension, settings.index.budget_mib * 2**20, records=MemoryRecords()
        )

    def wire(self) -> Services:
        """Build the use cases. On the event loop, after `open`."""
        settings = self.settings
        journal, store, index, clock = self.journal, self.store, self.index, self.clock
        # One tenant only, or many that are told apart by their credentials.
        share = settings.limits.tenant_share if self.authenticator is not None else 1.0
        threads = settings.server.io_threads
        self.offload = offload = Offload(
            threads, per_tenant=math.ceil(share * threads), observe=self.telemetry.blocking
        )
        quota = settings.limits.quota_of_tenants()
        self.limiter = TenantLimiter(
            settings.limits,
            capacity(settings.server),
            share=share,
            model=settings.chat.configured,
            behind=self._behind,
            waiting_io=lambda: offload.waiting,
        )
        self.refusals = Refusals(
            self._record_refused,
            own_tenant=settings.tenant,
            every_seconds=settings.auth.refusals_every_seconds,
        )
        write_locks = KeyedLocks()
        self.positions = positions = Positions(journal, offload, write_locks)
        self.writer = writer = MemoryWriter(
            journal, store, index, offload, positions, write_locks, on_store_state=self._store_state
        )
        blocks = UserBlocks(index, store, journal, offload, positions, write_locks)
        for part, stage in ((journal, "journal"), (store, "store"), (blocks, "load")):
            self.telemetry.owns(part, stage)
        memories = MemoryService(
            embedder=self.embedder,
            blocks=blocks,
            journal=journal,
            history=journal,
            writer=writer,
            offload=offload,
            clock=clock,
            quota=quota,
        )
        search = SearchService(
            embedder=self.embedder,
            blocks=blocks,
            index=index,
            memories=memories,
            clock=clock,
            on_scored=self.telemetry.searched,
        )
        secrets = self.minds.secrets
        remember = RememberService(
            extractor=TimedExtractor(self.minds.extractor, self.telemetry),
            decider=TimedDecider(self.minds.decider, self.telemetry),
            rules=TimedDecider(self.minds.rules, self.telemetry),
            embedder=self.embedder,
            blocks=blocks,
            journal=journal,
            writer=writer,
            offload=offload,
            clock=clock,
            policy=RememberPolicy(
                candidates=settings.memory.candidates,
                secrets=secrets,
                guards=GuardPolicy(max_deletions=settings.memory.max_deletions_per_call),
            ),
            quota=quota,
            on_operation=self.telemetry.metrics.operation,
            on_guard=self.telemetry.metrics.guard,
        )
        sessions = SessionService(
            store=journal, offload=offload, clock=clock, secrets=secrets, record_factory=message_record
        )
        rules = RulesService(store=journal, offload=offload, clock=clock, positions=positions)
        knowledge = KnowledgeService(
            embedder=self.embedder,
            store=store,
            journal=journal,
            history=journal,
            writer=writer,
            positions=positions,
            offload=offload,
            clock=clock,
        )
        context = ContextService(
            search=search,
            knowledge=knowledge,
            rules=rules,
            sessions=sessions,
            policy=ContextPolicy(
                templates=settings.context.templates(),
                zone=ZoneInfo(settings.context.time_zone),
                knowledge_top_k=settings.context.knowledge_top_k,
                knowledge_min_score=settings.context.knowledge_min_score,
                rounds=settings.context.rounds,
            ),
        )
        self.ingestion = IngestionService(
            queue=journal,
            remember=remember,
            offload=offload,
            clock=clock,
            policy=IngestionPolicy(
                workers=settings.ingestion.workers,
                max_attempts=settings.ingestion.max_attempts,
                max_backlog=settings.ingestion.max_backlog,
                max_backlog_per_user=settings.ingestion.max_backlog_per_user,
                max_backlog_per_tenant=math.ceil(share * settings.ingestion.max_backlog),
            ),
            secrets=secrets,
        )
        retention = Retention(
            purge_after_seconds=int(settings.retention.purge_after_days * 86_400),
            replay_seconds=int(settings.retention.replay_days * 86_400),
            sweep_every_seconds=settings.retention.sweep_every_seconds,
        )
        self.sweeper = Sweeper(
            journal=journal,
            history=journal,
            compliance=journal,
            store=store,
            writer=writer,
            offload=offload,
            clock=clock,
            retention=retention,
        )
        compliance = ComplianceService(
            store=journal,
            journal=journal,
            index=index,
            writer=writer,
            sessions=sessions,
            sweeper=self.sweeper,
            embedder=self.embedder,
            positions=positions,
            offload=offload,
            clock=clock,
            signer=Ed25519Signer(settings.data_dir / "receipt-key.pem"),
            retention=retention,
            cancel_work=self.ingestion.cancel_user,
        )
        chat = ChatService(
            context=context,
            sessions=sessions,
            model=self.minds.chat,
        )
        return Services(
            remember=remember,
            ingestion=self.ingestion,
            memories=memories,
            search=search,
            sessions=sessions,
            context=context,
            chat=chat,
            knowledge=knowledge,
            rules=rules,
            compliance=compliance,
            positions=positions,
            clock=clock,
            caller=self.authenticator or single(Principal(settings.tenant, settings.actor)),
            limiter=self.limiter,
            on_denied=self.refusals.denied,
            authenticated=self.authenticator is not None,
            info=self._info(self.minds.decider.kind, self.minds.rules.kind),
            key=_service_key(settings.data_dir / "service-key"),
            secrets=secrets,
            zone=ZoneInfo(settings.context.time_zone),
        )

    def expose(
        self, board: HealthBoard, in_flight: Callable[[], Sequence[tuple[str, int, int | None]]]
    ) -> None:
        """Let metrics and probes tell of all parts. After `wire`, before `start`."""
        info = self._info()
        self.telemetry.board = board
        self.telemetry.metrics.registry.register(
            SourcesCollector(
                Sources(
                    build={
                        "version": info.version,
                        "embedder": info.embedder_model,
                        "vector_store": info.vector_store_engine,
                        "journal": info.journal_engine,
                    },
                    embedder=self.embedder,
                    index=self.index.stats,
                    offload=self.offload,
                    limiter=self.limiter,
                    backlog=self.journal.backlog,
                    store_up=lambda: self.writer.store_up,
                    loop_busy=lambda: self.telemetry.lag.busy,
                    in_flight=in_flight,
                    now=self.clock.now,
                ),
                self.settings.metrics,
            )
        )

    def _info(self, *deciders: DeciderKind) -> ServerInfo:
        store = self.store.describe()
        return ServerInfo(
            version=version("memlane"),
            embedder_model=self.embedder.model,
            dimension=self.embedder.dimension,
            nomination_threshold=self.embedder.nomination_threshold,
            decider_kinds=tuple(dict.fromkeys(deciders)),
            vector_store_engine=store["engine"],
            journal_engine=self.settings.journal_url.split(":", 1)[0].split("+", 1)[0],
        )

    async def start(self, on_ready: Callable[[bool], None]) -> None:
        """Compile, replay what the store has not acknowledged, fill the index, start the background work.

        `on_ready` is told whenever the service becomes ready or stops being so. Raises Unavailable.
        """
        self._on_ready = on_ready
        self.telemetry.start()
        await self.offload(kernels.warm_up)
        replayed = await self.writer.replay_pending()
        if replayed:
            _log.info("applied what was journaled and not stored yet", extra={"rows": replayed})
        await self._fill_index()
        for work in (
            self.writer.reconcile_forever(),
            self.sweeper.run_forever(),
            self.ingestion.run_forever(),
            self._probe_forever(),
            self.refusals.run_forever(),
        ):
            self._tasks.append(asyncio.create_task(work))
        on_ready(True)

    async def _fill_index(self) -> None:
        wanted = self.settings.index.fill_at_start
        if wanted == "never" or (wanted == "auto" and not self.settings.uses_milvus_lite):
            return
        for tenant in sorted({self.settings.tenant, *self.journal.tenants()}):
            await self.offload(self._fill_tenant, tenant)
        stats = self.index.stats()
        _log.info("index filled", extra={"users": stats.users, "rows": stats.rows, "bytes": stats.bytes})

    def _fill_tenant(self, tenant: str) -> None:
        """One pass over the collection instead of one query per cold user, while the budget lasts."""
        rows: dict[str, list[StoredRow]] = {}
        for batch in self.store.scan(tenant, batch_rows=_SCAN_ROWS, timeout_seconds=_SCAN_SECONDS):
            for row in batch:
                rows.setdefault(row.memory.user_id, []).append(row)
        position = self.positions.seen
        for user_id, own in rows.items():
            if not self.index.has_room():
                break
            self.index.put_user(tenant, user_id, own, position)

    def _refused(self, error: Unauthenticated) -> None:
        self.refusals.unauthenticated(error)

    async def _record_refused(self, refused: Refused) -> None:
        seq = await self.offload(
            self.journal.record_event,
            tenant=refused.tenant,
            user_id="",
            actor=refused.actor,
            operation="RefuseCall",
            action="REFUSE",
            count=refused.count,
            reason_code=refused.reason,
            detail="",
            time_us=int(self.clock.now() * 1_000_000),
        )
        self.positions.advance(seq)

    def _behind(self) -> bool:
        lag, limits = self.telemetry.lag, self.settings.limits
        return lag.busy > limits.max_loop_busy or lag.late_seconds > limits.max_loop_lag_ms / 1000

    def _store_state(self, up: bool) -> None:
        self._on_ready(up)

    async def _probe_forever(self) -> None:
        while True:
            await asyncio.sleep(_PROBE_SECONDS)
            await self.writer.probe()

    async def stop(self) -> None:
        """Finish what was begun, acknowledge what was applied, close. Safe after a failed start."""
        if hasattr(self, "ingestion"):
            self.ingestion.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if hasattr(self, "writer"):
            with contextlib.suppress(Unavailable):
                await self.writer.flush_applied()
                await self.refusals.flush()
            await asyncio.to_thread(self.offload.close)
        if hasattr(self, "minds"):
            await self.minds.close()
        await asyncio.to_thread(self.close)
        await self.telemetry.stop()

    def close(self) -> None:
        """Undo `open`; blocks."""
        for part in ("store", "journal"):
            if hasattr(self, part):
                getattr(self, part).close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _service_key(path: Path) -> bytes:
    """The installation's own secret, made on first use: it keys request fingerprints and page tokens."""
    with contextlib.suppress(FileExistsError):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets_module.token_bytes(32))
    return path.read_bytes()


def _lock(directory: Path) -> int:
    """Hold the data directory for this process; the lock goes with the process, also by kill -9."""
    descriptor = os.open(directory / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise FailedPrecondition(
            f"data directory {directory} is in use by another memlane process; "
            "stop that one or choose another data_dir"
        ) from None
    return descriptor
