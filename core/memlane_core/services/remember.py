"""Conversation or facts to memories: extract, decide, guard, apply."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from ..domain.conversation import Extraction, Fact, Message, RejectedFact
from ..domain.decision import Candidate, Decision, FactToDecide, Operation, RememberResult
from ..domain.errors import Aborted, QuotaReached
from ..domain.ids import new_memory_id
from ..domain.memory import Action, DeciderKind
from ..guards import GuardPolicy, guard, redact
from ..guards.secrets import SecretPolicy, scrub_fact
from ..ports.clock import Clock
from ..ports.decider import Decider, DecisionRequest
from ..ports.embedder import Embedder, Vectors
from ..ports.extractor import ExtractionRequest, Extractor
from ..ports.journal import Commit, Journal, LostRace, Quota, RequestStamp, Room
from .blocks import UserBlocks
from .call import Call
from .codec import result_from_json, result_to_json
from .consistency import MINIMIZE_LATENCY
from .locks import KeyedLocks
from .offload import Offload
from .staging import Staging, Why, noop
from .writer import MemoryWriter

Vector = NDArray[np.float32]

_DECIDE_AGAIN = 5
"""Races lost before giving up; each means that somebody else's change of this user came first."""


@dataclass(frozen=True, slots=True)
class RememberCommand:
    """Exactly one of `messages` and `facts` is given."""

    user_id: str
    messages: tuple[Message, ...] | None = None
    facts: tuple[Fact, ...] | None = None
    recalled: tuple[str, ...] = ()
    session_id: str = ""
    request: RequestStamp | None = None
    validate_only: bool = False
    ingestion_id: str = ""
    """Set by the worker: the commit completes this ingestion."""
    epoch: int | None = None
    """The user's epoch when the work was accepted; None = now."""


