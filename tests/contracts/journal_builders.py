"""Short ways to say what the journal's contract tests need, and the type that they test against."""

import itertools
from collections.abc import Callable, Mapping
from typing import Protocol

import numpy as np

from memlane_core.domain.memory import Action, DeciderKind, Memory
from memlane_core.ports.compliance_store import ComplianceStore
from memlane_core.ports.ingestion_queue import IngestionQueue
from memlane_core.ports.journal import Change, Commit, History, Journal, RequestStamp
from memlane_core.ports.rule_store import RuleStore
from memlane_core.ports.session_store import SessionStore

TENANT = "bank-甲"
ALICE = "alice"
ZHANG = "张三"
CHINESE = "喜欢喝龙井茶，每月十五号还款"
ENGLISH = "Prefers an aisle seat; repays on the 15th"
SECOND_US = 1_000_000
NOON_US = 1_700_000_000 * SECOND_US
DIMENSION = 8

AWKWARD_IDS = (
    'o"brien', "o'brien", '张"三', r"CORP\alice", "a\nb", '\\"', 'x" || user_id != "y', '") or true or ("',
    "👩‍👩‍👧", " alice ", "ALICE", "é", "e\u0301", "%", "_", "global2",
)  # fmt: skip


class AllPorts(Journal, History, SessionStore, IngestionQueue, RuleStore, ComplianceStore, Protocol):
    """A journal with every port that stands on it."""


OpenJournal = Callable[[], AllPorts]
RawSql = Callable[[str], None]

_serial = itertools.count(1)


def vector(seed: int) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    values = np.random.default_rng(seed).normal(size=DIMENSION).astype(np.float32)
    return values / np.linalg.norm(values)


def memory(
    memory_id: str = "",
    user_id: str = ALICE,
    content: str = CHINESE,
    *,
    revision: int = 1,
    created_at: int = NOON_US // SECOND_US,
    expires_at: int | None = None,
    metadata: Mapping[str, str] | None = None,
) -> Memory:
    return Memory(
        memory_id=memory_id or f"m{next(_serial)}", user_id=user_id, content=content,
        metadata=dict(metadata or {}), created_at=created_at, updated_at=created_at + revision - 1,
        expires_at=expires_at, revision=revision,
    )  # fmt: skip


def change(
    action: Action, state: Memory, *, previous: str | None = None, reason: str = "说的 as stated"
) -> Change:
    return Change(
        action=action, memory=state, previous_content=previous, embedding=vector(len(state.content)),
        reason=reason, reason_code="STATED", decider=DeciderKind.RULES,
        is_deleted=action in (Action.DELETE, Action.EXPIRE), session_id="s1",
    )  # fmt: skip


def commit(
    *changes: Change,
    user_id: str = ALICE,
    tenant: str = TENANT,
    time_us: int = NOON_US,
    expected_head: int | None = None,
    expected_epoch: int | None = None,
    request: RequestStamp | None = None,
    respond: Callable[[tuple[int, ...]], str] | None = None,
    ingestion_id: str = "",
    knowledge: bool = False,
) -> Commit:
    return Commit(
        tenant=tenant, user_id=user_id, actor="teller-7", operation="Remember", time_us=time_us,
        changes=changes, expected_head=expected_head, expected_epoch=expected_epoch, request=request,
        respond=respond, ingestion_id=ingestion_id, knowledge=knowledge,
    )  # fmt: skip


def add(journal: Journal, state: Memory, *, time_us: int = NOON_US, tenant: str = TENANT) -> int:
    """Add one memory; returns its position."""
    done = journal.append(
        commit(change(Action.ADD, state), user_id=state.user_id, time_us=time_us, tenant=tenant)
    )
    return done.positions[0]


def delete(journal: Journal, state: Memory, *, time_us: int, action: Action = Action.DELETE) -> int:
    """Delete a memory as it stands; returns the position."""
    gone = memory(
        state.memory_id, state.user_id, state.content,
        revision=state.revision + 1, created_at=state.created_at,
    )  # fmt: skip
    done = journal.append(
        commit(change(action, gone, previous=state.content), user_id=state.user_id, time_us=time_us)
    )
    return done.positions[0]


def stamp(request_id: str, fingerprint: str = "f1", method: str = "Remember") -> RequestStamp:
    return RequestStamp(method=method, request_id=request_id, fingerprint=fingerprint)