@dataclass(frozen=True, slots=True)
class RememberPolicy:
    candidates: int = 5
    extraction_seconds: float = 60.0
    decision_seconds: float = 60.0
    embedding_seconds: float = 30.0
    secrets: SecretPolicy = field(default_factory=SecretPolicy)
    guards: GuardPolicy = field(default_factory=GuardPolicy)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A decision before the guards, and who made it."""

    decision: Decision
    decider: DeciderKind


class RememberService:
    """One user's decide-and-apply steps never interleave: a lock in this process, compare-and-set across processes."""

    def __init__(
        self,
        *,
        extractor: Extractor,
        decider: Decider,
        rules: Decider,
        embedder: Embedder,
        blocks: UserBlocks,
        journal: Journal,
        writer: MemoryWriter,
        offload: Offload,
        clock: Clock,
        policy: RememberPolicy,
        quota: Callable[[str], Quota] = lambda tenant: Quota(),
        on_operation: Callable[[Operation], None] = lambda operation: None,
        on_guard: Callable[[str], None] = lambda name: None,
    ) -> None:
        self._extractor = extractor
        self._decider = decider
        self._rules = rules
        self._embedder = embedder
        self._blocks = blocks
        self._journal = journal
        self._writer = writer
        self._offload = offload
        self._clock = clock
        self._policy = policy
        self._quota = quota
        self._on_operation = on_operation
        self._on_guard = on_guard
        self._decide_locks = KeyedLocks()
        self._request_locks = KeyedLocks()

    async def remember(self, call: Call, command: RememberCommand) -> RememberResult:
        """All facts of the call are applied together or not at all.

        Raises RequestIdReused, ForgottenMeanwhile, Aborted (too many lost races) and whatever extractor, decider,
        embedder, journal and store raise; nothing was written then (see MemoryWriter.commit for the one exception).
        """
        if command.request is None or command.validate_only:
            return await self._remember(call, command)
        # The same request sent twice at once costs one extraction, not two.
        async with self._request_locks.hold((call.tenant, command.user_id, command.request.request_id)):
            stored = await self._offload(
                self._journal.find_replay, call.tenant, command.user_id, command.request
            )
            if stored is not None:
                return result_from_json(stored.response)
            return await self._remember(call, command)

    async def _remember(self, call: Call, command: RememberCommand) -> RememberResult:
        epoch = command.epoch
        if epoch is None:
            epoch = (await self._offload(self._journal.user_state, call.tenant, command.user_id)).epoch
        extraction = await self._facts(call, command)
        vectors = await self._embed(call, [f.content for f in extraction.facts])
        async with self._decide_locks.hold((call.tenant, command.user_id)):
            for _ in range(_DECIDE_AGAIN):
                try:
                    return await self._decide_and_apply(call, command, extraction, vectors, epoch)
                except (LostRace, QuotaReached):
                    # Somebody else of the tenant may have taken the last place; the next try then rejects the fact.
                    continue
        raise Aborted("the user's memories kept changing while deciding; try again")

    async def _facts(self, call: Call, command: RememberCommand) -> Extraction:
        """The facts to decide, free of secrets, and what was rejected on the way."""
        if command.facts is not None:
            extraction = Extraction(command.facts)
        else:
            assert command.messages is not None
            extraction = await self._extractor.extract(
                ExtractionRequest(
                    messages=command.messages,
                    now=datetime.fromtimestamp(self._clock.now(), UTC),
                    recalled=command.recalled,
                    timeout_seconds=call.deadline.timeout_seconds(self._policy.extraction_seconds),
                )
            )
        kept: list[Fact] = []
        rejected = list(extraction.rejected)
        for fact in extraction.facts:
            masked = redact(fact.content, self._policy.secrets)
            if not masked.kinds:
                kept.append(fact)
                continue
            rest = scrub_fact(fact.content, self._policy.secrets)
            if rest.only_secret:
                rejected.append(RejectedFact(masked.text, "it holds nothing but a secret"))
            else:
                kept.append(replace(fact, content=rest.text))
        return replace(extraction, facts=tuple(kept), rejected=tuple(rejected))

    async def _embed(self, call: Call, texts: Sequence[str]) -> Vectors:
        return await self._embedder.embed(
            texts, timeout_seconds=call.deadline.timeout_seconds(self._policy.embedding_seconds)
        )

    async def _decide_and_apply(
        self, call: Call, command: RememberCommand, extraction: Extraction, vectors: Vectors, epoch: int
    ) -> RememberResult:
        state = await self._offload(self._journal.user_state, call.tenant, command.user_id)
        block = await self._blocks.get(call, command.user_id, MINIMIZE_LATENCY)
        staging = Staging(
            block, user_id=command.user_id, now=int(self._clock.now()), candidates=self._policy.candidates
        )
        run = _Run(
            self._policy,
            command.session_id,
            staging,
            list(extraction.rejected),
            self._on_guard,
            await self._room(call, command.user_id),
        )
        proposals = await self._ask_model(call, extraction.facts, vectors, staging)
        for i, fact in enumerate(extraction.facts):
            candidates = staging.candidates(vectors[i])
            proposal = proposals.get(i)
            if proposal is None or staging.touched(candidates):
                proposal = await self._ask_rules(call, fact, candidates)
            await run.step(fact, candidates, vectors[i], proposal, lambda text: self._embed(call, [text]))
        result = RememberResult(
            tuple(run.operations), tuple(run.rejected), extraction.partial, state.head, command.ingestion_id
        )
        if command.validate_only:
            return result
        return await self._commit(call, command, staging, result, state.head, epoch)

    async def _room(self, call: Call, user_id: str) -> Room | None:
        """None = as much as anybody likes."""
        quota = self._quota(call.tenant)
        if not quota.bounds:
            return None
        return await self._offload(
            self._journal.room, call.tenant, user_id, quota, now_seconds=int(self._clock.now())
        )

    async def _ask_model(
        self, call: Call, facts: Sequence[Fact], vectors: Vectors, staging: Staging
    ) -> dict[int, Proposal]:
        """One call for all facts of a Remember; nothing when no model is configured."""
        if self._decider.kind is not DeciderKind.MODEL or not facts:
            return {}
        decisions = await self._decider.decide(
            DecisionRequest(
                tuple(FactToDecide(f, staging.candidates(vectors[i])) for i, f in enumerate(facts)),
                call.deadline.timeout_seconds(self._policy.decision_seconds),
            )
        )
        return {i: Proposal(d, DeciderKind.MODEL) for i, d in enumerate(decisions)}

    async def _ask_rules(self, call: Call, fact: Fact, candidates: tuple[Candidate, ...]) -> Proposal:
        """Fact by fact; also for what a model decided before an earlier fact of the call changed its candidates."""
        [decision] = await self._rules.decide(
            DecisionRequest(
                (FactToDecide(fact, candidates),),
                call.deadline.timeout_seconds(self._policy.decision_seconds),
            )
        )
        return Proposal(decision, DeciderKind.RULES)

    async def _commit(
        self,
        call: Call,
        command: RememberCommand,
        staging: Staging,
        result: RememberResult,
        head: int,
        epoch: int,
    ) -> RememberResult:
        def respond(positions: tuple[int, ...]) -> str:
            return result_to_json(placed(result, positions))

        now_us = int(self._clock.now() * 1_000_000)
        committed = await self._writer.commit(
            Commit(
                tenant=call.tenant,
                user_id=command.user_id,
                actor=call.actor,
                operation="Remember",
                time_us=now_us,
                changes=tuple(staging.changes),
                expected_head=head,
                expected_epoch=epoch,
                request=command.request,
                respond=respond,
                ingestion_id=command.ingestion_id,
                quota=self._quota(call.tenant),
            )
        )
        if committed.replay is not None:
            return result_from_json(committed.replay)
        result = placed(result, committed.positions)
        for operation in result.operations:
            self._on_operation(operation)
        return result


class _Run:
    """Takes proposals through the guards onto the staging, one fact after the other."""

    def __init__(
        self,
        policy: RememberPolicy,
        session_id: str,
        staging: Staging,
        rejected: list[RejectedFact],
        on_guard: Callable[[str], None],
        room: Room | None,
    ) -> None:
        self._room = room
        self._on_guard = on_guard
        self._policy = policy
        self._session_id = session_id
        self._staging = staging
        self.rejected = rejected
        self.operations: list[Operation] = []

    async def step(
        self,
        fact: Fact,
        candidates: tuple[Candidate, ...],
        vector: Vector,
        proposal: Proposal,
        embed: Callable[[str], Awaitable[Vectors]],
    ) -> None:
        guarded = guard(
            proposal.decision, fact, candidates, self._policy.guards, deletions=self._staging.deletions
        )
        for name in guarded.interventions:
            self._on_guard(name)
        if guarded.rejected:
            self.rejected.append(RejectedFact(fact.content, guarded.rejected))
            return
        decision = guarded.decision
        target = next((c for c in candidates if c.memory.memory_id == decision.target_id), None)
        if decision.action is Action.NOOP and target is not None and _lasts_longer(fact, target):
            decision = replace(decision, action=Action.UPDATE, content=target.memory.content)
        adds = decision.action is Action.ADD or (decision.action is not Action.NOOP and target is None)
        if adds and self._room is not None and self._staging.net_additions >= self._room.left:
            # Named, never dropped: the caller sees which facts found no place.
            self.rejected.append(RejectedFact(fact.content, _full(self._room)))
            return
        if decision.action is Action.NOOP:
            operation = noop(decision, target, proposal.decider)
        else:
            operation = await self._change(fact, decision, target, vector, proposal.decider, embed)
        self.operations.append(replace(operation, guards=guarded.interventions))

    async def _change(
        self,
        fact: Fact,
        decision: Decision,
        target: Candidate | None,
        vector: Vector,
        decider: DeciderKind,
        embed: Callable[[str], Awaitable[Vectors]],
    ) -> Operation:
        why = Why(decision.reason, decider, self._session_id)
        content = decision.content or fact.content
        if decision.action is not Action.DELETE and content != fact.content:
            content = redact(content, self._policy.secrets).text
            vector = (await embed(content))[0]
        previous = target.memory if target else None
        if decision.action is Action.ADD or previous is None:
            memory = self._staging.add(fact, content, vector, new_memory_id(), why)
            previous = None
        elif decision.action is Action.UPDATE:
            memory = self._staging.update(previous, fact, content, vector, why)
        else:
            memory = self._staging.delete(previous, vector, why)
        return Operation(
            action=decision.action,
            memory=memory,
            previous=previous,
            reason=decision.reason,
            decider=decider,
            similarity=target.similarity if target else None,
        )


def _full(room: Room) -> str:
    return f"the quota of {room.limit} {room.name} is reached"


def _lasts_longer(fact: Fact, target: Candidate) -> bool:
    """The same fact said again for a longer time: the text stands, its expiry moves."""
    expires_at = target.memory.expires_at
    return expires_at is not None and fact.expires_at is not None and fact.expires_at > expires_at


def placed(result: RememberResult, positions: Sequence[int]) -> RememberResult:
    """The result with the journal positions of its changes filled in."""
    remaining = iter(positions)
    operations = []
    for operation in result.operations:
        if operation.action is not Action.NOOP and operation.memory is not None:
            operation = replace(operation, memory=replace(operation.memory, position=next(remaining)))
        operations.append(operation)
    return replace(result, operations=tuple(operations), position=max([result.position, *positions]))
